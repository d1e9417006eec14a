//! Starting and ending.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use countersign_core::Action;
use countersign_wire::work::Ended;
use countersign_worker::Executor as _;

use super::harness::{Hands, processes};

#[test]
fn a_session_has_a_profile_of_its_own_which_ends_with_it() {
    let Some(hands) = Hands::new() else { return };
    hands.site.html("/", "<h1>Shop</h1>");
    let opened = hands.open("/");
    assert_eq!(opened.ended, Ended::Done, "{opened:?}");
    let profiles: Vec<_> = fs::read_dir(&hands.folder).unwrap().flatten().collect();
    assert_eq!(profiles.len(), 1);
    assert_eq!(profiles[0].metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(processes(&hands.folder) > 0);
    hands.browsers.end_session("ses_1");
    assert_eq!(fs::read_dir(&hands.folder).unwrap().count(), 0);
    assert_eq!(processes(&hands.folder), 0);
}

#[test]
fn a_stop_ends_the_browser_while_a_page_is_loading() {
    let Some(hands) = Hands::new() else { return };
    hands.site.html("/", "<h1>Shop</h1>");
    hands.open("/");
    // A page that never ends loading: its script asks itself for ever.
    hands.site.html("/busy", "<script>for (;;) {}</script>");
    let result = thread::scope(|scope| {
        let work = scope.spawn(|| hands.open("/busy"));
        while !hands.site.has("GET /busy") {
            thread::sleep(Duration::from_millis(5));
        }
        hands.stop.give("halt");
        work.join().unwrap()
    });
    assert_eq!(result.ended, Ended::Stopped, "{result:?}");
    assert_eq!(processes(&hands.folder), 0);
    assert_eq!(fs::read_dir(&hands.folder).unwrap().count(), 0);
}

#[test]
fn a_browser_that_does_not_start_leaves_nothing_behind() {
    let Some(hands) = Hands::new() else { return };
    let settings = countersign_worker::BrowserSettings::new(
        "/bin/false".into(),
        hands.folder.clone(),
        std::sync::Arc::default(),
    );
    let browsers = countersign_worker::Browsers::new(settings);
    let running = countersign_worker::Running { stop: &hands.stop, controller: &hands.server };
    let result = browsers.execute(hands.permit(Action::Screenshot {}, None), running);
    assert_eq!(result.ended, Ended::Failed, "{result:?}");
    assert_eq!(fs::read_dir(&hands.folder).unwrap().count(), 0);
}
