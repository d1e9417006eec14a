//! The claim path under every kind of schedule: shuttle may switch threads at each call of the
//! store, so that concurrent operations are tried in their possible orders.
//!
//! All futures here are ready at once: one that had to wait would wait for ever, so it fails the
//! test.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use countersign_core::{Action, Policy};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler};
use shuttle::{Config as Shuttle, Runner, thread};

use super::*;
use crate::approval::{Answer, Outcome, State};
use crate::caller::{Caller, Person};
use crate::clock::Fake;
use crate::id::{ApprovalId, SessionId};
use crate::key::{Access, Devices, NewKey};
use crate::process;
use crate::proposal::{Proposal, Submitted, Why};
use crate::rate::Rate;
use crate::scope::Scope;
use crate::secret::Secret;
use crate::session::Plan;
use crate::store::{self, Query, StoreUrl};

const RISKY: &str = "git push --force origin main";
const SAFE: &str = "ls -la";

/// The number of schedules of each kind that are tried for each race.
const SCHEDULES: usize = 300;

/// Tries a race under random schedules, and under schedules with few, well-placed switches.
fn explore(race: impl Fn() + Send + Sync + 'static) {
    let race = Arc::new(race);
    let again = Arc::clone(&race);
    Runner::new(RandomScheduler::new(SCHEDULES), config()).run(move || race());
    Runner::new(PctScheduler::new(3, SCHEDULES), config()).run(move || again());
}

/// Tries a small race under every schedule, up to a number.
fn exhaust(most: usize, race: impl Fn() + Send + Sync + 'static) {
    Runner::new(DfsScheduler::new(Some(most), false), config()).run(race);
}

fn config() -> Shuttle {
    let mut config = Shuttle::new();
    // Judging and signing need more stack than shuttle's default.
    config.stack_size = 1 << 20;
    config
}

/// The result of a future that does not wait.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("something waits for real"),
    }
}

struct World {
    gate: Gate,
    clock: Arc<Fake>,
    owner: Person,
    agent: Caller,
    /// True once a stop or a halt was confirmed.
    confirmed: AtomicBool,
}

impl World {
    fn new() -> Arc<Self> {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Arc<Self> {
        let keyring = Arc::new(Keyring::from_seed(&[7; 32]));
        let clock = Arc::new(Fake::at(Timestamp(1_767_225_600_000)));
        let gate = ready(Gate::open(Parts {
            store: store::open(&StoreUrl::Memory, Arc::clone(&keyring)).unwrap(),
            keyring,
            clock: clock.clone(),
            processes: Arc::new(process::Fake::default()),
            policy: Policy::default(),
            config,
        }))
        .unwrap();
        let (_, link) = ready(gate.first_start("Ann")).unwrap().unwrap();
        let owner = ready(gate.sign_in(&ready(gate.accept(&link, "laptop")).unwrap())).unwrap();
        let key = NewKey {
            name: "agent".into(),
            workspace: owner.user().workspaces.keys().next().unwrap().clone(),
            scopes: vec![Scope::parse("*", &std::collections::BTreeSet::new()).unwrap()],
            access: Access::Agent,
            devices: Devices::Any,
            writes: Rate::per_minute(100),
            expires_at: None,
        };
        let made = ready(gate.create_key(&owner, key)).unwrap();
        let agent = ready(gate.authenticate(&made.secret, None)).unwrap();
        Arc::new(Self { gate, clock, owner, agent, confirmed: AtomicBool::new(false) })
    }

    fn session(&self) -> SessionId {
        let assistant = self.owner.assistant(self.agent.workspace()).unwrap();
        let started = self.gate.start(&assistant, Plan::default(), Consent::Given, Vec::new());
        ready(started).unwrap().id
    }

    fn submit(&self, command: &str, session: Option<&SessionId>) -> Submitted {
        let mut proposal = shell(command);
        proposal.session = session.cloned();
        ready(self.gate.submit(&self.agent, &proposal)).unwrap()
    }

    fn ask(&self, session: Option<&SessionId>) -> ApprovalId {
        match self.submit(RISKY, session) {
            Submitted::Waiting(waiting) => waiting.approval,
            other => panic!("{other:?}"),
        }
    }

    fn say(&self, approval: &ApprovalId, say: Answer) -> Result<Answered, AnswerError> {
        ready(self.gate.answer(&self.owner, PersonAnswer::plain(approval.clone(), say)))
    }

    fn approved(&self, session: Option<&SessionId>) -> ApprovalId {
        let approval = self.ask(session);
        self.say(&approval, Answer::Approve).unwrap();
        approval
    }

    fn spend(&self, approval: &ApprovalId) -> Result<crate::Permit, SpendError> {
        ready(self.gate.spend(&self.agent, approval, &shell(RISKY)))
    }

    fn state(&self, approval: &ApprovalId) -> State {
        ready(self.gate.card(&self.owner, approval)).unwrap().state
    }

    fn confirm(&self) {
        self.confirmed.store(true, Ordering::SeqCst);
    }

    fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::SeqCst)
    }

    /// Checks the invariants that hold after any race.
    fn check(&self) {
        let pending = Query { states: vec!["pending"], ..Query::of(Kind::Approval) };
        let pending = ready(self.gate.store().count(&pending)).unwrap();
        let key = format!("user:{}:pending", self.owner.user().id);
        assert_eq!(ready(self.gate.store().counter(&key)).unwrap(), pending);
        assert_eq!(ready(self.gate.verify()).unwrap().damage, []);
    }

    fn open_approvals(&self) -> u64 {
        let open = Query { states: vec!["pending", "approved"], ..Query::of(Kind::Approval) };
        ready(self.gate.store().count(&open)).unwrap()
    }
}

