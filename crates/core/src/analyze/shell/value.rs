//! Words after expansion, and the data in pipes, as far as they can be worked out.

use crate::analyze::UNKNOWN;
use crate::fact::Tags;
use crate::verdict::Span;

/// A word of a command, or one possible value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arg {
    /// The text; [`UNKNOWN`] marks parts that could not be worked out.
    pub(super) text: String,
    /// The origin of its unknown parts.
    pub(super) taint: Tags,
    /// True when it has an unquoted `*`, `?` or `[`.
    pub(super) glob: bool,
    /// The position in the action's text.
    pub(super) span: Option<Span>,
    /// The output of a process substitution.
    pub(super) stream: Option<Box<Stream>>,
    /// True when it is quoted as a whole: one word, whatever it contains.
    pub(super) one_word: bool,
    /// The only variable that it consists of.
    pub(super) variable: Option<Box<str>>,
    /// True when it is the value of a variable as a whole: a reader does not see its text where it
    /// is used.
    pub(super) from_variable: bool,
}

impl Arg {
    /// Creates a word with a known text.
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates an unknown word.
    pub(super) fn unknown(taint: Tags) -> Self {
        Self { text: UNKNOWN.into(), taint, ..Self::default() }
    }

    /// Returns the same word with another text.
    pub(super) fn saying(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self.clone() }
    }

    /// Reports whether every part is known.
    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }
}

/// The data in a pipe or a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stream {
    /// The text, where it is known.
    pub(super) text: Option<String>,
    /// The origin of the data.
    pub(super) taint: Tags,
    /// True for the terminal, or any other input of the caller: nothing that this script provides.
    pub(super) from_caller: bool,
}

impl Stream {
    /// Creates an empty stream.
    pub(super) fn empty() -> Self {
        Self::known(String::new(), Tags::NONE)
    }

    /// Creates a stream with a known text.
    pub(super) fn known(text: String, taint: Tags) -> Self {
        Self { text: Some(text), taint, from_caller: false }
    }

    /// Creates a stream whose text is unknown.
    pub(super) fn unknown(taint: Tags) -> Self {
        Self { text: None, taint, from_caller: false }
    }

    /// Creates the stream that the script was started with.
    pub(super) fn caller() -> Self {
        Self { from_caller: true, ..Self::default() }
    }
}
