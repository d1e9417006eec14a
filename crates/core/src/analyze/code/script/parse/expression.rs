//! Expressions: one set of precedences serves all four languages.

use std::rc::Rc;

use super::{Kind, Language, Operator, Parser, Ref, StepKind};

mod infix;
mod postfix;

/// The lowest precedence: `or`, `and`, `not` as words in Perl and Ruby.
pub(super) const LOOSE: u8 = 0;
/// The precedence of assignments, and of everything inside brackets.
pub(super) const ASSIGNING: u8 = 1;
/// The precedence of `a ? b : c` and `a if b else c`.
pub(super) const CHOOSING: u8 = 2;
const EITHER: u8 = 3;
const BOTH: u8 = 4;
const COMPARING: u8 = 6;
const BITS: u8 = 7;
const SUM: u8 = 9;
const PRODUCT: u8 = 10;
const POWER: u8 = 11;

impl Parser<'_> {
    /// Parses an expression of operators that bind at least this tightly.
    pub(super) fn expression(&mut self, least: u8) -> Ref {
        self.deeper(|parser| {
            let mut left = parser.prefix();
            while let Some(infix) = parser.infix(least) {
                left = parser.joined(left, &infix);
            }
            left
        })
    }

    /// Parses signs and words before an operand.
    fn prefix(&mut self) -> Ref {
        const SIGNS: &[&str] =
            &["!", "-", "+", "~", "++", "--", "*", "**", "&", "\\", "...", "@", "%", "$"];
        let start = self.start();
        if let Some(Kind::Mark(mark)) = self.kind() {
            let mark = *mark;
            if SIGNS.contains(&mark) {
                self.skip();
                if self.language == Language::Perl && self.is("{") {
                    // `@{ … }` dereferences the reference inside.
                    let inner = self.bracketed(|parser| parser.expression(LOOSE));
                    return self.postfix(inner, start);
                }
                let operand = self.expression(POWER);
                return match mark {
                    "!" | "-" | "+" | "~" => {
                        if let Some(StepKind::Number(number)) = self.step(operand)
                            && matches!(mark, "+" | "-")
                        {
                            let number =
                                if mark == "-" { number.saturating_neg() } else { *number };
                            self.emit(StepKind::Number(number))
                        } else if mark == "!" {
                            self.unknown()
                        } else {
                            self.emit(StepKind::Binary(Operator::Other, operand, operand))
                        }
                    }
                    _ => operand,
                };
            }
        }
        match self.word() {
            "not" if self.language != Language::Javascript => {
                self.skip();
                self.expression(COMPARING);
                self.unknown()
            }
            "await" | "typeof" | "void" | "yield" | "async" | "defined" | "ref"
                if self.is_prefix_word() =>
            {
                let yields = self.is_word("yield");
                self.skip();
                self.accept_word("from");
                if self.ends_expression() {
                    return self.unknown();
                }
                let value = self.expression(if yields { ASSIGNING } else { POWER });
                if yields {
                    self.emit(StepKind::Return(value));
                }
                value
            }
            _ => {
                let operand = self.primary();
                self.postfix(operand, start)
            }
        }
    }

    fn is_prefix_word(&self) -> bool {
        match self.word() {
            "await" | "yield" => {
                matches!(self.language, Language::Python | Language::Javascript)
            }
            "async" => {
                self.language == Language::Javascript && !self.is_at(1, ".") && !self.is_at(1, "=>")
            }
            "typeof" | "void" => self.language == Language::Javascript,
            _ => self.language == Language::Perl,
        }
    }

    /// Reports whether no part of an expression can follow here.
    pub(super) fn ends_expression(&self) -> bool {
        match self.kind() {
            None | Some(Kind::Line) => true,
            Some(Kind::Mark(mark)) => {
                matches!(*mark, ")" | "]" | "}" | "," | ";" | ":" | "=" | "=>")
            }
            _ => false,
        }
    }

    fn primary(&mut self) -> Ref {
        match self.kind() {
            Some(Kind::Number(number)) => {
                let kind = number.map_or(StepKind::Unknown, StepKind::Number);
                let step = self.emit(kind);
                self.skip();
                step
            }
            Some(Kind::Text(..)) => self.text(),
            Some(Kind::Name(_)) => match self.language {
                Language::Python => self.python_word(),
                Language::Javascript => self.javascript_word(),
                Language::Perl => self.perl_word(),
                Language::Ruby | Language::Sql => self.ruby_word(),
            },
            Some(Kind::Mark("(")) => self.parenthesis(),
            Some(Kind::Mark("[")) => self.list(),
            Some(Kind::Mark("{")) => self.braces(),
            Some(Kind::Mark("->")) if self.language == Language::Ruby => self.ruby_lambda(),
            Some(Kind::Mark("::" | ".")) => {
                self.skip();
                self.primary_name()
            }
            // A token that cannot start an operand is left to the statement, which continues after
            // it.
            None | Some(Kind::Line | Kind::Mark(_)) => self.unknown(),
        }
    }

    fn primary_name(&mut self) -> Ref {
        match self.kind() {
            Some(Kind::Name(name)) => {
                let name = Rc::clone(name);
                let step = self.emit(StepKind::Name(name));
                self.skip();
                step
            }
            _ => self.unknown(),
        }
    }

    /// On a name: parses the variable of this name.
    pub(super) fn plain_name(&mut self) -> Ref {
        self.primary_name()
    }

    fn parenthesis(&mut self) -> Ref {
        if self.language == Language::Javascript && self.is_arrow_function() {
            return self.arrow_function();
        }
        if self.language == Language::Python && self.comprehension_start().is_some() {
            return self.comprehension();
        }
        self.bracketed(|parser| {
            let mut items = Vec::new();
            let mut comma = false;
            while parser.token().is_some() {
                let before = parser.input.at;
                items.push(parser.expression(LOOSE));
                while parser.accept(",") || parser.accept("=>") || parser.accept(";") {
                    comma = true;
                }
                parser.skip_lines();
                if parser.input.at == before {
                    parser.skip();
                }
            }
            match (&*items, comma) {
                ([], _) => parser.emit(StepKind::List(Vec::new())),
                ([only], false) => *only,
                // In JavaScript the last one is the value.
                ([.., last], _) if parser.language == Language::Javascript => *last,
                _ => parser.emit(StepKind::List(items)),
            }
        })
    }

    /// Parses a list or a comprehension from its `[`.
    fn list(&mut self) -> Ref {
        if self.language == Language::Python && self.comprehension_start().is_some() {
            return self.comprehension();
        }
        let items = self.items();
        self.emit(StepKind::List(items))
    }

    /// On an opening bracket: parses the items inside, separated by commas.
    pub(super) fn items(&mut self) -> Vec<Ref> {
        self.bracketed(|parser| {
            let mut items = Vec::new();
            while parser.token().is_some() {
                let before = parser.input.at;
                parser.skip_lines();
                if parser.token().is_none() {
                    break;
                }
                items.push(parser.expression(LOOSE));
                parser.skip_lines();
                while parser.accept(",") || parser.accept("=>") {}
                if parser.input.at == before {
                    parser.skip();
                }
            }
            items
        })
    }

    pub(super) fn skip_lines(&mut self) {
        while matches!(self.kind(), Some(Kind::Line)) {
            self.skip();
        }
    }

    /// On `{` where an operand is expected: parses a map, or a set in Python.
    fn braces(&mut self) -> Ref {
        match self.language {
            Language::Python if self.comprehension_start().is_some() => self.comprehension(),
            Language::Javascript => self.javascript_object(),
            _ => self.map(),
        }
    }

    /// On `{`: parses keys and values.
    fn map(&mut self) -> Ref {
        let (pairs, singles) = self.bracketed(|parser| {
            let (mut pairs, mut singles) = (Vec::new(), Vec::new());
            loop {
                parser.skip_lines();
                if parser.token().is_none() {
                    return (pairs, singles);
                }
                let before = parser.input.at;
                let key = parser.expression(ASSIGNING);
                parser.skip_lines();
                if parser.accept(":") || parser.accept("=>") {
                    parser.skip_lines();
                    let value = parser.expression(ASSIGNING);
                    pairs.push((key, value));
                } else {
                    singles.push(key);
                }
                parser.skip_lines();
                if !parser.accept(",") && parser.input.at == before {
                    parser.skip();
                }
            }
        });
        if pairs.is_empty() && !singles.is_empty() {
            return self.emit(StepKind::List(singles));
        }
        let mut kept = pairs;
        // `{**other}`: all its entries belong to this map too.
        for single in singles {
            let key = self.emit(StepKind::Nothing);
            kept.push((key, single));
        }
        self.emit(StepKind::Map(kept))
    }
}
