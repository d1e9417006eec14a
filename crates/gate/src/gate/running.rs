//! Actions that were allowed without a question, in a session that limits their time.
//!
//! The gate runs nothing itself. It can set the time by which an action must be reported, and end
//! one that is not, with a violation on record. For an approved action this time is in its
//! approval.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval::{Approval, State, subject_of};
use crate::audit::{self, Draft, RecordOwner};
use crate::caller::Caller;
use crate::clock::Timestamp;
use crate::document::{self, Document, IndexKeys, Versioned};
use crate::gate::control::failed;
use crate::gate::submit::Submission;
use crate::gate::{Gate, GateError, ReportError, is_conflict};
use crate::id::{ActionId, SessionId, UserId, WorkspaceId};
use crate::session::{Session, Violation};
use crate::store::{Batch, Kind, Query};

/// An action that runs, as far as the gate knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Running {
    id: ActionId,
    pub(super) user: UserId,
    pub(super) workspace: WorkspaceId,
    session: SessionId,
    /// The kind of the action, or the skill or tool it uses.
    action: String,
    /// The limit on its time.
    limit: String,
    started_at: Timestamp,
    /// The time at which it counts as ended.
    pub(super) report_by: Timestamp,
}

impl Document for Running {
    const KIND: Kind = Kind::Running;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys {
            owner: Some(self.user.as_str()),
            workspace: Some(self.workspace.as_str()),
            session: Some(self.session.as_str()),
            state: "running",
            due: Some(self.report_by),
            ..IndexKeys::default()
        }
    }
}

impl Running {
    /// The entry for an action, if its session limits the time of actions.
    pub(super) fn of(submission: &Submission<'_>, id: &ActionId) -> Option<Self> {
        let session = &submission.session.as_ref()?.value;
        let action = &submission.proposal.action;
        let patience = session.patience(action)?;
        let (limit, _) = session.time_limit(action.kind())?;
        Some(Self {
            id: id.clone(),
            user: submission.caller.user.clone(),
            workspace: submission.caller.workspace.clone(),
            session: session.id.clone(),
            action: subject_of(action),
            limit: limit.to_owned(),
            started_at: submission.now,
            report_by: submission.now.after(patience),
        })
    }
}

impl Gate {
    /// Ends actions that were not reported in time.
    pub(super) async fn sweep_running(&self, now: Timestamp) -> Result<(), GateError> {
        let query = Query { due_by: Some(now), ..Query::of(Kind::Running) };
        for versioned in document::find::<Running>(&*self.store, &query).await? {
            let records = vec![self.overdue_record(&versioned, now)?];
            let batch = Batch { writes: vec![versioned.delete()], records, ..Batch::default() };
            match self.commit(batch).await {
                Ok(_) => {}
                // It was reported just now.
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    fn overdue_record(
        &self,
        versioned: &Versioned<Running>,
        now: Timestamp,
    ) -> Result<Draft, GateError> {
        let Running { id, user, workspace, session, action, limit, started_at, report_by } =
            &versioned.value;
        let record_owner = RecordOwner {
            owner: Some(user.to_string()),
            workspace: Some(workspace.to_string()),
            session: Some(session.to_string()),
        };
        let times = (report_by.since(*started_at), now.since(*started_at));
        self.overdue(record_owner, id, action, limit, times)
    }

    /// Ends a reported action. Returns its session.
    pub(super) fn finish(
        &self,
        caller: &Caller,
        versioned: &Versioned<Running>,
        batch: &mut Batch,
    ) -> Result<SessionId, ReportError> {
        let running = &versioned.value;
        if running.user != caller.user || running.workspace != caller.workspace {
            return Err(ReportError::NotFound);
        }
        let now = self.now();
        if now >= running.report_by {
            batch.records.push(self.overdue_record(versioned, now)?);
        }
        batch.writes.push(versioned.delete());
        Ok(running.session.clone())
    }

    /// The violation of an approved action that is reported too late.
    pub(super) async fn overdue_if_late(
        &self,
        approval: &Approval,
    ) -> Result<Option<Draft>, GateError> {
        let now = self.now();
        match &approval.state {
            State::Started { until, .. } if now >= *until => {
                self.overdue_approval(approval, now).await
            }
            _ => Ok(None),
        }
    }

    /// The violation of an approved action that was not reported within the time limit of its
    /// session.
    pub(super) async fn overdue_approval(
        &self,
        approval: &Approval,
        now: Timestamp,
    ) -> Result<Option<Draft>, GateError> {
        let State::Started { at, until, .. } = &approval.state else { return Ok(None) };
        let Some(id) = &approval.request.session else { return Ok(None) };
        let session: Option<Versioned<Session>> = self.get(id.as_str()).await?;
        let (id, action) = (approval.action_id(), &approval.request.action);
        let Some((limit, _)) = session.and_then(|versioned| versioned.value.time_limit(action))
        else {
            return Ok(None);
        };
        let times = (until.since(*at), now.since(*at));
        let record_owner = crate::gate::answer::owner_of(approval);
        self.overdue(record_owner, &id, action, limit, times).map(Some)
    }

    pub(super) fn overdue(
        &self,
        record_owner: RecordOwner,
        id: &ActionId,
        action: &str,
        limit: &str,
        (most, used): (Duration, Duration),
    ) -> Result<Draft, GateError> {
        let (value, used) = (most.as_secs(), used.as_secs());
        let payload = json!({
            "type": Violation::StepTimeout.as_str(),
            "message": format!("an action took longer than it may: `{limit}` is {value}, and {used} are used"),
            "details": {"action": action, "id": id, "limit": limit, "value": value, "used": used},
        });
        self.record(audit::Event::Violation, record_owner, &payload)
    }
}
