//! `echo` and `printf`, as in bash. Output that is not exactly the same here is unknown.

use std::iter::Peekable;
use std::str::Chars;

use super::super::arguments::Arguments;
use super::super::expand::taint_of;
use super::super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Tag, Tags};

/// The length of output past which `printf` is not followed.
const MOST_PRINTED: usize = 1024 * 1024;

/// The context of an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analyze::shell) enum Escapes {
    /// The format of `printf`: `\101`.
    Format,
    /// `%b`: `\101` and `\0101`.
    Directive,
    /// `echo -e`: `\0101`.
    Echo,
    /// `$'…'`: `\101`.
    Quoted,
}

pub(super) fn echo(args: &Arguments<'_>) -> Stream {
    let mut words = args.words();
    let (mut escapes, mut newline) = (false, true);
    while let [first, rest @ ..] = words
        && let Some(letters) = first.text.strip_prefix('-')
        && !letters.is_empty()
        && letters.chars().all(|letter| "neE".contains(letter))
    {
        for letter in letters.chars() {
            match letter {
                'n' => newline = false,
                other => escapes = other == 'e',
            }
        }
        words = rest;
    }
    let mut taint = taint_of(words);
    let text = words.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let text = if escapes { unescape(&text, Escapes::Echo) } else { Some(text) };
    let Some(mut text) = text else { return Stream::unknown(taint.with(Tag::Unknown)) };
    if text.contains(UNKNOWN) {
        taint = taint.with(Tag::Unknown);
    }
    if newline {
        text.push('\n');
    }
    Stream::known(text, taint)
}

/// Evaluates `printf` with its usual directives and escapes.
pub(in crate::analyze::shell) fn printf(words: &[Arg], taint: Tags) -> Stream {
    let words = match words {
        [first, rest @ ..] if first.text == "--" => rest,
        [first, ..] if first.text.starts_with('-') && first.text != "-v" => {
            return Stream::unknown(taint.with(Tag::Unknown));
        }
        words => words,
    };
    let Some((format, values)) = words.split_first() else { return Stream::empty() };
    if format.text == "-v" {
        return Stream::empty();
    }
    printed(&format.text, values).map_or_else(
        || Stream::unknown(taint.with(Tag::Unknown)),
        |text| Stream::known(text, taint),
    )
}

fn printed(format: &str, values: &[Arg]) -> Option<String> {
    let mut values = values.iter();
    let mut text = String::new();
    // The format is reused for the remaining words.
    loop {
        let before = values.len();
        let mut chars = format.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                // Parsed before the escapes: an escaped percent sign is literal.
                '%' => text.push_str(&directive(&mut chars, &mut values)?),
                '\\' => escape(&mut chars, Escapes::Format, &mut text)?,
                char => text.push(char),
            }
        }
        if text.len() > MOST_PRINTED {
            return None;
        }
        if values.len() == 0 || values.len() == before {
            return Some(text);
        }
    }
}

/// Evaluates one directive of `printf`, after its percent sign.
fn directive<'a>(
    format: &mut Peekable<Chars<'_>>,
    values: &mut impl Iterator<Item = &'a Arg>,
) -> Option<String> {
    let mut spec = String::new();
    let kind = loop {
        match format.next()? {
            char if char.is_ascii_digit() || "-.".contains(char) => spec.push(char),
            char => break char,
        }
    };
    if kind == '%' {
        return spec.is_empty().then(|| "%".to_owned());
    }
    let value = values.next().map_or("", |arg| arg.text.as_str());
    let (width, most) = spec.split_once('.').map_or((spec.as_str(), None), |(width, most)| {
        (width, Some(most.parse::<usize>().unwrap_or_default()))
    });
    let to_left = width.contains('-');
    let width = width.trim_start_matches(['-', '0']);
    let width = if width.is_empty() { 0 } else { width.parse::<usize>().ok()? };
    let is_word = |char: char| char.is_ascii_alphanumeric() || "_./-".contains(char);
    let piece = match kind {
        'b' => unescape(value, Escapes::Directive)?,
        's' => value.to_owned(),
        'd' | 'i' | 'u' if spec.is_empty() => value.parse::<u64>().ok()?.to_string(),
        'q' if !value.is_empty() && value.chars().all(is_word) => value.to_owned(),
        'c' if value.is_ascii() => value.chars().take(1).collect(),
        _ => return None,
    };
    // Widths count bytes in some versions, and characters in others.
    if !spec.is_empty() && !piece.is_ascii() {
        return None;
    }
    let piece: String = piece.chars().take(most.unwrap_or(usize::MAX)).collect();
    let room = width.saturating_sub(piece.len());
    let space = (room <= MOST_PRINTED).then(|| " ".repeat(room))?;
    Some(if to_left { piece + &space } else { space + &piece })
}

