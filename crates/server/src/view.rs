//! The JSON forms of the gate's data. Times are texts as in RFC 3339.

use countersign_core::policy::profile::Limits;
use countersign_core::{Action, Judgement};
use countersign_gate::Permit;
use countersign_gate::clock::Timestamp;
use countersign_gate::gate::{Card, Progress};
use countersign_gate::proposal::Waiting;
use countersign_gate::session::{Plan, Session, SessionState};
use countersign_wire::{Confirmation, Proposed};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer that permits an action.
pub(crate) fn permitted(permit: &Permit, judgement: Option<Box<Judgement>>) -> Proposed {
    Proposed::Permitted {
        action_id: permit.id().to_string(),
        digest: permit.digest().to_owned(),
        approval_id: permit.approval().map(ToString::to_string),
        report_by: permit.report_by().map(|at| at.to_string()),
        by: permit.by(),
        edited: None,
        judgement,
    }
}

/// The same for the action as a person changed it.
pub(crate) fn edited(mut proposed: Proposed, action: &Action) -> Proposed {
    if let Proposed::Permitted { edited, .. } = &mut proposed {
        *edited = serde_json::to_value(action).ok();
    }
    proposed
}

/// The answer about a waiting question in its current state: perhaps one that replaced the first.
pub(crate) fn waiting(waiting: Waiting, card: &Card) -> Proposed {
    Proposed::Waiting {
        approval_id: card.approval.to_string(),
        action_id: None,
        expires_at: card.expires_at.to_string(),
        confirmation: Confirmation::from(card),
        judgement: Box::new(waiting.judgement),
    }
}

/// The same about an action that a worker does once it is agreed to.
pub(crate) fn waiting_to_run(mut proposed: Proposed, id: String) -> Proposed {
    if let Proposed::Waiting { action_id, .. } = &mut proposed {
        *action_id = Some(id);
    }
    proposed
}

/// A bounded run of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionView {
    pub(crate) session_id: String,
    /// The user that the agent works for.
    pub(crate) user_id: String,
    pub(crate) workspace_id: String,
    pub(crate) key_id: Option<String>,
    /// The plan it was begun with.
    pub(crate) plan: Plan,
    /// The limits of what it may use up.
    pub(crate) limits: Limits,
    pub(crate) has_credentials: bool,
    pub(crate) started_at: String,
    /// The time at which it ends at the latest.
    pub(crate) deadline: Option<String>,
    /// `active`, `paused` or `ended`.
    pub(crate) state: &'static str,
    pub(crate) ended_at: Option<String>,
    /// The reason that it ended.
    pub(crate) ended_by: Option<&'static str>,
    /// The progress, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<ProgressView>,
}

impl From<Session> for SessionView {
    fn from(session: Session) -> Self {
        let (state, ended_at, ended_by) = match &session.state {
            SessionState::Active => ("active", None, None),
            SessionState::Paused { .. } => ("paused", None, None),
            SessionState::Ended { at, reason } => {
                ("ended", Some(at.to_string()), Some(reason.as_str()))
            }
        };
        Self {
            session_id: session.id.to_string(),
            user_id: session.user.to_string(),
            workspace_id: session.workspace.to_string(),
            key_id: session.key.map(|id| id.to_string()),
            plan: session.plan,
            limits: session.limits,
            has_credentials: session.has_credentials,
            started_at: session.started_at.to_string(),
            deadline: time(session.deadline),
            state,
            ended_at,
            ended_by,
            progress: None,
        }
    }
}

/// The progress of a session, against its limits.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProgressView {
    pub(crate) steps: u64,
    pub(crate) most_steps: Option<u32>,
    pub(crate) screenshots: u64,
    pub(crate) most_screenshots: Option<u32>,
    pub(crate) files: u64,
    pub(crate) most_files: Option<u32>,
    pub(crate) errors: u64,
    pub(crate) most_errors: Option<u32>,
}

impl From<Progress> for ProgressView {
    fn from(progress: Progress) -> Self {
        Self {
            steps: progress.steps,
            most_steps: progress.most_steps,
            screenshots: progress.screenshots,
            most_screenshots: progress.most_screenshots,
            files: progress.files,
            most_files: progress.most_files,
            errors: progress.errors,
            most_errors: progress.most_errors,
        }
    }
}

/// An optional timestamp as text.
pub(crate) fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}
