//! Tokens of Ruby.

use std::collections::VecDeque;

use super::scan::{closing, is_word, push_part};
use super::{Kind, Part, Quote, Scan};

const MARKS: &[&str] = &[
    "<=>", "===", "...", "**=", "<<=", ">>=", "&&=", "||=", "=>", "==", "!=", "=~", "!~", "<=",
    ">=", "&&", "||", "&.", "::", "->", "..", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<",
    ">>", "**", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+", "-", "*", "/", "%",
    "&", "|", "^", "~", "<", ">", "!", "?", "@", "$", "\\",
];

/// Words after which an operand follows.
const BEFORE_OPERAND: &[&str] = &[
    "if", "unless", "while", "until", "and", "or", "not", "return", "when", "in", "do", "then",
    "else", "elsif", "case", "puts", "print", "p", "raise", "yield", "require", "system", "exec",
    "eval",
];

/// A here-document whose text begins on the next line.
struct Here {
    end: String,
    raw: bool,
    token: usize,
}

pub(super) fn lex(scan: &mut Scan<'_>) {
    let mut heres = VecDeque::new();
    let mut count = 0;
    while let Some(byte) = scan.peek() {
        match byte {
            b'\n' => {
                let start = scan.at;
                scan.advance(1);
                scan.push(Kind::Line, start);
                count = 0;
                while let Some(here) = heres.pop_front() {
                    here_text(scan, &here);
                }
                scan.note_line(0);
                if scan.starts_with("=begin") {
                    scan.skip_past("\n=end");
                    scan.skip_line();
                } else if scan.starts_with("__END__\n") || scan.rest() == "__END__" {
                    return;
                }
            }
            b' ' | b'\t' | b'\r' => {
                scan.advance(1);
                scan.note_space();
            }
            b'\\' if scan.peek_at(1) == Some(b'\n') => {
                scan.advance(2);
                scan.note_space();
            }
            b'#' => scan.skip_line(),
            b'0'..=b'9' => scan.number(),
            b'"' | b'\'' | b'`' => quoted(scan, byte),
            b'<' if count < 16 => match here(scan) {
                Some(here) => {
                    heres.push_back(here);
                    count += 1;
                }
                None => mark(scan),
            },
            b'%' | b'/' | b'?' | b':' if literal(scan, byte) => {}
            b'@' | b'$' => variable(scan),
            byte if is_word(byte) => word(scan),
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
        Some(Kind::Name(name)) => {
            BEFORE_OPERAND.contains(&&**name)
                // `puts /x/` and `foo %w[a]`: space before and none after.
                || (matches!(scan.before(), Some(b' ' | b'\t'))
                    && !matches!(scan.peek_at(1), Some(b' ' | b'=' | b'\n') | None)
                    && !name.starts_with(['@', '$']))
        }
        Some(Kind::Mark(mark)) => !matches!(*mark, ")" | "]" | "}"),
        Some(Kind::Text(..) | Kind::Number(_)) => false,
    }
}

fn word(scan: &mut Scan<'_>) {
    let start = scan.at;
    scan.skip_while(is_word);
    if matches!(scan.peek(), Some(b'?' | b'!')) && scan.peek_at(1) != Some(b'=') {
        scan.advance(1);
    }
    // `name: value` is a key; `a ? b : c` and `A::B` are not.
    if scan.peek() == Some(b':')
        && scan.peek_at(1) != Some(b':')
        && scan.last() != Some(&Kind::Mark("?"))
    {
        let name = scan.slice(start, scan.at).to_owned();
        scan.push_text(vec![Part::Text(name)], Quote::Plain, start);
        let colon = scan.at;
        scan.advance(1);
        scan.push(Kind::Mark("=>"), colon);
        return;
    }
    scan.push_name(start);
}

fn variable(scan: &mut Scan<'_>) {
    let start = scan.at;
    let signs = scan.skip_while(|byte| byte == b'@' || byte == b'$');
    // `$;` and `$!` are variables, and `$$` is one by itself.
    if scan.skip_while(is_word).is_empty() && signs.len() == 1 {
        scan.advance(1);
    }
    scan.push_name(start);
}

/// Reads `'…'`, `"…"` and backticks.
fn quoted(scan: &mut Scan<'_>, quote: u8) {
    let start = scan.at;
    scan.advance(1);
    let parts = body(scan, quote, quote, quote != b'\'');
    let kind = if quote == b'`' { Quote::Command } else { Quote::Plain };
    // `"key": value`
    scan.push_text(parts, kind, start);
    if scan.peek() == Some(b':') && matches!(scan.peek_at(1), Some(b' ')) && quote != b'`' {
        let colon = scan.at;
        scan.advance(1);
        scan.push(Kind::Mark("=>"), colon);
    }
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
            Some(b'#') if interpolates && scan.peek_at(1) == Some(b'{') => {
                scan.advance(2);
                push_part(&mut parts, &mut text);
                let code = scan.at;
                parts.push(Part::Code(code, scan.skip_braces()));
            }
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

/// Reads `%w[…]`, `/…/`, `?x`, `:symbol`; reports whether it was one.
fn literal(scan: &mut Scan<'_>, byte: u8) -> bool {
    let start = scan.at;
    match byte {
        b':' if scan.peek_at(1) == Some(b'"') => {
            scan.advance(2);
            let parts = body(scan, b'"', b'"', true);
            scan.push_text(parts, Quote::Plain, start);
        }
        b':' if scan.peek_at(1).is_some_and(is_word) && scan.before() != Some(b':') => {
            scan.advance(1);
            let name = scan.skip_while(|byte| is_word(byte) || b"?!=".contains(&byte));
            scan.push_text(vec![Part::Text(name.to_owned())], Quote::Plain, start);
        }
        b'/' if operand_expected(scan) => {
            scan.advance(1);
            body(scan, b'/', b'/', true);
            scan.skip_while(|byte| byte.is_ascii_alphabetic());
            scan.push_text(Vec::new(), Quote::Pattern, start);
        }
        b'?' if operand_expected(scan)
            && scan.peek_at(1).is_some_and(is_word)
            && !scan.peek_at(2).is_some_and(is_word) =>
        {
            scan.advance(1);
            let text = scan.take().map(String::from).unwrap_or_default();
            scan.push_text(vec![Part::Text(text)], Quote::Plain, start);
        }
        b'%' if operand_expected(scan) => return percent(scan),
        _ => return false,
    }
    true
}

/// Reads `%w[…]`, `%x{…}`, `%(…)`; reports whether it was one.
fn percent(scan: &mut Scan<'_>) -> bool {
    let start = scan.at;
    let (letter, open) = match (scan.peek_at(1), scan.peek_at(2)) {
        (Some(letter), Some(open)) if b"qQwWiIxrs".contains(&letter) => (letter, open),
        (Some(open), _) => (b'Q', open),
        _ => return false,
    };
    if open.is_ascii_alphanumeric() || open.is_ascii_whitespace() || open >= 0x80 || open == b'=' {
        return false;
    }
    scan.advance(if scan.peek_at(1) == Some(open) { 2 } else { 3 });
    let parts = body(scan, open, closing(open), b"QWIxr".contains(&letter));
    let quote = match letter {
        b'w' | b'W' | b'i' | b'I' => Quote::Words,
        b'x' => Quote::Command,
        b'r' => Quote::Pattern,
        _ => Quote::Plain,
    };
    scan.push_text(parts, quote, start);
    true
}

/// Reads `<<~END`, `<<-END`, `<<END`: a token now, its text when the line is over. `None` for
/// anything else.
fn here(scan: &mut Scan<'_>) -> Option<Here> {
    let rest = scan.rest().strip_prefix("<<")?;
    let marked = rest.strip_prefix(['~', '-']);
    let rest = marked.unwrap_or(rest);
    let quote = rest.chars().next().filter(|char| matches!(char, '"' | '\'' | '`'));
    let rest = quote.map_or(rest, |quote| rest.strip_prefix(quote).unwrap_or(rest));
    let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
    let end = rest.get(..length).filter(|end| !end.is_empty())?;
    let upper = end.chars().next().is_some_and(|char| char.is_ascii_uppercase() || char == '_');
    // `list <<VALUE` might be an append; here-documents follow an operator, a comma or a call.
    if quote.is_none() && !upper || (marked.is_none() && !operand_expected(scan)) {
        return None;
    }
    let start = scan.at;
    let skipped = 2 + usize::from(marked.is_some()) + usize::from(quote.is_some()) * 2 + length;
    scan.advance(skipped);
    let kind = if quote == Some('`') { Quote::Command } else { Quote::Plain };
    scan.push_text(Vec::new(), kind, start);
    Some(Here { end: end.to_owned(), raw: quote == Some('\''), token: scan.count() - 1 })
}

/// Reads the text of a here-document from the start of its first line.
fn here_text(scan: &mut Scan<'_>, here: &Here) {
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        let line_end = scan.rest().find('\n').unwrap_or(scan.rest().len());
        let line = scan.slice(scan.at, scan.at + line_end);
        if scan.is_done() {
            scan.mark_broken();
            break;
        }
        if line.trim() == here.end {
            scan.advance(line_end);
            break;
        }
        let stop = scan.at + line_end;
        while scan.at < stop {
            match scan.peek() {
                Some(b'#') if !here.raw && scan.peek_at(1) == Some(b'{') => {
                    scan.advance(2);
                    push_part(&mut parts, &mut text);
                    let code = scan.at;
                    parts.push(Part::Code(code, scan.skip_braces()));
                }
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
