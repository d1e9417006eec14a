//! The purpose of a tool, a skill or a named action, by the words of its name and description.
//!
//! Names are written by people who want to be understood, so the verb is reliable: `get_invoice`
//! reads, whatever an invoice is, `invoice_delete` does not. A name without a known verb is never
//! taken for harmless; a description may add what the name leaves open, and counts only as far as
//! it names a verb.

use std::borrow::Cow;

mod verb;
mod word;

pub(crate) use verb::Effect;
use verb::{Strength, verb};

/// The purpose of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its words have this effect.
    Known(Effect),
    /// None of its words is known.
    Unknown,
}

/// The number of words of one name or sentence that are examined.
const MOST_WORDS: usize = 24;

/// Verbs that are never nouns, so that at the end of a name they are its purpose.
const READS_LAST: [&str; 6] = ["describe", "fetch", "get", "read", "show", "view"];

/// Words that turn a name into a question.
const ASKS_FIRST: [&str; 6] = ["can", "does", "has", "is", "should", "was"];

/// Nouns that make the verb before them part of a subject: `get_delete_history`, `list_purge_jobs`.
/// Sorted; the nouns of [`verb::INFORMATION`] do the same.
const SUBJECTS: [&str; 24] = [
    "confirmation",
    "count",
    "counts",
    "eligibility",
    "flag",
    "impact",
    "job",
    "jobs",
    "marker",
    "markers",
    "operation",
    "operations",
    "options",
    "policies",
    "policy",
    "preview",
    "protection",
    "queue",
    "rate",
    "reason",
    "reasons",
    "request",
    "requests",
    "tasks",
];

/// Verbs that are never nouns, so that they are the purpose even at the end of a name that starts
/// with a word for reading: `compute_vm_create`. Sorted.
const ACTS_LAST: [&str; 39] = [
    "activate",
    "add",
    "append",
    "apply",
    "approve",
    "assign",
    "attach",
    "cancel",
    "close",
    "configure",
    "create",
    "deactivate",
    "deploy",
    "detach",
    "disable",
    "enable",
    "evict",
    "exec",
    "execute",
    "grant",
    "insert",
    "install",
    "invoke",
    "kill",
    "modify",
    "overwrite",
    "pay",
    "provision",
    "publish",
    "rename",
    "replace",
    "send",
    "submit",
    "subscribe",
    "suspend",
    "unlink",
    "upload",
    "upsert",
    "write",
];

/// Things that are looked up when they are resolved, unlike an issue or a thread.
const RESOLVED: [&str; 10] = [
    "address",
    "dependency",
    "domain",
    "id",
    "identifier",
    "ids",
    "name",
    "path",
    "url",
    "version",
];

/// First words of names that only say what would happen.
const REHEARSES: [&str; 4] = ["estimate", "preview", "rehearse", "simulate"];

/// Returns the purpose by the name; by the description where the name says nothing, or where the
/// description says that it destroys.
pub(crate) fn of(name: &str, description: Option<&str>) -> Purpose {
    let told = description.unwrap_or_default();
    match of_name(name) {
        Purpose::Unknown => of_description(told),
        Purpose::Known(effect) if effect < Effect::Destroy && says_it_destroys(told) => {
            Purpose::Known(Effect::Destroy)
        }
        known @ Purpose::Known(_) => known,
    }
}

/// Returns the purpose by the name alone.
pub(crate) fn of_name(name: &str) -> Purpose {
    let words = split(name);
    let verbs: Vec<_> = words.iter().map(|word| word::meaning(word)).collect();
    let joined = words.iter().any(|word| matches!(&**word, "and" | "or" | "then" | "upsert"));
    let leads = verbs.first().copied().flatten();
    if !joined && reads(&words, leads) {
        let worse = acts_anyway(&words);
        return Purpose::Known(worse.unwrap_or(Effect::Read));
    }
    let strong = verbs.iter().flatten().filter(|(_, strength)| *strength == Strength::Strong);
    if let Some((effect, _)) = strong.max_by_key(|(effect, _)| *effect) {
        let looks = words.iter().any(|word| word::is_adornment(word));
        let only_looks = looks && *effect == Effect::Destroy;
        return Purpose::Known(if only_looks { Effect::Write } else { *effect });
    }
    let informs = words.last().is_some_and(|word| is_information(word));
    match leads.or_else(|| verbs.iter().rev().flatten().next().copied()) {
        // `git_log` shows a log; `log` by itself writes one.
        Some((Effect::Write, _)) if informs && leads.is_none() => Purpose::Known(Effect::Read),
        Some((effect, _)) => Purpose::Known(effect),
        None if informs => Purpose::Known(Effect::Read),
        None => Purpose::Unknown,
    }
}

