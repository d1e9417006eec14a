//! The reasons for which an approval cannot be used.

use crate::approval::TamperedError;
use crate::gate::GateError;

/// The reason for which an approval cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpendError {
    /// The approval does not exist for them.
    #[error("there is no such approval")]
    NotFound,
    /// The approval is still pending.
    #[error("still waiting for an answer")]
    Pending,
    /// The approval is settled and cannot be used.
    #[error("already {0}")]
    Settled(&'static str),
    /// This is not the action that was approved.
    #[error("this is not the action that was approved")]
    OtherAction,
    /// The key may not do this.
    #[error("this key may not do `{0}`")]
    Scope(String),
    /// Too few of the people who agreed still may, or more people must agree now.
    #[error("too few of those who agreed may still say so: ask again")]
    TooFewAgree,
    /// The session does not run.
    #[error("the session does not run any more")]
    Session,
    /// Everything is halted.
    #[error("everything is halted")]
    Halted,
    /// The approval was changed in the store by somebody else.
    #[error(transparent)]
    Tampered(#[from] TamperedError),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<crate::store::StoreError> for SpendError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Gate(error.into())
    }
}
