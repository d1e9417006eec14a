//! Relaxation by a session or an earlier answer. Never of a hard block, never of a rule that always
//! asks.

/// Options of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Session {
    /// Confirmations are given without asking.
    pub auto_confirm: bool,
    /// The user has switched on autonomous mode.
    pub autonomous: bool,
    /// A program with an API key whose owner wants no questions: a skill that would ask because of
    /// its declaration does not ask, and nothing else changes.
    pub programmatic: bool,
}

/// A yes that a person wanted remembered. Narrow: for this very action, and only for the rules that
/// matched then. The caller knows the time at which it ends, and leaves out expired ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The digest of the action.
    pub digest: String,
    /// The rules the person was told about.
    pub rules: Vec<String>,
}
