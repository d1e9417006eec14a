//! RFC 8785: canonical JSON. Keys sorted by UTF-16 code units, no white space, shortest escapes,
//! numbers as ECMAScript prints them.
//!
//! One step beyond the RFC, which covers only numbers that a double can hold: an integer that a
//! double cannot hold keeps its digits. Rounding it would give two different actions one digest.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// The canonical text of a JSON value. It does not recurse, so deep nesting cannot exhaust the
/// stack.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

/// An object being written. The caller gives the keys in canonical order.
pub(super) struct Object<'out> {
    out: &'out mut String,
    next: &'static str,
}

impl<'out> Object<'out> {
    pub(super) fn open(out: &'out mut String) -> Self {
        Self { out, next: "{" }
    }

    pub(super) fn close(self) {
        if self.next == "{" {
            self.out.push('{');
        }
        self.out.push('}');
    }

    pub(super) fn text(mut self, key: &'static str, text: &str) -> Self {
        self.key(key);
        write_text(text, self.out);
        self
    }

    pub(super) fn maybe(self, key: &'static str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    pub(super) fn number(mut self, key: &'static str, number: u64) -> Self {
        self.key(key);
        write_number(&Number::from(number), self.out);
        self
    }

    pub(super) fn value(mut self, key: &'static str, value: Option<&Value>) -> Self {
        if let Some(value) = value {
            self.key(key);
            write_value(value, self.out);
        }
        self
    }

    pub(super) fn map(mut self, key: &'static str, map: &BTreeMap<String, Value>) -> Self {
        self.key(key);
        write_nested(Open::object(map.iter(), self.out), self.out);
        self
    }

    pub(super) fn object<T>(
        mut self,
        key: &'static str,
        inner: Option<T>,
        write: impl FnOnce(Object<'_>, T) -> Object<'_>,
    ) -> Self {
        if let Some(inner) = inner {
            self.key(key);
            write(Object::open(self.out), inner).close();
        }
        self
    }

    pub(super) fn array<T>(
        mut self,
        key: &'static str,
        items: impl Iterator<Item = T>,
        write: impl Fn(Object<'_>, T) -> Object<'_>,
    ) -> Self {
        self.key(key);
        self.out.push('[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            write(Object::open(self.out), item).close();
        }
        self.out.push(']');
        self
    }

    fn key(&mut self, key: &'static str) {
        self.out.push_str(std::mem::replace(&mut self.next, ","));
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
    }
}

/// A list or object that is partly written.
struct Open<'a> {
    rest: Rest<'a>,
    empty: bool,
}

enum Rest<'a> {
    Items(std::slice::Iter<'a, Value>),
    Entries(std::vec::IntoIter<(&'a String, &'a Value)>),
}

impl<'a> Open<'a> {
    fn array(items: &'a [Value], out: &mut String) -> Self {
        out.push('[');
        Self { rest: Rest::Items(items.iter()), empty: true }
    }

    fn object(entries: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut String) -> Self {
        out.push('{');
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        Self { rest: Rest::Entries(entries.into_iter()), empty: true }
    }

    /// Returns the next value to write, or writes the closing bracket when there is none.
    fn next(&mut self, out: &mut String) -> Option<&'a Value> {
        let (entry, bracket) = match &mut self.rest {
            Rest::Items(items) => (items.next().map(|value| (None, value)), ']'),
            Rest::Entries(entries) => (entries.next().map(|(key, value)| (Some(key), value)), '}'),
        };
        let Some((key, value)) = entry else {
            out.push(bracket);
            return None;
        };
        if !std::mem::replace(&mut self.empty, false) {
            out.push(',');
        }
        if let Some(key) = key {
            write_text(key, out);
            out.push(':');
        }
        Some(value)
    }
}

fn write_value(value: &Value, out: &mut String) {
    if let Some(open) = write_start(value, out) {
        write_nested(open, out);
    }
}

