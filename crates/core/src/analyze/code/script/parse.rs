//! From tokens to steps: the common part of the four grammars.
//!
//! Precise about names, calls and strings, lenient about everything else: text that a grammar would
//! reject is skipped, never an error. Recursion follows nested brackets only, up to a bound.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use super::lex::{self, Kind, Part, Quote, Token};
use super::tree::{
    Argument, Block, Class, Function, FunctionId, Operator, Program, Ref, Step, StepKind, Target,
};
use crate::action::Language;

mod expression;
mod javascript;
mod literal;
mod perl;
mod python;
mod ruby;
mod step;

/// The depth past which nested brackets are skipped and the program is marked as bounded.
const DEEPEST: u32 = 48;
/// The depth of strings with code inside strings with code.
const DEEPEST_STRING: u32 = 6;
/// The number of tokens of lookahead that any source may use, and more for each of its bytes.
const LOOKS: usize = 10_000;
const LOOKS_PER_BYTE: usize = 4;
/// The number of base classes that a class can have.
const MOST_BASES: usize = 32;

/// Parses a whole source.
pub(super) fn program(language: Language, source: &str) -> Program {
    let mut parser = Parser::new(language, source);
    parser.open_function("");
    match language {
        Language::Python => parser.python_statements(),
        Language::Javascript => parser.javascript_statements(),
        Language::Perl => parser.perl_statements(),
        Language::Ruby => parser.ruby_statements(),
        Language::Sql => {}
    }
    while !parser.building.is_empty() {
        parser.close_function();
    }
    // The source itself was opened first, so it has the first id.
    Program {
        functions: parser.functions,
        classes: parser.classes,
        bounded: parser.bounded || parser.looks.get() == 0,
        broken: parser.broken,
    }
}

/// The tokens being read.
#[derive(Default)]
struct Input {
    tokens: Vec<Token>,
    /// For each opening bracket, the position of its partner.
    partner: Vec<usize>,
    /// In Perl, the end of the current statement for each token.
    stops: Vec<usize>,
    /// The positions of words that end or slow a loop, in order.
    pauses: Vec<usize>,
    at: usize,
    /// The end of the tokens to read.
    end: usize,
}

struct Parser<'a> {
    language: Language,
    source: &'a str,
    input: Input,
    functions: Vec<Function>,
    /// Functions that are being built, innermost last.
    building: Vec<FunctionId>,
    classes: Vec<Class>,
    /// Classes whose body is being read.
    class_stack: Vec<usize>,
    depth: u32,
    string_depth: u32,
    /// In Ruby, names known to be variables.
    locals: HashSet<Rc<str>>,
    /// In Ruby, true when the next `do` belongs to a loop.
    no_do: bool,
    /// Tokens of lookahead that are left.
    looks: Cell<usize>,
    bounded: bool,
    broken: bool,
}

impl<'a> Parser<'a> {
    fn new(language: Language, source: &'a str) -> Self {
        let mut parser = Self {
            language,
            source,
            input: Input::default(),
            functions: Vec::new(),
            building: Vec::new(),
            classes: Vec::new(),
            class_stack: Vec::new(),
            depth: 0,
            string_depth: 0,
            locals: HashSet::new(),
            no_do: false,
            looks: Cell::new(LOOKS + LOOKS_PER_BYTE * source.len()),
            bounded: false,
            broken: false,
        };
        parser.input = parser.read(0, source.len());
        parser
    }

    /// Reads the tokens of a range and pairs their brackets.
    fn read(&mut self, start: usize, end: usize) -> Input {
        let tokens = lex::tokens(self.language, self.source, start, end);
        self.broken |= tokens.broken;
        let count = tokens.list.len();
        let mut partner = vec![count; count];
        let mut open: Vec<(usize, &str)> = Vec::new();
        for (at, token) in tokens.list.iter().enumerate() {
            let Kind::Mark(mark) = token.kind else { continue };
            match mark {
                "(" => open.push((at, ")")),
                "[" => open.push((at, "]")),
                "{" => open.push((at, "}")),
                ")" | "]" | "}" => {
                    // A stray bracket must not mismatch all brackets after it.
                    if open.last().is_some_and(|(_, close)| *close == mark)
                        && let Some((from, _)) = open.pop()
                        && let Some(slot) = partner.get_mut(from)
                    {
                        *slot = at;
                    } else {
                        self.broken = true;
                    }
                }
                _ => {}
            }
        }
        self.broken |= !open.is_empty();
        let stops = match self.language {
            Language::Perl => perl::stops(&tokens.list, &partner),
            _ => Vec::new(),
        };
        let pauses = pauses(&tokens.list);
        Input { tokens: tokens.list, partner, stops, pauses, at: 0, end: count }
    }

