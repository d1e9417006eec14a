//! Workers as processes of their own: what is permitted is done, once, and ended when it must be.
//! Rows A4, A12, C3–C5, F1 and B6.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::{Action, Context, Verdict, digest::digest};
use countersign_gate::keyring::{Keyring, Purpose};
use countersign_gate::secret::{Secret, SecretKind};
use countersign_wire::work::{SignedWork, ToWorker, WorkItem, WorkLimits};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use super::client::Answer;
use super::{Client, Events, PATIENCE, Server, Setup, files_with, text, until, wait};

/// A worker process, which is ended with the test.
struct Worker {
    child: Child,
    folder: PathBuf,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    /// Starts a worker of the owner's, and waits until it is registered.
    fn start(server: &Server, owner: &Client) -> Self {
        Self::with(&server.setup, &format!("http://{}", owner.address), &key(owner))
    }

    fn with(setup: &Setup, url: &str, key: &str) -> Self {
        let folder = setup.home.0.join("work");
        fs::create_dir_all(&folder).expect("a folder");
        let log = setup.home.0.join("worker-log");
        let mut command = setup.command();
        command.args(["worker", "--server", url, "--workspace"]).arg(&folder);
        command.env("COUNTERSIGN_KEY", key).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(&log).expect("a log"));
        let child = command.spawn().expect("the binary starts");
        until("registered", || {
            let said = fs::read_to_string(&log).unwrap_or_default();
            said.contains("wrk_").then_some(())
        });
        Self { child, folder: folder.canonicalize().expect("a folder") }
    }
}

fn key(owner: &Client) -> String {
    let body =
        json!({"name": "worker", "scopes": ["worker"], "access": "program", "devices": "any"});
    owner.key_of(&body).secret.expect("a secret")
}

fn shell(command: &str) -> Value {
    json!({"kind": "shell", "command": command})
}

impl Client {
    fn execute(&self, session: &str, action: &Value) -> Answer {
        let path = format!("/api/sessions/{session}/actions");
        let wait = [("Prefer", "wait=60")];
        self.json("POST", &path, &wait, &json!({"action": action, "execute": true}))
    }

    fn execution(&self, session: &str, action: &str) -> Value {
        self.get(&format!("/api/sessions/{session}/actions/{action}")).expect(200)
    }

    fn until_over(&self, session: &str, action: &str) -> String {
        let path = format!("/api/sessions/{session}/actions/{action}");
        until("it is over", || {
            let answer = self.get(&path);
            // It is not there before the worker was given it, which follows a yes.
            if answer.status == 404 {
                return None;
            }
            let state = text(&answer.expect(200)["state"]);
            (!["queued", "sent", "running"].contains(&state.as_str())).then_some(state)
        })
    }

    /// Has something begun, without waiting for its end.
    fn begin_work(&self, session: &str, action: &Value) -> String {
        let path = format!("/api/sessions/{session}/actions");
        let asked = self.post(&path, &json!({"action": action, "execute": true})).expect(202);
        text(&asked["action_id"])
    }
}

#[test]
fn f1_a_permitted_command_is_executed_and_its_output_returned() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let worker = Worker::start(&server, &owner);
    let mut events = Events::open(&agent);
    let done = agent.execute(&session, &shell("pwd; echo told >&2; exit 3")).expect(200);
    assert_eq!((&done["status"], &done["state"]), (&json!("executed"), &json!("failed")), "{done}");
    assert_eq!(done["result"]["code"], 3, "{done}");
    let folder = worker.folder.to_str().expect("a path");
    assert_eq!(text(&done["result"]["output"]["head"]).trim(), folder);
    assert_eq!(text(&done["result"]["errors"]["head"]).trim(), "told");
    let id = text(&done["action_id"]);
    assert_eq!(events.until("action_began").data["action_id"], id.as_str());
    assert_eq!(events.until("action_ended").data["state"], "failed");
    assert_eq!(owner.execution(&session, &id)["state"], "failed");
}

