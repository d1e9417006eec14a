//! A question to a person, and its states.

use std::fmt;

use countersign_core::{Effects, Finding, RiskLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::token::Token;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalCard {
    /// The id of the question.
    pub approval_id: String,
    /// The user that the agent works for.
    pub user_id: String,
    /// The workspace that the agent works in.
    pub workspace_id: String,
    /// The session in which the agent asked.
    pub session_id: Option<String>,
    /// The API key with which the agent asked.
    pub key_id: Option<String>,
    /// The kind of action, or the skill or tool.
    pub action: String,
    /// One line: what would happen.
    pub description: String,
    /// More lines.
    pub details: Vec<String>,
    /// The action itself, with secrets and personal data masked.
    pub proposed: Value,
    /// The directory in which it would run.
    pub cwd: Option<String>,
    /// The agent's reason, in its own words.
    pub reasoning: Option<String>,
    /// The files that the action runs, with a digest of their content.
    pub scripts: Vec<Script>,
    /// The risk of the action.
    pub risk_level: RiskLevel,
    /// The reason that it is asked.
    pub reason: String,
    /// An alternative to the action.
    pub instead: Option<String>,
    /// The rules that asked.
    pub rules: Vec<String>,
    /// The findings of the rules, marked in the text of the action as it is shown.
    pub findings: Vec<Finding>,
    /// The effects it would have, and the parts that could not be followed.
    #[serde(flatten)]
    pub effects: Effects,
    /// True when a yes may be remembered for good.
    pub may_remember: bool,
    /// The time at which it was asked.
    pub created_at: String,
    /// From when on silence is a refusal.
    pub expires_at: String,
    /// The state that it is in.
    pub state: ApprovalState,
    /// The person's message to the agent.
    pub feedback: Option<String>,
    /// The number of people who must agree.
    pub need: u8,
    /// The number of people who have agreed.
    pub have: usize,
    /// Others than the one for whom the agent works must agree.
    pub others_must_agree: bool,
    /// True once administrators of the workspace are asked too.
    pub escalated: bool,
    /// The question in whose place it came.
    pub replaces: Option<String>,
    /// The question that came in its place, after a person wanted the action otherwise.
    pub replaced_by: Option<String>,
    /// The token to answer it with; only for people, only while it can be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

impl ApprovalCard {
    /// The same question for an agent, which never learns the token that answers it.
    #[must_use]
    pub fn without_token(self) -> Self {
        Self { token: None, ..self }
    }
}

/// A file that an action runs, with a digest of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScriptOfCard")]
pub struct Script {
    /// The path of the file.
    pub path: String,
    /// SHA-256 of its content, as base64url.
    pub sha256: String,
}

/// A state of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ApprovalStateName")]
pub enum ApprovalState {
    /// Nobody, or not everybody needed, has answered.
    Pending,
    /// It may run, once.
    Approved,
    /// Somebody said no.
    Rejected,
    /// Nobody answered in time, or it was not run in time.
    Expired,
    /// It is no longer wanted.
    Cancelled,
    /// It runs.
    Started,
    /// It ran.
    Done,
    /// It ran and failed.
    Failed,
    /// It ran, and nobody reported how it went.
    Unknown,
}

impl ApprovalState {
    /// Every state, in the order in which an approval can go through them.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Approved,
        Self::Rejected,
        Self::Expired,
        Self::Cancelled,
        Self::Started,
        Self::Done,
        Self::Failed,
        Self::Unknown,
    ];

    /// The name of the state.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Started => "started",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// Reports whether an answer is awaited.
    #[must_use]
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Pending)
    }
}

impl fmt::Display for ApprovalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A question in the six words of the browser agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// The id of the question.
    pub confirmation_id: String,
    /// The kind of action, or the agent's own word for its question.
    pub action: String,
    /// One line: what would happen.
    pub description: String,
    /// More lines.
    pub details: Vec<String>,
    /// The risk of the action.
    pub risk_level: RiskLevel,
    /// Seconds until silence is a refusal, from when it was asked.
    pub timeout: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_by_the_name_under_which_it_is_written() {
        for state in ApprovalState::ALL {
            let written = serde_json::to_value(state).unwrap();
            assert_eq!(written, state.as_str());
            assert_eq!(serde_json::from_value::<ApprovalState>(written).unwrap(), state);
        }
    }
}
