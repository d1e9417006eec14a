//! Tokens of Perl 5.

use std::collections::VecDeque;

use super::scan::{closing, is_word, push_part};
use super::{Kind, Part, Quote, Scan};

const MARKS: &[&str] = &[
    "<=>", "...", "**=", "||=", "&&=", "//=", "<<=", ">>=", "=>", "->", "==", "!=", "=~", "!~",
    "<=", ">=", "&&", "||", "//", "::", "..", "++", "--", "+=", "-=", "*=", "/=", "%=", ".=", "x=",
    "&=", "|=", "^=", "<<", ">>", "**", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "!", "?", "@", "$", "\\",
];

/// Words that are quotes with any delimiter.
const QUOTES: &[&str] = &["q", "qq", "qw", "qx", "qr", "m", "s", "tr", "y"];

/// Names after which an operator, not an operand, follows even without brackets.
const VALUES: &[&str] = &["__FILE__", "__LINE__", "__PACKAGE__", "time", "wantarray"];

struct Here {
    end: String,
    raw: bool,
    token: usize,
}

pub(super) fn lex(scan: &mut Scan<'_>) {
    let mut heres = VecDeque::new();
    let mut line_start = true;
    while let Some(byte) = scan.peek() {
        let first = std::mem::take(&mut line_start);
        match byte {
            b'\n' => {
                scan.advance(1);
                while let Some(here) = heres.pop_front() {
                    here_text(scan, &here);
                }
                scan.note_line(0);
                line_start = true;
            }
            b' ' | b'\t' | b'\r' => {
                scan.advance(1);
                scan.note_space();
            }
            b'#' => scan.skip_line(),
            b'=' if first && scan.peek_at(1).is_some_and(|byte| byte.is_ascii_alphabetic()) => {
                scan.skip_past("\n=cut");
                scan.skip_line();
            }
            b'0'..=b'9' => scan.number(),
            b'"' | b'\'' | b'`' => quoted(scan, byte),
            b'$' | b'@' => variable(scan),
            b'%' | b'&' if operand_expected(scan) => variable(scan),
            b'/' if pattern_may_start(scan) => pattern(scan),
            b'<' if operand_expected(scan) => match here(scan) {
                Some(here) if heres.len() < 16 => heres.push_back(here),
                Some(_) => {}
                None => handle(scan),
            },
            byte if is_word(byte) => {
                if word(scan) {
                    return;
                }
            }
            _ => mark(scan),
        }
    }
}

fn mark(scan: &mut Scan<'_>) {
    if !scan.mark(MARKS) {
        scan.advance(1);
    }
}

/// Whether an operand rather than an operator is expected here.
fn operand_expected(scan: &Scan<'_>) -> bool {
    match scan.last() {
        None | Some(Kind::Line) => true,
        Some(Kind::Name(name)) => !name.starts_with(['$', '@', '%']) && !VALUES.contains(&&**name),
        Some(Kind::Mark(mark)) => !matches!(*mark, ")" | "]" | "}"),
        Some(Kind::Text(..) | Kind::Number(_)) => false,
    }
}

/// Behind a word a `/` may divide or start a pattern: the space around it tells.
fn pattern_may_start(scan: &Scan<'_>) -> bool {
    const BEFORE_PATTERN: &[&str] = &[
        "split", "grep", "map", "return", "and", "or", "not", "if", "unless", "while", "until",
        "when", "x", "lt", "gt", "eq", "ne", "cmp", "join", "push", "unshift",
    ];
    match scan.last() {
        Some(Kind::Name(name)) if !name.starts_with(['$', '@', '%']) => {
            let spaced = matches!(scan.before(), Some(b' ' | b'\t' | b'\n'));
            let alone = matches!(scan.peek_at(1), Some(b' ' | b'='));
            BEFORE_PATTERN.contains(&&**name) || (spaced && !alone && !VALUES.contains(&&**name))
        }
        _ => operand_expected(scan),
    }
}

/// `$name`, `@name`, `${name}`, `$#name`, `$$`, `$1`, `$_`, `%hash`, `&sub`.
fn variable(scan: &mut Scan<'_>) {
    let start = scan.at;
    let length = variable_length(scan.rest());
    if scan.starts_with("$#{") || scan.starts_with("$#$") {
        // The last place of a list, not a comment.
        scan.advance(2);
        scan.push(Kind::Mark("$"), start);
        return;
    }
    if length == 0 {
        mark(scan);
        return;
    }
    scan.advance(length);
    let text = scan.slice(start, scan.at);
    let name = if text.contains('{') {
        text.chars().filter(|char| !matches!(char, '{' | '}')).collect::<String>()
    } else {
        text.to_owned()
    };
    scan.push(Kind::Name(name.into()), start);
}

/// How long the variable is that this text starts with; 0 when it is a mark before a block.
fn variable_length(text: &str) -> usize {
    const MOST_SIGNS: usize = 16;
    let bytes = text.as_bytes();
    let mut at = 1;
    if bytes.first() == Some(&b'$') {
        while at < MOST_SIGNS
            && matches!(bytes.get(at), Some(b'#' | b'$'))
            && bytes.get(at + 1).is_some_and(|byte| is_word(*byte) || matches!(byte, b'{' | b'$'))
        {
            at += 1;
        }
    }
    match bytes.get(at) {
        Some(b'^') if bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase) => at + 2,
        Some(b'{' | b'^') => {
            let caret = usize::from(bytes.get(at + 1) == Some(&b'^'));
            let inner =
                bytes.iter().skip(at + 1 + caret).take_while(|byte| is_word(**byte)).count();
            if inner > 0 && bytes.get(at + 1 + caret + inner) == Some(&b'}') {
                at + caret + inner + 2
            } else {
                0
            }
        }
        Some(byte) if is_word(*byte) || *byte == b':' => loop {
            at += bytes.iter().skip(at).take_while(|byte| is_word(**byte)).count();
            let packaged = bytes.get(at) == Some(&b':')
                && bytes.get(at + 1) == Some(&b':')
                && bytes.get(at + 2).is_some_and(|byte| is_word(*byte));
            if !packaged {
                return if at == 1 { 0 } else { at };
            }
            at += 2;
        },
        Some(byte) if bytes.first() == Some(&b'$') && b"_&`'+!@/\\,;.-~$<>|?\"]".contains(byte) => {
            at + 1
        }
        _ => 0,
    }
}

