//! What a tool, a skill or a named action is for, by the words of its name and description.
//!
//! Names are written by people who want to be understood, so the verb tells: `get_invoice` reads
//! whatever an invoice is, `invoice_delete` does not. A name that says nothing is never taken for
//! harmless; a description may say what the name leaves open, and is believed only as far as it
//! names a verb.

use std::borrow::Cow;

mod verb;

pub(crate) use verb::Effect;
use verb::{Strength, verb};

/// What a name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its words say this.
    Known(Effect),
    /// Its words say nothing we know.
    Unknown,
}

/// Words of one name or sentence that are looked at.
const MOST_WORDS: usize = 24;

/// Verbs that are never nouns, so that at the end of a name they are what it does.
const READS_LAST: [&str; 6] = ["describe", "fetch", "get", "read", "show", "view"];

/// Words that make a question of a name.
const ASKS_FIRST: [&str; 6] = ["can", "does", "has", "is", "should", "was"];

/// What something with this name, described like this, is for.
pub(crate) fn of(name: &str, description: Option<&str>) -> Purpose {
    match of_name(name) {
        Purpose::Unknown => description.map_or(Purpose::Unknown, of_description),
        known @ Purpose::Known(_) => known,
    }
}

/// What the name alone says.
pub(crate) fn of_name(name: &str) -> Purpose {
    let words = split(name);
    let verbs: Vec<_> = words.iter().map(|word| verb(word)).collect();
    let joined = words.iter().any(|word| matches!(&**word, "and" | "or" | "then" | "upsert"));
    let strong = || verbs.iter().flatten().filter(|(_, strength)| *strength == Strength::Strong);
    // `get_run_details` and `read_write_log` read; `get_or_create` does more.
    let leads = verbs.first().copied().flatten();
    if let Some((Effect::Read, Strength::Strong)) = leads
        && !joined
    {
        return Purpose::Known(Effect::Read);
    }
    // `config_manage_read` is the half that reads; `can_send` is a question.
    let last = words.last().map_or("", |word| word);
    let first = words.first().map_or("", |word| word);
    if !joined && (READS_LAST.contains(&last) || ASKS_FIRST.contains(&first)) {
        return Purpose::Known(Effect::Read);
    }
    if let Some((effect, _)) = strong().max_by_key(|(effect, _)| *effect) {
        return Purpose::Known(*effect);
    }
    if let Some((effect, _)) = leads.or_else(|| verbs.iter().rev().flatten().next().copied()) {
        return Purpose::Known(effect);
    }
    let informs =
        words.last().is_some_and(|word| verb::INFORMATION.binary_search(&&**word).is_ok());
    if informs { Purpose::Known(Effect::Read) } else { Purpose::Unknown }
}

/// What the first words of a description say: "Lists the…", "This tool will fetch…".
fn of_description(description: &str) -> Purpose {
    let sentence = description.split(['.', '\n', ';', ':']).find(|part| !part.trim().is_empty());
    let words = split(sentence.unwrap_or_default());
    let effects = words.iter().filter_map(|word| {
        let (effect, strength) = verb(word).or_else(|| verb(&base(word)))?;
        (strength == Strength::Strong).then_some(effect)
    });
    // One verb of many may be the harmful one: "Find and delete…".
    effects.max().map_or(Purpose::Unknown, Purpose::Known)
}

/// `deletes`, `deleting`, `copies` without their endings.
fn base(word: &str) -> Cow<'_, str> {
    if let Some(stem) = word.strip_suffix("ies") {
        return Cow::Owned(format!("{stem}y"));
    }
    if let Some(stem) = word.strip_suffix("ing") {
        let with_e = format!("{stem}e");
        return if verb(&with_e).is_some() { Cow::Owned(with_e) } else { Cow::Borrowed(stem) };
    }
    let without_es = word.strip_suffix("es").filter(|stem| verb(stem).is_some());
    Cow::Borrowed(without_es.or_else(|| word.strip_suffix('s')).unwrap_or(word))
}

/// The words of a name in any spelling: `deleteAccount`, `delete_account`, `DELETE-ACCOUNT`,
/// `HTTPServer` as `http server`.
pub(crate) fn split(name: &str) -> Vec<Cow<'_, str>> {
    let mut words = Vec::new();
    for part in name.split(|char: char| !char.is_alphanumeric()) {
        let mut rest = part;
        while !rest.is_empty() && words.len() < MOST_WORDS {
            let (word, after) = rest.split_at(boundary(rest));
            let plain = word.chars().all(|char| char.is_lowercase() || char.is_numeric());
            words.push(if plain { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) });
            rest = after;
        }
    }
    words
}

/// Where the first word of a camel-case part ends.
fn boundary(part: &str) -> usize {
    let mut chars = part.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if let Some(before) = before
            && char.is_uppercase()
            && (!before.is_uppercase() || next.is_some_and(char::is_lowercase))
        {
            return at;
        }
        before = Some(char);
    }
    part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_however_they_are_spelt() {
        for name in ["deleteAccount", "delete_account", "DELETE-ACCOUNT", "Delete Account"] {
            assert_eq!(split(name), ["delete", "account"], "{name}");
        }
        assert_eq!(split("getHTTPServer2Log"), ["get", "http", "server2", "log"]);
        assert_eq!(split(""), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_reads_is_for_reading() {
        for name in [
            "get_user",
            "listInvoices",
            "invoice_list",
            "get_apply_logs",
            "get_delete_history",
            "searchDeletedItems",
            "whoami",
            "db-stats",
            "order_read",
            "repo_manage_read",
            "can_send_mms",
        ] {
            assert_eq!(of_name(name), Purpose::Known(Effect::Read), "{name}");
        }
    }

    #[test]
    fn a_name_that_changes_or_destroys_says_so() {
        for (name, effect) in [
            ("create_issue", Effect::Write),
            ("issue_update", Effect::Write),
            ("get_or_create_user", Effect::Write),
            ("create_access_list", Effect::Write),
            ("stop_search", Effect::Write),
            ("open_pull_request", Effect::Write),
            ("find_and_delete", Effect::Destroy),
            ("pods_delete", Effect::Destroy),
            ("sendMessage", Effect::Send),
            ("transfer_funds", Effect::Pay),
            ("execute_command", Effect::Execute),
        ] {
            assert_eq!(of_name(name), Purpose::Known(effect), "{name}");
        }
    }

    #[test]
    fn a_name_without_a_verb_leaves_it_to_the_description() {
        assert_eq!(of("frobnicate", None), Purpose::Unknown);
        assert_eq!(of("frobnicate", Some("Does a thing.")), Purpose::Unknown);
        assert_eq!(of("things", Some("Lists the things.")), Purpose::Known(Effect::Read));
        assert_eq!(
            of("things", Some("Finds things and deletes them.")),
            Purpose::Known(Effect::Destroy)
        );
        // What it says later is for the model, not for us.
        assert_eq!(of("delete_things", Some("Lists things.")), Purpose::Known(Effect::Destroy));
    }
}
