//! Use of an approval: once, by the agent that asked, on exactly the action that was approved.

use countersign_core::digest::digest;
use countersign_core::{Action, Context};
use serde_json::json;

use crate::approval::{Approval, Cancel, Details, State, TamperedError};
use crate::audit::{self, Draft};
use crate::caller::Caller;
use crate::document::Versioned;
use crate::event::What;
use crate::gate::answer::{event_of, owner_of, settled_count};
use crate::gate::control::failed;
use crate::gate::join::either;
use crate::gate::{Gate, GateError, Lookup, TRIES, is_conflict};
use crate::id::ApprovalId;
use crate::judging::Lane;
use crate::permit::{Basis, Permit};
use crate::proposal::{Proposal, binding};
use crate::session::{Session, SessionState};
use crate::store::{Batch, Unchanged};

mod error;

pub use error::SpendError;

impl Gate {
    /// Uses an approval on the action that is about to run.
    ///
    /// # Errors
    /// The approval cannot be used; the error says why. Attempts are recorded.
    pub async fn spend(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
        proposal: &Proposal,
    ) -> Result<Permit, SpendError> {
        let spent = self.try_spend(caller, approval, proposal).await;
        if let Err(error) = &spent
            && is_attempt(error)
        {
            self.record_spend_refusal(caller, approval, error).await?;
        }
        spent
    }

    /// Waits until an approval is settled, however long that takes: expiry settles it too. Ends
    /// when the caller loses its rights.
    ///
    /// # Errors
    /// The approval does not exist for them, they lost their rights, or the store failed.
    pub async fn settled(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<State, SpendError> {
        let mut attending = None;
        loop {
            let mut rights = self.bus.rights_changed();
            let mut settled = self.bus.settled(approval);
            let state =
                self.of_caller(caller, approval).await.map(|versioned| versioned.value.state);
            if state.is_ok() {
                attending.get_or_insert_with(|| self.attend(approval));
            }
            if !state.as_ref().is_ok_and(State::is_pending) {
                drop(settled);
                self.bus.forget(approval);
                return state;
            }
            // The sender is dropped after it has sent, which wakes us as well.
            either(settled.changed(), rights.changed()).await;
        }
    }

    /// The action as edited by a person, if this question replaced another: the agent spends the
    /// approval on that.
    ///
    /// # Errors
    /// The approval does not exist for them, or the store failed.
    pub async fn edited(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<Option<Action>, SpendError> {
        let versioned = self.of_caller(caller, approval).await?;
        Ok(versioned.value.open(&self.keyring)?.edited())
    }

    /// The question that replaced one after a person edited it, and the edited action; the last
    /// one, if they edited it again.
    ///
    /// # Errors
    /// The approval does not exist for them, or the store failed.
    pub async fn replacement(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<Option<(ApprovalId, Action)>, SpendError> {
        let mut last = None;
        let mut versioned = self.of_caller(caller, approval).await?;
        // Each is newer than the one before, so this loop ends.
        while let State::Cancelled { why: Cancel::Replaced { by }, .. } = &versioned.value.state {
            let next = self.of_caller(caller, by).await?;
            let edited = next.value.open(&self.keyring)?.edited().ok_or(TamperedError)?;
            last = Some((by.clone(), edited));
            versioned = next;
        }
        Ok(last)
    }

    /// Withdraws a question.
    ///
    /// # Errors
    /// The approval does not exist for them, or it is settled.
    pub async fn withdraw(&self, caller: &Caller, approval: &ApprovalId) -> Result<(), SpendError> {
        for _ in 0..TRIES {
            let versioned = self.of_caller(caller, approval).await?;
            let standing = versioned.value.state.as_str();
            match self.cancel(&versioned, Cancel::Withdrawn).await? {
                Cancelled::Now => return Ok(()),
                Cancelled::TooLate => return Err(SpendError::Settled(standing)),
                Cancelled::Again => {}
            }
        }
        Err(GateError::Busy.into())
    }

    async fn try_spend(
        &self,
        caller: &Caller,
        id: &ApprovalId,
        proposal: &Proposal,
    ) -> Result<Permit, SpendError> {
        for _ in 0..TRIES {
            let control = self.control().await?;
            if control.value.halted {
                return Err(SpendError::Halted);
            }
            let (versioned, rights) = self.own_approval(caller, id).await?;
            let approval = &versioned.value;
            let details = approval.open(&self.keyring)?;
            let context = context_of(&details, proposal);
            let bound = binding(&digest(&proposal.action, &context), &proposal.scripts);
            if !approval.is_about(&self.keyring, &bound) {
                return Err(SpendError::OtherAction);
            }
            if let Some(needed) = caller.missing_scope(&proposal.action) {
                return Err(SpendError::Scope(needed));
            }
            let mut batch = Batch { unchanged: rights, ..Batch::default() };
            batch.unchanged.push(control.unchanged());
            let session = self.running_session(approval, &mut batch).await?;
            let now = self.now();
            let patience = session.as_ref().and_then(|session| session.patience(&proposal.action));
            let report_by = now.after(patience.unwrap_or_else(|| self.config.report_within()));
            // The expiry of an approval is not signed, but the time of the decision is.
            let said = approval.state.decision().map(|decision| decision.at);
            let over = said.is_some_and(|said| now >= said.after(self.config.spend_within()));
            let next = match approval.state.clone().spend(now, report_by) {
                Ok(_) if over => return Err(SpendError::Settled("expired")),
                Ok(state) => approval.with(state),
                Err(_) if approval.state.is_pending() && now < approval.request.expires_at => {
                    return Err(SpendError::Pending);
                }
                Err(_) => return Err(SpendError::Settled(self.standing_of(approval))),
            };
            batch.unchanged.extend(self.still_agreed(approval, proposal, &context).await?);
            batch.writes.push(versioned.replace(&next)?);
            batch.records.push(self.started_record(caller, &next)?);
            match self.commit(batch).await {
                Ok(_) => {
                    self.hand_over(caller, proposal, &next, &details, session.as_ref());
                    return Ok(Permit {
                        id: next.action_id(),
                        digest: bound,
                        approval: Some(id.clone()),
                        session: next.request.session.clone(),
                        by: Basis::Person,
                        report_by: Some(report_by),
                    });
                }
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error).into()),
            }
        }
        Err(GateError::Busy.into())
    }

    /// The name of the current state, with expiry taken into account.
    fn standing_of(&self, approval: &Approval) -> &'static str {
        match approval.state.clone().expire(&approval.request, self.now()) {
            Ok(state) => state.as_str(),
            Err(_) => approval.state.as_str(),
        }
    }

