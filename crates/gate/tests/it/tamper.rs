//! Writes to the database behind the gate's back. They can lose an approval, but not make one: a
//! change is refused, and recorded.

mod matrix;

use std::time::Duration;

use countersign_gate::approval::{Answer, QuorumRow, Scope};
use countersign_gate::gate::{AnswerError, Answered, PeopleError, PersonAnswer};
use countersign_gate::id::ApprovalId;
use countersign_gate::user::Membership;
use countersign_gate::{Config, Proposal, Submitted};
use pollster::block_on;
use serde_json::{Value, json};

use crate::world::{BEGIN, RISKY, Setup, World, shell};

const OTHER: &str = "git push --force origin release";
const TAMPERED: &str = "the approval was tampered with";

fn on_disk() -> Setup {
    Setup { on_disk: true, ..Setup::default() }
}

/// The body of an approval in the database.
fn body(world: &World, approval: &ApprovalId) -> Value {
    let query = "SELECT body FROM docs WHERE kind = 'approval' AND id = ?1";
    let text: String =
        world.database().query_row(query, [approval.as_str()], |row| row.get(0)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Replaces it, with the columns by which it is found.
fn forge(world: &World, approval: &ApprovalId, body: &Value) {
    let change = "UPDATE docs SET body = ?2, state = ?3, owner = ?4
                  WHERE kind = 'approval' AND id = ?1";
    let state = body["state"]["state"].as_str().unwrap();
    let owner = body["request"]["user"].as_str().unwrap();
    let changed = world
        .database()
        .execute(change, [approval.as_str(), &body.to_string(), state, owner])
        .unwrap();
    assert_eq!(changed, 1);
}

fn change(world: &World, approval: &ApprovalId, change: impl FnOnce(&mut Value)) {
    let mut forged = body(world, approval);
    change(&mut forged);
    forge(world, approval, &forged);
}

/// Checks that it cannot be used, now and after a restart, and that this is recorded.
fn cannot_be_used(world: World, approval: &ApprovalId, proposal: &Proposal, why: &str) {
    let before = world.recorded("spend_refused").len();
    assert_eq!(world.spend(approval, proposal).unwrap_err(), why);
    let world = world.restart(on_disk());
    assert_eq!(world.spend(approval, proposal).unwrap_err(), why);
    let refused = world.recorded("spend_refused");
    assert_eq!(refused.len(), before + 2);
    assert_eq!(refused.last().unwrap()["why"], why);
    assert_eq!(refused.last().unwrap()["approval"], approval.as_str());
    world.verify();
}

#[test]
fn a_state_that_was_flipped_to_approved_does_not_run() {
    let world = World::new(on_disk());
    let approval = world.ask(&shell(RISKY));
    // With a decision that belongs to another question.
    let other = world.ask(&shell(OTHER));
    world.say(&other, Answer::Approve);
    let borrowed = body(&world, &other)["state"].clone();
    change(&world, &approval, |forged| forged["state"] = borrowed);
    cannot_be_used(world, &approval, &shell(RISKY), TAMPERED);
}

#[test]
fn a_signed_no_is_no_yes_under_another_name() {
    let world = World::new(on_disk());
    let approval = world.ask(&shell(RISKY));
    world.say(&approval, Answer::Reject);
    change(&world, &approval, |forged| {
        forged["state"]["state"] = json!("approved");
        forged["state"]["until"] = json!(i64::MAX);
    });
    cannot_be_used(world, &approval, &shell(RISKY), TAMPERED);
}

#[test]
fn a_decision_that_was_replaced_does_not_run() {
    for (field, value) in [
        ("say", json!("reject")),
        ("at", json!(BEGIN.0 + 86_400_000)),
        ("scope", json!("always")),
        ("feedback", json!("fine by me")),
        ("votes", json!([])),
    ] {
        let world = World::new(on_disk());
        let approval = world.ask(&shell(RISKY));
        world.say(&approval, Answer::Approve);
        change(&world, &approval, |forged| forged["state"]["decision"][field] = value);
        assert!(block_on(world.gate.receipt(&world.owner, &approval)).is_err(), "{field}");
        cannot_be_used(world, &approval, &shell(RISKY), TAMPERED);
    }
}

#[test]
fn a_request_that_was_changed_is_neither_shown_answered_nor_used() {
    let world = World::new(on_disk());
    let bob = world.person("Bob", Membership::Member);
    let bobs_id = bob.user().id.to_string();
    for (field, value) in [
        ("user", json!(bobs_id)),
        ("expires_at", json!(i64::MAX)),
        ("risk", json!("low")),
        ("action", json!("file_read")),
        ("quorum", json!({"need": 0, "requester": "counts"})),
    ] {
        let approval = world.ask(&shell(RISKY));
        change(&world, &approval, |forged| forged["request"][field] = value);
        for person in [&bob, &world.owner] {
            let refused = world.say_as(person, &approval, Answer::Approve).unwrap_err();
            let foreign = matches!(refused, AnswerError::NotFound);
            assert!(foreign || refused.to_string() == TAMPERED, "{field}: {refused}");
            assert!(block_on(world.gate.card(person, &approval)).is_err(), "{field}");
        }
        assert!(world.spend(&approval, &shell(RISKY)).is_err(), "{field}");
        assert_eq!(world.approvals("approved"), [], "{field}");
    }
    assert_eq!(world.recorded("answer_refused").len(), 10);
    assert_eq!(world.recorded("spend_refused").len(), 5);
}

#[test]
fn details_that_were_swapped_are_not_shown_or_answered() {
    let world = World::new(on_disk());
    let approval = world.ask(&shell(RISKY));
    let other = world.ask(&shell(OTHER));
    let [mine, theirs] = [&approval, &other].map(|id| body(&world, id)["sealed"].clone());
    change(&world, &approval, |forged| forged["sealed"] = theirs);
    change(&world, &other, |forged| forged["sealed"] = mine);
    for approval in [&approval, &other] {
        let not_shown = block_on(world.gate.card(&world.owner, approval)).unwrap_err();
        assert!(matches!(not_shown, PeopleError::Tampered(_)), "{not_shown:?}");
        let refused = world.say_as(&world.owner, approval, Answer::Approve).unwrap_err();
        assert!(matches!(refused, AnswerError::Tampered(_)), "{refused}");
    }
    assert_eq!(world.recorded("answer_refused").len(), 2);
    cannot_be_used(world, &approval, &shell(RISKY), TAMPERED);
}

#[test]
fn a_whole_approval_does_not_pass_for_another() {
    let world = World::new(on_disk());
    let approval = world.ask(&shell(RISKY));
    let other = world.ask(&shell(OTHER));
    world.say(&other, Answer::Approve);
    // Everything signed and sealed is genuine, but it is stored under another id.
    let genuine = body(&world, &other);
    forge(&world, &approval, &genuine);
    assert!(world.spend(&approval, &shell(RISKY)).is_err());
    drop(world.spend(&other, &shell(OTHER)).unwrap());
    assert!(world.spend(&approval, &shell(OTHER)).is_err(), "the same yes twice");
}

#[test]
fn a_vote_that_nobody_cast_does_not_count() {
    let row = QuorumRow {
        risk: None,
        rules: vec!["shell.git.*".into()],
        need: Some(2),
        escalate_after: None,
    };
    let config = Config { quorum: vec![row], ..Config::default() };
    let world = World::new(Setup { config, ..on_disk() });
    let [bob, cid] = ["Bob", "Cid"].map(|name| world.person(name, Membership::Member));
    let [approval, other] = [RISKY, OTHER].map(|command| world.ask(&shell(command)));
    for id in [&approval, &other] {
        world.say_as(&bob, id, Answer::Approve).unwrap();
    }
    let mut forged = body(&world, &approval);
    let mut vote = forged["state"]["votes"][0].clone();
    vote["by"] = json!(world.user().as_str());
    forged["state"]["votes"].as_array_mut().unwrap().push(vote);
    forge(&world, &approval, &forged);
    let refused = world.say_as(&cid, &approval, Answer::Approve).unwrap_err();
    assert!(matches!(refused, AnswerError::Tampered(_)), "{refused}");
    // Nor one that was cast on another question.
    let third = world.ask(&shell("git push --force origin third"));
    let borrowed = body(&world, &other)["state"]["votes"].clone();
    change(&world, &third, |forged| forged["state"]["votes"] = borrowed);
    let refused = world.say_as(&cid, &third, Answer::Approve).unwrap_err();
    assert!(matches!(refused, AnswerError::Tampered(_)), "{refused}");
    // Untouched approvals go on.
    let settled = world.say_as(&cid, &other, Answer::Approve).unwrap();
    assert!(matches!(settled, Answered::Settled(_)));
}

#[test]
fn a_yes_that_was_made_to_last_longer_does_not() {
    let world = World::new(on_disk());
    let approval = world.ask(&shell(RISKY));
    world.say(&approval, Answer::Approve);
    change(&world, &approval, |forged| forged["state"]["until"] = json!(i64::MAX));
    world.clock.pass(Duration::from_secs(301));
    cannot_be_used(world, &approval, &shell(RISKY), "already expired");
}

#[test]
fn a_token_of_another_question_is_refused_and_recorded() {
    let world = World::new(on_disk());
    let [approval, other] = [RISKY, OTHER].map(|command| world.ask(&shell(command)));
    let token = block_on(world.gate.card(&world.owner, &other)).unwrap().token;
    let reply = PersonAnswer { token, ..PersonAnswer::plain(approval.clone(), Answer::Approve) };
    let refused = block_on(world.gate.answer(&world.owner, reply)).unwrap_err();
    assert!(matches!(refused, AnswerError::Token), "{refused}");
    // Nor with its hash in place of the other's.
    let hash = body(&world, &other)["request"]["token"].clone();
    let token = block_on(world.gate.card(&world.owner, &other)).unwrap().token;
    change(&world, &approval, |forged| forged["request"]["token"] = hash);
    let reply = PersonAnswer { token, ..PersonAnswer::plain(approval.clone(), Answer::Approve) };
    let refused = block_on(world.gate.answer(&world.owner, reply)).unwrap_err();
    assert!(matches!(refused, AnswerError::Tampered(_)), "{refused}");
    let whys: Vec<_> =
        world.recorded("answer_refused").iter().map(|record| record["why"].clone()).collect();
    assert_eq!(whys, ["the token is not the one for this approval", TAMPERED]);
}

#[test]
fn a_second_use_and_a_late_use_are_refused_and_recorded() {
    let world = World::new(on_disk());
    let [used, late] = [RISKY, OTHER].map(|command| world.ask(&shell(command)));
    world.say(&used, Answer::Approve);
    world.say(&late, Answer::Approve);
    drop(world.spend(&used, &shell(RISKY)).unwrap());
    assert!(world.spend(&used, &shell(RISKY)).is_err());
    world.pass(301);
    assert!(world.spend(&late, &shell(OTHER)).is_err());
    let whys: Vec<_> =
        world.recorded("spend_refused").iter().map(|record| record["why"].clone()).collect();
    assert_eq!(whys, ["already started", "already expired"]);
}

#[test]
fn a_record_that_was_changed_dropped_or_added_is_noticed() {
    for statement in [
        "UPDATE records SET payload = replace(payload, 'approve', 'reject') WHERE event = 'approval'",
        "UPDATE records SET owner = NULL, payload = payload || ' ' WHERE number = 3",
        "UPDATE records SET at = at + 1 WHERE number = 3",
        "DELETE FROM records WHERE number = 2",
        "DELETE FROM records WHERE number = (SELECT max(number) FROM records)",
        "DELETE FROM ends WHERE name = 'head'",
        "INSERT INTO records SELECT number + 1, at, event, digest, hash, hash, owner, workspace,
         session, payload, salt FROM records ORDER BY number DESC LIMIT 1",
    ] {
        let world = World::new(on_disk());
        let approval = world.ask(&shell(RISKY));
        world.say(&approval, Answer::Approve);
        world.verify();
        world.sql(statement);
        assert!(!block_on(world.gate.verify()).unwrap().damage.is_empty(), "{statement}");
    }
}

#[test]
fn a_remembered_yes_that_was_written_into_the_database_lets_nothing_through() {
    let world = World::new(on_disk());
    let approval = world.ask(&shell(RISKY));
    let reply =
        PersonAnswer { scope: Scope::Always, ..PersonAnswer::plain(approval, Answer::Approve) };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    assert!(matches!(world.submit(&shell(RISKY)), Submitted::Permitted(..)));
    world.sql(
        "UPDATE docs SET body = json_set(body, '$.expires_at', 9999999999999)
         WHERE kind = 'remembered'",
    );
    assert!(block_on(world.gate.remembered_answers(&world.owner)).unwrap().is_empty());
    world.ask(&shell(RISKY));
}
