//! Actions that need several people, and the reach of approvals.

use std::collections::BTreeMap;

use countersign_core::action::QUESTION;
use countersign_core::policy::{SkillChoices, Source, Sources};
use countersign_core::{Action, Context, Policy, RiskLevel, Verdict, judge};
use countersign_gate::approval::{Answer, QuorumRow, Scope, needs_others};
use countersign_gate::gate::{AnswerError, Answered, Consent, PersonAnswer, Reach};
use countersign_gate::id::ApprovalId;
use countersign_gate::key::Access;
use countersign_gate::session::Plan;
use countersign_gate::user::Membership;
use countersign_gate::{Caller, Config, Person, Proposal, Submitted};
use pollster::block_on;
use serde_json::json;

use crate::world::{RISKY, Setup, World, shell, world};

/// A setup in which everything that asks needs two others.
fn two_others() -> Setup {
    let row = QuorumRow {
        risk: Some(RiskLevel::None),
        rules: Vec::new(),
        need: Some(2),
        escalate_after: None,
    };
    Setup { config: Config { quorum: vec![row], ..Config::default() }, ..Setup::default() }
}

fn mail() -> Proposal {
    let action = json!({"kind": "skill", "skill": "email.send", "params": {"to": "bob"}});
    Proposal::of(serde_json::from_value(action).unwrap())
}

fn question() -> Proposal {
    let params = BTreeMap::from([("description".to_owned(), json!("go on?"))]);
    Proposal::of(Action::Named { name: QUESTION.to_owned(), params })
}

fn autonomous(world: &World) {
    let changed = world.gate.change_settings(&world.owner, |settings| settings.autonomous = true);
    block_on(changed).unwrap();
}

fn plan(auto_confirm: bool, profile: Option<&str>) -> Plan {
    Plan { auto_confirm, profile: profile.map(str::to_owned), ..Plan::default() }
}

fn submit(world: &World, caller: &Caller, proposal: &Proposal) -> Submitted {
    block_on(world.gate.submit(caller, proposal)).unwrap()
}

#[test]
fn a_row_asks_for_others_if_it_says_so_and_is_about_the_action() {
    let judged =
        |proposal: &Proposal| judge(&proposal.action, &Policy::default(), &Context::default());
    let (risky, other) = (judged(&shell(RISKY)), judged(&shell("npm publish")));
    let row = |need| QuorumRow {
        risk: None,
        rules: vec!["shell.git.force-push".to_owned()],
        need,
        escalate_after: Some(60),
    };
    assert!(needs_others(&[row(None), row(Some(1))], &risky));
    assert!(!needs_others(&[row(Some(1))], &other), "it is about something else");
    assert!(!needs_others(&[row(None)], &risky), "it only says when others are asked too");
    assert!(!needs_others(&[], &risky));
}

/// Whether others, and only others, are asked: the requester is refused, two others agree.
#[track_caller]
fn takes_two_others(world: &World, caller: &Caller, proposal: &Proposal, how: &str) {
    let Submitted::Waiting(waiting) = submit(world, caller, proposal) else {
        panic!("{how}: nobody is asked")
    };
    let id = waiting.approval;
    let own = world.say_as(&world.owner, &id, Answer::Approve);
    assert!(matches!(own, Err(AnswerError::OthersMustAgree)), "{how}: {own:?}");
    for scope in [Scope::Session, Scope::Always, Scope::Everywhere] {
        let reply = PersonAnswer { scope, ..PersonAnswer::plain(id.clone(), Answer::Approve) };
        let bob = world.person("Bob", Membership::Member);
        assert!(block_on(world.gate.answer(&bob, reply)).is_err(), "{how}: {scope:?}");
    }
    let (bob, eve) = (world.person("B", Membership::Member), world.person("E", Membership::Member));
    let first = world.say_as(&bob, &id, Answer::Approve).unwrap();
    assert_eq!(first, Answered::Counted { have: 1, need: 2 }, "{how}");
    assert!(block_on(world.gate.spend(caller, &id, proposal)).is_err(), "{how}");
    assert!(matches!(world.say_as(&eve, &id, Answer::Approve), Ok(Answered::Settled(_))), "{how}");
    assert!(block_on(world.gate.spend(caller, &id, proposal)).is_ok(), "{how}");
}

