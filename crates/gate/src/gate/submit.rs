//! An agent proposes: the order of a decision, top to bottom.
//!
//! ```text
//! 1 kill switch, session alive, not over its time   → refused
//! 2 judged by core, as this user and session have it
//! 3 may this key propose this?                      → refused
//! 4 block → refused · allow, warn → permit · confirm, or a question → a person is asked
//! 5 one batch: what it uses up, the record, the question; all or nothing
//! ```

use std::sync::Arc;

use countersign_core::context::History;
use countersign_core::policy::Session as Relaxation;
use countersign_core::{Context, Judgement, Policy, Verdict, judge};

use crate::audit::Subject;
use crate::caller::Caller;
use crate::clock::Timestamp;
use crate::document::{self, Held, Shared};
use crate::event::{Event, What};
use crate::gate::session::works_in;
use crate::gate::{Control, Gate, GateError, Look, TRIES};
use crate::id::{ActionId, UserId};
use crate::permit::Permit;
use crate::proposal::{Proposal, Submitted, Why, binding};
use crate::session::{Session, SessionState, Violation};
use crate::settings::Settings;
use crate::store::Epoch;

mod ask;
mod conditions;
mod record;
mod refuse;

/// What a proposal is decided by.
pub(super) struct Case<'a> {
    pub(super) caller: &'a Caller,
    pub(super) proposal: &'a Proposal,
    pub(super) control: Held<Control>,
    pub(super) session: Option<Shared<Session>>,
    pub(super) settings: Arc<Settings>,
    /// What all of this was recalled in: every batch of the decision names it.
    pub(super) epoch: Epoch,
    pub(super) now: Timestamp,
}

impl Gate {
    /// Judges what an agent proposes.
    ///
    /// # Errors
    /// The store failed, or a caller who was [recognised](Gate::recognise) from memory must be
    /// recognised again. Nothing was allowed.
    pub async fn submit(
        &self,
        caller: &Caller,
        proposal: &Proposal,
    ) -> Result<Submitted, GateError> {
        for _ in 0..TRIES {
            let case = self.case(caller, proposal).await?;
            // Nothing, if something changed while we decided: look again.
            if let Some(submitted) = self.decide(&case).await? {
                return Ok(submitted);
            }
            if caller.epoch.is_some_and(|epoch| epoch != self.store.epoch()) {
                return Err(GateError::Outdated);
            }
        }
        Err(GateError::Busy)
    }

