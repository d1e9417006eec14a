//! Live events: their recipients and their wording.

use std::collections::HashMap;
use std::time::Duration;

use countersign_core::Action;
use countersign_gate::approval::{Answer, QuorumRow};
use countersign_gate::gate::PersonAnswer;
use countersign_gate::id::{ApprovalId, DeviceId};
use countersign_gate::secret::Secret;
use countersign_gate::{Caller, Config, Gate, Proposal, Submitted};
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};

use crate::world::{Ask, Make, PATIENCE, RISKY, SAFE, Setup, World, get, post, propose, world};

pub(crate) type Socket = WebSocketStream<TcpStream>;

/// Opens a WebSocket with these headers, or gives the status it is refused with.
async fn try_socket(world: &World, headers: &[(&str, &str)]) -> Result<Socket, u16> {
    let mut request = format!("ws://{}/api/ws", world.address).into_client_request().unwrap();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    match tokio_tungstenite::client_async(request, world.connect().await).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

/// The WebSocket of a signed-in device.
pub(crate) async fn socket(world: &World, device: &str) -> Socket {
    try_socket(world, &[("authorization", &format!("Bearer {device}"))]).await.unwrap()
}

/// The next message of a device, as JSON.
async fn heard(socket: &mut Socket) -> Value {
    loop {
        let next = timeout(PATIENCE, socket.next()).await.expect("nothing is said");
        match next.expect("it is closed").unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The next message of this kind.
async fn heard_of(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let message = heard(socket).await;
        if message["type"] == kind {
            return message["payload"].clone();
        }
    }
}

async fn say(socket: &mut Socket, message: &Value) {
    socket.send(Message::text(message.to_string())).await.unwrap();
}

/// Everything a device was told until now: our ping marks the end.
async fn so_far(socket: &mut Socket) -> Vec<Value> {
    say(socket, &json!({"type": "ping"})).await;
    let mut all = Vec::new();
    loop {
        let message = heard(socket).await;
        if message["type"] == "pong" {
            return all;
        }
        all.push(message);
    }
}

/// Reads until a device is disconnected, and returns the close code.
pub(crate) async fn until_closed(socket: &mut Socket) -> Option<u16> {
    let closed = async {
        while let Some(Ok(message)) = socket.next().await {
            if let Message::Close(frame) = message {
                return frame.map(|frame| frame.code.into());
            }
        }
        None
    };
    timeout(PATIENCE, closed).await.expect("it stays open")
}

/// A stream of events.
pub(crate) struct Events {
    stream: hyper::Response<Incoming>,
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    id: Option<String>,
    pub(crate) name: String,
    data: Value,
}

pub(crate) async fn events(world: &World, ask: Ask) -> Events {
    let stream = world.open(ask).await;
    assert_eq!(stream.status(), 200);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    Events { stream, text: String::new() }
}

impl Events {
    /// The next event; nothing when the stream ends.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        timeout(PATIENCE, self.read()).await.expect("nothing is said")
    }

    async fn read(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let fields: HashMap<_, _> =
                    block.lines().filter_map(|line| line.split_once(": ")).collect();
                let event = fields.get("event").map(|name| Event {
                    id: fields.get("id").map(ToString::to_string),
                    name: (*name).to_owned(),
                    data: serde_json::from_str(fields["data"]).unwrap(),
                });
                self.text = rest.to_owned();
                match event {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let data = self.stream.frame().await?.ok()?.into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    async fn next_of(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream ended");
            if event.name == name {
                return event;
            }
        }
    }

    /// Every event until the kill switch, which tells everybody.
    async fn until_halted(&mut self) -> Vec<Event> {
        let mut all = Vec::new();
        loop {
            let event = self.next().await.expect("the stream ended");
            if event.name == "halted" {
                return all;
            }
            all.push(event);
        }
    }
}

fn listen(secret: &str) -> Ask {
    get("/api/events").with(secret)
}

fn is_approval_id(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    text.strip_prefix("apr_").is_some_and(|rest| rest.len() == 26 && rest.bytes().all(letter))
}

// --- server-sent events ---

#[tokio::test]
async fn a_question_is_an_event_with_an_id_of_its_own() {
    let world = world().await;
    let mut stream = events(&world, listen(&world.member.device)).await;
    let (one, other) = (world.question(RISKY).await, world.question("npm publish").await);
    assert_ne!(one, other);
    for id in [&one, &other] {
        let event = stream.next_of("approval_required").await;
        assert_eq!(event.data["approval_id"], **id);
        assert!(is_approval_id(id), "{id}");
        assert!(event.id.is_some());
        assert!(event.data["token"].as_str().unwrap().starts_with("cst_"));
    }
    let respond = post(format!("/api/approvals/{one}/respond")).json(&json!({"approved": true}));
    world.ask(respond.clone().with(&world.member.device)).await.is(200);
    let settled = stream.next_of("approval_settled").await.data;
    assert_eq!((&settled["approval_id"], &settled["state"]), (&json!(one), &json!("approved")));
    world.ask(respond.with(&world.member.device)).await.is_problem(409, "already-settled");
}

#[tokio::test]
async fn who_comes_back_is_told_exactly_what_they_missed() {
    let world = world().await;
    let mut stream = events(&world, listen(&world.member.device)).await;
    let first = world.question(RISKY).await;
    let seen = stream.next_of("approval_required").await;
    assert_eq!(seen.data["approval_id"], first);
    drop(stream);
    let second = world.question("npm publish").await;
    world.say(&first, Answer::Reject).await;
    let back = listen(&world.member.device).header("last-event-id", seen.id.unwrap());
    let mut stream = events(&world, back).await;
    world.gate.halt(&world.member.person).await.unwrap();
    let missed = stream.until_halted().await;
    let names: Vec<_> = missed.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["approval_required", "approval_settled"], "{missed:?}");
    assert_eq!(missed[0].data["approval_id"], second);
    assert_eq!(missed[1].data["approval_id"], first);
}

#[tokio::test]
async fn who_comes_with_an_unknown_place_is_told_all_that_waits() {
    let world = world().await;
    let mut ids = vec![world.question(RISKY).await];
    world.pass(1);
    ids.push(world.question("npm publish").await);
    for place in ["nonsense", "0000000000000000-1", "", "1"] {
        let ask = listen(&world.member.device).header("last-event-id", place);
        let mut stream = events(&world, ask).await;
        for id in &ids {
            assert_eq!(stream.next().await.unwrap().data["approval_id"], **id, "{place}");
        }
    }
}

#[tokio::test]
async fn who_breaks_off_while_told_again_is_told_again_all_of_it() {
    let world = world().await;
    let mut ids = Vec::new();
    for command in [RISKY, "npm publish", "terraform destroy"] {
        ids.push(world.question(command).await);
        world.pass(1);
    }
    let mut stream = events(&world, listen(&world.member.device)).await;
    let first = stream.next().await.unwrap();
    drop(stream);
    // A browser comes back with the last id it has heard, if it has heard one.
    let mut back = listen(&world.member.device);
    if let Some(id) = first.id {
        back = back.header("last-event-id", id);
    }
    let mut stream = events(&world, back).await;
    for id in &ids {
        assert_eq!(stream.next().await.unwrap().data["approval_id"], **id);
    }
}

#[tokio::test]
async fn an_agent_hears_of_its_own_questions_alone_and_never_a_token() {
    let world = world().await;
    let other = world.key(&world.member, &world.workspace, Make::default()).await;
    let mut own = events(&world, listen(&world.agent.secret)).await;
    let mut others = events(&world, listen(&other.secret)).await;
    let id = world.question(RISKY).await;
    let elsewhere = world.question_of(&other.secret, "npm publish").await;
    // One of the person's own assistant.
    let asked = world.ask(propose("terraform destroy").with(&world.member.device)).await;
    let assistants = asked.is(202)["approval_id"].as_str().unwrap().to_owned();
    world.say(&id, Answer::Approve).await;
    world.gate.halt(&world.member.person).await.unwrap();
    let told = own.until_halted().await;
    let text = format!("{told:?}");
    assert!(text.contains(&id) && !text.contains("cst_"), "{text}");
    assert!(!text.contains(&elsewhere) && !text.contains(&assistants), "{text}");
    let names: Vec<_> = told.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["approval_required", "approval_settled"]);
    let text = format!("{:?}", others.until_halted().await);
    assert!(text.contains(&elsewhere) && !text.contains(&id) && !text.contains("cst_"), "{text}");
    // Neither does one that comes back.
    let place = listen(&other.secret).header("last-event-id", told[0].id.clone().unwrap());
    world.gate.resume(&world.owner.person).await.unwrap();
    let mut back = events(&world, place).await;
    let text = format!("{:?}", back.until_halted().await);
    assert!(!text.contains(&id) && !text.contains("cst_"), "{text}");
}