#[test]
fn no_word_of_one_person_replaces_the_others() {
    let world = World::new(two_others());
    let program = world.key(&world.owner, Access::Program, "*");
    takes_two_others(&world, &world.agent, &shell(RISKY), "nothing");
    takes_two_others(&world, &program, &mail(), "a program's key");
    takes_two_others(&world, &world.agent, &question(), "a question");
    let starts = world.key(&world.owner, Access::Program, "sessions.consent");
    let begun = block_on(world.gate.start(&starts, plan(true, None), Consent::Given, Vec::new()));
    let by_program = begun.unwrap().id;
    let by_person = world.session(plan(true, None));
    for session in [by_program, by_person] {
        for proposal in [shell(RISKY), mail(), question()] {
            let proposal = proposal.within(&session);
            takes_two_others(&world, &world.agent, &proposal, "auto_confirm");
        }
    }
    for name in ["applescript", "assistant", "browser-agent", "coding-agent", "computer-use"] {
        let session = world.session(plan(true, Some(name)));
        takes_two_others(&world, &world.agent, &shell(RISKY).within(&session), name);
    }
    let choices = json!({"skills": {"email.send": {"confirm": false}}});
    let choices: SkillChoices = serde_json::from_value(choices).unwrap();
    let changed =
        world.gate.change_settings(&world.owner, |settings| settings.skills = choices.clone());
    block_on(changed).unwrap();
    takes_two_others(&world, &world.agent, &mail(), "a choice");
    autonomous(&world);
    for proposal in [shell(RISKY), mail(), question()] {
        takes_two_others(&world, &world.agent, &proposal, "autonomous mode");
    }
    assert!(matches!(world.submit(&shell("ls -la")), Submitted::Permitted(..)));
}

