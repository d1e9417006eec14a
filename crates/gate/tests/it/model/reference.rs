//! A reference model of the gate, in plain maps: without store, signatures or races.
//!
//! It predicts the result before the gate is asked. If there are several reasons against an answer
//! or a spend, it names them all, and the gate may give any of them; but another person's approval
//! must always appear not to exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use countersign_core::context::History;
use countersign_core::policy::Session as Relaxation;
use countersign_core::policy::{self, profile::Limits};
use countersign_core::{Action, Context, Judgement, Policy, RiskLevel, Verdict, judge};
use countersign_gate::Config;
use countersign_gate::approval::{Answer, Outcome, Scope};
use countersign_gate::clock::Timestamp;
use countersign_gate::id::{ApprovalId, SessionId};
use countersign_gate::proposal::Why;
use countersign_gate::scope;
use countersign_gate::session::{End, Violation};

use crate::model::pool::{files, same_thing};

/// People, by their index in the model.
pub(super) const OWNER: usize = 0;
pub(super) const MEMBER: usize = 1;
pub(super) const ADMIN: usize = 2;
pub(super) const STRANGER: usize = 3;
pub(super) const PEOPLE: usize = 4;

const DAY: Duration = Duration::from_hours(24);

/// An agent: it stays the same when its key is rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) number: u32,
    pub(super) user: usize,
    pub(super) only_shell: bool,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent fact of the model")]
pub(super) struct Approval {
    pub(super) agent: Agent,
    pub(super) session: Option<SessionId>,
    pub(super) action: usize,
    pub(super) context: Context,
    pub(super) rules: Vec<String>,
    pub(super) risk: RiskLevel,
    pub(super) may_remember: bool,
    pub(super) need: u8,
    /// True when only others than the person for whom the agent works may agree.
    pub(super) others: bool,
    pub(super) expires_at: Timestamp,
    pub(super) escalate_at: Option<Timestamp>,
    pub(super) escalated: bool,
    pub(super) votes: BTreeSet<usize>,
    pub(super) state: &'static str,
    /// The time by which an approval is used, or a start reported.
    pub(super) until: Timestamp,
    pub(super) permits: u32,
    /// True when a person edited the action into this one.
    pub(super) edited: bool,
}

impl Approval {
    pub(super) fn is_open(&self) -> bool {
        ["pending", "approved"].contains(&self.state)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) user: usize,
    pub(super) auto_confirm: bool,
    pub(super) credentials: bool,
    pub(super) pid: Option<u32>,
    pub(super) limits: Limits,
    pub(super) deadline: Option<Timestamp>,
    pub(super) paused: bool,
    pub(super) ended: Option<End>,
    pub(super) steps: u32,
    pub(super) errors: u32,
    pub(super) screenshots: u32,
    pub(super) files: u32,
}

impl Session {
    pub(super) fn state(&self) -> &'static str {
        match (self.ended, self.paused) {
            (Some(_), _) => "ended",
            (None, true) => "paused",
            (None, false) => "active",
        }
    }
}

/// The agents whose actions a remembered approval allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Session(SessionId),
    Agent(u32),
    Everywhere,
}

#[derive(Debug, Clone)]
pub(super) struct Remembered {
    pub(super) rules: Vec<String>,
    pub(super) expires_at: Timestamp,
}

/// The expected result of a proposal.
#[derive(Debug)]
pub(super) enum Expect {
    Permit,
    Ask(Box<Asked>),
    /// The question that is already pending.
    Same(ApprovalId),
    /// A refusal for one of these reasons.
    Refuse(Vec<Why>),
}

pub(super) struct Asked {
    judgement: Judgement,
    context: Context,
    may_remember: bool,
    pub(super) expires_at: Timestamp,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, until {}", self.judgement.reason, self.expires_at)
    }
}

