//! Members, subscripts and calls after an operand.

use std::rc::Rc;

use super::super::super::tree::Direction;
use super::super::{Argument, Kind, Language, Parser, Ref, StepKind};
use super::ASSIGNING;

impl Parser<'_> {
    /// Parses members, subscripts and calls after an operand.
    pub(in super::super) fn postfix(&mut self, operand: Ref, start: usize) -> Ref {
        let mut value = operand;
        loop {
            self.continue_line();
            let Some(&Kind::Mark(mark)) = self.kind() else {
                if self.is_tagged() {
                    value = self.tagged(value, start);
                    continue;
                }
                break;
            };
            let spaced = self.token().is_some_and(|token| token.spaced);
            value = match mark {
                "." if self.language != Language::Perl => match self.member(value) {
                    Some(value) => value,
                    None => break,
                },
                "?." | "&." | "::" => match self.member(value) {
                    Some(value) => value,
                    None => break,
                },
                "->" if self.language == Language::Perl => self.perl_arrow(value, start),
                "(" if !spaced || self.calls_across_space() => self.call(value, start),
                "[" if !spaced || self.subscripts_across_space() => self.subscript(value),
                "<" if self.language == Language::Javascript && self.skip_type_arguments() => value,
                "{" if self.language == Language::Perl && self.perl_subscript(value) => {
                    self.subscript(value)
                }
                "++" | "--" => {
                    self.skip();
                    value
                }
                "!" if self.language == Language::Javascript && !self.is_at(1, "=") && !spaced => {
                    self.skip();
                    value
                }
                _ => break,
            };
            value = self.with_block(value, start);
        }
        self.with_block(value, start)
    }

    /// In Ruby, skips a newline before `.member`.
    fn continue_line(&mut self) {
        if self.language == Language::Ruby
            && matches!(self.kind(), Some(Kind::Line))
            && (self.is_at(1, ".") || self.is_at(1, "&."))
        {
            self.skip();
        }
    }

    fn calls_across_space(&self) -> bool {
        match self.language {
            Language::Python | Language::Perl => true,
            Language::Javascript => self.token().is_some_and(|token| token.indent.is_none()),
            Language::Ruby | Language::Sql => false,
        }
    }

    fn subscripts_across_space(&self) -> bool {
        match self.language {
            Language::Python | Language::Perl => true,
            Language::Javascript => self.token().is_some_and(|token| token.indent.is_none()),
            Language::Ruby | Language::Sql => false,
        }
    }

    /// Reports whether a template directly follows its tag: zx runs `$` with a command.
    fn is_tagged(&self) -> bool {
        self.language == Language::Javascript
            && self.token().is_some_and(|token| {
                !token.spaced
                    && matches!(token.kind, Kind::Text(..))
                    && self.source.as_bytes().get(token.start) == Some(&b'`')
            })
    }

    pub(super) fn tagged(&mut self, tag: Ref, start: usize) -> Ref {
        let value = self.text();
        let argument = Argument { name: None, value, spread: false };
        self.emit_at(StepKind::Call(tag, vec![argument]), start, self.last_end())
    }

    /// Skips the type arguments of `get<string>(url)`; reports whether that is what they are.
    fn skip_type_arguments(&mut self) -> bool {
        const LONGEST: usize = 24;
        let mut depth = 0_u32;
        for ahead in 0..LONGEST {
            match self.kind_at(ahead) {
                Some(Kind::Mark("<")) => depth += 1,
                Some(Kind::Mark(">")) => depth = depth.saturating_sub(1),
                Some(Kind::Mark(">>")) => depth = depth.saturating_sub(2),
                Some(Kind::Name(_) | Kind::Mark("." | "," | "[" | "]" | "|" | "{" | "}" | ":")) => {
                }
                _ => return false,
            }
            if depth == 0 {
                let calls = self.is_at(ahead + 1, "(");
                self.input.at += if calls { ahead + 1 } else { 0 };
                return calls;
            }
        }
        false
    }

    /// On `.` or the like: parses a member. With `None` the position is unchanged.
    pub(super) fn member(&mut self, object: Ref) -> Option<Ref> {
        let optional = self.is("?.");
        while self.is_at(1, "#") {
            // A private member of JavaScript.
            self.skip();
        }
        match self.kind_at(1)? {
            Kind::Name(name) => {
                let name = Rc::clone(name);
                self.skip();
                let step = self.emit(StepKind::Member(object, name));
                self.skip();
                Some(self.with_arguments(step))
            }
            Kind::Mark("(" | "[") if optional => {
                self.skip();
                Some(object)
            }
            // `f.(x)` calls in Ruby.
            Kind::Mark("(") => {
                self.skip();
                Some(object)
            }
            _ => None,
        }
    }

    /// Parses a subscript from its `[` or `{`.
    pub(in super::super) fn subscript(&mut self, object: Ref) -> Ref {
        let close = self.partner(self.input.at);
        let slice = self.language == Language::Python && {
            let mut inner = self.input.at + 1;
            std::mem::swap(&mut inner, &mut self.input.at);
            let found = self.find(close, |kind| kind.is(":"));
            std::mem::swap(&mut inner, &mut self.input.at);
            found.is_some()
        };
        if slice {
            return self.slice(object, close);
        }
        let items = self.items();
        match *items {
            [] => object,
            [key, ..] => self.emit(StepKind::Index(object, key)),
        }
    }

    pub(super) fn slice(&mut self, object: Ref, close: usize) -> Ref {
        let last = close.checked_sub(2).and_then(|at| self.input.tokens.get(at));
        let backward = last.is_some_and(|token| token.kind.is("-"));
        self.input.at = close + 1;
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        self.emit(StepKind::Slice(object, direction))
    }

    /// On `(`: parses a call of the preceding operand.
    pub(in super::super) fn call(&mut self, callee: Ref, start: usize) -> Ref {
        let arguments = if self.language == Language::Python && self.comprehension_start().is_some()
        {
            vec![Argument { name: None, value: self.comprehension(), spread: false }]
        } else {
            self.bracketed(Self::arguments)
        };
        let end = self.last_end();
        self.emit_at(StepKind::Call(callee, arguments), start, end)
    }

    /// Parses arguments up to the end of the bracket or of the statement.
    pub(in super::super) fn arguments(&mut self) -> Vec<Argument> {
        let mut arguments = Vec::new();
        loop {
            self.skip_lines();
            if self.token().is_none() {
                return arguments;
            }
            let before = self.input.at;
            arguments.push(self.argument());
            self.skip_lines();
            if !self.accept(",") && self.input.at == before {
                self.skip();
            }
        }
    }

    /// Parses one argument: `value`, `name=value`, `"name" => value`, `*values`.
    pub(in super::super) fn argument(&mut self) -> Argument {
        let spread = self.is("*") || self.is("**") || self.is("...");
        if self.language == Language::Python && self.is_at(1, "=") {
            let name = self.name();
            self.skip();
            return Argument { name, value: self.expression(ASSIGNING), spread: false };
        }
        let value = self.expression(ASSIGNING);
        if self.accept("=>") {
            let name = match self.step(value) {
                Some(StepKind::Text(text)) => Some(Rc::from(text.as_str())),
                Some(StepKind::Name(name)) => Some(Rc::clone(name)),
                _ => None,
            };
            return Argument { name, value: self.expression(ASSIGNING), spread: false };
        }
        Argument { name: None, value, spread }
    }
}
