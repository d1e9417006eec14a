//! Words after expansion, and what flows through pipes, as far as they can be worked out.

use crate::analyze::UNKNOWN;
use crate::fact::Tags;
use crate::verdict::Span;

/// A word of a command, or one possible value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arg {
    /// What it says; [`UNKNOWN`] stands for what could not be worked out.
    pub(super) text: String,
    /// Where its unknown parts come from.
    pub(super) taint: Tags,
    /// Has an unquoted `*`, `?` or `[`.
    pub(super) glob: bool,
    /// Where in the action's text.
    pub(super) span: Option<Span>,
    /// What a process substitution would print.
    pub(super) stream: Option<Box<Stream>>,
    /// Stands between quotes as a whole: one word, whatever it holds.
    pub(super) one_word: bool,
    /// The one variable it consists of.
    pub(super) variable: Option<Box<str>>,
    /// Came out of a variable as a whole: where it is used, nobody reads what it says.
    pub(super) from_variable: bool,
}

impl Arg {
    /// A word that says just this.
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A word nothing is known about.
    pub(super) fn unknown(taint: Tags) -> Self {
        Self { text: UNKNOWN.into(), taint, ..Self::default() }
    }

    /// The same word with another text.
    pub(super) fn saying(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self.clone() }
    }

    /// Whether every part is known.
    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }
}

/// What flows through a pipe or into a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stream {
    /// The text, where it is known.
    pub(super) text: Option<String>,
    /// Where it comes from.
    pub(super) taint: Tags,
    /// The terminal, or whatever the caller has: nothing this script feeds in.
    pub(super) from_caller: bool,
}

impl Stream {
    /// Nothing at all.
    pub(super) fn empty() -> Self {
        Self::known(String::new(), Tags::NONE)
    }

    /// Just this text.
    pub(super) fn known(text: String, taint: Tags) -> Self {
        Self { text: Some(text), taint, from_caller: false }
    }

    /// Something nobody can tell from here.
    pub(super) fn unknown(taint: Tags) -> Self {
        Self { text: None, taint, from_caller: false }
    }

    /// What the script was started with.
    pub(super) fn caller() -> Self {
        Self { from_caller: true, ..Self::default() }
    }
}
