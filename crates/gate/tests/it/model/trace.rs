//! A random trace: every step is done by the gate and by the model, and both must agree.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use countersign_core::policy::profile::Limits;
use countersign_gate::approval::{Answer, Outcome, Scope};
use countersign_gate::clock::Timestamp;
use countersign_gate::gate::{self, Consent, SiteCredential, StartError};
use countersign_gate::id::{ActionId, ApprovalId, SessionId};
use countersign_gate::process::Process;
use countersign_gate::proposal::Script;
use countersign_gate::session::{End, Plan};
use countersign_gate::store::Store as _;
use countersign_gate::user::Membership;
use countersign_gate::vault::Credential;
use countersign_gate::{GateError, Permit, Proposal, Submitted};
use pollster::block_on;

use crate::model::brittle::Fate;
use crate::model::dice::Dice;
use crate::model::pool::pool;
use crate::model::reference::{
    ADMIN, Expect, MEMBER, Model, OWNER, PEOPLE, Reach, STRANGER, Session, lives_with,
};
use crate::model::stage::{Backend, Ending, Stage, config};
use crate::world::BEGIN;

pub(super) struct Trace {
    pub(super) stage: Stage,
    pub(super) model: Model,
    pub(super) dice: Dice,
    pub(super) log: VecDeque<String>,
    pub(super) tally: Tally,
    pub(super) seen: super::check::Seen,
    /// Permits without an approval, with their session and slot.
    direct: Vec<(ActionId, Option<SessionId>, usize)>,
    backend: Backend,
}

/// The counts of a trace, so that a run that proves nothing is noticed.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub(super) steps: u64,
    pub(super) permits: u64,
    pub(super) refused: u64,
    pub(super) asked: u64,
    pub(super) answered: u64,
    pub(super) answers_refused: u64,
    pub(super) spent: u64,
    pub(super) spends_refused: u64,
    pub(super) crashes: u64,
    pub(super) restarts: u64,
    pub(super) turned_away: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.permits += other.permits;
        self.refused += other.refused;
        self.asked += other.asked;
        self.answered += other.answered;
        self.answers_refused += other.answers_refused;
        self.spent += other.spent;
        self.spends_refused += other.spends_refused;
        self.crashes += other.crashes;
        self.restarts += other.restarts;
        self.turned_away += other.turned_away;
    }
}

/// The most stores that are left open, in all traces together: each has its threads and files.
const MOST_LEFT: u32 = 60;

static LEFT: AtomicU32 = AtomicU32::new(0);

impl Trace {
    pub(super) fn new(backend: Backend, seed: u64) -> Self {
        let stage = Stage::new(backend);
        let model = Model::new(pool(), config(), stage.gate().now());
        Self {
            stage,
            model,
            dice: Dice(seed),
            log: VecDeque::new(),
            tally: Tally::default(),
            seen: super::check::Seen::default(),
            direct: Vec::new(),
            backend,
        }
    }

    /// Does one step. It is logged before it is done.
    pub(super) fn step(&mut self) {
        self.tally.steps += 1;
        self.model.now = self.stage.gate().now();
        // A halt affects everybody, and does not last.
        if self.model.halted && self.dice.once_in(8) {
            return self.resume();
        }
        match self.dice.below(200) {
            0..60 => self.submit(),
            60..102 => self.answer(),
            102..138 => self.spend(),
            138..150 => self.report(),
            150..154 => self.withdraw(),
            154..162 => self.start(),
            162..164 => self.stop(),
            164 => self.complete(),
            165..169 => self.resume_session(),
            169 => self.halt(),
            170 => self.resume(),
            171..177 => self.sweep(),
            177..191 => self.jump(),
            191..193 => self.restart(),
            193..195 => self.change_key(),
            195..197 => self.forget(),
            197 => self.change_member(),
            _ => self.kill_agent(),
        }
    }

    /// Any agent, or the wanted one; `None` if its person was removed: then it is refused.
    fn slot(&mut self, wanted: Option<usize>) -> Option<usize> {
        let slot = wanted.unwrap_or_else(|| self.dice.below(self.stage.agents.len()));
        if self.model.away.contains(&self.stage.agents[slot].agent.user) {
            self.note(&format!("{slot} is turned away"));
            self.stage.is_turned_away(slot);
            self.tally.turned_away += 1;
            return None;
        }
        Some(slot)
    }

