//! Every path through the server after a right was taken away: a key, a machine, a person, a
//! membership, a role, a session, a device, or everything by the kill switch.
//!
//! Each path is entered before and finished after. `rights.txt` is the table that people review;
//! `BLESS=1` rewrites it. A cell that still lets something happen must be in [`GOES_ON`].

use std::fmt::Write as _;
use std::time::Duration;

use axum::http::Method;
use countersign_gate::Config;
use countersign_gate::approval::{Answer, QuorumRow};
use countersign_gate::gate::{Consent, PersonAnswer};
use countersign_gate::id::{ApprovalId, DeviceId, KeyId, SessionId};
use countersign_gate::key::Devices;
use countersign_gate::session::Plan;
use countersign_gate::user::Membership;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::live::{Events, Socket, events, socket};
use crate::world::{
    Ask, HttpAnswer, Key, Make, PATIENCE, RISKY, SAFE, Setup, World, ask, get, post, rest, shell,
    world,
};

const NOTES: &str = "\
# What happens on every road once a right was taken away. Roads are entered before and finished
# after. The agent works for a member of the workspace; an admin of it answers. On the agent's
# roads what is taken is the agent's or the member's, on the others the admin's.
#
";

/// The rights that can be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Key,
    Machine,
    User,
    Member,
    Role,
    Halt,
    Session,
    Device,
}

const RIGHTS: [(Right, &str); 8] = [
    (Right::Key, "key revoked"),
    (Right::Machine, "machine revoked"),
    (Right::User, "user disabled"),
    (Right::Member, "member removed"),
    (Right::Role, "role lowered"),
    (Right::Halt, "halted"),
    (Right::Session, "session ended"),
    (Right::Device, "device signed out"),
];

/// The paths on which something is permitted, answered or told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Road {
    Propose,
    Batch,
    Wait,
    Confirm,
    Spend,
    Report,
    Withdraw,
    Replay,
    Upload,
    Stream,
    Respond,
    RespondOnSocket,
    StreamOfPerson,
}

const ROADS: [(Road, &str); 13] = [
    (Road::Propose, "POST /api/actions"),
    (Road::Batch, "POST /api/actions/batch"),
    (Road::Wait, "Prefer: wait"),
    (Road::Confirm, "POST /api/confirmations"),
    (Road::Spend, "spend"),
    (Road::Report, "report"),
    (Road::Withdraw, "withdraw"),
    (Road::Replay, "idempotent replay"),
    (Road::Upload, "upload under way"),
    (Road::Stream, "event stream of the agent"),
    (Road::Respond, "respond over HTTP"),
    (Road::RespondOnSocket, "respond over WebSocket"),
    (Road::StreamOfPerson, "event stream of the admin"),
];

/// The cells in which something may still happen, and the reason that it is right.
const GOES_ON: [(&[Right], &[Road], &str); 4] = [
    (
        &[Right::Role, Right::Device],
        &[
            Road::Propose,
            Road::Batch,
            Road::Wait,
            Road::Confirm,
            Road::Spend,
            Road::Report,
            Road::Withdraw,
            Road::Replay,
            Road::Upload,
            Road::Stream,
        ],
        "an agent needs neither its person's role nor their console",
    ),
    (
        &[Right::Key, Right::Machine],
        &[Road::Respond, Road::RespondOnSocket, Road::StreamOfPerson],
        "a person answers by their own right; the agent cannot use the answer",
    ),
    (
        &[Right::Halt, Right::Session],
        &[Road::Report, Road::Stream, Road::StreamOfPerson],
        "saying how it went, and hearing that it is over, lets nothing run",
    ),
    (&[Right::Role, Right::Member], &[Road::StreamOfPerson], "still a person, who hears less"),
];

fn goes_on(right: Right, road: Road) -> bool {
    GOES_ON.iter().any(|(rights, roads, _)| rights.contains(&right) && roads.contains(&road))
}