/// A reason against an answer, a spend, a report or a withdrawal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Against {
    Halted,
    NotFound,
    Token,
    OthersMustAgree,
    NotForAlways,
    Blocked,
    OtherAction,
    Scope,
    Session,
    Pending,
    TooFewAgree,
    Settled(&'static str),
}

/// The result of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    Settled(&'static str),
    Counted(usize, u8),
    AskedAgain,
}

/// An answer of a person.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) person: usize,
    pub(super) approval: ApprovalId,
    pub(super) say: Answer,
    pub(super) scope: Scope,
    pub(super) wrong_token: bool,
    pub(super) edited: Option<usize>,
    pub(super) feedback: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) pool: Vec<Action>,
    pub(super) config: Config,
    pub(super) now: Timestamp,
    pub(super) halted: bool,
    pub(super) alive: BTreeSet<u32>,
    pub(super) approvals: BTreeMap<ApprovalId, Approval>,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    /// Members who were removed from the workspace.
    pub(super) away: BTreeSet<usize>,
    pub(super) remembered: BTreeMap<(usize, Reach, usize), Remembered>,
    pub(super) declined: BTreeMap<(SessionId, usize), (Option<String>, Timestamp)>,
    /// The rate of questions so far, by session or person.
    prompts: BTreeMap<String, Timestamp>,
    /// Answers so far, by the agent that asked.
    history: BTreeMap<u32, History>,
    /// The number of proposals that must be recorded.
    pub(super) planned: usize,
    /// The number of permits that must be recorded.
    pub(super) permitted: usize,
    pub(super) started: usize,
}

impl Model {
    pub(super) fn new(pool: Vec<Action>, config: Config, now: Timestamp) -> Self {
        Self {
            pool,
            config,
            now,
            halted: false,
            alive: BTreeSet::new(),
            approvals: BTreeMap::new(),
            sessions: BTreeMap::new(),
            away: BTreeSet::new(),
            remembered: BTreeMap::new(),
            declined: BTreeMap::new(),
            prompts: BTreeMap::new(),
            history: BTreeMap::new(),
            planned: 0,
            permitted: 0,
            started: 0,
        }
    }

    pub(super) fn pending(&self, user: usize) -> u64 {
        let pending = self.approvals.values();
        pending.filter(|one| one.agent.user == user && one.state == "pending").count() as u64
    }

    // Proposals.

    pub(super) fn expect(
        &self,
        agent: &Agent,
        action: usize,
        session: Option<&SessionId>,
    ) -> Expect {
        let refuse = |why| Expect::Refuse(vec![why]);
        if self.halted {
            return refuse(Why::Halted);
        }
        let held = session.map(|id| self.own_session(agent, id));
        if let Some(held) = held {
            match held {
                None => return refuse(Why::NoSession),
                Some(Session { ended: Some(reason), .. }) => return refuse(Why::Ended(*reason)),
                Some(Session { paused: true, .. }) => return refuse(Why::Paused),
                Some(held) if held.deadline.is_some_and(|deadline| self.now >= deadline) => {
                    return refuse(Why::Violation(Violation::Timeout));
                }
                Some(_) => {}
            }
        }
        let held = held.flatten();
        let (mut judgement, context, policy) = self.judged(agent, action, session, held);
        let act = &self.pool[action];
        if agent.only_shell && act.kind() != "shell" {
            return refuse(Why::Scope(scope::needed(act)));
        }
        let mut limits = Self::limits_hit(held, act);
        match judgement.verdict {
            Verdict::Block => return refuse(Why::Blocked),
            // An action to which others must agree is never allowed by one person's settings.
            Verdict::Allow | Verdict::Warn => match self.for_others(act, &context) {
                Some(strict) => judgement = strict,
                None if limits.is_empty() => return Expect::Permit,
                None => return Expect::Refuse(limits),
            },
            Verdict::Confirm => {}
        }
        if let Some(no) = self.said_no(action, session) {
            return refuse(no);
        }
        if let Some(same) = self.same_question(agent, action, session) {
            return Expect::Same(same);
        }
        if self.pending(agent.user) >= self.config.most_pending {
            limits.push(Why::TooManyPending(self.config.most_pending));
        }
        if self.prompt(agent, session).1.is_err() {
            limits.push(match session {
                Some(_) => Why::Violation(Violation::PromptFlood),
                None => Why::TooFast("questions"),
            });
        }
        if !limits.is_empty() {
            return Expect::Refuse(limits);
        }
        let alone = !self.quorum(&judgement).1;
        let may_remember = alone && policy.may_remember(&judgement, act, &context);
        let seconds = policy.approval_timeout_away(act, &context);
        let expires_at = self.now.after(Duration::from_secs(seconds.into()));
        Expect::Ask(Box::new(Asked { judgement, context, may_remember, expires_at }))
    }

