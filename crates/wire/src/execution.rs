//! An action that a worker does, as agents and people are shown it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::work::{Ended, WorkResult};

/// An action that a worker does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// The id of the action.
    pub action_id: String,
    /// The session that it belongs to.
    pub session_id: String,
    /// The worker that it was given to.
    pub worker_id: String,
    /// The question a person said yes to, where one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The kind of the action, or the skill or tool it uses.
    pub action: String,
    /// How far it has come.
    pub state: ExecutionState,
    /// The result. The agent that asked for the action gets its own output as it was, until the
    /// session ends; everybody else, and everybody later, gets it redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<WorkResult>,
}

/// How far an action has come that a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionState {
    /// It has not been sent to its worker yet.
    Queued,
    /// It was sent to its worker.
    Sent,
    /// It runs.
    Running,
    /// It ran to its end and succeeded.
    Done,
    /// It ran to its end and failed, or could not begin.
    Failed,
    /// It was ended because its time was over.
    TimedOut,
    /// It was ended by a stop, a halt or the end of its session.
    Stopped,
    /// The worker did not begin it: something was not as it was judged.
    Refused,
    /// It was sent, and nobody knows how it went. It is never done again by itself.
    Unknown,
}

impl ExecutionState {
    /// The name of the state.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Running => "running",
            Self::Done => Ended::Done.as_str(),
            Self::Failed => Ended::Failed.as_str(),
            Self::TimedOut => Ended::TimedOut.as_str(),
            Self::Stopped => Ended::Stopped.as_str(),
            Self::Refused => Ended::Refused.as_str(),
            Self::Unknown => "unknown",
        }
    }

    /// Reports whether it is over.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Sent | Self::Running => false,
            Self::Done
            | Self::Failed
            | Self::TimedOut
            | Self::Stopped
            | Self::Refused
            | Self::Unknown => true,
        }
    }
}

impl From<Ended> for ExecutionState {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Done => Self::Done,
            Ended::Failed => Self::Failed,
            Ended::TimedOut => Self::TimedOut,
            Ended::Stopped => Self::Stopped,
            Ended::Refused => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_by_the_name_under_which_it_is_written() {
        use ExecutionState::{
            Done, Failed, Queued, Refused, Running, Sent, Stopped, TimedOut, Unknown,
        };
        let all = [Queued, Sent, Running, Done, Failed, TimedOut, Stopped, Refused, Unknown];
        for state in all {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert_eq!(all.iter().filter(|state| !state.is_over()).count(), 3);
    }
}
