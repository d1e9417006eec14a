//! Analyzers turn the text of an action into facts, one module per kind of action.
//!
//! An analyzer never decides and never fails: text that it cannot understand is a fact of its own.

pub use crate::analysis::{Analysis, Invocation, UNKNOWN};
use crate::verdict::Span;

pub mod applescript;
pub(crate) mod arguments;
pub mod batch;
pub mod bounds;
pub mod code;
pub mod named;
pub mod path;
pub(crate) mod purpose;
pub mod shell;
pub mod skill;
pub mod tool;
pub mod ui;
pub mod url;

/// Returns the span of a whole text.
pub(crate) fn whole(text: &str) -> Option<Span> {
    u32::try_from(text.len()).ok().map(|end| [0, end])
}
