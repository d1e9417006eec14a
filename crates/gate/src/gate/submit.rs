//! An agent proposes: the order of a decision, top to bottom.
//!
//! ```text
//! 1 kill switch, session alive, not over its time   → refused
//! 2 judged by core, as this user and session have it
//! 3 may this key propose this?                      → refused
//! 4 block → refused · allow, warn → permit · confirm → a person is asked
//! 5 one batch: what it uses up, the record, the question; all or nothing
//! ```

use std::time::Duration;

use countersign_core::action::Action;
use countersign_core::context::History;
use countersign_core::policy::Session as Relaxation;
use countersign_core::{Context, Judgement, Policy, Verdict, app, judge};
use serde_json::{Value, json};

use crate::approval::{self, Approval, describe, subject_of};
use crate::audit::{self, Draft, Subject};
use crate::caller::Caller;
use crate::clock::Timestamp;
use crate::document::{self, Held};
use crate::event::{Event, What};
use crate::gate::control::failed;
use crate::gate::{Control, Gate, GateError, TRIES};
use crate::id::{ActionId, ApprovalId};
use crate::key::ApiKey;
use crate::permit::Permit;
use crate::proposal::{Proposal, Refusal, Submitted, Waiting, Why, binding};
use crate::redacted;
use crate::scope;
use crate::session::{Response, Session, SessionState, Violation};
use crate::settings::{Logging, Settings};
use crate::store::{Batch, CommitError, Count, CountStep, Kind, Pace, Query};
use crate::user::Device;

/// What a proposal is decided by.
pub(super) struct Case<'a> {
    pub(super) caller: &'a Caller,
    pub(super) proposal: &'a Proposal,
    pub(super) control: Held<Control>,
    pub(super) session: Option<Held<Session>>,
    pub(super) settings: Settings,
    pub(super) now: Timestamp,
}

/// What a batch relies on, and why it may not happen.
#[derive(Default)]
struct Conditions {
    batch: Batch,
    whys: Vec<(String, Why)>,
}

impl Gate {
    /// Judges what an agent proposes.
    ///
    /// # Errors
    /// The store failed. Nothing was allowed.
    pub async fn submit(
        &self,
        caller: &Caller,
        proposal: Proposal,
    ) -> Result<Submitted, GateError> {
        for _ in 0..TRIES {
            let case = self.case(caller, &proposal).await?;
            match self.decide(&case).await? {
                Some(submitted) => return Ok(submitted),
                // Something changed while we decided: look again.
                None => continue,
            }
        }
        Err(GateError::Busy)
    }

