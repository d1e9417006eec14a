//! A data folder that was tampered with: the server does not start silently on it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Server, Setup};

/// Runs a server that does something and ends.
fn ended() -> Setup {
    let mut server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    agent.propose(&json!({"kind": "shell", "command": "ls"})).expect(200);
    assert!(server.stop().success());
    server.setup.clone()
}

fn refusal(setup: &Setup) -> String {
    let output = setup.refused();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    said
}

fn sql(setup: &Setup, statement: &str) {
    let database = Connection::open(setup.home.data().join("gate.db")).expect("a database");
    database.execute_batch(statement).expect("it can be changed");
}

/// Returns the output of `countersign audit`, and its exit code.
fn audit(setup: &Setup, words: &[&str]) -> (Option<i32>, String) {
    let mut command = setup.command();
    command.arg("audit").args(words).arg("--data").arg(setup.home.data());
    let output = command.output().expect("the binary starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

fn owner(setup: &Setup) -> String {
    let database = Connection::open(setup.home.data().join("gate.db")).expect("a database");
    let query = "SELECT id FROM docs WHERE kind = 'user'";
    database.query_row(query, [], |row| row.get(0)).expect("a user")
}

const EMPTY: &str = "owner = NULL, workspace = NULL, session = NULL, payload = NULL, salt = NULL";

#[test]
fn what_is_damaged_is_found_by_verify_refused_at_the_start_and_not_repaired_by_erasing() {
    let empty = format!("UPDATE records SET {EMPTY}");
    for (damage, about) in [
        ("DELETE FROM ends", "not signed"),
        ("DELETE FROM ends; DELETE FROM records; DELETE FROM checkpoints", "had already come"),
        (empty.as_str(), "no record says was erased"),
        (
            "INSERT INTO records SELECT number + 1, at, event, digest, hash, hash, owner, workspace,
             session, payload, salt FROM records ORDER BY number DESC LIMIT 1",
            "was signed to end",
        ),
        ("UPDATE records SET payload = payload || ' ' WHERE number = 3", "record 3 was changed"),
        ("DELETE FROM records WHERE number = 3", "record 3 is missing"),
    ] {
        let setup = ended();
        let user = owner(&setup);
        assert_eq!(audit(&setup, &["verify"]).0, Some(0));
        sql(&setup, damage);
        let (code, said) = audit(&setup, &["verify"]);
        assert_eq!(code, Some(1), "{damage}: {said}");
        assert!(said.contains("DAMAGED") && said.contains(about), "{damage}: {said}");
        let said = refusal(&setup);
        assert!(said.contains("damaged") && said.contains("begin-anew"), "{damage}: {said}");
        // Erasing hides nothing, whether it refuses or not.
        let _ = audit(&setup, &["erase", "--yes", "--user", &user]);
        assert_eq!(audit(&setup, &["verify"]).0, Some(1), "{damage}: repaired");
        refusal(&setup);
    }
}

#[test]
fn whoever_runs_it_can_leave_a_damaged_record_behind_and_that_is_on_record() {
    let setup = ended();
    let (code, said) = audit(&setup, &["begin-anew", "--danger-leave-damage"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is intact"), "{said}");
    sql(&setup, "DELETE FROM records WHERE number = 3");
    let (code, said) = audit(&setup, &["begin-anew"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("record 3 is missing") && said.contains("--danger-"), "{said}");
    refusal(&setup);
    let (code, said) = audit(&setup, &["begin-anew", "--danger-leave-damage"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(setup.home.data().join("gate.damaged-1.db").is_file(), "{said}");
    let (code, said) = audit(&setup, &["verify"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("started anew after damage"), "{said}");
    let (_, exported) = audit(&setup, &["export"]);
    let first: Value = serde_json::from_str(exported.lines().next().unwrap()).expect("JSON");
    assert_eq!(first["event"], "begun_anew");
    assert_eq!(first["payload"]["damage"][0], "record 3 is missing: 4 comes in its place");
    assert!(first["number"].as_u64().is_some_and(|number| number > 3), "numbers go on: {first}");
    let mut server = setup.start();
    assert_eq!(server.verified()["begun_anew"], json!([first["number"]]));
    assert!(server.stop().success());
}

#[test]
fn a_database_that_is_gone_or_older_is_refused() {
    let setup = ended();
    let database = setup.home.data().join("gate.db");
    let older = setup.home.0.join("older.db");
    fs::copy(&database, &older).expect("a copy");
    let mut server = setup.clone().start();
    server.local("POST", "/api/halt", &json!({})).expect(204);
    assert!(server.stop().success());
    drop(server);
    fs::copy(&older, &database).expect("a copy");
    assert!(audit(&setup, &["verify"]).1.contains("had already come"));
    assert!(refusal(&setup).contains("damaged"));
    fs::remove_file(&database).expect("it was there");
    assert!(refusal(&setup).contains("the database is gone"));
    assert!(!database.exists(), "and none was made");
    let (code, said) = audit(&setup, &["begin-anew", "--danger-leave-damage"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(setup.start().stop().success());
}

#[test]
fn a_key_that_is_gone_is_not_replaced() {
    let setup = ended();
    let key = setup.home.data().join("server.key");
    fs::remove_file(&key).expect("it was there");
    let said = refusal(&setup);
    assert!(said.contains("server.key") && said.contains("put it back"), "{said}");
    assert!(!key.exists(), "a new key was left behind");
}

#[test]
fn a_data_folder_that_is_open_to_others_is_refused() {
    let setup = ended();
    for mode in [0o750, 0o705, 0o711, 0o777] {
        fs::set_permissions(setup.home.data(), Permissions::from_mode(mode)).expect("ours");
        let said = refusal(&setup);
        assert!(said.contains("chmod 700"), "{said}");
    }
    fs::set_permissions(setup.home.data(), Permissions::from_mode(0o700)).expect("ours");
    assert!(setup.start().stop().success());
}

#[test]
fn one_row_that_was_changed_does_not_hide_the_others() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let ask = |branch: &str| {
        let command = format!("git push --force origin {branch}");
        agent.ask(&json!({"kind": "shell", "command": command}))
    };
    let [unreadable, forged, sound] = ["a", "b", "c"].map(ask);
    let change = |id: &str, body: &str| {
        sql(&server.setup, &format!("UPDATE docs SET body = {body} WHERE id = '{id}'"));
    };
    change(&unreadable, "'{'");
    change(&forged, "json_set(body, '$.request.risk', 'low')");
    for path in ["/api/approvals?state=pending", "/api/approvals"] {
        let list = owner.get(path).expect(200);
        let items: Vec<_> =
            list["items"].as_array().unwrap().iter().map(|it| &it["approval_id"]).collect();
        assert_eq!(items, [&json!(sound)], "{path}");
        let mut damaged: Vec<_> = list["damaged"].as_array().unwrap().clone();
        damaged.sort_by_key(ToString::to_string);
        let mut expected = [json!(unreadable), json!(forged)];
        expected.sort_by_key(ToString::to_string);
        assert_eq!(damaged, expected, "{path}");
    }
    owner.respond(&sound, true).expect(200);
}
