//! The local socket: who is taken for a person there, and the limits of an agent's process.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::http::Method;
use countersign_gate::approval::Answer;
use countersign_gate::gate::Consent;
use countersign_gate::process::{Process, Processes as _, System};
use countersign_gate::session::Plan;
use serde_json::{Value, json};

use crate::world::{Ask, PATIENCE, RISKY, Setup, World, ask, get, post, propose, shell, world};

/// A session of the agent that this process belongs to, as a hook begins it.
async fn own_session(world: &World) -> String {
    let plan = json!({"task": "hook", "process": World::agents_process()});
    let begin = post("/api/sessions").json(&json!({"consent": true, "plan": plan}));
    let session = world.ask_locally(begin).await.is(201);
    assert_eq!(session["user_id"], world.owner.id());
    session["session_id"].as_str().unwrap().to_owned()
}

fn within(mut proposal: Value, session: &str) -> Value {
    proposal["session_id"] = json!(session);
    proposal
}

#[tokio::test]
async fn a_hook_works_from_within_its_agent() {
    let world = World::within_an_agent().await;
    let session = own_session(&world).await;
    let listed = world.ask_locally(get("/api/sessions?state=active&limit=200")).await.is(200);
    assert_eq!(listed["items"][0]["session_id"], json!(session));
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let proposal = within(shell(RISKY), &session);
    let asked = world.ask_locally(post("/api/actions").json(&proposal)).await.is(202);
    let id = asked["approval_id"].as_str().unwrap();
    let shown = world.ask_locally(get(format!("/api/approvals/{id}"))).await.is(200);
    assert!(shown.get("token").is_none(), "{shown}");
    let answer = post(format!("/api/approvals/{id}/respond")).json(&json!({"approved": true}));
    world.ask_locally(answer.clone()).await.is_problem(403, "people-only");
    world.ask(answer.with(&world.owner.device)).await.is(200);
    let approved = get(format!("/api/approvals?state=approved&session_id={session}"));
    let approved = world.ask_locally(approved).await.is(200);
    assert_eq!(approved["items"][0]["approval_id"], json!(id));
    let spend = post(format!("/api/approvals/{id}/spend")).json(&proposal);
    let permit = world.ask_locally(spend).await.is(200);
    let report = post(format!("/api/actions/{}/report", permit["action_id"].as_str().unwrap()));
    let report = report.json(&json!({"outcome": "done", "session_id": session}));
    assert_eq!(world.ask_locally(report).await.status, 204);
    // It may withdraw its own question, and wait for it.
    let other = within(shell("git push --force origin other"), &session);
    let asked = world.ask_locally(post("/api/actions").json(&other)).await.is(202);
    let id = asked["approval_id"].as_str().unwrap();
    let waited = get(format!("/api/approvals/{id}")).header("prefer", "wait=1");
    assert_eq!(world.ask_locally(waited).await.header("preference-applied"), "wait=1");
    let withdraw = post(format!("/api/approvals/{id}/withdraw"));
    assert_eq!(world.ask_locally(withdraw).await.status, 204);
    let question = json!({"description": "Go on?", "session_id": session});
    world.ask_locally(post("/api/confirmations").json(&question)).await.is(202);
}

