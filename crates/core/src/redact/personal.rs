//! Personal data: cards, accounts, national identifiers, contact data, wallets.
//!
//! Digits prove little, so each scheme declares the additional evidence it needs: a checksum and a
//! form that nothing else has; a value that is alone, as in a field of a form; or a word nearby
//! that names it.

mod account;
mod card;
mod check;
mod contact;
mod country;
mod scheme;
mod valid;
mod wallet;

use super::{
    Hits,
    text::{Class, Text},
};

/// Finds all personal data.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    let setting = Setting::of(text);
    contact::find(text, setting, hits);
    wallet::find(text, setting, hits);
    let mut index = 0;
    while index < text.len() {
        let byte = text.at(index);
        if !byte.is_ascii_alphanumeric() || Class::WORD.has(text.before(index)) {
            index += 1;
            continue;
        }
        let end = text.run(index, Class::WORD);
        if is_numeric(text, index) {
            card::find(text, index, setting, hits);
            account::find(text, index, setting, hits);
            scheme::find(text, index, setting, hits);
        }
        index = end;
    }
}

/// Reports whether a number, or letters that lead one, could start there.
fn is_numeric(text: Text<'_>, start: usize) -> bool {
    let letters = text.run_within(start, Class::ALPHA, 7);
    letters - start < 7
        && (Class::DIGIT.has(text.at(letters))
            || (letters - start <= 6 && Class::DIGIT.has(text.at(letters + 1))))
}

/// The surroundings of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// The text is the value, or a few of them.
    Alone,
    /// The value is among other words.
    Amid,
}

impl Setting {
    fn of(text: Text<'_>) -> Self {
        let short = text.len() <= 120;
        let mut words = 0;
        let alone = short
            && text.0.split_whitespace().all(|word| {
                words += 1;
                let link = matches!(word, "and" | "or" | "&" | "," | "und" | "et" | "y");
                link || word.bytes().any(|byte| byte.is_ascii_digit())
                    && !word.contains(['=', '"', '/', '@', '\\', '(', '{'])
            });
        if alone && words <= 8 { Self::Alone } else { Self::Amid }
    }
}

/// The distance before a value within which a word may name it, and the distance after.
const BEFORE: usize = 64;
const AFTER: usize = 24;

/// Reports whether one of the words is near the value.
fn is_told(text: Text<'_>, start: usize, end: usize, words: &[&str]) -> bool {
    let bytes = text.0.as_bytes();
    let from = start.saturating_sub(BEFORE);
    let to = end.saturating_add(AFTER).min(bytes.len());
    let near = [bytes.get(from..start).unwrap_or(&[]), bytes.get(end..to).unwrap_or(&[])];
    words.iter().any(|word| near.iter().any(|near| stands_in(near, word.as_bytes())))
}

/// Reports whether the bytes contain the word; a short one must not be part of a longer.
fn stands_in(bytes: &[u8], word: &[u8]) -> bool {
    let joins =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    bytes.windows(word.len().max(1)).enumerate().any(|(at, window)| {
        window.eq_ignore_ascii_case(word)
            && (word.len() > 5
                || !(joins(bytes.get(at + word.len()))
                    || joins(at.checked_sub(1).and_then(|at| bytes.get(at)))))
    })
}