#[test]
fn c3_what_is_asked_about_is_executed_after_the_yes_and_devices_are_told() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let worker = Worker::start(&server, &owner);
    fs::write(worker.folder.join("important"), "x").expect("a file");
    let mut device = super::Socket::open(&owner);
    let path = format!("/api/sessions/{session}/actions");
    let delete = json!({"action": shell("rm -r important"), "execute": true});
    let asked = agent.post(&path, &delete).expect(202);
    assert_eq!(asked["status"], "waiting", "{asked}");
    assert!(worker.folder.join("important").exists());
    owner.respond(&text(&asked["approval_id"]), true).expect(200);
    let id = text(&asked["action_id"]);
    assert_eq!(agent.until_over(&session, &id), "done");
    assert!(!worker.folder.join("important").exists());
    let completed = device.until("app_skill_completed");
    assert_eq!((&completed["action_id"], &completed["status"]), (&json!(id), &json!("done")));
    // The yes was for once.
    assert_eq!(owner.state(&text(&asked["approval_id"])), "done");
}

#[test]
fn c5_what_is_blocked_never_reaches_the_worker() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let worker = Worker::start(&server, &owner);
    let blocked = agent.execute(&session, &shell("touch here; cat /etc/shadow"));
    assert_eq!(blocked.problem(403), "blocked");
    let named = json!({"kind": "named", "name": "deleteAccount"});
    assert_eq!(agent.execute(&session, &named).problem(422), "not-executable");
    assert!(!worker.folder.join("here").exists());
}

#[test]
fn f1_a_worker_that_is_killed_leaves_unknown_and_nothing_is_done_again() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let mut worker = Worker::start(&server, &owner);
    let begun = worker.folder.join("begun");
    let id = agent.begin_work(&session, &shell("echo x >> begun; sleep 1000"));
    until("it has begun", || begun.exists().then_some(()));
    worker.child.kill().expect("it runs");
    assert_eq!(agent.until_over(&session, &id), "unknown");
    let again = Worker::start(&server, &owner);
    let next = agent.session(&json!({}));
    let done = agent.execute(&next, &shell("cat begun")).expect(200);
    assert_eq!(text(&done["result"]["output"]["head"]), "x\n", "it was done once");
    assert_eq!(agent.execution(&session, &id)["state"], "unknown");
    drop(again);
}

/// The process that a file names, while it is there.
fn process(file: &Path) -> Option<String> {
    let id = fs::read_to_string(file).ok()?.trim().to_owned();
    (!id.is_empty()).then_some(id)
}

/// Waits until no process has this id, or only one that has ended.
fn until_gone(id: &str) {
    until("it is gone", || {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = status.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
        (state.is_none() || state == Some(Some('Z'))).then_some(())
    });
}

#[test]
fn a_halt_ends_what_runs_with_everything_that_has_detached_itself() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let worker = Worker::start(&server, &owner);
    let command = "setsid sh -c 'echo $$ > own; exec sleep 1000' & echo $$ > first; sleep 1000";
    let id = agent.begin_work(&session, &shell(command));
    let [own, first] =
        ["own", "first"].map(|name| until("it has begun", || process(&worker.folder.join(name))));
    owner.post("/api/halt", &json!({})).expect(204);
    until_gone(&own);
    until_gone(&first);
    until("it is told", || {
        (text(&owner.execution(&session, &id)["state"]) == "stopped").then_some(())
    });
    let records = owner.history("action_executed");
    let stopped = records.iter().find(|record| record["payload"]["id"] == id.as_str());
    assert_eq!(stopped.expect("a record")["payload"]["status"], "stopped", "{records:?}");
}

#[test]
fn the_end_of_a_worker_ends_what_it_has_started() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let mut worker = Worker::start(&server, &owner);
    let command = "setsid sh -c 'echo $$ > own; exec sleep 1000' & sleep 1000";
    agent.begin_work(&session, &shell(command));
    let own = until("it has begun", || process(&worker.folder.join("own")));
    let id = i32::try_from(worker.child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let term = rustix::process::Signal::TERM;
    rustix::process::kill_process(id.expect("a process"), term).expect("it is there");
    let ended = wait(&mut worker.child).expect("it ends when asked to");
    assert_eq!(ended.code(), Some(0));
    until_gone(&own);
}