#[tokio::test]
async fn a_person_has_only_so_many_streams_at_once() {
    let mut setup = Setup::default();
    setup.limits.live_connections = 2;
    let world = World::new(setup).await;
    let one = events(&world, listen(&world.member.device)).await;
    let _two = events(&world, listen(&world.member.device)).await;
    let third = world.ask(listen(&world.member.device)).await;
    third.is_problem(429, "too-many-connections");
    assert!(!third.header("retry-after").is_empty());
    let bearer = format!("Bearer {}", world.member.device);
    assert_eq!(try_socket(&world, &[("authorization", &bearer)]).await.err(), Some(429));
    events(&world, listen(&world.stranger.device)).await;
    drop(one);
    // The server notices when it next looks at the connection.
    for _ in 0..100 {
        if try_socket(&world, &[("authorization", &bearer)]).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the place was not given back");
}

// --- the WebSocket ---

#[tokio::test]
async fn a_page_of_another_site_opens_no_socket() {
    let world = world().await;
    let cookie = format!("countersign={}", world.member.device);
    let own = format!("http://{}", world.address);
    let refused = async |headers: &[(&str, &str)]| try_socket(&world, headers).await.err();
    let evil = ("origin", "https://evil.example");
    assert_eq!(refused(&[("cookie", &cookie), evil]).await, Some(403));
    assert_eq!(refused(&[("cookie", &cookie), ("origin", "null")]).await, Some(403));
    assert_eq!(refused(&[("cookie", &cookie)]).await, Some(403));
    let cross = ("sec-fetch-site", "cross-site");
    assert_eq!(refused(&[("cookie", &cookie), ("origin", &own), cross]).await, Some(403));
    let bearer = format!("Bearer {}", world.member.device);
    assert_eq!(refused(&[("authorization", &bearer), evil]).await, Some(403));
    let agent = format!("Bearer {}", world.agent.secret);
    assert_eq!(refused(&[("authorization", &agent)]).await, Some(403));
    assert_eq!(refused(&[]).await, Some(401));
    assert_eq!(refused(&[("cookie", &cookie), ("origin", &own)]).await, None);
    world.ask(get("/api/ws").with(&world.member.device)).await.is_problem(400, "bad-request");
}

#[tokio::test]
async fn nonsense_is_answered_and_too_much_is_not_listened_to() {
    let world = world().await;
    let mut device = socket(&world, &world.member.device).await;
    let secret = world.agent.secret.clone();
    for text in [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "{\"type\":\"x\"}",
        "{\"type\":1}",
        "\u{0}",
        "{\"type\":\"app_skill_confirmation_response\"}",
        "{\"type\":\"app_skill_confirmation_response\",\"payload\":{\"app_skill_id\":\"x\"}}",
        &json!({"type": secret}).to_string(),
        &json!({"type": "app_skill_confirmation_response", "payload": {"app_skill_id": [],
            "confirmation_token": [], "decision": "approve", "group_mode": true}})
        .to_string(),
        &"[".repeat(60_000),
    ] {
        device.send(Message::text(text.to_owned())).await.unwrap();
        let answer = heard(&mut device).await;
        assert_eq!(answer["type"], "error", "{text:.100}: {answer}");
        assert_eq!(answer["payload"]["status"], 400, "{answer}");
        assert!(!answer.to_string().contains(&secret), "{answer}");
    }
    device.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    assert_eq!(heard(&mut device).await["type"], "error");
    assert!(so_far(&mut device).await.is_empty());
    let _ = device.send(Message::text("x".repeat(65 * 1024))).await;
    until_closed(&mut device).await;
}

#[tokio::test]
async fn the_socket_of_a_device_that_is_put_out_closes_at_once() {
    let world = world().await;
    let tablet = world.device(&world.member).await;
    let mut put_out = socket(&world, &tablet.device).await;
    let mut stays = socket(&world, &world.member.device).await;
    so_far(&mut put_out).await;
    let id = DeviceId::parse(&tablet.device_id()).unwrap();
    world.gate.revoke_device(&world.member.person, &id).await.unwrap();
    assert_eq!(until_closed(&mut put_out).await, Some(1008));
    so_far(&mut stays).await;
    world.gate.disable_user(&world.owner.person, &world.member.person.user().id).await.unwrap();
    assert_eq!(until_closed(&mut stays).await, Some(1008));
}

/// The words of the assistant, as its documents spell them.
const REQUIRED: [&str; 8] = [
    "action_type",
    "app_id",
    "app_skill_id",
    "confirmation_token",
    "description",
    "details",
    "expires_at",
    "skill_id",
];

async fn send_email(world: &World) -> String {
    let action = json!({"kind": "skill", "skill": "email.send", "params": {"to": "a@example.com"}});
    let asked = post("/api/actions").json(&json!({"action": action})).with(&world.agent.secret);
    world.ask(asked).await.is(202)["approval_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_question_goes_to_every_device_of_its_user_and_to_nobody_else_s() {
    let world = world().await;
    let tablet = world.device(&world.member).await;
    let mut own =
        [socket(&world, &world.member.device).await, socket(&world, &tablet.device).await];
    let mut others = [
        socket(&world, &world.stranger.device).await,
        socket(&world, &world.admin.device).await,
        socket(&world, &world.owner.device).await,
    ];
    let id = send_email(&world).await;
    for device in &mut own {
        let message = heard(device).await;
        assert_eq!(message["type"], "app_skill_confirmation_required");
        let payload = message["payload"].as_object().unwrap();
        let mut names: Vec<_> = payload.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, REQUIRED);
        assert_eq!(payload["app_skill_id"], id);
        assert_eq!(payload["action_type"], "send_email");
        assert_eq!(payload["skill_id"], "email.send");
        assert_eq!(payload["app_id"], "email");
        assert!(payload["expires_at"].as_str().unwrap().ends_with('Z'));
        assert!(payload["confirmation_token"].as_str().unwrap().starts_with("cst_"));
        assert!(payload["description"].is_string() && payload["details"].is_object());
    }
    for device in &mut others {
        assert_eq!(so_far(device).await, Vec::<Value>::new());
    }
    // Nor when they come back.
    for secret in [&world.stranger.device, &world.admin.device, &world.owner.device] {
        let mut back = socket(&world, secret).await;
        assert_eq!(so_far(&mut back).await, Vec::<Value>::new());
    }
    let mut back = socket(&world, &tablet.device).await;
    let again = heard_of(&mut back, "app_skill_confirmation_required").await;
    assert_eq!(again["app_skill_id"], id);
}

fn response(ids: &Value, tokens: &Value, group: bool) -> Value {
    json!({"type": "app_skill_confirmation_response", "payload": {
        "app_skill_id": ids,
        "confirmation_token": tokens,
        "decision": "approve",
        "group_mode": group,
    }})
}

#[tokio::test]
async fn one_device_answers_and_the_others_are_told_at_once() {
    let world = world().await;
    let tablet = world.device(&world.member).await;
    let mut phone = socket(&world, &world.member.device).await;
    let mut other = socket(&world, &tablet.device).await;
    let id = send_email(&world).await;
    let asked = heard_of(&mut phone, "app_skill_confirmation_required").await;
    heard_of(&mut other, "app_skill_confirmation_required").await;
    let answer = response(&json!(id), &asked["confirmation_token"], false);
    say(&mut phone, &answer).await;
    let resolved = heard_of(&mut other, "app_skill_confirmation_resolved").await;
    assert_eq!(resolved["app_skill_id"], id);
    assert_eq!(resolved["status"], "approved");
    assert_eq!(resolved["resolved_by"], world.member.id());
    assert_eq!(world.state(&id).await, "approved");
    // A second answer changes nothing, wherever it comes from.
    say(&mut other, &answer).await;
    let result = heard_of(&mut other, "app_skill_confirmation_result").await;
    assert_eq!(result["results"][0]["accepted"], false, "{result}");
    // It runs, and they are told that it is done.
    let action = json!({"kind": "skill", "skill": "email.send", "params": {"to": "a@example.com"}});
    let spend = post(format!("/api/approvals/{id}/spend")).json(&json!({"action": action}));
    let permit = world.ask(spend.with(&world.agent.secret)).await.is(200);
    let report = post(format!("/api/actions/{}/report", permit["action_id"].as_str().unwrap()));
    let report = report.json(&json!({"outcome": "done"})).with(&world.agent.secret);
    world.ask(report).await.is(204);
    for device in [&mut phone, &mut other] {
        let completed = heard_of(device, "app_skill_completed").await;
        assert_eq!(completed["app_skill_id"], id);
        assert_eq!(completed["status"], "done");
    }
}

#[tokio::test]
async fn in_a_group_one_wrong_token_spoils_only_its_own() {
    let world = world().await;
    let mut device = socket(&world, &world.member.device).await;
    for by_id in [false, true] {
        let mut ids = Vec::new();
        let mut tokens = Vec::new();
        for command in [RISKY, "npm publish", "terraform destroy"] {
            let command = format!("{command} # {by_id}");
            ids.push(world.question(&command).await);
            tokens.push(world.token(ids.last().unwrap()).await);
        }
        // The second is shown the token of the first.
        tokens[1] = tokens[0].clone();
        let tokens = if by_id {
            let pairs = ids.iter().cloned().zip(tokens.iter().map(|token| json!(token)));
            Value::Object(pairs.collect())
        } else {
            json!(tokens)
        };
        // Several at once must be meant.
        say(&mut device, &response(&json!(ids), &tokens, false)).await;
        assert_eq!(heard_of(&mut device, "error").await["status"], 400);
        say(&mut device, &response(&json!(ids), &tokens, true)).await;
        let result = heard_of(&mut device, "app_skill_confirmation_result").await;
        let results = result["results"].as_array().unwrap();
        let accepted: HashMap<_, _> = results
            .iter()
            .map(|one| (one["app_skill_id"].as_str().unwrap(), one["accepted"] == true))
            .collect();
        for (place, id) in ids.iter().enumerate() {
            assert_eq!(accepted[id.as_str()], place != 1, "{result}");
            let state = if place == 1 { "pending" } else { "approved" };
            assert_eq!(world.state(id).await, state);
        }
        world.say(&ids[1], Answer::Reject).await;
    }
}

#[tokio::test]
async fn one_token_for_a_group_answers_the_one_it_belongs_to() {
    let world = world().await;
    let mut device = socket(&world, &world.member.device).await;
    let ids = [world.question(RISKY).await, world.question("npm publish").await];
    let token = world.token(&ids[1]).await;
    say(&mut device, &response(&json!(ids), &json!(token), true)).await;
    heard_of(&mut device, "app_skill_confirmation_result").await;
    assert_eq!(world.state(&ids[0]).await, "pending");
    assert_eq!(world.state(&ids[1]).await, "approved");
}

#[tokio::test]
async fn silence_is_told_as_an_expiry() {
    let world = world().await;
    let mut device = socket(&world, &world.member.device).await;
    let id = world.question(RISKY).await;
    world.pass(3_600);
    world.sweep().await;
    let expired = heard_of(&mut device, "app_skill_confirmation_expired").await;
    assert_eq!(expired["app_skill_id"], id);
    assert_eq!(expired["status"], "expired");
    // An expired question is not sent again.
    let mut back = socket(&world, &world.member.device).await;
    assert_eq!(so_far(&mut back).await, Vec::<Value>::new());
    let history = get("/api/approvals?state=expired").with(&world.member.device);
    assert_eq!(world.ask(history).await.is(200)["items"][0]["approval_id"], id);
}

fn others_must_agree() -> Setup {
    let setup = Setup::default();
    let risk = Some(countersign_core::RiskLevel::None);
    let rules = Vec::new();
    let quorum = vec![QuorumRow { risk, rules, need: Some(1), escalate_after: None }];
    Setup { config: Config { quorum, ..setup.config.clone() }, ..setup }
}

#[tokio::test]
async fn who_is_called_to_answer_for_another_is_told_also_when_they_were_away() {
    let world = World::new(others_must_agree()).await;
    let mut there = socket(&world, &world.admin.device).await;
    let mut stream = events(&world, listen(&world.owner.device)).await;
    let before = world.question(RISKY).await;
    let seen = stream.next_of("approval_required").await;
    assert_eq!(seen.data["approval_id"], before);
    drop(stream);
    // Until the server has noticed that the owner is gone.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let id = world.question("npm publish").await;
    for expected in [&before, &id] {
        let asked = heard_of(&mut there, "app_skill_confirmation_required").await;
        assert_eq!(asked["app_skill_id"], **expected);
    }
    let back = listen(&world.owner.device).header("last-event-id", seen.id.unwrap());
    let mut stream = events(&world, back).await;
    loop {
        if stream.next_of("approval_required").await.data["approval_id"] == id {
            break;
        }
    }
}

/// Runs something while the server cannot run at all: it shares this thread.
fn while_it_sleeps<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    std::thread::spawn(move || runtime.block_on(work)).join().unwrap()
}

