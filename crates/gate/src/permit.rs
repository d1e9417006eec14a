//! Proof that one action may run once.

use countersign_core::{Action, Context};
pub use countersign_wire::Basis;

use crate::clock::Timestamp;
use crate::id::{ActionId, ApprovalId, SessionId};
use crate::script::{Script, binding};

/// Proof that one action may run once. The code that runs the action takes this by value.
///
/// INVARIANT: only [`crate::Gate`] makes one, and it cannot be copied.
#[derive(Debug)]
#[must_use = "a permit that is not used is an action that was allowed for nothing"]
pub struct Permit {
    pub(crate) id: ActionId,
    pub(crate) digest: String,
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) session: Option<SessionId>,
    pub(crate) report_by: Option<Timestamp>,
    pub(crate) by: Basis,
}

/// The error for an action that is not the one that was permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the action that was permitted")]
pub struct OtherActionError;

impl Permit {
    /// Uses the permit on an action, just before it runs: it must be exactly the permitted one.
    ///
    /// # Errors
    /// It is another action, in another place, or a script has changed. The permit is gone either
    /// way.
    pub fn redeem(
        self,
        action: &Action,
        context: &Context,
        scripts: &[Script],
    ) -> Result<ActionId, OtherActionError> {
        let digest = countersign_core::digest::digest(action, context);
        if binding(&digest, scripts) == self.digest { Ok(self.id) } else { Err(OtherActionError) }
    }

    /// The id by which to report the outcome.
    #[must_use]
    pub const fn id(&self) -> &ActionId {
        &self.id
    }

    /// The digest to which it is bound.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The approval it was spent from, if a person was asked.
    #[must_use]
    pub const fn approval(&self) -> Option<&ApprovalId> {
        self.approval.as_ref()
    }

    /// The time by which the action must be reported: from then on it counts as ended.
    #[must_use]
    pub const fn report_by(&self) -> Option<Timestamp> {
        self.report_by
    }

    /// The basis on which the action may run.
    #[must_use]
    pub const fn by(&self) -> Basis {
        self.by
    }

    /// The session it belongs to.
    #[must_use]
    pub const fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }
}
