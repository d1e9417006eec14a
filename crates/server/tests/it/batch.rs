//! Many proposals in one request: each is decided by itself.

use serde_json::{Value, json};

use crate::world::{Ask, RISKY, SAFE, World, get, post, shell, world};

fn together(proposals: &[Value]) -> Ask {
    post("/api/actions/batch").json(&json!({"proposals": proposals}))
}

/// The outcome of each, as `permitted`, `waiting` or the kind of problem.
fn words(answer: &Value) -> Vec<String> {
    let outcomes = answer["outcomes"].as_array().expect("a list of outcomes");
    let word = |outcome: &Value| {
        let status = outcome["status"].as_str().unwrap();
        let kind = outcome["problem"]["type"].as_str().unwrap_or(status);
        kind.trim_start_matches("urn:countersign:problem:").to_owned()
    };
    outcomes.iter().map(word).collect()
}

fn in_session(command: &str, session: &str) -> Value {
    let mut proposal = shell(command);
    proposal["session_id"] = json!(session);
    proposal
}

async fn planned(world: &World) -> usize {
    let history = world.ask(get("/api/history?limit=200").with(&world.member.device)).await;
    let history = history.is(200);
    let items = history["items"].as_array().expect("a page");
    items.iter().filter(|item| item["event"] == "action_planned").count()
}

#[tokio::test]
async fn each_has_an_outcome_and_a_record_of_its_own() {
    let world = world().await;
    let nowhere = in_session(SAFE, &format!("ses_{}", "0".repeat(26)));
    let mut elsewhere = shell(SAFE);
    elsewhere["workspace_id"] = json!(format!("wsp_{}", "0".repeat(26)));
    let all = [shell(SAFE), shell(RISKY), shell("rm -rf /"), nowhere, elsewhere, shell(SAFE)];
    let before = planned(&world).await;
    let answer = world.ask(together(&all).with(&world.agent.secret)).await.is(200);
    assert_eq!(
        words(&answer),
        ["permitted", "waiting", "blocked", "no-session", "workspace", "permitted"]
    );
    // A request that names another workspace has proposed nothing.
    assert_eq!(planned(&world).await, before + 5);
    let [first, last] = [0, 5].map(|at| answer["outcomes"][at]["action_id"].as_str().unwrap());
    assert_ne!(first, last);
    let approval = answer["outcomes"][1]["approval_id"].as_str().unwrap();
    assert_eq!(world.state(approval).await, "pending");
    assert_eq!(answer["outcomes"][2]["problem"]["status"], 403);
}

#[tokio::test]
async fn a_limit_holds_for_those_that_come_together() {
    let world = world().await;
    let plan = json!({"consent": true, "plan": {"limits": {"steps": 3}}});
    let begun = world.ask(post("/api/sessions").with(&world.member.device).json(&plan)).await;
    let session = begun.is(201)["session_id"].as_str().unwrap().to_owned();
    let all = vec![in_session(SAFE, &session); 8];
    let answer = world.ask(together(&all).with(&world.agent.secret)).await.is(200);
    let words = words(&answer);
    assert_eq!(words.iter().filter(|word| *word == "permitted").count(), 3, "{words:?}");
}

#[tokio::test]
async fn a_rate_says_when_to_come_back() {
    let world = world().await;
    let slow = json!({"name": "slow", "workspace_id": world.workspace, "scopes": ["*"],
        "devices": "any", "writes": {"uses": 2, "seconds": 60}});
    let key = world.ask(post("/api/keys").with(&world.member.device).json(&slow)).await.is(201);
    let write = json!({"action": {"kind": "file_write", "path": "/work/a.txt"}});
    let asked = together(&vec![write; 3]).with(key["secret"].as_str().unwrap());
    let answer = world.ask(asked).await.is(200);
    assert_eq!(words(&answer).last().map(String::as_str), Some("rate-limit"));
    let late = &answer["outcomes"][2];
    assert_eq!(late["problem"]["status"], 429, "{late}");
    assert!(late["retry_after"].as_u64().is_some_and(|seconds| seconds >= 1), "{late}");
}

#[tokio::test]
async fn none_and_too_many_are_refused_and_none_of_them_decided() {
    let world = world().await;
    let before = planned(&world).await;
    for count in [0, 257] {
        let asked = together(&vec![shell(SAFE); count]).with(&world.agent.secret);
        world.ask(asked).await.is_problem(400, "bad-request");
    }
    let mut wrong = shell(SAFE);
    wrong["surprise"] = json!(1);
    let asked = together(&[shell(SAFE), wrong]).with(&world.agent.secret);
    world.ask(asked).await.is_problem(400, "bad-request");
    assert_eq!(planned(&world).await, before);
    let most = together(&vec![shell(SAFE); 256]).with(&world.agent.secret);
    let answer = world.ask(most).await.is(200);
    assert_eq!(words(&answer), vec!["permitted"; 256]);
}

#[tokio::test]
async fn sent_twice_they_are_decided_once() {
    let world = world().await;
    let before = planned(&world).await;
    let asked = || {
        let all = together(&[shell(SAFE), shell("npm test")]);
        all.with(&world.agent.secret).header("idempotency-key", "one")
    };
    let (first, second) = (world.ask(asked()).await, world.ask(asked()).await);
    assert_eq!(first.is(200), second.is(200));
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(planned(&world).await, before + 2);
}