/// Reports whether a cell says that something was let through.
fn lets_through(cell: &str) -> bool {
    ["200", "201", "202", "204", "hears"].iter().any(|word| cell.starts_with(word))
}

/// An agent of the member on its machine, in a session.
struct Stage {
    world: World,
    key: Key,
    machine: (String, String),
    session: String,
}

/// A path that was entered.
enum Entered {
    Nothing,
    Approval(String),
    Action(String),
    Answering(tokio::task::JoinHandle<HttpAnswer>),
    Uploading(TcpStream),
    Events(Box<Events>),
    Socket(Box<Socket>, String, String),
}

impl Stage {
    async fn new() -> Self {
        let row = QuorumRow {
            risk: None,
            rules: vec!["shell.git.*".to_owned()],
            need: None,
            escalate_after: Some(1),
        };
        let setup = Setup::default();
        let config = Config { quorum: vec![row], ..setup.config.clone() };
        let world = World::new(Setup { config, ..setup }).await;
        let machine = world.machine(true).await;
        let make = Make { devices: Devices::Approved, ..Make::default() };
        let key = world.key(&world.member, &world.workspace, make).await;
        // An admin, so that there is something to lower.
        let (user, admin) = (&world.member.person.user().id, Some(Membership::Admin));
        let raised =
            world.gate.change_membership(&world.owner.person, user, &world.workspace, admin);
        raised.await.unwrap();
        let assistant = world.member.person.assistant(&world.workspace).unwrap();
        let begun = world.gate.start(&assistant, Plan::default(), Consent::Given, Vec::new());
        let session = begun.await.unwrap().id.to_string();
        Self { world, key, machine, session }
    }

    /// As the agent on its machine.
    fn by_agent(&self, ask: Ask) -> Ask {
        ask.with(&self.key.secret).header("countersign-device", self.machine.1.as_str())
    }

    fn body(&self, command: &str) -> Value {
        let mut body = shell(command);
        body["session_id"] = json!(self.session);
        body
    }

    fn propose(&self, command: &str) -> Ask {
        self.by_agent(post("/api/actions").json(&self.body(command)))
    }

    fn question(&self) -> Value {
        json!({"description": "go on?", "session_id": self.session})
    }

    /// A question that has gone to the admins too.
    async fn asked(&self) -> String {
        let asked = self.world.ask(self.propose(RISKY)).await.is(202);
        self.world.pass(2);
        self.world.sweep().await;
        asked["approval_id"].as_str().unwrap().to_owned()
    }

    async fn owner_approves(&self, approval: &str) {
        let reply = PersonAnswer::plain(ApprovalId::parse(approval).unwrap(), Answer::Approve);
        // It may be cancelled already.
        let _ = self.world.gate.answer(&self.world.owner.person, reply).await;
    }

    async fn take(&self, right: Right, road: Road) {
        let Self { world, .. } = self;
        let (gate, owner) = (&world.gate, &world.owner.person);
        let of_admin = [Road::Respond, Road::RespondOnSocket, Road::StreamOfPerson].contains(&road);
        let being = if of_admin { &world.admin } else { &world.member };
        let user = &being.person.user().id;
        let member = async |membership| {
            gate.change_membership(owner, user, &world.workspace, membership).await.unwrap();
        };
        match right {
            Right::Key => {
                let key = KeyId::parse(&self.key.id).unwrap();
                gate.revoke_key(&world.member.person, &key).await.unwrap();
            }
            Right::Machine => {
                let machine = DeviceId::parse(&self.machine.0).unwrap();
                gate.revoke_device(&world.member.person, &machine).await.unwrap();
            }
            Right::User => gate.disable_user(owner, user).await.unwrap(),
            Right::Member => member(None).await,
            Right::Role => member(Some(Membership::Member)).await,
            Right::Halt => drop(gate.halt(owner).await.unwrap()),
            Right::Session => {
                gate.stop(owner, &SessionId::parse(&self.session).unwrap()).await.unwrap();
            }
            Right::Device => gate.sign_out(&being.person).await.unwrap(),
        }
    }