#[tokio::test]
async fn what_would_make_a_person_of_an_agent_is_refused() {
    let world = World::within_an_agent().await;
    let session = own_session(&world).await;
    let asked = within(shell(RISKY), &session);
    let asked = world.ask_locally(post("/api/actions").json(&asked)).await.is(202);
    let id = asked["approval_id"].as_str().unwrap().to_owned();
    let autonomous = json!({"autonomous": true});
    let user = json!({"name": "Eve", "workspace_id": world.workspace, "membership": "admin"});
    let key = json!({"name": "k", "scopes": ["*"], "access": "program", "devices": "any"});
    let answers = json!({"answers": [{"approval_id": id, "approved": true}]});
    let attempts: Vec<Ask> = vec![
        post("/api/devices/invite"),
        ask(Method::PATCH, "/api/settings").json(&autonomous),
        post("/api/keys").json(&key),
        post("/api/halt"),
        post("/api/halt/resume"),
        post("/api/users").json(&user),
        post(format!("/api/approvals/{id}/respond")).json(&json!({"approved": true})),
        post("/api/approvals/respond").json(&answers),
        get("/api/approvals?state=pending"),
        get("/api/approvals?all=true"),
        get("/api/events"),
        get("/api/me"),
        ask(Method::PUT, "/api/skills/email.send").json(&json!({"confirm": false})),
        post(format!("/api/sessions/{session}/resume")),
    ];
    for attempt in attempts {
        for secret in [None, Some(&world.owner.device), Some(&world.member.device)] {
            let asked = match secret {
                Some(secret) => attempt.clone().with(secret),
                None => attempt.clone(),
            };
            let answer = world.ask_locally(asked).await;
            assert!([400, 403].contains(&answer.status), "{attempt:?}: {}", answer.text());
        }
    }
    assert_eq!(world.gate.devices(&world.owner.person).await.unwrap().len(), 1);
    assert!(!world.gate.is_halted().await.unwrap());
    let shown = world.ask(get(format!("/api/approvals/{id}")).with(&world.owner.device)).await;
    assert_eq!(shown.is(200)["state"], "pending");
}

#[tokio::test]
async fn an_agent_begins_no_session_but_its_own_and_chooses_nothing_in_it() {
    let world = World::within_an_agent().await;
    let own = World::agents_process();
    let other = Process { pid: own.pid, started: own.started ^ 1 };
    let credentials = json!([{"site": "https://bank.example", "fields": {"username": "ann"}}]);
    for body in [
        json!({"consent": true, "plan": {"process": other}}),
        json!({"consent": true, "plan": {"auto_confirm": true}}),
        json!({"consent": true, "plan": {"profile": "assistant"}}),
        json!({"consent": true, "credentials": credentials}),
        json!({"plan": {"process": own}}),
    ] {
        let answer = world.ask_locally(post("/api/sessions").json(&body)).await;
        assert_eq!(answer.status, 403, "{body}: {}", answer.text());
    }
    let begun = world.ask_locally(post("/api/sessions").json(&json!({"consent": true}))).await;
    assert_eq!(begun.is(201)["plan"]["process"], json!(own), "bound to its agent");
    let outside = world.ask_locally(propose(RISKY)).await;
    assert_eq!(outside.status, 404, "{}", outside.text());
}

#[tokio::test]
async fn an_agent_sees_and_changes_nothing_of_another() {
    let world = World::within_an_agent().await;
    let own = World::agents_process();
    let other = Process { pid: own.pid, started: own.started ^ 1 };
    let assistant = world.owner.person.assistant(&world.workspace).unwrap();
    let plan = Plan { process: Some(other), ..Plan::default() };
    let theirs = world.gate.start(&assistant, plan, Consent::Given, Vec::new()).await.unwrap().id;
    let workspace = json!(world.workspace);
    let mut proposal = within(shell(RISKY), theirs.as_str());
    proposal["workspace_id"] = workspace;
    let asked = post("/api/actions").with(&world.owner.device).json(&proposal);
    let id = world.ask(asked).await.is(202)["approval_id"].as_str().unwrap().to_owned();
    for attempt in [
        get(format!("/api/sessions/{theirs}")),
        post(format!("/api/sessions/{theirs}/complete")),
        post("/api/actions").json(&within(shell(RISKY), theirs.as_str())),
        get(format!("/api/approvals/{id}")),
        get(format!("/api/approvals/{id}/confirmation")),
        get(format!("/api/approvals?session_id={theirs}")),
        post(format!("/api/approvals/{id}/withdraw")),
        post(format!("/api/approvals/{id}/spend")).json(&within(shell(RISKY), theirs.as_str())),
        get(format!("/api/sessions/{theirs}/files")),
        post(format!("/api/sessions/{theirs}/uploads")).json(&json!({"name": "a.txt"})),
        post("/api/confirmations").json(&json!({"description": "x", "session_id": theirs})),
    ] {
        let answer = world.ask_locally(attempt.clone()).await;
        assert_eq!(answer.status, 404, "{attempt:?}: {}", answer.text());
    }
    let listed = world.ask_locally(get("/api/sessions")).await.is(200);
    assert!(listed["items"].as_array().unwrap().is_empty(), "{listed}");
}

