//! Text that is joined, formatted and split.

use std::rc::Rc;

use super::{Args, Runner};
use crate::analyze::UNKNOWN;
use crate::analyze::code::script::tree::Operator;
use crate::analyze::code::script::value::{Shape, Value};

/// The length past which results are dropped: a text that doubles in a loop must not fill the
/// memory.
const LONGEST: usize = 1 << 16;
/// The number of characters that are searched one by one.
const MOST_CHARACTERS: usize = 256;
/// The number of pairs of choices that are combined.
const MOST_PAIRS: usize = 64;

impl Runner<'_> {
    /// Returns a computed text, charged by its length.
    pub(super) fn made(&mut self, text: String) -> Value {
        self.spend(text.len() as u64 / 16 + 1);
        if text.len() > LONGEST { Value::unknown() } else { Value::text(text) }
    }

    pub(super) fn combine(&mut self, operator: Operator, left: Value, right: &Value) -> Value {
        if let (Shape::Number(a), Shape::Number(b)) = (&left.shape, &right.shape) {
            return arithmetic(operator, *a, *b)
                .map_or_else(Value::unknown, |number| Value::new(Shape::Number(number)));
        }
        match (operator, &left.shape, &right.shape) {
            (Operator::Add | Operator::Merge, Shape::List(a), Shape::List(b)) => {
                self.spend(2 * (left.weight() + right.weight()));
                Value::list(a.iter().chain(b.iter()).cloned().collect())
            }
            (Operator::Merge, Shape::Map(a), Shape::Map(b)) => {
                self.spend(2 * (left.weight() + right.weight()));
                Value::map(a.iter().chain(b.iter()).cloned().collect())
            }
            (Operator::Add, ..) => self.concat(left, right),
            (Operator::Divide, Shape::Text(_) | Shape::Any(_), _) => self.join_paths(&left, right),
            (Operator::Divide, _, Shape::Text(text)) if text.len() > 1 => {
                self.join_paths(&left, right)
            }
            (Operator::Format, Shape::Text(format), _) => {
                let fields = format.matches("%(").count() as u64;
                self.spend(left.weight() + right.weight() * (2 + fields));
                if self.is_exhausted() {
                    return left.derived();
                }
                let items = match &right.shape {
                    Shape::List(items) => items.to_vec(),
                    _ => vec![right.clone()],
                };
                let filled = fill_percent(format, &items, right);
                self.made(filled).with(&left.origin).with(&right.origin)
            }
            (Operator::Repeat, Shape::Text(text), Shape::Number(times)) => {
                let times = usize::try_from(*times).unwrap_or_default();
                if text.len().saturating_mul(times) > LONGEST {
                    return left.derived();
                }
                self.made(text.repeat(times)).with(&left.origin)
            }
            (Operator::Compare, ..) => Value::unknown(),
            _ => left.derived().with(&right.origin),
        }
    }

    /// Concatenates two texts.
    pub(super) fn concat(&mut self, left: Value, right: &Value) -> Value {
        let known = |value: &Value| {
            value.choices().iter().any(|choice| matches!(choice.shape, Shape::Text(_)))
        };
        if !known(&left) && !known(right) {
            return left.derived().with(&right.origin);
        }
        if left.choices().len() * right.choices().len() > 1 {
            return self.concat_choices(&left, right);
        }
        let addition = right.as_part();
        self.spend(addition.len() as u64 / 16 + 1);
        let origin = right.origin.clone();
        match left.shape {
            Shape::Text(text) if text.len() + addition.len() <= LONGEST => {
                let mut text = Rc::try_unwrap(text).unwrap_or_else(|shared| {
                    self.spend(shared.len() as u64 / 16);
                    shared.to_string()
                });
                text.push_str(&addition);
                Value::text(text).with(&left.origin).with(&origin)
            }
            Shape::Text(_) => Value::from(left.origin.marks).with(&origin),
            _ => Value::text(left.as_part() + &addition).with(&left.origin).with(&origin),
        }
    }

    fn concat_choices(&mut self, left: &Value, right: &Value) -> Value {
        let mut results = Vec::new();
        for a in left.choices() {
            for b in right.choices() {
                if results.len() >= MOST_PAIRS {
                    break;
                }
                let text = a.as_part() + &b.as_part();
                results.push(self.made(text).with(&a.origin).with(&b.origin));
            }
        }
        Value::any(results)
    }

    /// Computes `"{} {name}".format(…)`.
    pub(super) fn fill_braces(&mut self, format: &str, args: &Args) -> Value {
        let fields = format.matches('{').count() as u64;
        self.spend(fields * (args.weight() + args.list.len() as u64 / 8));
        if self.is_exhausted() {
            return args.joined();
        }
        let mut result = String::new();
        let mut rest = format;
        let mut next = 0;
        while let Some((before, after)) = rest.split_once('{') {
            result.push_str(before);
            if let Some(after) = after.strip_prefix('{') {
                result.push('{');
                rest = after;
                continue;
            }
            let Some((field, after)) = after.split_once('}') else {
                rest = after;
                break;
            };
            let name = field.split([':', '!', '.', '[']).next().unwrap_or_default();
            let value = match name.parse::<usize>() {
                Ok(place) => args.at(place),
                Err(_) if name.is_empty() => {
                    next += 1;
                    args.at(next - 1)
                }
                Err(_) => args.named(name).unwrap_or_default(),
            };
            result.push_str(&value.as_part());
            rest = after;
            if result.len() > LONGEST {
                break;
            }
        }
        result.push_str(rest);
        self.made(result).with(&args.joined().origin)
    }
}

