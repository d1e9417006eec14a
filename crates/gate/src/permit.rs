//! Proof that one action may run once.

use countersign_core::{Action, Context};

use crate::id::{ActionId, ApprovalId, SessionId};
use crate::proposal::{Script, binding};

/// Proof that one action may run once. Whoever runs it takes this by value.
///
/// INVARIANT: only [`crate::Gate`] makes one, and there is no way to copy it.
#[derive(Debug)]
#[must_use = "a permit that is not used is an action that was allowed for nothing"]
pub struct Permit {
    pub(crate) id: ActionId,
    pub(crate) digest: String,
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) session: Option<SessionId>,
}

/// What is about to run is not what was permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the action that was permitted")]
pub struct OtherActionError;

impl Permit {
    /// Uses the permit on an action, just before it runs: it must be the very one.
    ///
    /// # Errors
    /// It is another action, elsewhere, or a script has changed. The permit is gone either way.
    pub fn redeem(
        self,
        action: &Action,
        context: &Context,
        scripts: &[Script],
    ) -> Result<ActionId, OtherActionError> {
        let digest = countersign_core::digest::digest(action, context);
        if binding(&digest, scripts) == self.digest { Ok(self.id) } else { Err(OtherActionError) }
    }

    /// By which to report how it went.
    #[must_use]
    pub const fn id(&self) -> &ActionId {
        &self.id
    }

    /// What it is bound to.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The approval it was spent from, if a person was asked.
    #[must_use]
    pub const fn approval(&self) -> Option<&ApprovalId> {
        self.approval.as_ref()
    }

    /// The session it belongs to.
    #[must_use]
    pub const fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }
}
