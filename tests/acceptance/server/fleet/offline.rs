//! Decisions that were made while the server was unreachable are on record afterwards.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::{Machine, PUSH, approve, at_a_fixed_address, end, ended, waiting};
use crate::server::{Client, files_with};

/// Returns the records of decisions without the server, oldest first.
fn decided_offline(owner: &Client) -> Vec<Value> {
    let mut found = owner.history("decided_offline");
    found.reverse();
    found
}

#[test]
fn what_was_decided_without_the_server_is_delivered_in_order_and_once() {
    let server = at_a_fixed_address("gate: {logging: enhanced}\n").start();
    let owner = server.owner();
    let key = owner.key("agent");
    let machine = Machine::of(&server, ", unreachable: ask").with_key(&key).impatient("10");
    assert_eq!(machine.doctor().0, 0);
    let setup = ended(server, Signal::KILL);
    let secret = ["correct", "horse", "7"].join("-");
    let commands = [
        PUSH.to_owned(),
        format!("git push --force https://ann:{secret}@git.example.com/x.git"),
        "git push --force origin third".to_owned(),
    ];
    for command in &commands {
        assert_eq!(machine.call(command).0, "ask");
    }
    assert_eq!(files_with(&machine.data(), secret.as_bytes()), Vec::<std::path::PathBuf>::new());
    let (code, found) = machine.doctor();
    assert_eq!((code, &found["rollout"]["undelivered"]), (1, &Value::from(3)), "{found}");
    let server = setup.start();
    let owner = Client { address: server.address, ..owner };
    // The next hook delivers them first.
    let machine = Machine { patience: "60", ..machine };
    let call = machine.begin(PUSH);
    let question = waiting(&owner);
    approve(&owner, &question);
    assert_eq!(end(call).0, "allow");
    let records = decided_offline(&owner);
    let numbers: Vec<_> =
        records.iter().map(|record| record["payload"]["number"].clone()).collect();
    assert_eq!(numbers, [1, 2, 3], "{records:?}");
    for record in &records {
        let payload = &record["payload"];
        assert_eq!(payload["status"], "asked_by_host", "{record}");
        let rules = payload["rules"].as_array().expect("rules");
        assert!(rules.contains(&Value::from("shell.git.force-push")), "{record}");
        assert!(!record.to_string().contains(&secret), "{record}");
        assert_eq!(payload["changed_before_delivery"], Value::Null, "{record}");
    }
    let target = records.last().expect("three")["payload"]["target"]["command"].clone();
    assert_eq!(target, "git push --force origin third");
    // Not again, however often the server is contacted.
    assert_eq!(machine.doctor().0, 0);
    assert_eq!(decided_offline(&owner).len(), 3);
    assert_eq!(fs::metadata(machine.data().join("offline.jsonl")).expect("a file").len(), 0);
    assert_eq!(server.verified()["whole"], true);
}

#[test]
fn a_delivery_whose_answer_was_lost_is_not_on_record_twice() {
    let server = at_a_fixed_address("profile: coding-agent\n").start();
    let owner = server.owner();
    let key = owner.key("agent");
    let machine = Machine::of(&server, ", unreachable: ask").with_key(&key).impatient("10");
    assert_eq!(machine.doctor().0, 0);
    let setup = ended(server, Signal::KILL);
    assert_eq!(machine.call(PUSH).0, "ask");
    let journal = machine.data().join("offline.jsonl");
    let kept = fs::read(&journal).expect("a journal");
    let server = setup.start();
    let owner = Client { address: server.address, ..owner };
    assert_eq!(machine.doctor().0, 0);
    assert_eq!(decided_offline(&owner).len(), 1);
    // As if the machine had died before it could empty its journal.
    fs::write(&journal, kept).expect("a journal");
    assert_eq!(machine.doctor().0, 0);
    assert_eq!(decided_offline(&owner).len(), 1, "once");
}

#[test]
fn an_entry_that_was_changed_on_the_machine_shows_on_record() {
    let server = at_a_fixed_address("profile: coding-agent\n").start();
    let owner = server.owner();
    let key = owner.key("agent");
    let machine = Machine::of(&server, ", unreachable: ask").with_key(&key).impatient("10");
    assert_eq!(machine.doctor().0, 0);
    let setup = ended(server, Signal::KILL);
    for _ in 0..2 {
        assert_eq!(machine.call(PUSH).0, "ask");
    }
    let journal = machine.data().join("offline.jsonl");
    let kept = fs::read_to_string(&journal).expect("a journal");
    fs::write(&journal, kept.replacen("asked_by_host", "refused", 1)).expect("a journal");
    let server = setup.start();
    let owner = Client { address: server.address, ..owner };
    assert_eq!(machine.doctor().0, 0);
    let records = decided_offline(&owner);
    assert_eq!(records.len(), 2);
    assert_eq!(records[1]["payload"]["changed_before_delivery"], true, "{records:?}");
}
