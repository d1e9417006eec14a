//! A write that is sent twice is done once.

use serde_json::json;

use crate::world::{Ask, RISKY, Setup, World, get, post, propose, world};

fn keyed(ask: Ask, key: &str) -> Ask {
    ask.header("idempotency-key", key)
}

#[tokio::test]
async fn the_same_key_is_the_same_answer() {
    let world = world().await;
    let asked = || keyed(propose("npm test").with(&world.agent.secret), "one");
    let first = world.ask(asked()).await;
    assert_eq!(first.header("idempotency-replayed"), "");
    let second = world.ask(asked()).await;
    assert_eq!(second.status, first.status, "{}", first.text());
    assert_eq!(second.body, first.body);
    assert_eq!(second.header("content-type"), first.header("content-type"));
    assert_eq!(second.header("idempotency-replayed"), "true");
    let third = world.ask(keyed(propose("npm test").with(&world.agent.secret), "two")).await;
    assert_ne!(third.body, first.body);
    // A refusal is an answer too.
    let unknown = || {
        let path = format!("/api/approvals/apr_{}/withdraw", "0".repeat(26));
        keyed(post(path).with(&world.agent.secret), "three")
    };
    let (first, second) = (world.ask(unknown()).await, world.ask(unknown()).await);
    first.is_problem(404, "not-found");
    second.is_problem(404, "not-found");
    assert_eq!(second.header("idempotency-replayed"), "true");
}

#[tokio::test]
async fn the_same_key_for_another_request_is_refused() {
    let world = world().await;
    let with = |command| keyed(propose(command).with(&world.agent.secret), "one");
    world.ask(with("ls")).await.is(200);
    world.ask(with("ls -l")).await.is_problem(422, "key-reused");
    let elsewhere = keyed(post("/api/sessions").with(&world.agent.secret), "one");
    world.ask(elsewhere.json(&json!({"consent": true}))).await.is_problem(422, "key-reused");
}

#[tokio::test]
async fn keys_that_are_none_are_refused() {
    let world = world().await;
    let long = "k".repeat(201);
    for key in ["", &long] {
        let asked = keyed(propose("ls").with(&world.agent.secret), key);
        world.ask(asked).await.is_problem(400, "bad-request");
    }
    let twice = keyed(keyed(propose("ls").with(&world.agent.secret), "a"), "b");
    world.ask(twice).await.is_problem(400, "bad-request");
    world.ask(keyed(propose("ls").with(&world.agent.secret), &"k".repeat(200))).await.is(200);
}

#[tokio::test]
async fn of_two_at_once_one_is_done() {
    let world = world().await;
    let begin = || {
        let begin = post("/api/sessions").json(&json!({"consent": true}));
        keyed(begin.with(&world.member.device), "one")
    };
    let all = tokio::join!(world.ask(begin()), world.ask(begin()), world.ask(begin()));
    let all = [all.0, all.1, all.2];
    let made: Vec<_> = all.iter().filter(|answer| answer.status == 201).collect();
    assert!(!made.is_empty());
    for answer in &all {
        assert!([201, 409].contains(&answer.status), "{}", answer.text());
    }
    assert!(made.iter().all(|answer| answer.body == made[0].body));
    let listed = world.ask(get("/api/sessions").with(&world.member.device)).await.is(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_waiting_first_is_under_way_for_the_second() {
    let world = world().await;
    let asked = || {
        let asked = propose(RISKY).with(&world.agent.secret).header("prefer", "wait=30");
        keyed(asked, "one")
    };
    let first = world.ask(asked());
    let second = async {
        while world.gate.waiting(&world.member.person).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        world.ask(asked()).await.is_problem(409, "in-progress");
        let id = world.gate.waiting(&world.member.person).await.unwrap()[0].approval.to_string();
        world.say(&id, countersign_gate::approval::Answer::Approve).await;
    };
    let (first, ()) = tokio::join!(first, second);
    first.is(200);
    assert_eq!(world.ask(asked()).await.body, first.body);
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    let world = World::new(Setup { on_disk: true, ..Setup::default() }).await;
    let asked = || {
        let body = json!({"name": "k", "scopes": ["*"]});
        keyed(post("/api/keys").json(&body).with(&world.member.device), "one")
    };
    let secret = world.ask(asked()).await.is(201)["secret"].as_str().unwrap().to_owned();
    let again = world.ask(asked()).await;
    again.is_problem(409, "shown-once");
    assert!(!again.text().contains(&secret));
    let count = world.gate.keys(&world.member.person).await.unwrap().len();
    assert_eq!(count, 3, "the agent's, the program's and this one");
    for path in ["/api/devices/invite", "/api/devices"] {
        let secret =
            if path.ends_with("invite") { &world.member.device } else { &world.agent.secret };
        let asked = || keyed(post(path).json(&json!({"name": "x"})).with(secret), path);
        world.ask(asked()).await.is(201);
        world.ask(asked()).await.is_problem(409, "shown-once");
    }
}

#[tokio::test]
async fn an_answer_outlives_the_server() {
    let world = World::new(Setup { on_disk: true, ..Setup::default() }).await;
    let asked = |world: &World| {
        let begin = post("/api/sessions").json(&json!({"consent": true}));
        keyed(begin.with(&world.member.device), "one")
    };
    let first = world.ask(asked(&world)).await;
    first.is(201);
    let world = world.restart().await;
    let second = world.ask(asked(&world)).await;
    assert_eq!(second.body, first.body);
    assert_eq!(second.header("idempotency-replayed"), "true");
    // For a day.
    world.pass(25 * 3_600);
    assert_ne!(world.ask(asked(&world)).await.body, first.body);
}

#[tokio::test]
async fn everybody_has_keys_of_their_own() {
    let world = world().await;
    let with = |secret: &str| keyed(propose("ls").with(secret), "one");
    let one = world.ask(with(&world.agent.secret)).await.is(200);
    let other = world.ask(with(&world.program.secret)).await;
    assert_ne!(other.is(200)["action_id"], one["action_id"]);
    assert_eq!(other.header("idempotency-replayed"), "");
    let member = world.ask(with(&world.member.device)).await;
    assert_eq!(member.header("idempotency-replayed"), "");
}

#[tokio::test]
async fn who_has_not_shown_who_they_are_leaves_nothing_behind() {
    let world = World::new(Setup { on_disk: true, ..Setup::default() }).await;
    let link = world.gate.invite(&world.member.person).await.unwrap().expose().to_owned();
    let rows = || -> i64 {
        let count = "SELECT count(*) FROM docs WHERE kind = 'idempotency'";
        world.database().query_row(count, [], |row| row.get(0)).unwrap()
    };
    let nobody = format!("csk_{}", "0".repeat(49));
    world.ask(keyed(post("/api/sign-in").json(&json!({"link": nobody})), "one")).await.is(400);
    let wrong = link.replace("csl_", "csk_");
    world
        .ask(keyed(post("/api/devices").json(&json!({"name": "x"})).with(&wrong), "two"))
        .await
        .is(401);
    assert_eq!(rows(), 0);
    let asked = || keyed(post("/api/sign-in").json(&json!({"link": link})), "one");
    world.ask(asked()).await.is(201);
    world.ask(asked()).await.is_problem(409, "shown-once");
    assert_eq!(rows(), 1);
}
