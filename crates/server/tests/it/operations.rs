//! Features for operators: read-only keys, metrics, timestamps.

use countersign_gate::approval::Answer;
use countersign_gate::id::{KeyId, UserId};
use countersign_gate::user::Membership;
use serde_json::{Value, json};

use crate::world::{RISKY, SAFE, World, get, post, propose, world};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The answer to somebody who wants a key with this scope.
async fn make(world: &World, who: &str, scope: &str, access: &str) -> crate::world::HttpAnswer {
    let body = json!({"name": "k", "workspace_id": world.workspace, "scopes": [scope],
        "access": access, "devices": "any"});
    world.ask(post("/api/keys").with(who).json(&body)).await
}

#[tokio::test]
async fn a_key_that_reads_the_record_reads_that_of_its_workspace_and_nothing_else() {
    let world = world().await;
    make(&world, &world.member.device, "audit.read", "program").await.is(403);
    make(&world, &world.admin.device, "audit.read", "agent").await.is(400);
    make(&world, &world.admin.device, "audit.*", "program").await.is(400);
    let made = make(&world, &world.admin.device, "audit.read", "program").await.is(201);
    let (id, key) = (text(&made["key"]["key_id"]), text(&made["secret"]));
    world.ask(propose(SAFE).with(&world.agent.secret)).await.is(200);
    let listed = world.ask(get("/api/audit").with(&key)).await.is(200);
    let items = listed["items"].as_array().unwrap();
    assert!(!items.is_empty());
    assert!(items.iter().all(|item| item["workspace"] == world.workspace.as_str()), "{listed}");
    let exported = world.ask(get("/api/audit/export").with(&key)).await;
    assert_eq!((exported.status, exported.text().lines().count()), (200, items.len()));
    let other = format!("/api/audit?workspace_id={}", world.elsewhere);
    world.ask(get(other).with(&key)).await.is(403);
    // It allows nothing else: not even `*` reads the record, and this key proposes nothing.
    world.ask(get("/api/audit").with(&world.program.secret)).await.is(403);
    world.ask(get("/api/metrics").with(&key)).await.is_problem(403, "scope");
    world.ask(get("/api/audit/verify").with(&key)).await.is_problem(403, "people-only");
    world.ask(propose(SAFE).with(&key)).await.is_problem(403, "scope");
    // A former admin of the workspace no longer reads its record.
    let lower = world.gate.change_membership(
        &world.owner.person,
        &world.admin.person.user().id,
        &world.workspace,
        Some(Membership::Member),
    );
    lower.await.unwrap();
    world.ask(get("/api/audit").with(&key)).await.is(403);
    world.gate.revoke_key(&world.owner.person, &KeyId::parse(&id).unwrap()).await.unwrap();
    world.ask(get("/api/audit").with(&key)).await.is(401);
}

#[tokio::test]
async fn a_bot_reads_the_record_of_its_workspace_and_a_super_admins_key_all_of_it() {
    let world = world().await;
    world.ask(propose(SAFE).with(&world.agent.secret)).await.is(200);
    let bot = world.gate.add_bot(&world.admin.person, "siem", &world.workspace).await.unwrap();
    let body = json!({"name": "k", "user_id": UserId::as_str(&bot), "scopes": ["audit.read"],
        "access": "program", "devices": "any"});
    let made = world.ask(post("/api/keys").with(&world.admin.device).json(&body)).await.is(201);
    let own = world.ask(get("/api/audit/export").with(&text(&made["secret"]))).await;
    let made = make(&world, &world.owner.device, "audit.read", "program").await.is(201);
    let all = world.ask(get("/api/audit/export").with(&text(&made["secret"]))).await;
    assert_eq!((own.status, all.status), (200, 200), "{} {}", own.text(), all.text());
    assert!(own.text().contains("action_planned") && !own.text().contains("user_changed"));
    assert!(all.text().contains("user_changed"), "also what belongs to no workspace");
}

#[tokio::test]
async fn the_numbers_tell_answers_blocks_and_the_store_to_those_who_may_read_them() {
    let world = World::new(crate::world::Setup { on_disk: true, ..Default::default() }).await;
    world.ask(get("/api/metrics").with(&world.program.secret)).await.is_problem(403, "scope");
    let made = make(&world, &world.member.device, "metrics.read", "agent").await.is(201);
    let key = text(&made["secret"]);
    let yes = world.question(RISKY).await;
    world.say(&yes, Answer::Approve).await;
    let no = world.question("git push --force origin other").await;
    world.pass(20);
    world.say(&no, Answer::Reject).await;
    world.question("git push --force origin third").await;
    world.pass(3_600);
    world.sweep().await;
    world.ask(propose("rm -rf /").with(&world.agent.secret)).await.is(403);
    let numbers = async || world.ask(get("/api/metrics").with(&key)).await.text();
    let wanted = [
        "countersign_answers_total{outcome=\"approved\"} 1",
        "countersign_answers_total{outcome=\"rejected\"} 1",
        "countersign_answers_total{outcome=\"expired\"} 1",
        "countersign_answers_total{outcome=\"unused\"} 1",
        "countersign_answer_seconds_bucket{le=\"5\"} 1",
        "countersign_answer_seconds_bucket{le=\"30\"} 2",
        "countersign_answer_seconds_count 2",
        "countersign_actions_total{became=\"refused\"} 1",
        "countersign_blocked_total{rule=\"",
        "countersign_build_info{version=\"",
    ];
    // Answers are counted beside the requests that give them.
    let mut said = numbers().await;
    for _ in 0..1_000 {
        if wanted.iter().all(|line| said.contains(line)) {
            break;
        }
        tokio::task::yield_now().await;
        said = numbers().await;
    }
    for line in wanted {
        assert!(said.contains(line), "no {line} in {said}");
    }
    let bytes = said.lines().find_map(|line| line.strip_prefix("countersign_store_bytes "));
    assert!(bytes.unwrap().parse::<u64>().unwrap() > 4_096, "{said}");
}

#[tokio::test]
async fn moments_in_a_query_are_written_as_they_are_in_answers() {
    let world = world().await;
    world.ask(propose(SAFE).with(&world.agent.secret)).await.is(200);
    let device = &world.member.device;
    let first = world.ask(get("/api/history").with(device)).await.is(200);
    let at = text(&first["items"][0]["at"]);
    world.pass(60);
    world.ask(propose(SAFE).with(&world.agent.secret)).await.is(200);
    let count = async |query: String| {
        let found = world.ask(get(format!("/api/history?{query}")).with(device)).await.is(200);
        found["items"].as_array().unwrap().len()
    };
    let all = count(String::new()).await;
    assert_eq!(count(format!("from={at}")).await + count(format!("until={at}")).await, all);
    assert_eq!(count("until=2026-01-01".to_owned()).await, 0);
    for wrong in ["1767225600000", "yesterday", "2026-01-01T25:00:00Z"] {
        let asked = get(format!("/api/history?from={wrong}")).with(device);
        world.ask(asked).await.is_problem(400, "bad-request");
    }
}
