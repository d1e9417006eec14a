//! The lifecycle of an approval.

use countersign_core::Action;
use countersign_gate::approval::{Answer, Cancel, Outcome, Receipt, Scope, State};
use countersign_gate::gate::{AnswerError, Answered, PersonAnswer};
use countersign_gate::id::ApprovalId;
use countersign_gate::proposal::{Script, Why};
use countersign_gate::session::Plan;
use countersign_gate::user::Membership;
use countersign_gate::{Config, Proposal, Submitted};
use pollster::block_on;

use crate::world::{HARD, RISKY, SAFE, Setup, World, keyring, shell, world};

#[test]
fn what_is_harmless_runs_and_what_is_catastrophic_never_does() {
    let world = world();
    let Submitted::Permitted(permit, _) = world.submit(&shell(SAFE)) else { panic!() };
    let proposal = shell(SAFE);
    assert!(permit.redeem(&proposal.action, &proposal.context, &[]).is_ok());
    let Submitted::Refused(refusal) = world.submit(&shell(HARD)) else { panic!() };
    assert_eq!(refusal.why, Why::Blocked);
    assert_eq!(world.recorded("action_planned").len(), 2);
    world.verify();
}

#[test]
fn a_yes_runs_the_very_action_once() {
    let world = world();
    let approval = world.ask(&shell(RISKY));
    assert_eq!(world.spend(&approval, &shell(RISKY)).unwrap_err(), "still waiting for an answer");
    assert!(matches!(world.say(&approval, Answer::Approve), Answered::Settled(_)));
    let permit = world.spend(&approval, &shell(RISKY)).unwrap();
    assert_eq!(world.spend(&approval, &shell(RISKY)).unwrap_err(), "already started");
    let id = permit.id().clone();
    let proposal = shell(RISKY);
    permit.redeem(&proposal.action, &proposal.context, &[]).unwrap();
    block_on(world.gate.report(&world.agent, &id, None, Outcome::Done, None)).unwrap();
    assert_eq!(world.state(&approval), "done");
    world.verify();
}

#[test]
fn a_no_is_final_and_reaches_the_agent_with_its_reason() {
    let world = world();
    let session = world.session(Plan::default());
    let approval = world.ask(&shell(RISKY).within(&session));
    let feedback = Some("use a branch".to_owned());
    let reply = PersonAnswer { feedback, ..PersonAnswer::plain(approval.clone(), Answer::Reject) };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    assert_eq!(world.spend(&approval, &shell(RISKY)).unwrap_err(), "already rejected");
    let Submitted::Refused(refusal) = world.submit(&shell(RISKY).within(&session)) else {
        panic!()
    };
    assert_eq!(refusal.why, Why::Declined(Some("use a branch".into())));
    // The session goes on.
    assert!(matches!(world.submit(&shell(SAFE).within(&session)), Submitted::Permitted(..)));
}

#[test]
fn silence_is_a_refusal() {
    let world = world();
    let approval = world.ask(&shell(RISKY));
    world.pass(121);
    let reply = PersonAnswer::plain(approval.clone(), Answer::Approve);
    let late = block_on(world.gate.answer(&world.owner, reply)).unwrap_err();
    assert!(matches!(late, AnswerError::Settled("expired")), "{late}");
    world.sweep();
    assert_eq!(world.state(&approval), "expired");
    assert_eq!(world.spend(&approval, &shell(RISKY)).unwrap_err(), "already expired");
}

#[test]
fn a_yes_that_nobody_uses_runs_out() {
    let world = world();
    let approval = world.ask(&shell(RISKY));
    world.say(&approval, Answer::Approve);
    world.pass(301);
    assert_eq!(world.spend(&approval, &shell(RISKY)).unwrap_err(), "already expired");
    world.sweep();
    assert_eq!(world.state(&approval), "expired");
}

#[test]
fn what_started_and_was_never_reported_is_unknown_and_not_run_again() {
    let world = world();
    let approval = world.ask(&shell(RISKY));
    world.say(&approval, Answer::Approve);
    let _permit = world.spend(&approval, &shell(RISKY)).unwrap();
    world.pass(601);
    world.sweep();
    assert_eq!(world.state(&approval), "unknown");
    assert_eq!(world.spend(&approval, &shell(RISKY)).unwrap_err(), "already unknown");
}

