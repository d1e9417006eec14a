//! Words and objects where an operand is expected.

use std::rc::Rc;

use super::super::expression::{ASSIGNING, LOOSE};
use super::super::{Kind, Parser, Ref, StepKind};
use super::MODIFIERS;

impl Parser<'_> {
    // --- operands

    /// Parses a word where an operand is expected.
    pub(in super::super) fn javascript_word(&mut self) -> Ref {
        if self.is_at(1, "=>") {
            return self.arrow_function();
        }
        match self.word() {
            "null" | "undefined" => {
                let step = self.emit(StepKind::Nothing);
                self.skip();
                step
            }
            "true" | "false" => {
                let step = self.emit(StepKind::Number(i64::from(self.is_word("true"))));
                self.skip();
                step
            }
            "function" => {
                self.skip();
                self.accept("*");
                let name = self.name().unwrap_or_else(|| "function".into());
                self.function_rest(&name)
            }
            "class" => self.javascript_class(),
            "new" if !self.is_at(1, ".") => {
                self.skip();
                if self.kind().is_none() {
                    return self.unknown();
                }
                self.new_operand()
            }
            _ => self.plain_name(),
        }
    }

    /// After `new`: parses a name or bracket; the members and the call follow by themselves.
    fn new_operand(&mut self) -> Ref {
        if self.is("(") {
            return self.bracketed(|parser| parser.expression(LOOSE));
        }
        if self.is_word("class") {
            return self.javascript_class();
        }
        self.plain_name()
    }

    /// Parses an object from its `{`, where an operand is expected.
    pub(in super::super) fn javascript_object(&mut self) -> Ref {
        let pairs = self.bracketed(|parser| {
            let mut pairs = Vec::new();
            while parser.token().is_some() {
                let before = parser.input.at;
                pairs.extend(parser.property());
                parser.accept(",");
                if parser.input.at == before {
                    parser.skip();
                }
            }
            pairs
        });
        self.emit(StepKind::Map(pairs))
    }

    /// Parses `key: value`, `key`, `[key]: value`, `...rest`, `method() {…}`.
    fn property(&mut self) -> Option<(Ref, Ref)> {
        if self.accept("...") {
            let key = self.emit(StepKind::Nothing);
            return Some((key, self.expression(ASSIGNING)));
        }
        while MODIFIERS.contains(&self.word())
            && matches!(self.kind_at(1), Some(Kind::Name(_) | Kind::Text(..)))
        {
            self.skip();
        }
        self.accept("*");
        let key = match self.kind()? {
            Kind::Name(name) => {
                let name = Rc::clone(name);
                let key = self.emit(StepKind::Text(Rc::new(name.to_string())));
                self.skip();
                if self.is("(") {
                    return Some((key, self.function_rest(&name)));
                }
                if !self.is(":") {
                    let value = self.emit(StepKind::Name(name));
                    if self.accept("=") {
                        self.expression(ASSIGNING);
                    }
                    return Some((key, value));
                }
                key
            }
            Kind::Text(..) => self.text(),
            Kind::Mark("[") => self.bracketed(|parser| parser.expression(LOOSE)),
            _ => self.expression(ASSIGNING),
        };
        if self.is("(") {
            return Some((key, self.function_rest("method")));
        }
        if !self.accept(":") {
            return None;
        }
        Some((key, self.expression(ASSIGNING)))
    }
}
