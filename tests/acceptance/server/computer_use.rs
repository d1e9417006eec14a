//! A model that uses a computer. Rows C3, C4, C7, C8, C9 and C12.

use serde_json::{Value, json};

use super::{Client, Server, Setup, Socket, names, text, until};

const PROFILE: &str = "computer-use";

fn shot() -> Value {
    json!({"kind": "screenshot"})
}

fn buy(item: u32) -> Value {
    json!({
        "kind": "ui", "surface": "browser", "op": "click", "label": "Place order",
        "url": format!("https://shop.example/{item}"),
    })
}

fn violations(owner: &Client) -> Vec<String> {
    let records = owner.history("violation");
    for record in &records {
        assert_eq!(names(&record["payload"]), ["details", "message", "type"]);
        assert!(text(&record["at"]).ends_with('Z'), "{record}");
    }
    records.iter().map(|record| text(&record["payload"]["type"])).collect()
}

#[test]
fn c3_what_a_person_rejects_is_skipped_and_the_session_goes_on() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let asked = agent.propose_in(&session, &buy(1)).expect(202);
    assert_eq!(asked["confirmation"]["timeout"], 300);
    owner.respond(&text(&asked["approval_id"]), false).expect(200);
    assert_eq!(agent.propose_in(&session, &buy(1)).problem(403), "declined");
    assert_eq!(agent.propose_in(&session, &shot()).expect(200)["status"], "permitted");
}

#[test]
fn c3_silence_rejects_by_itself() {
    let setup = Setup::new().config("profile: computer-use\n");
    let server = setup.variable("CRITICAL_POINT_TIMEOUT", "1000").start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let id = agent.ask_in(&session, &buy(1));
    until("it expires", || (owner.state(&id) == "expired").then_some(()));
    assert_eq!(agent.propose_in(&session, &shot()).expect(200)["status"], "permitted");
}

#[test]
fn c4_thirty_actions_a_minute_and_then_it_waits() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    for _ in 0..30 {
        agent.propose_in(&session, &shot()).expect(200);
    }
    let refused = agent.propose_in(&session, &shot());
    assert_eq!(refused.problem(429), "rate-limit");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(refused.expect(429)["violation"], "rate_limit");
    assert_eq!(violations(&owner), ["rate_limit"]);
    let path = format!("/api/sessions/{session}");
    assert_eq!(owner.get(&path).expect(200)["state"], "active");
}

#[test]
fn c4_ten_sessions_an_hour() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    for _ in 0..10 {
        let session = agent.session(&json!({}));
        agent.post(&format!("/api/sessions/{session}/complete"), &json!({})).expect(204);
    }
    let refused = owner.post("/api/sessions", &json!({"consent": true}));
    assert_eq!(refused.problem(429), "too-many-sessions");
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{wait}");
}

#[test]
fn c7_each_violation_has_its_consequence_and_its_record() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    let show = |session: &str| owner.get(&format!("/api/sessions/{session}")).expect(200);
    let plan = json!({"limits": {"steps": 4}, "allowed_origins": ["https://shop.example"]});
    let session = agent.session(&plan);
    let named = json!({"kind": "named", "name": "delete-account"});
    assert_eq!(agent.propose_in(&session, &named).problem(403), "blocked");
    let elsewhere = json!({"kind": "navigate", "url": "https://shop.example.evil.test/"});
    let refused = agent.propose_in(&session, &elsewhere);
    assert_eq!(refused.problem(403), "violation");
    assert_eq!(refused.expect(403)["violation"], "blocked_origin");
    agent.propose_in(&session, &shot()).expect(200);
    agent.propose_in(&session, &shot()).expect(200);
    assert_eq!(show(&session)["progress"]["steps"], 4);
    assert_eq!(agent.propose_in(&session, &shot()).expect(409)["violation"], "max_steps");
    assert_eq!(show(&session)["ended_by"], "max_steps");
    assert_eq!(agent.propose_in(&session, &shot()).problem(409), "session-over");

    let session = agent.session(&json!({"limits": {"session_seconds": 1}}));
    until("its time is over", || (show(&session)["state"] == "ended").then_some(()));
    assert_eq!(show(&session)["ended_by"], "timeout");
    assert_eq!(agent.propose_in(&session, &shot()).problem(409), "session-over");
    let found = violations(&owner);
    for wanted in ["max_steps", "blocked_origin", "blocked_action"] {
        assert!(found.iter().any(|found| found == wanted), "{wanted}: {found:?}");
    }
}

