//! Sessions: their limits, the effect of reaching one, and their ends.

use std::collections::BTreeMap;

use countersign_core::Action;
use countersign_core::action::DownloadFile;
use countersign_core::context::Mode;
use countersign_core::policy::profile::Limits;
use countersign_core::policy::{AppChoice, SkillChoice, SkillChoices};
use countersign_gate::approval::{Answer, Outcome};
use countersign_gate::event::What;
use countersign_gate::gate::{AnswerError, Consent, PeopleError, SiteCredential, StartError};
use countersign_gate::id::{ActionId, SessionId, WorkspaceId};
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::process::Process;
use countersign_gate::proposal::{Refusal, Why};
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_gate::session::{End, Plan, Session, SessionState, Violation};
use countersign_gate::user::Membership;
use countersign_gate::vault::Credential;
use countersign_gate::{Config, Proposal, Submitted};
use pollster::block_on;
use serde_json::{Value, json};

use crate::world::{HARD, RISKY, SAFE, Setup, World, shell, world};

fn plan(profile: &str) -> Plan {
    Plan { profile: Some(profile.into()), ..Plan::default() }
}

fn session(world: &World, id: &SessionId) -> Session {
    block_on(world.gate.session(&world.owner, id)).unwrap()
}

fn ended(world: &World, id: &SessionId) -> Option<End> {
    match session(world, id).state {
        SessionState::Ended { reason, .. } => Some(reason),
        SessionState::Active | SessionState::Paused { .. } => None,
    }
}

fn start(world: &World, plan: Plan) -> Result<SessionId, StartError> {
    let caller = world.assistant();
    let started = world.gate.start(&caller, plan, Consent::Given, Vec::new());
    block_on(started).map(|session| session.id)
}

