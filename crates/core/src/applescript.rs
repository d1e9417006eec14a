//! Around AppleScript: how safe a script is, whether it is well-formed, how to build one that
//! cannot be broken out of, and what its errors mean.
//!
//! Judging itself is [`crate::analyze::applescript`]'s. Nothing here runs or compiles a script.

mod build;
mod error;
mod safety;
mod validate;

pub use build::{
    BuildError, Dialog, Notification, activate, frontmost_app, quote, running_apps, tell,
};
pub use error::{ErrorKind, Explained, explain};
pub use safety::SafetyAnalysis;
pub use validate::{Validation, validate};
