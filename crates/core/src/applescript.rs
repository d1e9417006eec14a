//! AppleScript: the safety of a script, a check of its structure, building scripts from untrusted
//! text, and explanations of errors.
//!
//! Judging is in [`crate::analyze::applescript`]. Nothing here runs or compiles a script.

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
