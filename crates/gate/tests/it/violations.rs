//! A limit that was hit is reported and recorded: its name, its value, its use.

use countersign_core::action::DownloadFile;
use countersign_core::policy::profile::Limits;
use countersign_core::policy::{Policy, Source, Sources};
use countersign_core::{Action, Verdict};
use countersign_gate::approval::{Answer, Outcome};
use countersign_gate::gate::{Consent, ReportedError, SiteCredential};
use countersign_gate::id::{ActionId, SessionId};
use countersign_gate::key::Access;
use countersign_gate::proposal::{Refusal, Why};
use countersign_gate::session::{Plan, Violation};
use countersign_gate::{Permit, Proposal, Submitted};
use pollster::block_on;
use serde_json::{Value, json};

use crate::world::{HARD, RISKY, SAFE, Setup, World, shell, world};

fn session(world: &World, limits: Limits) -> SessionId {
    world.session(Plan { limits, ..Plan::default() })
}

fn refused(world: &World, proposal: &Proposal) -> Box<Refusal> {
    match world.submit(proposal) {
        Submitted::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn permitted(world: &World, proposal: &Proposal) -> Permit {
    match world.submit(proposal) {
        Submitted::Permitted(permit, _) => permit,
        other => panic!("not permitted: {other:?}"),
    }
}

fn last(world: &World, event: &str) -> Value {
    world.recorded(event).pop().unwrap_or_else(|| panic!("no {event} is on record"))
}

fn download(files: usize) -> Action {
    let file = DownloadFile { url: "https://a.example/f".into(), name: None, bytes: None };
    Action::Download { files: vec![file; files] }
}

/// Checks the limit in a refusal, in its line and in its record, which must all agree.
#[track_caller]
fn is_told(world: &World, refusal: &Refusal, limit: &str, value: u64, used: Option<u64>) {
    let hit = refusal.hit.expect("it says what was hit");
    assert_eq!((hit.limit, hit.value, hit.used), (limit, value, used));
    let violation = last(world, "violation");
    let message = violation["message"].as_str().unwrap();
    for line in [message, &refusal.line()] {
        assert!(line.contains(limit) && line.contains(&value.to_string()), "{line}");
    }
    let details = &violation["details"];
    assert_eq!((&details["limit"], &details["value"]), (&json!(limit), &json!(value)));
    assert_eq!(details["used"], used.map_or(Value::Null, Value::from));
    assert!(details["action"].is_string());
}

#[test]
fn every_limit_says_what_was_hit() {
    let world = world();
    let limits = |limits| session(&world, limits);
    let id = limits(Limits { steps: Some(2), ..Limits::default() });
    let safe = |id: &SessionId| shell(SAFE).within(id);
    let _ = permitted(&world, &safe(&id));
    let _ = permitted(&world, &safe(&id));
    is_told(&world, &refused(&world, &safe(&id)), "steps", 2, Some(2));

    let id = limits(Limits { screenshots: Some(0), files: Some(3), ..Limits::default() });
    let shot = refused(&world, &Proposal::of(Action::Screenshot {}).within(&id));
    is_told(&world, &shot, "screenshots", 0, Some(0));
    let _ = permitted(&world, &Proposal::of(download(2)).within(&id));
    let files = refused(&world, &Proposal::of(download(2)).within(&id));
    is_told(&world, &files, "files", 3, Some(2));

    let id = limits(Limits { actions_per_minute: Some(1), ..Limits::default() });
    let _ = permitted(&world, &safe(&id));
    let rate = refused(&world, &safe(&id));
    is_told(&world, &rate, "actions_per_minute", 1, None);
    assert_eq!(rate.hit.unwrap().per_seconds, Some(60));

    let blocked = refused(&world, &shell(HARD));
    assert_eq!(blocked.why, Why::Blocked);
    let violation = last(&world, "violation");
    assert_eq!(violation["type"], "blocked_action");
    assert!(!violation["details"]["rules"].as_array().unwrap().is_empty(), "{violation}");
    assert!(violation["message"].as_str().unwrap().len() > "this never runs".len());
}

#[test]
fn a_session_that_times_out_leaves_one_violation_whoever_notices() {
    for by_the_clock in [true, false] {
        let world = world();
        let id = session(&world, Limits { session_seconds: Some(60), ..Limits::default() });
        let waiting = world.ask(&shell(RISKY).within(&id));
        world.pass(61);
        if by_the_clock {
            world.sweep();
        } else {
            let refusal = refused(&world, &shell(SAFE).within(&id));
            assert_eq!(refusal.why, Why::Violation(Violation::Timeout));
            let hit = refusal.hit.unwrap();
            assert_eq!((hit.limit, hit.value, hit.used), ("session_seconds", 60, Some(61)));
        }
        world.sweep();
        let violations = world.recorded("violation");
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0]["type"], "timeout");
        let details = &violations[0]["details"];
        assert_eq!(
            (&details["limit"], &details["value"], &details["used"]),
            (&json!("session_seconds"), &json!(60), &json!(61))
        );
        assert!(violations[0]["message"].as_str().unwrap().contains("session_seconds"));
        assert_eq!(last(&world, "session_end")["outcome"], "timeout");
        assert_ne!(world.state(&waiting), "pending", "what waits ends with it");
    }
}