fn shell(command: &str) -> Proposal {
    Proposal::of(Action::Shell { command: command.into(), cwd: Some("/work".into()) })
}

/// Runs two functions concurrently.
fn both<A: Send + 'static, B: Send + 'static>(
    one: impl FnOnce() -> A + Send + 'static,
    other: impl FnOnce() -> B + Send + 'static,
) -> (A, B) {
    let (one, other) = (thread::spawn(one), thread::spawn(other));
    (one.join().unwrap(), other.join().unwrap())
}

#[test]
fn of_two_who_spend_one_gets_the_permit() {
    explore(|| {
        let world = World::new();
        let approval = world.approved(None);
        let spend = |world: &Arc<World>| {
            let (world, approval) = (Arc::clone(world), approval.clone());
            move || world.spend(&approval)
        };
        let (one, other) = both(spend(&world), spend(&world));
        let lost = match (one, other) {
            (Ok(_), Err(lost)) | (Err(lost), Ok(_)) => lost,
            both => panic!("{both:?}"),
        };
        assert!(matches!(lost, SpendError::Settled("started")), "{lost}");
        world.check();
    });
}

fn race_of_answers() {
    let world = World::new();
    let approval = world.ask(None);
    let say = |say| {
        let (world, approval) = (Arc::clone(&world), approval.clone());
        move || world.say(&approval, say)
    };
    let (yes, no) = both(say(Answer::Approve), say(Answer::Reject));
    let (won, lost) = match (yes, no) {
        (Ok(Answered::Settled(won)), Err(lost)) | (Err(lost), Ok(Answered::Settled(won))) => {
            (won, lost)
        }
        both => panic!("{both:?}"),
    };
    let state = world.state(&approval);
    assert_eq!(won, state);
    assert!(matches!(lost, AnswerError::Settled(told) if told == state.as_str()), "{lost}");
    world.check();
}

#[test]
fn of_a_yes_and_a_no_one_wins_and_both_are_told_which() {
    explore(race_of_answers);
    exhaust(400, race_of_answers);
}

#[test]
fn an_answer_comes_in_time_or_is_too_late_and_never_both() {
    explore(|| {
        let world = World::new();
        let approval = world.ask(None);
        let (person, sweeper, asked) = (Arc::clone(&world), Arc::clone(&world), approval.clone());
        let expires_at = ready(world.gate.card(&world.owner, &approval)).unwrap().expires_at;
        let (answered, swept) = both(
            move || person.say(&asked, Answer::Approve),
            move || {
                sweeper.clock.set(expires_at);
                ready(sweeper.gate.sweep()).map(drop)
            },
        );
        swept.unwrap();
        match (answered, world.state(&approval)) {
            (Ok(_), State::Approved { decision, .. }) => assert!(decision.at < expires_at),
            (Err(AnswerError::Settled("expired")), State::Expired { .. }) => {}
            both => panic!("{both:?}"),
        }
        world.check();
    });
}

/// Spends while something stops everything, and again afterwards.
fn spend_against(
    approval: &ApprovalId,
    world: &Arc<World>,
    stop: impl FnOnce(&World) + Send + 'static,
) {
    let (spender, stopper, id) = (Arc::clone(world), Arc::clone(world), approval.clone());
    let ((late, spent), ()) = both(
        move || (spender.is_confirmed(), spender.spend(&id)),
        move || {
            stop(&stopper);
            stopper.confirm();
        },
    );
    assert!(!late || spent.is_err(), "spent after the stop was confirmed");
    match (&spent, world.state(approval)) {
        (Ok(_), State::Started { .. }) | (Err(_), State::Cancelled { .. }) => {}
        (_, state) => panic!("{spent:?} {state:?}"),
    }
    assert!(world.spend(approval).is_err());
    assert_eq!(world.open_approvals(), 0);
    world.check();
}

