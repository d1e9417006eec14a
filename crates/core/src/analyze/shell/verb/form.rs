//! One word of a command line, split into its verb and its object.

use crate::words::{self, has};

/// The effect of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Something is destroyed.
    Destroys,
    /// Something stops, is switched off or is reset.
    Interrupts,
}

/// The context of a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// True when a noun precedes it.
    pub(super) before: bool,
    /// True when another word follows.
    pub(super) after: bool,
    /// True when an option means everything.
    pub(super) sweeping: bool,
}

/// Returns the verb in a word, if it means something here.
pub(super) fn verb(word: &str, object: Object) -> Option<Verb> {
    let parts = parts(word);
    let first = parts.first()?.as_str();
    let lower = word.to_ascii_lowercase();
    if parts.len() > 1 && (has(words::VERBS_LOOK, first) || has(words::VERBS_DENY, first)) {
        return None;
    }
    let holds = |list: &[&str]| has(list, &lower) || parts.iter().any(|part| has(list, part));
    let alone = parts.len() == 1;
    if holds(words::VERBS_DESTROY) || is_glued(&lower) {
        return Some(Verb::Destroys);
    }
    if holds(words::VERBS_DESTROY_SOFT)
        && (!alone || object.after && object.before || object.sweeping && object.before)
    {
        return Some(Verb::Destroys);
    }
    let switched = (object.before || !alone) && has(words::VERBS_SWITCH_OFF, first);
    // `pg:killall`: the noun is before the colon.
    let of_noun =
        lower.contains(':') && parts.last().is_some_and(|last| has(words::VERBS_INTERRUPT, last));
    let meant = object.after || object.sweeping || switched || of_noun;
    (holds(words::VERBS_INTERRUPT) && meant).then_some(Verb::Interrupts)
}

/// Reports whether a word is a verb and a noun written together: `deletetable`, `rmpool`,
/// `userdel`.
fn is_glued(word: &str) -> bool {
    const BEFORE: &[&str] = &[
        "delete", "destroy", "remove", "erase", "wipe", "purge", "drop", "truncate", "rm", "del",
        "clear",
    ];
    const AFTER: &[&str] =
        &["delete", "destroy", "remove", "erase", "wipe", "purge", "drop", "rm", "del"];
    let thing = |rest: Option<&str>| rest.is_some_and(|rest| has(words::VERBS_OBJECTS, rest));
    BEFORE.iter().any(|verb| thing(word.strip_prefix(verb)))
        || AFTER.iter().any(|verb| thing(word.strip_suffix(verb)))
}

/// Reports whether an option of this name destroys something.
pub(super) fn option_destroys(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if !is_command_word(&lower) {
        return false;
    }
    if has(words::VERBS_CONSENTS, &lower) {
        return true;
    }
    let parts: Vec<_> = lower.split(['-', '_']).collect();
    let Some((first, rest)) = parts.split_first() else { return false };
    let trifling = rest.iter().any(|part| has(words::VERBS_TRIFLES, part));
    match *first {
        // The thing that is removed or dropped may be only part of a text.
        "remove" | "drop" | "del" => {
            rest.is_empty() && *first != "drop"
                || rest.iter().any(|part| has(words::VERBS_OBJECTS, part)) && !trifling
        }
        verb => {
            (has(words::VERBS_OPTION_VERBS, verb) && !trifling)
                || (rest.is_empty() && (is_glued(verb) || is_longer_than(verb, "deleted")))
        }
    }
}

/// Reports whether a word continues after `delete`: `-deleteduplicates`.
fn is_longer_than(verb: &str, word: &str) -> bool {
    verb.starts_with("delete") && verb.len() > word.len()
}

/// Splits a word into lower-case parts: at `-`, `_`, `:`, `.`, `/` and between a small letter and a
/// capital.
pub(in crate::analyze::shell) fn parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut small = false;
    for char in word.chars() {
        let separates = "-_:./".contains(char);
        if (separates || small && char.is_ascii_uppercase()) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if !separates {
            part.push(char.to_ascii_lowercase());
        }
        small = char.is_ascii_lowercase();
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Reports whether a word can be a subcommand: letters, digits, `-`, `_`, `:`.
pub(in crate::analyze::shell) fn is_command_word(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 48
        && word.chars().all(|char| char.is_ascii_alphanumeric() || "-_:".contains(char))
}

/// Reports whether a word is a noun and a verb that cannot be a file name: `vm.destroy`,
/// `vmsvc/destroy`.
pub(super) fn is_dotted(word: &str) -> bool {
    word.split_once(['.', '/']).is_some_and(|(noun, verb)| {
        let letters = |part: &str| {
            !part.is_empty() && part.chars().all(|char| char.is_ascii_lowercase() || char == '_')
        };
        let known = has(words::VERBS_DESTROY, verb) || has(words::VERBS_INTERRUPT, verb);
        letters(noun) && letters(verb) && known
    })
}