    /// The versions from which the people's agreement was read, if it satisfies the current quorum.
    async fn still_agreed(
        &self,
        approval: &Approval,
        proposal: &Proposal,
        context: &Context,
    ) -> Result<Vec<Unchanged>, SpendError> {
        let decision = approval.state.decision().ok_or(SpendError::Pending)?;
        let lane = approval
            .request
            .key
            .clone()
            .map_or_else(|| Lane::Person(approval.request.user.clone()), Lane::Key);
        let strict = self.strict_quorum(&lane, &proposal.action, context, self.now()).await;
        let (strict, _) = strict.map_err(GateError::from)?;
        let needed = approval.request.quorum.stricter(strict);
        self.agreed(approval, decision, needed).await?.ok_or(SpendError::TooFewAgree)
    }

    /// The approval, if this caller asked for it and still has the right to act.
    async fn of_caller(
        &self,
        caller: &Caller,
        id: &ApprovalId,
    ) -> Result<Versioned<Approval>, SpendError> {
        Ok(self.own_approval(caller, id).await?.0)
    }

    /// The same, with the versions from which the caller's rights were read.
    async fn own_approval(
        &self,
        caller: &Caller,
        id: &ApprovalId,
    ) -> Result<(Versioned<Approval>, Vec<Unchanged>), SpendError> {
        let rights = self.rights_of(caller, Lookup::Fresh).await?;
        let versioned: Versioned<Approval> =
            self.get(id.as_str()).await?.ok_or(SpendError::NotFound)?;
        let theirs = self.is_theirs(caller, &versioned.value.request).await?;
        if theirs { Ok((versioned, rights)) } else { Err(SpendError::NotFound) }
    }

