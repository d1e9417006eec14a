//! The audit trail: its extent, its readers, and its erasure.

use std::collections::BTreeSet;

use countersign_core::Action;
use countersign_gate::approval::{Answer, Outcome};
use countersign_gate::audit::Record;
use countersign_gate::gate::{Consent, PersonAnswer, ReadError};
use countersign_gate::id::WorkspaceId;
use countersign_gate::key::Access;
use countersign_gate::preferences::Logging;
use countersign_gate::session::Plan;
use countersign_gate::store::RecordQuery;
use countersign_gate::user::Membership;
use countersign_gate::{Config, Person, Proposal, Submitted};
use pollster::block_on;
use serde_json::{Value, json};

use crate::world::{HARD, RISKY, SAFE, Setup, World, shell, world};

const DAY: u64 = 86_400;

fn enhance(world: &World, person: &Person) {
    let change =
        world.gate.change_settings(person, |settings| settings.logging = Logging::Enhanced);
    block_on(change).unwrap();
}

fn names(payload: &Value) -> BTreeSet<&str> {
    payload.as_object().unwrap().keys().map(String::as_str).collect()
}

fn read(world: &World, person: &Person, query: &RecordQuery) -> Result<Vec<Record>, ReadError> {
    block_on(world.gate.records(person, query))
}

fn of_owner(person: &Person) -> RecordQuery {
    RecordQuery { owner: Some(person.user().id.to_string()), ..RecordQuery::default() }
}

fn of_workspace(workspace: &WorkspaceId) -> RecordQuery {
    RecordQuery { workspace: Some(workspace.to_string()), ..RecordQuery::default() }
}

/// One of every action that an agent and a person do in a session.
fn work(world: &World) {
    let task = Some("tidy up".to_owned());
    let flow = Some("cleanup".to_owned());
    let session = world.session(Plan { task, flow, ..Plan::default() });
    let mut proposal = shell("git push --force origin marker-branch").within(&session);
    proposal.reasoning = Some("because of marker-reason".into());
    let approval = world.ask(&proposal.clone());
    let feedback = Some("marker-note".to_owned());
    let reply = PersonAnswer { feedback, ..PersonAnswer::plain(approval.clone(), Answer::Approve) };
    block_on(world.gate.answer(&world.owner, reply)).unwrap();
    let permit = world.spend(&approval, &proposal).unwrap();
    let error = "the remote said marker-error".into();
    let report = world.gate.report(&world.agent, permit.id(), None, Outcome::Failed, Some(&error));
    block_on(report).unwrap();
    drop(world.submit(&shell(HARD).within(&session)));
    block_on(world.gate.complete(&world.agent, &session)).unwrap();
}

#[test]
fn the_eight_events_are_on_record_with_their_data() {
    let world = world();
    enhance(&world, &world.owner);
    work(&world);
    let one = |event: &str| {
        let records = world.recorded(event);
        assert!(!records.is_empty(), "{event}");
        records
    };
    for (event, wanted) in [
        ("session_start", vec!["profile", "mode", "auto_confirm", "flow_type", "task", "consent"]),
        (
            "action_planned",
            vec!["action", "target", "reasoning", "verdict", "risk", "reason", "rules", "status"],
        ),
        ("critical_point", vec!["approval", "category", "risk"]),
        ("approval", vec!["approval", "response", "by", "device", "scope", "note", "state"]),
        ("action_executed", vec!["id", "status", "key"]),
        ("violation", vec!["type", "message", "details"]),
        ("error", vec!["id", "message"]),
        ("session_end", vec!["status", "outcome", "duration_seconds", "steps"]),
    ] {
        let records = one(event);
        let found = names(&records[0]);
        assert!(wanted.iter().all(|name| found.contains(name)), "{event}: {found:?}");
    }
    let executed = one("action_executed");
    let statuses: Vec<_> = executed.iter().map(|record| record["status"].clone()).collect();
    assert_eq!(statuses, ["started", "failed"]);
    assert_eq!(one("approval")[0]["note"], "marker-note");
    assert_eq!(one("error")[0]["message"], "the remote said marker-error");
    assert_eq!(one("session_end")[0]["outcome"], "completed");
    assert_eq!(one("action_planned")[0]["reasoning"], "because of marker-reason");
    let records = world.records();
    let subjects = records.iter().filter_map(|record| record.content.as_ref());
    let in_session = subjects.filter(|content| content.record_owner.session.is_some()).count();
    assert!(in_session >= 9, "they can be found by their session");
    world.verify();
}

