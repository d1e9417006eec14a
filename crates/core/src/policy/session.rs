//! What a session or an earlier answer relaxes. Never a hard block, never what always asks.

/// Options of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Session {
    /// Confirmations are given without asking.
    pub auto_confirm: bool,
    /// The user has switched on autonomous mode.
    pub autonomous: bool,
    /// A program with an API key whose owner wants no questions: what skills ask because of their
    /// declaration goes unasked, and nothing else does.
    pub programmatic: bool,
}

/// A yes that a person wanted remembered. Narrow: for this very action, and only for what it was
/// found to do then. When it runs out is known to the caller, who leaves out what has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The digest of the action.
    pub digest: String,
    /// The rules the person was told about.
    pub rules: Vec<String>,
}