    async fn case<'a>(
        &self,
        caller: &'a Caller,
        proposal: &'a Proposal,
    ) -> Result<Case<'a>, GateError> {
        let control = self.control().await?;
        let session = match &proposal.session {
            Some(id) => self.get::<Session>(id.as_str()).await?,
            None => None,
        };
        let settings = self.settings_of(&caller.user).await?;
        Ok(Case { caller, proposal, control, session, settings, now: self.now() })
    }

    /// Nothing when the ground has shifted.
    async fn decide(&self, case: &Case<'_>) -> Result<Option<Submitted>, GateError> {
        if let Some(why) = standing(case) {
            return self.refuse(case, why, None).await;
        }
        let policy = self.policy_for(case);
        let context = self.context_for(case).await?;
        let (judgement, digest) = self.judged(case, &policy, &context).await?;
        if let Some(needed) = case.missing_scope() {
            return self.refuse(case, Why::Scope(needed), Some(judgement)).await;
        }
        match judgement.verdict {
            Verdict::Block => {
                let why = match blocked_by_origin(&judgement) {
                    true => Why::Violation(Violation::BlockedOrigin),
                    false => Why::Blocked,
                };
                self.refuse(case, why, Some(judgement)).await
            }
            Verdict::Allow | Verdict::Warn => self.permit(case, &policy, judgement, digest).await,
            Verdict::Confirm => self.ask(case, &policy, context, judgement, digest).await,
        }
    }

    /// Judges, and once more with a remembered yes if that is what it takes. The second value is
    /// what an approval is bound to.
    async fn judged(
        &self,
        case: &Case<'_>,
        policy: &Policy,
        context: &Context,
    ) -> Result<(Judgement, String), GateError> {
        let action = &case.proposal.action;
        let mut judgement = judge(action, policy, context);
        let digest = binding(&judgement.digest, &case.proposal.scripts);
        if judgement.verdict == Verdict::Confirm {
            let remembered = self.remembered(case, &judgement.digest, &digest).await?;
            if !remembered.is_empty() {
                judgement = judge(action, &policy.clone().remembering(remembered), context);
            }
        }
        Ok((redacted::judgement(judgement), digest))
    }

    pub(super) fn policy_for(&self, case: &Case<'_>) -> Policy {
        let plan = case.session.as_ref().map(|session| &session.value.plan);
        self.policy().choosing(case.settings.skills.clone()).in_session(Relaxation {
            auto_confirm: plan.is_some_and(|plan| plan.auto_confirm),
            autonomous: case.settings.autonomous,
            programmatic: case.caller.is_program() && !case.settings.confirm_programs,
        })
    }

    /// What the agent says is true around its action, except what is not for it to say.
    async fn context_for(&self, case: &Case<'_>) -> Result<Context, GateError> {
        let mut context = case.proposal.context.clone();
        let plan = case.session.as_ref().map(|session| session.value.plan.clone());
        let plan = plan.unwrap_or_default();
        (context.profile, context.mode) = (plan.profile, plan.mode);
        context.allowed_origins = plan.allowed_origins;
        context.history = Some(self.history_of(case).await?);
        Ok(context)
    }

    async fn history_of(&self, case: &Case<'_>) -> Result<History, GateError> {
        let read = async |what: &str| {
            let key = answers_key(&case.caller.user, what);
            let count = self.store.counter(&key).await?;
            Ok::<_, GateError>(u32::try_from(count).unwrap_or(u32::MAX))
        };
        Ok(History { approved: read("approved").await?, rejected: read("rejected").await? })
    }

    /// Lets it through.
    async fn permit(
        &self,
        case: &Case<'_>,
        policy: &Policy,
        judgement: Judgement,
        digest: String,
    ) -> Result<Option<Submitted>, GateError> {
        let id = ActionId::draw(&self.clock)?;
        let mut conditions = self.conditions(case, policy, &judgement)?;
        let status = if is_auto_confirmed(&judgement) { "auto_confirmed" } else { "allowed" };
        conditions.batch.records.push(self.planned(case, status, Some(&judgement), Some(&id))?);
        match self.commit(std::mem::take(&mut conditions.batch)).await {
            Ok(_) => {
                self.tell(case, What::ActionAllowed { action: id.clone() });
                let session = case.proposal.session.clone();
                let permit = Permit { id, digest, approval: None, session };
                Ok(Some(Submitted::Permitted(permit, Box::new(judgement))))
            }
            Err(error) => self.stopped(case, error, conditions.whys, Some(judgement)).await,
        }
    }

    /// Asks a person.
    async fn ask(
        &self,
        case: &Case<'_>,
        policy: &Policy,
        context: Context,
        judgement: Judgement,
        digest: String,
    ) -> Result<Option<Submitted>, GateError> {
        if let Some(feedback) = self.declined(case, &digest).await? {
            return self.refuse(case, Why::Declined(feedback), Some(judgement)).await;
        }
        if let Some(waiting) = self.already_asked(case, &digest).await? {
            let approval = waiting.request;
            let (id, expires_at) = (approval.id, approval.expires_at);
            let waiting = Waiting { approval: id, expires_at, judgement };
            return Ok(Some(Submitted::Waiting(Box::new(waiting))));
        }
        if !self.can_ask(case).await? {
            return self.refuse(case, Why::NobodyToAsk, Some(judgement)).await;
        }
        let approval = self.question(case, policy, context, &judgement, &digest)?;
        let (id, expires_at) = (approval.request.id.clone(), approval.request.expires_at);
        let mut conditions = self.conditions(case, policy, &judgement)?;
        self.add_question(case, &approval, &mut conditions)?;
        let status = "waiting";
        let action = approval.action_id();
        let batch = &mut conditions.batch;
        batch.records.push(self.planned(case, status, Some(&judgement), Some(&action))?);
        batch.records.push(self.critical_point(case, &judgement, &id)?);
        match self.commit(std::mem::take(batch)).await {
            Ok(_) => {
                self.tell(case, What::ApprovalRequired { approval: id.clone() });
                let waiting = Waiting { approval: id, expires_at, judgement };
                Ok(Some(Submitted::Waiting(Box::new(waiting))))
            }
            Err(error) => self.stopped(case, error, conditions.whys, Some(judgement)).await,
        }
    }

    /// Whether there is anybody who could answer: a signed-in device, a channel, a connection.
    async fn can_ask(&self, case: &Case<'_>) -> Result<bool, GateError> {
        let user = &case.caller.user;
        if self.has_channel() || self.is_present(user) {
            return Ok(true);
        }
        let query = Query {
            owner: Some(user.to_string()),
            states: vec!["approved"],
            ..Query::of(Kind::Device)
        };
        let devices = document::find::<Device>(&*self.store, &query).await?;
        Ok(devices.iter().any(|held| held.value.is_console()))
    }

    fn question(
        &self,
        case: &Case<'_>,
        policy: &Policy,
        context: Context,
        judgement: &Judgement,
        digest: &str,
    ) -> Result<Approval, GateError> {
        let action = &case.proposal.action;
        let (quorum, escalate_at) = approval::quorum(&self.config.quorum, judgement, case.now);
        let question = approval::Question {
            id: ApprovalId::draw(&self.clock)?,
            user: case.caller.user.clone(),
            workspace: case.caller.workspace.clone(),
            session: case.proposal.session.clone(),
            key: case.caller.key_id().cloned(),
            action,
            digest,
            risk: judgement.risk.level,
            created_at: case.now,
            expires_at: case.now.after(self.patience(case, policy, &context)),
            escalate_at,
            quorum,
            shown: approval::Shown {
                reason: judgement.reason.clone(),
                instead: judgement.findings.iter().find_map(|finding| finding.instead.clone()),
                rules: judgement.findings.iter().map(|finding| finding.rule.clone()).collect(),
                may_remember: policy.may_remember(judgement, action, &context),
                context,
                reasoning: case.proposal.reasoning.clone(),
            },
        };
        Ok(Approval::ask(question, &self.keyring, &self.clock)?)
    }

    /// How long a person has: longer when they are away, unless somebody has set a time.
    fn patience(&self, case: &Case<'_>, policy: &Policy, context: &Context) -> Duration {
        let action = &case.proposal.action;
        let seconds = if self.is_present(&case.caller.user) || self.has_channel() {
            policy.approval_timeout(action, context)
        } else {
            policy.approval_timeout_away(action, context)
        };
        Duration::from_secs(seconds.into())
    }

    fn add_question(
        &self,
        case: &Case<'_>,
        approval: &Approval,
        conditions: &mut Conditions,
    ) -> Result<(), GateError> {
        let most = self.config.most_pending;
        let key = pending_key(&case.caller.user);
        conditions.count(&key, CountStep::Up { most }, Why::TooManyPending(most));
        let (key, why) = match &case.session {
            Some(session) => {
                (session.value.counter("prompts"), Why::Violation(Violation::PromptFlood))
            }
            None => (format!("user:{}:prompts", case.caller.user), Why::TooFast("questions")),
        };
        conditions.pace(Pace { key, rate: self.config.prompts, now: case.now }, why);
        conditions.batch.writes.push(document::insert(approval)?);
        Ok(())
    }

    /// The ground a decision stands on, and what the action uses up.
    fn conditions(
        &self,
        case: &Case<'_>,
        policy: &Policy,
        judgement: &Judgement,
    ) -> Result<Conditions, GateError> {
        let mut conditions = Conditions::default();
        conditions.batch.unchanged.push(case.control.unchanged());
        if let Some(session) = &case.session {
            conditions.batch.unchanged.push(session.unchanged());
            let used = session.value.uses(&case.proposal.action, case.now);
            for (count, violation) in used.counts {
                conditions.count(&count.key, count.step, Why::Violation(violation));
            }
            for (pace, violation) in used.paces {
                conditions.pace(pace, Why::Violation(violation));
            }
        }
        if let Some(key) = &case.caller.key {
            let uses = CountStep::Up { most: u64::MAX };
            conditions.count(&ApiKey::counter(&key.id, "uses"), uses, Why::TooFast("key"));
            if changes_something(case, policy, judgement) {
                let pace = Pace {
                    key: ApiKey::counter(&key.id, "writes"),
                    rate: key.writes,
                    now: case.now,
                };
                conditions.pace(pace, Why::TooFast("changes with this key"));
            }
        }
        self.add_rates(case, policy, &mut conditions);
        Ok(conditions)
    }

    fn add_rates(&self, case: &Case<'_>, policy: &Policy, conditions: &mut Conditions) {
        let rates = self.config.rates;
        let user = &case.caller.user;
        let mut add = |what: &'static str, name: &str, rate| {
            if let Some(rate) = rate {
                // Names are the agent's own words, and keys are kept.
                let key = format!("user:{user}:{what}:{}", redacted::text(name));
                conditions.pace(Pace { key, rate, now: case.now }, Why::TooFast(what));
            }
        };
        if let Action::Skill { skill, .. } = &case.proposal.action {
            add("skill", skill, rates.skill);
            add("provider", policy.provider(skill), rates.provider);
        }
        if let Some(model) = &case.proposal.model {
            add("model", model, rates.model);
        }
    }

    /// A condition did not hold: which one, and what follows from it.
    async fn stopped(
        &self,
        case: &Case<'_>,
        error: CommitError,
        whys: Vec<(String, Why)>,
        judgement: Option<Judgement>,
    ) -> Result<Option<Submitted>, GateError> {
        let (key, wait) = match error {
            CommitError::Conflict { .. } => return Ok(None),
            CommitError::Store(error) => return Err(error.into()),
            CommitError::Full { key, .. } => (key, None),
            CommitError::TooFast { key, wait } => (key, Some(wait)),
        };
        let Some((_, why)) = whys.into_iter().find(|(known, _)| *known == key) else {
            return Err(GateError::Busy);
        };
        self.refuse_for_now(case, why, judgement, wait).await
    }

    async fn refuse(
        &self,
        case: &Case<'_>,
        why: Why,
        judgement: Option<Judgement>,
    ) -> Result<Option<Submitted>, GateError> {
        self.refuse_for_now(case, why, judgement, None).await
    }

    /// Refuses, on record. What a violation does to the session is done here too.
    async fn refuse_for_now(
        &self,
        case: &Case<'_>,
        why: Why,
        judgement: Option<Judgement>,
        retry_after: Option<Duration>,
    ) -> Result<Option<Submitted>, GateError> {
        let violation = match &why {
            Why::Violation(violation) => Some(*violation),
            Why::Blocked => Some(Violation::BlockedAction),
            Why::TooFast(_) => Some(Violation::RateLimit),
            Why::Halted
            | Why::NoSession
            | Why::Ended(_)
            | Why::Paused
            | Why::Scope(_)
            | Why::TooManyPending(_)
            | Why::NobodyToAsk
            | Why::Declined(_) => None,
        };
        let mut batch = Batch::default();
        batch.records.push(self.planned(case, status_of(&why), judgement.as_ref(), None)?);
        if let Some(violation) = violation {
            batch.records.push(self.violated(case, violation)?);
        }
        if let Some(key) = case.caller.key_id() {
            let step = CountStep::Up { most: u64::MAX };
            batch.counts.push(Count { key: ApiKey::counter(key, "refused"), step });
        }
        // A refused action is a step too, or an agent that is told no could try for ever.
        let counts = |session: &&Held<Session>| {
            let over = matches!(violation, Some(Violation::MaxSteps));
            case.owns(session) && session.value.is_alive() && !over
        };
        if let Some(session) = case.session.as_ref().filter(counts) {
            let most = session.value.most_steps().map_or(u64::MAX, u64::from);
            batch
                .counts
                .push(Count { key: session.value.counter("steps"), step: CountStep::Up { most } });
        }
        match self.commit(batch).await {
            Ok(_) => {}
            // Out of steps while being refused: that ends the session.
            Err(CommitError::Full { .. }) => {
                let why = Why::Violation(Violation::MaxSteps);
                return Box::pin(self.refuse(case, why, judgement)).await;
            }
            Err(error) => return Err(failed(error)),
        }
        if let Some(violation) = violation {
            self.respond(case, violation).await?;
        }
        Ok(Some(Submitted::Refused(Box::new(Refusal { why, judgement, retry_after }))))
    }

    async fn respond(&self, case: &Case<'_>, violation: Violation) -> Result<(), GateError> {
        let Some(session) = &case.session else { return Ok(()) };
        if !case.owns(session) {
            return Ok(());
        }
        match violation.response() {
            Response::Wait | Response::Skip => Ok(()),
            Response::Pause => self.pause(&session.value.id).await,
            Response::End(reason) => self.end(&session.value.id, reason).await,
        }
    }

    fn tell(&self, case: &Case<'_>, what: What) {
        self.bus.tell(Event {
            user: Some(case.caller.user.clone()),
            workspace: Some(case.caller.workspace.clone()),
            session: case.proposal.session.clone(),
            what,
        });
    }

    /// What goes on record of a proposal, as much as the level of logging asks for.
    fn planned(
        &self,
        case: &Case<'_>,
        status: &str,
        judgement: Option<&Judgement>,
        id: Option<&ActionId>,
    ) -> Result<Draft, GateError> {
        let action = &case.proposal.action;
        let mut payload = json!({
            "action": subject_of(action),
            "status": status,
            "key": case.caller.key_id(),
            "id": id,
        });
        if let (Logging::Enhanced, Value::Object(fields)) = (self.logging(case), &mut payload) {
            let (description, details) = describe(action);
            fields.insert("description".to_owned(), description.into());
            fields.insert("details".to_owned(), details.into());
            fields.insert("target".to_owned(), redacted::action(action));
            let reasoning = case.proposal.reasoning.as_deref().map(redacted::text);
            fields.insert("reasoning".to_owned(), reasoning.into());
            if let Some(judgement) = judgement {
                fields.insert("verdict".to_owned(), judgement.verdict.as_str().into());
                fields.insert("risk".to_owned(), judgement.risk.level.as_str().into());
                fields.insert("reason".to_owned(), redacted::text(&judgement.reason).into());
                let rules: Vec<_> = judgement.findings.iter().map(|f| f.rule.clone()).collect();
                fields.insert("rules".to_owned(), rules.into());
            }
        }
        Ok(self.record(audit::Event::ActionPlanned, case.subject(), payload)?)
    }

    fn critical_point(
        &self,
        case: &Case<'_>,
        judgement: &Judgement,
        approval: &ApprovalId,
    ) -> Result<Draft, GateError> {
        let category = judgement.findings.first().map(|finding| finding.category.as_str());
        let payload = json!({
            "approval": approval,
            "category": category,
            "risk": judgement.risk.level.as_str(),
        });
        Ok(self.record(audit::Event::CriticalPoint, case.subject(), payload)?)
    }

    fn violated(&self, case: &Case<'_>, violation: Violation) -> Result<Draft, GateError> {
        let action = subject_of(&case.proposal.action);
        let payload = json!({
            "type": violation.as_str(),
            "message": Why::Violation(violation).line(),
            "details": {"action": action},
        });
        Ok(self.record(audit::Event::Violation, case.subject(), payload)?)
    }

    fn logging(&self, case: &Case<'_>) -> Logging {
        match (self.config.logging, case.settings.logging) {
            (Logging::Minimal, Logging::Minimal) => Logging::Minimal,
            (Logging::Enhanced, _) | (_, Logging::Enhanced) => Logging::Enhanced,
        }
    }
}

