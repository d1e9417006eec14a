//! Waiting for an answer in one request, and the end of every connection when the server stops.

use std::time::{Duration, Instant};

use countersign_gate::approval::Answer;
use countersign_gate::gate::PersonAnswer;
use countersign_gate::id::ApprovalId;
use countersign_server::Limits;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::live::{socket, until_closed};
use crate::world::{
    Ask, HttpAnswer, RISKY, SAFE, Setup, World, get, post, propose, rest, shell, world,
};

/// Asks, and lets the member do something as soon as there is a question.
async fn meanwhile(world: &World, ask: Ask, then: impl AsyncFnOnce(String)) -> HttpAnswer {
    let answer = async {
        loop {
            let waiting = world.gate.waiting(&world.member.person).await.unwrap();
            if let Some(card) = waiting.first() {
                return then(card.approval.to_string()).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::join!(world.ask(ask), answer).0
}

fn patiently(seconds: u32) -> Ask {
    propose(RISKY).header("prefer", format!("wait={seconds}"))
}

#[tokio::test]
async fn a_yes_while_waiting_is_spent_at_once() {
    let world = world().await;
    let asked = patiently(30).with(&world.agent.secret);
    let answer = meanwhile(&world, asked, async |id| world.say(&id, Answer::Approve).await).await;
    let permitted = answer.is(200);
    assert_eq!(permitted["status"], "permitted");
    assert_eq!(answer.header("preference-applied"), "wait=30");
    let id = permitted["approval_id"].as_str().unwrap();
    assert_eq!(world.state(id).await, "started");
    let spend = post(format!("/api/approvals/{id}/spend")).json(&shell(RISKY));
    world.ask(spend.with(&world.agent.secret)).await.is_problem(409, "already-settled");
    let report = post(format!("/api/actions/{}/report", permitted["action_id"].as_str().unwrap()));
    world.ask(report.json(&json!({"outcome": "done"})).with(&world.agent.secret)).await.is(204);
    assert_eq!(world.state(id).await, "done");
}

#[tokio::test]
async fn who_has_two_workspaces_names_one_to_propose_and_to_report() {
    let world = world().await;
    let device = &world.owner.device;
    world.ask(propose(SAFE).with(device)).await.is_problem(400, "bad-request");
    let mut body = shell(SAFE);
    body["workspace_id"] = json!(world.elsewhere);
    let allowed = world.ask(post("/api/actions").json(&body).with(device)).await.is(200);
    let path = format!("/api/actions/{}/report", allowed["action_id"].as_str().unwrap());
    let done = json!({"outcome": "done", "workspace_id": world.elsewhere});
    world.ask(post(path).json(&done).with(device)).await.is(204);
}

#[tokio::test]
async fn a_no_while_waiting_comes_with_its_reason() {
    let world = world().await;
    let asked = patiently(30).with(&world.agent.secret);
    let answer = meanwhile(&world, asked, async |id| {
        let id = ApprovalId::parse(&id).unwrap();
        let feedback = Some("use a branch".to_owned());
        let reply = PersonAnswer { feedback, ..PersonAnswer::plain(id, Answer::Reject) };
        world.gate.answer(&world.member.person, reply).await.unwrap();
    });
    let answer = answer.await;
    answer.is_problem(403, "declined");
    assert_eq!(answer.json()["feedback"], "use a branch");
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_not_waited_for_longer_than_asked() {
    let limits = Limits { wait_seconds: 1, ..Limits::default() };
    let world = World::new(Setup { limits, ..Setup::default() }).await;
    let began = Instant::now();
    let answer = world.ask(patiently(3_000).with(&world.agent.secret)).await;
    assert_eq!(answer.is(202)["status"], "waiting");
    assert_eq!(answer.header("preference-applied"), "wait=1");
    let id = answer.json()["approval_id"].as_str().unwrap().to_owned();
    assert_eq!(answer.json()["confirmation"]["confirmation_id"], id);
    let show = get(format!("/api/approvals/{id}")).with(&world.agent.secret);
    let shown = world.ask(show.header("prefer", "respond-async, wait=1")).await.is(200);
    assert_eq!(shown["state"], "pending");
    assert!(shown.get("token").is_none(), "{shown}");
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    for wrong in ["wait=", "wait=-1", "wait=soon", "wait=99999999999999"] {
        let asked = propose(RISKY).with(&world.agent.secret).header("prefer", wrong);
        world.ask(asked).await.is_problem(400, "bad-request");
    }
}

#[tokio::test]
async fn who_waits_on_a_question_is_told_when_it_is_answered() {
    let world = world().await;
    let id = world.question(RISKY).await;
    let show = get(format!("/api/approvals/{id}")).with(&world.agent.secret);
    let asked = show.header("prefer", "wait=30");
    let answer = meanwhile(&world, asked.clone(), async |id| world.say(&id, Answer::Approve).await);
    assert_eq!(answer.await.is(200)["state"], "approved");
    let began = Instant::now();
    assert_eq!(world.ask(asked).await.is(200)["state"], "approved");
    assert!(began.elapsed() < Duration::from_secs(5));
    let other = get(format!("/api/approvals/{id}")).with(&world.program.secret);
    world.ask(other.header("prefer", "wait=30")).await.is_problem(404, "not-found");
}

#[tokio::test]
async fn an_expiry_while_waiting_is_a_refusal() {
    let world = world().await;
    let asked = patiently(30).with(&world.agent.secret);
    let answer = meanwhile(&world, asked, async |_| {
        world.pass(3_600);
        world.sweep().await;
    });
    let answer = answer.await;
    answer.is_problem(409, "not-approved");
    assert_eq!(answer.json()["state"], "expired");
}

#[tokio::test]
async fn a_server_that_stops_keeps_nobody_waiting() {
    let mut world = world().await;
    let (address, secret) = (world.address, world.agent.secret.clone());
    let waiting = tokio::spawn(async move {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        crate::world::send(stream, address, patiently(60).with(&secret)).await
    });
    while world.gate.waiting(&world.member.person).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let began = Instant::now();
    world.stop().await;
    assert_eq!(waiting.await.unwrap().is(202)["status"], "waiting");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert!(tokio::net::TcpStream::connect(world.address).await.is_err());
    assert!(!world.socket().exists());
}

#[tokio::test]
async fn a_server_that_stops_says_goodbye_and_lets_a_request_end() {
    let mut world = world().await;
    let mut device = socket(&world, &world.member.device).await;
    let mut stream = world.connect().await;
    let body = shell("ls").to_string();
    let (first, second) = body.split_at(10);
    let head = format!(
        "POST /api/check HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{first}",
        world.address,
        world.agent.secret,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // Until the request is under way.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let ended = world.begin_to_stop();
    assert_eq!(until_closed(&mut device).await, Some(1001));
    stream.write_all(second.as_bytes()).await.unwrap();
    let said = rest(&mut stream).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    tokio::time::timeout(Duration::from_secs(10), ended).await.unwrap().unwrap();
}

#[test]
fn nobody_is_cut_off_when_the_program_ends_with_the_server() {
    let servers = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let devices = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut world = servers.block_on(world());
    let mut all = Vec::new();
    for _ in 0..20 {
        all.push(devices.block_on(socket(&world, &world.member.device)));
    }
    servers.block_on(world.stop());
    servers.shutdown_background();
    for device in &mut all {
        assert_eq!(devices.block_on(until_closed(device)), Some(1001));
    }
}
