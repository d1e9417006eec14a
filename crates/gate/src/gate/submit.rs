//! Proposals of agents: the order of a decision, top to bottom.
//!
//! ```text
//! 1 kill switch, session alive, not over its time   → refused
//! 2 judged by core, as this user and session have it
//! 3 may this key propose this?                      → refused
//! 4 block → refused · allow, warn → permit · confirm, or a question → a person is asked
//!   what needs other people is asked, whatever one person has relaxed
//! 5 one batch: what it uses up, the record, the question; all or nothing
//! ```

use std::sync::Arc;

use countersign_core::context::History;
use countersign_core::policy::Session as Relaxation;
use countersign_core::{Action, Context, Judgement, Policy, Verdict, judge};

use crate::audit::RecordOwner;
use crate::caller::Caller;
use crate::clock::Timestamp;
use crate::document::{self, Shared, Versioned};
use crate::event::{Event, What};
use crate::gate::running::Running;
use crate::gate::session::{not_running, works_in};
use crate::gate::{Control, Gate, GateError, Lookup, TRIES};
use crate::id::{ActionId, KeyId, UserId};
use crate::judging::{Lane, NotJudged};
use crate::permit::{Basis, Permit};
use crate::preferences::Preferences;
use crate::proposal::{Proposal, Submitted, Why, binding};
use crate::session::{Session, Violation};
use crate::store::{Epoch, Kind, Unchanged};

mod ask;
mod basis;
mod conditions;
mod others;
mod record;
mod refuse;

use basis::{Given, basis, is_left_open, is_outside_origins, status_of};

/// The inputs of a decision on a proposal.
pub(super) struct Submission<'a> {
    pub(super) caller: &'a Caller,
    pub(super) proposal: &'a Proposal,
    pub(super) control: Versioned<Control>,
    pub(super) session: Option<Shared<Session>>,
    pub(super) settings: Arc<Preferences>,
    /// The versions from which the caller's rights and settings were read: every permit and
    /// question names them.
    pub(super) rests_on: Vec<Unchanged>,
    /// The epoch of these reads: every batch of the decision names it.
    pub(super) epoch: Epoch,
    pub(super) now: Timestamp,
}

impl Gate {
    /// Decides on a proposal of an agent.
    ///
    /// # Errors
    /// The store failed, or a caller who was [recognised](Gate::recognise) from the cache must be
    /// recognised again. Nothing was allowed.
    pub async fn submit(
        &self,
        caller: &Caller,
        proposal: &Proposal,
    ) -> Result<Submitted, GateError> {
        for _ in 0..TRIES {
            let submission = self.submission(caller, proposal).await?;
            // `None` if something changed during the decision: read again.
            if let Some(submitted) = self.decide(&submission).await? {
                return Ok(submitted);
            }
            if caller.epoch.is_some_and(|epoch| epoch != self.store.epoch()) {
                return Err(GateError::Outdated);
            }
        }
        Err(GateError::Busy)
    }

