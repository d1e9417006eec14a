//! Plausibility of a value in plain language.

use crate::redact::{
    fake::{is_blank, is_chosen, is_placeholder},
    plausible::{is_naming, is_term},
    text::Class,
    words::{is_in, words},
};

/// Reports whether somebody chose the value as a password; without a verb before it, it needs more
/// evidence.
pub(super) fn is_password(given: &str, alone: bool) -> bool {
    let core = given.trim_end_matches(['!', '?', '*']);
    let digit = core.bytes().any(|byte| byte.is_ascii_digit());
    let letter = core.bytes().any(|byte| byte.is_ascii_alphabetic());
    let inner = core.bytes().any(|byte| b"@#$%&+=^*!".contains(&byte));
    let least = if alone { 6 } else { 5 };
    let chosen = letter && (digit || inner) && is_chosen(core);
    (given.len() >= least)
        && ((chosen && (!alone || digit)) || (!alone && is_chain(core)))
        && !is_code(given)
        && !is_term(core)
        && !is_placeholder(core)
        && !is_naming(core)
}

/// Reports whether the value is words joined by dashes, as password generators do.
fn is_chain(core: &str) -> bool {
    let words: Vec<&str> = core.split('-').collect();
    words.len() >= 3
        && core.len() >= 16
        && words
            .iter()
            .all(|word| word.len() >= 4 && word.bytes().all(|byte| Class::LOWER.has(byte)))
}

/// Reports whether the value is a piece of a program, a path or an address.
fn is_code(given: &str) -> bool {
    given.contains(['(', ')', '{', '}', '[', ']', '<', '>', ';', '|', '\\'])
        || given.contains("://")
        || given.contains("::")
        || given.contains("==")
        || given.starts_with(['/', '.', '~', '-', '$', '%', '@', '#'])
        || given.bytes().filter(|byte| *byte == b'/').count() > 1
        || is_member(given)
        || is_version(given)
}

/// Matches `a.b2`, `1Password.app`: parts of a name with a dot between.
fn is_member(given: &str) -> bool {
    given.split_once('.').is_some_and(|(head, tail)| {
        !head.is_empty()
            && tail.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
            && given.bytes().all(|byte| Class::DOTTED.has(byte))
    })
}

fn is_version(given: &str) -> bool {
    let rest = given.trim_start_matches(['v', 'V']);
    rest.contains('.') && rest.split('.').all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reports whether the value is four to eight digits.
pub(super) fn is_pin(given: &str) -> bool {
    (4..=8).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reports whether the value is a code: digits, in one or two groups, or groups with digits in
/// them.
pub(super) fn is_code_number(given: &str, least: usize) -> bool {
    let bare = given.trim_end_matches('#');
    let bare = match bare.split_once('-') {
        Some((mark, rest))
            if mark.len() == 1
                && Class::UPPER.has(mark.as_bytes().first().copied().unwrap_or(0)) =>
        {
            rest
        }
        _ => bare,
    };
    let digits = bare.bytes().filter(u8::is_ascii_digit).count();
    let numeric = bare.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-'));
    if numeric {
        return (least..=8).contains(&digits) && bare.len() <= digits + 1;
    }
    least < 6
        && digits >= 2
        && (6..=40).contains(&bare.len())
        && bare.bytes().all(|byte| Class::ALNUM.has(byte) || byte == b'-')
        && bare.split('-').all(|group| group.len() >= 3)
        && !is_term(bare)
        && !is_blank(bare)
}

/// Reports whether the value is groups of capitals and digits, like a product key.
pub(super) fn is_grouped_key(given: &str) -> bool {
    let groups: Vec<&str> = given.split('-').collect();
    groups.len() >= 3
        && given.bytes().any(|byte| byte.is_ascii_digit())
        && groups.iter().all(|group| {
            (3..=8).contains(&group.len()) && group.bytes().all(|byte| Class::UPPER_NUM.has(byte))
        })
        && !is_placeholder(given)
}

words! {
    /// Words of sentences about passphrases, which do not occur in passphrases.
    TALK = "\
    a an and any are as at be by can cannot do enter for from has have if in is it may must no not of \
    on or please required see should that the this to used was when will with you your"
}

/// Reports whether the words are a passphrase: four or more of them, or three in quotes.
pub(super) fn is_passphrase(given: &str, quoted: bool) -> bool {
    let words: Vec<&str> = given.trim().split(' ').collect();
    (if quoted { 3 } else { 4 }..=24).contains(&words.len())
        && words.iter().all(|word| {
            (2..=12).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && !is_in(word, TALK)
        })
}