    /// The judgement of the gate's own policy, if it asks and others must agree.
    fn for_others(&self, act: &Action, context: &Context) -> Option<Judgement> {
        let strict = judge(act, &Policy::default(), context);
        let others = strict.verdict >= Verdict::Confirm && self.quorum(&strict).1;
        others.then_some(strict)
    }

    /// Judges by the core, with remembered approvals that no rejection overrides.
    fn judged(
        &self,
        agent: &Agent,
        action: usize,
        session: Option<&SessionId>,
        held: Option<&Session>,
    ) -> (Judgement, Context, Policy) {
        let policy = Policy::default().in_session(Relaxation {
            auto_confirm: held.is_some_and(|session| session.auto_confirm),
            autonomous: false,
            programmatic: false,
        });
        let none = History { approved: 0, rejected: 0 };
        let history = Some(self.history.get(&agent.number).copied().unwrap_or(none));
        let context = Context { history, ..Context::default() };
        let act = &self.pool[action];
        let mut judgement = judge(act, &policy, &context);
        let may = policy.may_remember(&judgement, act, &context);
        if may && self.said_no(action, session).is_none() {
            let reaches = [Reach::Agent(agent.number), Reach::Everywhere];
            let reaches = session.cloned().map(Reach::Session).into_iter().chain(reaches);
            let answers =
                reaches.filter_map(|reach| self.remembered.get(&(agent.user, reach, action)));
            let answers: Vec<_> = answers
                .filter(|answer| self.now < answer.expires_at)
                .map(|answer| policy::Remembered {
                    digest: judgement.digest.clone(),
                    rules: answer.rules.clone(),
                })
                .collect();
            judgement = judge(act, &policy.clone().remembering(answers), &context);
        }
        (judgement, context, policy)
    }

    /// The refusal, if a person rejected it in this session.
    fn said_no(&self, action: usize, session: Option<&SessionId>) -> Option<Why> {
        let (feedback, until) = self.declined.get(&(session?.clone(), action))?;
        (self.now < *until).then(|| Why::Declined(feedback.clone()))
    }

    fn same_question(
        &self,
        agent: &Agent,
        action: usize,
        session: Option<&SessionId>,
    ) -> Option<ApprovalId> {
        let same = |one: &Approval| {
            one.session.as_ref() == session
                && one.agent.number == agent.number
                && one.action == action
                && match one.state {
                    "pending" => session.is_some() && self.now < one.expires_at,
                    "approved" => (session.is_some() || one.edited) && self.now < one.until,
                    _ => false,
                }
        };
        self.approvals.iter().find(|(_, one)| same(one)).map(|(id, _)| id.clone())
    }

    fn limits_hit(session: Option<&Session>, action: &Action) -> Vec<Why> {
        let Some(session) = session else { return Vec::new() };
        let over = |used: u32, most: Option<u32>| most.is_some_and(|most| used > most);
        let Limits { steps, screenshots, files: most_files, .. } = session.limits;
        let screen = u32::from(action.kind() == "screenshot");
        let hit = [
            (over(session.steps + 1, steps), Violation::MaxSteps),
            (screen > 0 && over(session.screenshots + 1, screenshots), Violation::MaxScreenshots),
            (over(session.files + files(action), most_files), Violation::MaxFiles),
        ];
        hit.into_iter().filter(|(hit, _)| *hit).map(|(_, hit)| Why::Violation(hit)).collect()
    }

