//! Functions and classes.

use std::rc::Rc;

use super::super::expression::ASSIGNING;
use super::super::{Kind, Parser, Ref, StepKind, Target};
use super::MODIFIERS;

impl Parser<'_> {
    // --- functions and classes

    pub(super) fn function_declaration(&mut self) {
        self.skip();
        self.accept("*");
        let Some(name) = self.name() else { return };
        let id = self.functions.len();
        self.declare(&name, id, false);
        self.function_rest(&name);
    }

    /// Parses a function from its parameters on.
    pub(super) fn function_rest(&mut self, name: &str) -> Ref {
        let id = self.open_function(name);
        self.skip_generics();
        if self.is("(") {
            self.bracketed(Self::javascript_params);
        }
        if self.is(":") {
            self.skip_result_type();
        }
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::javascript_statements);
                0
            });
            self.input.at = close + 1;
        }
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    fn javascript_params(&mut self) {
        while self.token().is_some() {
            let before = self.input.at;
            while MODIFIERS.contains(&self.word()) && matches!(self.kind_at(1), Some(Kind::Name(_)))
            {
                self.skip();
            }
            let rest = self.accept("...");
            let target = self.pattern();
            let name = match &target {
                Target::Local(name) => Some(Rc::clone(name)),
                _ => None,
            };
            self.add_param(target, rest);
            self.skip_type();
            if self.accept("=") {
                let value = self.expression(ASSIGNING);
                if let Some(name) = name {
                    self.emit(StepKind::Default(name, value));
                }
            }
            self.accept(",");
            if self.input.at == before {
                self.skip();
            }
        }
    }

    /// On `(`: reports whether the parameters of an arrow function start here.
    pub(in super::super) fn is_arrow_function(&self) -> bool {
        let after = self.partner(self.input.at) + 1;
        let mark =
            |at: usize, mark: &str| self.token_at(at).is_some_and(|token| token.kind.is(mark));
        mark(after, "=>") || (mark(after, ":") && mark(after + 2, "=>"))
    }

    /// On the parameters of an arrow function: parses the function.
    pub(in super::super) fn arrow_function(&mut self) -> Ref {
        let id = self.open_function("=>");
        if self.is("(") {
            self.bracketed(Self::javascript_params);
        } else {
            let target = self.pattern();
            self.add_param(target, false);
        }
        if self.is(":") {
            self.input.at += 2;
        }
        self.accept("=>");
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::javascript_statements);
                0
            });
            self.input.at = close + 1;
        } else {
            let value = self.expression(ASSIGNING);
            self.emit(StepKind::Return(value));
        }
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    /// Parses a class from the word `class`.
    pub(super) fn javascript_class(&mut self) -> Ref {
        self.skip();
        let name = match self.kind() {
            Some(Kind::Name(name)) if &**name != "extends" => Rc::clone(name),
            _ => "class".into(),
        };
        let mut bases = Vec::new();
        while let Some(kind) = self.kind() {
            match kind {
                Kind::Mark("{" | ";") => break,
                Kind::Name(name) => bases.push(Rc::clone(name)),
                _ => {}
            }
            self.skip();
        }
        self.open_class(Rc::clone(&name), bases);
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::class_members);
                0
            });
            self.input.at = close + 1;
        }
        self.class_stack.pop();
        self.emit(StepKind::Class(name))
    }

    fn class_members(&mut self) {
        while self.token().is_some() {
            let before = self.input.at;
            while MODIFIERS.contains(&self.word())
                && !self.is_at(1, "(")
                && !self.is_at(1, "=")
                && !self.is_at(1, ";")
            {
                self.skip();
            }
            if self.is("#") || self.is("*") {
                self.skip();
            }
            if let Some(name) = self.name() {
                if self.is("(") || self.is("<") {
                    let id = self.functions.len();
                    self.declare(&name, id, true);
                    self.function_rest(&name);
                } else {
                    self.skip_type();
                    if self.accept("=") {
                        let value = self.expression(ASSIGNING);
                        self.assign(Target::Member(name), value);
                    }
                }
            } else if self.is("{") {
                self.bracketed(Self::javascript_statements);
            }
            self.accept(";");
            if self.input.at == before {
                self.skip();
            }
        }
    }
}
