//! One live event: the people and agents it is for, its serialised forms, and its consequence for a
//! connection.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use countersign_gate::event::{Event, What};
use countersign_gate::id::{ActionId, DeviceId, KeyId, SessionId, UserId, WorkspaceId};
use countersign_wire::Event as Live;
use serde_json::{Value, json};

/// One event, serialised once for all recipients.
#[derive(Debug)]
pub(crate) struct LiveEvent {
    pub(crate) number: u64,
    pub(super) to: To,
    /// The name of the event.
    pub(crate) name: &'static str,
    pub(super) words: Words,
    pub(super) about: About,
    pub(super) then: Then,
}

/// The consequence of an event for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    /// Events were missed: the store is read again.
    Resync,
    /// Somebody's rights have changed: the listener is looked up again.
    Check,
    /// A device is signed out; every device of the user, if `None`.
    SignOut(Option<DeviceId>),
}

/// The serialised forms of an event.
#[derive(Debug)]
pub(crate) struct Written {
    /// For people, as JSON. May contain the token that answers a question.
    pub(crate) person: String,
    /// For devices on a WebSocket.
    pub(crate) socket: String,
    /// For agents, as JSON.
    pub(crate) agent: String,
}

/// The recipients of an event.
#[derive(Debug)]
pub(super) enum To {
    Everybody,
    /// The owner of the event; everybody, if it has none.
    Owner(Arc<Event>),
    These(HashSet<UserId>),
}

/// The serialised event, now or on demand.
#[derive(Debug)]
pub(super) enum Words {
    Written(Written),
    /// An action was allowed. That happens all the time and hardly anybody listens, so it is
    /// serialised when it is first needed.
    Allowed {
        event: Arc<Event>,
        written: OnceLock<Written>,
    },
}

/// The criterion by which an agent's own events are told from those of others.
#[derive(Debug)]
pub(super) enum About {
    /// A question, asked with this key.
    Question(Option<KeyId>),
    /// An event of a workspace, or of everybody. Events of devices are for their owner only.
    Event(Arc<Event>),
    Everybody,
}

impl LiveEvent {
    /// The serialised forms, created on first use.
    pub(crate) fn written(&self) -> &Written {
        match &self.words {
            Words::Written(written) => written,
            Words::Allowed { event, written } => written.get_or_init(|| {
                let body = match &event.what {
                    What::ActionAllowed { action } => allowed(action, event.session.as_ref()),
                    _ => Live::Resync {},
                };
                Written::plain(&body)
            }),
        }
    }

    /// Reports whether events were missed before this one.
    pub(crate) fn is_gap(&self) -> bool {
        self.then == Then::Resync
    }

    /// Reports whether somebody's rights have changed, so that the listener must be looked up
    /// again.
    pub(crate) fn changes_rights(&self) -> bool {
        matches!(self.then, Then::Check | Then::SignOut(_))
    }

    /// Reports whether this signs a device out. A person without a device is signed out only with
    /// all of their devices.
    pub(crate) fn signs_out(&self, device: Option<&DeviceId>) -> bool {
        match &self.then {
            Then::SignOut(None) => true,
            Then::SignOut(Some(signed_out)) => device == Some(signed_out),
            Then::Nothing | Then::Resync | Then::Check => false,
        }
    }

    /// Reports whether it concerns users other than this one.
    pub(crate) fn is_others(&self, user: &UserId) -> bool {
        match &self.to {
            To::Everybody => false,
            To::Owner(event) => event.user.as_ref().is_some_and(|owner| owner != user),
            To::These(users) => users.iter().any(|other| other != user),
        }
    }

    pub(super) fn is_for(&self, user: &UserId) -> bool {
        match &self.to {
            To::Everybody => true,
            To::Owner(event) => event.user.as_ref().is_none_or(|owner| owner == user),
            To::These(users) => users.contains(user),
        }
    }

    /// Reports whether an agent with this key, in this workspace, may be told.
    pub(crate) fn is_for_agent(&self, key: Option<&KeyId>, workspace: &WorkspaceId) -> bool {
        match &self.about {
            About::Question(asked_with) => asked_with.as_ref() == key,
            About::Event(event) => match &event.workspace {
                Some(of) => of == workspace,
                None => event.user.is_none(),
            },
            About::Everybody => true,
        }
    }
}

impl Written {
    pub(super) fn plain(event: &Live) -> Self {
        let body = event.data();
        Self::of(&body, &json!({"type": event.name(), "payload": body}))
    }

    /// The same JSON for people and agents, another for devices.
    pub(super) fn of(body: &Value, socket: &Value) -> Self {
        let (person, socket) = (body.to_string(), socket.to_string());
        let agent = person.clone();
        Self { person, socket, agent }
    }
}

pub(super) fn allowed(action: &ActionId, session: Option<&SessionId>) -> Live {
    Live::ActionAllowed { action_id: action.to_string(), session_id: text(session) }
}

pub(super) fn text(id: Option<&impl ToString>) -> Option<String> {
    id.map(ToString::to_string)
}