#[test]
fn a_worker_whose_key_is_revoked_ends() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut worker = Worker::start(&server, &owner);
    let keys = owner.get("/api/keys").expect(200);
    let keys = keys["items"].as_array().expect("keys").clone();
    let made = keys.iter().find(|key| key["scopes"] == json!(["worker"])).expect("the key");
    owner.delete(&format!("/api/keys/{}", text(&made["key_id"]))).expect(204);
    let ended = wait(&mut worker.child).expect("it ends");
    assert_eq!(ended.code(), Some(1));
}

#[test]
fn a12_a_session_ends_when_no_worker_registers_in_time() {
    let config = "profile: browser-agent\ngate:\n  worker_within: 1\n";
    let server = Setup::new().config(config).start();
    let owner = server.owner();
    let body = json!({"consent": true, "worker": true, "plan": {"mode": "task"}});
    let session = text(&owner.post("/api/sessions", &body).expect(201)["session_id"]);
    let ended_by = until("it ends", || {
        let shown = owner.get(&format!("/api/sessions/{session}")).expect(200);
        shown["ended_by"].as_str().map(str::to_owned)
    });
    assert_eq!(ended_by, "no_worker");
}

#[test]
fn a7_a_secret_in_an_output_is_in_no_record_event_log_or_answer_for_people() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let canary = "canary-7f3e told to nobody";
    let body = json!({
        "consent": true,
        "credentials": [{"site": "https://bank.example", "fields": {"password": canary}}],
    });
    let session = text(&owner.post("/api/sessions", &body).expect(201)["session_id"]);
    let worker = Worker::start(&server, &owner);
    fs::write(worker.folder.join("page"), canary).expect("a file");
    let mut events = Events::open(&agent);
    let done = agent.execute(&session, &shell("cat page; base64 < page")).expect(200);
    assert_eq!(done["state"], "done", "{done}");
    let ended = events.until("action_ended");
    assert_eq!(ended.data["state"], "done");
    let id = text(&done["action_id"]);
    let told = format!("{done} {}", owner.execution(&session, &id));
    let encoded = base64::engine::general_purpose::STANDARD.encode(canary);
    assert!(!told.contains("canary") && !told.contains(&encoded), "{told}");
    fs::remove_file(worker.folder.join("page")).expect("it is there");
    assert_eq!(files_with(&server.setup.home.0, b"canary-7f3e"), Vec::<PathBuf>::new());
}

#[test]
fn f1_a_local_worker_runs_beside_the_server_and_ends_with_it() {
    let mut server = Setup::new().config("profile: coding-agent\n").word("--worker=local").start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({}));
    let command = "echo $PPID > parent; setsid sh -c 'echo $$ > own; exec sleep 1000' & sleep 1000";
    let id = agent.begin_work(&session, &shell(command));
    let home = server.setup.home.0.clone();
    let own = until("it has begun", || process(&home.join("own")));
    assert_eq!(owner.execution(&session, &id)["state"], "running");
    assert_eq!(server.stop().code(), Some(0));
    until_gone(&own);
}

/// A server that sends what a test wants to a real worker.
struct FakeServer {
    socket: WebSocket<TcpStream>,
    keyring: Keyring,
    /// The folders of the worker, which go with it.
    _setup: Option<Setup>,
}

impl FakeServer {
    const WORKER: &str = "wrk_00000000000000000000000000";

