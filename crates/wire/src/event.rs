//! Live events, as they are sent to people and agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval::{ApprovalCard, ApprovalState};
use crate::execution::ExecutionState;
use crate::proposed::Outcome;
use crate::work::Stream;

/// A live event. A stream of server-sent events has its name as `event` and the rest as `data`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
#[expect(missing_docs, reason = "each field is the word it stands for")]
pub enum Event {
    /// A question waits for a person.
    ApprovalRequired(Box<ApprovalCard>),
    /// One of several people has agreed.
    ApprovalVoted { approval_id: String, session_id: Option<String>, have: usize, need: u8 },
    /// A question has left the state in which it waited, or has come to a further state.
    ApprovalSettled {
        approval_id: String,
        session_id: Option<String>,
        state: ApprovalState,
        /// The user who answered.
        by: Option<String>,
        /// The person's message to the agent.
        feedback: Option<String>,
    },
    /// An action was allowed without a question.
    ActionAllowed { action_id: String, session_id: Option<String> },
    /// An action ran or failed.
    ActionReported { action_id: String, session_id: Option<String>, state: Outcome },
    /// A worker has begun an action.
    ActionBegan { action_id: String, session_id: Option<String> },
    /// A piece of the output of an action that runs. The agent gets it as it was, people redacted.
    ActionPiece { action_id: String, session_id: Option<String>, stream: Stream, text: String },
    /// An action that was given to a worker is over; its result is asked for by its id.
    ActionEnded { action_id: String, session_id: Option<String>, state: ExecutionState },
    /// A session began.
    SessionStarted { session_id: Option<String> },
    /// A session waits for a person to let it go on.
    SessionPaused { session_id: Option<String> },
    /// A paused session goes on.
    SessionResumed { session_id: Option<String> },
    /// A session changed its mode.
    SessionMode { session_id: Option<String> },
    /// A session is over.
    SessionEnded { session_id: Option<String>, reason: String },
    /// A device waits for approval.
    DeviceWaiting { device_id: String },
    /// A device was signed out; every device of the user, where none is named.
    SignedOut { device_id: Option<String> },
    /// A key, a machine or a membership of the user has changed.
    RightsChanged {},
    /// Everything was halted.
    Halted {},
    /// Things go on.
    Resumed {},
    /// Events were missed: the pending questions are to be read again.
    Resync {},
}

impl Event {
    /// The name of the event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ApprovalRequired(_) => "approval_required",
            Self::ApprovalVoted { .. } => "approval_voted",
            Self::ApprovalSettled { .. } => "approval_settled",
            Self::ActionAllowed { .. } => "action_allowed",
            Self::ActionReported { .. } => "action_reported",
            Self::ActionBegan { .. } => "action_began",
            Self::ActionPiece { .. } => "action_piece",
            Self::ActionEnded { .. } => "action_ended",
            Self::SessionStarted { .. } => "session_started",
            Self::SessionPaused { .. } => "session_paused",
            Self::SessionResumed { .. } => "session_resumed",
            Self::SessionMode { .. } => "session_mode",
            Self::SessionEnded { .. } => "session_ended",
            Self::DeviceWaiting { .. } => "device_waiting",
            Self::SignedOut { .. } => "signed_out",
            Self::RightsChanged {} => "rights_changed",
            Self::Halted {} => "halted",
            Self::Resumed {} => "resumed",
            Self::Resync {} => "resync",
        }
    }

    /// The data of the event, without its name.
    #[must_use]
    pub fn data(&self) -> Value {
        // Our own types have text keys and finite numbers, so JSON can represent all of them.
        let mut whole = serde_json::to_value(self).unwrap_or_default();
        whole.get_mut("data").map(Value::take).unwrap_or_default()
    }

    /// Reads an event from its name and its data; `None` if this version does not know it.
    #[must_use]
    pub fn read(name: &str, data: &Value) -> Option<Self> {
        serde_json::from_value(json!({"event": name, "data": data})).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_by_its_name_and_data() {
        let events = [
            Event::ApprovalSettled {
                approval_id: "apr_1".to_owned(),
                session_id: None,
                state: ApprovalState::Rejected,
                by: Some("usr_1".to_owned()),
                feedback: None,
            },
            Event::ActionReported {
                action_id: "act_1".to_owned(),
                session_id: None,
                state: Outcome::Failed,
            },
            Event::SignedOut { device_id: None },
            Event::Halted {},
            Event::Resync {},
        ];
        for event in events {
            let written = serde_json::to_value(&event).unwrap();
            assert_eq!(written["event"], event.name());
            assert_eq!(Event::read(event.name(), &event.data()), Some(event));
        }
        assert_eq!(Event::Halted {}.data(), json!({}));
        assert_eq!(Event::read("unheard_of", &json!({})), None);
    }
}