    async fn enter(&self, road: Road) -> Entered {
        let world = &self.world;
        match road {
            Road::Propose | Road::Batch => Entered::Nothing,
            Road::Wait => {
                let ask = self.propose(RISKY).header("prefer", "wait=20");
                let (stream, address) = (world.connect().await, world.address);
                let answer = tokio::spawn(crate::world::send(stream, address, ask));
                while world.gate.waiting(&world.member.person).await.unwrap().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Entered::Answering(answer)
            }
            Road::Confirm => {
                let ask = post("/api/confirmations").json(&self.question());
                let asked = world.ask(self.by_agent(ask)).await.is(202);
                let id = asked["approval_id"].as_str().unwrap().to_owned();
                self.owner_approves(&id).await;
                Entered::Approval(id)
            }
            Road::Spend => {
                let id = self.asked().await;
                self.owner_approves(&id).await;
                Entered::Approval(id)
            }
            Road::Report => {
                let permitted = world.ask(self.propose(SAFE)).await.is(200);
                Entered::Action(permitted["action_id"].as_str().unwrap().to_owned())
            }
            Road::Withdraw | Road::Respond => Entered::Approval(self.asked().await),
            Road::Replay => {
                world.ask(self.propose(SAFE).header("idempotency-key", "once")).await.is(200);
                Entered::Nothing
            }
            Road::Upload => Entered::Uploading(self.begin_upload().await),
            Road::Stream => {
                Entered::Events(Box::new(events(world, self.by_agent(get("/api/events"))).await))
            }
            Road::StreamOfPerson => {
                let ask = get("/api/events").with(&world.admin.device);
                Entered::Events(Box::new(events(world, ask).await))
            }
            Road::RespondOnSocket => {
                let id = self.asked().await;
                let socket = socket(world, &world.admin.device).await;
                Entered::Socket(Box::new(socket), id.clone(), world.token(&id).await)
            }
        }
    }

