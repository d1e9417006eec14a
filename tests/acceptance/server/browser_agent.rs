//! A browser agent. Rows A2, A3, A4 and A7; A8 is in `files.rs`.

use serde_json::{Value, json};

use super::{Events, Server, Setup, Socket, files_with, names, text, until};

fn batch() -> Value {
    let file = |number: u32| {
        let name = format!("Vol1_Ch{number:02}.pdf");
        json!({"url": format!("https://example.com/{name}"), "name": name, "bytes": 5_000_000})
    };
    json!({"kind": "download", "files": (1..=6).map(file).collect::<Vec<_>>()})
}

const SIX: [&str; 6] =
    ["action", "confirmation_id", "description", "details", "risk_level", "timeout"];

#[test]
fn a3_a_confirmation_has_exactly_six_fields_and_waits_five_minutes() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({"mode": "task"}));
    let asked = agent.propose_in(&session, &batch()).expect(202);
    let confirmation = &asked["confirmation"];
    assert_eq!(names(confirmation), SIX);
    assert_eq!(confirmation["confirmation_id"], asked["approval_id"]);
    assert_eq!(confirmation["timeout"], 300);
    assert_eq!(confirmation["risk_level"], "medium");
    assert!(text(&confirmation["description"]).contains('6'), "{confirmation}");
    let details: Vec<_> = confirmation["details"].as_array().unwrap().iter().map(text).collect();
    assert!(details.iter().any(|line| line.contains("Vol1_Ch01.pdf")), "{details:?}");
    let path = format!("/api/approvals/{}/confirmation", text(&asked["approval_id"]));
    assert_eq!(owner.get(&path).expect(200), *confirmation);
    assert_eq!(agent.get(&path).expect(200), *confirmation);
}

#[test]
fn a3_no_answer_is_a_no() {
    let setup = Setup::new().config("profile: browser-agent\n");
    let server = setup.variable("CRITICAL_POINT_TIMEOUT", "1000").start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({"mode": "task"}));
    let path = format!("/api/sessions/{session}/actions");
    let wait = [("Prefer", "wait=30")];
    let answer = agent.json("POST", &path, &wait, &json!({"action": batch()}));
    assert_eq!(answer.problem(409), "not-approved");
    let problem = answer.expect(409);
    assert_eq!(problem["state"], "expired");
    let id = text(&problem["approval"]["approval_id"]);
    assert_eq!(owner.respond(&id, true).problem(409), "already-settled");
}

#[test]
fn a3_whoever_waits_is_told_the_answer_and_may_go_on() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({"mode": "task"}));
    let mut page = Events::open(&owner);
    for (approved, status) in [(true, 200), (false, 403)] {
        let waiting = {
            let path = format!("/api/sessions/{session}/actions");
            let agent = agent.clone();
            let mut action = batch();
            action["files"][0]["bytes"] = json!(if approved { 1 } else { 2 });
            std::thread::spawn(move || {
                agent.json("POST", &path, &[("Prefer", "wait=30")], &json!({"action": action}))
            })
        };
        let id = text(&page.until("approval_required").data["approval_id"]);
        let body = json!({"approved": approved, "feedback": "only the first volume"});
        owner.post(&format!("/api/approvals/{id}/respond"), &body).expect(200);
        let answer = waiting.join().unwrap();
        let applied = answer.header("preference-applied");
        let answer = answer.expect(status);
        if approved {
            assert_eq!(applied.as_deref(), Some("wait=30"));
            assert_eq!(answer["status"], "permitted");
            assert_eq!(answer["approval_id"], json!(id));
        } else {
            assert_eq!(answer["feedback"], "only the first volume");
        }
    }
}

#[test]
fn a2_auto_confirm_skips_the_question_never_the_block_and_is_on_record() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let program = owner.key("program");
    let session = program.session(&json!({"mode": "task", "auto_confirm": true}));
    assert_eq!(program.propose_in(&session, &batch()).expect(200)["status"], "permitted");
    let blocked = json!({"kind": "navigate", "url": "file:///etc/passwd"});
    assert_eq!(program.propose_in(&session, &blocked).problem(403), "blocked");
    let statuses: Vec<_> =
        owner.history("action_planned").iter().map(|it| text(&it["payload"]["status"])).collect();
    assert_eq!(statuses, ["blocked", "auto_confirmed"]);
    // A model cannot choose it for itself.
    let body = json!({"consent": true, "plan": {"auto_confirm": true}});
    let refused = owner.key("agent").post("/api/sessions", &body);
    assert_eq!(refused.problem(403), "not-for-agents");
}

/// Returns the question of the seed's agent.
fn question() -> Value {
    json!({
        "action": "batch_download",
        "description": "Download 47 PDF files from lectures.example",
        "details": ["Vol1_Ch01.pdf", "Vol1_Ch02.pdf"],
        "risk_level": "medium",
    })
}

