//! The value after a name, in any syntax: a shell, a program, YAML, JSON, XML, a connection string,
//! a query.
//!
//! Only the range of the value is found here; `assign.rs` decides whether it is a secret.

use super::text::{Class, Text};

/// The separator between the name and the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// `=`, `:=`, `=>`
    Assign,
    /// `:`
    Colon,
    /// `==`, `!=`
    Compare,
    /// `,` after a quoted name
    Comma,
    /// `||`, `??`: a default value
    Default,
    /// `(`
    Call,
    /// Nothing but space
    Space,
    /// `>` of `<name>`
    Tag,
}

/// The range of a value, and its syntax.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
    pub(super) joint: Joint,
    /// No space on either side of the separator.
    pub(super) tight: bool,
}

/// The most bytes of a quoted value.
const LONGEST: usize = 1024;

/// The most bytes of a value without quotes; longer ones are tokens with a format of their own.
const LONGEST_WORD: usize = 300;

/// The most space between the pieces.
const GAP: usize = 48;

/// The value after the name that ends there.
pub(super) fn after(text: Text<'_>, end: usize) -> Option<Value> {
    let closed = close(text, end);
    if let Some(at) = attribute(text, closed) {
        return read(text, at, Joint::Assign, true);
    }
    let mut spaced = text.run_within(closed, Class::SPACE, GAP);
    // `var name string = "…"`: the type precedes the separator.
    if text.has(spaced, "string =") {
        spaced += "string ".len();
    }
    let (joint, width) = joint(text, spaced, closed > end)?;
    let after = spaced + width;
    let mut start = text.run_within(after, Class::SPACE, GAP);
    if matches!(text.at(start), b'\n' | b'\r') && matches!(joint, Joint::Colon | Joint::Assign) {
        start = next_line(text, start)?;
    }
    if joint == Joint::Tag {
        start = text.run_within(after, Class::BLANK, GAP);
    }
    let tight = spaced == closed && start == after;
    let value = read(text, start, joint, tight)?;
    // `password: str = "…"`: the supposed value is its type.
    if joint == Joint::Colon && !value.quoted {
        let assign = text.run_within(value.end, Class::SPACE, GAP);
        if text.at(assign) == b'='
            && !matches!(text.at(assign + 1), b'=' | b'>')
            && assign > value.end
        {
            let start = text.run_within(assign + 1, Class::SPACE, GAP);
            return read(text, start, Joint::Assign, false);
        }
    }
    Some(value)
}

/// Skips the closing quotes and brackets of a name.
fn close(text: Text<'_>, end: usize) -> usize {
    let mut at = end;
    for _ in 0..3 {
        if matches!(text.at(at), b'"' | b'\'' | b'`' | b']') {
            at += 1;
        } else if text.at(at) == b'\\' && matches!(text.at(at + 1), b'"' | b'\'') {
            at += 2;
        }
    }
    at
}

/// Finds `key="NAME" value="…"`, and `name: NAME` with `value: …` on the next line.
fn attribute(text: Text<'_>, closed: usize) -> Option<usize> {
    let mut at = closed;
    while at - closed < GAP
        && (Class::BLANK.has(text.at(at)) || matches!(text.at(at), b',' | b'"' | b'\\'))
    {
        at += 1;
    }
    if text.has(closed, "</key>") {
        let tag = text.run_within(closed + 6, Class::BLANK, GAP);
        return text.has(tag, "<string>").then_some(tag + 8);
    }
    let prefix = if text.has(at, "android:") { 8 } else { 0 };
    let word = ["value", "content", "defaultvalue"]
        .iter()
        .find(|word| text.has_any_case(at + prefix, word))?;
    if at == closed || Class::WORD.has(text.before(at)) {
        return None;
    }
    let at = at + prefix;
    let end = close(text, at + word.len());
    let spaced = text.run_within(end, Class::SPACE, GAP);
    let given = matches!(text.at(spaced), b'=' | b':');
    given.then(|| text.run_within(spaced + 1, Class::SPACE, GAP))
}

fn joint(text: Text<'_>, at: usize, quoted_name: bool) -> Option<(Joint, usize)> {
    let byte = text.at(at);
    let next = text.at(at + 1);
    let third = text.at(at + 2);
    match (byte, next, third) {
        (b'=' | b'!', b'=', b'=') => Some((Joint::Compare, 3)),
        (b'=' | b'!', b'=', _) => Some((Joint::Compare, 2)),
        (b'=', b'>', _) | (b':' | b'?' | b'+', b'=', _) => Some((Joint::Assign, 2)),
        (b'|', b'|', _) | (b'?', b'?', _) => Some((Joint::Default, 2)),
        (b'=', _, _) => Some((Joint::Assign, 1)),
        (b':', b':' | b'/', _) | (b'>', b'<' | b'=' | b'>', _) => None,
        (b':', _, _) => Some((Joint::Colon, 1)),
        (b',', _, _) if quoted_name => Some((Joint::Comma, 1)),
        (b'>', _, _) => Some((Joint::Tag, 1)),
        (b'(', _, _) => Some((Joint::Call, 1)),
        _ if Class::SPACE.has(text.before(at)) => Some((Joint::Space, 0)),
        _ => None,
    }
}

