//! Words, calls and blocks where an operand is expected.

use std::rc::Rc;

use super::super::{Argument, Kind, Language, Parser, Ref, StepKind, Target};
use super::KEYWORDS;

impl Parser<'_> {
    /// Parses a word where an operand is expected.
    pub(in super::super) fn ruby_word(&mut self) -> Ref {
        let start = self.start();
        match self.word() {
            "nil" => {
                let step = self.emit(StepKind::Nothing);
                self.skip();
                return step;
            }
            "true" | "false" => {
                let step = self.emit(StepKind::Number(i64::from(self.is_word("true"))));
                self.skip();
                return step;
            }
            "if" | "unless" | "case" | "while" | "until" | "begin" | "for" | "def" | "class" => {
                return self.ruby_inner();
            }
            _ => {}
        }
        let Some(Kind::Name(name)) = self.kind() else { return self.unknown() };
        let name = Rc::clone(name);
        let step = self.plain_name();
        if self.is("=") || self.is(",") && self.ruby_assigns() {
            self.locals.insert(Rc::clone(&name));
            return step;
        }
        let variable = name.starts_with(['@', '$']) || self.locals.contains(&name);
        let constant = name.starts_with(|char: char| char.is_ascii_uppercase());
        if variable || self.is("(") && !self.token().is_some_and(|token| token.spaced) {
            return step;
        }
        if constant && !self.ruby_argument_follows() {
            return step;
        }
        self.ruby_call(step, start)
    }

    /// Reports whether the names before a comma may be targets: `a, b = …`.
    fn ruby_assigns(&self) -> bool {
        const LONGEST: usize = 16;
        (0..LONGEST)
            .map_while(|ahead| self.kind_at(ahead))
            .take_while(|kind| **kind != Kind::Line)
            .any(|kind| kind.is("="))
    }

    /// Parses `if … end` and the like where a value is expected.
    fn ruby_inner(&mut self) -> Ref {
        let mut value = 0;
        let result = self.deeper(|parser| {
            let outer = std::mem::replace(&mut parser.no_do, false);
            match parser.ruby_statement(false) {
                Ok(kind) => {
                    parser.ruby_statements();
                    parser.accept_word("end");
                    parser.ruby_close(&kind, None);
                }
                Err(found) => value = found.unwrap_or_default(),
            }
            parser.no_do = outer;
            parser.unknown()
        });
        if value > 0 { value } else { result }
    }

    /// Parses the arguments without brackets that may follow a method's name in Ruby.
    pub(in super::super) fn with_arguments(&mut self, step: Ref) -> Ref {
        if self.language != Language::Ruby {
            return step;
        }
        let close = self.is("(") && !self.token().is_some_and(|token| token.spaced);
        let assigned = matches!(
            self.kind(),
            Some(Kind::Mark("=" | "+=" | "||=" | "-=" | "<<=" | "*=" | "&&="))
        );
        let constant = matches!(self.step(step), Some(StepKind::Member(_, name))
            if name.starts_with(|char: char| char.is_ascii_uppercase()));
        if close || assigned || (constant && !self.ruby_argument_follows()) {
            return step;
        }
        let start = self.start();
        self.ruby_call(step, start)
    }

    /// Reports whether the next token can only be an argument.
    fn ruby_argument_follows(&self) -> bool {
        let Some(token) = self.token() else { return false };
        let next_spaced = self.token_at(self.input.at + 1).is_none_or(|next| next.spaced);
        token.spaced
            && match &token.kind {
                Kind::Text(..) | Kind::Number(_) => true,
                Kind::Name(name) => !KEYWORDS.contains(&&**name),
                Kind::Mark(mark) => match *mark {
                    "->" | "!" | "(" => true,
                    "[" | "*" | "&" | "-" | "::" | ":" | "**" | "%" => !next_spaced,
                    _ => false,
                },
                Kind::Line => false,
            }
    }

    fn ruby_call(&mut self, callee: Ref, start: usize) -> Ref {
        let mut arguments = Vec::new();
        if self.ruby_argument_follows() {
            loop {
                let before = self.input.at;
                arguments.push(self.argument());
                if !self.accept(",") || self.input.at == before {
                    break;
                }
                self.skip_lines();
            }
        }
        let end = self.last_end();
        self.emit_at(StepKind::Call(callee, arguments), start, end)
    }

    /// Parses `{ |x| … }` or `do |x| … end` after a call as its last argument.
    pub(in super::super) fn with_block(&mut self, value: Ref, start: usize) -> Ref {
        if self.language != Language::Ruby {
            return value;
        }
        let braces = self.is("{") && self.token().is_none_or(|token| token.indent.is_none());
        let words = self.is_word("do") && !self.no_do;
        let (callee, mut arguments) = match self.step(value) {
            Some(StepKind::Call(callee, arguments)) if braces || words => {
                (*callee, arguments.clone())
            }
            _ => return value,
        };
        if let Some(step) = self.function().and_then(|function| function.code.get_mut(value)) {
            // The call moves after its block; it must not run twice.
            step.kind = StepKind::Idle;
        }
        let closure = self.ruby_block(braces);
        arguments.push(Argument { name: None, value: closure, spread: false });
        let end = self.last_end();
        self.emit_at(StepKind::Call(callee, arguments), start, end)
    }

    fn ruby_block(&mut self, braces: bool) -> Ref {
        let id = self.open_function("block");
        let outer = std::mem::replace(&mut self.no_do, false);
        if braces {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(|parser| {
                    parser.ruby_block_params();
                    parser.ruby_statements();
                });
                0
            });
            self.input.at = close + 1;
        } else {
            self.skip();
            self.ruby_block_params();
            self.deeper(|parser| {
                parser.ruby_statements();
                0
            });
            self.accept_word("end");
        }
        self.no_do = outer;
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    /// Parses `|a, (b, c)|`.
    fn ruby_block_params(&mut self) {
        if !self.accept("|") {
            return;
        }
        let end = self.input.end;
        let close = (self.input.at..end)
            .find(|at| self.token_at(*at).is_some_and(|token| token.kind.is("|")))
            .unwrap_or(end);
        self.within(close, |parser| {
            while parser.token().is_some() {
                let rest = parser.accept("*");
                match parser.name() {
                    Some(name) => {
                        parser.locals.insert(Rc::clone(&name));
                        parser.add_param(Target::Local(name), rest);
                    }
                    None => parser.skip(),
                }
            }
        });
        self.skip();
    }

    /// Parses `->(x) { … }`.
    pub(in super::super) fn ruby_lambda(&mut self) -> Ref {
        self.skip();
        let id = self.open_function("->");
        if self.is("(") {
            self.bracketed(Self::ruby_params);
        }
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::ruby_statements);
                0
            });
            self.input.at = close + 1;
        } else if self.accept_word("do") {
            self.deeper(|parser| {
                parser.ruby_statements();
                0
            });
            self.accept_word("end");
        }
        self.close_function();
        self.emit(StepKind::Closure(id))
    }
}
