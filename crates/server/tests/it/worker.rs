//! Workers: work is signed, goes to one of them, once, and what becomes of it is told and recorded.

use std::time::Duration;

use countersign_gate::approval::Answer;
use countersign_gate::key::Access;
use countersign_gate::{Config, store::RecordQuery};
use countersign_wire::PublicKey;
use countersign_wire::work::{PURPOSE, SignedWork, WorkItem};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::Error;

use crate::live::{Socket, until_closed};
use crate::world::{
    Ask, HttpAnswer, Key, Make, PATIENCE, RISKY, Setup, World, ask, get, post, world,
};

/// A worker that says what a test lets it say.
struct Worker {
    socket: Socket,
    id: String,
    server_key: PublicKey,
}

async fn worker_key(world: &World) -> Key {
    let make = Make { scope: "worker", access: Access::Program, ..Make::default() };
    world.key(&world.member, &world.workspace, make).await
}

async fn try_worker(world: &World, secret: &str) -> Result<Socket, u16> {
    let mut request = format!("ws://{}/api/workers", world.address).into_client_request().unwrap();
    let value = format!("Bearer {secret}").parse().unwrap();
    request.headers_mut().insert("authorization", value);
    match tokio_tungstenite::client_async(request, world.connect().await).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

impl Worker {
    async fn new(world: &World) -> Self {
        Self::with(world, &worker_key(world).await, None).await
    }

    async fn with(world: &World, key: &Key, instance: Option<&str>) -> Self {
        let socket = try_worker(world, &key.secret).await.unwrap();
        let server_key = PublicKey::parse(&world.gate.keyring().public().to_string()).unwrap();
        let mut worker = Self { socket, id: String::new(), server_key };
        let executors = ["shell", "file", "browser"];
        worker
            .say(json!({
                "message": "hello", "version": "1", "executors": executors,
                "workspace": "/work", "instance": instance,
            }))
            .await;
        let welcome = worker.hear().await;
        assert_eq!(welcome["message"], "welcome", "{welcome}");
        assert_eq!(welcome["server_key"], worker.server_key.to_string());
        worker.id = welcome["worker_id"].as_str().unwrap().to_owned();
        worker
    }

    async fn say(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        loop {
            let next = timeout(PATIENCE, self.socket.next()).await.expect("nothing is said");
            match next.expect("it is closed").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next message, which must be signed work for this worker.
    async fn work(&mut self) -> WorkItem {
        let message = self.hear().await;
        assert_eq!(message["message"], "work", "{message}");
        let work: SignedWork = serde_json::from_value(message["work"].clone()).unwrap();
        let signature = base64::Engine::decode(
            &base64::engine::general_purpose::URL_SAFE_NO_PAD,
            &work.signature,
        );
        let signature = signature.unwrap().try_into().unwrap();
        assert!(self.server_key.verifies(PURPOSE, work.item.as_bytes(), &signature));
        let item: WorkItem = serde_json::from_str(&work.item).unwrap();
        assert_eq!(item.worker_id, self.id);
        item
    }

    async fn began(&mut self, item: &WorkItem) {
        self.say(json!({"message": "began", "action_id": item.action_id})).await;
    }

    async fn ended(&mut self, item: &WorkItem, ended: &str, output: &str) {
        self.say(json!({
            "message": "ended", "action_id": item.action_id,
            "result": {"ended": ended, "code": 0, "output": {"head": output}, "took_ms": 5},
        }))
        .await;
    }
}

fn run(session: &str, action: &Value) -> Ask {
    post(format!("/api/sessions/{session}/actions"))
        .json(&json!({"action": action, "execute": true}))
}

fn shell(command: &str) -> Value {
    json!({"kind": "shell", "command": command})
}

fn waiting(ask: Ask) -> Ask {
    ask.header("prefer", "wait=20")
}

async fn recorded(world: &World, event: &str) -> Vec<Value> {
    let records = world.gate.store().records(&RecordQuery::default()).await.unwrap();
    let of_event = records.iter().filter(|record| record.event == event);
    let content = of_event.filter_map(|record| record.content.as_ref());
    content.map(|content| serde_json::from_str(&content.payload).unwrap()).collect()
}

/// Waits until the action has this state.
async fn until_state(world: &World, session: &str, id: &str, state: &str) -> Value {
    let look = async {
        loop {
            let path = format!("/api/sessions/{session}/actions/{id}");
            let found = world.ask(get(path).with(&world.agent.secret)).await;
            if found.status == 200 && found.json()["state"] == state {
                return found.json();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, look).await.unwrap_or_else(|_| panic!("it never is {state}"))
}

#[tokio::test]
async fn a_permitted_command_is_executed_and_its_output_returned() {
    let world = world().await;
    let session = world.session().await;
    let mut worker = Worker::new(&world).await;
    let asked = world.ask(waiting(run(&session, &shell("echo hi"))).with(&world.agent.secret));
    let work = async {
        let item = worker.work().await;
        assert_eq!(item.session_id, session);
        assert_eq!(item.context.workspace.as_deref(), Some("/work"));
        assert_eq!(item.context.cwd.as_deref(), Some("/work"));
        assert_eq!(item.limits.seconds, 60);
        let digest = countersign_core::digest::digest(&item.action, &item.context);
        assert_eq!(item.digest, digest);
        worker.began(&item).await;
        worker.ended(&item, "done", "hi\n").await;
        item
    };
    let (answer, item) = tokio::join!(asked, work);
    let executed = answer.is(200);
    assert_eq!(executed["status"], "executed", "{executed}");
    assert_eq!(executed["action_id"], item.action_id);
    assert_eq!(executed["result"]["output"]["head"], "hi\n");
    let records = recorded(&world, "action_executed").await;
    assert_eq!(records[0]["status"], "done", "{records:?}");
    assert_eq!(records[0]["worker"], worker.id);
}

#[tokio::test]
async fn what_is_asked_about_is_executed_after_the_yes_whether_or_not_somebody_waits() {
    let world = world().await;
    let session = world.session().await;
    let mut worker = Worker::new(&world).await;
    let asked = world.ask(run(&session, &shell(RISKY)).with(&world.agent.secret)).await.is(202);
    assert_eq!(asked["status"], "waiting", "{asked}");
    let (approval, id) = (asked["approval_id"].as_str().unwrap(), asked["action_id"].clone());
    world.say(approval, Answer::Approve).await;
    let item = worker.work().await;
    assert_eq!(item.action_id, id);
    assert_eq!(item.approval_id.as_deref(), Some(approval));
    worker.began(&item).await;
    worker.ended(&item, "done", "pushed").await;
    let found = until_state(&world, &session, &item.action_id, "done").await;
    assert_eq!(found["result"]["output"]["head"], "pushed");
    assert_eq!(world.state(approval).await, "done");
}

#[tokio::test]
async fn what_is_blocked_or_declined_never_reaches_a_worker() {
    let world = world().await;
    let session = world.session().await;
    let mut worker = Worker::new(&world).await;
    let send = async |command| {
        world.ask(waiting(run(&session, &shell(command))).with(&world.agent.secret)).await
    };
    send("rm -rf /").await.is_problem(403, "blocked");
    let no = async {
        let question = loop {
            let cards = world.gate.waiting(&world.member.person).await.unwrap();
            if let Some(card) = cards.first() {
                break card.approval.to_string();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        world.say(&question, Answer::Reject).await;
    };
    let (answer, ()) = tokio::join!(send(RISKY), no);
    answer.is_problem(403, "declined");
    // The first that the worker hears of is the next one.
    let asked = world.ask(run(&session, &shell("echo next")).with(&world.agent.secret)).await;
    assert_eq!(asked.is(202)["status"], "executing");
    let item = worker.work().await;
    assert_eq!(json!(item.action)["command"], "echo next");
}

#[tokio::test]
async fn what_a_worker_leaves_is_unknown_and_never_done_again() {
    let world = world().await;
    let session = world.session().await;
    let key = worker_key(&world).await;
    let mut worker = Worker::with(&world, &key, Some("one")).await;
    let asked = world.ask(run(&session, &shell(RISKY)).with(&world.agent.secret)).await.is(202);
    let approval = asked["approval_id"].as_str().unwrap();
    world.say(approval, Answer::Approve).await;
    let item = worker.work().await;
    worker.began(&item).await;
    let id = worker.id.clone();
    drop(worker);
    until_state(&world, &session, &item.action_id, "unknown").await;
    assert_eq!(world.state(approval).await, "unknown");
    let records = recorded(&world, "action_executed").await;
    assert_eq!(records.iter().filter(|it| it["status"] == "unknown").count(), 1, "{records:?}");
    let mut again = Worker::with(&world, &key, Some("one")).await;
    assert_eq!(again.id, id, "it is the same worker");
    // Its late word changes nothing, and the next work is another.
    again.ended(&item, "done", "late").await;
    world.ask(run(&session, &shell("echo next")).with(&world.agent.secret)).await.is(202);
    assert_ne!(again.work().await.action_id, item.action_id);
    until_state(&world, &session, &item.action_id, "unknown").await;
}

#[tokio::test]
async fn a_worker_that_speaks_of_what_it_was_not_given_is_disconnected() {
    let world = world().await;
    let session = world.session().await;
    let mut worker = Worker::new(&world).await;
    let asked = world.ask(run(&session, &shell("echo 1")).with(&world.agent.secret)).await;
    asked.is(202);
    let item = worker.work().await;
    let mut other = Worker::new(&world).await;
    other.ended(&item, "done", "forged").await;
    assert_eq!(until_closed(&mut other.socket).await, Some(1002));
    worker.began(&item).await;
    worker.ended(&item, "done", "own").await;
    let found = until_state(&world, &session, &item.action_id, "done").await;
    assert_eq!(found["result"]["output"]["head"], "own");
}

#[tokio::test]
async fn a_halt_and_the_end_of_a_session_stop_what_runs() {
    let world = world().await;
    for halts in [false, true] {
        let session = world.session().await;
        let mut worker = Worker::new(&world).await;
        world.ask(run(&session, &shell("sleep 99")).with(&world.agent.secret)).await.is(202);
        let item = worker.work().await;
        worker.began(&item).await;
        until_state(&world, &session, &item.action_id, "running").await;
        if halts {
            world.gate.halt(&world.member.person).await.unwrap();
        } else {
            let stop = post(format!("/api/sessions/{session}/stop")).with(&world.member.device);
            world.ask(stop).await.is(204);
        }
        let stop = worker.hear().await;
        assert_eq!(stop["message"], "stop", "{stop}");
        assert_eq!(stop["action_id"], item.action_id);
        if !halts {
            assert_eq!(worker.hear().await["message"], "end_session");
        }
        worker.ended(&item, "stopped", "").await;
        until_state(&world, &session, &item.action_id, "stopped").await;
        let records = recorded(&world, "action_executed").await;
        let stopped = records.iter().find(|it| it["id"] == item.action_id.as_str()).unwrap();
        assert_eq!(stopped["status"], "stopped");
        let why = if halts { "everything is halted" } else { "stopped" };
        assert_eq!(stopped["stopped_for"], why);
    }
}

#[tokio::test]
async fn only_a_key_with_the_scope_itself_is_a_workers_and_a_revoked_one_is_disconnected() {
    let world = world().await;
    assert_eq!(try_worker(&world, &world.agent.secret).await.err(), Some(403));
    assert_eq!(try_worker(&world, &world.program.secret).await.err(), Some(403));
    assert_eq!(try_worker(&world, &world.member.device).await.err(), Some(403));
    let key = worker_key(&world).await;
    let proposes = world.ask(crate::world::propose("ls").with(&key.secret)).await;
    proposes.is_problem(403, "scope");
    let mut worker = Worker::with(&world, &key, None).await;
    let revoke = ask(axum::http::Method::DELETE, format!("/api/keys/{}", key.id));
    world.ask(revoke.with(&world.member.device)).await.is(204);
    assert_eq!(until_closed(&mut worker.socket).await, Some(1008));
}

#[tokio::test]
async fn a_session_ends_when_no_worker_comes_in_time() {
    let config = Config { worker_within: 7, ..Setup::default().config };
    let world = World::new(Setup { config, ..Setup::default() }).await;
    let begin = post("/api/sessions").with(&world.member.device);
    let started = begin.json(&json!({"consent": true, "worker": true}));
    let expects = world.ask(started).await.is(201)["session_id"].as_str().unwrap().to_owned();
    let (asks, idle) = (world.session().await, world.session().await);
    let answer = world.ask(run(&asks, &shell("ls")).with(&world.agent.secret)).await;
    answer.is_problem(503, "no-worker");
    world.pass(6);
    world.sweep().await;
    let state = async |session: &str| {
        let look = get(format!("/api/sessions/{session}")).with(&world.member.device);
        let session = world.ask(look).await.is(200);
        (session["state"].clone(), session["ended_by"].clone())
    };
    assert_eq!(state(&expects).await.0, "active");
    world.pass(2);
    world.sweep().await;
    for session in [&expects, &asks] {
        assert_eq!(state(session).await, (json!("ended"), json!("no_worker")));
    }
    assert_eq!(state(&idle).await.0, "active");
}

/// A session with a credential for a site.
async fn session_with(world: &World, secret: &str) -> String {
    let fields = json!({"username": "ann", "password": secret});
    let body = json!({
        "consent": true,
        "credentials": [{"site": "https://bank.example", "fields": fields}],
    });
    let begin = post("/api/sessions").with(&world.member.device).json(&body);
    world.ask(begin).await.is(201)["session_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_credential_is_lent_field_by_field_and_found_nowhere_else() {
    let canary = "canary \u{e9}\"7 told";
    let world = World::new(Setup { on_disk: true, ..Setup::default() }).await;
    let session = session_with(&world, canary).await;
    let mut worker = Worker::new(&world).await;
    let login = json!({"kind": "login", "site": "https://bank.example/in"});
    let asked = world.ask(run(&session, &login).with(&world.agent.secret)).await;
    asked.is(202);
    let item = worker.work().await;
    worker.began(&item).await;
    let fill = |action: &str, origin: &str, field: &str| {
        json!({
            "message": "fill", "request": 1, "action_id": action, "origin": origin, "field": field,
        })
    };
    let site = "https://bank.example";
    for (origin, field) in [
        ("https://bank.example.evil.example", "password"),
        ("http://bank.example", "password"),
        ("https://bank.example:8443", "password"),
        (site, "otp"),
    ] {
        worker.say(fill(&item.action_id, origin, field)).await;
        let refused = worker.hear().await;
        assert_eq!(refused, json!({"message": "filled", "request": 1}), "{origin} {field}");
    }
    worker.say(fill(&item.action_id, site, "password")).await;
    assert_eq!(worker.hear().await["content"], canary);
    let quoted = serde_json::to_string(canary).unwrap();
    let output = format!("as it is {canary}, quoted {quoted}");
    worker
        .say(json!({
            "message": "piece", "action_id": item.action_id, "stream": "output",
            "text": format!("{output}\n"),
        }))
        .await;
    worker.ended(&item, "done", &output).await;
    let found = until_state(&world, &session, &item.action_id, "done").await;
    assert!(found["result"]["output"]["head"].as_str().unwrap().contains("redacted:credential"));
    worker.say(fill(&item.action_id, site, "password")).await;
    assert_eq!(worker.hear().await["content"], Value::Null, "the sign-in is over");
    let records = world.gate.store().records(&RecordQuery::default()).await.unwrap();
    let content = records.iter().filter_map(|record| record.content.as_ref());
    let payloads: Vec<_> = content.map(|content| &content.payload).collect();
    let all = format!("{found} {payloads:?}");
    for told in ["canary", "\u{e9}\\\"7"] {
        assert!(!all.contains(told), "{all}");
    }
    let lent: Vec<_> = recorded(&world, "action_executed").await;
    let lent: Vec<_> = lent.iter().filter(|it| it["status"] == "field_lent").collect();
    assert_eq!(lent.len(), 1, "{lent:?}");
    assert_eq!((&lent[0]["field"], &lent[0]["count"]), (&json!("password"), &json!(1)));
    for name in ["gate.db", "gate.db-wal"] {
        let bytes = std::fs::read(world.folder().join(name)).unwrap_or_default();
        assert!(!bytes.windows(6).any(|at| at == b"canary"), "{name}");
    }
}

#[tokio::test]
async fn what_an_agent_says_about_an_element_is_replaced_by_what_its_page_says() {
    let world = world().await;
    let session = world.session().await;
    let mut worker = Worker::new(&world).await;
    let click = json!({
        "kind": "ui", "surface": "browser", "op": "click", "reference": "e7",
        "label": "Harmless", "url": "https://harmless.example",
    });
    let asked = world.ask(run(&session, &click).with(&world.agent.secret));
    let describe = async {
        let asked = worker.hear().await;
        assert_eq!((&asked["message"], &asked["reference"]), (&json!("describe"), &json!("e7")));
        worker
            .say(json!({
                "message": "described", "request": asked["request"],
                "element": {
                    "reference": "e7", "fingerprint": "f1", "url": "https://shop.example/cart",
                    "label": "Delete my account",
                },
            }))
            .await;
    };
    let (answer, ()) = tokio::join!(asked, describe);
    let asked = answer.is(202);
    assert_eq!(asked["status"], "waiting", "{asked}");
    let shown = asked["confirmation"].to_string();
    assert!(shown.contains("Delete my account") && !shown.contains("armless"), "{shown}");
    world.say(asked["approval_id"].as_str().unwrap(), Answer::Approve).await;
    let item = worker.work().await;
    assert_eq!(item.element.unwrap().fingerprint, "f1");
    assert_eq!(json!(item.action)["label"], "Delete my account");
    let without = json!({"kind": "ui", "surface": "browser", "op": "click", "label": "OK"});
    let refused = world.ask(run(&session, &without).with(&world.agent.secret)).await;
    refused.is_problem(422, "no-reference");
}

#[tokio::test]
async fn what_work_causes_is_decided_like_any_other_action_of_its_session() {
    let world = world().await;
    let session = world.session().await;
    let mut worker = Worker::new(&world).await;
    world.ask(run(&session, &shell("echo 1")).with(&world.agent.secret)).await.is(202);
    let item = worker.work().await;
    worker.began(&item).await;
    let propose = |request: u64, command: &str| {
        json!({
            "message": "propose", "request": request, "action_id": item.action_id,
            "action": {"kind": "shell", "command": command}, "details": ["to the bank: 7"],
        })
    };
    worker.say(propose(1, "ls")).await;
    assert_eq!(worker.hear().await, json!({"message": "decided", "request": 1, "permitted": true}));
    worker.say(propose(2, "rm -rf /")).await;
    assert_eq!(worker.hear().await["permitted"], false);
    worker.say(propose(3, RISKY)).await;
    let card = timeout(PATIENCE, async {
        loop {
            if let Some(card) = world.gate.waiting(&world.member.person).await.unwrap().pop() {
                return card;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let card = card.await.unwrap();
    assert_eq!(card.session.as_ref().unwrap().as_str(), session);
    world.say(card.approval.as_str(), Answer::Approve).await;
    let decided = worker.hear().await;
    assert_eq!(decided, json!({"message": "decided", "request": 3, "permitted": true}));
    assert_eq!(world.state(card.approval.as_str()).await, "done");
}

#[tokio::test]
async fn a_worker_serves_its_own_user_and_everybody_only_for_an_administrator() {
    let world = world().await;
    let make = || Make { scope: "worker", access: Access::Program, ..Make::default() };
    let session = world.session().await;
    let strangers = world.key(&world.stranger, &world.elsewhere, make()).await;
    let _elsewhere = Worker::with(&world, &strangers, None).await;
    let refused = async || -> HttpAnswer {
        world.ask(run(&session, &shell("ls")).with(&world.agent.secret)).await
    };
    refused().await.is_problem(503, "no-worker");
    let admins = world.key(&world.admin, &world.workspace, make()).await;
    let mut worker = Worker::with(&world, &admins, None).await;
    refused().await.is(202);
    assert_eq!(worker.work().await.session_id, session);
}

#[tokio::test]
async fn work_that_is_not_ended_in_time_is_stopped_and_then_given_up() {
    let world = world().await;
    let session = world.session().await;
    let mut worker = Worker::new(&world).await;
    world.ask(run(&session, &shell("sleep 99")).with(&world.agent.secret)).await.is(202);
    let item = worker.work().await;
    worker.began(&item).await;
    until_state(&world, &session, &item.action_id, "running").await;
    world.pass(71);
    world.sweep().await;
    assert_eq!(worker.hear().await["why"], "its time is over");
    world.pass(11);
    world.sweep().await;
    until_state(&world, &session, &item.action_id, "unknown").await;
}