/// Reports whether the name has the form of one that reads: `get_run_details`, `config_manage_read`
/// as the half that reads, `can_send` as a question.
fn reads(words: &[Cow<'_, str>], leads: Option<(Effect, Strength)>) -> bool {
    let last = words.last().map_or("", |word| word);
    let first = words.first().map_or("", |word| word);
    leads == Some((Effect::Read, Strength::Strong))
        || READS_LAST.contains(&last)
        || ASKS_FIRST.contains(&first)
        || (first == "resolve" && RESOLVED.contains(&last))
}

/// Returns the effect of a name that has the form of one that reads but acts all the same:
/// `compute_vm_delete`, `query_drop_table`.
fn acts_anyway(words: &[Cow<'_, str>]) -> Option<Effect> {
    let last = words.last().map_or("", |word| word);
    let asks = words
        .first()
        .is_some_and(|word| ASKS_FIRST.contains(&&**word) || REHEARSES.contains(&&**word));
    let subject = is_information(last) || SUBJECTS.binary_search(&last).is_ok();
    if asks || subject {
        return None;
    }
    if words.iter().skip(1).any(|word| word::only_destroys(word)) {
        return Some(Effect::Destroy);
    }
    let acts = words.len() > 1 && ACTS_LAST.binary_search(&last).is_ok();
    acts.then(|| verb(last)).flatten().map(|(effect, _)| effect)
}

fn is_information(word: &str) -> bool {
    verb::INFORMATION.binary_search(&word).is_ok()
}

/// Returns the purpose by the first words of a description: "Lists the…", "This tool will fetch…".
fn of_description(description: &str) -> Purpose {
    let sentence = description.split(['.', '\n', ';', ':']).find(|part| !part.trim().is_empty());
    let words = split(sentence.unwrap_or_default());
    let effects = words.iter().enumerate().filter_map(|(at, word)| {
        // "questions about integrating": the subject of what is asked.
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        if word.ends_with("ing") && before.is_some_and(|before| before == "about") {
            return None;
        }
        let (effect, strength) = verb(word).or_else(|| verb(&base(word)))?;
        (strength == Strength::Strong).then_some(effect)
    });
    // One verb of many may be the harmful one: "Find and delete…".
    effects.max().map_or(Purpose::Unknown, Purpose::Known)
}

/// The length of a description that is searched for a verb which the name does not have.
const MOST_DESCRIBED: usize = 2_000;

/// Reports whether a sentence says that the tool destroys something: "deletes", in the third
/// person, or "Delete" at its start. "To delete, use…" and "does not delete" do not.
fn says_it_destroys(description: &str) -> bool {
    const TURNS: [&str; 16] = [
        "before", "cannot", "doesn", "if", "instead", "it", "never", "no", "not", "nothing",
        "that", "user", "what", "when", "which", "without",
    ];
    let short = description.get(..description.floor_char_boundary(MOST_DESCRIBED));
    short.unwrap_or_default().split(['.', '\n', ';', ':', '!', '?']).any(|sentence| {
        let words = split(sentence);
        words.iter().enumerate().any(|(at, word)| {
            let before = at.checked_sub(1).and_then(|at| words.get(at)).map_or("", |word| word);
            let third = word.strip_suffix('s').is_some_and(word::only_destroys);
            let ordered = word::only_destroys(word)
                && (at == 0 || matches!(before, "and" | "then" | "permanently" | "will"));
            let turned = words.iter().take(at).any(|word| TURNS.contains(&&**word));
            (third || ordered) && !turned
        })
    })
}

/// Removes the ending of `deletes`, `deleting`, `copies`.
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

/// Splits a name in any spelling into words: `deleteAccount`, `delete_account`, `DELETE-ACCOUNT`,
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

/// Returns the end of the first word of a camel-case part.
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
            "git_log",
            "describe_instances",
            "list_purge_jobs",
            "search_issues",
            "get_delete_protection",
            "resolve-library-id",
            "preview_deploy",
        ] {
            assert_eq!(of_name(name), Purpose::Known(Effect::Read), "{name}");
        }
    }

    #[test]
    fn a_name_that_changes_or_destroys_says_so() {
        for (name, effect) in [
            ("create_issue", Effect::Write),
            ("resolve_issue", Effect::Write),
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
            ("compute_vm_delete", Effect::Destroy),
            ("query_drop_table", Effect::Destroy),
            ("computeVmDelete", Effect::Destroy),
            ("compute-vm-create", Effect::Write),
            ("userdel", Effect::Destroy),
            ("account_deletion", Effect::Destroy),
            ("remove-border", Effect::Write),
            ("monitor_alert_send", Effect::Send),
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
        let hidden = "Shows the cache. Also deletes what it shows.";
        assert_eq!(of("get_cache", Some(hidden)), Purpose::Known(Effect::Destroy));
        for harmless in [
            "Gets a branch. Does not delete it.",
            "Gets a branch. To delete one, use delete_branch.",
            "Lists branches that were deleted.",
        ] {
            assert_eq!(of("get_branch", Some(harmless)), Purpose::Known(Effect::Read));
        }
        // The later text is for the model, not for us.
        assert_eq!(of("delete_things", Some("Lists things.")), Purpose::Known(Effect::Destroy));
    }
}
