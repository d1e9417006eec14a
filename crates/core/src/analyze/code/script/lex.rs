//! Tokens of Python, JavaScript, Perl and Ruby: one lexer for each, one kind of token for all.
//!
//! Total and linear: every byte is read a bounded number of times, nothing recurses, and text that
//! the language would reject still becomes tokens. Code inside strings (`f"{…}"`, `${…}`, `#{…}`)
//! remains a range of the source until the parser asks for its tokens.

use std::rc::Rc;

use crate::action::Language;

mod javascript;
mod perl;
mod python;
mod ruby;
mod scan;

pub(super) use scan::Scan;

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// True when a space or a newline precedes it.
    pub(super) spaced: bool,
    /// The indentation, if the token is the first of its line.
    pub(super) indent: Option<u32>,
}

/// The kind of a token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A name, a keyword, or a variable with its sigil.
    Name(Rc<str>),
    Text(Vec<Part>, Quote),
    /// A number, with its value if that is a small integer.
    Number(Option<i64>),
    /// An operator or bracket.
    Mark(&'static str),
    /// A newline that ends a statement.
    Line,
}

/// The kind of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Plain,
    /// A command: backticks, `qx`, `%x`.
    Command,
    /// A regular expression, with or without code in its replacement.
    Pattern,
    /// A list of words.
    Words,
    /// A file handle to read from: `<$file>`.
    Handle,
}

/// A piece of a string.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// Literal text.
    Text(String),
    /// A range of the source with code whose value goes here.
    Code(usize, usize),
}

/// The tokens of a source.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) list: Vec<Token>,
    /// True when a quote or comment does not end, so that the rest may be misread.
    pub(super) broken: bool,
}

/// Returns the tokens of a range of the source.
pub(super) fn tokens(language: Language, source: &str, start: usize, end: usize) -> Tokens {
    let mut scan = Scan::new(source, start, end);
    match language {
        Language::Python => python::lex(&mut scan),
        Language::Javascript => javascript::lex(&mut scan),
        Language::Perl => perl::lex(&mut scan),
        Language::Ruby => ruby::lex(&mut scan),
        Language::Sql => {}
    }
    scan.finish()
}

impl Kind {
    /// Reports whether this is the mark.
    pub(super) fn is(&self, mark: &str) -> bool {
        matches!(self, Self::Mark(known) if *known == mark)
    }

    /// Returns the name, if it is one.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}
