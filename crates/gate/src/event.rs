//! Live events for listeners: devices, pages, waiting agents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_wire::work::Stream;
use countersign_wire::{ApprovalState, ExecutionState, Outcome, Token};
use tokio::sync::{broadcast, watch};

use crate::id::{ActionId, ApprovalId, DeviceId, KeyId, SessionId, UserId, WorkspaceId};

/// An event. It may be passed on only to the people it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The user it concerns.
    pub user: Option<UserId>,
    /// The workspace it belongs to.
    pub workspace: Option<WorkspaceId>,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// The kind of event.
    pub what: What,
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the word it stands for")]
pub enum What {
    /// A person is asked.
    ApprovalRequired {
        approval: ApprovalId,
    },
    /// The question was escalated to workspace admins.
    ApprovalEscalated {
        approval: ApprovalId,
    },
    /// One of several people has agreed.
    ApprovalVoted {
        approval: ApprovalId,
    },
    /// An approval is settled, with its new state.
    ApprovalSettled {
        approval: ApprovalId,
        state: ApprovalState,
        by: Option<UserId>,
    },
    /// An action was allowed.
    ActionAllowed {
        action: ActionId,
    },
    /// An action succeeded or failed.
    ActionReported {
        action: ActionId,
        state: Outcome,
    },
    /// A worker has begun an action that was asked for with this key.
    ActionBegan {
        action: ActionId,
        key: Option<KeyId>,
    },
    /// A piece of the output of an action: redacted for people, as it was for the agent.
    ActionPiece {
        action: ActionId,
        key: Option<KeyId>,
        stream: Stream,
        shown: String,
        plain: Token,
    },
    /// An action that was given to a worker is over.
    ActionEnded {
        action: ActionId,
        key: Option<KeyId>,
        state: ExecutionState,
    },
    SessionStarted,
    SessionPaused,
    SessionResumed,
    /// A session changed its mode.
    SessionMode,
    SessionEnded {
        reason: &'static str,
    },
    /// A device was signed out; all of the user's devices, if `None`.
    SignedOut {
        device: Option<DeviceId>,
    },
    /// Something that gave the user a right was removed or changed: a key, a machine, a membership.
    RightsChanged,
    /// A device waits for approval.
    DeviceWaiting {
        device: DeviceId,
    },
    Halted,
    Resumed,
}

/// The number of events a listener may fall behind before it must read the store again.
const BACKLOG: usize = 1_024;

/// Delivers events to listeners.
#[derive(Debug)]
pub(crate) struct Bus {
    all: broadcast::Sender<Arc<Event>>,
    /// The kill switch has a channel of its own, so that a listener that needs nothing else is not
    /// woken for every action.
    switch: watch::Sender<()>,
    /// Wakes all waiting requests when somebody's rights have changed.
    rights: watch::Sender<()>,
    waiting: Mutex<HashMap<ApprovalId, watch::Sender<()>>>,
}

impl Bus {
    pub(crate) fn new() -> Self {
        let (switch, rights) = (watch::channel(()).0, watch::channel(()).0);
        Self { all: broadcast::channel(BACKLOG).0, switch, rights, waiting: Mutex::default() }
    }

    /// Delivers an event. There may be no listener.
    pub(crate) fn tell(&self, event: Event) {
        match &event.what {
            What::ApprovalSettled { approval, .. } => {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(waiter) = waiting.remove(approval) {
                    waiter.send_replace(());
                }
            }
            What::Halted | What::Resumed => self.switch.send_replace(()),
            What::SignedOut { .. } | What::RightsChanged => self.rights.send_replace(()),
            _ => {}
        }
        let _ = self.all.send(Arc::new(event));
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.all.subscribe()
    }

    /// A receiver that wakes when the kill switch is thrown or reset.
    pub(crate) fn switched(&self) -> watch::Receiver<()> {
        self.switch.subscribe()
    }

    /// A receiver that wakes when somebody's rights have changed.
    pub(crate) fn rights_changed(&self) -> watch::Receiver<()> {
        self.rights.subscribe()
    }

    /// A receiver that wakes once an approval is settled. Subscribe first, then read the store, so
    /// that a decision in between is not missed.
    pub(crate) fn settled(&self, approval: &ApprovalId) -> watch::Receiver<()> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(approval.clone()).or_insert_with(|| watch::channel(()).0).subscribe()
    }

    /// Forgets a question without listeners.
    pub(crate) fn forget(&self, approval: &ApprovalId) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.get(approval).is_some_and(|waiter| waiter.receiver_count() == 0) {
            waiting.remove(approval);
        }
    }
}