    /// Half of a piece has arrived.
    async fn begin_upload(&self) -> TcpStream {
        let world = &self.world;
        let path = format!("/api/sessions/{}/uploads", self.session);
        let begin = post(&path).json(&json!({"name": "a.txt"}));
        let upload = world.ask(self.by_agent(begin)).await.is(201);
        let file = upload["file_id"].as_str().unwrap();
        let head = format!(
            "PATCH {path}/{file} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             countersign-device: {}\r\nupload-offset: 0\r\ncontent-length: 10\r\n\
             content-type: application/octet-stream\r\nconnection: close\r\n\r\nhello",
            world.address, self.key.secret, self.machine.1,
        );
        let mut stream = world.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // The room for a piece is taken when it begins.
        let id = SessionId::parse(&self.session).unwrap();
        let session = world.gate.session(&world.owner.person, &id).await.unwrap();
        let key = session.counter("upload_bytes");
        let taken = async {
            while world.gate.store().counter(&key).await.unwrap() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, taken).await.unwrap();
        stream
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each road")]
    async fn finish(&self, road: Road, entered: Entered) -> String {
        let world = &self.world;
        match (road, entered) {
            (Road::Propose, _) => told(&world.ask(self.propose(SAFE)).await),
            (Road::Batch, _) => {
                let body = json!({"proposals": [self.body(SAFE)]});
                let ask = self.by_agent(post("/api/actions/batch").json(&body));
                told_of_batch(&world.ask(ask).await)
            }
            (Road::Wait, Entered::Answering(answer)) => {
                let waiting = world.gate.waiting(&world.owner.person).await.unwrap();
                for card in waiting {
                    self.owner_approves(card.approval.as_str()).await;
                }
                told(&timeout(PATIENCE, answer).await.unwrap().unwrap())
            }
            (Road::Confirm, Entered::Approval(id)) => {
                let mut question = self.question();
                question["approval_id"] = json!(id);
                let ask = post("/api/confirmations").json(&question);
                let answer = world.ask(self.by_agent(ask)).await;
                match answer.json()["approved"].as_bool() {
                    Some(false) => "told no".to_owned(),
                    Some(true) | None => told(&answer),
                }
            }
            (Road::Spend, Entered::Approval(id)) => {
                let spend = post(format!("/api/approvals/{id}/spend")).json(&shell(RISKY));
                told(&world.ask(self.by_agent(spend)).await)
            }
            (Road::Report, Entered::Action(id)) => {
                let report = post(format!("/api/actions/{id}/report"));
                let report = report.json(&json!({"outcome": "done", "session_id": self.session}));
                told(&world.ask(self.by_agent(report)).await)
            }
            (Road::Withdraw, Entered::Approval(id)) => {
                let withdraw = post(format!("/api/approvals/{id}/withdraw"));
                told(&world.ask(self.by_agent(withdraw)).await)
            }
            (Road::Replay, _) => {
                let again = self.propose(SAFE).header("idempotency-key", "once");
                told(&world.ask(again).await)
            }
            (Road::Upload, Entered::Uploading(mut stream)) => {
                // It may be refused and closed before the rest has gone.
                let _ = stream.write_all(b"world").await;
                told_raw(&rest(&mut stream).await)
            }
            (Road::Respond, Entered::Approval(id)) => {
                let respond = post(format!("/api/approvals/{id}/respond"));
                let respond = respond.json(&json!({"approved": true})).with(&world.admin.device);
                told(&world.ask(respond).await)
            }
            (Road::Stream | Road::StreamOfPerson, Entered::Events(events)) => {
                self.next_event(*events).await
            }
            (Road::RespondOnSocket, Entered::Socket(socket, id, token)) => {
                answer_on(*socket, &id, &token).await
            }
            (road, _) => panic!("{road:?} was not entered"),
        }
    }

    /// The next event of a stream, after the kill switch was used, which is sent to every listener.
    async fn next_event(&self, mut events: Events) -> String {
        self.world.gate.halt(&self.world.owner.person).await.unwrap();
        match events.next().await {
            Some(event) => format!("hears {}", event.name),
            None => "closed".to_owned(),
        }
    }
}

/// An answer on a socket that was open before.
async fn answer_on(mut socket: Socket, id: &str, token: &str) -> String {
    let payload = json!({"app_skill_id": id, "confirmation_token": token, "decision": "approve"});
    let answer = json!({"type": "app_skill_confirmation_response", "payload": payload});
    // Refused where it is closed already.
    let _ = socket.send(Message::text(answer.to_string())).await;
    let heard = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    if message["type"] == "app_skill_confirmation_result" {
                        return told_of_result(&message["payload"]["results"][0]);
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return "closed".to_owned(),
                Some(Ok(_)) => {}
            }
        }
    };
    timeout(PATIENCE, heard).await.expect("nothing is said")
}

fn told_of_result(result: &Value) -> String {
    if result["accepted"] == true { "200".to_owned() } else { told_of(&result["problem"]) }
}

/// The status of an answer, and the name of its problem.
fn told(answer: &HttpAnswer) -> String {
    if answer.status < 400 { answer.status.to_string() } else { told_of(&answer.json()) }
}

fn told_of(problem: &Value) -> String {
    let name = problem["type"].as_str().unwrap_or_default();
    let name = name.strip_prefix("urn:countersign:problem:").unwrap_or(name);
    format!("{} {name}", problem["status"])
}

fn told_of_batch(answer: &HttpAnswer) -> String {
    let body = answer.json();
    let outcome = &body["outcomes"][0];
    match outcome["status"].as_str() {
        Some("refused") => told_of(&outcome["problem"]),
        Some(_) | None => told(answer),
    }
}

fn told_raw(answer: &str) -> String {
    let status: u16 = answer.split(' ').nth(1).unwrap_or_default().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    match serde_json::from_str(body) {
        Ok(problem) if status >= 400 => told_of(&problem),
        Ok(_) | Err(_) => status.to_string(),
    }
}

