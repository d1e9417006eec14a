//! National identifiers: one row per form, with the evidence needed to believe it.

use super::{
    super::{
        Hits,
        text::{Class, Text},
    },
    Setting,
    country::SCHEMES,
    is_told,
};

/// One form of identifier.
#[derive(Debug)]
pub(super) struct Scheme {
    pub(super) kind: &'static str,
    /// `9` is a digit, `A` a letter, `X` either, `_` a space, a mark or nothing, the same mark
    /// throughout; `!` is the mark of a Finnish century; anything else is itself.
    pub(super) shape: &'static str,
    pub(super) trust: Trust,
    /// Takes the letters, in capitals, and the digits.
    pub(super) check: fn(&[u8]) -> bool,
    /// Words that name the number.
    pub(super) words: &'static [&'static str],
}

/// The evidence needed to believe a form whose check holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing more.
    Sure,
    /// It is alone, or a word names it.
    Alone,
    /// A word names it.
    Told,
}

/// Masks the identifier that starts there.
pub(super) fn find(text: Text<'_>, start: usize, setting: Setting, hits: &mut Hits) {
    // Every shape is at least this long.
    let long = (0..8).all(|step| {
        let byte = text.at(start + step);
        Class::NAME.has(byte) || matches!(byte, b' ' | b'/' | b':' | b'+' | b'(')
    });
    if !long || is_continued(text, start) {
        return;
    }
    let first = text.at(start);
    for scheme in SCHEMES {
        if !starts(scheme.shape, first) {
            continue;
        }
        let Some(read) = read(text, start, scheme.shape) else { continue };
        if !(scheme.check)(&read.compact) {
            continue;
        }
        let believed = match scheme.trust {
            // In small letters it may also be part of a digest.
            Trust::Sure => {
                read.capital
                    || setting == Setting::Alone
                    || is_told(text, start, read.end, scheme.words)
            }
            Trust::Alone => {
                setting == Setting::Alone || is_told(text, start, read.end, scheme.words)
            }
            Trust::Told => is_told(text, start, read.end, scheme.words),
        };
        if believed {
            hits.personal(scheme.kind, start, read.end);
            return;
        }
    }
}

/// Reports whether the shape could start with that byte.
fn starts(shape: &str, byte: u8) -> bool {
    match shape.as_bytes().first() {
        Some(b'9') => byte.is_ascii_digit(),
        Some(b'A') => byte.is_ascii_alphabetic(),
        Some(b'X') => byte.is_ascii_alphanumeric(),
        _ => shape.as_bytes().first() == Some(&byte),
    }
}

/// Reports whether digits before this position belong to the same number.
fn is_continued(text: Text<'_>, start: usize) -> bool {
    let digit_before = start.checked_sub(2).is_some_and(|second| text.at(second).is_ascii_digit());
    digit_before && matches!(text.before(start), b'-' | b'.' | b'/' | b':' | b',' | b'+')
}

struct Read {
    end: usize,
    compact: Vec<u8>,
    /// True when it is without small letters.
    capital: bool,
}

/// Reads a value of that shape, if nothing before or after belongs to it.
fn read(text: Text<'_>, start: usize, shape: &str) -> Option<Read> {
    let mut compact = Vec::with_capacity(shape.len());
    let mut at = start;
    let mut mark = 0;
    for wanted in shape.bytes() {
        let byte = text.at(at);
        let fits = match wanted {
            b'9' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_alphabetic(),
            b'X' => byte.is_ascii_alphanumeric(),
            b'!' => matches!(byte.to_ascii_uppercase(), b'-' | b'+' | b'A'..=b'F' | b'U'..=b'Y'),
            b'_' => {
                if matches!(byte, b' ' | b'-' | b'.' | b':') {
                    if mark != 0 && mark != byte {
                        return None;
                    }
                    mark = byte;
                    at += 1;
                }
                continue;
            }
            literal => byte == literal,
        };
        if !fits {
            return None;
        }
        if byte.is_ascii_alphanumeric() || wanted == b'!' {
            compact.push(byte.to_ascii_uppercase());
        }
        at += 1;
    }
    let capital = mark != 0 || text.cut(start, at).bytes().all(|byte| !byte.is_ascii_lowercase());
    (!goes_on(text, start, at, mark)).then_some(Read { end: at, compact, capital })
}

/// Reports whether the number goes on beyond the part that was read.
fn goes_on(text: Text<'_>, start: usize, end: usize, mark: u8) -> bool {
    let next = text.at(end);
    let after = text.at(end + 1);
    let spaced = mark == b' '
        && ((next == b' ' && after.is_ascii_digit())
            || (text.before(start) == b' '
                && start.checked_sub(2).is_some_and(|second| text.at(second).is_ascii_digit())));
    Class::WORD.has(next)
        || (matches!(next, b'.' | b':' | b'/' | b',' | b'+') && after.is_ascii_digit())
        || (next == b'-' && after.is_ascii_alphanumeric())
        || spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_must_be_the_same_throughout() {
        for source in ["219-09-1234", "219 09 1234", "219091234", "219-091234"] {
            assert!(read(Text(source), 0, "999_99_9999").is_some(), "{source}");
        }
        for source in ["219-09.1234", "219-09-12345", "219-09-1234-5", "219\n09 1234"] {
            assert!(read(Text(source), 0, "999_99_9999").is_none(), "{source}");
        }
    }

    #[test]
    fn every_scheme_has_a_word_unless_it_is_sure() {
        for scheme in SCHEMES {
            assert!(scheme.trust != Trust::Told || !scheme.words.is_empty(), "{}", scheme.kind);
        }
    }
}
