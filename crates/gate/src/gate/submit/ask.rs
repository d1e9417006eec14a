//! A person is asked.

use std::time::Duration;

use countersign_core::{Context, Judgement, Policy};

use crate::approval::{self, Approval, Shown};
use crate::document;
use crate::event::What;
use crate::gate::control::failed;
use crate::gate::submit::conditions::Conditions;
use crate::gate::submit::{Case, pending_key};
use crate::gate::{Gate, GateError, is_conflict};
use crate::id::ApprovalId;
use crate::proposal::{Submitted, Waiting, Why};
use crate::session::Violation;
use crate::store::{Batch, CountStep, Kind, Pace, Query};
use crate::user::Device;

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
            let (id, expires_at) = (approval.id, approval.expires_at);
            let waiting = Waiting { approval: id, expires_at, judgement };
            // Nothing is written, but whoever asks must still be who they were taken for.
            let batch = Batch { epoch: Some(case.epoch), ..Batch::default() };
            return match self.commit(batch).await {
                Ok(_) => Ok(Some(Submitted::Waiting(Box::new(waiting)))),
                Err(error) if is_conflict(&error) => Ok(None),
                Err(error) => Err(failed(error)),
            };
        }
        if !self.can_ask(case).await? {
            return self.refuse(case, Why::NobodyToAsk, Some(judgement)).await;
        }
        let approval = self.question(case, policy, context, &judgement, &digest)?;
        let (id, expires_at) = (approval.request.id.clone(), approval.request.expires_at);
        let mut conditions = self.conditions(case, policy, &judgement);
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
            scripts: &case.proposal.scripts,
            replaces: None,
            risk: judgement.risk.level,
            created_at: case.now,
            expires_at: case.now.after(self.patience(case, policy, &context)),
            escalate_at,
            quorum,
            shown: Shown::of(action, judgement, policy, context, case.proposal.reasoning.clone()),
        };
        Ok(Approval::ask(question, &self.keyring, &self.clock)?)
    }

    /// How long a person has: longer when they are away, unless somebody has set a time.
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
