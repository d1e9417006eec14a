//! Proof that one action may run once.

use countersign_core::{Action, Context};

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

/// The basis on which an action may run: the person or setting that agreed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The rules ask nobody about it.
    Rules,
    /// A person was asked and approved.
    Person,
    /// A person has approved exactly this action before, and wanted that remembered.
    Remembered,
    /// The session confirms automatically: nobody was asked.
    AutoConfirm,
    /// Autonomous mode is on: nobody was asked.
    Autonomous,
    /// A program uses its owner's key, and its owner wants no questions: nobody was asked.
    Program,
    /// A person approved exactly this call when the host's hook asked.
    HandedOver,
}

impl Basis {
    /// The name of the basis.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Person => "person",
            Self::Remembered => "remembered",
            Self::AutoConfirm => "auto_confirm",
            Self::Autonomous => "autonomous",
            Self::Program => "program",
            Self::HandedOver => "handed_over",
        }
    }
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