fn refused(world: &World, proposal: &Proposal) -> Box<Refusal> {
    match world.submit(proposal) {
        Submitted::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn is_permitted(world: &World, proposal: &Proposal) -> bool {
    matches!(world.submit(proposal), Submitted::Permitted(..))
}

fn look(session: &SessionId) -> Proposal {
    Proposal::of(Action::ReadDom {}).within(session)
}

fn download(files: usize) -> Action {
    let file = |number| DownloadFile {
        url: format!("https://files.example/{number}.pdf"),
        name: None,
        bytes: Some(1),
    };
    Action::Download { files: (0..files).map(file).collect() }
}

fn skill(id: &str) -> Action {
    Action::Skill { skill: id.into(), params: BTreeMap::new() }
}

/// The last violation on record: timestamp, type, message, details.
fn violation(world: &World) -> Value {
    let records = world.records();
    let record = records.iter().rfind(|record| record.event == "violation").unwrap();
    assert_eq!(record.at, world.gate.now());
    let content = record.content.as_ref().unwrap();
    assert_eq!(content.record_owner.owner.as_deref(), Some(world.user().as_str()));
    let payload: Value = serde_json::from_str(&content.payload).unwrap();
    let names: Vec<_> = payload.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["details", "message", "type"]);
    assert!(!payload["message"].as_str().unwrap().is_empty());
    // A session times out independently of any proposal.
    assert!(payload["type"] == "timeout" || payload["details"]["action"].is_string());
    payload
}

fn last_end(world: &World) -> Value {
    world.recorded("session_end").pop().unwrap()
}

#[test]
fn exploring_takes_50_steps_and_working_200() {
    for (mode, most) in [(Mode::Explore, 50), (Mode::Task, 200)] {
        let world = world();
        let id = world.session(Plan { mode: Some(mode), ..plan("browser-agent") });
        for step in 0..most {
            assert!(is_permitted(&world, &look(&id)), "{mode:?}: step {step}");
        }
        let refusal = refused(&world, &look(&id));
        assert_eq!(refusal.why, Why::Violation(Violation::MaxSteps));
        assert_eq!(violation(&world)["type"], "max_steps");
        assert_eq!(ended(&world, &id), Some(End::MaxSteps));
        let end = last_end(&world);
        assert_eq!((&end["outcome"], &end["steps"]), (&json!("max_steps"), &json!(most)));
        assert_eq!(refused(&world, &look(&id)).why, Why::Ended(End::MaxSteps));
    }
}

#[test]
fn exploring_does_not_let_an_agent_change_what_mode_it_is_in() {
    let world = world();
    let id = world.session(Plan { mode: Some(Mode::Explore), ..plan("browser-agent") });
    let mut proposal = Proposal::of(download(1)).within(&id);
    proposal.context.mode = Some(Mode::Task);
    proposal.context.profile = Some("coding-agent".into());
    assert_eq!(refused(&world, &proposal).why, Why::Blocked);
}

#[test]
fn thirty_actions_a_minute_and_then_it_waits_and_goes_on() {
    let world = world();
    let id = world.session(plan("computer-use"));
    for _ in 0..30 {
        assert!(is_permitted(&world, &look(&id)));
    }
    let refusal = refused(&world, &look(&id));
    assert_eq!(refusal.why, Why::Violation(Violation::RateLimit));
    let wait = refusal.retry_after.unwrap();
    assert!((1..=60).contains(&wait.as_secs()), "{wait:?}");
    assert_eq!(violation(&world)["type"], "rate_limit");
    world.clock.pass(wait);
    assert!(is_permitted(&world, &look(&id)), "the session goes on");
}

#[test]
fn fifty_steps_in_all_and_refused_ones_count() {
    let world = world();
    let id = world.session(plan("computer-use"));
    for _ in 0..25 {
        assert!(is_permitted(&world, &look(&id)));
        assert_eq!(refused(&world, &shell(HARD).within(&id)).why, Why::Blocked);
    }
    world.pass(60);
    assert_eq!(refused(&world, &look(&id)).why, Why::Violation(Violation::MaxSteps));
    assert_eq!(ended(&world, &id), Some(End::MaxSteps));
}

#[test]
fn what_is_blocked_is_skipped_and_the_session_goes_on() {
    let world = world();
    let id = world.session(Plan {
        allowed_origins: Some(vec!["shop.example".into()]),
        ..plan("computer-use")
    });
    assert_eq!(refused(&world, &shell(HARD).within(&id)).why, Why::Blocked);
    assert_eq!(violation(&world)["type"], "blocked_action");
    let away = Action::Navigate { url: "https://elsewhere.example/".into() };
    let refusal = refused(&world, &Proposal::of(away).within(&id));
    assert_eq!(refusal.why, Why::Violation(Violation::BlockedOrigin));
    let told = violation(&world);
    assert_eq!(
        (&told["type"], &told["details"]["action"]),
        (&json!("blocked_origin"), &json!("navigate"))
    );
    assert!(is_permitted(&world, &look(&id)));
}

#[test]
fn screenshots_and_files_are_counted_and_the_session_goes_on() {
    let world = world();
    let limits = Limits { screenshots: Some(3), files: Some(5), ..Limits::default() };
    let id = world.session(Plan { limits, mode: Some(Mode::Task), ..plan("browser-agent") });
    let shot = || Proposal::of(Action::Screenshot {}).within(&id);
    for _ in 0..3 {
        assert!(is_permitted(&world, &shot()));
    }
    assert_eq!(refused(&world, &shot()).why, Why::Violation(Violation::MaxScreenshots));
    assert_eq!(violation(&world)["type"], "max_screenshots");
    assert!(is_permitted(&world, &Proposal::of(download(4)).within(&id)));
    let refusal = refused(&world, &Proposal::of(download(2)).within(&id));
    assert_eq!(refusal.why, Why::Violation(Violation::MaxFiles));
    assert_eq!(violation(&world)["type"], "max_files");
    assert!(is_permitted(&world, &Proposal::of(download(1)).within(&id)), "one is left");
    assert!(is_permitted(&world, &look(&id)));
}

#[test]
fn the_profiles_have_the_limits_that_were_promised() {
    let world = world();
    let limits = |profile| session(&world, &world.session(plan(profile))).limits;
    let browser = limits("browser-agent");
    assert_eq!((browser.screenshots, browser.files), (Some(100), Some(1_000)));
    assert_eq!((browser.step_seconds, browser.download_seconds), (Some(60), Some(300)));
    let engine = limits("computer-use");
    assert_eq!((engine.steps, engine.step_seconds), (Some(50), Some(30)));
    assert_eq!((engine.session_seconds, engine.actions_per_minute), (Some(600), Some(30)));
    assert_eq!((engine.sessions_per_hour, engine.errors), (Some(10), Some(5)));
}

#[test]
fn ten_minutes_and_it_is_over() {
    let world = world();
    let id = world.session(plan("computer-use"));
    let approval = world.ask(&shell(RISKY).within(&id));
    world.say(&approval, Answer::Approve);
    world.pass(599);
    assert!(is_permitted(&world, &look(&id)));
    world.pass(1);
    let spent = world.spend(&approval, &shell(RISKY)).unwrap_err();
    assert!(spent.contains("session") || spent.contains("expired"), "{spent}");
    assert_eq!(refused(&world, &look(&id)).why, Why::Violation(Violation::Timeout));
    assert_eq!(violation(&world)["type"], "timeout");
    assert_eq!(ended(&world, &id), Some(End::Timeout));
    let end = last_end(&world);
    assert_eq!((&end["outcome"], &end["duration_seconds"]), (&json!("timeout"), &json!(600)));
    // Also without any proposal.
    let quiet = world.session(plan("computer-use"));
    world.pass(600);
    world.sweep();
    assert_eq!(ended(&world, &quiet), Some(End::Timeout));
}

#[test]
fn ten_sessions_an_hour() {
    let world = world();
    for _ in 0..10 {
        let id = start(&world, plan("computer-use")).unwrap();
        block_on(world.gate.complete(&world.agent, &id)).unwrap();
    }
    let Err(StartError::TooMany(wait)) = start(&world, plan("computer-use")) else { panic!() };
    world.clock.pass(wait);
    assert!(start(&world, plan("computer-use")).is_ok());
}

#[test]
fn a_session_begins_only_when_everything_is_in_order() {
    let world = world();
    let caller = world.assistant();
    let begin = |plan, consent| block_on(world.gate.start(&caller, plan, consent, Vec::new()));
    let missing = begin(plan("computer-use"), Consent::Missing);
    assert!(matches!(missing, Err(StartError::NoConsent)));
    let unknown = begin(plan("unheard-of"), Consent::Given);
    assert!(matches!(unknown, Err(StartError::Profile(name)) if name == "unheard-of"));
    // A workspace that does not exist, although a user belongs to it by id.
    let nowhere = WorkspaceId::from_bytes([4; 16]);
    let eve = world.person_in("Eve", &nowhere, Membership::Member);
    let caller = eve.assistant(&nowhere).unwrap();
    let started = world.gate.start(&caller, Plan::default(), Consent::Given, Vec::new());
    assert!(matches!(block_on(started), Err(StartError::Workspace)));
    // A credential for a site that is not a web address.
    let credential = Credential::new([("password", "x")]).unwrap();
    let credentials = vec![SiteCredential { site: "bank".into(), credential }];
    let assistant = world.assistant();
    let started = world.gate.start(&assistant, Plan::default(), Consent::Given, credentials);
    assert!(matches!(block_on(started), Err(StartError::Site(_))));
    assert!(world.recorded("session_start").is_empty());
    let id = begin(plan("computer-use"), Consent::Given).unwrap().id;
    assert_eq!(world.recorded("session_start")[0]["consent"], "given");
    // One at a time, and the next when that has ended.
    assert!(matches!(begin(plan("computer-use"), Consent::Given), Err(StartError::Running)));
    assert!(begin(plan("coding-agent"), Consent::Given).is_ok(), "another kind does not conflict");
    block_on(world.gate.complete(&world.agent, &id)).unwrap();
    assert_eq!(ended(&world, &id), Some(End::Completed));
    assert!(begin(plan("computer-use"), Consent::Given).is_ok());
}

#[test]
fn a_session_may_ask_for_less_than_its_profile_gives_and_not_for_more() {
    let world = world();
    let limits = Limits { steps: Some(2), session_seconds: Some(9_999), ..Limits::default() };
    let id = world.session(Plan { limits, ..plan("computer-use") });
    let begun = session(&world, &id);
    assert_eq!((begun.limits.steps, begun.limits.session_seconds), (Some(2), Some(600)));
}

#[test]
fn five_errors_end_it() {
    let world = world();
    let id = world.session(plan("computer-use"));
    let fail = |action: &ActionId| {
        let error = "no such button".into();
        let report =
            world.gate.report(&world.agent, action, Some(&id), Outcome::Failed, Some(&error));
        block_on(report).unwrap();
    };
    for number in 1..=5 {
        assert_eq!(ended(&world, &id), None, "after {} errors", number - 1);
        let Submitted::Permitted(permit, _) = world.submit(&look(&id)) else { panic!() };
        fail(permit.id());
    }
    assert_eq!(ended(&world, &id), Some(End::Errors));
    assert_eq!(last_end(&world)["outcome"], "errors");
    assert_eq!(world.recorded("error").len(), 5);
    assert_eq!(world.recorded("error")[0]["message"], "no such button");
}

#[test]
fn a_flood_of_questions_pauses_it_until_a_person_says_go_on() {
    let config = Config { prompts: Rate { uses: 3, seconds: 300 }, ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let id = world.session(Plan::default());
    let mut events = world.gate.subscribe();
    let ask = |number| shell(&format!("git push --force origin b{number}")).within(&id);
    let asked: Vec<_> = (0..3).map(|number| world.ask(&ask(number))).collect();
    let refusal = refused(&world, &ask(3));
    assert_eq!(refusal.why, Why::Violation(Violation::PromptFlood));
    assert!(refusal.retry_after.is_some());
    assert_eq!(violation(&world)["type"], "prompt_flood");
    assert!(matches!(session(&world, &id).state, SessionState::Paused { .. }));
    // Nothing is allowed in it, and approved actions wait.
    assert_eq!(refused(&world, &shell(SAFE).within(&id)).why, Why::Paused);
    world.say(&asked[0], Answer::Approve);
    assert!(world.spend(&asked[0], &ask(0)).unwrap_err().contains("session"));
    let bob = world.person("Bob", Membership::Member);
    assert!(block_on(world.gate.resume_session(&bob, &id)).is_err());
    block_on(world.gate.resume_session(&world.owner, &id)).unwrap();
    assert!(is_permitted(&world, &shell(SAFE).within(&id)));
    assert!(world.spend(&asked[0], &ask(0)).is_ok());
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        told.push(event.what.clone());
    }
    assert!(told.contains(&What::SessionPaused) && told.contains(&What::SessionResumed));
    // Another session has a budget of its own.
    let other = world.session(Plan::default());
    world.ask(&shell("git push --force origin elsewhere").within(&other));
}

#[test]
fn stopping_one_cancels_what_waits_in_it_and_nothing_else() {
    let world = world();
    let [one, two] = [Plan::default(), Plan::default()].map(|plan| world.session(plan));
    let [waiting, agreed, other] = [(&one, "a"), (&one, "b"), (&two, "c")].map(|(id, branch)| {
        world.ask(&shell(&format!("git push --force origin {branch}")).within(id))
    });
    world.say(&agreed, Answer::Approve);
    let bob = world.person("Bob", Membership::Member);
    let refused_to_bob = block_on(world.gate.stop(&bob, &one)).unwrap_err();
    assert!(matches!(refused_to_bob, PeopleError::NotFound));
    block_on(world.gate.stop(&world.owner, &one)).unwrap();
    assert_eq!(ended(&world, &one), Some(End::Stopped));
    let states = [&waiting, &agreed, &other].map(|approval| world.state(approval));
    assert_eq!(states, ["cancelled", "cancelled", "pending"]);
    assert_eq!(refused(&world, &shell(SAFE).within(&one)).why, Why::Ended(End::Stopped));
    assert!(is_permitted(&world, &shell(SAFE).within(&two)));
    // Stopping it again changes nothing, and it cannot be resumed.
    block_on(world.gate.stop(&world.owner, &one)).unwrap();
    block_on(world.gate.resume_session(&world.owner, &one)).unwrap();
    assert_eq!(world.recorded("session_end").len(), 1);
    assert_eq!(ended(&world, &one), Some(End::Stopped));
}

#[test]
fn stopping_all_stops_what_a_person_looks_after() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let admin = world.person("Ada", Membership::Admin);
    let bobs = {
        let caller = bob.assistant(&world.workspace).unwrap();
        let started = world.gate.start(&caller, Plan::default(), Consent::Given, Vec::new());
        block_on(started).unwrap().id
    };
    let mine = world.session(Plan::default());
    assert_eq!(block_on(world.gate.stop_all(&bob)).unwrap(), 1);
    assert_eq!((ended(&world, &bobs), ended(&world, &mine)), (Some(End::Stopped), None));
    assert_eq!(block_on(world.gate.stop_all(&admin)).unwrap(), 1);
    assert_eq!(ended(&world, &mine), Some(End::Stopped));
    assert_eq!(block_on(world.gate.stop_all(&world.owner)).unwrap(), 0);
}

