//! Positions in the text of an action.

/// The range of a finding in the action's text, in bytes: start and end.
pub type Span = [u32; 2];