#[test]
fn an_action_that_nobody_reports_in_time_is_a_violation_asked_about_or_not() {
    let world = world();
    let id = session(&world, Limits { step_seconds: Some(30), ..Limits::default() });
    let allowed = permitted(&world, &shell(SAFE).within(&id));
    assert_eq!(
        allowed.report_by(),
        Some(world.gate.now().after(std::time::Duration::from_secs(30)))
    );
    let asked = shell(RISKY).within(&id);
    let approval = world.ask(&asked);
    world.say(&approval, Answer::Approve);
    let spent = world.spend(&approval, &asked).unwrap();
    assert!(spent.report_by().is_some());
    world.pass(29);
    world.sweep();
    assert_eq!(world.recorded("violation"), [Value::Null; 0]);
    world.pass(1);
    world.sweep();
    world.sweep();
    let violations = world.recorded("violation");
    assert_eq!(violations.len(), 2, "{violations:?}");
    for violation in violations {
        assert_eq!(violation["type"], "step_timeout");
        assert_eq!(violation["details"]["limit"], "step_seconds");
        assert_eq!(violation["details"]["value"], 30);
    }
    assert_eq!(world.state(&approval), "unknown");
    // The session goes on.
    drop(permitted(&world, &shell(SAFE).within(&id)));
}

#[test]
fn a_report_in_time_leaves_no_violation_and_a_late_one_does() {
    let world = world();
    let id = session(&world, Limits { step_seconds: Some(30), ..Limits::default() });
    for (seconds, violations) in [(29, 0), (31, 1)] {
        let permit = permitted(&world, &shell(SAFE).within(&id));
        world.pass(seconds);
        let report = world.gate.report(&world.agent, permit.id(), None, Outcome::Done, None);
        block_on(report).unwrap();
        world.sweep();
        assert_eq!(world.recorded("violation").len(), violations);
    }
    // Not by somebody else's agent.
    let bob = world.person("Bob", countersign_gate::user::Membership::Member);
    let other = world.key(&bob, Access::Agent, "*");
    let permit = permitted(&world, &shell(SAFE).within(&id));
    let report = world.gate.report(&other, permit.id(), None, Outcome::Done, None);
    assert!(block_on(report).is_err());
}

#[test]
fn a_configuration_sets_the_limits_of_sessions() {
    let source = |name: &str, text: &str| Some(Source { name: name.into(), text: text.into() });
    let sources = Sources {
        organisation: source("org.yaml", "limits: {steps: 3}"),
        user: source("user.yaml", "limits: {steps: 9, session_seconds: 1200}"),
        ..Sources::default()
    };
    let policy = Policy::load(&sources).unwrap();
    let world = World::new(Setup { policy, ..Setup::default() });
    let plan = Plan { profile: Some("computer-use".into()), ..Plan::default() };
    let id = world.session(plan);
    let session = block_on(world.gate.session(&world.owner, &id)).unwrap();
    // Raised from 600, lowered from 50 by the organisation; unnamed limits stay.
    assert_eq!(session.limits.session_seconds, Some(1_200));
    assert_eq!((session.limits.steps, session.limits.errors), (Some(3), Some(5)));
    for _ in 0..3 {
        drop(permitted(&world, &Proposal::of(Action::ReadDom {}).within(&id)));
    }
    let refusal = refused(&world, &Proposal::of(Action::ReadDom {}).within(&id));
    is_told(&world, &refusal, "steps", 3, Some(3));
}

#[test]
fn an_error_on_record_has_name_and_message_without_secrets() {
    let world = world();
    let secret = ["postgres://ann:", "hunter22", "@db/app"].concat();
    let report = |error: ReportedError| {
        let permit = permitted(&world, &shell(SAFE));
        let outcome = Outcome::Failed;
        let report = world.gate.report(&world.agent, permit.id(), None, outcome, Some(&error));
        block_on(report).unwrap();
        last(&world, "error")
    };
    let error = report("TypeError: x is undefined".into());
    assert_eq!(
        (&error["name"], &error["message"]),
        (&json!("TypeError"), &json!("x is undefined"))
    );
    let error = report("it broke: badly".into());
    assert_eq!((&error["name"], &error["message"]), (&json!("Error"), &json!("it broke: badly")));
    let error = report(ReportedError {
        name: "TimeoutError".into(),
        message: format!("cannot reach {secret}"),
        stack: Some(format!("at connect (db.js:7)\n{secret}")),
    });
    assert_eq!(error["name"], "TimeoutError");
    assert!(error["stack"].as_str().unwrap().contains("db.js:7"));
    assert!(!error.to_string().contains("hunter22"), "{error}");
}