#[test]
fn the_kill_switch_stops_everything_at_once_and_only_a_super_admin_lets_it_go_on() {
    let world = world();
    let id = world.session(Plan::default());
    let [waiting, agreed] = ["a", "b"]
        .map(|branch| world.ask(&shell(&format!("git push --force origin {branch}")).within(&id)));
    world.say(&agreed, Answer::Approve);
    let bob = world.person("Bob", Membership::Admin);
    block_on(world.gate.halt(&bob)).unwrap();
    assert!(block_on(world.gate.is_halted()).unwrap());
    assert_eq!(refused(&world, &shell(SAFE)).why, Why::Halted);
    assert_eq!(refused(&world, &shell(SAFE).within(&id)).why, Why::Halted);
    assert!(matches!(start(&world, Plan::default()), Err(StartError::Halted)));
    let states = [&waiting, &agreed].map(|approval| world.state(approval));
    assert_eq!(states, ["cancelled", "cancelled"]);
    let late = world.say_as(&world.owner, &waiting, Answer::Approve).unwrap_err();
    assert!(matches!(late, AnswerError::Halted), "{late}");
    assert_eq!(world.recorded("halted")[0]["by"], bob.user().id.as_str());
    assert!(matches!(block_on(world.gate.resume(&bob)), Err(PeopleError::NotAllowed)));
    block_on(world.gate.resume(&world.owner)).unwrap();
    assert!(is_permitted(&world, &shell(SAFE).within(&id)));
    assert_eq!(world.recorded("resumed").len(), 1);
}