#[test]
fn c8_no_session_without_consent_or_beside_another_or_in_a_strange_workspace() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    for body in [json!({}), json!({"consent": false})] {
        assert_eq!(agent.post("/api/sessions", &body).problem(403), "no-consent");
    }
    let stranger = format!("wsp_{}", "0".repeat(26));
    let body = json!({"consent": true, "workspace_id": stranger});
    assert_eq!(agent.post("/api/sessions", &body).problem(403), "workspace");
    let session = agent.session(&json!({}));
    let second = owner.post("/api/sessions", &json!({"consent": true}));
    assert_eq!(second.problem(409), "session-running");
    // A model can neither consent for its user nor give itself credentials; a program can only with
    // the scope for it.
    let credentials = json!([{"site": "https://shop.example", "fields": {"username": "kim"}}]);
    let plain = owner.key_of(&json!({
        "name": "plain", "scopes": ["*"], "access": "program", "devices": "any",
    }));
    for body in [json!({"consent": true}), json!({"consent": true, "credentials": credentials})] {
        for caller in [&agent, &plain] {
            assert_eq!(caller.post("/api/sessions", &body).problem(403), "not-for-agents");
        }
    }
    let key = json!({"name": "x", "scopes": ["sessions.consent"], "access": "agent"});
    assert_eq!(owner.post("/api/keys", &key).problem(400), "bad-request");
    // Five errors end it.
    for _ in 0..5 {
        let permit = agent.propose_in(&session, &shot()).expect(200);
        let path = format!("/api/actions/{}/report", text(&permit["action_id"]));
        let report = json!({"outcome": "failed", "error": "no display", "session_id": session});
        agent.post(&path, &report).expect(204);
    }
    let ended = owner.get(&format!("/api/sessions/{session}")).expect(200);
    assert_eq!((&ended["state"], &ended["ended_by"]), (&json!("ended"), &json!("errors")));
    agent.session(&json!({}));
}

#[test]
fn c9_all_eight_events_are_on_record_for_those_who_may_see_them() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let (member, admin) = (server.person(&owner, "member"), server.person(&owner, "admin"));
    let agent = member.key("agent");
    let session = agent.session(&json!({}));
    let permit = agent.propose_in(&session, &shot()).expect(200);
    let report = |permit: &Value, outcome: &str| {
        let path = format!("/api/actions/{}/report", text(&permit["action_id"]));
        let error = (outcome == "failed").then_some("it broke");
        let body = json!({"outcome": outcome, "error": error, "session_id": session});
        agent.post(&path, &body).expect(204);
    };
    report(&permit, "done");
    report(&agent.propose_in(&session, &shot()).expect(200), "failed");
    let id = agent.ask_in(&session, &buy(1));
    member.respond(&id, true).expect(200);
    agent.propose_in(&session, &json!({"kind": "named", "name": "formatDisk"})).problem(403);
    agent.post(&format!("/api/sessions/{session}/complete"), &json!({})).expect(204);
    for event in [
        "session_start",
        "action_planned",
        "action_executed",
        "critical_point",
        "approval",
        "violation",
        "error",
        "session_end",
    ] {
        let records = member.history(event);
        assert!(!records.is_empty(), "{event}");
        assert!(records.iter().all(|it| it["session"] == json!(session)), "{event}: {records:?}");
    }
    let (user, workspace) = (member.id(), owner.workspace());
    let about = format!("/api/audit?user_id={user}&event=session_start");
    let of_workspace = format!("/api/audit?workspace_id={workspace}&event=session_start");
    let count =
        |who: &Client, path: &str| who.get(path).expect(200)["items"].as_array().unwrap().len();
    assert_eq!(count(&member, &about), 1);
    assert_eq!(count(&admin, &of_workspace), 1);
    assert_eq!((count(&owner, &about), count(&owner, "/api/audit?event=session_start")), (1, 1));
    assert_eq!(member.get(&of_workspace).problem(403), "not-allowed");
    assert_eq!(member.get("/api/audit").problem(403), "not-allowed");
    assert_eq!(admin.get("/api/audit").problem(403), "not-allowed");
    assert_eq!(agent.get("/api/audit").problem(403), "scope");
}

