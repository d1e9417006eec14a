//! The JSON forms of the gate's data. Times are texts as in RFC 3339.

use countersign_core::action::QUESTION;
use countersign_core::policy::profile::Limits;
use countersign_core::{Action, Effects, Finding, Judgement, RiskLevel};
use countersign_gate::Permit;
use countersign_gate::approval::{Cancel, State};
use countersign_gate::clock::Timestamp;
use countersign_gate::gate::{Card, Progress};
use countersign_gate::proposal::{Script, Waiting};
use countersign_gate::session::{Plan, Session, SessionState};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A question to a person.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovalView {
    pub(crate) approval_id: String,
    /// The user that the agent works for.
    pub(crate) user_id: String,
    pub(crate) workspace_id: String,
    pub(crate) session_id: Option<String>,
    pub(crate) key_id: Option<String>,
    /// The kind of action, or the skill or tool.
    pub(crate) action: String,
    /// One line: what would happen.
    pub(crate) description: String,
    pub(crate) details: Vec<String>,
    /// The action itself, with secrets and personal data masked.
    pub(crate) proposed: Value,
    pub(crate) cwd: Option<String>,
    /// The agent's reason, in its own words.
    pub(crate) reasoning: Option<String>,
    pub(crate) scripts: Vec<Script>,
    pub(crate) risk_level: RiskLevel,
    /// The reason that it is asked.
    pub(crate) reason: String,
    /// An alternative to the action.
    pub(crate) instead: Option<String>,
    pub(crate) rules: Vec<String>,
    /// The findings of the rules, marked in the text of the action as it is shown.
    pub(crate) findings: Vec<Finding>,
    /// The effects it would have, and the parts that could not be followed.
    #[serde(flatten)]
    pub(crate) effects: Effects,
    /// True when a yes may be remembered for good.
    pub(crate) may_remember: bool,
    pub(crate) created_at: String,
    /// From when on silence is a refusal.
    pub(crate) expires_at: String,
    /// `pending`, `approved`, `rejected`, `expired`, `cancelled`, `started`, `done`, `failed` or
    /// `unknown`.
    pub(crate) state: &'static str,
    /// The person's message to the agent.
    pub(crate) feedback: Option<String>,
    /// The number of people who must agree.
    pub(crate) need: u8,
    /// The number of people who have agreed.
    pub(crate) have: usize,
    /// Others than the one for whom the agent works must agree.
    pub(crate) others_must_agree: bool,
    pub(crate) escalated: bool,
    /// The question in whose place it came.
    pub(crate) replaces: Option<String>,
    /// The question that came in its place, after a person wanted the action otherwise.
    pub(crate) replaced_by: Option<String>,
    /// The token to answer it with; only for people, only while it can be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
}

impl From<Card> for ApprovalView {
    fn from(card: Card) -> Self {
        let feedback = card.state.decision().and_then(|decision| decision.feedback.clone());
        let replaced_by = match &card.state {
            State::Cancelled { why: Cancel::Replaced { by }, .. } => Some(by.to_string()),
            _ => None,
        };
        Self {
            approval_id: card.approval.to_string(),
            user_id: card.user.to_string(),
            workspace_id: card.workspace.to_string(),
            session_id: card.session.map(|id| id.to_string()),
            key_id: card.key.map(|id| id.to_string()),
            action: card.action,
            description: card.description,
            details: card.details,
            proposed: card.action_json,
            cwd: card.cwd,
            reasoning: card.reasoning,
            scripts: card.scripts,
            risk_level: card.risk,
            reason: card.reason,
            instead: card.instead,
            rules: card.rules,
            findings: card.findings,
            effects: card.effects,
            may_remember: card.may_remember,
            created_at: card.created_at.to_string(),
            expires_at: card.expires_at.to_string(),
            state: card.state.as_str(),
            feedback,
            need: card.need,
            have: card.have,
            others_must_agree: card.requester_excluded,
            escalated: card.escalated,
            replaces: card.replaces.map(|id| id.to_string()),
            replaced_by,
            token: card.token.map(|token| token.expose().to_owned()),
        }
    }
}

/// A question in the six words of the browser agent.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "they are the wire's")]
pub(crate) struct Confirmation {
    pub(crate) confirmation_id: String,
    pub(crate) action: String,
    pub(crate) description: String,
    pub(crate) details: Vec<String>,
    pub(crate) risk_level: RiskLevel,
    /// Seconds until silence is a refusal, from when it was asked.
    pub(crate) timeout: u64,
}

impl From<&Card> for Confirmation {
    fn from(card: &Card) -> Self {
        // An agent that asks a question has a name of its own for its subject.
        let asked = card.action_json.pointer("/params/action").and_then(Value::as_str);
        let asked = asked.filter(|_| card.action == QUESTION);
        Self {
            confirmation_id: card.approval.to_string(),
            action: asked.unwrap_or(&card.action).to_owned(),
            description: card.description.clone(),
            details: card.details.clone(),
            risk_level: card.risk,
            timeout: card.expires_at.since(card.created_at).as_secs(),
        }
    }
}

/// The result of a proposal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Proposed {
    /// It may run, this once.
    Permitted {
        /// The id to report the outcome with.
        action_id: String,
        /// The hash of the action it is bound to: nothing else may run.
        digest: String,
        /// The question a person said yes to, if one was asked.
        approval_id: Option<String>,
        /// The time until which it may take: after that it counts as over.
        #[serde(skip_serializing_if = "Option::is_none")]
        report_by: Option<String>,
        /// The authority that agreed: `rules`, `person`, `remembered`, `auto_confirm`,
        /// `autonomous`, `program` or `handed_over`.
        by: &'static str,
        /// The action as a person wants it, where they changed it: run this instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        edited: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        judgement: Option<Box<Judgement>>,
    },
    /// A person is asked. It may not run.
    Waiting {
        approval_id: String,
        expires_at: String,
        confirmation: Confirmation,
        judgement: Box<Judgement>,
    },
}

impl Proposed {
    pub(crate) fn permitted(permit: &Permit, judgement: Option<Box<Judgement>>) -> Self {
        Self::Permitted {
            action_id: permit.id().to_string(),
            digest: permit.digest().to_owned(),
            approval_id: permit.approval().map(ToString::to_string),
            report_by: permit.report_by().map(|at| at.to_string()),
            by: permit.by().as_str(),
            edited: None,
            judgement,
        }
    }

    /// The same for the action as a person changed it.
    pub(crate) fn edited(mut self, action: &Action) -> Self {
        if let Self::Permitted { edited, .. } = &mut self {
            *edited = serde_json::to_value(action).ok();
        }
        self
    }

    /// A waiting question in its current state: perhaps one that replaced the first.
    pub(crate) fn waiting(waiting: Waiting, card: &Card) -> Self {
        Self::Waiting {
            approval_id: card.approval.to_string(),
            expires_at: card.expires_at.to_string(),
            confirmation: Confirmation::from(card),
            judgement: Box::new(waiting.judgement),
        }
    }
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
