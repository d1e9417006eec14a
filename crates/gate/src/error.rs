//! The failure of an operation of the gate, apart from what it says about the action.

use std::fmt;

use crate::clock::ChanceError;
use crate::judging::NotJudged;
use crate::store::StoreError;

/// A failure that is not about the action. Nothing was allowed.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system's random number generator failed.
    #[error(transparent)]
    Chance(#[from] ChanceError),
    /// Another process has changed something since the caller was recognised from the cache.
    #[error("something has changed in the meantime: try again")]
    Outdated,
    /// The key, machine, device or person no longer has the right to do this.
    #[error("the right to do this was taken away: {0}")]
    Revoked(Lost),
    /// The queue of the judge is full, or the caller has used up its time.
    #[error(transparent)]
    NotJudged(#[from] NotJudged),
    /// Others changed the same documents again and again.
    #[error("too many changes at once: try again")]
    Busy,
}

/// A right that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The key was revoked or has expired.
    Key,
    /// The machine or console is no longer approved.
    Device,
    /// The person was disabled.
    User,
    /// The person no longer belongs to the workspace.
    Workspace,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "the key no longer works",
            Self::Device => "the device is no longer signed in",
            Self::User => "the person was disabled",
            Self::Workspace => "the person no longer belongs to the workspace",
        })
    }
}
