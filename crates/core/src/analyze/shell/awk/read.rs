//! Follows an awk program: the possible values of its variables, and its commands and files.
//!
//! Every statement is assumed to run, in the order of the text; a variable keeps every value it was
//! given. The program is read several times, so that a function knows the arguments of its calls.

use std::collections::BTreeMap;

use super::lex::{self, Token};
use super::text::{Text, Values};

/// The depth of nested brackets that is followed.
pub(super) const MOST_DEPTH: usize = 48;
/// The number of expressions evaluated in one program.
const MOST_STEPS: usize = 200_000;
/// The length past which a program is not followed.
const MOST_PROGRAM: usize = 64 * 1024;
/// The number of events past which a program is not followed.
const MOST_EVENTS: usize = 64;
/// The number of readings before the last one.
const EARLIER_READINGS: usize = 2;

/// An effect of an awk program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Event {
    /// Passes a line to a shell, perhaps with input.
    Command { line: Text, input: Option<Text> },
    /// Replaces a file.
    Write { path: Text, content: Text },
    /// Adds to a file.
    Append { path: Text, content: Text },
    /// Reads a file.
    Read { path: Text },
    /// Loads a library, or a program from a file.
    Loads { name: String },
    /// Calls a function whose name is computed.
    Computed { name: String },
}

/// The effects of an awk program.
#[derive(Debug, Default)]
pub(in super::super) struct Reading {
    /// The events in order, each once.
    pub(in super::super) events: Vec<Event>,
    /// The output, when all of it is known.
    pub(in super::super) printed: Option<String>,
    /// True when awk would reject the program.
    pub(in super::super) broken: bool,
    /// True when the program is larger or deeper than is followed.
    pub(in super::super) bounded: bool,
}

/// The environment of a program.
pub(in super::super) struct Given<'a> {
    /// Variables set on the command line.
    pub(in super::super) variables: &'a [(String, Text)],
    /// Looks up an environment variable.
    pub(in super::super) environment: &'a dyn Fn(&str) -> Text,
}

/// Returns the effects of a program.
pub(in super::super) fn read(program: &str, given: &Given<'_>) -> Reading {
    if program.len() > MOST_PROGRAM {
        return Reading { bounded: true, ..Reading::default() };
    }
    let lexed = lex::tokens(program);
    let parameters = parameters(&lexed.tokens);
    let mut earlier = BTreeMap::new();
    for _ in 0..EARLIER_READINGS {
        let mut reader = Reader::new(&lexed.tokens, given, &parameters, earlier);
        reader.program();
        earlier = reader.values;
    }
    let mut reader = Reader::new(&lexed.tokens, given, &parameters, earlier);
    reader.program();
    let printed = reader.printed.filter(|_| super::print::is_straight(&lexed.tokens));
    Reading { events: reader.events, printed, broken: lexed.broken, bounded: reader.bounded }
}