    async fn submission<'a>(
        &self,
        caller: &'a Caller,
        proposal: &'a Proposal,
    ) -> Result<Submission<'a>, GateError> {
        let epoch = caller.epoch.unwrap_or_else(|| self.store.epoch());
        let control = self.look_at_control(Lookup::Cached).await?;
        let session = match &proposal.session {
            Some(id) => self.get_cached::<Session>(id.as_str()).await?,
            None => None,
        };
        let mut rests_on = self.rights_recalled(caller).await?;
        let settings: Option<Shared<Preferences>> = self.get_cached(caller.user.as_str()).await?;
        let version = settings.as_ref().map_or(0, |versioned| versioned.version);
        let (kind, id) = (Kind::Settings, caller.user.to_string());
        rests_on.push(Unchanged { kind, id, version });
        let settings = settings.map_or_else(
            || Preferences::of(caller.user.clone()).into(),
            |versioned| versioned.value,
        );
        Ok(Submission {
            caller,
            proposal,
            control,
            session,
            settings,
            rests_on,
            epoch,
            now: self.now(),
        })
    }

    /// The caller's rights from the cache. A refusal is never based on the cache.
    async fn rights_recalled(&self, caller: &Caller) -> Result<Vec<Unchanged>, GateError> {
        match self.rights_of(caller, Lookup::Cached).await {
            Err(GateError::Revoked(_)) => self.rights_of(caller, Lookup::Fresh).await,
            rights => rights,
        }
    }

    /// Decides; returns `None` if something changed meanwhile.
    ///
    /// Rare paths are boxed, so that the futures of common ones do not reserve space for them.
    async fn decide(&self, submission: &Submission<'_>) -> Result<Option<Submitted>, GateError> {
        if let Some(why) = standing(submission) {
            return Box::pin(self.refuse(submission, why, None)).await;
        }
        let policy = self.policy_for(submission);
        let context = self.context_for(submission).await?;
        let (judgement, digest) = match self.judged(submission, &policy, &context).await {
            Ok(judged) => judged,
            Err(GateError::NotJudged(NotJudged::OverBudget(wait))) => {
                return Box::pin(self.refuse_for_now(submission, LARGE, None, Some(wait))).await;
            }
            Err(error) => return Err(error),
        };
        if let Some(needed) = submission.caller.missing_scope(&submission.proposal.action) {
            return Box::pin(self.refuse(submission, Why::Scope(needed), Some(judgement))).await;
        }
        if judgement.verdict != Verdict::Block && self.lacks_credential(submission) {
            return Box::pin(self.refuse(submission, Why::NoCredential, Some(judgement))).await;
        }
        match judgement.verdict {
            Verdict::Block => {
                let why = if is_outside_origins(&judgement) {
                    Why::Violation(Violation::BlockedOrigin)
                } else {
                    Why::Blocked
                };
                Box::pin(self.refuse(submission, why, Some(judgement))).await
            }
            Verdict::Allow | Verdict::Warn if !is_left_open(submission, &policy) => {
                let lane = Lane::of_caller(submission.caller);
                match self
                    .for_others(&lane, &submission.proposal.action, &context, &judgement)
                    .await?
                {
                    Some(strict) => {
                        Box::pin(self.ask(submission, &policy, context, strict, digest)).await
                    }
                    None => self.permit(submission, &policy, judgement, digest).await,
                }
            }
            Verdict::Allow | Verdict::Warn | Verdict::Confirm => {
                let (action, lane) =
                    (&submission.proposal.action, Lane::of_caller(submission.caller));
                let needed = self.quorum_for(&lane, action, &context, &judgement, submission.now);
                let (needed, _) = Box::pin(needed).await?;
                if let Some(approval) = self.take_over(submission, &judgement, needed) {
                    let given = Given { by: Basis::HandedOver, approval: Some(approval) };
                    return Box::pin(
                        self.let_through(submission, &policy, judgement, digest, given),
                    )
                    .await;
                }
                Box::pin(self.ask(submission, &policy, context, judgement, digest)).await
            }
        }
    }

    /// Judges, and again if a remembered approval applies. The second value is the digest to which
    /// an approval is bound.
    async fn judged(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        context: &Context,
    ) -> Result<(Judgement, String), GateError> {
        let action = &submission.proposal.action;
        let lane = Lane::of_caller(submission.caller);
        let plain = Arc::clone(&self.plain);
        let told = move |action: &_, policy: &_, context: &_| {
            plain.judgement(judge(action, policy, context))
        };
        let mut judgement = self.apart(&lane, action, policy, context, told.clone()).await?;
        let digest = binding(&judgement.digest, &submission.proposal.scripts);
        // A rejection in this session overrides an approval remembered elsewhere. An action that
        // may not be remembered is asked about, whatever the store contains.
        if policy.may_remember(&judgement, action, context) {
            let remembered = Box::pin(async {
                if self.declined(submission, &digest).await?.is_some() {
                    return Ok(Vec::new());
                }
                self.remembered(submission, &judgement.digest, &digest).await
            });
            let remembered = remembered.await?;
            if !remembered.is_empty() {
                let policy = policy.clone().remembering(remembered);
                judgement = self.apart(&lane, action, &policy, context, told).await?;
            }
        }
        Ok((judgement, digest))
    }

    pub(super) fn policy_for(&self, submission: &Submission<'_>) -> Policy {
        let plan = submission.session.as_ref().map(|session| &session.value.plan);
        let rules = plan.and_then(|plan| plan.auto_confirm_rules.clone());
        let policy = self.policy_in(&submission.caller.workspace).auto_confirming(rules);
        policy.choosing(submission.settings.skills.clone()).in_session(Relaxation {
            auto_confirm: plan.is_some_and(|plan| plan.auto_confirm),
            autonomous: submission.settings.autonomous,
            programmatic: submission.caller.is_program() && !submission.settings.confirm_programs,
        })
    }

    /// The agent's description of its surroundings, with the facts replaced that are not the
    /// agent's to state.
    async fn context_for(&self, submission: &Submission<'_>) -> Result<Context, GateError> {
        let mut context = submission.proposal.context.clone();
        let plan = submission.session.as_ref().map(|session| session.value.plan.clone());
        let plan = plan.unwrap_or_default();
        (context.profile, context.mode) = (plan.profile, plan.mode);
        context.allowed_origins = plan.allowed_origins;
        context.history = Some(self.history_of(submission).await?);
        for facts in context.paths.values_mut() {
            (facts.made_in_session, facts.empty) = (false, false);
        }
        Ok(context)
    }

    async fn history_of(&self, submission: &Submission<'_>) -> Result<History, GateError> {
        let read = async |what: &str| {
            let agent = submission.caller.key.as_ref().map(|key| key.line());
            let key = answers_key(&submission.caller.user, agent, what);
            let count = document::get_cached_counter(&*self.store, &key).await?;
            Ok::<_, GateError>(u32::try_from(count).unwrap_or(u32::MAX))
        };
        Ok(History { approved: read("approved").await?, rejected: read("rejected").await? })
    }

    /// Reports whether this is a sign-in for which the session lacks a credential.
    fn lacks_credential(&self, submission: &Submission<'_>) -> bool {
        let Action::Login { site } = &submission.proposal.action else { return false };
        let session = submission.proposal.session.as_ref();
        session.is_none_or(|session| self.vault.fields(session, site).is_empty())
    }

    /// Allows an action.
    async fn permit(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        judgement: Judgement,
        digest: String,
    ) -> Result<Option<Submitted>, GateError> {
        let given = Given { by: basis(&judgement), approval: None };
        self.let_through(submission, policy, judgement, digest, given).await
    }

    async fn let_through(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        judgement: Judgement,
        digest: String,
        given: Given,
    ) -> Result<Option<Submitted>, GateError> {
        let id = ActionId::draw(&self.clock)?;
        let mut conditions = self.conditions(submission, policy, &judgement);
        let running = Running::of(submission, &id);
        let report_by = running.as_ref().map(|running| running.report_by);
        if let Some(running) = &running {
            conditions.batch.writes.push(document::insert(running)?);
        }
        let status = status_of(given.by);
        conditions.batch.records.push(self.planned(
            submission,
            status,
            Some(&judgement),
            Some(&id),
        )?);
        match self.commit(std::mem::take(&mut conditions.batch)).await {
            Ok(_) => {
                self.tell(submission, What::ActionAllowed { action: id.clone() });
                let session = submission.proposal.session.clone();
                let Given { by, approval } = given;
                let permit = Permit { id, digest, approval, session, report_by, by };
                Ok(Some(Submitted::Permitted(permit, Box::new(judgement))))
            }
            Err(error) => {
                Box::pin(self.stopped(submission, error, conditions.whys, Some(judgement))).await
            }
        }
    }

    fn tell(&self, submission: &Submission<'_>, what: What) {
        self.bus.tell(Event {
            user: Some(submission.caller.user.clone()),
            workspace: Some(submission.caller.workspace.clone()),
            session: submission.proposal.session.clone(),
            what,
        });
    }
}

impl Submission<'_> {
    pub(super) fn record_owner(&self) -> RecordOwner {
        RecordOwner {
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

/// The refusal of a key that has too many large actions judged.
pub(super) const LARGE: Why = Why::TooFast("judging of large actions");

/// The reason for which nothing may happen right now.
fn standing(submission: &Submission<'_>) -> Option<Why> {
    if submission.control.value.halted {
        return Some(Why::Halted);
    }
    // An agent of this machine is told from others only by its session.
    if submission.proposal.session.is_none() && submission.caller.local_agents().is_none() {
        return None;
    }
    let Some(session) = submission.own_session() else {
        return Some(Why::NoSession);
    };
    not_running(&session.value, submission.now)
}

/// The counter of the pending questions of one person.
pub(super) fn pending_key(user: &UserId) -> String {
    ["user:", user.as_str(), ":pending"].concat()
}

/// The counter of one person's answers to one agent, by the first key of its line: answers to
/// another agent say nothing about this one.
pub(super) fn answers_key(user: &UserId, agent: Option<&KeyId>, what: &str) -> String {
    match agent {
        Some(key) => ["user:", user.as_str(), ":", key.as_str(), ":", what].concat(),
        None => ["user:", user.as_str(), ":", what].concat(),
    }
}