#[test]
fn a_critical_point_on_record_has_its_category_and_context() {
    let world = world();
    let mut proposal = shell(RISKY);
    proposal.context.cwd = Some("/work/repo".into());
    drop(world.ask(&proposal));
    let point = last(&world, "critical_point");
    assert!(point["category"].is_string(), "{point}");
    let context = &point["context"];
    assert_eq!((&context["action"], &context["folder"]), (&json!("shell"), &json!("/work/repo")));
    assert!(context["reason"].is_null(), "it quotes the action: only enhanced records have it");
    assert!(!context["rules"].as_array().unwrap().is_empty());
}

#[test]
fn a_sign_in_without_a_credential_is_refused() {
    let world = world();
    let login = |site: &str| Proposal::of(Action::Login { site: site.into() });
    assert_eq!(refused(&world, &login("https://shop.example")).why, Why::NoCredential);
    let bare = session(&world, Limits::default());
    assert_eq!(
        refused(&world, &login("https://shop.example").within(&bare)).why,
        Why::NoCredential
    );
    let credential = serde_json::from_value(json!({"user": "ann", "password": "x".repeat(9)}));
    let given =
        SiteCredential { site: "https://shop.example".into(), credential: credential.unwrap() };
    let caller = world.assistant();
    let started = world.gate.start(&caller, Plan::default(), Consent::Given, vec![given]);
    let id = block_on(started).unwrap().id;
    assert!(!matches!(
        world.submit(&login("https://shop.example").within(&id)),
        Submitted::Refused(_)
    ));
    assert_eq!(refused(&world, &login("https://other.example").within(&id)).why, Why::NoCredential);
}

#[test]
fn answers_to_another_agent_say_nothing_about_this_one() {
    let world = world();
    let other = world.key(&world.owner, Access::Agent, "*");
    let risk = |caller, command: &str| match block_on(world.gate.submit(caller, &shell(command)))
        .unwrap()
    {
        Submitted::Waiting(waiting) => (waiting.approval, waiting.judgement),
        other => panic!("not asked about: {other:?}"),
    };
    let (_, before) = risk(&other, "git push --force origin a");
    for number in 0..9 {
        let (approval, _) = risk(&world.agent, &format!("git push --force origin b{number}"));
        world.say(&approval, Answer::Reject);
    }
    let (_, told_no) = risk(&world.agent, "git push --force origin c");
    let (_, after) = risk(&other, "git push --force origin d");
    assert_eq!(before.risk, after.risk);
    assert!(told_no.risk.score > after.risk.score);
    let factor = told_no.risk.factors.iter().find(|factor| factor.name == "history").unwrap();
    assert!(factor.why.contains("told no 9 times"), "{}", factor.why);
    assert!(after.risk.factors.iter().all(|factor| factor.name != "history"));
    assert_eq!(told_no.verdict, Verdict::Confirm);
}

#[test]
fn a_block_is_about_origins_for_what_it_found_and_not_for_its_name() {
    let rules = r#"rules: {push-to-origin: {
        title: Pushes, program: git, args: [push], risk: high, verdict: block,
        category: destructive_actions, hits: ["git push"], misses: ["git fetch"]}}"#;
    let user = Source { name: "user.yaml".into(), text: rules.into() };
    let policy = Policy::load(&Sources { user: Some(user), ..Sources::default() }).unwrap();
    let world = World::new(Setup { policy, ..Setup::default() });
    let named = refused(&world, &shell("git push upstream fix"));
    assert!(named.judgement.unwrap().findings[0].rule.contains("origin"));
    assert_eq!(named.why, Why::Blocked);

    let origins = Some(vec!["example.com".to_owned()]);
    let id = world.session(Plan { allowed_origins: origins, ..Plan::default() });
    let elsewhere = Action::Navigate { url: "https://example.org/".into() };
    let elsewhere = refused(&world, &Proposal::of(elsewhere).within(&id));
    assert_eq!(elsewhere.why, Why::Violation(Violation::BlockedOrigin));
}

#[test]
fn a_report_about_an_action_that_is_not_stored_says_so_on_record() {
    let world = world();
    let unknown = ActionId::draw(&*world.clock).unwrap();
    let report = world.gate.report(&world.agent, &unknown, None, Outcome::Done, None);
    block_on(report).unwrap();
    assert_eq!(last(&world, "action_executed")["unchecked"], true);

    let asked = shell(RISKY);
    let approval = world.ask(&asked);
    world.say(&approval, Answer::Approve);
    let permit = world.spend(&approval, &asked).unwrap();
    block_on(world.gate.report(&world.agent, permit.id(), None, Outcome::Done, None)).unwrap();
    assert_eq!(last(&world, "action_executed")["unchecked"], Value::Null);
}