    /// Removes a person from the workspace, or adds them again.
    fn change_member(&mut self) {
        let (person, is) =
            *self.dice.pick(&[(MEMBER, Membership::Member), (ADMIN, Membership::Admin)]);
        let back = self.model.away.remove(&person);
        self.note(&format!("{person} is {}", if back { "let in again" } else { "put out" }));
        self.stage.change_member(person, back.then_some(is));
        if !back {
            self.model.away.insert(person);
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        if self.log.len() == 20 {
            self.log.pop_front();
        }
        self.log.push_back(format!("{}: {text}", self.tally.steps));
    }

    pub(super) fn any_approval(&mut self) -> Option<ApprovalId> {
        // Mostly open ones: soon most approvals are settled.
        let wanted = if self.dice.once_in(5) { "" } else { "open" };
        let ids = self.model.approvals.iter();
        let ids: Vec<_> = ids
            .filter(|(_, one)| wanted.is_empty() || one.is_open() || one.state == "started")
            .map(|(id, _)| id.clone())
            .collect();
        if ids.is_empty() { None } else { Some(self.dice.pick(&ids).clone()) }
    }

    fn any_session(&mut self) -> Option<SessionId> {
        let alive_only = !self.dice.once_in(6);
        let sessions = self.model.sessions.iter();
        let ids: Vec<_> = sessions
            .filter(|(_, session)| !alive_only || session.ended.is_none())
            .map(|(id, _)| id.clone())
            .collect();
        if ids.is_empty() { None } else { Some(self.dice.pick(&ids).clone()) }
    }

    /// Makes the process die in the middle of the step.
    pub(super) fn doom(&mut self, fate: Fate) {
        self.tally.crashes += 1;
        self.note(&format!("… and dies {fate:?}"));
        self.stage.store.doom(fate);
    }

    pub(super) fn doomed(&mut self) -> bool {
        self.dice.once_in(25)
    }

    fn submit(&mut self) {
        let Some(slot) = self.slot(None) else { return };
        let session = if self.dice.once_in(3) { None } else { self.any_session() };
        let action = self.dice.below(self.model.pool.len());
        let agent = self.stage.agents[slot].agent;
        let expected = self.model.expect(&agent, action, session.as_ref());
        let act = &self.model.pool[action];
        self.note(&format!("submit by {slot} of {act:?} in {session:?}, expecting {expected:?}"));
        let mut proposal = Proposal::of(self.model.pool[action].clone());
        proposal.session.clone_from(&session);
        let fate = self.doomed().then(|| match expected {
            Expect::Ask(_) if self.dice.once_in(2) => Fate::After,
            _ => Fate::Before(0),
        });
        if let Some(fate) = fate {
            self.doom(fate);
        }
        let caller = self.stage.caller(slot).unwrap();
        let got = block_on(self.stage.gate().submit(&caller, &proposal));
        let died = self.stage.store.spare();
        let session = session.as_ref();
        match (got, expected) {
            (Err(GateError::Store(_)), expected) if died => {
                if let (Expect::Ask(asked), Some(Fate::After)) = (expected, fate) {
                    let id = self.unknown_approval();
                    self.model.asked(id, agent, (action, session), *asked);
                }
                self.reopen();
            }
            (Ok(Submitted::Permitted(permit, judgement)), Expect::Permit) => {
                assert_ne!(judgement.verdict, countersign_core::Verdict::Block);
                assert!(permit.approval().is_none());
                self.direct.push((permit.id().clone(), session.cloned(), slot));
                self.redeem(permit, action);
                self.model.permitted(action, session);
                self.tally.permits += 1;
            }
            (Ok(Submitted::Waiting(waiting)), Expect::Same(id)) => {
                assert_eq!(waiting.approval, id);
            }
            (Ok(Submitted::Waiting(waiting)), Expect::Ask(asked)) => {
                assert_eq!(waiting.expires_at, self.stage.gate().shown(asked.expires_at));
                self.model.asked(waiting.approval, agent, (action, session), *asked);
                self.tally.asked += 1;
            }
            (Ok(Submitted::Refused(refusal)), Expect::Refuse(whys)) => {
                // Whatever the reasons, an agent that is out of steps may be told that.
                let told = whys.contains(&refusal.why) || self.model.out_of_steps(&agent, session);
                assert!(told, "refused for {:?}", refusal.why);
                self.model.refused(&agent, session, &refusal.why);
                self.tally.refused += 1;
            }
            (got, _) => panic!("got {got:?}"),
        }
    }

    fn redeem(&self, permit: Permit, action: usize) {
        let proposal = Proposal::of(self.model.pool[action].clone());
        permit.redeem(&proposal.action, &proposal.context, &[]).unwrap();
    }

    fn spend(&mut self) {
        let Some(id) = self.any_approval() else { return };
        let near = self.slot_near(&id);
        let Some(slot) = self.slot(Some(near)) else { return };
        let agent = self.stage.agents[slot].agent;
        let approved = self.model.approvals[&id].action;
        let action =
            if self.dice.once_in(5) { self.dice.below(self.model.pool.len()) } else { approved };
        let mut proposal = Proposal::of(self.model.pool[action].clone());
        let with_script = self.dice.once_in(20);
        if with_script {
            proposal.scripts.push(Script::new("run.sh", b"rm -rf ~"));
        }
        let named = (!with_script).then_some(action);
        let against = self.model.against_spend(&agent, &id, named);
        let state = self.model.approvals[&id].state;
        self.note(&format!("spend by {slot} of {id} ({state}), against it {against:?}"));
        let fate = self.doomed().then(|| {
            let after = against.is_empty() && self.dice.once_in(2);
            if after { Fate::After } else { Fate::Before(0) }
        });
        if let Some(fate) = fate {
            self.doom(fate);
        }
        let caller = self.stage.caller(slot).unwrap();
        let got = block_on(self.stage.gate().spend(&caller, &id, &proposal));
        if self.stage.store.spare() {
            assert!(got.is_err(), "a permit was given that is not on disk");
            if fate == Some(Fate::After) {
                self.model.spend(&id);
            }
            self.reopen();
            return;
        }
        match got {
            Ok(permit) => {
                assert!(against.is_empty(), "spent");
                assert_eq!(permit.approval(), Some(&id));
                self.model.spend(&id);
                let approval = self.model.approvals.get_mut(&id).unwrap();
                approval.permits += 1;
                assert_eq!(approval.permits, 1, "{id} was spent twice");
                self.redeem(permit, action);
                self.tally.spent += 1;
            }
            Err(error) => {
                super::answers::is_among(&super::answers::spend_reason(&error), &against);
                self.tally.spends_refused += 1;
            }
        }
    }

    /// Mostly the agent that asked.
    fn slot_near(&mut self, id: &ApprovalId) -> usize {
        let number = self.model.approvals[id].agent.number;
        let own = self.stage.agents.iter().position(|slot| slot.agent.number == number);
        match own {
            Some(slot) if !self.dice.once_in(6) => slot,
            _ => self.dice.below(self.stage.agents.len()),
        }
    }

    fn report(&mut self) {
        let outcome = *self.dice.pick(&[Outcome::Done, Outcome::Done, Outcome::Failed]);
        if self.dice.once_in(3) && !self.direct.is_empty() {
            let (action, session, slot) = self.dice.pick(&self.direct).clone();
            let Some(slot) = self.slot(Some(slot)) else { return };
            let number = self.stage.agents[slot].agent.user;
            let Some(caller) = self.stage.caller(slot) else { return };
            self.note(&format!("report {outcome:?} of {action} by {slot} of {number}"));
            let gate = self.stage.gate();
            block_on(gate.report(&caller, &action, session.as_ref(), outcome, None)).unwrap();
            self.model.report_in(session.as_ref(), outcome);
            return;
        }
        let Some(id) = self.any_approval() else { return };
        let near = self.slot_near(&id);
        let Some(slot) = self.slot(Some(near)) else { return };
        let caller = self.stage.caller(slot).unwrap();
        let approval = &self.model.approvals[&id];
        let own = self.model.of_agent(&self.stage.agents[slot].agent, &id).is_some();
        let runs = ["started", "unknown"].contains(&approval.state);
        self.note(&format!("report {outcome:?} of {id} by {slot}: own {own}, runs {runs}"));
        let action = ActionId::of(&id);
        let got = block_on(self.stage.gate().report(&caller, &action, None, outcome, None));
        assert_eq!(got.is_ok(), own && runs, "{got:?}");
        if got.is_ok() {
            self.model.report(&id, outcome);
        }
    }

    fn withdraw(&mut self) {
        let Some(id) = self.any_approval() else { return };
        let near = self.slot_near(&id);
        let Some(slot) = self.slot(Some(near)) else { return };
        let approval = self.model.of_agent(&self.stage.agents[slot].agent, &id);
        let possible = approval.is_some_and(super::reference::Approval::is_open);
        self.note(&format!("withdraw {id} by {slot}: possible {possible}"));
        let fate = self.doomed().then(|| *self.dice.pick(&[Fate::After, Fate::Before(0)]));
        if let Some(fate) = fate {
            self.doom(fate);
        }
        let caller = self.stage.caller(slot).unwrap();
        let got = block_on(self.stage.gate().withdraw(&caller, &id));
        let died = self.stage.store.spare();
        if possible && (!died || fate == Some(Fate::After)) {
            self.model.approvals.get_mut(&id).unwrap().state = "cancelled";
        }
        if died {
            self.reopen();
        } else {
            assert_eq!(got.is_ok(), possible, "{got:?}");
        }
    }

    fn start(&mut self) {
        let Some(slot) = self.slot(None) else { return };
        let agent = self.stage.agents[slot].agent;
        let limits = self.any_limits();
        let process = self.dice.once_in(5).then(|| {
            let pid = 1_000 + u32::try_from(self.tally.steps % 1_000_000).unwrap();
            Process { pid, started: self.tally.steps }
        });
        if let Some(process) = process {
            self.stage.processes.start(process, 1, 7);
            self.model.alive.insert(process.pid);
        }
        let credentials = self.dice.once_in(6);
        let auto_confirm = self.dice.once_in(6);
        let plan = Plan { auto_confirm, process, limits, ..Plan::default() };
        self.note(&format!("start by {slot} with {plan:?}"));
        let by_key = self.stage.caller(slot).unwrap();
        let person = &self.stage.people[agent.user];
        let present = self.dice.once_in(2).then(|| person.assistant(by_key.workspace())).flatten();
        let caller = present.unwrap_or(by_key);
        let has_key = caller.key_id().is_some();
        let given = credentials.then(|| SiteCredential {
            site: "https://example.com".to_owned(),
            credential: Credential::new([("name", "ann")]).unwrap(),
        });
        let given = given.into_iter().collect();
        match block_on(self.stage.gate().start(&caller, plan, Consent::Given, given)) {
            // Only a person may choose that and agree to it, and this caller has a key.
            Err(StartError::NotForAgents("auto_confirm")) => assert!(auto_confirm && has_key),
            Err(StartError::NotForAgents("credentials")) => assert!(credentials && has_key),
            Err(StartError::NotForAgents("consent") | StartError::ConsentScope) => {
                assert!(has_key);
            }
            Err(StartError::Halted) => assert!(self.model.halted),
            // A stranger's workspace was never created.
            Err(StartError::Workspace) => assert_eq!(agent.user, STRANGER),
            Err(error) => panic!("{error}"),
            Ok(session) => {
                assert!(!self.model.halted && agent.user != STRANGER && !has_key);
                let deadline = limits.session_seconds;
                let deadline = deadline
                    .map(|seconds| self.model.now.after(Duration::from_secs(seconds.into())));
                assert_eq!(session.deadline, deadline);
                let held = Session {
                    user: agent.user,
                    auto_confirm,
                    credentials,
                    pid: process.map(|process| process.pid),
                    limits,
                    deadline,
                    paused: false,
                    ended: None,
                    steps: 0,
                    errors: 0,
                    screenshots: 0,
                    files: 0,
                };
                self.model.sessions.insert(session.id, held);
            }
        }
    }

    fn any_limits(&mut self) -> Limits {
        Limits {
            steps: Some(*self.dice.pick(&[3, 12, 40])),
            errors: Some(2),
            screenshots: Some(1),
            files: Some(3),
            session_seconds: *self.dice.pick(&[None, Some(200), Some(2_000)]),
            step_seconds: *self.dice.pick(&[None, Some(30)]),
            ..Limits::default()
        }
    }

    fn may_stop(&self, person: usize, session: &SessionId) -> bool {
        let user = self.model.sessions[session].user;
        let looks_after = person == ADMIN && !self.model.away.contains(&person);
        person == user || person == OWNER || (looks_after && lives_with(person, user))
    }

    fn stop(&mut self) {
        if self.dice.once_in(20) {
            self.note("stop all by the owner");
            block_on(self.stage.gate().stop_all(&self.stage.people[OWNER])).unwrap();
            let alive = self.model.sessions.iter().filter(|(_, one)| one.ended.is_none());
            let alive: Vec<_> = alive.map(|(id, _)| id.clone()).collect();
            for id in alive {
                self.model.end(&id, End::Stopped);
            }
            return;
        }
        let Some(id) = self.any_session() else { return };
        let person = self.dice.below(PEOPLE);
        let may = self.may_stop(person, &id);
        self.note(&format!("stop of {id} by {person}: {may}"));
        let alive = self.model.sessions[&id].ended.is_none();
        let fate = (self.doomed() && alive).then(|| u32::try_from(self.dice.below(4)).unwrap());
        if let Some(commits) = fate {
            self.doom(Fate::Before(commits));
        }
        let got = block_on(self.stage.gate().stop(&self.stage.person(person), &id));
        let died = self.stage.store.spare();
        // Once the session has ended on disk, its pending questions are cancelled, now or at the
        // restart.
        if may && (!died || fate != Some(0)) {
            self.model.end(&id, End::Stopped);
        }
        if died {
            self.reopen();
        } else {
            assert_eq!(got.is_ok(), may, "{got:?}");
        }
    }

    fn complete(&mut self) {
        let Some(id) = self.any_session() else { return };
        let Some(slot) = self.slot(None) else { return };
        let may = self.stage.agents[slot].agent.user == self.model.sessions[&id].user;
        self.note(&format!("complete {id} by {slot}: {may}"));
        let caller = self.stage.caller(slot).unwrap();
        let got = block_on(self.stage.gate().complete(&caller, &id));
        assert_eq!(got.is_ok(), may, "{got:?}");
        if may {
            self.model.end(&id, End::Completed);
        }
    }

    fn resume_session(&mut self) {
        let Some(id) = self.any_session() else { return };
        let person = self.dice.below(PEOPLE);
        let may = self.may_stop(person, &id);
        self.note(&format!("resume of {id} by {person}: {may}"));
        let person = self.stage.person(person);
        let got = block_on(self.stage.gate().resume_session(&person, &id));
        assert_eq!(got.is_ok(), may, "{got:?}");
        if may {
            self.model.sessions.get_mut(&id).unwrap().paused = false;
        }
    }

    fn halt(&mut self) {
        let person = self.dice.below(PEOPLE);
        self.note(&format!("halt by {person}"));
        let fate = self.dice.once_in(4).then(|| u32::try_from(self.dice.below(5)).unwrap());
        if let Some(commits) = fate {
            self.doom(Fate::Before(commits));
        }
        let got = block_on(self.stage.gate().halt(&self.stage.people[person]));
        let died = self.stage.store.spare();
        // Once the halt is on disk, pending questions are cancelled, now or at the restart.
        if !died || fate != Some(0) {
            self.model.halt();
        }
        if died {
            self.reopen();
        } else {
            got.unwrap();
        }
    }

    fn resume(&mut self) {
        let person = if self.dice.once_in(3) { self.dice.below(PEOPLE) } else { OWNER };
        self.note(&format!("resume by {person}"));
        let got = block_on(self.stage.gate().resume(&self.stage.people[person]));
        assert_eq!(got.is_ok(), person == OWNER, "{got:?}");
        if person == OWNER {
            self.model.halted = false;
        }
    }

    fn sweep(&mut self) {
        self.note("sweep");
        block_on(self.stage.gate().sweep()).unwrap();
        self.model.sweep();
    }

    /// Lets time pass, by seconds, minutes or days; or sets the system's clock, forwards or back.
    fn jump(&mut self) {
        let clock = &self.stage.clock;
        let now = countersign_gate::clock::Clock::now(&**clock);
        let seconds =
            Duration::from_secs(*self.dice.pick(&[1, 5, 20, 41, 60, 121, 301, 601, 3_600]));
        let before = self.model.now;
        let expected = match self.dice.below(40) {
            0 => self.pass(Duration::from_hours(48)),
            1 => self.pass(Duration::from_hours(32 * 24)),
            2..10 => self.set(Timestamp(now.before(seconds * 3).0.max(BEGIN.0 - 1_000_000))),
            10..20 => self.set(now.after(seconds)),
            _ => self.pass(seconds),
        };
        self.model.now = self.stage.gate().now();
        assert_eq!(self.model.now, expected, "time in the gate, from {before}");
    }

    /// Lets time pass, and returns the gate's time.
    fn pass(&mut self, duration: Duration) -> Timestamp {
        self.stage.clock.pass(duration);
        self.note(&format!("{duration:?} pass"));
        self.model.now.after(duration)
    }

    fn set(&mut self, to: Timestamp) -> Timestamp {
        self.stage.clock.set(to);
        self.note(&format!("the clock is set to {to}"));
        let ahead = to.since(self.model.now) > countersign_gate::clock::TOLERANCE;
        if ahead { to } else { self.model.now }
    }

    fn restart(&mut self) {
        self.note("restart");
        self.reopen();
    }

    /// Ends the process and starts it again.
    pub(super) fn reopen(&mut self) {
        let last = block_on(self.stage.store.chain()).unwrap().end().at;
        let leave = self.backend == Backend::Disk && self.dice.once_in(8);
        let leave = leave && LEFT.fetch_add(1, Ordering::Relaxed) < MOST_LEFT;
        let how = if leave { Ending::Left } else { Ending::Closed };
        self.stage.restart(how);
        let clock = countersign_gate::clock::Clock::now(&*self.stage.clock);
        assert_eq!(self.stage.gate().now(), clock.max(last), "time goes on from the last record");
        self.tally.restarts += 1;
        self.model.restart(clock.max(last));
    }

    fn change_key(&mut self) {
        let Some(slot) = self.slot(None) else { return };
        if self.dice.once_in(2) {
            self.note(&format!("the key of {slot} is rotated"));
            self.stage.rotate(slot);
        } else {
            self.note(&format!("the key of {slot} is revoked"));
            self.stage.replace_agent(slot);
            self.direct.retain(|(_, _, other)| *other != slot);
        }
    }

    fn forget(&mut self) {
        let person = self.dice.below(PEOPLE);
        self.note(&format!("{person} takes a remembered answer back"));
        let by = &self.stage.people[person];
        let answers = block_on(self.stage.gate().remembered_answers(by)).unwrap();
        let now = self.model.now;
        let known = self.model.remembered.iter();
        let known =
            known.filter(|((user, ..), answer)| *user == person && now < answer.expires_at).count();
        assert_eq!(answers.len(), known, "remembered");
        let Some(answer) = answers.first() else { return };
        let action = self.model.approvals[&answer.approval].action;
        let foreign = (person + 1) % PEOPLE;
        if foreign != OWNER {
            let by = &self.stage.people[foreign];
            assert!(block_on(self.stage.gate().forget_answer(by, &answer.id)).is_err());
        }
        block_on(self.stage.gate().forget_answer(by, &answer.id)).unwrap();
        let reach = match (answer.reach, &answer.session) {
            (gate::Reach::Session, session) => Reach::Session(session.clone().unwrap()),
            (gate::Reach::Agent, _) => {
                Reach::Agent(self.model.approvals[&answer.approval].agent.number)
            }
            (gate::Reach::Everywhere, _) => Reach::Everywhere,
        };
        let gone = self.model.remembered.remove(&(person, reach, action));
        assert!(gone.is_some(), "{answer:?}");
    }

    fn kill_agent(&mut self) {
        let alive: Vec<_> = self.model.alive.iter().copied().collect();
        if alive.is_empty() {
            return;
        }
        let pid = *self.dice.pick(&alive);
        self.note(&format!("the agent's process {pid} ends"));
        self.stage.processes.end(pid);
        self.model.alive.remove(&pid);
    }

    /// The one approval that the model does not know.
    fn unknown_approval(&self) -> ApprovalId {
        let unknown: Vec<_> = super::check::approvals(&self.stage)
            .into_iter()
            .filter(|(id, _)| !self.model.approvals.contains_key(id))
            .collect();
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        unknown.into_iter().next().unwrap().0
    }

    pub(super) fn any_scope(&mut self) -> Scope {
        let all = [Scope::Once, Scope::Session, Scope::Always, Scope::Everywhere];
        if self.dice.once_in(3) { Scope::Once } else { *self.dice.pick(&all) }
    }

    pub(super) fn any_say(&mut self) -> Answer {
        *self.dice.pick(&[Answer::Approve, Answer::Approve, Answer::Approve, Answer::Reject])
    }
}