    fn prompt(
        &self,
        agent: &Agent,
        session: Option<&SessionId>,
    ) -> (String, Result<Timestamp, Duration>) {
        let key = session.map_or_else(|| agent.user.to_string(), ToString::to_string);
        let next = self.config.prompts.take(self.prompts.get(&key).copied(), self.now);
        (key, next)
    }

    pub(super) fn permitted(&mut self, action: usize, session: Option<&SessionId>) {
        self.use_up(action, session);
        self.permitted += 1;
    }

    pub(super) fn asked(
        &mut self,
        id: ApprovalId,
        agent: Agent,
        (action, session): (usize, Option<&SessionId>),
        asked: Asked,
    ) {
        self.use_up(action, session);
        let (key, next) = self.prompt(&agent, session);
        self.prompts.insert(key, next.unwrap());
        let Asked { judgement, context, may_remember, expires_at } = asked;
        let (need, others, escalate_at) = self.quorum(&judgement);
        let approval = Approval {
            agent,
            session: session.cloned(),
            action,
            context,
            rules: judgement.findings.iter().map(|finding| finding.rule.clone()).collect(),
            risk: judgement.risk.level,
            may_remember,
            need,
            others,
            expires_at,
            escalate_at,
            escalated: false,
            votes: BTreeSet::new(),
            state: "pending",
            until: expires_at,
            permits: 0,
            edited: false,
        };
        assert!(self.approvals.insert(id, approval).is_none(), "an id was given twice");
    }

    fn quorum(&self, judgement: &Judgement) -> (u8, bool, Option<Timestamp>) {
        let (mut need, mut after) = (None, None);
        for row in &self.config.quorum {
            let risky = row.risk.is_some_and(|risk| judgement.risk.level >= risk);
            let named = judgement.findings.iter().any(|finding| {
                row.rules.iter().any(|rule| match rule.strip_suffix('*') {
                    Some(family) => finding.rule.starts_with(family),
                    None => finding.rule == *rule,
                })
            });
            if risky || named {
                need = need.max(row.need);
                let sooner = row.escalate_after;
                after =
                    after.map_or(sooner, |one: u32| Some(sooner.map_or(one, |two| one.min(two))));
            }
        }
        let escalate_at = after.map(|seconds| self.now.after(Duration::from_secs(seconds.into())));
        (need.unwrap_or(1), need.is_some(), escalate_at)
    }

    fn use_up(&mut self, action: usize, session: Option<&SessionId>) {
        self.planned += 1;
        let Some(session) = session else { return };
        let action = &self.pool[action];
        let session = self.sessions.get_mut(session).unwrap();
        session.steps += 1;
        session.screenshots += u32::from(action.kind() == "screenshot");
        session.files += files(action);
    }

    /// Reports whether a live session of theirs is out of steps.
    pub(super) fn out_of_steps(&self, agent: &Agent, session: Option<&SessionId>) -> bool {
        let held = session.and_then(|id| self.own_session(agent, id));
        held.is_some_and(|held| {
            held.ended.is_none() && held.limits.steps.is_some_and(|most| held.steps >= most)
        })
    }

    /// Counts a refusal, which is a step too, in a live session of theirs.
    pub(super) fn refused(&mut self, agent: &Agent, session: Option<&SessionId>, why: &Why) {
        self.planned += 1;
        let Some(id) = session else { return };
        if self.own_session(agent, id).is_none_or(|held| held.ended.is_some()) {
            return;
        }
        if self.out_of_steps(agent, Some(id)) {
            self.end(id, End::MaxSteps);
            return;
        }
        let held = self.sessions.get_mut(id).unwrap();
        held.steps += 1;
        match why {
            Why::Violation(Violation::PromptFlood) => held.paused = true,
            Why::Violation(Violation::Timeout) => self.end(id, End::Timeout),
            _ => {}
        }
    }

