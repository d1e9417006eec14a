//! A question of an agent that is not about an action, and its answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::Confirmation;

/// The answer to a request for a confirmation: the person's, or that none is there yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ConfirmationAnswer {
    /// A person has answered, or nobody did in time.
    Answered(Confirmed),
    /// Nobody has answered yet.
    Waiting(Unanswered),
}

/// A person's answer to an agent that asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmed {
    /// True when a person said yes. Silence is a no.
    pub approved: bool,
    /// The person's message to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// A question nobody has answered yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unanswered {
    /// Always `waiting`.
    pub status: Waiting,
    /// The id to go on waiting with.
    pub approval_id: String,
    /// From when on silence is a refusal.
    pub expires_at: String,
    /// The question in the words of the browser agent.
    pub confirmation: Confirmation,
}

/// The status of a question that nobody has answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Waiting {
    /// A person is asked.
    Waiting,
}
