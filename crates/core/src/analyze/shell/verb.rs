//! Verbs that destroy, in the mouth of a program nobody has met.
//!
//! `delete`, `destroy`, `drop` mean the same in every command line tool, so a tool that is not in
//! the catalogue is understood by them: as a subcommand, as an option, or in its own name.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Program;
use crate::fact::{Fact, FactKind};
use crate::verdict::Span;

/// Words that destroy wherever they are the verb.
const VERBS: &[&str] = &[
    "delete",
    "del",
    "destroy",
    "remove",
    "rm",
    "rmi",
    "erase",
    "wipe",
    "purge",
    "drop",
    "prune",
    "teardown",
    "undeploy",
    "unlink",
    "obliterate",
    "nuke",
    "shred",
    "truncate",
    "flush",
    "flushall",
    "flushdb",
    "deregister",
    "unregister",
    "uninstall",
    "undefine",
    "zap",
    "rrdelete",
    "rmtree",
    "rmdir",
    "rb",
    "delsnapshot",
    "deleteall",
    "removeall",
    "dropdb",
    "drop-table",
    "drop-database",
    "trash",
    "expunge",
    "decommission",
    "deprovision",
    "factory-reset",
    "format",
    "rollback-all",
    "clear",
    "down",
    "luksformat",
    "revoke",
    "reset-hard",
    "disband",
    "deactivate-all",
];

/// Of these, words that also mean something harmless: only as the last word of the verb phrase
/// with an object, and never alone.
const SOFT: &[&str] =
    &["clear", "down", "format", "prune", "flush", "revoke", "uninstall", "trash"];

/// Options that destroy.
const OPTION_STARTS: &[&str] = &[
    "delete",
    "remove",
    "destroy",
    "purge",
    "wipe",
    "erase",
    "del",
    "drop-",
    "shred",
    "nuke",
    "unregister",
    "zap",
];

/// Options that begin like these but do something else.
const HARMLESS_OPTIONS: &[&str] = &[
    "delimiter",
    "delay",
    "delta",
    "delegate",
    "remove-orphans",
    "delete-delay-x",
    "delayed",
    "remove-label",
    "remove-reviewer",
    "remove-assignee",
    "remove-source-branch-x",
    "delim",
    "delivery",
    "remove-duplicates",
    "remove-comments",
    "remove-ansi",
    "remove-background",
    "remove-unused-variables",
    "remove-all-unused-imports",
    "delete-conflicting-outputs",
    "remove-node",
    "remove-color",
    "remove-whitespace",
    "remove-empty",
    "remove-signature",
];

/// Options with which a tool only says what it would do.
const REHEARSALS: &[&str] =
    &["--dry-run", "--dryrun", "--dry_run", "--no-act", "--just-print", "--simulate"];

/// Whether only help, a version or a rehearsal is asked for. Words after `--` are operands, and of
/// two options that contradict each other the last one holds. Never so for what runs source text
/// or other commands: there an option may be theirs.
pub(super) fn asks_for_help(name: &str, program: Option<&Program>, args: &Arguments<'_>) -> bool {
    if program.is_some_and(|program| program.runs.is_some()) {
        return false;
    }
    let words = args.words();
    let only = |text: &str| matches!(words, [one] if one.text == text);
    let options = || args.options().map(|word| word.text.as_str());
    let is_a_tool = program.is_none_or(|program| program.does.is_empty());
    options().filter_map(rehearses).last() == Some(true)
        || words.windows(2).any(|pair| matches!(pair, [before, word]
            if is_help(&word.text) && !may_take_a_value(&before.text))
            && options().any(is_help))
        || words.first().is_some_and(|word| is_help(&word.text))
        || only("--version")
        || only("-h")
        || only("-V")
        || (is_a_tool && words.first().is_some_and(|word| word.text == "help"))
        // Of no other tool: `git push --force origin help` pushes a branch of that name.
        || (name == "aws" && words.last().is_some_and(|word| word.text == "help"))
}

fn is_help(option: &str) -> bool {
    matches!(option, "--help" | "-help")
}

/// Whether the next word may be the value of this one: of a short option nobody here knows.
fn may_take_a_value(word: &str) -> bool {
    word.len() == 2 && word.starts_with('-') && word != "--"
}

/// Whether an option says that this is a rehearsal, or that it is none.
fn rehearses(option: &str) -> Option<bool> {
    let (name, value) = option.split_once('=').unwrap_or((option, "true"));
    if REHEARSALS.contains(&name) {
        return Some(!matches!(value, "none" | "false" | "no" | "off" | "0" | ""));
    }
    let positive = name.strip_prefix("--no-").map(|name| format!("--{name}"));
    positive.filter(|name| REHEARSALS.contains(&name.as_str())).map(|_| false)
}