#[test]
fn nothing_is_spent_in_a_session_once_its_stop_is_confirmed() {
    explore(|| {
        let world = World::new();
        let session = world.session();
        let approval = world.approved(Some(&session));
        spend_against(&approval, &world, move |world| {
            ready(world.gate.stop(&world.owner, &session)).unwrap();
        });
    });
}

#[test]
fn nothing_is_spent_once_the_halt_is_confirmed() {
    explore(|| {
        let world = World::new();
        let approval = world.approved(None);
        spend_against(&approval, &world, |world| {
            ready(world.gate.halt(&world.owner)).unwrap();
        });
    });
}

/// Submits while something stops everything.
fn submit_against(
    command: &'static str,
    session: Option<SessionId>,
    world: &Arc<World>,
    stop: impl FnOnce(&World) + Send + 'static,
) {
    let (agent, stopper) = (Arc::clone(world), Arc::clone(world));
    let ((late, submitted), ()) = both(
        move || (agent.is_confirmed(), agent.submit(command, session.as_ref())),
        move || {
            stop(&stopper);
            stopper.confirm();
        },
    );
    if late {
        assert!(matches!(submitted, Submitted::Refused(_)), "{submitted:?}");
    }
    // A question asked just before is cancelled; none comes in afterwards.
    assert_eq!(world.open_approvals(), 0);
    world.check();
}

#[test]
fn nothing_is_permitted_once_the_halt_is_confirmed() {
    for command in [SAFE, RISKY] {
        explore(move || {
            let world = World::new();
            submit_against(command, None, &world, |world| {
                ready(world.gate.halt(&world.owner)).unwrap();
            });
        });
    }
}

#[test]
fn nothing_is_permitted_in_a_session_once_its_stop_is_confirmed() {
    for command in [SAFE, RISKY] {
        explore(move || {
            let world = World::new();
            let session = world.session();
            submit_against(command, Some(session.clone()), &world, move |world| {
                ready(world.gate.stop(&world.owner, &session)).unwrap();
            });
        });
    }
}

#[test]
fn of_two_who_ask_one_is_over_the_cap() {
    explore(|| {
        let world = World::with(Config { most_pending: 1, ..Config::default() });
        let (one, other) = (Arc::clone(&world), Arc::clone(&world));
        let submitted = both(
            move || one.submit(RISKY, None),
            move || other.submit("git push --force origin prod", None),
        );
        match submitted {
            (Submitted::Waiting(_), Submitted::Refused(refusal))
            | (Submitted::Refused(refusal), Submitted::Waiting(_)) => {
                assert_eq!(refusal.why, Why::TooManyPending(1));
            }
            both => panic!("{both:?}"),
        }
        assert_eq!(world.open_approvals(), 1);
        world.check();
    });
}

#[test]
fn an_edit_leaves_nothing_open_behind_a_stop() {
    explore(|| {
        let world = World::new();
        let session = world.session();
        let approval = world.ask(Some(&session));
        let (editor, owner) = (Arc::clone(&world), Arc::clone(&world));
        let (_, stopped) = both(
            move || {
                let edited = Some(shell("git push --force origin prod").action);
                let reply =
                    PersonAnswer { edited, ..PersonAnswer::plain(approval, Answer::Approve) };
                ready(editor.gate.answer(&editor.owner, reply))
            },
            move || ready(owner.gate.stop(&owner.owner, &session)),
        );
        stopped.unwrap();
        assert_eq!(world.open_approvals(), 0);
        world.check();
    });
}

#[test]
fn of_two_reports_one_counts() {
    explore(|| {
        let world = World::new();
        let approval = world.approved(None);
        let action = world.spend(&approval).unwrap().id().clone();
        let report = |outcome| {
            let (world, action) = (Arc::clone(&world), action.clone());
            move || ready(world.gate.report(&world.agent, &action, None, outcome, None)).is_ok()
        };
        let told = both(report(Outcome::Done), report(Outcome::Failed));
        let expected = match told {
            (true, false) => "done",
            (false, true) => "failed",
            both => panic!("{both:?}"),
        };
        assert_eq!(world.state(&approval).as_str(), expected);
    });
}

fn race_for_a_link() {
    let world = World::new();
    let link = ready(world.gate.invite(&world.owner)).unwrap();
    let again = Secret::parse(link.expose()).unwrap();
    let accept = |link: Secret| {
        let world = Arc::clone(&world);
        move || ready(world.gate.accept(&link, "phone"))
    };
    match both(accept(link), accept(again)) {
        (Ok(_), Err(PeopleError::Link)) | (Err(PeopleError::Link), Ok(_)) => {}
        both => panic!("{both:?}"),
    }
    assert_eq!(ready(world.gate.devices(&world.owner)).unwrap().len(), 2);
    world.check();
}

#[test]
fn a_link_signs_one_device_in() {
    exhaust(400, race_for_a_link);
    explore(race_for_a_link);
}