#[test]
fn another_action_elsewhere_or_later_is_not_the_one_that_was_approved() {
    let world = world();
    let approval = world.ask(&shell(RISKY));
    world.say(&approval, Answer::Approve);
    let elsewhere = Action::Shell { command: RISKY.into(), cwd: Some("/other".into()) };
    for other in [shell("git push --force origin prod"), Proposal::of(elsewhere)] {
        let error = world.spend(&approval, &other).unwrap_err();
        assert_eq!(error, "this is not the action that was approved");
    }
    assert_eq!(world.recorded("spend_refused").len(), 2);
    assert!(world.spend(&approval, &shell(RISKY)).is_ok());
}

#[test]
fn a_yes_for_the_session_is_not_asked_again_there_and_nowhere_else() {
    let world = world();
    let session = world.session(Plan::default());
    let approval = world.ask(&shell(RISKY).within(&session));
    let reply =
        PersonAnswer { scope: Scope::Session, ..PersonAnswer::plain(approval, Answer::Approve) };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    assert!(matches!(world.submit(&shell(RISKY).within(&session)), Submitted::Permitted(..)));
    world.ask(&shell("git push --force origin other").within(&session));
    let other = world.session(Plan::default());
    world.ask(&shell(RISKY).within(&other));
}

#[test]
fn a_yes_for_always_holds_for_days_is_listed_and_can_be_taken_back() {
    let world = world();
    let always = |world: &crate::world::World| {
        let approval = world.ask(&shell(RISKY));
        let reply =
            PersonAnswer { scope: Scope::Always, ..PersonAnswer::plain(approval, Answer::Approve) };
        block_on(world.gate.answer(&world.owner, reply)).unwrap();
        assert!(matches!(world.submit(&shell(RISKY)), Submitted::Permitted(..)));
    };
    always(&world);
    let answers = block_on(world.gate.remembered_answers(&world.owner)).unwrap();
    assert_eq!(answers.len(), 1);
    block_on(world.gate.forget_answer(&world.owner, &answers[0].id)).unwrap();
    always(&world);
    world.pass(31 * 86_400);
    world.ask(&shell(RISKY));
    assert!(block_on(world.gate.remembered_answers(&world.owner)).unwrap().is_empty());
}

#[test]
fn a_receipt_verifies_offline_and_only_as_it_is() {
    let world = world();
    let approval = world.ask(&shell(RISKY));
    world.say(&approval, Answer::Approve);
    let receipt = block_on(world.gate.receipt(&world.owner, &approval)).unwrap();
    let written = serde_json::to_string_pretty(&receipt).unwrap();
    let receipt: Receipt = serde_json::from_str(&written).unwrap();
    let (key, proposal) = (keyring().public(), shell(RISKY));
    receipt.verify(&key).unwrap();
    receipt.verify_action(&proposal.action, &proposal.context, &[]).unwrap();
    let other = shell("git push --force origin prod");
    assert!(receipt.verify_action(&other.action, &other.context, &[]).is_err());
    let mut changed = receipt.clone();
    changed.decision.say = Answer::Reject;
    assert!(changed.verify(&key).is_err());
    let mut changed = receipt;
    changed.request.user = countersign_gate::id::UserId::from_bytes([1; 16]);
    assert!(changed.verify(&key).is_err());
}

#[test]
fn an_approval_survives_a_restart() {
    let setup = Setup { on_disk: true, ..Setup::default() };
    let world = crate::world::World::new(setup.clone());
    let approval = world.ask(&shell(RISKY));
    let world = world.restart(setup.clone());
    world.say(&approval, Answer::Approve);
    let world = world.restart(setup);
    assert!(world.spend(&approval, &shell(RISKY)).is_ok());
    world.verify();
}