impl Walker<'_> {
    /// Notes a verb that destroys.
    pub(super) fn general_verbs(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let subject = Self::verb_among_operands(args)
            .or_else(|| option_that_destroys(args))
            .or_else(|| name_that_destroys(name, args));
        if let Some(verb) = subject {
            let subject = format!("{name} {verb}");
            self.note(Fact::new(FactKind::DestructiveVerb, subject).at(span));
        }
    }

    /// The verb is the first operand, or follows nouns: `velero backup delete`.
    fn verb_among_operands(args: &Arguments<'_>) -> Option<String> {
        for (at, operand) in args.operands().iter().take(5).enumerate() {
            let word = operand.text.as_str();
            if !is_command_word(word) {
                // A name or a path: nothing after it is a verb, unless options carried values.
                if word.contains(['/', ' ', '.', '\n'])
                    && !args.words().iter().any(|w| w.text.starts_with('-'))
                {
                    return None;
                }
                continue;
            }
            let lower = word.to_ascii_lowercase();
            let is_verb = lower.split([':', '-', '_']).enumerate().any(|(part_at, part)| {
                VERBS.contains(&part) && (part_at == 0 || lower.ends_with(part))
            }) || VERBS.contains(&lower.as_str());
            let soft = SOFT.contains(&lower.as_str());
            if is_verb && (!soft || at + 1 < args.operands().len() && at > 0) {
                return Some(word.to_owned());
            }
        }
        None
    }
}

/// Words for what must not be shown.
const SECRETS: &[&str] = &[
    "secret",
    "secrets",
    "token",
    "tokens",
    "password",
    "passwords",
    "passwd",
    "credential",
    "credentials",
    "apikey",
    "keychain",
    "kwallet",
    "kdewallet",
];

/// Words for showing something.
const SHOWS: &[&str] = &[
    "get", "show", "export", "read", "lookup", "download", "print", "dump", "reveal", "decrypt",
    "query", "find", "access", "cat", "display", "fetch",
];

impl Walker<'_> {
    /// Notes a program that is told to show a secret, in its own words: `gh auth status
    /// --show-token`, `tool secrets download`.
    pub(super) fn secret_verbs(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        const SEARCHES: &[&str] =
            &["grep", "rg", "git", "find", "ls", "cat", "jq", "sed", "awk", "echo"];
        if SEARCHES.contains(&name) {
            return;
        }
        let mut words = vec![name];
        words.extend(args.operands().iter().take(4).map(|word| word.text.as_str()));
        words.extend(
            args.words()
                .iter()
                .map(|word| word.text.as_str())
                .filter(|word| word.starts_with("--")),
        );
        let words: Vec<_> = words.into_iter().filter(|word| is_command_word(word)).collect();
        let names = words
            .iter()
            .any(|word| word.split(['-', '_', ':']).any(|part| SECRETS.contains(&part)));
        // An option shows what it begins with: `--show-token`, but not `--access-token x`.
        let shows = words.iter().any(|word| match word.strip_prefix("--") {
            Some(option) => option.split('-').next().is_some_and(|verb| SHOWS.contains(&verb)),
            None => word.split(['-', '_', ':']).any(|part| SHOWS.contains(&part)),
        });
        if names && shows {
            self.note(Fact::new(FactKind::SecretShow, words.join(" ")).at(span));
        }
    }
}

/// A word a subcommand can be: letters, digits, `-`, `_`, `:`.
fn is_command_word(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 48
        && word.chars().all(|char| char.is_ascii_alphanumeric() || "-_:".contains(char))
}

fn option_that_destroys(args: &Arguments<'_>) -> Option<String> {
    args.words().iter().find_map(|word| {
        let option = word
            .text
            .strip_prefix("--")
            .or_else(|| word.text.strip_prefix('-').filter(|rest| rest.len() > 3))?;
        let name = option.split_once('=').map_or(option, |(name, _)| name).to_ascii_lowercase();
        let destroys = OPTION_STARTS.iter().any(|start| name.starts_with(start))
            && !HARMLESS_OPTIONS.iter().any(|harmless| name.starts_with(harmless))
            && is_command_word(&name);
        destroys.then(|| word.text.clone())
    })
}

/// `lxc-destroy x`, `fprintd-delete user`, `dropdb x`, `k3s-uninstall.sh`.
fn name_that_destroys(name: &str, args: &Arguments<'_>) -> Option<String> {
    let stem = name.strip_suffix(".sh").unwrap_or(name);
    let parts: Vec<_> = stem.split(['-', '_', '.']).collect();
    let destroys = parts.len() > 1
        && parts.last().is_some_and(|last| {
            matches!(
                *last,
                "delete"
                    | "destroy"
                    | "remove"
                    | "erase"
                    | "wipe"
                    | "purge"
                    | "uninstall"
                    | "rm"
                    | "del"
            )
        });
    let is_script = stem.len() < name.len();
    (destroys && (is_script || !args.operands().is_empty())).then(String::new)
}
