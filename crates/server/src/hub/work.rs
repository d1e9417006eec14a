//! Live events about what workers do: for its people redacted, for the agent that asked for it as
//! it was.

use std::sync::Arc;

use countersign_gate::event::{Event, What};
use countersign_gate::id::KeyId;
use countersign_wire::Event as Live;
use serde_json::json;

use super::compose::{plain, told};
use super::event::{About, LiveEvent, To, Written, text};

/// The event, if it is about what a worker does.
pub(super) fn work(event: &Arc<Event>) -> Option<LiveEvent> {
    let to = To::Owner(Arc::clone(event));
    let session_id = text(event.session.as_ref());
    let about = |key: &Option<KeyId>| About::Question(key.clone());
    match &event.what {
        What::ActionBegan { action, key } => {
            let began = Live::ActionBegan { action_id: action.to_string(), session_id };
            Some(plain(to, about(key), &began))
        }
        What::ActionEnded { action, key, state } => {
            let action_id = action.to_string();
            let ended = Live::ActionEnded { action_id, session_id, state: *state };
            Some(plain(to, about(key), &ended))
        }
        What::ActionPiece { action, key, stream, shown, plain } => {
            let (action_id, stream) = (action.to_string(), *stream);
            let piece = |text: &str| Live::ActionPiece {
                action_id: action_id.clone(),
                session_id: session_id.clone(),
                stream,
                text: text.to_owned(),
            };
            let person = piece(shown);
            let name = person.name();
            let body = person.data();
            let socket = json!({"type": name, "payload": body}).to_string();
            let agent = piece(plain.expose()).data().to_string();
            let written = Written { person: body.to_string(), socket, agent };
            Some(told(to, about(key), name, written))
        }
        _ => None,
    }
}