impl Case<'_> {
    pub(super) fn subject(&self) -> Subject {
        Subject {
            owner: Some(self.caller.user.to_string()),
            workspace: Some(self.caller.workspace.to_string()),
            session: self.proposal.session.as_ref().map(ToString::to_string),
        }
    }

    /// A session of somebody else is none.
    fn owns(&self, session: &Held<Session>) -> bool {
        session.value.user == self.caller.user && session.value.workspace == self.caller.workspace
    }

    /// The scope the key would need, if it does not have it.
    fn missing_scope(&self) -> Option<String> {
        let key = self.caller.key.as_ref()?;
        let needed = scope::needed(&self.proposal.action);
        let covered = key.scopes.iter().any(|scope| scope.allows(&needed));
        (!covered).then(|| redacted::scope(&needed))
    }
}

impl Conditions {
    fn count(&mut self, key: &str, step: CountStep, why: Why) {
        self.batch.counts.push(Count { key: key.to_owned(), step });
        self.whys.push((key.to_owned(), why));
    }

    fn pace(&mut self, pace: Pace, why: Why) {
        self.whys.push((pace.key.clone(), why));
        self.batch.paces.push(pace);
    }
}

/// Why nothing at all may happen right now.
fn standing(case: &Case<'_>) -> Option<Why> {
    if case.control.value.halted {
        return Some(Why::Halted);
    }
    case.proposal.session.as_ref()?;
    let Some(session) = case.session.as_ref().filter(|session| case.owns(session)) else {
        return Some(Why::NoSession);
    };
    match session.value.state {
        SessionState::Ended { reason, .. } => Some(Why::Ended(reason)),
        SessionState::Paused { .. } => Some(Why::Paused),
        SessionState::Active => {
            let over = session.value.deadline.is_some_and(|deadline| case.now >= deadline);
            over.then_some(Why::Violation(Violation::Timeout))
        }
    }
}

