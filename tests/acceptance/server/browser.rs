//! A real Chromium, driven over the `DevTools` protocol: the view and the input of a person.
//!
//! Each test starts its own, with a temporary profile, and it ends with the test. Pages are in
//! contexts of their own, so that two of them are two devices. A page on which the browser reports
//! a problem (a script error, a violation of the content security policy) fails its test.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Home, PATIENCE, Server, text};
use crate::start::{program as start, scratch};

mod axe;
mod eye;
mod hand;
mod page;
mod wire;

pub(super) use axe::Axe;
pub(super) use eye::Colours;
pub(super) use page::{Network, Page};
use wire::Wire;

/// Enables or disables the scripts of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    On,
    Off,
}

impl Script {
    pub(super) const BOTH: [Self; 2] = [Self::On, Self::Off];
}

/// A running Chromium.
pub(super) struct Browser {
    child: Child,
    wire: Rc<RefCell<Wire>>,
    home: std::sync::Arc<Home>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts a Chromium; `None` without one, which CI does not accept.
    pub(super) fn launch() -> Option<Self> {
        let Some(program) = program() else {
            missing("there is no chromium");
            return None;
        };
        let home = Home::new();
        let profile = home.0.join("profile");
        let log = File::create(home.0.join("log")).expect("a log");
        let mut command = start(program, &home.0);
        command
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let mut child = command.spawn().expect("chromium starts");
        let Some((port, path)) = listening(&mut child, &profile.join("DevToolsActivePort")) else {
            let _ = child.kill();
            panic!("chromium does not listen: {}", home.log());
        };
        let wire = Rc::new(RefCell::new(Wire::open(port, &path)));
        Some(Self { child, wire, home })
    }

    /// Opens an empty page in a context of its own: a device that the server does not know.
    pub(super) fn page(&self, server: &Server, script: Script) -> Page {
        let call = |method: &str, params: &Value| {
            let answer = self.wire.borrow_mut().call(None, method, params);
            answer.unwrap_or_else(|error| panic!("{method}: {error}"))
        };
        let context = text(&call("Target.createBrowserContext", &json!({}))["browserContextId"]);
        let downloads = self.home.0.join(format!("downloads-{context}"));
        fs::create_dir_all(&downloads).expect("a folder");
        call(
            "Browser.setDownloadBehavior",
            &json!({"behavior": "allow", "browserContextId": context, "downloadPath": downloads}),
        );
        let target = json!({"url": "about:blank", "browserContextId": context});
        let target = text(&call("Target.createTarget", &target)["targetId"]);
        let attach = json!({"targetId": target, "flatten": true});
        let session = text(&call("Target.attachToTarget", &attach)["sessionId"]);
        let page = Page::new(Rc::clone(&self.wire), session, downloads, &server.url);
        if script == Script::Off {
            page.without_script();
        }
        page
    }

    /// Opens a page of this server, signed in by a link.
    pub(super) fn signed_in(&self, server: &Server, link: &str, script: Script) -> Page {
        let page = self.page(server, script);
        page.go(&format!("/sign-in?link={link}"));
        page.submit("form[action='/sign-in'] button");
        page.wait_for("html[data-page=inbox]");
        page
    }
}

const FLAGS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-port=0",
    // Tests often run as root in a container, where its sandbox cannot be set up. It only opens our
    // own pages.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--hide-scrollbars",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    // Background pages are devices too: they must not be throttled.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--force-color-profile=srgb",
    "--lang=en-US",
    "--accept-lang=en-US",
    "--window-size=1440,900",
];

/// Prints the reason for which a test was skipped; in CI that is an error.
pub(crate) fn missing(what: &str) {
    let is_ci = ["COUNTERSIGN_CI", "CI"].iter().any(|name| std::env::var_os(name).is_some());
    assert!(!is_ci, "{what}: `cargo xtask setup` installs it");
    eprintln!("skipped: {what} (`cargo xtask setup` installs it)");
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("COUNTERSIGN_CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Returns the port and the path it listens on, once it does.
fn listening(child: &mut Child, file: &Path) -> Option<(u16, String)> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && child.try_wait().is_ok_and(|ended| ended.is_none()) {
        let said = fs::read_to_string(file).unwrap_or_default();
        if let Some((port, path)) = said.split_once('\n')
            && let Ok(port) = port.trim().parse()
            && !path.trim().is_empty()
        {
            return Some((port, path.trim().to_owned()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

/// Returns the target folder.
pub(crate) fn target() -> PathBuf {
    scratch().parent().expect("it is inside of another").to_owned()
}