#[test]
fn the_kill_switch_holds_through_a_restart() {
    let setup = Setup { on_disk: true, ..Setup::default() };
    let world = World::new(setup.clone());
    block_on(world.gate.halt(&world.owner)).unwrap();
    let world = world.restart(setup);
    assert_eq!(refused(&world, &shell(SAFE)).why, Why::Halted);
}

#[test]
fn what_is_disabled_by_configuration_starts_halted_and_cancels_what_waits() {
    let setup = Setup { on_disk: true, ..Setup::default() };
    let world = World::new(setup.clone());
    let approval = world.ask(&shell(RISKY));
    let config = Config { enabled: false, ..Config::default() };
    let world = world.restart(Setup { config, ..setup });
    assert!(block_on(world.gate.is_halted()).unwrap());
    assert_eq!(refused(&world, &shell(SAFE)).why, Why::Halted);
    assert!(matches!(start(&world, Plan::default()), Err(StartError::Halted)));
    assert_eq!(world.state(&approval), "cancelled");
}

#[test]
fn after_a_restart_only_what_can_go_on_goes_on() {
    let setup = Setup { on_disk: true, ..Setup::default() };
    let world = World::new(setup.clone());
    let [alive, dead] = [10, 20].map(|pid| Process { pid, started: 5 });
    for process in [alive, dead] {
        world.processes.start(process, 1, 1_000);
    }
    let process = |process| Plan { process: Some(process), ..Plan::default() };
    let goes_on = world.session(process(alive));
    let unknown = world.session(Plan::default());
    let died = world.session(process(dead));
    let credential = Credential::new([("password", "x")]).unwrap();
    let credentials = vec![SiteCredential { site: "https://bank.example".into(), credential }];
    let assistant = world.assistant();
    let started = world.gate.start(&assistant, Plan::default(), Consent::Given, credentials);
    let signed_in = block_on(started).unwrap().id;
    let sessions = [&goes_on, &unknown, &died, &signed_in];
    let approvals = sessions.map(|id| world.ask(&shell(RISKY).within(id)));
    world.processes.end(20);
    let world = world.restart(setup);
    let ends = [&goes_on, &unknown, &died, &signed_in].map(|id| ended(&world, id));
    assert_eq!(ends, [None, None, Some(End::ProcessGone), Some(End::CredentialsGone)]);
    let states = [0, 1, 2, 3].map(|at: usize| world.state(&approvals[at]));
    assert_eq!(states, ["pending", "pending", "cancelled", "cancelled"]);
    assert!(is_permitted(&world, &shell(SAFE).within(&goes_on)));
    assert!(world.gate.vault().fields(&signed_in, "https://bank.example").is_empty());
    world.verify();
}

