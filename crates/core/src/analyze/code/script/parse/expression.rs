//! Expressions: one set of precedences serves all four languages.

use std::rc::Rc;

use super::{Argument, Kind, Language, Operator, Parser, Ref, StepKind};

/// Binds loosest: `or`, `and`, `not` as words in Perl and Ruby.
pub(super) const LOOSE: u8 = 0;
/// Assignments, and everything inside brackets.
pub(super) const ASSIGNING: u8 = 1;
/// `a ? b : c`, `a if b else c`.
pub(super) const CHOOSING: u8 = 2;
const EITHER: u8 = 3;
const BOTH: u8 = 4;
const COMPARING: u8 = 6;
const BITS: u8 = 7;
const SUM: u8 = 9;
const PRODUCT: u8 = 10;
const POWER: u8 = 11;

/// What an infix operator does.
enum Infix {
    Binary(Operator, u8),
    /// One of both sides.
    Either(u8),
    Assign(Option<Operator>),
    Choice,
    PythonChoice,
}

impl Parser<'_> {
    /// An expression of operators that bind at least this tight.
    pub(super) fn expression(&mut self, least: u8) -> Ref {
        self.deeper(|parser| {
            let mut left = parser.prefix();
            while let Some(infix) = parser.infix(least) {
                left = parser.joined(left, &infix);
            }
            left
        })
    }

    fn joined(&mut self, left: Ref, infix: &Infix) -> Ref {
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

    /// `target = value`, `target += value`; the value.
    pub(super) fn assigned(&mut self, left: Ref, operator: Option<Operator>, right: Ref) -> Ref {
        let value = match operator {
            Some(operator) => self.emit(StepKind::Binary(operator, left, right)),
            None => right,
        };
        let target = self.target_of(left);
        self.assign(target, value);
        // What follows refers to the value itself, not to what it was stored in.
        self.emit(StepKind::Either(vec![value]))
    }

    /// `not in`, `is not` are two words.
    fn skip_operator(&mut self) {
        let first = self.word().to_owned();
        self.skip();
        if (first == "not" && self.is_word("in")) || (first == "is" && self.is_word("not")) {
            self.skip();
        }
    }

    /// The operator here, if it binds tight enough.
    fn infix(&self, least: u8) -> Option<Infix> {
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
            // TypeScript: the type is read like a value and thrown away.
            "as" | "satisfies" if self.language == Language::Javascript => Infix::Either(PRODUCT),
            _ => return None,
        })
    }

    /// Signs and words before an operand.
    fn prefix(&mut self) -> Ref {
        const SIGNS: &[&str] =
            &["!", "-", "+", "~", "++", "--", "*", "**", "&", "\\", "...", "@", "%", "$"];
        let start = self.start();
        if let Some(Kind::Mark(mark)) = self.kind() {
            let mark = *mark;
            if SIGNS.contains(&mark) {
                self.skip();
                if self.language == Language::Perl && self.is("{") {
                    // `@{ … }` is what the reference inside leads to.
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

    /// Nothing of an expression can stand here.
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
            // What cannot start an operand is left to the statement, which goes on behind it.
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

    /// On a name: the variable of this name.
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

    /// On `[`.
    fn list(&mut self) -> Ref {
        if self.language == Language::Python && self.comprehension_start().is_some() {
            return self.comprehension();
        }
        let items = self.items();
        self.emit(StepKind::List(items))
    }

    /// On an opening bracket: what stands inside, between commas.
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

    /// Members, subscripts and calls behind an operand.
    pub(super) fn postfix(&mut self, operand: Ref, start: usize) -> Ref {
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

    /// JavaScript and Ruby: a line may go on with `.member`.
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

    /// A template right behind its tag: zx runs `$` with a command.
    fn is_tagged(&self) -> bool {
        self.language == Language::Javascript
            && self.token().is_some_and(|token| {
                !token.spaced
                    && matches!(token.kind, Kind::Text(..))
                    && self.source.as_bytes().get(token.start) == Some(&b'`')
            })
    }

    fn tagged(&mut self, tag: Ref, start: usize) -> Ref {
        let value = self.text();
        let argument = Argument { name: None, value, spread: false };
        self.emit_at(StepKind::Call(tag, vec![argument]), start, self.last_end())
    }

    /// `get<string>(url)`: past the types, if that is what they are.
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

    /// On `.` or the like. `None` leaves the place as it was.
    fn member(&mut self, object: Ref) -> Option<Ref> {
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

    /// On `[` or `{`.
    pub(super) fn subscript(&mut self, object: Ref) -> Ref {
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

    fn slice(&mut self, object: Ref, close: usize) -> Ref {
        use super::super::tree::Direction;
        let last = close.checked_sub(2).and_then(|at| self.input.tokens.get(at));
        let backward = last.is_some_and(|token| token.kind.is("-"));
        self.input.at = close + 1;
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        self.emit(StepKind::Slice(object, direction))
    }

    /// On `(`: a call of what stands before.
    pub(super) fn call(&mut self, callee: Ref, start: usize) -> Ref {
        let arguments = if self.language == Language::Python && self.comprehension_start().is_some()
        {
            vec![Argument { name: None, value: self.comprehension(), spread: false }]
        } else {
            self.bracketed(Self::arguments)
        };
        let end = self.last_end();
        self.emit_at(StepKind::Call(callee, arguments), start, end)
    }

    /// Arguments up to the end of the bracket or of the statement.
    pub(super) fn arguments(&mut self) -> Vec<Argument> {
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

    /// One argument: `value`, `name=value`, `"name" => value`, `*values`.
    pub(super) fn argument(&mut self) -> Argument {
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

    /// On `{` where an operand is expected: a map, or a set in Python.
    fn braces(&mut self) -> Ref {
        match self.language {
            Language::Python if self.comprehension_start().is_some() => self.comprehension(),
            Language::Javascript => self.javascript_object(),
            _ => self.map(),
        }
    }

    /// On `{`: keys and values.
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
        // `{**other}`: everything in it belongs to this map too.
        for single in singles {
            let key = self.emit(StepKind::Nothing);
            kept.push((key, single));
        }
        self.emit(StepKind::Map(kept))
    }
}