#[test]
fn a_question_that_its_agent_calls_critical_takes_those_whom_critical_actions_take() {
    let row = QuorumRow {
        risk: Some(RiskLevel::Critical),
        rules: Vec::new(),
        need: Some(2),
        escalate_after: None,
    };
    let config = Config { quorum: vec![row], ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    autonomous(&world);
    let called = |risk: &str| {
        let mut question = question();
        if let Action::Named { params, .. } = &mut question.action {
            params.insert("risk_level".to_owned(), json!(risk));
        }
        question
    };
    assert!(matches!(world.submit(&called("high")), Submitted::Permitted(..)));
    takes_two_others(&world, &world.agent, &called("critical"), "autonomous mode");
}

#[test]
fn a_profile_that_one_person_chose_does_not_replace_the_others() {
    // Blocked by one profile, asked about by the other; a coding agent runs it without a question.
    for (own, action) in [
        (
            "computer-use",
            json!({"kind": "tool", "server": "s", "tool": "execute_command",
            "arguments": {"command": "ls"}}),
        ),
        ("browser-agent", json!({"kind": "skill", "skill": "shop.get_order", "params": {}})),
    ] {
        let text = format!("profile: {own}");
        let user = Some(Source { name: "countersign.yaml".into(), text });
        let policy = Policy::load(&Sources { user, ..Sources::default() }).unwrap();
        let proposal = Proposal::of(serde_json::from_value(action).unwrap());
        let relaxed = |setup| {
            let world = World::new(setup);
            let session = world.session(plan(false, Some("coding-agent")));
            (world, proposal.clone().within(&session))
        };
        let (alone, within) = relaxed(Setup { policy: policy.clone(), ..Setup::default() });
        let submitted = alone.submit(&within);
        assert!(matches!(submitted, Submitted::Permitted(..)), "{own}: {submitted:?}");
        let (world, within) = relaxed(Setup { policy, ..two_others() });
        let submitted = world.submit(&within);
        let Submitted::Waiting(waiting) = submitted else { panic!("{own}: {submitted:?}") };
        assert_eq!(waiting.judgement.verdict, Verdict::Confirm, "asked about, not blocked");
        takes_two_others(&world, &world.agent, &within, own);
    }
}

#[test]
fn a_row_is_for_the_rules_it_names_and_families_end_in_a_dot_and_a_star() {
    let others_must_agree = |rule: &str| {
        let rules = vec![rule.to_owned()];
        let row = QuorumRow { risk: None, rules, need: Some(1), escalate_after: None };
        let config = Config { quorum: vec![row], ..Config::default() };
        let world = World::new(Setup { config, ..Setup::default() });
        let asked = world.ask(&shell(RISKY));
        let own = world.say_as(&world.owner, &asked, Answer::Approve);
        matches!(own, Err(AnswerError::OthersMustAgree))
    };
    for rule in ["shell.git.force-push", "shell.git.*", "shell.*"] {
        assert!(others_must_agree(rule), "{rule}");
    }
    for rule in ["shell.git.force-pus", "shell.git", "shell.git*", "shell.disk.*", "*", ""] {
        assert!(!others_must_agree(rule), "{rule}");
    }
}

#[test]
fn a_yes_from_before_the_row_does_not_replace_the_others() {
    let world = world();
    for (scope, command) in [(Scope::Always, RISKY), (Scope::Everywhere, "git push -f origin main")]
    {
        let approval = world.ask(&shell(command));
        let reply = PersonAnswer { scope, ..PersonAnswer::plain(approval, Answer::Approve) };
        block_on(world.gate.answer(&world.owner, reply)).unwrap();
        assert!(matches!(world.submit(&shell(command)), Submitted::Permitted(..)));
    }
    let unspent = world.ask(&shell("git push --force origin old"));
    world.say(&unspent, Answer::Approve);
    let world = world.restart(two_others());
    takes_two_others(&world, &world.agent, &shell(RISKY), "always");
    takes_two_others(&world, &world.agent, &shell("git push -f origin main"), "everywhere");
    let spent = world.spend(&unspent, &shell("git push --force origin old"));
    assert_eq!(spent.unwrap_err(), "too few of those who agreed may still say so: ask again");
}

#[test]
fn an_edited_action_takes_those_whom_it_needs() {
    let rules = vec!["shell.git.*".to_owned()];
    let row = QuorumRow { risk: None, rules, need: Some(2), escalate_after: None };
    let config = Config { quorum: vec![row], ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let session = world.session(plan(false, Some("assistant")));
    let asked = world.submit(&shell("rm -rf build").within(&session));
    let asked = match asked {
        Submitted::Waiting(waiting) => waiting.approval,
        other => panic!("{other:?}"),
    };
    let edited = Some(shell(RISKY).action);
    let reply = PersonAnswer { edited, ..PersonAnswer::plain(asked, Answer::Approve) };
    let answered = block_on(world.gate.answer(&world.owner, reply)).unwrap();
    let Answered::AskedAgain(new) = answered else { panic!("{answered:?}") };
    let own = world.say_as(&world.owner, &new, Answer::Approve);
    assert!(matches!(own, Err(AnswerError::OthersMustAgree)), "{own:?}");
}

/// A way to lose the right to agree.
type Leaving = (&'static str, fn(&World, &Person));

const LEAVINGS: [Leaving; 2] = [
    ("disabled", |world, person| {
        block_on(world.gate.disable_user(&world.owner, &person.user().id)).unwrap();
    }),
    ("removed", |world, person| {
        let (user, workspace) = (&person.user().id, &world.workspace);
        block_on(world.gate.change_membership(&world.owner, user, workspace, None)).unwrap();
    }),
];

#[test]
fn a_vote_of_somebody_who_has_left_does_not_count() {
    for (how, leave) in LEAVINGS {
        let world = World::new(two_others());
        let [bob, eve, max] = ["B", "E", "M"].map(|name| world.person(name, Membership::Member));
        let approval = world.ask(&shell(RISKY));
        world.say_as(&bob, &approval, Answer::Approve).unwrap();
        leave(&world, &bob);
        // On a connection from before.
        assert!(world.say_as(&bob, &approval, Answer::Approve).is_err(), "{how}");
        let second = world.say_as(&eve, &approval, Answer::Approve).unwrap();
        assert_eq!(second, Answered::Counted { have: 1, need: 2 }, "{how}");
        assert!(matches!(world.say_as(&max, &approval, Answer::Approve), Ok(Answered::Settled(_))));
        // Nor between the decision and its use.
        leave(&world, &max);
        let spent = world.spend(&approval, &shell(RISKY));
        assert!(spent.unwrap_err().starts_with("too few"), "{how}");
        assert_eq!(world.recorded("spend_refused").len(), 1);
    }
}

#[test]
fn an_admin_who_is_no_longer_one_answers_nothing_that_has_escalated() {
    let rules = vec!["shell.git.*".to_owned()];
    let row = QuorumRow { risk: None, rules, need: None, escalate_after: Some(10) };
    let config = Config { quorum: vec![row], ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let admin = world.person("Ada", Membership::Admin);
    let (one, two) = (world.ask(&shell(RISKY)), world.ask(&shell(RISKY)));
    world.pass(11);
    world.sweep();
    world.say_as(&admin, &one, Answer::Approve).unwrap();
    let (user, member) = (&admin.user().id, Some(Membership::Member));
    let lowered = world.gate.change_membership(&world.owner, user, &world.workspace, member);
    block_on(lowered).unwrap();
    let answered = world.say_as(&admin, &two, Answer::Approve);
    assert!(matches!(answered, Err(AnswerError::NotFound)), "{answered:?}");
    assert!(world.spend(&one, &shell(RISKY)).unwrap_err().starts_with("too few"));
}

#[test]
fn what_is_critical_is_remembered_for_no_time_at_all() {
    let commands = ["terraform destroy -auto-approve", "kubectl delete namespace prod", RISKY];
    let judged = |command: &&str| {
        let judgement = judge(&shell(command).action, &Policy::default(), &Context::default());
        judgement.verdict == Verdict::Confirm && judgement.risk.level == RiskLevel::Critical
    };
    let critical = commands.into_iter().find(judged).expect("nothing critical asks");
    let world = world();
    let session = world.session(Plan::default());
    let approval = world.ask(&shell(critical).within(&session));
    for scope in [Scope::Session, Scope::Always, Scope::Everywhere] {
        let reply =
            PersonAnswer { scope, ..PersonAnswer::plain(approval.clone(), Answer::Approve) };
        let answered = block_on(world.gate.answer(&world.owner, reply));
        assert!(matches!(answered, Err(AnswerError::NotForAlways)), "{scope:?}: {answered:?}");
    }
    world.say(&approval, Answer::Approve);
    world.ask(&shell(critical).within(&session));
}

fn remember(world: &World, approval: ApprovalId, scope: Scope) {
    let reply = PersonAnswer { scope, ..PersonAnswer::plain(approval, Answer::Approve) };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
}

#[test]
fn always_is_for_the_agent_that_asked_in_its_workspace() {
    let world = world();
    let other = world.key(&world.owner, Access::Agent, "*");
    let elsewhere = block_on(world.gate.add_workspace(&world.owner, "Elsewhere")).unwrap();
    let there = world.owner.assistant(&elsewhere).unwrap();
    let here = world.assistant();
    remember(&world, world.ask(&shell(RISKY)), Scope::Always);
    assert!(matches!(world.submit(&shell(RISKY)), Submitted::Permitted(..)));
    for caller in [&other, &here, &there] {
        let submitted = submit(&world, caller, &shell(RISKY));
        assert!(matches!(submitted, Submitted::Waiting(_)), "{submitted:?}");
    }
    let Submitted::Waiting(asked) = submit(&world, &here, &shell(RISKY)) else { panic!() };
    remember(&world, asked.approval, Scope::Always);
    assert!(matches!(submit(&world, &here, &shell(RISKY)), Submitted::Permitted(..)));
    assert!(matches!(submit(&world, &there, &shell(RISKY)), Submitted::Waiting(_)));
    // Unless the person says so.
    let Submitted::Waiting(asked) = submit(&world, &there, &shell(RISKY)) else { panic!() };
    remember(&world, asked.approval, Scope::Everywhere);
    for caller in [&world.agent, &other, &here, &there] {
        assert!(matches!(submit(&world, caller, &shell(RISKY)), Submitted::Permitted(..)));
    }
    let answers = block_on(world.gate.remembered_answers(&world.owner)).unwrap();
    let mut reaches: Vec<_> = answers.iter().map(|answer| answer.reach.as_str()).collect();
    reaches.sort_unstable();
    assert_eq!(reaches, ["agent", "agent", "everywhere"]);
    assert!(answers.iter().any(|answer| answer.key.as_ref() == world.agent.key_id()));
}

#[test]
fn always_goes_on_for_the_key_that_takes_another_s_place() {
    let world = world();
    remember(&world, world.ask(&shell(RISKY)), Scope::Always);
    let mut id = world.agent.key_id().unwrap().clone();
    for _ in 0..2 {
        let rotated = world.gate.rotate_key(&world.owner, &id, std::time::Duration::ZERO);
        let made = block_on(rotated).unwrap();
        let caller = block_on(world.gate.authenticate(&made.secret, None)).unwrap();
        assert!(matches!(submit(&world, &caller, &shell(RISKY)), Submitted::Permitted(..)));
        id = made.key.id;
    }
}

#[test]
fn a_remembered_yes_of_another_shape_or_place_does_not_hold() {
    for statement in [
        // The format from before it was bound to a key and a workspace.
        "UPDATE docs SET body = json_remove(body, '$.reach', '$.workspace', '$.key')
         WHERE kind = 'remembered'",
        "UPDATE docs SET body = json_set(body, '$.reach', 'everywhere') WHERE kind = 'remembered'",
        // The approval of one action in place of that of another.
        "UPDATE docs SET body = (SELECT body FROM docs WHERE kind = 'remembered'
           AND body LIKE '%shell%' ORDER BY json_extract(body, '$.created_at') DESC LIMIT 1)
         WHERE kind = 'remembered'",
    ] {
        let world = World::new(Setup { on_disk: true, ..Setup::default() });
        remember(&world, world.ask(&shell(RISKY)), Scope::Always);
        world.pass(1);
        remember(&world, world.ask(&shell("git push --force origin two")), Scope::Always);
        assert!(matches!(world.submit(&shell(RISKY)), Submitted::Permitted(..)));
        world.sql(statement);
        let submitted = world.submit(&shell(RISKY));
        assert!(matches!(submitted, Submitted::Waiting(_)), "{statement}: {submitted:?}");
    }
}

#[test]
fn a_remembered_yes_says_how_far_it_reaches() {
    let world = world();
    let session = world.session(Plan::default());
    let asked = world.ask(&shell(RISKY).within(&session));
    remember(&world, asked, Scope::Session);
    let answers = block_on(world.gate.remembered_answers(&world.owner)).unwrap();
    assert_eq!(answers[0].reach, Reach::Session);
    assert_eq!(answers[0].session.as_ref(), Some(&session));
}