#[test]
fn an_agent_that_dies_while_we_run_is_noticed() {
    let world = world();
    let process = Process { pid: 10, started: 5 };
    world.processes.start(process, 1, 1_000);
    let id = world.session(Plan { process: Some(process), ..Plan::default() });
    let approval = world.ask(&shell(RISKY).within(&id));
    world.sweep();
    assert_eq!(ended(&world, &id), None);
    // Its process id is given to another process.
    world.processes.start(Process { pid: 10, started: 6 }, 1, 1_000);
    world.sweep();
    assert_eq!(ended(&world, &id), Some(End::ProcessGone));
    assert_eq!(world.state(&approval), "cancelled");
}

#[test]
fn credentials_are_gone_with_the_session() {
    let world = world();
    let site = "https://bank.example/login";
    let credential = Credential::new([("password", "x")]).unwrap();
    let credentials = vec![SiteCredential { site: site.into(), credential }];
    let assistant = world.assistant();
    let started = world.gate.start(&assistant, Plan::default(), Consent::Given, credentials);
    let id = block_on(started).unwrap().id;
    assert_eq!(world.gate.vault().fields(&id, site), ["password"]);
    let other = world.session(Plan::default());
    assert!(world.gate.vault().fields(&other, site).is_empty());
    block_on(world.gate.complete(&world.agent, &id)).unwrap();
    assert!(world.gate.vault().fill(&id, site, "password", str::len).is_none());
}