#[test]
fn an_edited_action_reaches_the_agent_and_is_what_runs() {
    let world = world();
    let asked = world.ask(&shell(RISKY));
    let wanted = shell("git push --force origin feature").action;
    let reply = PersonAnswer {
        edited: Some(wanted.clone()),
        ..PersonAnswer::plain(asked.clone(), Answer::Approve)
    };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    let State::Cancelled { why: Cancel::Replaced { by }, .. } =
        block_on(world.gate.settled(&world.agent, &asked)).unwrap()
    else {
        panic!()
    };
    assert_eq!(block_on(world.gate.edited(&world.agent, &asked)).unwrap(), None);
    let edited = block_on(world.gate.edited(&world.agent, &by)).unwrap().unwrap();
    assert_eq!(edited, wanted);
    assert!(world.spend(&by, &shell(RISKY)).is_err());
    assert!(world.spend(&by, &Proposal::of(edited)).is_ok());

    let other = world.ask(&shell(RISKY));
    let secret = format!("deploy --token ghp_{}", "Zq7Lm2Xw9Rt4Bv6Nc1Yh8Kd3Fs5Gj0PaUeIo");
    let reply = PersonAnswer {
        edited: Some(shell(&secret).action),
        ..PersonAnswer::plain(other, Answer::Approve)
    };
    let error = block_on(world.gate.answer(&world.owner, reply)).unwrap_err();
    assert!(matches!(error, AnswerError::EditedHasSecrets), "{error}");
}

#[test]
fn a_receipt_for_a_script_holds_for_that_content() {
    let world = world();
    let scripts = vec![Script::new("/work/deploy.sh", b"git push --force")];
    let proposal = Proposal { scripts, ..shell(RISKY) };
    let approval = world.ask(&proposal.clone());
    world.say(&approval, Answer::Approve);
    let receipt = block_on(world.gate.receipt(&world.owner, &approval)).unwrap();
    let verify =
        |scripts: &[Script]| receipt.verify_action(&proposal.action, &proposal.context, scripts);
    verify(&proposal.scripts).unwrap();
    assert!(verify(&[Script::new("/work/deploy.sh", b"rm -rf /")]).is_err());
    assert!(verify(&[]).is_err());
}

#[test]
fn who_comes_too_late_is_told_how_it_stands_and_changes_nothing() {
    let world = world();
    let replies = |approval: &ApprovalId| {
        let plain = PersonAnswer::plain(approval.clone(), Answer::Approve);
        let edited = Some(shell("git push --force origin other").action);
        [plain, PersonAnswer { edited, ..PersonAnswer::plain(approval.clone(), Answer::Approve) }]
    };
    let agreed = world.ask(&shell(RISKY));
    world.say(&agreed, Answer::Approve);
    // Longer than the question would have waited, but not as long as the approval may be used.
    world.pass(121);
    for reply in replies(&agreed) {
        let late = block_on(world.gate.answer(&world.owner, reply)).unwrap_err();
        assert!(matches!(late, AnswerError::Settled("approved")), "{late}");
    }
    assert!(world.spend(&agreed, &shell(RISKY)).is_ok());
    let silent = world.ask(&shell(RISKY));
    world.pass(120);
    for reply in replies(&silent) {
        let late = block_on(world.gate.answer(&world.owner, reply)).unwrap_err();
        assert!(matches!(late, AnswerError::Settled("expired")), "{late}");
    }
    assert_eq!(world.spend(&silent, &shell(RISKY)).unwrap_err(), "already expired");
    assert_eq!(world.approvals("pending"), [silent]);
}

#[test]
fn an_edit_to_another_kind_or_a_higher_risk_is_asked_about_anew() {
    let world = world();
    let critical = "terraform destroy -auto-approve";
    let delete = Action::FileDelete { path: "/work/notes.txt".into() };
    let edit = |from: &str, to: Action| {
        let asked = world.ask(&shell(from));
        let reply =
            PersonAnswer { edited: Some(to), ..PersonAnswer::plain(asked, Answer::Approve) };
        block_on(world.gate.answer(&world.owner, reply)).unwrap()
    };
    for to in [delete, shell(critical).action] {
        let answered = edit(RISKY, to.clone());
        let Answered::AskedAgain(again) = answered else { panic!("{to:?}: {answered:?}") };
        assert_eq!(world.state(&again), "pending");
    }
    assert!(matches!(edit(critical, shell(RISKY).action), Answered::Settled(_)), "less risky");
    let records = world.recorded("approval");
    let edits = records.iter().filter(|record| record["response"] == "edit");
    assert_eq!(edits.count(), 3, "each is on record");
}