/// Decodes the escapes of a text: `
/// `, `\x72`, `\162`, `\u0072`.
pub(in crate::analyze::shell) fn unescape(text: &str, place: Escapes) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => escape(&mut chars, place, &mut out)?,
            char => out.push(char),
        }
    }
    Some(out)
}

/// Appends the character of an escape; `None` where it is not text.
fn escape(chars: &mut Peekable<Chars<'_>>, place: Escapes, out: &mut String) -> Option<()> {
    let Some(next) = chars.next() else {
        out.push('\\');
        return Some(());
    };
    match next {
        'n' => out.push('\n'),
        't' => out.push('\t'),
        'r' => out.push('\r'),
        'a' => out.push('\u{7}'),
        'b' => out.push('\u{8}'),
        'e' | 'E' => out.push('\u{1b}'),
        'f' => out.push('\u{c}'),
        'v' => out.push('\u{b}'),
        '\\' => out.push('\\'),
        // Ends the output, or makes a control character.
        'c' if place != Escapes::Format => return None,
        '"' if place != Escapes::Echo && place != Escapes::Directive => out.push('"'),
        '\'' | '?' if matches!(place, Escapes::Quoted) => out.push(next),
        '?' if place == Escapes::Format => out.push('?'),
        'x' | 'u' | 'U' => {
            let most = match next {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            match digits(chars, 16, most) {
                Some(value) => out.push(by_number(value, next != 'x', place)?),
                None => out.extend(['\\', next]),
            }
        }
        '0'..='7' if place != Escapes::Echo || next == '0' => {
            let first = next.to_digit(8)?;
            let has_zero = next == '0' && matches!(place, Escapes::Echo | Escapes::Directive);
            let most = if has_zero { 3 } else { 2 };
            let mut value = first;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|char| char.to_digit(8)) else { break };
                value = value * 8 + digit;
                chars.next();
            }
            out.push(by_number(value, false, place)?);
        }
        other => out.extend(['\\', other]),
    }
    Some(())
}

/// Returns a character by its number. A byte that is not a character by itself is unknown here, and
/// a NUL between quotes ends the text.
fn by_number(value: u32, is_character: bool, place: Escapes) -> Option<char> {
    let is_told = |char: &char| {
        (is_character || char.is_ascii()) && (*char != '\0' || place != Escapes::Quoted)
    };
    char::from_u32(value).filter(is_told)
}

fn digits(chars: &mut Peekable<Chars<'_>>, base: u32, most: usize) -> Option<u32> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|char| char.to_digit(base)) else { break };
        value = Some(value.unwrap_or(0_u32).saturating_mul(base).saturating_add(digit));
        chars.next();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_depend_on_their_place() {
        assert_eq!(unescape(r"\x72\155", Escapes::Format).unwrap(), "rm");
        assert_eq!(unescape(r"\162\0155", Escapes::Directive).unwrap(), "rm");
        assert_eq!(unescape(r"\162\0155", Escapes::Echo).unwrap(), r"\162m");
        assert_eq!(unescape(r"\z", Escapes::Format).unwrap(), r"\z");
        assert_eq!(unescape(r"a\c", Escapes::Echo), None);
    }

    #[test]
    fn a_format_is_used_until_no_word_is_left() {
        let words = |line: &str| line.split(' ').map(Arg::literal).collect::<Vec<_>>();
        assert_eq!(printf(&words("-- %s. a b"), Tags::NONE).text.unwrap(), "a.b.");
        assert_eq!(printf(&words("%3s|%-3s| a b"), Tags::NONE).text.unwrap(), "  a|b  |");
        assert_eq!(printf(&words("%x 12"), Tags::NONE).text, None);
    }
}