fn arithmetic(operator: Operator, a: i64, b: i64) -> Option<i64> {
    match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Repeat => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        Operator::Format => a.checked_rem(b),
        Operator::Xor => Some(a ^ b),
        Operator::Merge => Some(a | b),
        Operator::Compare | Operator::Other => None,
    }
}

/// Computes `"%s %d" % (a, b)` and `"%(name)s" % map`.
pub(super) fn fill_percent(format: &str, items: &[Value], map: &Value) -> String {
    let mut result = String::new();
    let mut rest = format;
    let mut items = items.iter();
    while let Some((before, after)) = rest.split_once('%') {
        result.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            result.push('%');
            rest = after;
            continue;
        }
        let (value, after) = match after.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            Some((name, after)) => (map.get(name).cloned(), after),
            None => (items.next().cloned(), after),
        };
        let after = after.trim_start_matches(|char: char| !char.is_ascii_alphabetic());
        let mut chars = after.chars();
        chars.next();
        result.push_str(&value.map_or_else(|| UNKNOWN.to_string(), |value| value.as_part()));
        rest = chars.as_str();
        if result.len() > LONGEST {
            break;
        }
    }
    result.push_str(rest);
    result
}

/// Returns the result of a method of text, where that is known.
pub(super) fn method(text: &str, name: &str, args: &Args) -> Option<Value> {
    let first = args.at(0);
    let word = first.known_text().map(|text| text.as_str());
    Some(match name {
        "encode" | "decode" | "toString" | "to_s" | "to_str" | "to_sym" | "freeze" | "dup"
        | "b" | "force_encoding" | "valueOf" | "getvalue" | "as_posix" | "resolve" | "absolute"
        | "__str__" | "copy" | "clone" | "tobytes" | "to_path" | "cleanpath" | "realpath"
        | "expand_path" | "itself" | "normalize" | "as_uri" | "to_string" => Value::text(text),
        "strip" | "trim" | "chomp" | "lstrip" | "rstrip" | "trimEnd" | "trimStart" | "squeeze" => {
            match word {
                Some(chars) if chars.len() > MOST_CHARACTERS => return None,
                Some(chars) => Value::text(text.trim_matches(|char| chars.contains(char))),
                None => Value::text(text.trim()),
            }
        }
        "lower" | "toLowerCase" | "downcase" | "casefold" => Value::text(text.to_lowercase()),
        "upper" | "toUpperCase" | "upcase" => Value::text(text.to_uppercase()),
        "swapcase" => Value::text(swap_case(text)),
        "reverse" => Value::text(text.chars().rev().collect::<String>()),
        "replace" | "replaceAll" | "gsub" | "sub" if args.count() >= 2 => {
            let with = args.at(1);
            match (word, with.known_text()) {
                (Some(from), Some(to)) if !from.is_empty() => {
                    Value::text(replace(text, from, to)?).with(&with.origin)
                }
                _ => return None,
            }
        }
        "delete" if word.is_some() => {
            let chars = word.filter(|chars| chars.len() <= MOST_CHARACTERS)?;
            Value::text(text.chars().filter(|char| !chars.contains(*char)).collect::<String>())
        }
        "split" | "chars" | "lines" | "splitlines" | "each_char" => {
            let pieces = pieces(text, name, word);
            Value::list(pieces.into_iter().take(4096).map(Value::text).collect())
        }
        "charCodeAt" | "codePointAt" | "ord" => code_point(text, &first)?,
        "charAt" => match first.shape {
            Shape::Number(number) => Value::text(text.chars().nth(usize::try_from(number).ok()?)?),
            _ => return None,
        },
        "repeat" => match first.shape {
            Shape::Number(times) => {
                let times = usize::try_from(times).ok()?;
                if text.len().saturating_mul(times) > LONGEST {
                    return None;
                }
                Value::text(text.repeat(times))
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// Returns the number of the character at a position, by default the first.
fn code_point(text: &str, at: &Value) -> Option<Value> {
    let at = match at.shape {
        Shape::Number(number) => usize::try_from(number).unwrap_or_default(),
        _ => 0,
    };
    let char = text.chars().nth(at)?;
    Some(Value::new(Shape::Number(i64::from(u32::from(char)))))
}

fn replace(text: &str, from: &str, to: &str) -> Option<String> {
    let found = text.matches(from).count();
    (text.len() + found * to.len() <= LONGEST).then(|| text.replace(from, to))
}

fn pieces<'t>(text: &'t str, name: &str, separator: Option<&str>) -> Vec<&'t str> {
    let chars = || {
        let ends = text.char_indices().map(|(at, char)| text.get(at..at + char.len_utf8()));
        ends.flatten().collect()
    };
    match (name, separator) {
        ("chars" | "each_char", _) | ("split", Some("")) => chars(),
        ("lines" | "splitlines", _) => text.lines().collect(),
        (_, Some(separator)) => text.split(separator).collect(),
        (_, None) => text.split_whitespace().collect(),
    }
}

fn swap_case(text: &str) -> String {
    let swap = |char: char| {
        if char.is_ascii_lowercase() {
            char.to_ascii_uppercase()
        } else {
            char.to_ascii_lowercase()
        }
    };
    text.chars().map(swap).collect()
}