    async fn running_session(
        &self,
        approval: &Approval,
        batch: &mut Batch,
    ) -> Result<Option<Session>, SpendError> {
        let Some(id) = &approval.request.session else { return Ok(None) };
        let versioned: Versioned<Session> =
            self.get(id.as_str()).await?.ok_or(SpendError::Session)?;
        let over = versioned.value.deadline.is_some_and(|deadline| self.now() >= deadline);
        if versioned.value.state != SessionState::Active || over {
            return Err(SpendError::Session);
        }
        batch.unchanged.push(versioned.unchanged());
        Ok(Some(versioned.value))
    }

    /// Cancels one approval, unless it is settled or has changed meanwhile.
    pub(super) async fn cancel(
        &self,
        versioned: &Versioned<Approval>,
        why: Cancel,
    ) -> Result<Cancelled, GateError> {
        let was_pending = versioned.value.state.is_pending();
        let Ok(state) = versioned.value.state.clone().cancel(why, self.now()) else {
            return Ok(Cancelled::TooLate);
        };
        self.close(versioned, versioned.value.with(state), was_pending, None).await
    }

    /// Commits the end of an approval that no person decided.
    pub(super) async fn close(
        &self,
        versioned: &Versioned<Approval>,
        next: Approval,
        was_pending: bool,
        also: Option<Draft>,
    ) -> Result<Cancelled, GateError> {
        let payload = json!({
            "approval": next.request.id,
            "response": serde_json::Value::Null,
            "state": next.state.as_str(),
        });
        let record = self.record(audit::Event::Approval, owner_of(&next), &payload)?;
        let records = std::iter::once(record).chain(also).collect();
        let mut batch =
            Batch { writes: vec![versioned.replace(&next)?], records, ..Batch::default() };
        if was_pending {
            batch.counts.push(settled_count(&next));
        }
        match self.commit(batch).await {
            Ok(_) => {
                let approval = next.request.id.clone();
                let state = next.state.name();
                let what = What::ApprovalSettled { approval, state, by: None };
                self.bus.tell(event_of(&next, what));
                Ok(Cancelled::Now)
            }
            Err(error) if is_conflict(&error) => Ok(Cancelled::Again),
            Err(error) => Err(failed(error)),
        }
    }

    fn started_record(&self, caller: &Caller, approval: &Approval) -> Result<Draft, GateError> {
        let payload = json!({
            "id": approval.action_id(),
            "approval": approval.request.id,
            "action": approval.request.action,
            "key": caller.key_id(),
            "status": "started",
        });
        self.record(audit::Event::ActionExecuted, owner_of(approval), &payload)
    }

    async fn record_spend_refusal(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
        error: &SpendError,
    ) -> Result<(), GateError> {
        let record_owner = audit::RecordOwner {
            owner: Some(caller.user.to_string()),
            workspace: Some(caller.workspace.to_string()),
            session: None,
        };
        let payload =
            json!({"approval": approval, "key": caller.key_id(), "why": error.to_string()});
        let record = self.record(audit::Event::SpendRefused, record_owner, &payload)?;
        let batch = Batch { records: vec![record], ..Batch::default() };
        self.commit(batch).await.map_err(failed)?;
        Ok(())
    }
}

/// The context of the action that is about to run: the one that was judged, except for the agent's
/// current directory and page.
fn context_of(details: &Details, proposal: &Proposal) -> Context {
    let mut context = details.context.clone();
    context.cwd.clone_from(&proposal.context.cwd);
    context.base_url.clone_from(&proposal.context.base_url);
    context
}

/// Reports whether a refused use is recorded: waiting is not an attempt, nor is a failing store.
const fn is_attempt(error: &SpendError) -> bool {
    match error {
        SpendError::Gate(error) => matches!(error, GateError::Revoked(_)),
        SpendError::Pending => false,
        SpendError::NotFound
        | SpendError::Settled(_)
        | SpendError::OtherAction
        | SpendError::Scope(_)
        | SpendError::TooFewAgree
        | SpendError::Session
        | SpendError::Halted
        | SpendError::Tampered(_) => true,
    }
}

/// The result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// The approval is cancelled.
    Now,
    /// The approval was settled already.
    TooLate,
    /// The approval changed meanwhile: read again.
    Again,
}