#[test]
fn minimal_logging_keeps_no_parameters() {
    let world = world();
    let change = world.gate.change_settings(&world.owner, |settings| {
        settings.logging = Logging::Minimal;
    });
    block_on(change).unwrap();
    let mut proposal = shell("git push --force origin marker-branch");
    proposal.reasoning = Some("marker-reason".into());
    world.ask(&proposal);
    let params = [("to".to_owned(), json!("marker-recipient"))].into();
    drop(world.submit(&Proposal::of(Action::Skill { skill: "email.send".into(), params })));
    drop(world.submit(&Proposal::of(Action::FileRead { path: "/work/marker-file".into() })));
    for record in world.recorded("action_planned") {
        assert_eq!(names(&record), BTreeSet::from(["action", "id", "key", "status"]));
        assert_eq!(record["key"], world.agent.key_id().unwrap().as_str());
    }
    assert_eq!(world.recorded("action_planned")[1]["action"], "email.send");
    let everything: String = world
        .records()
        .iter()
        .filter_map(|record| record.content.as_ref())
        .map(|content| content.payload.clone())
        .collect();
    assert!(!everything.contains("marker-"), "{everything}");
}

#[test]
fn enhanced_logging_is_asked_for_by_the_user_or_by_whoever_runs_it() {
    let world = world();
    enhance(&world, &world.owner);
    drop(world.submit(&shell("ls marker-folder")));
    let last = world.recorded("action_planned").pop().unwrap();
    assert!(last["target"].to_string().contains("marker-folder"), "{last}");
    // Another user's records stay at that user's logging level.
    let bob = world.person("Bob", Membership::Member);
    let agent = world.key(&bob, Access::Agent, "*");
    drop(block_on(world.gate.submit(&agent, &shell("ls marker-folder"))).unwrap());
    let last = world.recorded("action_planned").pop().unwrap();
    assert!(!last.to_string().contains("marker-folder"), "{last}");
    let config = Config { logging: Logging::Enhanced, ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    drop(world.submit(&shell("ls marker-folder")));
    assert!(world.recorded("action_planned")[0].to_string().contains("marker-folder"));
}

#[test]
fn a_key_reads_the_record_only_where_its_scope_is_named() {
    let world = world();
    let reads = |scope: &str| {
        let program = world.key(&world.owner, Access::Program, scope);
        block_on(world.gate.records_of_caller(&program, &RecordQuery::default()))
    };
    assert!(!reads("audit.read").unwrap().is_empty());
    for other in ["*", "metrics.read", "email.send"] {
        assert!(matches!(reads(other), Err(ReadError::Scope)), "{other}");
    }
    // What a person may read, their own assistant may not.
    let assistant = world.assistant();
    let read = block_on(world.gate.records_of_caller(&assistant, &RecordQuery::default()));
    assert!(matches!(read, Err(ReadError::Scope)));
}

#[test]
fn users_read_their_own_admins_their_workspace_super_admins_all() {
    let world = world();
    let [bob, admin] =
        [Membership::Member, Membership::Admin].map(|role| world.person("Someone", role));
    let elsewhere = WorkspaceId::from_bytes([5; 16]);
    let stranger = world.person_in("Eve", &elsewhere, Membership::Admin);
    work(&world);
    let agent = world.key(&bob, Access::Agent, "*");
    drop(block_on(world.gate.submit(&agent, &shell(SAFE))).unwrap());
    let closed = |person, query: &RecordQuery| {
        matches!(read(&world, person, query), Err(ReadError::NotAllowed))
    };
    // A user's own records.
    let own = read(&world, &bob, &of_owner(&bob)).unwrap();
    let theirs = |record: &Record| {
        let content = record.content.as_ref().unwrap();
        content.record_owner.owner.as_deref() == Some(bob.user().id.as_str())
    };
    assert!(!own.is_empty() && own.iter().all(theirs));
    assert!(closed(&bob, &of_owner(&world.owner)));
    assert!(closed(&bob, &of_workspace(&world.workspace)));
    assert!(closed(&bob, &RecordQuery::default()));
    // The records of a workspace.
    let query = of_workspace(&world.workspace);
    let workspace = read(&world, &admin, &query).unwrap();
    assert!(workspace.iter().any(theirs) && !workspace.iter().all(theirs));
    assert!(closed(&admin, &of_workspace(&elsewhere)) && closed(&stranger, &query));
    assert!(closed(&admin, &RecordQuery::default()) && closed(&admin, &of_owner(&bob)));
    // All records.
    let all = read(&world, &world.owner, &RecordQuery::default()).unwrap();
    assert_eq!(all.len(), world.records().len());
}

#[test]
fn erasure_takes_the_content_and_leaves_the_chain() {
    let world = World::new(Setup { on_disk: true, ..Setup::default() });
    let bob = world.person("Bob", Membership::Member);
    enhance(&world, &world.owner);
    work(&world);
    let agent = world.key(&bob, Access::Agent, "*");
    drop(block_on(world.gate.submit(&agent, &shell(SAFE))).unwrap());
    let refused = block_on(world.gate.erase(&bob, world.user()));
    assert!(matches!(refused, Err(ReadError::NotAllowed)));
    let before = world.records();
    let erased = block_on(world.gate.erase(&world.owner, world.user())).unwrap();
    assert!(erased > 8, "{erased}");
    let after = world.records();
    assert_eq!(after.len(), before.len() + 1);
    let hashes = |records: &[Record]| records.iter().map(|it| it.hash).collect::<Vec<_>>();
    assert_eq!(hashes(&before), hashes(&after[..before.len()]));
    assert_eq!(after.last().unwrap().event, "erased");
    let report = block_on(world.gate.verify()).unwrap();
    assert_eq!((report.damage.as_slice(), report.erased), (&[][..], erased));
    assert!(read(&world, &world.owner, &of_owner(&world.owner)).unwrap().is_empty());
    // Other users keep their records, and the erasure names the person who erased.
    assert!(!read(&world, &bob, &of_owner(&bob)).unwrap().is_empty());
    let last = after.last().unwrap().content.as_ref().unwrap();
    assert_eq!(last.record_owner.owner, None);
    let payload: Value = serde_json::from_str(&last.payload).unwrap();
    assert_eq!(payload["by"], world.user().as_str());
}

#[test]
fn erasure_takes_what_is_over_of_that_user_and_nothing_else() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let agent = world.key(&bob, Access::Agent, "*");
    let started = |caller| {
        let started = world.gate.start(caller, Plan::default(), Consent::Given, Vec::new());
        block_on(started).unwrap().id
    };
    let assistants = [world.assistant(), bob.assistant(&world.workspace).unwrap()];
    let [own, others] = assistants.each_ref().map(started);
    for (assistant, session) in assistants.iter().zip([&own, &others]) {
        block_on(world.gate.complete(assistant, session)).unwrap();
    }
    let theirs = match block_on(world.gate.submit(&agent, &shell(RISKY))).unwrap() {
        Submitted::Waiting(waiting) => waiting.approval,
        other => panic!("{other:?}"),
    };
    world.say_as(&bob, &theirs, Answer::Reject).unwrap();
    let settled = world.ask(&shell(RISKY));
    world.say(&settled, Answer::Reject);
    let waits = world.ask(&shell("git push --force origin other"));
    block_on(world.gate.erase(&world.owner, world.user())).unwrap();
    assert_eq!(world.approvals("rejected"), [theirs], "of others nothing is gone");
    assert_eq!(world.approvals("pending"), [waits], "what is not over goes on");
    assert!(block_on(world.gate.session(&world.owner, &own)).is_err());
    assert!(block_on(world.gate.session(&bob, &others)).is_ok());
    world.verify();
}

