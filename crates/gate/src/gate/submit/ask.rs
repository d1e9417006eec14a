//! Questions to a person.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::{Action, Context, Judgement, Policy};

use crate::approval::{self, Approval, Quorum, Shown};
use crate::caller::Caller;
use crate::document::{self, Versioned};
use crate::event::What;
use crate::gate::control::failed;
use crate::gate::submit::conditions::Conditions;
use crate::gate::submit::{LARGE, Submission, pending_key};
use crate::gate::{Gate, GateError, is_conflict};
use crate::id::{ApprovalId, UserId, WorkspaceId};
use crate::judging::{Lane, NotJudged};
use crate::proposal::{Submitted, Waiting, Why};
use crate::session::Violation;
use crate::store::{Batch, CountStep, Kind, Pace, Query};
use crate::user::{Role, User, UserKind};

impl Gate {
    /// Asks a person.
    pub(super) async fn ask(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        context: Context,
        judgement: Judgement,
        digest: String,
    ) -> Result<Option<Submitted>, GateError> {
        if let Some(feedback) = self.declined(submission, &digest).await? {
            return self.refuse(submission, Why::Declined(feedback), Some(judgement)).await;
        }
        if let Some(waiting) = self.already_asked(submission, &digest).await? {
            let approval = waiting.request;
            let (id, expires_at) = (approval.id, self.shown(approval.expires_at));
            let waiting = Waiting { approval: id, expires_at, judgement };
            // Nothing is written, but the caller's rights must still be the ones that were read.
            let unchanged = submission.rests_on.clone();
            let batch = Batch { epoch: Some(submission.epoch), unchanged, ..Batch::default() };
            return match self.commit(batch).await {
                Ok(_) => Ok(Some(Submitted::Waiting(Box::new(waiting)))),
                Err(error) if is_conflict(&error) => Ok(None),
                Err(error) => Err(failed(error)),
            };
        }
        if !self.can_ask(submission).await? {
            return self.refuse(submission, Why::NobodyToAsk, Some(judgement)).await;
        }
        let shown = match self.describe(submission, policy, &context, &judgement).await {
            Ok(shown) => shown,
            Err(NotJudged::OverBudget(wait)) => {
                return self.refuse_for_now(submission, LARGE, Some(judgement), Some(wait)).await;
            }
            Err(error @ NotJudged::Full) => return Err(error.into()),
        };
        let approval = self.question(submission, policy, shown, &judgement, &digest).await?;
        let id = approval.request.id.clone();
        let expires_at = self.shown(approval.request.expires_at);
        let mut conditions = self.conditions(submission, policy, &judgement);
        self.add_question(submission, &approval, &mut conditions)?;
        let status = "waiting";
        let action = approval.action_id();
        let batch = &mut conditions.batch;
        batch.records.push(self.planned(submission, status, Some(&judgement), Some(&action))?);
        batch.records.push(self.critical_point(submission, &judgement, &id)?);
        match self.commit(std::mem::take(batch)).await {
            Ok(_) => {
                self.expect_asker(&approval);
                self.tell(submission, What::ApprovalRequired { approval: id.clone() });
                let waiting = Waiting { approval: id, expires_at, judgement };
                Ok(Some(Submitted::Waiting(Box::new(waiting))))
            }
            Err(error) => self.stopped(submission, error, conditions.whys, Some(judgement)).await,
        }
    }

    /// Reports whether there is anybody who could answer: a signed-in device, a channel, a
    /// connection.
    async fn can_ask(&self, submission: &Submission<'_>) -> Result<bool, GateError> {
        let user = &submission.caller.user;
        if self.has_channel() || self.is_present(user) {
            return Ok(true);
        }
        if self.is_bot(user).await? {
            return self.has_administrator(&submission.caller.workspace).await;
        }
        Ok(self.has_console(user).await?)
    }

    async fn is_bot(&self, user: &UserId) -> Result<bool, GateError> {
        let user: Option<Versioned<User>> = self.get(user.as_str()).await?;
        Ok(user.is_some_and(|user| user.value.kind == UserKind::Bot))
    }

