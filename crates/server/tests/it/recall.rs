//! A decision may be made on cached data. A change still applies to the very next decision, whether
//! this server made it or another process on the same file.

use std::sync::Arc;

use countersign_gate::Gate;
use countersign_gate::id::{DeviceId, KeyId, SessionId};
use countersign_gate::key::Devices;
use serde_json::json;

use crate::world::{Make, RISKY, SAFE, Setup, World, post, propose, shell};

/// The process that makes the change.
#[derive(Debug, Clone, Copy)]
enum By {
    Itself,
    Another,
}

const BOTH: [By; 2] = [By::Itself, By::Another];

async fn on_disk() -> World {
    World::new(Setup { on_disk: true, ..Setup::default() }).await
}

/// The gate through which something is changed. It begins with an empty cache.
async fn gate(world: &World, by: By) -> Arc<Gate> {
    match by {
        By::Itself => Arc::clone(&world.gate),
        By::Another => world.another().await,
    }
}

/// Asks twice, so that everything about the caller is cached.
async fn warm(world: &World, key: &str) {
    for _ in 0..2 {
        world.ask(propose(SAFE).with(key)).await.is(200);
    }
}

#[tokio::test]
async fn a_revoked_key_opens_nothing_from_then_on() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        warm(&world, &world.agent.secret).await;
        let id = KeyId::parse(&world.agent.id).unwrap();
        gate.revoke_key(&world.member.person, &id).await.unwrap();
        let answer = world.ask(propose(SAFE).with(&world.agent.secret)).await;
        answer.is_problem(401, "not-signed-in");
    }
}

#[tokio::test]
async fn a_disabled_user_s_agent_is_nobody_from_then_on() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        warm(&world, &world.agent.secret).await;
        let user = &world.member.person.user().id;
        gate.disable_user(&world.owner.person, user).await.unwrap();
        let answer = world.ask(propose(SAFE).with(&world.agent.secret)).await;
        answer.is_problem(401, "not-signed-in");
    }
}

#[tokio::test]
async fn a_revoked_device_opens_nothing_from_then_on() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        let bound = Make { devices: Devices::Approved, ..Make::default() };
        let key = world.key(&world.member, &world.workspace, bound).await;
        let (id, secret) = world.machine(true).await;
        let ask = || propose(SAFE).with(&key.secret).header("countersign-device", &secret);
        world.ask(ask()).await.is(200);
        world.ask(ask()).await.is(200);
        let id = DeviceId::parse(&id).unwrap();
        gate.revoke_device(&world.member.person, &id).await.unwrap();
        world.ask(ask()).await.is_problem(403, "device-not-approved");
    }
}

#[tokio::test]
async fn a_halted_gate_lets_nothing_through_and_a_resumed_one_does() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        warm(&world, &world.agent.secret).await;
        gate.halt(&world.member.person).await.unwrap();
        let answer = world.ask(propose(SAFE).with(&world.agent.secret)).await;
        answer.is_problem(403, "halted");
        gate.resume(&world.owner.person).await.unwrap();
        world.ask(propose(SAFE).with(&world.agent.secret)).await.is(200);
    }
}

#[tokio::test]
async fn a_stopped_session_is_over_from_then_on() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        let session = world.session().await;
        let ask = || {
            let path = format!("/api/sessions/{session}/actions");
            post(path).json(&shell(SAFE)).with(&world.agent.secret)
        };
        world.ask(ask()).await.is(200);
        world.ask(ask()).await.is(200);
        let id = SessionId::parse(&session).unwrap();
        gate.stop(&world.member.person, &id).await.unwrap();
        let refused = world.ask(ask()).await;
        assert!(refused.status >= 400, "{by:?}: {}", refused.text());
    }
}

#[tokio::test]
async fn what_a_person_sets_holds_from_then_on() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        warm(&world, &world.program.secret).await;
        let action = json!({"kind": "skill", "skill": "email.send", "params": {"to": "bob"}});
        let ask = || {
            let proposed = json!({ "action": action });
            post("/api/actions").json(&proposed).with(&world.program.secret)
        };
        world.ask(ask()).await.is(200);
        let person = &world.member.person;
        let set = gate.change_settings(person, |settings| settings.confirm_programs = true);
        set.await.unwrap();
        world.ask(ask()).await.is(202);
    }
}

#[tokio::test]
async fn a_key_that_is_revoked_is_not_told_of_what_it_asked_before() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        let session = world.session().await;
        let ask = || {
            let path = format!("/api/sessions/{session}/actions");
            post(path).json(&shell(RISKY)).with(&world.agent.secret)
        };
        let asked = world.ask(ask()).await.is(202);
        let again = world.ask(ask()).await.is(202);
        assert_eq!(again["approval_id"], asked["approval_id"], "{by:?}");
        let id = KeyId::parse(&world.agent.id).unwrap();
        gate.revoke_key(&world.member.person, &id).await.unwrap();
        world.ask(ask()).await.is_problem(401, "not-signed-in");
    }
}

#[tokio::test]
async fn an_answer_that_was_kept_is_not_given_to_a_key_that_is_revoked() {
    for by in BOTH {
        let world = on_disk().await;
        let gate = gate(&world, by).await;
        let ask = || propose(SAFE).with(&world.agent.secret).header("idempotency-key", "one");
        world.ask(ask()).await.is(200);
        assert_eq!(world.ask(ask()).await.header("idempotency-replayed"), "true");
        let id = KeyId::parse(&world.agent.id).unwrap();
        gate.revoke_key(&world.member.person, &id).await.unwrap();
        world.ask(ask()).await.is_problem(401, "not-signed-in");
    }
}

#[tokio::test]
async fn somebody_s_work_on_the_same_file_stands_in_nobody_s_way() {
    let world = on_disk().await;
    let other = world.another().await;
    for round in 0..20 {
        let set = other.change_settings(&world.member.person, |settings| {
            settings.autonomous = round % 2 == 0;
        });
        set.await.unwrap();
        warm(&world, &world.agent.secret).await;
    }
}
