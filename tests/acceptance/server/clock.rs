//! The system's clock is set back while the server runs, and between two starts.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Client, Server, Setup, missing, until};

/// The library that makes a program see another time.
pub(super) fn library() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    let mut found = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    found.find(|path| path.is_file())
}

/// Returns a server whose system clock is set by a file. Its monotonic clock is unchanged.
fn setup() -> Option<Setup> {
    let Some(library) = library() else {
        missing("faketime");
        return None;
    };
    let setup = Setup::new().config("gate:\n  approval_timeout: 3\n");
    let setting = setup.home.0.join("clock");
    fs::write(&setting, "+0").expect("a file");
    let text = |path: PathBuf| path.to_str().expect("a plain path").to_owned();
    let setup = setup
        .variable("LD_PRELOAD", &text(library))
        .variable("FAKETIME_TIMESTAMP_FILE", &text(setting))
        .variable("FAKETIME_NO_CACHE", "1")
        .variable("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .variable("DONT_FAKE_MONOTONIC", "1");
    Some(setup)
}

fn set_clock(server: &Server, to: &str) {
    fs::write(server.setup.home.0.join("clock"), to).expect("a file");
}

/// Returns the audit records about the system clock.
fn steps(owner: &Client) -> Vec<Value> {
    let listed = owner.get("/api/audit?event=clock_stepped").expect(200);
    listed["items"].as_array().expect("a list").clone()
}

#[test]
fn a_question_expires_in_time_although_the_clock_was_set_back() {
    for back in ["-600", "-86400"] {
        let Some(setup) = setup() else { return };
        let server = setup.start();
        let owner = server.owner();
        let agent = owner.key("agent");
        let question = agent.ask(&json!({"kind": "shell", "command": "git push --force"}));
        set_clock(&server, back);
        let step = until("the step is on record", || steps(&owner).pop());
        let by = step["payload"]["by_seconds"].as_i64().expect("a number");
        let expected: i64 = back.parse().expect("a number");
        assert!((by - expected).abs() <= 60, "{step}");
        until("it expires", || (owner.state(&question) == "expired").then_some(()));
        let late = owner.respond(&question, true);
        assert!(late.status >= 400, "{late:?}");
        assert_eq!(server.verified()["whole"], true);
    }
}

#[test]
fn a_question_expires_in_time_although_the_clock_was_set_back_before_a_restart() {
    let Some(setup) = setup() else { return };
    let server = setup.start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let question = agent.ask(&json!({"kind": "shell", "command": "git push --force"}));
    set_clock(&server, "-86400");
    let server = server.killed_and_started_again();
    let owner = Client { address: server.address, ..owner };
    until("it expires", || (owner.state(&question) == "expired").then_some(()));
    let steps = until("the step is on record", || steps(&owner).pop());
    assert!(steps["payload"]["by_seconds"].as_i64().is_some_and(|by| by < -80_000), "{steps}");
}