    async fn case<'a>(
        &self,
        caller: &'a Caller,
        proposal: &'a Proposal,
    ) -> Result<Case<'a>, GateError> {
        let epoch = caller.epoch.unwrap_or_else(|| self.store.epoch());
        let control = self.look_at_control(Look::Recall).await?;
        let session = match &proposal.session {
            Some(id) => self.recall::<Session>(id.as_str()).await?,
            None => None,
        };
        let settings: Option<Shared<Settings>> = self.recall(caller.user.as_str()).await?;
        let settings =
            settings.map_or_else(|| Settings::of(caller.user.clone()).into(), |held| held.value);
        Ok(Case { caller, proposal, control, session, settings, epoch, now: self.now() })
    }

    /// Nothing when the ground has shifted.
    ///
    /// What is rare has a box of its own, so that what is common does not carry room for it.
    async fn decide(&self, case: &Case<'_>) -> Result<Option<Submitted>, GateError> {
        if let Some(why) = standing(case) {
            return Box::pin(self.refuse(case, why, None)).await;
        }
        let policy = self.policy_for(case);
        let context = self.context_for(case).await?;
        let (judgement, digest) = self.judged(case, &policy, &context).await?;
        if let Some(needed) = case.caller.missing_scope(&case.proposal.action) {
            return Box::pin(self.refuse(case, Why::Scope(needed), Some(judgement))).await;
        }
        match judgement.verdict {
            Verdict::Block => {
                let why = if blocked_by_origin(&judgement) {
                    Why::Violation(Violation::BlockedOrigin)
                } else {
                    Why::Blocked
                };
                Box::pin(self.refuse(case, why, Some(judgement))).await
            }
            Verdict::Allow | Verdict::Warn if !is_left_open(case) => {
                self.permit(case, &policy, judgement, digest).await
            }
            Verdict::Allow | Verdict::Warn | Verdict::Confirm => {
                Box::pin(self.ask(case, &policy, context, judgement, digest)).await
            }
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
        // A no in this session outweighs a yes that was remembered elsewhere.
        if judgement.verdict == Verdict::Confirm {
            let remembered = Box::pin(async {
                if self.declined(case, &digest).await?.is_some() {
                    return Ok(Vec::new());
                }
                self.remembered(case, &judgement.digest, &digest).await
            });
            let remembered = remembered.await?;
            if !remembered.is_empty() {
                judgement = judge(action, &policy.clone().remembering(remembered), context);
            }
        }
        Ok((self.plain.judgement(judgement), digest))
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
            let count = document::recall_counter(&*self.store, &key).await?;
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
        let mut conditions = self.conditions(case, policy, &judgement);
        let status = status_of(&judgement);
        conditions.batch.records.push(self.planned(case, status, Some(&judgement), Some(&id))?);
        match self.commit(std::mem::take(&mut conditions.batch)).await {
            Ok(_) => {
                self.tell(case, What::ActionAllowed { action: id.clone() });
                let session = case.proposal.session.clone();
                let permit = Permit { id, digest, approval: None, session };
                Ok(Some(Submitted::Permitted(permit, Box::new(judgement))))
            }
            Err(error) => {
                Box::pin(self.stopped(case, error, conditions.whys, Some(judgement))).await
            }
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
}

impl Case<'_> {
    pub(super) fn subject(&self) -> Subject {
        Subject {
            owner: Some(self.caller.user.to_string()),
            workspace: Some(self.caller.workspace.to_string()),
            session: self.proposal.session.as_ref().map(ToString::to_string),
        }
    }

    /// The session, unless it is somebody else's.
    fn own_session(&self) -> Option<&Shared<Session>> {
        self.session.as_ref().filter(|session| works_in(self.caller, &session.value))
    }
}

/// Why nothing at all may happen right now.
fn standing(case: &Case<'_>) -> Option<Why> {
    if case.control.value.halted {
        return Some(Why::Halted);
    }
    case.proposal.session.as_ref()?;
    let Some(session) = case.own_session() else {
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

/// The word on record for an action that was let through: a person's confirmation may have been
/// left out by the session or given earlier.
fn status_of(judgement: &Judgement) -> &'static str {
    let mut before = Verdict::Allow;
    for step in &judgement.trace {
        if before == Verdict::Confirm && step.said < Verdict::Confirm {
            match step.layer.as_str() {
                "session" => return "auto_confirmed",
                "remembered" => return "remembered",
                _ => {}
            }
        }
        before = step.said;
    }
    "allowed"
}

/// Whether an agent asks a person and nobody has answered: rules that were lowered and an earlier
/// yes say nothing about this question. Whoever started an `auto_confirm` session, or switched on
/// autonomous mode, has answered.
fn is_left_open(case: &Case<'_>) -> bool {
    let session = case.own_session().map(|session| &session.value.plan);
    let answered = session.is_some_and(|plan| plan.auto_confirm) || case.settings.autonomous;
    case.proposal.action.is_question() && !answered
}

fn blocked_by_origin(judgement: &Judgement) -> bool {
    judgement.findings.first().is_some_and(|finding| finding.rule.contains("origin"))
}

/// Where the questions that wait for one person are counted.
pub(super) fn pending_key(user: &UserId) -> String {
    ["user:", user.as_str(), ":pending"].concat()
}

/// Where one person's answers are counted.
pub(super) fn answers_key(user: &UserId, what: &str) -> String {
    ["user:", user.as_str(), ":", what].concat()
}