fn write_nested(first: Open<'_>, out: &mut String) {
    let mut open = vec![first];
    while let Some(inner) = open.last_mut() {
        match inner.next(out) {
            Some(value) => open.extend(write_start(value, out)),
            None => {
                open.pop();
            }
        }
    }
}

/// Writes a scalar completely, and of a list or object only the opening bracket.
fn write_start<'a>(value: &'a Value, out: &mut String) -> Option<Open<'a>> {
    match value {
        Value::Array(items) => return Some(Open::array(items, out)),
        Value::Object(map) => return Some(Open::object(map.iter(), out)),
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
    }
    None
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = tail.chars();
        if let Some(char) = chars.next() {
            write_escape(char, out);
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn write_escape(char: char, out: &mut String) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        other => {
            let _ = write!(out, "\\u{:04x}", u32::from(other));
        }
    }
}

fn write_number(number: &Number, out: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(float, out),
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// Writes a number like ECMAScript's `Number::toString`.
fn write_float(float: f64, out: &mut String) {
    if float == 0.0 {
        return out.push('0');
    }
    if float < 0.0 {
        out.push('-');
    }
    // The JSON writer prints the shortest digits that round-trip, the even one of two equally near,
    // as ECMAScript requires (`{:e}` does not); only the layout differs.
    let Some(printed) = Number::from_f64(float.abs()).map(|number| number.to_string()) else {
        return;
    };
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let zeros = digits.len().saturating_sub(significant.len());
    let count = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    let point = exponent
        .parse::<i32>()
        .unwrap_or_default()
        .saturating_add(count(whole.len()))
        .saturating_sub(count(zeros));
    lay_out(significant.trim_end_matches('0'), point, out);
}

/// Writes digits with the decimal point after the first `point` of them.
fn lay_out(digits: &str, point: i32, out: &mut String) {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let split = |at: i32| {
        digits.split_at_checked(usize::try_from(at).unwrap_or_default()).unwrap_or((digits, ""))
    };
    match point {
        point if (count..=21).contains(&point) => {
            let _ = write!(out, "{digits}{}", zeros(point.saturating_sub(count)));
        }
        1..=21 => {
            let (whole, fraction) = split(point);
            let _ = write!(out, "{whole}.{fraction}");
        }
        -5..=0 => {
            let _ = write!(out, "0.{}{digits}", zeros(point.saturating_neg()));
        }
        point => {
            let (first, fraction) = split(1);
            let dot = if fraction.is_empty() { "" } else { "." };
            let _ = write!(out, "{first}{dot}{fraction}e{:+}", point.saturating_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        canonical(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn numbers_print_as_the_rfc_lists_them() {
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let mut out = String::new();
            write_float(f64::from_bits(bits), &mut out);
            assert_eq!(out, text, "{bits:x}");
        }
    }

    #[test]
    fn the_rfcs_example_comes_out_as_printed_there() {
        let text = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        assert_eq!(
            again(text),
            "{\"literals\":[null,true,false],\
             \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
    }

    #[test]
    fn keys_are_sorted_as_utf_16() {
        let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        assert_eq!(
            again(text),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}"
        );
    }

    #[test]
    fn integers_keep_every_digit() {
        assert_eq!(
            again("[9007199254740993, 9007199254740992, -9007199254740993]"),
            "[9007199254740993,9007199254740992,-9007199254740993]"
        );
        assert_eq!(again("[18446744073709551615, 1.0, 100]"), "[18446744073709551615,1,100]");
    }

    #[test]
    fn empty_and_nested_lists_and_objects_close() {
        assert_eq!(
            again(r#"{"a":[],"b":{},"c":[[],[{}]],"d":""}"#),
            r#"{"a":[],"b":{},"c":[[],[{}]],"d":""}"#
        );
    }

    #[test]
    fn depth_costs_no_stack() {
        let mut value = Value::Null;
        for _ in 0..100_000 {
            value = Value::Array(vec![value]);
        }
        assert_eq!(canonical(&value).len(), 200_004);
        // Dropping it would recurse, which is not what is tested here.
        std::mem::forget(value);
    }
}