#[test]
fn retention_cuts_the_oldest_and_the_rest_verifies() {
    let setup = Setup { on_disk: true, ..Setup::default() };
    let world = World::new(setup.clone());
    work(&world);
    let settled = world.ask(&shell(RISKY));
    world.say(&settled, Answer::Reject);
    let old = world.records().len();
    world.pass(20 * DAY);
    drop(world.submit(&shell(SAFE)));
    block_on(world.gate.retain()).unwrap();
    assert_eq!(world.records().len(), old + 1, "nothing is 30 days old yet");
    world.pass(11 * DAY);
    block_on(world.gate.retain()).unwrap();
    let left = world.records();
    let events: Vec<_> = left.iter().map(|record| record.event.as_str()).collect();
    assert_eq!(events, ["action_planned", "cut"]);
    let report = block_on(world.gate.verify()).unwrap();
    assert_eq!((report.damage.as_slice(), report.cut), (&[][..], old as u64));
    assert!(block_on(world.gate.card(&world.owner, &settled)).is_err(), "it went with the record");
    let world = world.restart(setup);
    drop(world.submit(&shell(SAFE)));
    world.verify();
}

#[test]
fn how_long_records_are_kept_can_be_set() {
    let config = Config { retention_days: 2, ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    work(&world);
    world.pass(3 * DAY);
    // The last record stays until another follows it.
    for _ in 0..2 {
        block_on(world.gate.retain()).unwrap();
    }
    assert!(world.records().iter().all(|record| record.event == "cut"));
    world.verify();
}

#[test]
fn a_user_may_want_their_records_to_fade_sooner() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let agent = world.key(&bob, Access::Agent, "*");
    let settings = |person: &Person, days| {
        let change = world.gate.change_settings(person, move |settings| {
            settings.retention_days = Some(days);
        });
        block_on(change).unwrap();
    };
    settings(&bob, 7);
    // A retention longer than everybody's is ignored.
    settings(&world.owner, 365);
    drop(block_on(world.gate.submit(&agent, &shell(SAFE))).unwrap());
    drop(world.submit(&shell(SAFE)));
    world.pass(8 * DAY);
    drop(block_on(world.gate.submit(&agent, &shell(SAFE))).unwrap());
    let before = world.records().len();
    block_on(world.gate.retain()).unwrap();
    let erasure = 1;
    assert_eq!(world.records().len(), before + erasure, "nothing was cut, only emptied");
    let own = read(&world, &bob, &of_owner(&bob)).unwrap();
    assert_eq!(own.iter().filter(|record| record.event == "action_planned").count(), 1);
    assert!(read(&world, &world.owner, &of_owner(&world.owner)).unwrap().len() > 1);
    world.verify();
    world.pass(23 * DAY);
    block_on(world.gate.retain()).unwrap();
    assert!(read(&world, &world.owner, &of_owner(&world.owner)).unwrap().is_empty());
    world.verify();
}

#[test]
fn every_refusal_of_an_action_is_on_record() {
    let world = world();
    let Submitted::Refused(_) = world.submit(&shell(HARD)) else { panic!() };
    let scoped = world.key(&world.owner, Access::Agent, "email.send");
    drop(block_on(world.gate.submit(&scoped, &shell(SAFE))).unwrap());
    let nowhere = countersign_gate::id::SessionId::from_bytes([1; 16]);
    drop(world.submit(&shell(SAFE).within(&nowhere)));
    block_on(world.gate.halt(&world.owner)).unwrap();
    drop(world.submit(&shell(SAFE)));
    let statuses: Vec<_> =
        world.recorded("action_planned").iter().map(|record| record["status"].clone()).collect();
    assert_eq!(statuses, ["blocked", "refused_scope", "refused_no_session", "refused_halted"]);
}