/// Follows the tokens of one program.
pub(super) struct Reader<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
    pub(super) given: &'a Given<'a>,
    /// Each function's parameters.
    pub(super) parameters: &'a BTreeMap<String, Vec<String>>,
    /// The values of variables in the previous reading.
    pub(super) earlier: BTreeMap<String, Values>,
    pub(super) values: BTreeMap<String, Values>,
    pub(super) events: Vec<Event>,
    pub(super) printed: Option<String>,
    pub(super) bounded: bool,
    pub(super) depth: usize,
    steps: usize,
    /// True in the arguments of `print`, where `>` and `|` end the expression.
    pub(super) in_print: bool,
    function: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(
        tokens: &'a [Token],
        given: &'a Given<'a>,
        parameters: &'a BTreeMap<String, Vec<String>>,
        earlier: BTreeMap<String, Values>,
    ) -> Self {
        let mut values = BTreeMap::new();
        for (name, value) in given.variables {
            values.insert(name.clone(), Values::one(value.clone()));
        }
        Self {
            tokens,
            at: 0,
            given,
            parameters,
            earlier,
            values,
            events: Vec::new(),
            printed: Some(String::new()),
            bounded: false,
            depth: 0,
            steps: 0,
            in_print: false,
            function: None,
        }
    }

    /// Returns the current token.
    pub(super) fn token(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// Returns the token this many positions ahead.
    pub(super) fn ahead(&self, by: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + by)
    }

    pub(super) fn is(&self, mark: &str) -> bool {
        matches!(self.token(), Some(Token::Mark(found)) if *found == mark)
    }

    /// Consumes this mark if it is next; reports whether it was.
    pub(super) fn takes(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    pub(super) fn skip_lines(&mut self) {
        while matches!(self.token(), Some(Token::Line)) {
            self.at += 1;
        }
    }

    /// Counts a step; reports whether there are any left.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS || self.depth > MOST_DEPTH {
            self.bounded = true;
            return false;
        }
        true
    }

    /// Records an event.
    pub(super) fn event(&mut self, event: Event) {
        if self.events.len() >= MOST_EVENTS {
            self.bounded = true;
        } else if !self.events.contains(&event) {
            self.events.push(event);
        }
    }

    /// Records each line that may be passed to a shell.
    pub(super) fn command(&mut self, lines: &Values, input: Option<&Values>) {
        for line in lines.iter() {
            match input {
                None => self.event(Event::Command { line: line.clone(), input: None }),
                Some(inputs) => {
                    for input in inputs.iter() {
                        let input = Some(input.clone());
                        self.event(Event::Command { line: line.clone(), input });
                    }
                }
            }
        }
    }

    fn program(&mut self) {
        while let Some(token) = self.token() {
            let before = self.at;
            match token {
                Token::Name(name) => self.statement(name),
                Token::Mark("@") => self.directive(),
                Token::Mark("{" | "}" | ";" | ")" | ",") | Token::Line | Token::Other => {
                    self.at += 1;
                }
                _ => {
                    self.expression();
                }
            }
            if self.at == before {
                self.at += 1;
            }
            if !self.step() {
                return;
            }
        }
    }

    fn statement(&mut self, name: &str) {
        match name {
            "print" | "printf" => {
                self.at += 1;
                self.print(name == "printf");
            }
            "function" | "func" => self.define(),
            "return" => {
                self.at += 1;
                let value = self.expression();
                if let Some(function) = self.function.clone() {
                    self.add(&format!("{function}()"), value);
                }
            }
            "if" | "while" | "for" | "do" | "else" | "switch" | "case" | "BEGIN" | "END"
            | "next" | "nextfile" | "exit" | "break" | "continue" | "delete" | "BEGINFILE"
            | "ENDFILE" => {
                self.at += 1;
            }
            _ => {
                self.expression();
            }
        }
    }

    /// Skips `function name(a, b)`, whose parameters are known already.
    fn define(&mut self) {
        self.at += 1;
        if let Some(Token::Name(name)) = self.token() {
            self.function = Some(name.clone());
            while self.token().is_some() && !self.takes(")") {
                self.at += 1;
            }
        }
    }

    /// Follows `@load "x"`, `@include "x"`, `@name(…)`.
    fn directive(&mut self) {
        if let (Some(Token::Name(word)), Some(Token::Text(name))) = (self.ahead(1), self.ahead(2))
            && matches!(word.as_str(), "load" | "include" | "namespace")
        {
            if word != "namespace" {
                self.event(Event::Loads { name: name.clone() });
            }
            self.at += 3;
            return;
        }
        self.expression();
    }

    /// Evaluates expressions up to a closing bracket, or to the end of the arguments.
    pub(super) fn list(&mut self, close: &str) -> Vec<Values> {
        let mut found = Vec::new();
        loop {
            if !close.is_empty() {
                self.skip_lines();
                if self.takes(close) {
                    return found;
                }
            }
            let before = self.at;
            if !self.ends_words() {
                found.push(self.expression());
            }
            if self.takes(",") {
                self.skip_lines();
                continue;
            }
            if close.is_empty() || self.at == before {
                if !close.is_empty() {
                    self.takes(close);
                }
                return found;
            }
        }
    }

    fn ends_words(&self) -> bool {
        matches!(
            self.token(),
            None | Some(Token::Line | Token::Mark(";" | "}" | ">" | ">>" | "|" | "|&" | ")"))
        )
    }

    /// Adds a possible value of a variable.
    pub(super) fn add(&mut self, name: &str, value: Values) {
        let before = self.values.remove(name);
        let value = match before {
            Some(before) => before.or(value),
            None => value,
        };
        self.values.insert(name.to_owned(), value);
    }
}

/// Returns the parameters of each function.
fn parameters(tokens: &[Token]) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let (Token::Name(word), Some(Token::Name(name))) = (token, tokens.get(at + 1)) else {
            continue;
        };
        if !matches!(word.as_str(), "function" | "func") {
            continue;
        }
        let names = tokens.iter().skip(at + 2).take_while(|token| **token != Token::Mark(")"));
        let names = names.filter_map(|token| match token {
            Token::Name(name) => Some(name.clone()),
            _ => None,
        });
        found.insert(name.clone(), names.collect());
    }
    found
}
