//! A coding agent whose user is at a web page. Row D6.

use serde_json::{Value, json};

use super::client::Answer;
use super::{Client, Events, Server, Setup, text, until};

fn push(branch: &str) -> Value {
    json!({"kind": "shell", "command": format!("git push --force origin {branch}")})
}

#[test]
fn d6_a_question_is_an_event_with_an_id_and_a_response_settles_it_once() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let mut page = Events::open(&owner);
    let mut watched = Events::open(&agent);
    let asked = agent.propose(&push("main")).expect(202);
    let told = page.until("approval_required").data;
    assert_eq!(told["approval_id"], asked["approval_id"]);
    assert_eq!(told["proposed"]["command"], "git push --force origin main");
    let id = told["approval_id"].as_str().unwrap().to_owned();

    // The agent is told of its own question, and never of the token that answers it.
    let seen = watched.until("approval_required").data;
    assert_eq!((&seen["approval_id"], &seen["token"]), (&json!(id), &Value::Null));
    assert_eq!(agent.respond(&id, true).problem(403), "people-only");
    assert_eq!(owner.state(&id), "pending");

    assert_eq!(owner.respond(&id, true).expect(200)["state"], "approved");
    let settled = page.until("approval_settled").data;
    assert_eq!((&settled["approval_id"], &settled["state"]), (&json!(id), &json!("approved")));
    for second in [false, true] {
        assert_eq!(owner.respond(&id, second).problem(409), "already-settled");
    }
    assert_eq!(owner.state(&id), "approved");
    let permit = agent.spend(&id, &push("main")).expect(200);
    assert_eq!(permit["status"], "permitted");
    assert_eq!(agent.spend(&id, &push("main")).problem(409), "already-settled");
}

#[test]
fn d6_of_many_responses_at_once_exactly_one_counts() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let id = owner.key("agent").ask(&push("main"));
    let statuses: Vec<_> = std::thread::scope(|scope| {
        let answer = |approved| {
            let (owner, id) = (&owner, &id);
            scope.spawn(move || owner.respond(id, approved).status)
        };
        let all: Vec<_> = (0..8).map(|number| answer(number % 2 == 0)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
}

#[test]
fn d6_what_has_not_the_shape_of_an_id_is_refused_before_anything_looks_it_up() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    for id in
        ["1", "apr_", "apr_..%2F..%2Fetc", "ses_0123456789abcdefghjkmnpqrs", "%00", "apr_%F0%9F"]
    {
        assert_eq!(owner.respond(id, true).problem(400), "bad-request", "{id}");
    }
    let unknown = format!("apr_{}", "0".repeat(26));
    assert_eq!(owner.respond(&unknown, true).problem(404), "not-found");
}

#[test]
fn d6_a_question_waits_two_minutes_and_silence_blocks() {
    let server = Server::with("coding-agent");
    let asked = server.owner().key("agent").propose(&push("main")).expect(202);
    assert_eq!(asked["confirmation"]["timeout"], 120);

    let setup = Setup::new().config("safety: {approval_timeout: 1}\n");
    let server = setup.start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let id = agent.ask(&push("main"));
    until("it expires", || (owner.state(&id) == "expired").then_some(()));
    assert_eq!(owner.respond(&id, true).problem(409), "already-settled");
    assert_eq!(agent.spend(&id, &push("main")).problem(409), "already-settled");
}

#[test]
fn d6_no_more_than_a_hundred_questions_wait() {
    let prompts = "gate: {prompts: {uses: 1000, seconds: 1}}\n";
    let server = Setup::new().config(prompts).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let ask = |branch: &str| agent.propose_in(&session, &push(branch));
    let id = |answer: Answer| text(&answer.expect(202)["approval_id"]);
    let ids: Vec<_> = (0..100).map(|number| id(ask(&format!("b{number}")))).collect();
    assert_eq!(ask("one-too-many").problem(429), "too-many-pending");
    let waiting = owner.get("/api/approvals?state=pending").expect(200);
    assert_eq!(waiting["items"].as_array().unwrap().len(), 100);
    // Asking the same question again returns the pending one.
    assert_eq!(id(ask("b7")), ids[7]);
    owner.respond(&ids[0], false).expect(200);
    id(ask("there-is-room-again"));
}

#[test]
fn d6_without_anybody_to_ask_it_is_blocked() {
    let server = Server::with("coding-agent");
    let key = json!({"name": "headless", "scopes": ["*"], "devices": "any"});
    let made = server.local("POST", "/api/keys", &key).expect(201);
    let secret = made["secret"].as_str().map(str::to_owned);
    let agent = Client { secret, ..server.nobody() };
    assert_eq!(agent.propose(&push("main")).problem(403), "nobody-to-ask");
    let harmless = json!({"kind": "shell", "command": "ls"});
    assert_eq!(agent.propose(&harmless).expect(200)["status"], "permitted");
    // As soon as somebody could answer, it asks.
    let owner = server.owner();
    let id = agent.ask(&push("main"));
    assert_eq!(owner.state(&id), "pending");
}

#[test]
fn d6_a_page_that_comes_back_is_told_what_it_missed() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let mut page = Events::open(&owner);
    let first = agent.ask(&push("one"));
    let seen = page.until("approval_required");
    assert_eq!(seen.data["approval_id"], json!(first));
    drop(page);
    let second = agent.ask(&push("two"));
    let mut page = Events::after(&owner, Some(&seen.id));
    assert_eq!(page.until("approval_required").data["approval_id"], json!(second));
    // A page that has received no events gets everything that is pending.
    let mut page = Events::open(&owner);
    let told = [page.until("approval_required"), page.until("approval_required")];
    assert_eq!(told.map(|told| told.data["approval_id"].clone()), [json!(first), json!(second)]);
}

#[test]
fn d2_what_never_runs_is_refused_over_the_wire_too_and_nobody_is_asked() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let action = json!({"kind": "shell", "command": "rm -rf /"});
    assert_eq!(owner.key("agent").propose(&action).problem(403), "blocked");
    assert_eq!(owner.key("program").propose(&action).problem(403), "blocked");
    let waiting = owner.get("/api/approvals?state=pending").expect(200);
    assert_eq!(waiting["items"], json!([]));
}
