//! Operators between two operands, and their precedence.

use super::super::{Kind, Language, Operator, Parser, Ref, StepKind};
use super::{ASSIGNING, BITS, BOTH, CHOOSING, COMPARING, EITHER, LOOSE, POWER, PRODUCT, SUM};

/// The kind of an infix operator.
pub(super) enum Infix {
    Binary(Operator, u8),
    /// An operator whose value is one of both sides.
    Either(u8),
    Assign(Option<Operator>),
    Choice,
    PythonChoice,
}

impl Parser<'_> {
    pub(super) fn joined(&mut self, left: Ref, infix: &Infix) -> Ref {
        match infix {
            Infix::Binary(operator, binds) => {
                self.skip_operator();
                let right = self.expression(binds + 1);
                self.emit(StepKind::Binary(*operator, left, right))
            }
            Infix::Either(binds) => {
                self.skip();
                let right = self.expression(binds + 1);
                self.emit(StepKind::Either(vec![left, right]))
            }
            Infix::Assign(operator) => {
                self.skip();
                let right = self.expression(ASSIGNING);
                self.assigned(left, *operator, right)
            }
            Infix::Choice => {
                self.skip();
                let yes = self.expression(ASSIGNING);
                if !self.accept(":") {
                    // Ruby reads `b :` as a key.
                    self.accept("=>");
                }
                let no = self.expression(ASSIGNING);
                self.emit(StepKind::Either(vec![yes, no]))
            }
            Infix::PythonChoice => {
                self.skip();
                self.expression(EITHER);
                self.accept_word("else");
                let other = self.expression(CHOOSING);
                self.emit(StepKind::Either(vec![left, other]))
            }
        }
    }

    /// Emits the assignment of `target = value` or `target += value`; returns the value.
    pub(in super::super) fn assigned(
        &mut self,
        left: Ref,
        operator: Option<Operator>,
        right: Ref,
    ) -> Ref {
        let value = match operator {
            Some(operator) => self.emit(StepKind::Binary(operator, left, right)),
            None => right,
        };
        let target = self.target_of(left);
        self.assign(target, value);
        // Later steps refer to the value itself, not to its target.
        self.emit(StepKind::Either(vec![value]))
    }

    /// Skips an operator; `not in` and `is not` are two words.
    fn skip_operator(&mut self) {
        let first = self.word().to_owned();
        self.skip();
        if (first == "not" && self.is_word("in")) || (first == "is" && self.is_word("not")) {
            self.skip();
        }
    }

    /// Returns the operator here, if it binds tightly enough.
    pub(super) fn infix(&self, least: u8) -> Option<Infix> {
        let infix = match self.kind()? {
            Kind::Mark(mark) => self.infix_mark(mark)?,
            Kind::Name(word) => self.infix_word(word)?,
            _ => return None,
        };
        let binds = match infix {
            Infix::Binary(_, binds) | Infix::Either(binds) => binds,
            Infix::Assign(_) => ASSIGNING,
            Infix::Choice | Infix::PythonChoice => CHOOSING,
        };
        (binds >= least).then_some(infix)
    }

    fn infix_mark(&self, mark: &str) -> Option<Infix> {
        let perl = self.language == Language::Perl;
        Some(match mark {
            "=" | ":=" => Infix::Assign(None),
            "+=" | ".=" => Infix::Assign(Some(Operator::Add)),
            "<<=" if self.language == Language::Ruby => Infix::Assign(Some(Operator::Add)),
            "||=" | "&&=" | "??=" | "//=" if mark != "//=" || perl => Infix::Assign(None),
            "/=" => Infix::Assign(Some(Operator::Divide)),
            "%=" => Infix::Assign(Some(Operator::Format)),
            "-=" | "*=" | "|=" | "&=" | "^=" | "**=" | ">>=" | "<<=" | ">>>=" | "//=" | "@="
            | "x=" => Infix::Assign(Some(Operator::Other)),
            "?" if self.language != Language::Python => Infix::Choice,
            "||" | "??" => Infix::Either(EITHER),
            "&&" => Infix::Either(BOTH),
            "//" if perl => Infix::Either(EITHER),
            "==" | "!=" | "===" | "!==" | "<" | ">" | "<=" | ">=" | "<>" | "<=>" | "=~" | "!~" => {
                Infix::Binary(Operator::Compare, COMPARING)
            }
            "<<" if self.language == Language::Ruby => Infix::Binary(Operator::Add, BITS),
            "|" => Infix::Binary(Operator::Merge, BITS),
            "^" => Infix::Binary(Operator::Xor, BITS),
            "&" | "<<" | ">>" | ">>>" | ".." | "..." => Infix::Binary(Operator::Other, BITS),
            "+" => Infix::Binary(Operator::Add, SUM),
            "." if perl => Infix::Binary(Operator::Add, SUM),
            "-" => Infix::Binary(Operator::Subtract, SUM),
            "*" => Infix::Binary(Operator::Repeat, PRODUCT),
            "/" => Infix::Binary(Operator::Divide, PRODUCT),
            "%" => Infix::Binary(Operator::Format, PRODUCT),
            "//" | "@" => Infix::Binary(Operator::Other, PRODUCT),
            "**" => Infix::Binary(Operator::Other, POWER),
            _ => return None,
        })
    }

    fn infix_word(&self, word: &str) -> Option<Infix> {
        let python = self.language == Language::Python;
        let loose = if python { EITHER } else { LOOSE };
        Some(match word {
            "or" if self.language != Language::Javascript => Infix::Either(loose),
            "and" if self.language != Language::Javascript => {
                Infix::Either(if python { BOTH } else { LOOSE })
            }
            "xor" if self.language == Language::Perl => Infix::Either(LOOSE),
            "if" if python => Infix::PythonChoice,
            "in" | "is" if python => Infix::Binary(Operator::Compare, COMPARING),
            "not" if python && self.word_at(1) == "in" => {
                Infix::Binary(Operator::Compare, COMPARING)
            }
            "in" | "instanceof" if self.language == Language::Javascript => {
                Infix::Binary(Operator::Compare, COMPARING)
            }
            "eq" | "ne" | "lt" | "gt" | "le" | "ge" | "cmp" if self.language == Language::Perl => {
                Infix::Binary(Operator::Compare, COMPARING)
            }
            "x" if self.language == Language::Perl => Infix::Binary(Operator::Repeat, PRODUCT),
            // TypeScript: the type is parsed like a value and discarded.
            "as" | "satisfies" if self.language == Language::Javascript => Infix::Either(PRODUCT),
            _ => return None,
        })
    }
}
