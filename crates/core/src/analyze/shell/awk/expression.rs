//! Expressions of awk: their possible values and their effects.

use super::function;
use super::lex::Token;
use super::read::{Event, Reader};
use super::text::Values;

/// Names that start a statement or continue another expression, and so end this one.
const KEYWORDS: &[&str] = &[
    "in", "print", "printf", "if", "else", "while", "for", "do", "next", "nextfile", "exit",
    "return", "delete", "break", "continue", "function", "func", "switch", "case", "BEGIN", "END",
];

impl Reader<'_> {
    /// Evaluates a whole expression.
    pub(super) fn expression(&mut self) -> Values {
        if !self.step() {
            self.at += 1;
            return Values::unknown();
        }
        self.depth += 1;
        let mut value = self.comparison();
        while let Some(Token::Mark(mark @ ("?" | "||" | "&&"))) = self.token() {
            self.at += 1;
            self.skip_lines();
            value = if *mark == "?" {
                let yes = self.expression();
                self.skip_lines();
                self.takes(":");
                self.skip_lines();
                yes.or(self.expression())
            } else {
                self.comparison();
                Values::unknown()
            };
        }
        self.depth -= 1;
        value
    }

    fn comparison(&mut self) -> Values {
        let mut value = self.concatenation();
        loop {
            match self.token() {
                Some(Token::Mark("|" | "|&")) if self.is_getline(1) => {
                    self.command(&value, None);
                    self.at += 2;
                    self.received();
                }
                Some(Token::Mark(">")) if self.in_print => return value,
                Some(Token::Mark("<" | ">" | "<=" | ">=" | "==" | "!=" | "~" | "!~")) => {
                    self.at += 1;
                    self.concatenation();
                    value = Values::unknown();
                    continue;
                }
                Some(Token::Name(name)) if name == "in" => {
                    self.at += 1;
                    self.concatenation();
                }
                _ => return value,
            }
            value = Values::unknown();
        }
    }

    fn is_getline(&self, by: usize) -> bool {
        matches!(self.ahead(by), Some(Token::Name(name)) if name == "getline")
    }

    /// Evaluates a concatenation.
    pub(super) fn concatenation(&mut self) -> Values {
        let mut value = self.sum();
        while self.starts_operand() && self.step() {
            let before = self.at;
            let next = self.sum();
            value = value.then(&next);
            if self.at == before {
                break;
            }
        }
        value
    }

    fn starts_operand(&self) -> bool {
        match self.token() {
            Some(Token::Name(name)) => !KEYWORDS.contains(&name.as_str()),
            Some(Token::Text(_) | Token::Number(_) | Token::Pattern(_) | Token::Other) => true,
            Some(Token::Mark(mark)) => matches!(*mark, "(" | "$" | "!" | "++" | "--" | "@"),
            Some(Token::Line) | None => false,
        }
    }

    fn sum(&mut self) -> Values {
        let mut value = self.unary();
        while let Some(Token::Mark(mark @ ("+" | "-" | "*" | "/" | "%" | "^" | "**"))) =
            self.token()
        {
            self.at += 1;
            let right = self.unary();
            value = computed(mark, &value, &right);
        }
        value
    }

    fn unary(&mut self) -> Values {
        let mut signed = None;
        while let Some(Token::Mark(mark @ ("!" | "+" | "-" | "++" | "--"))) = self.token() {
            self.at += 1;
            signed = Some(*mark);
        }
        let value = self.primary();
        let changed = matches!(self.token(), Some(Token::Mark("++" | "--")));
        self.at += usize::from(changed);
        match signed {
            Some("-") => {
                value.map(|text| text.parse::<i64>().ok().map(|number| (-number).to_string()))
            }
            Some(_) => Values::unknown(),
            None => value,
        }
    }

    fn primary(&mut self) -> Values {
        let Some(token) = self.token() else { return Values::known("") };
        match token {
            Token::Text(text) => {
                self.at += 1;
                Values::known(text.as_str())
            }
            Token::Number(number) => {
                self.at += 1;
                Values::known(number.as_str())
            }
            Token::Pattern(_) | Token::Other => {
                self.at += 1;
                Values::unknown()
            }
            Token::Mark("(") => self.group(),
            Token::Mark("$") => {
                self.at += 1;
                self.depth += 1;
                if self.step() {
                    self.unary();
                }
                self.depth -= 1;
                self.assigned("$", Values::unknown())
            }
            Token::Mark("@") => {
                self.at += 1;
                self.computed_call()
            }
            Token::Mark(_) | Token::Line => Values::unknown(),
            Token::Name(name) if name == "getline" => {
                self.at += 1;
                self.received();
                Values::unknown()
            }
            Token::Name(name) => self.name(name),
        }
    }

    /// Evaluates `(a)` and `(a, b) in c`.
    fn group(&mut self) -> Values {
        self.at += 1;
        let outer = std::mem::replace(&mut self.in_print, false);
        let parts = self.list(")");
        self.in_print = outer;
        match parts.as_slice() {
            [one] => one.clone(),
            _ => Values::unknown(),
        }
    }

    /// Parses the operands of `getline`: a variable, `< file`.
    fn received(&mut self) {
        match self.token() {
            Some(Token::Name(name)) if self.starts_operand() => {
                self.at += 1;
                let name = self.element(name);
                self.add(&name, Values::unknown());
            }
            Some(Token::Mark("$")) => {
                self.at += 1;
                self.primary();
            }
            _ => {}
        }
        if self.takes("<") {
            let paths = self.primary();
            for path in paths.iter() {
                self.event(Event::Read { path: path.clone() });
            }
        }
    }

    fn name(&mut self, name: &str) -> Values {
        self.at += 1;
        if self.is("(") && (self.parameters.contains_key(name) || is_function(name)) {
            return self.call(name);
        }
        let name = self.element(name);
        let value = self.value_of(&name);
        self.assigned(&name, value)
    }

    /// Returns the name of an array element: `a[1]`, and `a[]` for every computed key.
    fn element(&mut self, name: &str) -> String {
        if !self.takes("[") {
            return name.to_owned();
        }
        let outer = std::mem::replace(&mut self.in_print, false);
        let keys = self.list("]");
        self.in_print = outer;
        match keys.as_slice() {
            [key] => match key.only() {
                Some(key) => format!("{name}[{key}]"),
                None => format!("{name}[]"),
            },
            _ => format!("{name}[]"),
        }
    }

    /// Returns the value, after the assignment that may follow here.
    fn assigned(&mut self, name: &str, value: Values) -> Values {
        let Some(Token::Mark(mark)) = self.token() else { return value };
        let right = match *mark {
            "=" => {
                self.at += 1;
                self.skip_lines();
                self.expression()
            }
            "+=" | "-=" | "*=" | "/=" | "%=" | "^=" | "**=" => {
                self.at += 1;
                self.expression();
                Values::unknown()
            }
            _ => return value,
        };
        self.add(name, right.clone());
        right
    }

    fn value_of(&self, name: &str) -> Values {
        if let Some(key) = name.strip_prefix("ENVIRON[").and_then(|key| key.strip_suffix(']')) {
            return match key {
                "" => Values::unknown(),
                key => Values::one((self.given.environment)(key)),
            };
        }
        let array = name.split_once('[').map(|(array, _)| format!("{array}[]"));
        let known = self.values.get(name).or_else(|| self.earlier.get(name));
        // An element that a computed key may also have set.
        let other = array.as_ref().and_then(|array| self.values.get(array));
        match (known, other) {
            (Some(known), Some(other)) => known.clone().or(other.clone()),
            (Some(known), None) => known.clone(),
            (None, Some(other)) => other.clone().or(Values::unknown()),
            (None, None) => self.unset(name, array.is_some()),
        }
    }

    fn unset(&self, name: &str, in_array: bool) -> Values {
        let parameter = self.parameters.values().flatten().any(|parameter| parameter == name);
        match name {
            "OFS" | "FS" => Values::known(" "),
            "ORS" | "RS" => Values::known("\n"),
            "SUBSEP" => Values::known("\u{1c}"),
            _ if parameter || in_array || name.chars().all(|char| char.is_ascii_uppercase()) => {
                Values::unknown()
            }
            // A variable that is never set is empty.
            _ => Values::known(""),
        }
    }

    /// Evaluates a call of `system(…)` or any other function.
    fn call(&mut self, name: &str) -> Values {
        self.at += 1;
        let start = self.at;
        let outer = std::mem::replace(&mut self.in_print, false);
        let args = self.list(")");
        self.in_print = outer;
        self.called(name, &args, start)
    }

    fn called(&mut self, name: &str, args: &[Values], start: usize) -> Values {
        if name == "system" {
            if let Some(line) = args.first() {
                self.command(line, None);
            }
            return Values::unknown();
        }
        if let Some(parameters) = self.parameters.get(name) {
            for (parameter, value) in parameters.iter().zip(args) {
                self.add(parameter, value.clone());
            }
            let returned = format!("{name}()");
            let known = self.values.get(&returned).or_else(|| self.earlier.get(&returned));
            return known.cloned().unwrap_or_else(Values::unknown);
        }
        if matches!(name, "sub" | "gsub" | "split" | "patsplit" | "match" | "asort" | "asorti") {
            self.names_between(start)
                .into_iter()
                .for_each(|name| self.add(&name, Values::unknown()));
        }
        function::call(name, args).unwrap_or_else(Values::unknown)
    }

    /// Returns the variables among a call's arguments, which the function may change.
    fn names_between(&self, start: usize) -> Vec<String> {
        let inside = self.tokens.get(start..self.at).unwrap_or_default();
        let names = inside.iter().enumerate().filter_map(|(at, token)| match token {
            Token::Name(name) => match inside.get(at + 1) {
                Some(Token::Mark("[")) => Some(format!("{name}[]")),
                Some(Token::Mark("(")) => None,
                _ => Some(name.clone()),
            },
            _ => None,
        });
        names.flat_map(|name| [format!("{name}[]"), name]).collect()
    }

    /// Evaluates `@name(…)`: a function named by a variable's value.
    fn computed_call(&mut self) -> Values {
        let Some(Token::Name(variable)) = self.token() else { return Values::unknown() };
        self.at += 1;
        if !self.takes("(") {
            return Values::unknown();
        }
        let start = self.at;
        let args = self.list(")");
        let names = self.value_of(variable);
        for name in names.iter() {
            if name.is_known() {
                self.called(&name.text, &args, start);
            } else {
                self.event(Event::Computed { name: variable.clone() });
            }
        }
        Values::unknown()
    }
}

fn is_function(name: &str) -> bool {
    name == "system" || function::call(name, &[]).is_some()
}

/// Computes integer arithmetic, as in `sprintf("%c", 100 + 14)`.
fn computed(mark: &str, left: &Values, right: &Values) -> Values {
    let number = |value: &Values| value.only().and_then(|text| text.trim().parse::<i64>().ok());
    let (Some(left), Some(right)) = (number(left), number(right)) else { return Values::unknown() };
    let result = match mark {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "%" => left.checked_rem(right),
        _ => None,
    };
    result.map_or_else(Values::unknown, |number| Values::known(number.to_string()))
}
