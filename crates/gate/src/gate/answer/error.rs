//! The reasons for which an answer is refused.

use crate::approval::TamperedError;
use crate::gate::GateError;

/// The reason for which an answer is refused.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The question does not exist, or is not for this person.
    #[error("there is no such approval for you")]
    NotFound,
    /// The question is settled already.
    #[error("already {0}")]
    Settled(&'static str),
    /// The token is not the one that was sent.
    #[error("the token is not the one for this approval")]
    Token,
    /// Somebody else must agree.
    #[error("somebody other than the person the agent works for must agree")]
    OthersMustAgree,
    /// The answer comes from the agent itself.
    #[error("the agent that asks cannot answer")]
    FromTheAgent,
    /// The person has a device on which they must approve.
    #[error(
        "you have a signed-in device: say yes there, or with its secret; over the socket alone you \
         can look and say no"
    )]
    NeedsDevice,
    /// This approval may not be remembered.
    #[error("a yes to this cannot be remembered: answer it each time")]
    NotForAlways,
    /// The edited action is blocked.
    #[error("the edited action never runs: {0}")]
    EditedIsBlocked(String),
    /// The edited action contains something that is never stored.
    #[error("an edited action cannot hold secrets, personal data or typed text: it is kept")]
    EditedHasSecrets,
    /// No approval was named.
    #[error("name at least one approval")]
    NoneNamed,
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

impl From<crate::store::StoreError> for AnswerError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl From<crate::clock::ChanceError> for AnswerError {
    fn from(error: crate::clock::ChanceError) -> Self {
        Self::Gate(error.into())
    }
}