    /// Reports whether a workspace has an administrator with a signed-in device.
    async fn has_administrator(&self, workspace: &WorkspaceId) -> Result<bool, GateError> {
        let active = Query { states: vec!["active"], ..Query::of(Kind::User) };
        for user in self.all::<User>(active).await? {
            if user.role_in(workspace) >= Role::WorkspaceAdmin && self.has_console(&user.id).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The details that a person is shown, computed from the action once more.
    async fn describe(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        context: &Context,
        judgement: &Judgement,
    ) -> Result<Shown, NotJudged> {
        let (judgement, reasoning) = (judgement.clone(), submission.proposal.reasoning.clone());
        let shown = move |action: &_, policy: &_, context: &Context| {
            Shown::of(action, &judgement, policy, context.clone(), reasoning)
        };
        let lane = Lane::of_caller(submission.caller);
        self.apart(&lane, &submission.proposal.action, policy, context, shown).await
    }

    async fn question(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        mut shown: Shown,
        judgement: &Judgement,
        digest: &str,
    ) -> Result<Approval, GateError> {
        let (action, lane) = (&submission.proposal.action, Lane::of_caller(submission.caller));
        let needed =
            self.quorum_for(&lane, action, &shown.context, judgement, submission.now).await?;
        let (quorum, escalate_at) = needed;
        // Other people are asked each time.
        shown.may_remember &= quorum == Quorum::default();
        let id = ApprovalId::draw(&self.clock)?;
        let Caller { user, workspace, .. } = submission.caller.clone();
        let (session, key) =
            (submission.proposal.session.clone(), submission.caller.key_id().cloned());
        let (digest, scripts) = (digest.to_owned(), submission.proposal.scripts.clone());
        let (risk, created_at) = (judgement.risk.level, submission.now);
        let patience = self.patience(submission, policy, &shown.context).min(askers(submission));
        let (expires_at, attended) =
            (submission.now.after(patience), submission.proposal.waits.is_some());
        let run = submission.proposal.run.as_deref().filter(|_| session.is_none());
        let run = run.map(|run| approval::run_print(&self.keyring, run));
        let (keyring, clock) = (Arc::clone(&self.keyring), self.judging.clock());
        let context = Context::default();
        // Redacting all of it takes time if it is large.
        let ask = move |action: &Action, _: &Policy, _: &Context| {
            let question = approval::Question {
                id,
                user,
                workspace,
                session,
                key,
                action,
                digest: &digest,
                scripts: &scripts,
                replaces: None,
                risk,
                created_at,
                expires_at,
                escalate_at,
                quorum,
                attended,
                run,
                shown,
            };
            Approval::ask(question, &keyring, &*clock)
        };
        let approval = self.apart(&lane, action, policy, &context, ask).await??;
        // Only the administrators of its workspace answer for a bot.
        let is_bot = self.is_bot(&submission.caller.user).await?;
        Ok(if is_bot { approval.escalate() } else { approval })
    }

    /// The time that a person has: longer when they are away, unless a time is configured.
    fn patience(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        context: &Context,
    ) -> Duration {
        let action = &submission.proposal.action;
        let set = self.config.approval_timeout;
        if let (Some(seconds), false) = (set, policy.has_own_timeout(action)) {
            return Duration::from_secs(seconds.into());
        }
        let seconds = if self.is_present(&submission.caller.user) || self.has_channel() {
            policy.approval_timeout(action, context)
        } else {
            policy.approval_timeout_away(action, context)
        };
        Duration::from_secs(seconds.into())
    }

    fn add_question(
        &self,
        submission: &Submission<'_>,
        approval: &Approval,
        conditions: &mut Conditions,
    ) -> Result<(), GateError> {
        let most = self.config.most_pending;
        let key = pending_key(&submission.caller.user);
        conditions.count(key, CountStep::Up { most }, Why::TooManyPending(most));
        let (key, why) = match &submission.session {
            Some(session) => {
                (session.value.counter("prompts"), Why::Violation(Violation::PromptFlood))
            }
            None => (format!("user:{}:prompts", submission.caller.user), Why::TooFast("questions")),
        };
        conditions.pace(Pace { key, rate: self.config.prompts, now: submission.now }, why);
        conditions.batch.writes.push(document::insert(approval)?);
        Ok(())
    }
}

/// The time that the asker waits; unlimited, unless it names one.
fn askers(submission: &Submission<'_>) -> Duration {
    let seconds = submission.proposal.waits.and_then(|waits| waits.seconds);
    seconds.map_or(Duration::MAX, |seconds| Duration::from_secs(seconds.max(1).into()))
}
