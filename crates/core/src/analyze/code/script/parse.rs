//! From tokens to steps: what the four grammars share.
//!
//! Precise about names, calls and strings, generous about everything else: what a grammar would
//! refuse is skipped, never an error. Recursion follows nested brackets only, up to a bound.

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

/// Beyond this, nested brackets are skipped and the program is marked as bounded.
const DEEPEST: u32 = 48;
/// Strings with code in strings with code.
const DEEPEST_STRING: u32 = 6;
/// Tokens looked ahead at that any source may cost, and more for each of its bytes.
const LOOKS: usize = 10_000;
const LOOKS_PER_BYTE: usize = 4;
/// Classes that a class can be said to be built on.
const MOST_BASES: usize = 32;

/// Reads a whole source.
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
    // The source itself was opened first, so it was numbered first.
    Program {
        functions: parser.functions,
        classes: parser.classes,
        bounded: parser.bounded || parser.looks.get() == 0,
        broken: parser.broken,
    }
}

/// Tokens being read.
#[derive(Default)]
struct Input {
    tokens: Vec<Token>,
    /// For each opening bracket, the place of its partner.
    partner: Vec<usize>,
    /// Perl: for each token, where the statement that goes on there ends.
    stops: Vec<usize>,
    /// Where words stand that end or slow a loop, in order.
    pauses: Vec<usize>,
    at: usize,
    /// Nothing from here on is looked at.
    end: usize,
}

struct Parser<'a> {
    language: Language,
    source: &'a str,
    input: Input,
    functions: Vec<Function>,
    /// Functions begun and not ended, innermost last.
    building: Vec<FunctionId>,
    classes: Vec<Class>,
    /// Classes whose body is being read.
    class_stack: Vec<usize>,
    depth: u32,
    string_depth: u32,
    /// Ruby: names known to be variables.
    locals: HashSet<Rc<str>>,
    /// Ruby: the next `do` belongs to a loop.
    no_do: bool,
    /// Tokens that may still be looked ahead at.
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

    /// The tokens of a range, with their brackets paired.
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
                    // A stray bracket must not pair everything after it wrongly.
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

    /// The name or keyword here.
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

    /// The partner of the bracket at this place.
    fn partner(&self, at: usize) -> usize {
        self.input.partner.get(at).copied().unwrap_or(self.input.end).min(self.input.end)
    }

    /// The first of these marks between here and `end` that no bracket encloses.
    fn find(&self, end: usize, wanted: impl Fn(&Kind) -> bool) -> Option<usize> {
        let mut at = self.input.at;
        while at < end {
            // Everything is looked at again for each bracket around it, but not for ever.
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

    /// Runs `read` on the tokens before `end` only, and goes on there.
    fn within<T>(&mut self, end: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.input.end;
        self.input.end = end.min(outer);
        let result = read(self);
        self.input.end = outer;
        self.input.at = end;
        result
    }

    /// On an opening bracket: runs `read` on what is inside, and goes on behind the partner.
    fn bracketed<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let close = self.partner(self.input.at);
        self.skip();
        let result = self.within(close, read);
        self.skip();
        result
    }

    /// Whether anything between these tokens ends or slows a loop.
    fn pauses(&self, from: usize, to: usize) -> bool {
        let next = self.input.pauses.partition_point(|at| *at < from);
        self.input.pauses.get(next).is_some_and(|at| *at < to)
    }

    /// One level deeper, if that is not too deep.
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

/// Where words stand that end or slow a loop.
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
