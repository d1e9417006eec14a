//! Words and comprehensions where an operand is expected.

use super::super::expression::{ASSIGNING, CHOOSING};
use super::super::{Kind, Parser, Ref, StepKind};
use super::{CLAUSE, TARGET};

impl Parser<'_> {
    /// Parses a word where an operand is expected.
    pub(in super::super) fn python_word(&mut self) -> Ref {
        match self.word() {
            "None" => {
                let step = self.emit(StepKind::Nothing);
                self.skip();
                step
            }
            "True" | "False" => {
                let step = self.emit(StepKind::Number(i64::from(self.is_word("True"))));
                self.skip();
                step
            }
            "lambda" => self.python_lambda(),
            _ => self.plain_name(),
        }
    }

    fn python_lambda(&mut self) -> Ref {
        self.skip();
        let id = self.open_function("lambda");
        let end = self.find(self.input.end, |kind| kind.is(":")).unwrap_or(self.input.end);
        self.within(end, Self::python_params);
        self.skip();
        let value = self.expression(CHOOSING);
        self.emit(StepKind::Return(value));
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    /// On a bracket: finds its `for`, if it is a comprehension.
    pub(in super::super) fn comprehension_start(&self) -> Option<usize> {
        let close = self.partner(self.input.at);
        let mut at = self.input.at + 1;
        while at < close {
            match &self.token_at(at)?.kind {
                Kind::Name(name) if &**name == "for" => return Some(at),
                Kind::Mark("(" | "[" | "{") => at = self.partner(at),
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// On the bracket of a comprehension: parses it. Its element runs as a function of the items.
    pub(in super::super) fn comprehension(&mut self) -> Ref {
        let open = self.input.at;
        let close = self.partner(open);
        let Some(start) = self.comprehension_start() else { return self.unknown() };
        let outer_end = std::mem::replace(&mut self.input.end, close);
        let mut functions = Vec::new();
        self.input.at = start;
        while self.is_word("for") || self.is_word("async") {
            let before = self.input.at;
            self.accept_word("async");
            self.skip();
            let target_start = self.input.at;
            let end = self.find(close, |kind| kind.name() == Some("in")).unwrap_or(close);
            self.input.at = end + 1;
            let list = self.expression(CLAUSE);
            let after = self.input.at;
            let id = self.open_function("for");
            self.input.at = target_start;
            let target = self.within(end, |parser| parser.python_tuple(TARGET));
            let target = self.target_of(target);
            self.add_param(target, false);
            functions.push((list, id));
            self.input.at = after;
            while self.accept_word("if") {
                self.expression(CLAUSE);
            }
            if self.input.at == before {
                break;
            }
        }
        self.input.at = open + 1;
        self.input.end = start;
        let mut value = self.expression(ASSIGNING);
        if self.accept(":") {
            value = self.expression(ASSIGNING);
        }
        while let Some((list, id)) = functions.pop() {
            self.emit(StepKind::Return(value));
            self.close_function();
            value = self.emit(StepKind::Mapped(list, id));
        }
        self.input.end = outer_end;
        self.input.at = close + 1;
        value
    }
}
