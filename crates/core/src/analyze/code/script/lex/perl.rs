//! Tokens of Perl 5.

use std::collections::VecDeque;

use super::scan::is_word;
use super::{Kind, Part, Quote, Scan};

mod here;
mod quote;

use here::{here, here_text};
use quote::{handle, pattern, quote_like, quoted};

const MARKS: &[&str] = &[
    "<=>", "...", "**=", "||=", "&&=", "//=", "<<=", ">>=", "=>", "->", "==", "!=", "=~", "!~",
    "<=", ">=", "&&", "||", "//", "::", "..", "++", "--", "+=", "-=", "*=", "/=", "%=", ".=", "x=",
    "&=", "|=", "^=", "<<", ">>", "**", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "!", "?", "@", "$", "\\",
];

/// Quote operators with any delimiter.
const QUOTES: &[&str] = &["q", "qq", "qw", "qx", "qr", "m", "s", "tr", "y"];

/// Names after which an operator, not an operand, follows even without brackets.
const VALUES: &[&str] = &["__FILE__", "__LINE__", "__PACKAGE__", "time", "wantarray"];

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

/// Reports whether an operand rather than an operator is expected here.
fn operand_expected(scan: &Scan<'_>) -> bool {
    match scan.last() {
        None | Some(Kind::Line) => true,
        Some(Kind::Name(name)) => !name.starts_with(['$', '@', '%']) && !VALUES.contains(&&**name),
        Some(Kind::Mark(mark)) => !matches!(*mark, ")" | "]" | "}"),
        Some(Kind::Text(..) | Kind::Number(_)) => false,
    }
}

/// Reports whether a `/` after a word starts a pattern or divides, by the space around it.
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

/// Reads `$name`, `@name`, `${name}`, `$#name`, `$$`, `$1`, `$_`, `%hash`, `&sub`.
fn variable(scan: &mut Scan<'_>) {
    let start = scan.at;
    let length = variable_length(scan.rest());
    if scan.starts_with("$#{") || scan.starts_with("$#$") {
        // The last index of a list, not a comment.
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

/// Returns the length of the variable that this text starts with; 0 when it is a sigil before a
/// block.
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

/// Reads a word; reports whether the source ends here.
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
    // `-s $file` returns its size.
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

/// Reports whether the last token is the `{` of `$x{` or `->{`, not of a block.
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