async fn cell(right: Right, road: Road) -> String {
    let stage = Stage::new().await;
    let entered = stage.enter(road).await;
    stage.take(right, road).await;
    stage.finish(road, entered).await
}

#[tokio::test]
async fn a_right_that_was_taken_away_is_gone_on_every_road() {
    let mut table = NOTES.to_owned();
    for (rights, roads, why) in GOES_ON {
        let of = |right: &Right| RIGHTS.iter().find(|(it, _)| it == right).unwrap().1;
        let on = |road: &Road| ROADS.iter().find(|(it, _)| it == road).unwrap().1;
        let rights: Vec<_> = rights.iter().map(of).collect();
        let roads: Vec<_> = roads.iter().map(on).collect();
        let _ =
            writeln!(table, "# {}: {}\n#   goes on: {why}", rights.join(", "), roads.join(", "));
    }
    for (right, taken) in RIGHTS {
        let _ = writeln!(table, "\n{taken}");
        for (road, name) in ROADS {
            let cell = cell(right, road).await;
            let _ = writeln!(table, "  {name:<28}{cell}");
            assert!(!lets_through(&cell) || goes_on(right, road), "{taken}, {name}: {cell}");
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/rights.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let reviewed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(reviewed == table, "not as reviewed (BLESS=1 writes it anew):\n{table}");
}

#[tokio::test]
async fn members_who_were_removed_do_not_vote_two_through() {
    let row = QuorumRow {
        risk: None,
        rules: vec!["shell.git.*".to_owned()],
        need: Some(2),
        escalate_after: None,
    };
    let setup = Setup::default();
    let config = Config { quorum: vec![row], ..setup.config.clone() };
    let world = World::new(Setup { config, ..setup }).await;
    let gate = &world.gate;
    let agent = world.key(&world.owner, &world.workspace, Make::default()).await;
    let id = world.question_of(&agent.secret, RISKY).await;
    let approval = ApprovalId::parse(&id).unwrap();
    let card = gate.card(&world.owner.person, &approval).await.unwrap();
    let token = card.token.unwrap().expose().to_owned();
    for being in [&world.admin, &world.member] {
        let device = socket(&world, &being.device).await;
        let user = &being.person.user().id;
        let removed = gate.change_membership(&world.owner.person, user, &world.workspace, None);
        removed.await.unwrap();
        assert_eq!(answer_on(device, &id, &token).await, "404 not-found");
    }
    let spend = post(format!("/api/approvals/{id}/spend")).json(&shell(RISKY));
    world.ask(spend.with(&agent.secret)).await.is_problem(409, "pending");
}

#[tokio::test]
async fn somebody_from_outside_joins_a_workspace_by_their_own_yes() {
    let world = world().await;
    let path = format!("/api/users/{}/workspaces/{}", world.stranger.id(), world.workspace);
    let add = ask(Method::PUT, &path).json(&json!({"membership": "member"}));
    world.ask(add.clone().with(&world.admin.device)).await.is(202);
    let me = || get("/api/me").with(&world.stranger.device);
    let before = world.ask(me()).await.is(200);
    let workspace = world.workspace.to_string();
    assert_eq!(before["user"]["invited"][&workspace], "member");
    assert!(before["user"]["workspaces"][&workspace].is_null());
    let join = |device: &str| post(format!("/api/workspaces/{workspace}/join")).with(device);
    // Nobody says yes for somebody else.
    world.ask(join(&world.admin.device)).await.is_problem(404, "not-found");
    world.ask(join(&world.stranger.device)).await.is(204);
    assert_eq!(world.ask(me()).await.is(200)["user"]["workspaces"][&workspace], "member");
    world.ask(join(&world.stranger.device)).await.is_problem(404, "not-found");
    world.ask(add.with(&world.owner.device)).await.is(204);
}