    fn with_worker() -> (Self, Worker) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let setup = Setup::new();
        let taken = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("the worker comes");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            let socket = tungstenite::accept(stream).expect("a WebSocket");
            let keyring = Keyring::from_seed(&[7; 32]);
            let mut fake = Self { socket, keyring, _setup: None };
            assert_eq!(fake.hear()["message"], "hello");
            let server_key = fake.keyring.public().to_string();
            fake.say(&ToWorker::Welcome { worker_id: Self::WORKER.to_owned(), server_key });
            fake
        });
        let key = Secret::from_bytes(SecretKind::Key, &[7; 32]);
        let worker = Worker::with(&setup, &format!("http://{address}"), key.expose());
        let fake = taken.join().expect("it has registered");
        (Self { _setup: Some(setup), ..fake }, worker)
    }

    fn say(&mut self, message: &ToWorker) {
        let text = serde_json::to_string(message).expect("JSON");
        self.socket.send(Message::text(text)).expect("it reads");
    }

    fn hear(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("a message") {
                return serde_json::from_str(&text).expect("JSON");
            }
        }
    }

    fn item(folder: &Path, id: &str, command: &str) -> WorkItem {
        let folder = folder.to_str().map(str::to_owned);
        let action = Action::Shell { command: command.to_owned(), cwd: None };
        let context = Context { cwd: folder.clone(), workspace: folder, ..Context::default() };
        WorkItem {
            action_id: id.to_owned(),
            worker_id: Self::WORKER.to_owned(),
            session_id: "ses_00000000000000000000000000".to_owned(),
            approval_id: None,
            digest: digest(&action, &context),
            action,
            element: None,
            context,
            scripts: Vec::new(),
            agreed: Verdict::Warn,
            limits: WorkLimits::default(),
            begin_by: i64::MAX,
        }
    }

    fn signed(keyring: &Keyring, item: &WorkItem) -> ToWorker {
        let item = serde_json::to_string(item).expect("JSON");
        let signature = URL_SAFE_NO_PAD.encode(keyring.sign(Purpose::Work, item.as_bytes()));
        ToWorker::Work { work: Box::new(SignedWork { item, signature }) }
    }
}

#[test]
fn work_begins_once_and_only_as_this_server_has_signed_it_for_this_worker() {
    let (mut server, worker) = FakeServer::with_worker();
    let item = |id: &str, command: &str| FakeServer::item(&worker.folder, id, command);
    let forger = Keyring::from_seed(&[8; 32]);
    server.say(&FakeServer::signed(&forger, &item("act_1", "echo forged >> ran")));
    let elsewhere = WorkItem {
        worker_id: "wrk_11111111111111111111111111".to_owned(),
        ..item("act_2", "echo elsewhere >> ran")
    };
    server.say(&FakeServer::signed(&server.keyring, &elsewhere));
    let late = WorkItem { begin_by: 1, ..item("act_3", "echo late >> ran") };
    server.say(&FakeServer::signed(&server.keyring, &late));
    let refused = server.hear();
    assert_eq!(
        (&refused["action_id"], &refused["result"]["ended"]),
        (&json!("act_3"), &json!("refused"))
    );
    let other = Action::Shell { command: "echo other >> ran".to_owned(), cwd: None };
    let other = WorkItem { action: other, ..item("act_4", "echo judged") };
    server.say(&FakeServer::signed(&server.keyring, &other));
    assert_eq!(server.hear()["action_id"], "act_4");
    let once = FakeServer::signed(&server.keyring, &item("act_5", "echo once >> ran"));
    server.say(&once);
    server.say(&once);
    server.say(&FakeServer::signed(&server.keyring, &item("act_6", "echo last >> ran")));
    let mut ended = Vec::new();
    while ended.len() < 2 {
        let message = server.hear();
        if message["message"] == "ended" {
            assert_eq!(message["result"]["ended"], "done", "{message}");
            ended.push(text(&message["action_id"]));
        }
    }
    ended.sort();
    assert_eq!(ended, ["act_5", "act_6"]);
    let mut ran: Vec<_> = fs::read_to_string(worker.folder.join("ran"))
        .expect("a file")
        .lines()
        .map(str::to_owned)
        .collect();
    ran.sort();
    assert_eq!(ran, ["last", "once"]);
}
