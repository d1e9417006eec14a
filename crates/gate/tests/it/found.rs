//! Defects that the random traces found, each as a test of its own.

use countersign_core::policy::profile::Limits;
use countersign_gate::approval::{Answer, Outcome, QuorumRow, Scope};
use countersign_gate::gate::{Answered, PersonAnswer};
use countersign_gate::key::Access;
use countersign_gate::proposal::Why;
use countersign_gate::session::{End, Plan};
use countersign_gate::user::Membership;
use countersign_gate::{Config, Submitted};
use pollster::block_on;

use crate::world::{HARD, RISKY, SAFE, Setup, World, shell, world};

#[test]
fn another_agent_of_the_same_person_can_neither_spend_nor_report_nor_withdraw() {
    let world = world();
    let other = world.key(&world.owner, Access::Agent, "file.*");
    let approval = world.ask(&shell(RISKY));
    world.say(&approval, Answer::Approve);
    assert!(block_on(world.gate.spend(&other, &approval, &shell(RISKY))).is_err());
    assert!(block_on(world.gate.withdraw(&other, &approval)).is_err());
    let permit = world.spend(&approval, &shell(RISKY)).unwrap();
    let report = world.gate.report(&other, permit.id(), None, Outcome::Done, None);
    assert!(block_on(report).is_err());
    assert_eq!(world.state(&approval), "started");
}

#[test]
fn what_others_propose_uses_up_no_steps_of_a_session() {
    let world = world();
    let limits = Limits { steps: Some(2), ..Limits::default() };
    let session = world.session(Plan { limits, ..Plan::default() });
    let max = world.person("Max", Membership::Member);
    let foreign = world.key(&max, Access::Agent, "*");
    for _ in 0..5 {
        let proposal = shell(SAFE).within(&session);
        let submitted = block_on(world.gate.submit(&foreign, &proposal)).unwrap();
        let Submitted::Refused(refusal) = submitted else { panic!("{submitted:?}") };
        assert_eq!(refusal.why, Why::NoSession);
    }
    assert!(matches!(world.submit(&shell(SAFE).within(&session)), Submitted::Permitted(..)));
}

#[test]
fn the_refusal_that_ends_a_session_is_on_record_too() {
    let world = world();
    let limits = Limits { steps: Some(1), ..Limits::default() };
    let session = world.session(Plan { limits, ..Plan::default() });
    for planned in 1..=3 {
        assert!(matches!(world.submit(&shell(HARD).within(&session)), Submitted::Refused(_)));
        assert_eq!(world.recorded("action_planned").len(), planned);
    }
    let Submitted::Refused(refusal) = world.submit(&shell(SAFE).within(&session)) else { panic!() };
    assert_eq!(refusal.why, Why::Ended(End::MaxSteps));
}

#[test]
fn a_no_in_this_session_outweighs_a_yes_that_was_remembered_elsewhere() {
    let world = world();
    let session = world.session(Plan::default());
    let (inside, outside) = (world.ask(&shell(RISKY).within(&session)), world.ask(&shell(RISKY)));
    let reply =
        PersonAnswer { scope: Scope::Always, ..PersonAnswer::plain(outside, Answer::Approve) };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    world.say(&inside, Answer::Reject);
    let submitted = world.submit(&shell(RISKY).within(&session));
    assert!(matches!(submitted, Submitted::Refused(_)), "{submitted:?}");
    assert!(matches!(world.submit(&shell(RISKY)), Submitted::Permitted(..)));
}

#[test]
fn a_no_is_welcome_whatever_it_says_about_other_times() {
    let world = world();
    let approval = world.ask(&shell("terraform destroy -auto-approve"));
    let reply = PersonAnswer {
        scope: Scope::Always,
        ..PersonAnswer::plain(approval.clone(), Answer::Reject)
    };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    assert_eq!(world.state(&approval), "rejected");
}

#[test]
fn editing_is_no_way_around_those_who_must_agree() {
    let row = QuorumRow {
        risk: None,
        rules: vec!["shell.kubernetes.*".to_owned()],
        need: Some(1),
        escalate_after: None,
    };
    let config = Config { quorum: vec![row], ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let approval = world.ask(&shell(RISKY));
    let edited = Some(shell("kubectl delete namespace staging").action);
    let reply = PersonAnswer { edited, ..PersonAnswer::plain(approval, Answer::Approve) };
    let answered = block_on(world.gate.answer(&world.owner, reply)).unwrap();
    let Answered::AskedAgain(again) = answered else { panic!("{answered:?}") };
    let reply = PersonAnswer::plain(again.clone(), Answer::Approve);
    assert!(block_on(world.gate.answer(&world.owner, reply)).is_err());
    let max = world.person("Max", Membership::Member);
    block_on(world.gate.answer(&max, PersonAnswer::plain(again, Answer::Approve))).unwrap();
}

#[test]
fn the_last_of_several_people_cannot_say_always_for_all() {
    let rows = vec![QuorumRow {
        risk: Some(countersign_core::RiskLevel::Low),
        rules: Vec::new(),
        need: Some(2),
        escalate_after: None,
    }];
    let config = Config { quorum: rows, ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let (bob, eve) = (world.person("B", Membership::Member), world.person("E", Membership::Member));
    let approval = world.ask(&shell(RISKY));
    let say = |person, scope| {
        let reply =
            PersonAnswer { scope, ..PersonAnswer::plain(approval.clone(), Answer::Approve) };
        block_on(world.gate.answer(person, reply))
    };
    assert!(say(&bob, Scope::Once).is_ok());
    assert!(say(&eve, Scope::Always).is_err());
    assert!(say(&eve, Scope::Session).is_err());
    assert!(matches!(say(&eve, Scope::Once), Ok(Answered::Settled(_))));
}