/// The start of a value on the next line, which must be quoted there.
fn next_line(text: Text<'_>, at: usize) -> Option<usize> {
    let start = text.run_within(at, Class::BLANK, GAP);
    matches!(text.at(start), b'"' | b'\'' | b'`').then_some(start)
}

/// Reads the value that starts there.
pub(super) fn read(text: Text<'_>, at: usize, joint: Joint, tight: bool) -> Option<Value> {
    let start = open(text, at);
    let quote = text.before(start);
    let quoted = start > at && matches!(quote, b'"' | b'\'' | b'`');
    let end = if quoted { closing(text, start, quote)? } else { unquoted(text, start, joint) };
    (end > start).then_some(Value { start, end, quoted, joint, tight })
}

/// Skips the opening of a string: a call or a list around it, a prefix, quotes within quotes.
fn open(text: Text<'_>, at: usize) -> usize {
    let mut start = at;
    if matches!(text.at(start), b'(' | b'[') {
        start = text.run_within(start + 1, Class::BLANK, GAP);
    }
    if matches!(text.at(start), b'@' | b'b' | b'r' | b'u' | b'f' | b'L' | b'N')
        && is_quote(text.at(start + 1))
    {
        start += 1;
    }
    for _ in 0..2 {
        if is_quote(text.at(start)) {
            start += 1;
        } else if text.at(start) == b'\\' && is_quote(text.at(start + 1)) {
            start += 2;
        }
    }
    if is_quote(text.before(start)) && start > at { start } else { at }
}

const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// The position of the closing quote, on the same line.
fn closing(text: Text<'_>, start: usize, quote: u8) -> Option<usize> {
    let mut escaped = false;
    for end in start..start.saturating_add(LONGEST).min(text.len()) {
        let byte = text.at(end);
        if byte == quote && !escaped {
            return Some(end);
        }
        // A string inside a string closes with the same escape that opened it.
        if byte == quote && text.before(start.saturating_sub(1)) == b'\\' {
            return Some(end - 1);
        }
        if byte == b'\n' {
            return Some(end);
        }
        escaped = byte == b'\\' && !escaped;
    }
    (text.len() - start < LONGEST).then_some(text.len())
}

fn unquoted(text: Text<'_>, start: usize, joint: Joint) -> usize {
    let mut end = start;
    while end < text.len() && end - start < LONGEST_WORD {
        match text.at(end) {
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<' | b'>' | b';' | b'|' => break,
            b',' | b'&' | b')' | b'}' if joint != Joint::Space => break,
            b'\\' if matches!(text.at(end + 1), b'n' | b'r' | b'"' | b'\n') => break,
            _ => end += 1,
        }
    }
    // One full stop ends a sentence; more of them mean that something was left out.
    let stop =
        matches!(text.before(end), b',' | b'.' | b':') && !text.cut(start, end).ends_with("..");
    if stop && end > start { end - 1 } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(source: &str) -> Option<&str> {
        let end = source.find("NAME").unwrap() + 4;
        let value = after(Text(source), end)?;
        source.get(value.start..value.end)
    }

    #[test]
    fn values_are_found_in_every_notation() {
        for source in [
            "NAME=value9",
            "NAME = 'value9';",
            "\"NAME\": \"value9\",",
            "NAME: value9",
            "NAME := \"value9\"",
            "'NAME' => 'value9'",
            "<NAME>value9</NAME>",
            "<add key=\"NAME\" value=\"value9\"/>",
            "- name: NAME\n  value: \"value9\"",
            "\\\"NAME\\\": \\\"value9\\\"",
            "['NAME'] = 'value9'",
            "NAME: str = \"value9\"",
            "f('NAME', 'value9')",
            "?NAME=value9&x=1",
            "NAME == \"value9\"",
            "NAME(\"value9\")",
            "field('NAME', '\"value9\"')",
            "NAME:\n  'value9'",
            "--NAME value9 --x",
        ] {
            assert_eq!(given(source), Some("value9"), "{source}");
        }
    }

    #[test]
    fn a_name_without_a_joint_has_no_value() {
        for source in ["NAME", "NAME::of", "NAME://x", "NAME.", "[NAME]"] {
            assert_eq!(given(source), None, "{source}");
        }
    }
}
