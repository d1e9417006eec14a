//! Questions to a person.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::{Action, Context, Judgement, Policy};

use crate::approval::{self, Approval, Quorum, Shown};
use crate::caller::Caller;
use crate::document::{self, Held};
use crate::event::What;
use crate::gate::control::failed;
use crate::gate::submit::conditions::Conditions;
use crate::gate::submit::{Case, LARGE, pending_key};
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
            let (id, expires_at) = (approval.id, self.shown(approval.expires_at));
            let waiting = Waiting { approval: id, expires_at, judgement };
            // Nothing is written, but the caller's rights must still be the ones that were read.
            let unchanged = case.rests_on.clone();
            let batch = Batch { epoch: Some(case.epoch), unchanged, ..Batch::default() };
            return match self.commit(batch).await {
                Ok(_) => Ok(Some(Submitted::Waiting(Box::new(waiting)))),
                Err(error) if is_conflict(&error) => Ok(None),
                Err(error) => Err(failed(error)),
            };
        }
        if !self.can_ask(case).await? {
            return self.refuse(case, Why::NobodyToAsk, Some(judgement)).await;
        }
        let shown = match self.describe(case, policy, &context, &judgement).await {
            Ok(shown) => shown,
            Err(NotJudged::OverBudget(wait)) => {
                return self.refuse_for_now(case, LARGE, Some(judgement), Some(wait)).await;
            }
            Err(error @ NotJudged::Full) => return Err(error.into()),
        };
        let approval = self.question(case, policy, shown, &judgement, &digest).await?;
        let id = approval.request.id.clone();
        let expires_at = self.shown(approval.request.expires_at);
        let mut conditions = self.conditions(case, policy, &judgement);
        self.add_question(case, &approval, &mut conditions)?;
        let status = "waiting";
        let action = approval.action_id();
        let batch = &mut conditions.batch;
        batch.records.push(self.planned(case, status, Some(&judgement), Some(&action))?);
        batch.records.push(self.critical_point(case, &judgement, &id)?);
        match self.commit(std::mem::take(batch)).await {
            Ok(_) => {
                self.expect_asker(&approval);
                self.tell(case, What::ApprovalRequired { approval: id.clone() });
                let waiting = Waiting { approval: id, expires_at, judgement };
                Ok(Some(Submitted::Waiting(Box::new(waiting))))
            }
            Err(error) => self.stopped(case, error, conditions.whys, Some(judgement)).await,
        }
    }

    /// Reports whether there is anybody who could answer: a signed-in device, a channel, a
    /// connection.
    async fn can_ask(&self, case: &Case<'_>) -> Result<bool, GateError> {
        let user = &case.caller.user;
        if self.has_channel() || self.is_present(user) {
            return Ok(true);
        }
        if self.is_bot(user).await? {
            return self.has_administrator(&case.caller.workspace).await;
        }
        Ok(self.has_console(user).await?)
    }

    async fn is_bot(&self, user: &UserId) -> Result<bool, GateError> {
        let user: Option<Held<User>> = self.get(user.as_str()).await?;
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
        case: &Case<'_>,
        policy: &Policy,
        context: &Context,
        judgement: &Judgement,
    ) -> Result<Shown, NotJudged> {
        let (judgement, reasoning) = (judgement.clone(), case.proposal.reasoning.clone());
        let shown = move |action: &_, policy: &_, context: &Context| {
            Shown::of(action, &judgement, policy, context.clone(), reasoning)
        };
        let lane = Lane::of_caller(case.caller);
        self.apart(&lane, &case.proposal.action, policy, context, shown).await
    }

    async fn question(
        &self,
        case: &Case<'_>,
        policy: &Policy,
        mut shown: Shown,
        judgement: &Judgement,
        digest: &str,
    ) -> Result<Approval, GateError> {
        let (action, lane) = (&case.proposal.action, Lane::of_caller(case.caller));
        let needed = self.quorum_for(&lane, action, &shown.context, judgement, case.now).await?;
        let (quorum, escalate_at) = needed;
        // Other people are asked each time.
        shown.may_remember &= quorum == Quorum::default();
        let id = ApprovalId::draw(&self.clock)?;
        let Caller { user, workspace, .. } = case.caller.clone();
        let (session, key) = (case.proposal.session.clone(), case.caller.key_id().cloned());
        let (digest, scripts) = (digest.to_owned(), case.proposal.scripts.clone());
        let (risk, created_at) = (judgement.risk.level, case.now);
        let patience = self.patience(case, policy, &shown.context).min(askers(case));
        let (expires_at, attended) = (case.now.after(patience), case.proposal.waits.is_some());
        let run = case.proposal.run.as_deref().filter(|_| session.is_none());
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
        let is_bot = self.is_bot(&case.caller.user).await?;
        Ok(if is_bot { approval.escalate() } else { approval })
    }

    /// The time that a person has: longer when they are away, unless a time is configured.
    fn patience(&self, case: &Case<'_>, policy: &Policy, context: &Context) -> Duration {
        let action = &case.proposal.action;
        let set = self.config.approval_timeout;
        if let (Some(seconds), false) = (set, policy.has_own_timeout(action)) {
            return Duration::from_secs(seconds.into());
        }
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
        conditions.count(key, CountStep::Up { most }, Why::TooManyPending(most));
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
}

/// The time that the asker waits; unlimited, unless it names one.
fn askers(case: &Case<'_>) -> Duration {
    let seconds = case.proposal.waits.and_then(|waits| waits.seconds);
    seconds.map_or(Duration::MAX, |seconds| Duration::from_secs(seconds.max(1).into()))
}