async fn submit(gate: &Gate, caller: &Caller, command: String) -> Option<ApprovalId> {
    let proposal = Proposal::of(Action::Shell { command, cwd: Some("/work".into()) });
    match gate.submit(caller, &proposal).await.unwrap() {
        Submitted::Waiting(waiting) => Some(waiting.approval.clone()),
        Submitted::Permitted(..) => None,
        refused @ Submitted::Refused(_) => panic!("{refused:?}"),
    }
}

#[tokio::test]
async fn when_too_much_happened_to_tell_every_question_is_told_again() {
    let world = world().await;
    let mut device = socket(&world, &world.member.device).await;
    let mut stream = events(&world, listen(&world.member.device)).await;
    so_far(&mut device).await;
    let assistant = world.member.person.assistant(&world.workspace).unwrap();
    let gate = world.gate.clone();
    let id = while_it_sleeps(async move {
        let asked = submit(&gate, &assistant, RISKY.to_owned()).await;
        for number in 0..1_200 {
            submit(&gate, &assistant, format!("{SAFE} {number}")).await;
        }
        asked.unwrap()
    });
    heard_of(&mut device, "resync").await;
    let asked = heard_of(&mut device, "app_skill_confirmation_required").await;
    assert_eq!(asked["app_skill_id"], id.as_str());
    stream.next_of("resync").await;
    assert_eq!(stream.next_of("approval_required").await.data["approval_id"], id.as_str());
    // And goes on from there.
    let reply = PersonAnswer::plain(id.clone(), Answer::Approve);
    world.gate.answer(&world.member.person, reply).await.unwrap();
    let resolved = heard_of(&mut device, "app_skill_confirmation_resolved").await;
    assert_eq!(resolved["app_skill_id"], id.as_str());
    assert_eq!(stream.next_of("approval_settled").await.data["approval_id"], id.as_str());
}

