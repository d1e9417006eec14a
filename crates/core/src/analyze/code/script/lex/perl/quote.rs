//! Strings, patterns and handles in all their spellings.

use super::super::scan::{closing, is_word, push_part};
use super::super::{Kind, Part, Quote, Scan};
use super::{mark, variable_length};

/// Reads `q{…}`, `qq|…|`, `qw(…)`, `m#…#`, `s/…/…/e`; reports whether it was one.
pub(super) fn quote_like(scan: &mut Scan<'_>, start: usize, word: &str) -> bool {
    let back = scan.at;
    let space = scan.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
    let open = match scan.peek() {
        Some(b'#') if !space.is_empty() => None,
        Some(b',') if space.is_empty() && matches!(scan.last(), Some(Kind::Mark("=~" | "!~"))) => {
            Some(b',')
        }
        Some(b'=' | b',' | b';' | b')') => None,
        Some(byte) if is_word(byte) && (space.is_empty() || byte >= 0x80) => None,
        Some(byte) if is_word(byte) => None,
        byte => byte,
    };
    let Some(open) = open else {
        scan.at = back;
        return false;
    };
    scan.advance(1);
    let close = closing(open);
    match word {
        "s" | "tr" | "y" => substitution(scan, start, open),
        "m" | "qr" => {
            body(scan, open, close, open != b'\'');
            scan.skip_while(|byte| byte.is_ascii_alphabetic());
            scan.push_text(Vec::new(), Quote::Pattern, start);
        }
        word => {
            let parts = body(scan, open, close, matches!(word, "qq" | "qx") && open != b'\'');
            let quote = match word {
                "qw" => Quote::Words,
                "qx" => Quote::Command,
                _ => Quote::Plain,
            };
            scan.push_text(parts, quote, start);
        }
    }
    true
}

/// Reads pattern, replacement and flags from after the opening delimiter. With `e` the replacement
/// runs.
fn substitution(scan: &mut Scan<'_>, start: usize, open: u8) {
    let close = closing(open);
    body(scan, open, close, false);
    if open == close {
        let code = scan.at;
        body(scan, open, close, false);
        replacement(scan, start, code);
    } else {
        scan.skip_while(|byte| byte.is_ascii_whitespace());
        let second = scan.peek().unwrap_or(b'/');
        scan.advance(1);
        let code = scan.at;
        body(scan, second, closing(second), false);
        replacement(scan, start, code);
    }
}

fn replacement(scan: &mut Scan<'_>, start: usize, code: usize) {
    let end = scan.at.saturating_sub(1).max(code);
    let flags = scan.skip_while(|byte| byte.is_ascii_alphabetic());
    let parts = if flags.contains('e') { vec![Part::Code(code, end)] } else { Vec::new() };
    scan.push_text(parts, Quote::Pattern, start);
}

pub(super) fn pattern(scan: &mut Scan<'_>) {
    let start = scan.at;
    scan.advance(1);
    body(scan, b'/', b'/', false);
    scan.skip_while(|byte| byte.is_ascii_alphabetic());
    scan.push_text(Vec::new(), Quote::Pattern, start);
}

pub(super) fn quoted(scan: &mut Scan<'_>, quote: u8) {
    let start = scan.at;
    scan.advance(1);
    let parts = body(scan, quote, quote, quote != b'\'');
    let kind = if quote == b'`' { Quote::Command } else { Quote::Plain };
    scan.push_text(parts, kind, start);
}

/// Reads from after the opening quote, past the closing one.
fn body(scan: &mut Scan<'_>, open: u8, close: u8, interpolates: bool) -> Vec<Part> {
    let (mut parts, mut text, mut depth) = (Vec::new(), String::new(), 0_u32);
    loop {
        match scan.peek() {
            None => {
                scan.mark_broken();
                break;
            }
            Some(byte) if byte == close && depth == 0 => {
                scan.advance(1);
                break;
            }
            Some(b'\\') => {
                scan.advance(1);
                match scan.peek() {
                    Some(byte) if !interpolates => {
                        if byte != close && byte != b'\\' {
                            text.push('\\');
                        }
                        text.extend(scan.take());
                    }
                    _ => scan.escape(&mut text),
                }
            }
            Some(b'$' | b'@') if interpolates && interpolated(scan, &mut parts, &mut text) => {}
            Some(byte) => {
                if open != close && byte == open {
                    depth += 1;
                } else if open != close && byte == close {
                    depth -= 1;
                }
                text.extend(scan.take());
            }
        }
    }
    push_part(&mut parts, &mut text);
    parts
}

/// Reads a variable in a string, with its subscripts; `@{[ … ]}` and `${\ … }` are code. Reports
/// whether it was one.
pub(super) fn interpolated(scan: &mut Scan<'_>, parts: &mut Vec<Part>, text: &mut String) -> bool {
    let start = scan.at;
    if matches!(scan.peek_at(1), Some(b'{')) && variable_length(scan.rest()) == 0 {
        scan.advance(2);
        push_part(parts, text);
        let code = scan.at;
        parts.push(Part::Code(code, scan.skip_braces()));
        return true;
    }
    let named =
        scan.peek_at(1).is_some_and(|byte| is_word(byte) || matches!(byte, b'{' | b'$' | b':'));
    let length = variable_length(scan.rest());
    if !named || length == 0 {
        return false;
    }
    scan.advance(length);
    while let Some(end) = subscript(scan.rest()) {
        scan.advance(end);
    }
    push_part(parts, text);
    parts.push(Part::Code(start, scan.at));
    true
}

/// Returns the length of `[0]`, `{key}`, `->[0]` or `->{key}` here.
fn subscript(text: &str) -> Option<usize> {
    const LONGEST: usize = 64;
    let arrow = if text.starts_with("->") { 2 } else { 0 };
    let bytes = text.as_bytes();
    let close = match bytes.get(arrow) {
        Some(b'[')
            if bytes
                .get(arrow + 1)
                .is_some_and(|byte| matches!(byte, b'$' | b'-' | b'0'..=b'9')) =>
        {
            b']'
        }
        Some(b'{') => b'}',
        _ => return None,
    };
    let inside = bytes.iter().skip(arrow).take(LONGEST).position(|byte| *byte == close)?;
    Some(arrow + inside + 1)
}

/// Reads `<$file>`, `<STDIN>`, `<>`, `<*.c>`.
pub(super) fn handle(scan: &mut Scan<'_>) {
    const LONGEST: usize = 64;
    let start = scan.at;
    let close =
        scan.rest().bytes().take(LONGEST).position(|byte| matches!(byte, b'>' | b'\n' | b';'));
    match close {
        Some(close) if scan.peek_at(close) == Some(b'>') && scan.peek_at(1) != Some(b'=') => {
            let inside = scan.slice(start + 1, start + close);
            let handle = inside.trim_start_matches('$').bytes().all(is_word);
            let parts = if handle {
                vec![Part::Code(start + 1, start + close)]
            } else {
                vec![Part::Text(inside.to_owned())]
            };
            scan.advance(close + 1);
            scan.push_text(parts, Quote::Handle, start);
        }
        _ => mark(scan),
    }
}