#[tokio::test]
async fn the_socket_alone_looks_and_says_no_once_its_owner_has_a_device() {
    let world = world().await;
    let ask_one = async |command: &str| {
        let mut proposal = shell(command);
        proposal["workspace_id"] = json!(world.workspace);
        let asked = post("/api/actions").with(&world.owner.device).json(&proposal);
        world.ask(asked).await.is(202)["approval_id"].as_str().unwrap().to_owned()
    };
    let (one, two) = (ask_one(RISKY).await, ask_one("git push --force origin other").await);
    let respond = |id: &str, approved: bool| {
        post(format!("/api/approvals/{id}/respond")).json(&json!({"approved": approved}))
    };
    world.ask_locally(respond(&one, true)).await.is_problem(403, "needs-device");
    world.ask_locally(respond(&one, false)).await.is(200);
    world.ask_locally(post("/api/devices/invite")).await.is_problem(403, "needs-device");
    let relaxed = json!({
        "consent": true, "workspace_id": world.workspace, "plan": {"auto_confirm": true},
    });
    let begun = world.ask_locally(post("/api/sessions").json(&relaxed)).await;
    begun.is_problem(403, "not-for-agents");
    // With the secret of a device it is a device, also over the socket.
    world.ask_locally(respond(&two, true).with(&world.owner.device)).await.is(200);
    // Without any device, the socket alone is enough.
    let third = ask_one("git push --force origin third").await;
    let device = world.owner.person.device().unwrap().clone();
    world.gate.revoke_device(&world.owner.person, &device).await.unwrap();
    world.ask_locally(respond(&third, true)).await.is(200);
}

#[tokio::test]
async fn a_person_beside_the_agent_stays_a_person() {
    let world = World::new(Setup { knows_processes: true, ..Setup::default() }).await;
    let mut agent = Command::new("sleep").arg("600").spawn().unwrap();
    world.register(Process::of(agent.id(), &System).unwrap());
    let me = world.ask_locally(get("/api/me")).await.is(200);
    assert_eq!(me["user"]["user_id"], world.owner.id());
    agent.kill().unwrap();
    agent.wait().unwrap();
    world.sweep().await;
    world.ask_locally(get("/api/me")).await.is(200);
}

/// An agent that waits for a line, then leaves a process behind and waits on.
const LEAVES_ONE_BEHIND: &str = r#"read line; (setsid "$0" --exact local::relay >/dev/null 2>&1 &)
read line"#;

#[tokio::test]
async fn a_process_that_an_agent_leaves_behind_is_no_person() {
    for ends_first in [false, true] {
        let world = World::new(Setup { knows_processes: true, ..Setup::default() }).await;
        // Without any device, only its descent speaks against it.
        let device = world.owner.person.device().unwrap().clone();
        world.gate.revoke_device(&world.owner.person, &device).await.unwrap();
        let relay = Relay::new(&world, "POST", "/api/devices/invite");
        let mut agent = relay.agent();
        let process = Process::of(agent.id(), &System).unwrap();
        world.register(process);
        until_younger(process);
        let mut input = agent.stdin.take().unwrap();
        writeln!(input).unwrap();
        let Some(reaper) = relay.adopted().await else { panic!("it was never handed over") };
        if !System.adopts(reaper) {
            let _ = writeln!(std::io::stderr(), "skipped: {reaper} adopts, and is not known to");
            drop(input);
            agent.wait().unwrap();
            return;
        }
        if ends_first {
            agent.kill().unwrap();
            agent.wait().unwrap();
        }
        let answer = relay.answer().await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{ends_first}: {answer}");
        assert!(answer.contains("people-only"), "{answer}");
        let _ = agent.kill();
        let _ = agent.wait();
    }
}