    fn own_session(&self, agent: &Agent, id: &SessionId) -> Option<&Session> {
        self.sessions.get(id).filter(|session| session.user == agent.user)
    }

    // Answers.

    /// Reports whether they may see or answer a question.
    pub(super) fn is_called(&self, person: usize, approval: &Approval) -> bool {
        let here = lives_with(person, approval.agent.user);
        !self.away.contains(&person)
            && (person == approval.agent.user
                || person == OWNER
                || (here && approval.others)
                || (here && person == ADMIN && approval.escalated))
    }

    pub(super) fn sees(&self, person: usize, approval: &Approval) -> bool {
        let here = lives_with(person, approval.agent.user) && !self.away.contains(&person);
        person == approval.agent.user
            || self.is_called(person, approval)
            || (here && person == ADMIN)
    }

    /// The votes of the people who could still answer.
    fn counting(&self, approval: &Approval) -> BTreeSet<usize> {
        let votes = approval.votes.iter().copied();
        votes.filter(|person| self.is_called(*person, approval)).collect()
    }

    pub(super) fn against_answer(&self, said: &Expected) -> BTreeSet<Against> {
        let mut against = BTreeSet::new();
        if self.halted {
            against.insert(Against::Halted);
        }
        let approval = self.approvals.get(&said.approval);
        let Some(approval) = approval.filter(|one| self.is_called(said.person, one)) else {
            against.insert(Against::NotFound);
            return against;
        };
        let yes = said.say == Answer::Approve;
        let checks = [
            (said.wrong_token, Against::Token),
            (
                yes && approval.others && said.person == approval.agent.user,
                Against::OthersMustAgree,
            ),
            (
                yes && match said.scope {
                    Scope::Once => false,
                    Scope::Session | Scope::Always | Scope::Everywhere => {
                        approval.others || !approval.may_remember
                    }
                },
                Against::NotForAlways,
            ),
        ];
        against.extend(checks.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why));
        if approval.state != "pending" {
            against.insert(Against::Settled(approval.state));
        } else if self.now >= approval.expires_at {
            against.insert(Against::Settled("expired"));
        }
        let edited = said.edited.filter(|_| yes);
        let blocked = |edited| self.judged_again(approval, edited).verdict == Verdict::Block;
        if edited.is_some_and(blocked) {
            against.insert(Against::Blocked);
        }
        against
    }

    fn judged_again(&self, approval: &Approval, edited: usize) -> Judgement {
        judge(&self.pool[edited], &Policy::default(), &approval.context)
    }

    /// Applies a valid answer. An edited action has an id of its own.
    pub(super) fn answer(&mut self, said: &Expected, new: Option<ApprovalId>) -> Came {
        match (said.edited, said.say) {
            (Some(edited), Answer::Approve) => {
                let id = new.expect("an edited action is a new question");
                if self.replace(&said.approval, id.clone(), edited) {
                    return Came::AskedAgain;
                }
                let said = Expected { approval: id, scope: Scope::Once, ..said.clone() };
                self.settle(&said)
            }
            _ => self.settle(said),
        }
    }

    /// Replaces the action that was asked about by an edited one; reports whether it must be asked
    /// about again.
    fn replace(&mut self, old: &ApprovalId, new: ApprovalId, edited: usize) -> bool {
        let before = self.approvals[old].clone();
        let judgement = self.judged_again(&before, edited);
        let (need, others, _) = self.quorum(&judgement);
        let (need, others) = (need.max(before.need), others || before.others);
        let policy = Policy::default();
        let act = &self.pool[edited];
        let approval = Approval {
            action: edited,
            rules: judgement.findings.iter().map(|finding| finding.rule.clone()).collect(),
            risk: judgement.risk.level,
            may_remember: !others && policy.may_remember(&judgement, act, &before.context),
            need,
            others,
            votes: BTreeSet::new(),
            edited: true,
            ..before.clone()
        };
        let anew = !same_thing(act, &self.pool[before.action])
            || approval.risk > before.risk
            || (need, others) != (before.need, before.others);
        self.approvals.get_mut(old).unwrap().state = "cancelled";
        assert!(self.approvals.insert(new, approval).is_none(), "an id was given twice");
        anew
    }

    fn settle(&mut self, said: &Expected) -> Came {
        let now = self.now;
        let until = now.after(Duration::from_secs(self.config.spend_within.into()));
        let remember_for = DAY * self.config.remember_days;
        let counting = self.counting(&self.approvals[&said.approval]);
        let approval = self.approvals.get_mut(&said.approval).unwrap();
        let agent = approval.agent.number;
        let none = History { approved: 0, rejected: 0 };
        if said.say == Answer::Reject {
            approval.state = "rejected";
            if let Some(session) = &approval.session {
                let no = (said.feedback.clone(), now.after(DAY));
                self.declined.insert((session.clone(), approval.action), no);
            }
            self.history.entry(agent).or_insert(none).rejected += 1;
            return Came::Settled("rejected");
        }
        approval.votes = counting;
        approval.votes.insert(said.person);
        if approval.votes.len() < usize::from(approval.need) {
            return Came::Counted(approval.votes.len(), approval.need);
        }
        (approval.state, approval.until) = ("approved", until);
        self.history.entry(agent).or_insert(none).approved += 1;
        let reach = match (said.scope, &approval.session) {
            (Scope::Once, _) | (Scope::Session, None) => None,
            (Scope::Session, Some(session)) => {
                Some((Reach::Session(session.clone()), now.after(DAY)))
            }
            (Scope::Always, _) => {
                Some((Reach::Agent(approval.agent.number), now.after(remember_for)))
            }
            (Scope::Everywhere, _) => Some((Reach::Everywhere, now.after(remember_for))),
        };
        if let Some((reach, expires_at)) = reach {
            let answer = Remembered { rules: approval.rules.clone(), expires_at };
            self.remembered.insert((approval.agent.user, reach, approval.action), answer);
        }
        Came::Settled("approved")
    }

    // Spending.

    pub(super) fn against_spend(
        &self,
        agent: &Agent,
        id: &ApprovalId,
        action: Option<usize>,
    ) -> BTreeSet<Against> {
        let mut against = BTreeSet::new();
        if self.halted {
            against.insert(Against::Halted);
        }
        let Some(approval) = self.of_agent(agent, id) else {
            against.insert(Against::NotFound);
            return against;
        };
        if action != Some(approval.action) {
            against.insert(Against::OtherAction);
        }
        // A person may have edited it into an action that this key may not do.
        if agent.only_shell && self.pool[approval.action].kind() != "shell" {
            against.insert(Against::Scope);
        }
        let runs = |session: &SessionId| {
            let session = &self.sessions[session];
            session.state() == "active"
                && session.deadline.is_none_or(|deadline| self.now < deadline)
        };
        if !approval.session.as_ref().is_none_or(runs) {
            against.insert(Against::Session);
        }
        match approval.state {
            "approved" if self.now < approval.until => {
                if self.counting(approval).len() < usize::from(approval.need) {
                    against.insert(Against::TooFewAgree);
                }
            }
            "pending" if self.now < approval.expires_at => {
                against.insert(Against::Pending);
            }
            "pending" | "approved" => {
                against.insert(Against::Settled("expired"));
            }
            "started" if self.now >= approval.until => {
                against.insert(Against::Settled("unknown"));
            }
            other => {
                against.insert(Against::Settled(other));
            }
        }
        against
    }

    pub(super) fn of_agent(&self, agent: &Agent, id: &ApprovalId) -> Option<&Approval> {
        self.approvals.get(id).filter(|approval| approval.agent.number == agent.number)
    }

    pub(super) fn spend(&mut self, id: &ApprovalId) {
        let (now, usual) = (self.now, self.config.report_within);
        let approval = self.approvals.get_mut(id).unwrap();
        let session = approval.session.as_ref().map(|session| &self.sessions[session]);
        let seconds = session.and_then(|session| session.limits.step_seconds).unwrap_or(usual);
        approval.state = "started";
        approval.until = now.after(Duration::from_secs(seconds.into()));
        self.started += 1;
    }

    pub(super) fn report(&mut self, id: &ApprovalId, outcome: Outcome) {
        let approval = self.approvals.get_mut(id).unwrap();
        approval.state = match outcome {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
        };
        let session = approval.session.clone();
        self.report_in(session.as_ref(), outcome);
    }

    pub(super) fn report_in(&mut self, session: Option<&SessionId>, outcome: Outcome) {
        let (Some(id), Outcome::Failed) = (session, outcome) else { return };
        let session = self.sessions.get_mut(id).unwrap();
        if session.ended.is_none() {
            session.errors += 1;
            if session.limits.errors.is_some_and(|most| session.errors >= most) {
                self.end(id, End::Errors);
            }
        }
    }

    // Operations that end sessions and approvals.

    pub(super) fn end(&mut self, id: &SessionId, reason: End) {
        let session = self.sessions.get_mut(id).unwrap();
        if session.ended.is_none() {
            session.ended = Some(reason);
            (session.steps, session.errors) = (0, 0);
            (session.screenshots, session.files) = (0, 0);
        }
        self.cancel(|approval| approval.session.as_ref() == Some(id));
    }

    pub(super) fn halt(&mut self) {
        self.halted = true;
        self.cancel(|_| true);
    }

    fn cancel(&mut self, which: impl Fn(&Approval) -> bool) {
        for approval in self.approvals.values_mut().filter(|one| one.is_open() && which(one)) {
            approval.state = "cancelled";
        }
    }

    pub(super) fn sweep(&mut self) {
        let now = self.now;
        for approval in self.approvals.values_mut() {
            match approval.state {
                "pending" if now >= approval.expires_at => approval.state = "expired",
                "approved" if now >= approval.until => approval.state = "expired",
                "started" if now >= approval.until => approval.state = "unknown",
                "pending" if approval.escalate_at.is_some_and(|at| now >= at) => {
                    approval.escalated = true;
                }
                _ => {}
            }
        }
        self.end_where(|model, session| {
            let over = session.deadline.is_some_and(|deadline| now >= deadline);
            let gone = session.pid.is_some_and(|pid| !model.alive.contains(&pid));
            match (over, gone) {
                (true, _) => Some(End::Timeout),
                (false, true) => Some(End::ProcessGone),
                (false, false) => None,
            }
        });
    }

    pub(super) fn restart(&mut self, now: Timestamp) {
        self.now = now;
        self.end_where(|model, session| {
            let gone = session.pid.is_some_and(|pid| !model.alive.contains(&pid));
            match (session.credentials, gone) {
                (true, _) => Some(End::CredentialsGone),
                (false, true) => Some(End::ProcessGone),
                (false, false) => None,
            }
        });
    }

    fn end_where(&mut self, why: impl Fn(&Self, &Session) -> Option<End>) {
        let alive = self.sessions.iter().filter(|(_, session)| session.ended.is_none());
        let over: Vec<_> = alive
            .filter_map(|(id, session)| why(self, session).map(|why| (id.clone(), why)))
            .collect();
        for (id, why) in over {
            self.end(&id, why);
        }
    }
}

/// Reports whether two people belong to the same workspace.
pub(super) const fn lives_with(one: usize, other: usize) -> bool {
    (one == STRANGER) == (other == STRANGER)
}
