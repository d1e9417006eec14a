//! What has just happened, for everybody who listens: devices, pages, waiting agents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{broadcast, watch};

use crate::id::{ActionId, ApprovalId, DeviceId, SessionId, UserId, WorkspaceId};

/// What has just happened. Nobody but those it is for may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whose it is.
    pub user: Option<UserId>,
    /// In which workspace.
    pub workspace: Option<WorkspaceId>,
    /// In which session.
    pub session: Option<SessionId>,
    /// What.
    pub what: What,
}

/// What has just happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the word it stands for")]
pub enum What {
    /// A person is asked.
    ApprovalRequired {
        approval: ApprovalId,
    },
    /// A wider circle is asked.
    ApprovalEscalated {
        approval: ApprovalId,
    },
    /// One of several people has agreed.
    ApprovalVoted {
        approval: ApprovalId,
    },
    /// It is settled, and how.
    ApprovalSettled {
        approval: ApprovalId,
        state: &'static str,
        by: Option<UserId>,
    },
    /// An action was let through.
    ActionAllowed {
        action: ActionId,
    },
    /// An action ran, or failed.
    ActionReported {
        action: ActionId,
        state: &'static str,
    },
    SessionStarted,
    SessionPaused,
    SessionResumed,
    /// A session explores from now on, or works.
    SessionMode,
    SessionEnded {
        reason: &'static str,
    },
    /// A device no longer works; none of the user's, if none is named.
    SignedOut {
        device: Option<DeviceId>,
    },
    /// Something that gave the user a right is gone or different: a key, a machine, a membership.
    RightsChanged,
    /// A device wants to be approved.
    DeviceWaiting {
        device: DeviceId,
    },
    Halted,
    Resumed,
}

/// How far behind a listener may fall before it must look at the store again.
const BACKLOG: usize = 1_024;

/// Tells everybody who listens.
#[derive(Debug)]
pub(crate) struct Bus {
    all: broadcast::Sender<Arc<Event>>,
    /// The kill switch is thrown so seldom that whoever cares for nothing else is not woken for
    /// every action.
    switch: watch::Sender<()>,
    /// Everybody who waits looks again when somebody's rights have changed.
    rights: watch::Sender<()>,
    waiting: Mutex<HashMap<ApprovalId, watch::Sender<()>>>,
}

impl Bus {
    pub(crate) fn new() -> Self {
        let (switch, rights) = (watch::channel(()).0, watch::channel(()).0);
        Self { all: broadcast::channel(BACKLOG).0, switch, rights, waiting: Mutex::default() }
    }

    /// Tells everybody. Nobody may be listening.
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

    /// Wakes up when the kill switch was thrown, either way.
    pub(crate) fn switched(&self) -> watch::Receiver<()> {
        self.switch.subscribe()
    }

    /// Wakes up when somebody's rights have changed.
    pub(crate) fn rights_changed(&self) -> watch::Receiver<()> {
        self.rights.subscribe()
    }

    /// Wakes up once an approval is settled. Subscribe first, then look at the store: what is
    /// settled in between is not missed.
    pub(crate) fn settled(&self, approval: &ApprovalId) -> watch::Receiver<()> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(approval.clone()).or_insert_with(|| watch::channel(()).0).subscribe()
    }

    /// Forgets a question that nobody waits for any more.
    pub(crate) fn forget(&self, approval: &ApprovalId) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.get(approval).is_some_and(|waiter| waiter.receiver_count() == 0) {
            waiting.remove(approval);
        }
    }
}