/// Asks and waits, on a thread of its own.
fn asking(agent: &super::Client, body: &Value) -> std::thread::JoinHandle<super::client::Answer> {
    let (agent, body) = (agent.clone(), body.clone());
    std::thread::spawn(move || {
        agent.json("POST", "/api/confirmations", &[("Prefer", "wait=30")], &body)
    })
}

#[test]
fn a4_request_confirmation_asks_a_person_and_answers_approved_or_not() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let mut page = Events::open(&owner);
    for (approved, feedback) in
        [(true, None), (false, None), (true, Some("only volume one")), (false, Some("not now"))]
    {
        let waiting = asking(&agent, &question());
        let id = text(&page.until("approval_required").data["approval_id"]);
        let confirmation = owner.get(&format!("/api/approvals/{id}/confirmation")).expect(200);
        assert_eq!(names(&confirmation), SIX);
        for name in ["action", "description", "risk_level"] {
            assert_eq!(confirmation[name], question()[name]);
        }
        assert_eq!(confirmation["details"], question()["details"]);
        let body = json!({"approved": approved, "feedback": feedback});
        owner.post(&format!("/api/approvals/{id}/respond"), &body).expect(200);
        let answer = waiting.join().unwrap();
        assert_eq!(answer.header("preference-applied").as_deref(), Some("wait=30"));
        let mut expected = json!({"approved": approved});
        if let Some(feedback) = feedback {
            expected["feedback"] = json!(feedback);
        }
        assert_eq!(answer.expect(200), expected);
        // The answer was all there was to do.
        assert_eq!(owner.state(&id), if approved { "done" } else { "rejected" });
    }
}

#[test]
fn a4_silence_is_a_no_and_a_question_can_be_waited_for_in_pieces() {
    let setup = Setup::new().config("profile: browser-agent\n");
    let server = setup.variable("CRITICAL_POINT_TIMEOUT", "1500").start();
    let owner = server.owner();
    let agent = owner.key("agent");
    assert_eq!(asking(&agent, &question()).join().unwrap().expect(200), json!({"approved": false}));
    let unanswered = agent.post("/api/confirmations", &question()).expect(202);
    assert_eq!(unanswered["status"], "waiting");
    assert_eq!(names(&unanswered["confirmation"]), SIX);
    let mut again = question();
    again["approval_id"] = unanswered["approval_id"].clone();
    owner.respond(&text(&again["approval_id"]), true).expect(200);
    assert_eq!(agent.post("/api/confirmations", &again).expect(200), json!({"approved": true}));
    // Once.
    assert_eq!(agent.post("/api/confirmations", &again).problem(409), "already-settled");
    // An approval of one question does not apply to another.
    let other = text(&agent.post("/api/confirmations", &question()).expect(202)["approval_id"]);
    owner.respond(&other, true).expect(200);
    let body = json!({"description": "Delete everything", "approval_id": other});
    assert_eq!(agent.post("/api/confirmations", &body).problem(409), "other-action");
}

#[test]
fn a4_only_a_person_says_yes_and_never_beforehand() {
    let setup = Setup::new();
    let config =
        "profile: browser-agent\nsafety: {enabled: false}\noverrides: {\"skill.named.*\": allow}\n";
    let server = setup.config(config).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({"mode": "explore"}));
    let mut body = question();
    body["session_id"] = json!(session);
    // Neither lowered rules, nor explore mode, nor a remembered approval.
    for scope in ["session", "once"] {
        let asked = agent.post("/api/confirmations", &body).expect(202);
        let id = text(&asked["approval_id"]);
        assert_eq!(agent.respond(&id, true).status, 403);
        let yes = json!({"approved": true, "scope": scope});
        let answered = owner.post(&format!("/api/approvals/{id}/respond"), &yes);
        if scope == "session" {
            assert_eq!(answered.status, 409, "a question is answered each time");
            owner.respond(&id, true).expect(200);
        } else {
            answered.expect(200);
        }
        let mut again = body.clone();
        again["approval_id"] = json!(id);
        assert_eq!(agent.post("/api/confirmations", &again).expect(200)["approved"], true);
    }
    let asked = agent.post("/api/confirmations", &body).expect(202);
    let no = json!({"approved": false, "feedback": "enough"});
    owner.post(&format!("/api/approvals/{}/respond", text(&asked["approval_id"])), &no).expect(200);
    // A rejected question is not asked again in its session.
    let answer = agent.post("/api/confirmations", &body).expect(200);
    assert_eq!(answer, json!({"approved": false, "feedback": "enough"}));
    // Starting a session with `auto_confirm` answers in advance, on record.
    let program = owner.key("program");
    body["session_id"] = json!(program.session(&json!({"auto_confirm": true})));
    let answer = program.post("/api/confirmations", &body).expect(200);
    assert_eq!(answer, json!({"approved": true}));
    owner.post("/api/halt", &json!({})).expect(204);
    assert_eq!(program.post("/api/confirmations", &body).problem(403), "halted");
}

