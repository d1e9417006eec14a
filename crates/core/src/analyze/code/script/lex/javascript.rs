//! Tokens of JavaScript and TypeScript.

use std::rc::Rc;

use super::scan::{is_word, push_part};
use super::{Kind, Part, Quote, Scan};

const MARKS: &[&str] = &[
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=",
    "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "<<", ">>", "**", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+", "-", "*", "/",
    "%", "&", "|", "^", "~", "<", ">", "!", "?", "@", "#",
];

/// Words after which a `/` starts a regular expression.
const BEFORE_PATTERN: &[&str] = &[
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "do",
    "else",
    "void",
    "delete",
    "throw",
    "new",
    "await",
    "yield",
    "instanceof",
];

const LONGEST_PATTERN: usize = 4_096;

pub(super) fn lex(scan: &mut Scan<'_>) {
    if scan.at == 0 && scan.starts_with("#!") {
        scan.skip_line();
    }
    while let Some(byte) = scan.peek() {
        match byte {
            b'\n' => {
                scan.advance(1);
                scan.note_line(0);
            }
            b' ' | b'\t' | b'\r' => {
                scan.advance(1);
                scan.note_space();
            }
            b'/' if scan.peek_at(1) == Some(b'/') => scan.skip_line(),
            b'/' if scan.peek_at(1) == Some(b'*') => {
                scan.advance(2);
                scan.skip_past("*/");
                scan.note_space();
            }
            b'/' if pattern_may_start(scan) && scan.lose_patience(0) => pattern(scan),
            b'"' | b'\'' => string(scan, byte),
            b'`' => template(scan),
            b'0'..=b'9' => scan.number(),
            byte if is_word(byte) || byte == b'$' || byte == b'\\' => word(scan),
            _ => {
                if !scan.mark(MARKS) {
                    scan.advance(1);
                }
            }
        }
    }
}

fn pattern_may_start(scan: &Scan<'_>) -> bool {
    match scan.last() {
        None => true,
        Some(Kind::Name(name)) => BEFORE_PATTERN.contains(&&**name),
        Some(Kind::Mark(mark)) => !matches!(*mark, ")" | "]" | "}" | "++" | "--"),
        Some(Kind::Text(..) | Kind::Number(_) | Kind::Line) => false,
    }
}

/// On the opening `/`. A regular expression ends on its line; anything else is a division.
fn pattern(scan: &mut Scan<'_>) {
    let start = scan.at;
    let (length, ended) = pattern_length(scan.rest().as_bytes());
    if !ended {
        scan.lose_patience(length);
        scan.mark(MARKS);
        return;
    }
    scan.advance(length);
    scan.skip_while(|byte| byte.is_ascii_alphabetic());
    scan.push_text(Vec::new(), Quote::Pattern, start);
}

/// Returns the length of a regular expression that starts here, and whether it ends there.
fn pattern_length(text: &[u8]) -> (usize, bool) {
    let (mut at, mut class) = (1, false);
    loop {
        match text.get(at) {
            None | Some(b'\n') => return (at, false),
            Some(_) if at > LONGEST_PATTERN => return (at, false),
            Some(b'\\') => at += 1,
            Some(b'[') => class = true,
            Some(b']') => class = false,
            Some(b'/') if !class => return (at + 1, true),
            Some(_) => {}
        }
        at += 1;
    }
}

fn word(scan: &mut Scan<'_>) {
    let start = scan.at;
    let text = scan.skip_while(|byte| is_word(byte) || byte == b'$');
    if scan.peek() != Some(b'\\') {
        scan.push(Kind::Name(text.into()), start);
        return;
    }
    // `\u0065val` is `eval`.
    let mut name = text.to_owned();
    while scan.starts_with("\\u") {
        scan.advance(1);
        scan.escape(&mut name);
        name.push_str(scan.skip_while(|byte| is_word(byte) || byte == b'$'));
    }
    if scan.at == start {
        scan.advance(1);
        return;
    }
    let name: Rc<str> = name.into();
    scan.push(Kind::Name(name), start);
}

fn string(scan: &mut Scan<'_>, quote: u8) {
    let start = scan.at;
    scan.advance(1);
    let mut text = String::new();
    loop {
        match scan.peek() {
            Some(byte) if byte == quote => {
                scan.advance(1);
                break;
            }
            Some(b'\\') => {
                scan.advance(1);
                scan.escape(&mut text);
            }
            // Text between tags may contain a lone apostrophe: it ends with its line.
            None | Some(b'\n') => {
                scan.mark_broken();
                break;
            }
            Some(_) => text.extend(scan.take()),
        }
    }
    scan.push_text(vec![Part::Text(text)], Quote::Plain, start);
}

/// Reads a template from its opening backtick.
fn template(scan: &mut Scan<'_>) {
    let start = scan.at;
    scan.advance(1);
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        match scan.peek() {
            None => {
                scan.mark_broken();
                break;
            }
            Some(b'`') => {
                scan.advance(1);
                break;
            }
            Some(b'\\') => {
                scan.advance(1);
                scan.escape(&mut text);
            }
            Some(b'$') if scan.peek_at(1) == Some(b'{') => {
                scan.advance(2);
                push_part(&mut parts, &mut text);
                let code = scan.at;
                parts.push(Part::Code(code, scan.skip_braces()));
            }
            Some(_) => text.extend(scan.take()),
        }
    }
    push_part(&mut parts, &mut text);
    scan.push_text(parts, Quote::Plain, start);
}
