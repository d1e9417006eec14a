//! Tokens of Python, JavaScript, Perl and Ruby: one lexer for each, one kind of token for all.
//!
//! Total and linear: every byte is looked at a bounded number of times, nothing recurses, and what
//! a language would refuse still becomes tokens. Code inside strings (`f"{…}"`, `${…}`, `#{…}`)
//! stays a range of the source until the parser asks for its tokens.

use std::rc::Rc;

use crate::action::Language;

mod javascript;
mod perl;
mod python;
mod ruby;
mod scan;

pub(super) use scan::Scan;

/// One token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Space or a line's end stands before it.
    pub(super) spaced: bool,
    /// It is the first of its line, with this indentation.
    pub(super) indent: Option<u32>,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A name, a keyword, or a variable with its sigil.
    Name(Rc<str>),
    /// A string.
    Text(Vec<Part>, Quote),
    /// A number, where it is a small whole one.
    Number(Option<i64>),
    /// An operator or bracket.
    Mark(&'static str),
    /// The end of a line that ends a statement.
    Line,
}

/// What a string is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// Text.
    Plain,
    /// A command: backticks, `qx`, `%x`.
    Command,
    /// A pattern, with code in its replacement or not.
    Pattern,
    /// A list of words.
    Words,
    /// A file to read from: `<$file>`.
    Handle,
}

/// A piece of a string.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// As it is.
    Text(String),
    /// Code whose value goes here: a range of the source.
    Code(usize, usize),
}

/// The tokens of a source.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) list: Vec<Token>,
    /// A quote or comment never ended: the rest was not read as meant.
    pub(super) broken: bool,
}

/// The tokens of this range of the source.
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
    /// Whether this is the mark.
    pub(super) fn is(&self, mark: &str) -> bool {
        matches!(self, Self::Mark(known) if *known == mark)
    }

    /// The name, if it is one.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}