/// Returns a text that occurs nowhere but where it was sent.
fn canary() -> String {
    ["hunter", "two", "canary", "71"].join("-")
}

/// Checks that the canary is neither in the responses nor in any file of the server, its log
/// included.
fn is_nowhere(canary: &str, seen: &[String], mut server: Server) {
    for text in seen {
        assert!(!text.contains(canary), "{text}");
    }
    let nowhere = Vec::<std::path::PathBuf>::new();
    assert_eq!(files_with(&server.data(), canary.as_bytes()), nowhere, "while it runs");
    server.stop();
    assert_eq!(files_with(&server.setup.home.0, canary.as_bytes()), nowhere, "afterwards");
    assert!(server.log().contains("/api/sessions"), "it was logged at all");
}

fn talkative() -> Server {
    let setup = Setup::new().config("profile: browser-agent\ngate: {logging: enhanced}\n");
    setup.word("--log-level").word("debug").start()
}

#[test]
fn a7_credentials_are_nowhere_but_in_memory() {
    let (canary, server) = (canary(), talkative());
    let owner = server.owner();
    let mut socket = Socket::open(&owner);
    let mut page = Events::open(&owner);
    let fields = json!({"username": format!("kim-{canary}"), "password": canary});
    let body = json!({
        "consent": true,
        "plan": {"mode": "task"},
        "credentials": [{"site": "https://shop.example", "fields": fields}],
    });
    let program = owner.key("program");
    let once = [("Idempotency-Key", "one")];
    let begun = program.json("POST", "/api/sessions", &once, &body);
    let again = program.json("POST", "/api/sessions", &once, &body);
    assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
    let mut seen = vec![begun.text(), again.text()];
    let session = text(&begun.expect(201)["session_id"]);
    let login = json!({"kind": "login", "site": "https://shop.example"});
    seen.push(program.propose_in(&session, &login).text());
    seen.push(program.propose_in(&session, &batch()).text());
    for noun in [
        "sessions",
        "approvals",
        "history",
        "history/export",
        "audit",
        "audit/export",
        "settings",
        "keys",
        "devices",
        "usage",
        "users",
        "me",
        "metrics",
        "health",
        "ready",
        &format!("sessions/{session}"),
        &format!("sessions/{session}/files"),
    ] {
        let answer = owner.get(&format!("/api/{noun}"));
        assert_eq!(answer.status, 200, "{noun}");
        seen.push(answer.text());
    }
    seen.extend(socket.so_far().iter().map(ToString::to_string));
    seen.push(page.until("approval_required").data.to_string());
    let path = format!("/api/sessions/{session}");
    assert_eq!(owner.get(&path).expect(200)["has_credentials"], true);
    is_nowhere(&canary, &seen, server);
}

#[test]
fn a7_what_is_wrong_about_credentials_is_told_without_them() {
    let (canary, server) = (canary(), talkative());
    let program = server.owner().key("program");
    let mut seen = Vec::new();
    let site = "https://shop.example";
    for (number, credentials) in [
        json!(canary),
        json!([canary]),
        json!([{"site": site, "fields": canary}]),
        json!([{"site": site, "fields": {"password": [canary]}}]),
        json!([{"site": site, "fields": {"password": {canary.as_str(): 1}}}]),
        json!([{"site": canary, "fields": {}}]),
    ]
    .iter()
    .enumerate()
    {
        let body = json!({"consent": true, "credentials": credentials});
        let key = format!("wrong-{number}");
        let once = [("Idempotency-Key", key.as_str())];
        for _ in 0..2 {
            let answer = program.json("POST", "/api/sessions", &once, &body);
            assert_eq!(answer.problem(400), "bad-request");
            seen.push(answer.text());
        }
    }
    is_nowhere(&canary, &seen, server);
}

#[test]
fn a7_credentials_are_gone_with_the_server_and_so_is_their_session() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let body = json!({
        "consent": true,
        "credentials": [{"site": "https://shop.example", "fields": {"username": "kim"}}],
    });
    let session = text(&owner.post("/api/sessions", &body).expect(201)["session_id"]);
    let server = server.killed_and_started_again();
    let owner = super::Client { address: server.address, ..owner };
    let path = format!("/api/sessions/{session}");
    let over = until("it has ended", || {
        Some(owner.get(&path).expect(200)).filter(|session| session["state"] == "ended")
    });
    assert_eq!(over["ended_by"], "credentials_gone");
}