const fn status_of(why: &Why) -> &'static str {
    match why {
        Why::Halted => "refused_halted",
        Why::NoSession | Why::Ended(_) => "refused_no_session",
        Why::Paused => "refused_paused",
        Why::Violation(_) => "refused_limit",
        Why::Scope(_) => "refused_scope",
        Why::TooFast(_) => "refused_rate",
        Why::TooManyPending(_) => "refused_pending",
        Why::NobodyToAsk => "refused_nobody",
        Why::Declined(_) => "refused_declined",
        Why::Blocked => "blocked",
    }
}

/// Whether a confirmation was given without asking.
fn is_auto_confirmed(judgement: &Judgement) -> bool {
    let mut before = Verdict::Allow;
    for step in &judgement.trace {
        if before == Verdict::Confirm && step.said < Verdict::Confirm {
            return true;
        }
        before = step.said;
    }
    false
}

fn blocked_by_origin(judgement: &Judgement) -> bool {
    judgement.findings.first().is_some_and(|finding| finding.rule.contains("origin"))
}

/// Whether an action changes something, for the limit on a key's writes.
fn changes_something(case: &Case<'_>, policy: &Policy, judgement: &Judgement) -> bool {
    match &case.proposal.action {
        Action::Skill { skill, .. } => {
            policy.skill(skill).is_none_or(|skill| skill.access != app::Access::Read)
        }
        Action::FileWrite { .. } | Action::FileDelete { .. } => true,
        Action::HttpRequest { method, .. } => {
            !["GET", "HEAD", "OPTIONS"].iter().any(|safe| method.eq_ignore_ascii_case(safe))
        }
        Action::Shell { .. }
        | Action::Code { .. }
        | Action::FileRead { .. }
        | Action::FileList { .. }
        | Action::Navigate { .. }
        | Action::Ui { .. }
        | Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Download { .. }
        | Action::ExportPdf { .. }
        | Action::Login { .. }
        | Action::Notify { .. }
        | Action::Applescript { .. }
        | Action::Tool { .. }
        | Action::Named { .. } => !judgement.findings.is_empty(),
    }
}

/// Where the questions that wait for one person are counted.
pub(super) fn pending_key(user: &crate::id::UserId) -> String {
    format!("user:{user}:pending")
}

/// Where one person's answers are counted.
pub(super) fn answers_key(user: &crate::id::UserId, what: &str) -> String {
    format!("user:{user}:{what}")
}