    // --- tokens

    fn token_at(&self, at: usize) -> Option<&Token> {
        if at < self.input.end { self.input.tokens.get(at) } else { None }
    }

    fn token(&self) -> Option<&Token> {
        self.token_at(self.input.at)
    }

    fn kind(&self) -> Option<&Kind> {
        self.token().map(|token| &token.kind)
    }

    fn kind_at(&self, ahead: usize) -> Option<&Kind> {
        self.token_at(self.input.at + ahead).map(|token| &token.kind)
    }

    /// Returns the name or keyword here.
    fn word(&self) -> &str {
        self.kind().and_then(Kind::name).unwrap_or_default()
    }

    fn word_at(&self, ahead: usize) -> &str {
        self.kind_at(ahead).and_then(Kind::name).unwrap_or_default()
    }

    fn is(&self, mark: &str) -> bool {
        self.kind().is_some_and(|kind| kind.is(mark))
    }

    fn is_at(&self, ahead: usize, mark: &str) -> bool {
        self.kind_at(ahead).is_some_and(|kind| kind.is(mark))
    }

    fn is_word(&self, word: &str) -> bool {
        self.word() == word
    }

    fn accept(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.input.at += usize::from(found);
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.input.at += usize::from(found);
        found
    }

    fn skip(&mut self) {
        self.input.at += 1;
    }

    fn name(&mut self) -> Option<Rc<str>> {
        let Some(Kind::Name(name)) = self.kind() else { return None };
        let name = Rc::clone(name);
        self.skip();
        Some(name)
    }

    /// Returns the partner of the bracket at this position.
    fn partner(&self, at: usize) -> usize {
        self.input.partner.get(at).copied().unwrap_or(self.input.end).min(self.input.end)
    }

    /// Finds the first wanted token between here and `end` that is not inside brackets.
    fn find(&self, end: usize, wanted: impl Fn(&Kind) -> bool) -> Option<usize> {
        let mut at = self.input.at;
        while at < end {
            // Tokens are scanned again for each bracket around them, up to a bound.
            self.looks.set(self.looks.get().checked_sub(1)?);
            let kind = &self.token_at(at)?.kind;
            if wanted(kind) {
                return Some(at);
            }
            at = match kind {
                Kind::Mark("(" | "[" | "{") => self.partner(at) + 1,
                _ => at + 1,
            };
        }
        None
    }

    /// Calls `read` on the tokens before `end` only, and continues there.
    fn within<T>(&mut self, end: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.input.end;
        self.input.end = end.min(outer);
        let result = read(self);
        self.input.end = outer;
        self.input.at = end;
        result
    }

    /// On an opening bracket: calls `read` on the tokens inside, and continues after the partner.
    fn bracketed<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let close = self.partner(self.input.at);
        self.skip();
        let result = self.within(close, read);
        self.skip();
        result
    }

    /// Reports whether anything between these tokens ends or slows a loop.
    fn pauses(&self, from: usize, to: usize) -> bool {
        let next = self.input.pauses.partition_point(|at| *at < from);
        self.input.pauses.get(next).is_some_and(|at| *at < to)
    }

    /// Calls `read` one level deeper, up to the bound.
    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Ref) -> Ref {
        if self.depth >= DEEPEST {
            self.bounded = true;
            return self.unknown();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}

/// Returns the positions of words that end or slow a loop.
fn pauses(tokens: &[Token]) -> Vec<usize> {
    const PAUSES: &[&str] = &[
        "break",
        "return",
        "exit",
        "_exit",
        "die",
        "quit",
        "last",
        "sleep",
        "usleep",
        "wait",
        "waitpid",
        "waitpid2",
        "accept",
        "recv",
        "recvfrom",
        "input",
        "raw_input",
        "gets",
        "readline",
        "select",
        "poll",
        "join",
        "communicate",
        "throw",
        "raise",
        "sysread",
        "get",
        "run_forever",
        "pause",
        "await",
        "abort",
    ];
    let pauses = |token: &Token| token.kind.name().is_some_and(|name| PAUSES.contains(&name));
    tokens.iter().enumerate().filter(|(_, token)| pauses(token)).map(|(at, _)| at).collect()
}
