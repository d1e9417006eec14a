//! `countersign doctor` proves a roll-out: by its exit code, as JSON, and to the server.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Machine, ended};
use crate::server::{Server, Setup};

fn check<'a>(found: &'a Value, name: &str) -> &'a Value {
    let checks = found["rollout"]["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).unwrap_or(&Value::Null)
}

#[test]
fn what_a_machine_proved_is_kept_and_listed_by_the_console() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let key = owner.key("agent");
    let machine = Machine::of(&server, "").with_key(&key);
    let installed = machine.run(&["install", "claude-code", "--yes"]);
    assert!(installed.status.success(), "{installed:?}");
    let (code, found) = machine.doctor();
    assert_eq!(code, 0, "{found}");
    for name in ["server", "encryption", "version", "clock", "key"] {
        assert_eq!(check(&found, name)["ok"], true, "{name}: {found}");
    }
    assert_eq!(found["rollout"]["reported"], true);
    assert_eq!(found["rollout"]["unreachable"], "deny");
    let listed = owner.get("/api/machines").expect(200);
    let kept = &listed["items"][0];
    let guards = json!({"host": "claude-code", "guards": true});
    let hosts = kept["proof"]["hosts"].as_array().expect("hosts");
    assert!(hosts.contains(&guards), "{kept}");
    assert_eq!(kept["proved"], true, "{kept}");
    let page = owner.get("/developer").text();
    let name = kept["proof"]["machine"].as_str().expect("a name");
    assert!(page.contains("id=\"machines\"") && page.contains(name), "{page}");
    assert!(page.contains("data-state=\"proved\""), "{page}");
    // A second result replaces the first.
    assert_eq!(machine.doctor().0, 0);
    assert_eq!(owner.get("/api/machines").expect(200)["items"].as_array().expect("some").len(), 1);
    // Other people do not see it.
    let other = server.person(&owner, "member");
    assert_eq!(other.get("/api/machines").expect(200)["items"], json!([]));
    assert!(!other.get("/developer").text().contains("data-machine"));
}

#[test]
fn a_roll_out_that_does_not_hold_is_an_exit_code() {
    let server = Server::with("coding-agent");
    let key = server.owner().key("agent");
    let without_key = Machine::of(&server, "");
    let (code, found) = without_key.doctor();
    assert_eq!((code, &check(&found, "settings")["ok"]), (1, &json!(false)), "{found}");
    let wrong = without_key.with("COUNTERSIGN_KEY", &unknown_key());
    let (code, found) = wrong.doctor();
    assert_eq!(code, 1, "{found}");
    assert_eq!(check(&found, "server")["ok"], true, "{found}");
    assert_eq!(check(&found, "key")["ok"], false, "{found}");
    let machine = Machine::of(&server, "").with_key(&key);
    assert_eq!(machine.doctor().0, 0);
    ended(server, Signal::KILL);
    let (code, found) = machine.doctor();
    assert_eq!((code, &check(&found, "server")["ok"]), (1, &json!(false)), "{found}");
}

#[test]
fn a_clock_that_is_wrong_is_found() {
    let Some(library) = crate::server::clock::library() else {
        crate::server::missing("faketime");
        return;
    };
    let server = Server::with("coding-agent");
    let key = server.owner().key("agent");
    let library = library.to_str().expect("a plain path");
    for (set, told) in [("+900", "ahead of"), ("-900", "behind")] {
        let machine = Machine::of(&server, "").with_key(&key);
        assert_eq!(machine.doctor().0, 0, "while it is right");
        let machine = machine.with("LD_PRELOAD", library).with("FAKETIME", set);
        let machine = machine.with("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        let (code, found) = machine.doctor();
        assert_eq!(code, 1, "{found}");
        let clock = check(&found, "clock");
        assert_eq!(clock["ok"], false, "{found}");
        assert!(clock["detail"].as_str().is_some_and(|text| text.contains(told)), "{found}");
        assert_eq!(check(&found, "server")["ok"], true, "{found}");
    }
}

#[test]
fn a_host_that_is_named_and_has_no_hook_is_an_exit_code_and_is_told_to_the_server() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let machine = Machine::of(&server, "").with_key(&owner.key("agent"));
    let named = |code: i32, proved: bool| {
        let output = machine.run(&["doctor", "claude-code", "--json"]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let listed = owner.get("/api/machines").expect(200);
        assert_eq!(listed["items"][0]["proved"], proved, "{listed}");
    };
    named(1, false);
    assert!(machine.run(&["install", "claude-code", "--yes"]).status.success());
    named(0, true);
    assert!(machine.run(&["uninstall", "claude-code", "--yes"]).status.success());
    named(1, false);
}

fn unknown_key() -> String {
    use countersign_gate::secret::{Secret, SecretKind};
    Secret::from_bytes(SecretKind::Key, &[9; 32]).expose().to_owned()
}

#[test]
fn without_a_server_of_its_own_doctor_is_as_it_was() {
    let machine = Machine { setup: Setup::new(), patience: "60" };
    let (code, found) = machine.doctor();
    assert_eq!((code, &found["rollout"]), (0, &Value::Null), "{found}");
    assert_eq!(found["server"]["answers"], false);
}
