//! Tokens of Python 2 and 3.

use std::rc::Rc;

use super::scan::{is_word, push_part};
use super::{Kind, Part, Quote, Scan};

const MARKS: &[&str] = &[
    "**=", "//=", ">>=", "<<=", "...", "->", ":=", "==", "!=", "<=", ">=", "<>", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "@=", "**", "//", "<<", ">>", "(", ")", "[", "]", "{", "}", ",",
    ":", ".", ";", "=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "@", "`", "!", "?",
    "$",
];

pub(super) fn lex(scan: &mut Scan<'_>) {
    let mut depth = 0_u32;
    indentation(scan);
    while let Some(byte) = scan.peek() {
        match byte {
            b'\n' => {
                let start = scan.at;
                scan.advance(1);
                if depth == 0 {
                    scan.push(Kind::Line, start);
                    indentation(scan);
                } else {
                    scan.note_space();
                }
            }
            b' ' | b'\t' | b'\r' | 0x0c => {
                scan.advance(1);
                scan.note_space();
            }
            b'#' => scan.skip_line(),
            b'\\' if matches!(scan.peek_at(1), Some(b'\n' | b'\r')) => {
                scan.skip_past("\n");
                scan.note_space();
            }
            b'"' | b'\'' => string(scan, scan.at, Prefix::default()),
            b'0'..=b'9' => scan.number(),
            byte if is_word(byte) => word(scan),
            byte => {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if !scan.mark(MARKS) {
                    scan.advance(1);
                }
            }
        }
    }
}

/// At the start of a line: reads its indentation.
fn indentation(scan: &mut Scan<'_>) {
    let space = scan.skip_while(|byte| matches!(byte, b' ' | b'\t' | 0x0c));
    let indent = space.bytes().fold(0_u32, |column, byte| {
        if byte == b'\t' { column.saturating_add(8) & !7 } else { column.saturating_add(1) }
    });
    scan.note_line(indent);
}

/// The letters before a string.
#[derive(Default, Clone, Copy)]
struct Prefix {
    raw: bool,
    formatted: bool,
}

fn word(scan: &mut Scan<'_>) {
    let start = scan.at;
    let text = scan.skip_while(is_word);
    if text.len() <= 2
        && matches!(scan.peek(), Some(b'"' | b'\''))
        && text.bytes().all(|byte| b"rRbBuUfFtT".contains(&byte))
    {
        let has = |letters: &[u8]| text.bytes().any(|byte| letters.contains(&byte));
        return string(scan, start, Prefix { raw: has(b"rR"), formatted: has(b"fFtT") });
    }
    let name: Rc<str> = if text.is_ascii() { text.into() } else { plain(text).into() };
    scan.push(Kind::Name(name), start);
}

/// Normalises styled letters to plain ones as Python does: `𝐨𝐬` and `ｏｓ` are `os`.
fn plain(name: &str) -> String {
    name.chars()
        .map(|char| match u32::from(char) {
            wide @ 0xFF21..=0xFF5A => char::from_u32(wide - 0xFEE0).unwrap_or(char),
            styled @ 0x1D400..=0x1D6A3 => {
                let letter = u8::try_from((styled - 0x1D400) % 52).unwrap_or_default();
                char::from(if letter < 26 { b'A' + letter } else { b'a' + letter - 26 })
            }
            _ => char,
        })
        .collect()
}

/// Reads a string from its opening quote.
fn string(scan: &mut Scan<'_>, start: usize, prefix: Prefix) {
    let Some(quote) = scan.take() else { return };
    let mark = String::from(quote);
    let triple = mark.repeat(3);
    let long = scan.rest().starts_with(&mark.repeat(2));
    let close = if long { triple } else { mark };
    if long {
        scan.advance(2);
    }
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        if scan.starts_with(&close) {
            scan.advance(close.len());
            break;
        }
        match scan.peek() {
            None => {
                scan.mark_broken();
                break;
            }
            // A short string ends with its line: Python would reject it.
            Some(b'\n') if !long => {
                scan.mark_broken();
                break;
            }
            Some(b'\\') => backslash(scan, prefix, &mut text),
            Some(b'{') if prefix.formatted => braces(scan, &mut parts, &mut text),
            Some(b'}') if prefix.formatted && scan.peek_at(1) == Some(b'}') => {
                text.push('}');
                scan.advance(2);
            }
            Some(_) => text.extend(scan.take()),
        }
    }
    push_part(&mut parts, &mut text);
    scan.push_text(parts, Quote::Plain, start);
}

fn backslash(scan: &mut Scan<'_>, prefix: Prefix, text: &mut String) {
    scan.advance(1);
    if prefix.raw {
        text.push('\\');
        text.extend(scan.take());
    } else if scan.starts_with("N{") {
        scan.skip_past("}");
        text.push('?');
    } else {
        match scan.peek() {
            // Unknown escapes keep their backslash.
            Some(byte) if byte.is_ascii_alphabetic() && !b"ntrabfvxuU".contains(&byte) => {
                text.push('\\');
                text.extend(scan.take());
            }
            _ => scan.escape(text),
        }
    }
}

/// Reads the code or the escape at the `{` of a formatted string.
fn braces(scan: &mut Scan<'_>, parts: &mut Vec<Part>, text: &mut String) {
    if scan.peek_at(1) == Some(b'{') {
        text.push('{');
        scan.advance(2);
        return;
    }
    scan.advance(1);
    let start = scan.at;
    let close = scan.skip_braces();
    let end = start + expression(scan.slice(start, close));
    push_part(parts, text);
    parts.push(Part::Code(start, end));
}

/// Returns the length of the expression in `x!r:>10` or `x=`.
fn expression(code: &str) -> usize {
    let bytes = code.as_bytes();
    let mut depth = 0_u32;
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            (None, b':') if depth == 0 => return at,
            (None, b'!') if depth == 0 && bytes.get(at + 1) != Some(&b'=') => return at,
            _ => {}
        }
    }
    code.trim_end().trim_end_matches('=').len()
}
