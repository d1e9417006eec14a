//! The reason for which browser work did not succeed.

use countersign_wire::work::{Ended, WorkResult};

/// The end of browser work that did not succeed, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Failed {
    pub(super) ended: Ended,
    /// The kind of error, such as `ElementChanged`.
    pub(super) name: &'static str,
    pub(super) message: String,
}

impl Failed {
    /// Something is not as it was judged, so nothing was done.
    pub(super) fn refused(name: &'static str, message: impl Into<String>) -> Self {
        Self { ended: Ended::Refused, name, message: message.into() }
    }

    /// It was tried and did not work.
    pub(super) fn because(name: &'static str, message: impl Into<String>) -> Self {
        Self { ended: Ended::Failed, name, message: message.into() }
    }

    /// The element is not the one that was judged.
    pub(super) fn element_changed(message: impl Into<String>) -> Self {
        Self::refused("ElementChanged", message)
    }

    pub(super) fn into_result(self) -> WorkResult {
        WorkResult::because(self.ended, self.name, self.message)
    }
}
