//! Timed work: questions and approvals expire, sessions end, questions escalate, old documents are
//! deleted. Called repeatedly by the owner of the loop.

use serde_json::json;

use crate::approval::{Approval, OVER, State};
use crate::audit::{self, RecordOwner};
use crate::clock::{Timestamp, random};
use crate::config::days;
use crate::document::{self, Document, Versioned};
use crate::event::What;
use crate::gate::answer::event_of;
use crate::gate::control::failed;
use crate::gate::idempotency::Idempotency;
use crate::gate::join::join;
use crate::gate::remember::{Declined, Remembered};
use crate::gate::{Gate, GateError, is_conflict};
use crate::preferences::Preferences;
use crate::session::{End, Session};
use crate::store::{Batch, Erase, Kind, Query, RecordQuery};
use crate::user::Invitation;

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Approvals that expired, or whose outcome was not reported.
    pub approvals: usize,
    /// Questions that were escalated.
    pub escalated: usize,
}

impl Gate {
    /// Does all work that is due.
    ///
    /// # Errors
    /// The store failed.
    pub async fn sweep(&self) -> Result<Swept, GateError> {
        self.record_step().await?;
        self.withdraw_unattended().await?;
        self.keep_pending_halt().await;
        self.retry_writing().await;
        let swept = self.sweep_approvals().await?;
        let now = self.now();
        self.end_where(|session| {
            let over = session.deadline.is_some_and(|deadline| now >= deadline);
            if over { Some(End::Timeout) } else { self.is_gone(session) }
        })
        .await?;
        self.sweep_running(now).await?;
        self.sweep_workers().await?;
        self.forget::<Remembered>(now).await?;
        self.forget::<Declined>(now).await?;
        self.forget::<Invitation>(now).await?;
        self.forget::<Idempotency>(now).await?;
        self.sweep_uploads(now).await?;
        self.agents.sweep(now, &*self.processes);
        Ok(swept)
    }

    /// Applies retention: cuts off the oldest records, removes content sooner for users who want
    /// that, and deletes old approvals, sessions and files.
    ///
    /// # Errors
    /// The store failed.
    pub async fn retain(&self) -> Result<(), GateError> {
        // Deletion is final, so a clock that was set forward is ignored here.
        let now = self.clock.without_steps();
        let cut = now.before(self.config.keep_for());
        self.retain_sooner(now, cut).await?;
        self.cut_before(cut).await?;
        self.forget_old(OVER, |approval: &Approval| approval.request.created_at < cut).await?;
        self.forget_old(&["ended"], |session: &Session| session.started_at < cut).await?;
        self.retain_files(now, cut).await
    }

    /// Removes the content of records sooner for users who want that and may choose it.
    async fn retain_sooner(&self, now: Timestamp, cut: Timestamp) -> Result<(), GateError> {
        let mut query = Query::of(Kind::Settings);
        loop {
            let all = document::find::<Preferences>(&*self.store, &query).await?;
            let Some(last) = all.last() else { return Ok(()) };
            query.after = Some(last.value.user.to_string());
            for settings in all.iter().map(|versioned| &versioned.value) {
                let Some(sooner) = self.own_retention(settings) else { continue };
                let before = now.before(days(sooner));
                if before > cut {
                    let owner = Some(settings.user.to_string());
                    self.erase_before(owner, before).await?;
                }
            }
        }
    }

    /// Records that the system's clock was set, or runs at the wrong speed.
    async fn record_step(&self) -> Result<(), GateError> {
        let Some(step) = self.clock.step() else { return Ok(()) };
        let payload = json!({
            "by_seconds": step.by / 1_000,
            "system_clock": step.wall.to_string(),
            "gate_clock": step.gate.to_string(),
        });
        let record = self.record(audit::Event::ClockStepped, RecordOwner::default(), &payload)?;
        let batch = Batch { records: vec![record], ..Batch::default() };
        self.commit(batch).await.map_err(failed)?;
        self.clock.recorded(&step);
        Ok(())
    }

    async fn erase_before(
        &self,
        owner: Option<String>,
        before: Timestamp,
    ) -> Result<(), GateError> {
        let (before, at, salt) = (Some(before), self.now(), random(&self.clock)?);
        let erase = Some(Erase { owner, before, by: "retention".to_owned(), at, salt });
        let batch = Batch { erase, ..Batch::default() };
        self.commit(batch).await.map_err(failed)?;
        Ok(())
    }