#[test]
fn auto_confirm_is_on_record_and_never_lifts_what_always_asks() {
    let world = world();
    let id = world.session(Plan { auto_confirm: true, ..Plan::default() });
    assert!(is_permitted(&world, &shell(RISKY).within(&id)));
    assert_eq!(world.recorded("action_planned")[0]["status"], "auto_confirmed");
    assert_eq!(world.recorded("session_start")[0]["auto_confirm"], true);
    assert!(is_permitted(&world, &shell(SAFE).within(&id)));
    assert_eq!(world.recorded("action_planned")[1]["status"], "allowed");
    assert_eq!(refused(&world, &shell(HARD).within(&id)).why, Why::Blocked);
    // Outside of that session a person is asked as before.
    world.ask(&shell(RISKY));
}

#[test]
fn autonomous_mode_confirms_everything_but_what_always_asks_and_can_be_switched_at_once() {
    let world = world();
    let id = world.session(plan("assistant"));
    let send = || Proposal::of(skill("email.send")).within(&id);
    let pay = || Proposal::of(skill("payments.send")).within(&id);
    let off = world.ask(&send());
    world.say(&off, Answer::Reject);
    let always = SkillChoice { confirm: None, always: true };
    let skills = [("payments.send".to_owned(), always)].into();
    let choices = SkillChoices { skills, apps: BTreeMap::new() };
    let set = |autonomous| {
        let change = world.gate.change_settings(&world.owner, |settings| {
            settings.autonomous = autonomous;
            settings.skills = choices.clone();
        });
        block_on(change).unwrap();
    };
    set(true);
    assert!(is_permitted(&world, &send()));
    assert_eq!(world.recorded("action_planned").last().unwrap()["status"], "auto_confirmed");
    let asked = world.ask(&pay());
    world.say(&asked, Answer::Reject);
    assert_eq!(refused(&world, &shell(HARD).within(&id)).why, Why::Blocked);
    assert_eq!(world.recorded("settings_changed")[0]["autonomous"], true);
    set(false);
    let fresh = world.session(plan("assistant"));
    world.ask(&Proposal::of(skill("email.send")).within(&fresh));
}

#[test]
fn a_person_chooses_per_app_and_per_skill() {
    let world = world();
    let id = world.session(plan("assistant"));
    let ask = |id_of_skill| world.submit(&Proposal::of(skill(id_of_skill)).within(&id));
    let is_asked = |submitted| matches!(submitted, Submitted::Waiting(_));
    let choices = SkillChoices {
        apps: [("email".to_owned(), AppChoice { confirm: Some(false) })].into(),
        skills: [
            ("email.delete".to_owned(), SkillChoice { confirm: Some(true), always: false }),
            ("email.search".to_owned(), SkillChoice { confirm: Some(true), always: false }),
        ]
        .into(),
    };
    assert!(is_asked(ask("email.send")) && !is_asked(ask("email.search")));
    let change = world.gate.change_settings(&world.owner, |settings| {
        settings.skills = choices.clone();
    });
    block_on(change).unwrap();
    assert!(!is_asked(ask("email.send")), "the app does not ask");
    assert!(is_asked(ask("email.delete")), "this skill does");
    assert!(is_asked(ask("email.search")), "also where nobody would");
    assert!(is_asked(ask("payments.send")), "another app is another app");
    // One person's choices do not affect others.
    let bob = world.person("Bob", Membership::Member);
    let caller = world.key(&bob, Access::Agent, "*");
    let theirs = block_on(world.gate.submit(&caller, &Proposal::of(skill("email.send")))).unwrap();
    assert!(is_asked(theirs));
}