#[test]
fn an_edited_action_is_remembered_as_far_as_it_could_be_if_it_were_proposed() {
    let world = world();
    let always = |to: &str| {
        let path = "/work/notes.txt".into();
        let asked = world.ask(&shell("terraform destroy -auto-approve"));
        // Edited into another kind, so that a new question is asked.
        let delete = Some(Action::FileDelete { path });
        let reply = PersonAnswer { edited: delete, ..PersonAnswer::plain(asked, Answer::Approve) };
        let answered = block_on(world.gate.answer(&world.owner, reply)).unwrap();
        let Answered::AskedAgain(asked) = answered else { panic!("{answered:?}") };
        let reply = PersonAnswer {
            edited: Some(shell(to).action),
            ..PersonAnswer::plain(asked, Answer::Approve)
        };
        let answered = block_on(world.gate.answer(&world.owner, reply)).unwrap();
        let Answered::AskedAgain(asked) = answered else { panic!("{answered:?}") };
        let reply =
            PersonAnswer { scope: Scope::Always, ..PersonAnswer::plain(asked, Answer::Approve) };
        block_on(world.gate.answer(&world.owner, reply))
    };
    assert!(matches!(always(RISKY), Ok(Answered::Settled(_))));
    let critical = always("terraform destroy -auto-approve");
    assert!(matches!(critical, Err(AnswerError::NotForAlways)), "{critical:?}");
}

#[test]
fn refusals_are_on_record_for_whom_they_concern_and_waiting_is_none() {
    let world = world();
    let asked = world.ask(&shell(RISKY));
    assert!(world.spend(&asked, &shell(RISKY)).is_err());
    assert!(world.recorded("spend_refused").is_empty(), "to wait is no attempt");
    let stranger = world.person("Zoe", Membership::Member);
    assert!(world.say_as(&stranger, &asked, Answer::Approve).is_err());
    let records = world.records();
    let refused = records.iter().find(|record| record.event == "answer_refused").unwrap();
    let subject = &refused.content.as_ref().unwrap().record_owner;
    assert_eq!(subject.owner.as_deref(), Some(stranger.user().id.as_str()));
}

#[test]
fn a_permit_says_what_it_is_for_and_who_agreed() {
    let world = world();
    let session = world.session(Plan::default());
    let (asked, harmless) = (shell(RISKY).within(&session), shell(SAFE));
    let approval = world.ask(&asked);
    world.say(&approval, Answer::Approve);
    let permit = world.spend(&approval, &asked).unwrap();
    let digest = countersign_core::digest::digest(&asked.action, &asked.context);
    assert_eq!(permit.digest(), digest);
    assert_eq!((permit.session(), permit.by().as_str()), (Some(&session), "person"));
    let Submitted::Permitted(permit, _) = world.submit(&harmless) else { panic!() };
    assert_eq!((permit.session(), permit.by().as_str()), (None, "rules"));
}

#[test]
fn a_no_reaches_no_further_than_its_question() {
    let world = world();
    let asked = world.ask(&shell(RISKY));
    let reply =
        PersonAnswer { scope: Scope::Always, ..PersonAnswer::plain(asked.clone(), Answer::Reject) };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    let receipt = block_on(world.gate.receipt(&world.owner, &asked)).unwrap();
    assert_eq!(receipt.decision.scope, Scope::Once);
}

#[test]
fn a_yes_holds_no_longer_than_it_was_given_for_whatever_is_configured_since() {
    let within = |spend_within| Setup {
        on_disk: true,
        config: Config { spend_within, ..Config::default() },
        ..Setup::default()
    };
    for (then, now, seconds, holds) in [
        (300, 600, 299, true),
        (300, 600, 300, false),
        (600, 300, 299, true),
        (600, 300, 300, false),
    ] {
        let world = World::new(within(then));
        let asked = world.ask(&shell(RISKY));
        world.say(&asked, Answer::Approve);
        let world = world.restart(within(now));
        world.pass(seconds);
        let spent = world.spend(&asked, &shell(RISKY));
        assert_eq!(spent.is_ok(), holds, "{then} then, {now} now, after {seconds}: {spent:?}");
    }
}