#[tokio::test]
async fn who_falls_behind_is_told_everything_once_and_in_order() {
    let world = world().await;
    let mut device = socket(&world, &world.member.device).await;
    let mut stream = events(&world, listen(&world.member.device)).await;
    let mut agents = events(&world, listen(&world.agent.secret)).await;
    so_far(&mut device).await;
    let key = Secret::parse(&world.agent.secret).unwrap();
    let caller = world.gate.authenticate(&key, None).await.unwrap();
    let (gate, person) = (world.gate.clone(), world.member.person.clone());
    let ids = while_it_sleeps(async move {
        let mut ids = Vec::new();
        for number in 0..150 {
            let id = submit(&gate, &caller, format!("{RISKY} # {number}")).await.unwrap();
            gate.answer(&person, PersonAnswer::plain(id.clone(), Answer::Reject)).await.unwrap();
            ids.push(id.to_string());
        }
        ids
    });
    let mut told = Vec::new();
    while told.len() < 2 * ids.len() {
        let message = heard(&mut device).await;
        let kind = message["type"].as_str().unwrap().to_owned();
        told.push((kind, message["payload"]["app_skill_id"].as_str().unwrap().to_owned()));
    }
    let kinds = ["app_skill_confirmation_required", "app_skill_confirmation_resolved"];
    let expected = ids.iter().flat_map(|id| kinds.map(|kind| (kind.to_owned(), id.clone())));
    assert_eq!(told, expected.collect::<Vec<_>>());
    assert_eq!(so_far(&mut device).await, Vec::<Value>::new());
    for id in &ids {
        for stream in [&mut stream, &mut agents] {
            assert_eq!(stream.next().await.unwrap().data["approval_id"], **id);
            assert_eq!(stream.next().await.unwrap().data["approval_id"], **id);
        }
    }
}