    async fn cut_before(&self, before: Timestamp) -> Result<(), GateError> {
        let query = RecordQuery { limit: 1, ..RecordQuery::default() };
        if self.store.records(&query).await?.first().is_none_or(|record| record.at >= before) {
            return Ok(());
        }
        let payload = json!({"before": before.to_string()});
        let record = self.record(audit::Event::Cut, RecordOwner::default(), &payload)?;
        let batch = Batch { records: vec![record], cut: Some(before), ..Batch::default() };
        self.commit(batch).await.map_err(failed)?;
        Ok(())
    }

    /// Deletes settled approvals and ended sessions that are past retention.
    async fn forget_old<T: Document>(
        &self,
        states: &[&'static str],
        is_old: impl Fn(&T) -> bool,
    ) -> Result<(), GateError> {
        let mut query = Query { states: states.to_vec(), ..Query::of(T::KIND) };
        loop {
            let over = document::find::<T>(&*self.store, &query).await?;
            let Some(last) = over.last() else { return Ok(()) };
            query.after = Some(last.value.id().to_owned());
            self.delete(over.iter().filter(|versioned| is_old(&versioned.value)).collect()).await?;
        }
    }

    async fn sweep_approvals(&self) -> Result<Swept, GateError> {
        let mut swept = Swept::default();
        loop {
            let now = self.now();
            let query = Query { due_by: Some(now), ..Query::of(Kind::Approval) };
            let due = document::find::<Approval>(&*self.store, &query).await?;
            if due.is_empty() {
                return Ok(swept);
            }
            let done = join(due.iter().map(|versioned| self.sweep_one(versioned, now))).await;
            for what in done {
                match what? {
                    Did::Expired => swept.approvals += 1,
                    Did::Escalated => swept.escalated += 1,
                    Did::Nothing => {}
                }
            }
        }
    }

    async fn sweep_one(
        &self,
        versioned: &Versioned<Approval>,
        now: Timestamp,
    ) -> Result<Did, GateError> {
        let approval = &versioned.value;
        let was_pending = approval.state.is_pending();
        if let Ok(state) = approval.state.clone().expire(&approval.request, now) {
            let overdue = self.overdue_approval(approval, now).await?;
            self.close(versioned, approval.with(state), was_pending, overdue).await?;
            return Ok(Did::Expired);
        }
        let escalates = approval.request.escalate_at.is_some_and(|at| now >= at);
        match &approval.state {
            State::Pending { .. } if escalates && !approval.escalated => {
                self.escalate(versioned).await
            }
            State::Pending { .. }
            | State::Approved { .. }
            | State::Rejected { .. }
            | State::Expired { .. }
            | State::Cancelled { .. }
            | State::Started { .. }
            | State::Done { .. }
            | State::Failed { .. }
            | State::Unknown { .. } => Ok(Did::Nothing),
        }
    }

    async fn escalate(&self, versioned: &Versioned<Approval>) -> Result<Did, GateError> {
        let next = versioned.value.escalate();
        let batch = Batch { writes: vec![versioned.replace(&next)?], ..Batch::default() };
        match self.commit(batch).await {
            Ok(_) => {
                let approval = next.request.id.clone();
                self.bus.tell(event_of(&next, What::ApprovalEscalated { approval }));
                Ok(Did::Escalated)
            }
            Err(error) if is_conflict(&error) => Ok(Did::Nothing),
            Err(error) => Err(failed(error)),
        }
    }

    /// Deletes documents whose time has come.
    async fn forget<T: Document>(&self, now: Timestamp) -> Result<(), GateError> {
        let query = Query { due_by: Some(now), ..Query::of(T::KIND) };
        let due = document::find::<T>(&*self.store, &query).await?;
        self.delete(due.iter().collect()).await
    }

    async fn delete<T: Document>(&self, versioned: Vec<&Versioned<T>>) -> Result<(), GateError> {
        let deleted = join(versioned.into_iter().map(async |versioned| {
            self.commit(Batch { writes: vec![versioned.delete()], ..Batch::default() }).await
        }))
        .await;
        for deleted in deleted {
            match deleted {
                Ok(_) => {}
                // It was renewed meanwhile.
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }
}

enum Did {
    Expired,
    Escalated,
    Nothing,
}