#[test]
fn a_session_opens_no_origin_that_no_session_may() {
    let allowed_origins = Some(vec!["https://a.example".to_owned(), "localhost".to_owned()]);
    let config = Config { allowed_origins: allowed_origins.clone(), ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let start = |origins: Option<&[&str]>| {
        let named = origins.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
        let plan = Plan { allowed_origins: named, ..Plan::default() };
        block_on(world.gate.start(&world.assistant(), plan, Consent::Given, Vec::new()))
    };
    assert_eq!(start(None).unwrap().plan.allowed_origins, allowed_origins);
    assert_eq!(start(Some(&["localhost"])).unwrap().plan.allowed_origins.unwrap(), ["localhost"]);
    let error = start(Some(&["localhost", "https://evil.example"])).unwrap_err();
    assert_eq!(error.to_string(), "`https://evil.example` is not among the allowed origins");
}

#[test]
fn a_timeout_that_was_set_holds_in_place_of_the_profiles() {
    let config = Config { approval_timeout: Some(7), ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let approval = world.ask(&shell(RISKY));
    world.pass(7);
    world.sweep();
    assert_eq!(world.state(&approval), "expired");
}

#[test]
fn an_agent_cannot_choose_for_itself_what_asks_less() {
    let world = world();
    let program = world.key(&world.owner, Access::Program, "sessions.consent");
    let assistant = world.assistant();
    let start = |caller, plan| block_on(world.gate.start(caller, plan, Consent::Given, Vec::new()));
    let relaxed = || Plan { auto_confirm: true, ..Plan::default() };
    for (plan, what) in [(relaxed(), "auto_confirm"), (plan("assistant"), "profile")] {
        let error = start(&world.agent, plan.clone()).unwrap_err();
        assert!(matches!(error, StartError::NotForAgents(named) if named == what), "{error}");
        assert!(start(&assistant, plan.clone()).is_ok());
        assert!(start(&program, plan).is_ok());
    }
}

/// Only a person, or a program made for it, may consent and hand credentials over.
#[test]
fn only_a_person_and_a_program_made_for_it_agree_and_hand_credentials_over() {
    let world = world();
    let site = || SiteCredential {
        site: "https://bank.example".into(),
        credential: Credential::new([("password", "x")]).unwrap(),
    };
    let key = |access, scope| world.key(&world.owner, access, scope);
    let callers = [
        ("a person's assistant", world.assistant(), None),
        ("a program made for it", key(Access::Program, "sessions.consent"), None),
        ("a program for everything", key(Access::Program, "*"), Some("sessions.consent")),
        ("a model's key for everything", key(Access::Agent, "*"), Some("consent")),
    ];
    for (who, caller, refused) in callers {
        for credentials in [vec![], vec![site()]] {
            let with = credentials.len();
            let started = world.gate.start(&caller, Plan::default(), Consent::Given, credentials);
            match (block_on(started), refused) {
                (Ok(session), None) => assert_eq!(session.has_credentials, with > 0, "{who}"),
                (Err(error), Some(named)) => {
                    let named = if with > 0 && named == "consent" { "credentials" } else { named };
                    assert!(error.to_string().contains(named), "{who} {with}: {error}");
                }
                (other, _) => panic!("{who} {with}: {other:?}"),
            }
        }
    }
    // And a model's key cannot be made for it.
    let new = NewKey {
        name: "agent".into(),
        workspace: world.workspace.clone(),
        scopes: vec![Scope::parse("sessions.consent", &[].into()).unwrap()],
        access: Access::Agent,
        devices: Devices::Any,
        writes: Rate::per_minute(10),
        expires_at: None,
    };
    let error = block_on(world.gate.create_key(&world.owner, new)).unwrap_err();
    assert!(matches!(error, PeopleError::NotForModels(_)), "{error}");
}
