//! What those who run a server look at: its log, its traces, its numbers.

use serde_json::{Value, json};

use super::forward::{First, became, metric, receiver};
use super::{Client, PATIENCE, Server, Setup, until};

const SAFE: &str = "ls a-name-of-a-folder";
const PUSH: &str = "git push --force origin a-name-of-a-branch";
const WIPE: &str = "rm -rf /";

fn shell(command: &str) -> Value {
    json!({"kind": "shell", "command": command})
}

/// A server that was asked for something safe, something that asks and something that is blocked;
/// with its owner and the approval.
fn asked(config: &str) -> (Server, Client, String) {
    let server = Setup::new().config(&format!("profile: coding-agent\n{config}")).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    agent.propose(&shell(SAFE)).expect(200);
    let approval = agent.ask(&shell(PUSH));
    assert_eq!(agent.propose(&shell(WIPE)).status, 403);
    (server, owner, approval)
}

#[test]
fn every_decision_is_logged_where_that_is_set_and_never_what_the_action_was() {
    let (server, _, approval) = asked("server: {log_decisions: info}\n");
    let lines = || server.log().lines().filter(|line| line.contains("decided")).count();
    until("three decisions are logged", || (lines() == 3).then_some(()));
    let log = server.log();
    let line = |verdict: &str| {
        let verdict = format!("verdict=\"{verdict}\"");
        let mut lines = log.lines().filter(|line| line.contains("decided"));
        lines.find(|line| line.contains(&verdict)).unwrap_or_else(|| panic!("{verdict}: {log}"))
    };
    assert!(line("allow").contains("kind=\"shell\""), "{log}");
    let confirm = line("confirm");
    assert!(confirm.contains(&approval) && confirm.contains("shell.git.force-push"), "{confirm}");
    assert!(line("block").contains("rules=\""), "{log}");
    for word in ["a-name-of-a-folder", "a-name-of-a-branch", WIPE] {
        assert!(!log.contains(word), "{log}");
    }
    for config in ["", "server: {log_decisions: off}\n", "server: {log_decisions: debug}\n"] {
        let (server, ..) = asked(config);
        assert!(!server.log().contains("decided"), "{config}: {}", server.log());
    }
}

/// The attributes of a span, as an object.
fn attributes(span: &Value) -> Value {
    let all = span["attributes"].as_array().expect("attributes").iter();
    let all = all.map(|one| {
        let name = one["key"].as_str().expect("a name").to_owned();
        (name, one["value"]["stringValue"].clone())
    });
    Value::Object(all.collect())
}

#[test]
fn spans_carry_the_verdict_and_the_approval_and_nothing_of_the_action() {
    let (address, posted) = receiver(First::Taken);
    let (_server, _, approval) = asked(&format!("server: {{otlp: 'http://{address}'}}\n"));
    let mut spans: Vec<Value> = Vec::new();
    while spans.len() < 3 {
        let (head, body) = posted.recv_timeout(PATIENCE).expect("spans");
        assert!(head.starts_with("POST /v1/traces "), "{head}");
        let text = body.to_string();
        assert!(!text.contains("a-name-of-a") && !text.contains(WIPE), "{text}");
        let sent = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
        let proposals = sent.iter().filter(|span| span["name"] == "POST /api/actions");
        spans.extend(proposals.map(attributes));
    }
    let with = |verdict: &str| {
        let mut found = spans.iter().filter(|span| span["countersign.verdict"] == verdict);
        let (one, more) = (found.next(), found.next());
        assert!(more.is_none(), "{spans:?}");
        one.unwrap_or_else(|| panic!("{verdict}: {spans:?}"))
    };
    assert_eq!(with("confirm")["countersign.approval_id"], json!(approval));
    for verdict in ["allow", "block"] {
        assert_eq!(with(verdict)["countersign.approval_id"], Value::Null);
        assert!(with(verdict)["countersign.became"].is_string());
    }
}

#[test]
fn messages_to_channels_are_counted_by_what_became_of_them() {
    let (address, posted) = receiver(First::TurnedAway);
    let secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let webhook = format!("url: 'http://{address}/x', secret: {secret}, danger_any_address: true");
    let (_server, owner, approval) = asked(&format!("channels: [{{webhook: {{{webhook}}}}}]\n"));
    let (_, body) = posted.recv_timeout(PATIENCE).expect("a message");
    assert_eq!(body["data"]["approval_id"], json!(approval));
    let count = |word: &str| metric(&owner, &became("webhook", word));
    until("it is counted", || (count("sent") == 1).then_some(()));
    assert_eq!((count("retried"), count("failed"), count("dropped")), (1, 0, 0));
    owner.respond(&approval, false).expect(200);
    let (_, body) = posted.recv_timeout(PATIENCE).expect("a message");
    assert_eq!(body["type"], "approval.settled");
    until("it is counted", || (count("sent") == 2).then_some(()));
}