/// A request that another process makes: this very binary, started again.
struct Relay {
    folder: PathBuf,
    socket: PathBuf,
}

impl Relay {
    fn new(world: &World, method: &str, path: &str) -> Self {
        let folder = world.folder().join("relay");
        std::fs::create_dir_all(&folder).unwrap();
        let head = "Host: localhost\r\nConnection: close\r\nContent-Length: 0";
        std::fs::write(
            folder.join("request"),
            format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\n"),
        )
        .unwrap();
        Self { folder, socket: world.socket() }
    }

    fn agent(&self) -> Child {
        let mut agent = Command::new("sh");
        agent.args(["-c", LEAVES_ONE_BEHIND]).arg(std::env::current_exe().unwrap());
        agent.env("RELAY_FOLDER", &self.folder).env("RELAY_SOCKET", &self.socket);
        agent.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap()
    }

    /// The process that has become its parent, once there is one.
    async fn adopted(&self) -> Option<u32> {
        let pid: u32 = self.read("pid").await.parse().unwrap();
        for _ in 0..500 {
            let parent = System.parent(pid)?;
            let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
            if name.trim_end() != "sh" {
                return Some(parent);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }

    async fn answer(&self) -> String {
        std::fs::write(self.folder.join("now"), "").unwrap();
        self.read("answer").await
    }

    async fn read(&self, name: &str) -> String {
        let path = self.folder.join(name);
        let found = async {
            loop {
                if let Ok(text) = std::fs::read_to_string(&path) {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("the other process says nothing")
    }
}

/// The code of the other process; does nothing in an ordinary test run.
#[test]
fn relay() {
    use std::io::Read as _;
    let (Ok(folder), Ok(socket)) = (std::env::var("RELAY_FOLDER"), std::env::var("RELAY_SOCKET"))
    else {
        return;
    };
    let folder = PathBuf::from(folder);
    let say = |name: &str, text: &[u8]| {
        let part = folder.join(format!("{name}.part"));
        std::fs::write(&part, text).unwrap();
        std::fs::rename(part, folder.join(name)).unwrap();
    };
    say("pid", std::process::id().to_string().as_bytes());
    let until = std::time::Instant::now() + PATIENCE;
    while !folder.join("now").exists() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    stream.write_all(&std::fs::read(folder.join("request")).unwrap()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    say("answer", &answer);
}

/// Waits until a process that starts now is younger than this one, by the system's clock.
fn until_younger(process: Process) {
    for _ in 0..1_000 {
        let mut child = Command::new("true").spawn().unwrap();
        let younger =
            Process::of(child.id(), &System).is_some_and(|it| it.started > process.started);
        child.wait().unwrap();
        if younger {
            return;
        }
    }
    panic!("nothing is younger");
}

#[tokio::test]
async fn an_answer_comes_from_whoever_answers_now_not_from_whoever_connected() {
    // A connection that was opened before its agent was known.
    let world = World::new(Setup { knows_processes: true, ..Setup::default() }).await;
    let person = world.ask_locally(get("/api/me")).await;
    person.is(200);
    world.register(World::agents_process());
    world.ask_locally(get("/api/me")).await.is_problem(403, "people-only");
    let peer = countersign_gate::caller::Peer::of(std::process::id(), 0, &System);
    let before = world.owner.person.clone().at(peer);
    assert!(world.gate.still_signed_in(&before).await.is_err());
    let id = world.question(RISKY).await;
    let id = countersign_gate::id::ApprovalId::parse(&id).unwrap();
    let reply = countersign_gate::gate::PersonAnswer::plain(id, Answer::Approve);
    let error = world.gate.answer(&before, reply).await.unwrap_err();
    assert_eq!(error.to_string(), "the agent that asks cannot answer");
}