#[test]
fn c12_one_session_is_stopped_and_the_others_go_on() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let (one, other) = (agent.session(&json!({})), agent.session(&json!({})));
    let submit = json!({"kind": "ui", "surface": "browser", "op": "submit", "label": "Send"});
    let (in_one, in_other) = (agent.ask_in(&one, &submit), agent.ask_in(&other, &submit));
    // An agent cannot stop a session, only complete its own.
    assert_eq!(agent.post(&format!("/api/sessions/{one}/stop"), &json!({})).status, 403);
    let stranger = server.person(&owner, "member");
    assert_eq!(stranger.post(&format!("/api/sessions/{one}/stop"), &json!({})).status, 404);
    owner.post(&format!("/api/sessions/{one}/stop"), &json!({})).expect(204);
    assert_eq!([owner.state(&in_one), owner.state(&in_other)], ["cancelled", "pending"]);
    assert_eq!(agent.propose_in(&one, &shot()).problem(409), "session-over");
    agent.propose_in(&other, &shot()).expect(200);

    let third = agent.session(&json!({}));
    let stopped = owner.post("/api/sessions/stop", &json!({})).expect(200);
    assert_eq!(stopped["stopped"], 2);
    assert_eq!(owner.state(&in_other), "cancelled");
    for session in [&other, &third] {
        assert_eq!(agent.propose_in(session, &shot()).problem(409), "session-over");
    }
    agent.session(&json!({}));
}

#[test]
fn c12_the_kill_switch_stops_everything_at_once_until_a_super_admin_lets_it_go_on() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let member = server.person(&owner, "member");
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let submit = json!({"kind": "ui", "surface": "browser", "op": "submit", "label": "Send"});
    let id = agent.ask_in(&session, &submit);
    let mut device = Socket::open(&owner);
    assert_eq!(agent.post("/api/halt", &json!({})).status, 403, "not an agent's to throw");
    member.post("/api/halt", &json!({})).expect(204);
    device.until("halted");
    assert_eq!(agent.get("/api/halt").expect(200)["halted"], true);
    until("it is cancelled", || (owner.state(&id) == "cancelled").then_some(()));
    assert_eq!(agent.propose_in(&session, &shot()).problem(403), "halted");
    assert_eq!(agent.propose(&shot()).problem(403), "halted");
    let begun = agent.post("/api/sessions", &json!({"consent": true}));
    assert_eq!(begun.problem(403), "halted");
    assert_eq!(owner.respond(&id, true).problem(403), "halted");
    assert_eq!(member.post("/api/halt/resume", &json!({})).problem(403), "not-allowed");
    // It persists over a restart.
    let server = server.killed_and_started_again();
    let (owner, agent) =
        (Client { address: server.address, ..owner }, Client { address: server.address, ..agent });
    assert_eq!(agent.propose(&shot()).problem(403), "halted");
    owner.post("/api/halt/resume", &json!({})).expect(204);
    agent.propose(&shot()).expect(200);
    assert_eq!(agent.spend(&id, &submit).problem(409), "already-settled");
}

#[test]
fn c12_switched_off_by_the_environment_nothing_begins_and_nobody_can_resume_it() {
    let setup = Setup::new().config("profile: computer-use\n");
    let server = setup.variable("AUTO_ACTION_ENABLED", "false").start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let begun = agent.post("/api/sessions", &json!({"consent": true}));
    assert_eq!(begun.problem(403), "halted");
    assert_eq!(agent.propose(&shot()).problem(403), "halted");
    assert_eq!(owner.post("/api/halt/resume", &json!({})).problem(409), "switched-off");
    assert_eq!(owner.get("/api/halt").expect(200)["halted"], true);
}