/// Whether the source ends here.
fn word(scan: &mut Scan<'_>) -> bool {
    let start = scan.at;
    let text = scan.skip_while(is_word);
    if matches!(text, "__END__" | "__DATA__") {
        return true;
    }
    let key = scan.rest().trim_start_matches([' ', '\t']).starts_with("=>");
    let subscript = scan.peek() == Some(b'}') && after_subscript(scan);
    let member = scan.last() == Some(&Kind::Mark("->"));
    if key || subscript {
        scan.push_text(vec![Part::Text(text.to_owned())], Quote::Plain, start);
        return false;
    }
    // `-s $file` asks for its size.
    let file_test = text.len() == 1
        && scan.last() == Some(&Kind::Mark("-"))
        && start.checked_sub(1).is_some_and(|at| scan.slice(at, start) == "-");
    if QUOTES.contains(&text) && !member && !file_test && quote_like(scan, start, text) {
        return false;
    }
    while scan.starts_with("::") && scan.peek_at(2).is_some_and(is_word) {
        scan.advance(2);
        scan.skip_while(is_word);
    }
    scan.push_name(start);
    false
}

/// Behind the `{` of `$x{` or `->{`, not of a block.
fn after_subscript(scan: &Scan<'_>) -> bool {
    let before = match scan.last_two() {
        (Some(before), Some(brace)) if brace.kind == Kind::Mark("{") && !brace.spaced => before,
        _ => return false,
    };
    match &before.kind {
        Kind::Name(name) => name.starts_with(['$', '@', '%']),
        Kind::Mark(mark) => matches!(*mark, "->" | "]" | "}"),
        _ => false,
    }
}

/// `q{…}`, `qq|…|`, `qw(…)`, `m#…#`, `s/…/…/e`; whether it was one.
fn quote_like(scan: &mut Scan<'_>, start: usize, word: &str) -> bool {
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

/// From behind the opening delimiter: pattern, replacement, flags. With `e` the replacement runs.
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

fn pattern(scan: &mut Scan<'_>) {
    let start = scan.at;
    scan.advance(1);
    body(scan, b'/', b'/', false);
    scan.skip_while(|byte| byte.is_ascii_alphabetic());
    scan.push_text(Vec::new(), Quote::Pattern, start);
}

fn quoted(scan: &mut Scan<'_>, quote: u8) {
    let start = scan.at;
    scan.advance(1);
    let parts = body(scan, quote, quote, quote != b'\'');
    let kind = if quote == b'`' { Quote::Command } else { Quote::Plain };
    scan.push_text(parts, kind, start);
}

/// From behind the opening quote, past the closing one.
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

/// A variable in a string, with its subscripts; `@{[ … ]}` and `${\ … }` are code.
fn interpolated(scan: &mut Scan<'_>, parts: &mut Vec<Part>, text: &mut String) -> bool {
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

/// The length of `[0]`, `{key}`, `->[0]` or `->{key}` here.
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

/// `<$file>`, `<STDIN>`, `<>`, `<*.c>`.
fn handle(scan: &mut Scan<'_>) {
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

fn here(scan: &mut Scan<'_>) -> Option<Here> {
    let rest = scan.rest().strip_prefix("<<")?;
    let indented = rest.starts_with('~');
    let rest = rest.strip_prefix('~').unwrap_or(rest);
    let quote = rest.chars().next().filter(|char| matches!(char, '"' | '\'' | '`'));
    let inner = quote.map_or(rest, |quote| rest.strip_prefix(quote).unwrap_or(rest));
    let length = match quote {
        Some(quote) => inner.lines().next()?.find(quote)?,
        None => inner.bytes().take_while(|byte| is_word(*byte)).count(),
    };
    let end = inner.get(..length).filter(|end| !end.is_empty() || quote.is_some())?;
    if quote.is_none() && end.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    let start = scan.at;
    scan.advance(2 + usize::from(indented) + length + if quote.is_some() { 2 } else { 0 });
    let kind = if quote == Some('`') { Quote::Command } else { Quote::Plain };
    scan.push_text(Vec::new(), kind, start);
    Some(Here { end: end.to_owned(), raw: quote == Some('\''), token: scan.count() - 1 })
}

fn here_text(scan: &mut Scan<'_>, here: &Here) {
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        let line_end = scan.rest().find('\n').unwrap_or(scan.rest().len());
        if scan.is_done() {
            scan.mark_broken();
            break;
        }
        if scan.slice(scan.at, scan.at + line_end).trim() == here.end.trim() {
            scan.advance(line_end);
            break;
        }
        let stop = scan.at + line_end;
        while scan.at < stop {
            match scan.peek() {
                Some(b'$' | b'@') if !here.raw && interpolated(scan, &mut parts, &mut text) => {}
                Some(b'\\') if !here.raw => {
                    scan.advance(1);
                    scan.escape(&mut text);
                }
                _ => text.extend(scan.take()),
            }
        }
        if scan.peek() == Some(b'\n') {
            text.push('\n');
            scan.advance(1);
        }
    }
    push_part(&mut parts, &mut text);
    scan.fill(here.token, parts);
}
