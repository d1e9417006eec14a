//! Verbs with which an unknown program destroys or stops something.
//!
//! `delete`, `destroy`, `stop` mean the same in every command line tool, so a tool that is not in
//! the catalogue is understood by them: as a subcommand, as an option, or in its own name. A word
//! is read by its form (`delete-bucket`, `DeleteInstance`, `vm.destroy`, `pg:reset`, `userdel`),
//! and its object counts where the verb alone is harmless.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Program;
use crate::fact::{Fact, FactKind};
use crate::verdict::Span;
use crate::words::{self, has};

pub(super) mod form;
mod grant;

use form::Verb;

/// Reports whether only help, a version or a dry run is asked for. Words after `--` are operands,
/// and of two options that contradict each other the last one wins. Always false for programs that
/// run source text: there an option may belong to that text.
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
        // No other tool does this: `git push --force origin help` pushes a branch of that name.
        || (name == "aws" && words.last().is_some_and(|word| word.text == "help"))
}

fn is_help(option: &str) -> bool {
    matches!(option, "--help" | "-help")
}

/// Reports whether this is a short option of unknown meaning, whose value may be the next word.
fn may_take_a_value(word: &str) -> bool {
    word.len() == 2 && word.starts_with('-') && word != "--"
}

/// Returns whether an option switches a dry run on or off.
fn rehearses(option: &str) -> Option<bool> {
    let (name, value) = option.split_once('=').unwrap_or((option, "true"));
    if has(words::VERBS_REHEARSALS, name) {
        return Some(!matches!(value, "none" | "false" | "no" | "off" | "0" | ""));
    }
    let positive = name.strip_prefix("--no-").map(|name| format!("--{name}"));
    positive.filter(|name| has(words::VERBS_REHEARSALS, name)).map(|_| false)
}

impl Walker<'_> {
    /// Records a verb that destroys, or one that stops or resets something.
    pub(super) fn general_verbs(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let found = verb_among_operands(args)
            .or_else(|| option_that_destroys(args).map(|option| (Verb::Destroys, option)))
            .or_else(|| scaled_to_nothing(args).map(|amount| (Verb::Interrupts, amount)))
            .or_else(|| name_that_destroys(name, args).map(|end| (Verb::Destroys, end)));
        if let Some((verb, word)) = found {
            let kind = match verb {
                Verb::Destroys => FactKind::DestructiveVerb,
                Verb::Interrupts => FactKind::InterruptingVerb,
            };
            let subject = format!("{name} {word}");
            self.note(Fact::new(kind, subject.trim_end()).at(span));
        }
    }
}

impl Walker<'_> {
    /// Records a verb that creates credentials, exports personal data or restores an older state.
    pub(super) fn granting_verbs(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        const RUN_TARGETS: &[&str] =
            &["make", "gmake", "just", "task", "rake", "mage", "ninja", "git"];
        let is_plain =
            program.is_none_or(|program| program.runs.is_none() && program.does.is_empty());
        if !is_plain || RUN_TARGETS.contains(&name) || super::floor::only_mentions(name) {
            return;
        }
        if let Some(word) = grant::grants(args) {
            self.note(Fact::new(FactKind::Grants, format!("{name} {word}")).at(span));
        }
        // There, `deploy` is a thing, and `publish` puts files into a folder.
        let means_another = matches!(name, "kubectl" | "oc" | "k9s" | "kubectx" | "dotnet");
        if !means_another && let Some(word) = grant::goes_out(args) {
            self.note(Fact::new(FactKind::Publishes, format!("{name} {word}")).at(span));
        }
    }
}

/// Finds a verb that is the first operand, or follows nouns: `velero backup delete`. The worst one
/// counts.
fn verb_among_operands(args: &Arguments<'_>) -> Option<(Verb, String)> {
    let has_options = args.words().iter().any(|word| word.text.starts_with('-'));
    let mut interrupts = None;
    for (at, operand) in args.operands().iter().take(5).enumerate() {
        let word = operand.text.as_str();
        if at < 2 && has(words::VERBS_LOOK, word) {
            break;
        }
        let is_verb = form::is_command_word(word) || (at < 2 && form::is_dotted(word));
        if !is_verb {
            // After a name or a path nothing is a verb, unless options carried values.
            if word.contains(['/', ' ', '.', '\n']) && !has_options {
                break;
            }
            continue;
        }
        let followed = at + 1 < args.operands().len();
        let object = form::Object { before: at > 0, after: followed, sweeping: sweeps(args) };
        match form::verb(word, object) {
            Some(Verb::Destroys) => return Some((Verb::Destroys, word.to_owned())),
            Some(Verb::Interrupts) if interrupts.is_none() => interrupts = Some(word.to_owned()),
            Some(Verb::Interrupts) | None => {}
        }
    }
    interrupts.map(|word| (Verb::Interrupts, word))
}

/// Reports whether an option means everything, or suppresses questions.
fn sweeps(args: &Arguments<'_>) -> bool {
    args.has_any(&["--all", "--force", "--hard", "--yes", "-y", "-f", "--now", "--purge"])
}

/// Finds `scale --replicas=0`, `scale count 0`, `ps:scale web=0`.
fn scaled_to_nothing(args: &Arguments<'_>) -> Option<String> {
    let scales = |word: &str| {
        let parts = form::parts(word);
        parts
            .iter()
            .any(|part| matches!(part.as_str(), "scale" | "resize" | "autoscale" | "desired"))
    };
    let texts = || args.words().iter().map(|word| word.text.as_str());
    if !texts().take(6).any(scales) {
        return None;
    }
    let mut before = "";
    for text in texts() {
        let (amount, value) = text.split_once('=').unwrap_or((before, text));
        let option = amount.trim_start_matches('-');
        let counts = has(words::VERBS_AMOUNTS, option) || !text.starts_with('-');
        if value == "0" && counts {
            return Some(text.to_owned());
        }
        before = text;
    }
    None
}

/// Finds `--delete-all`, `-destroy`, `--purge=yes`, `--accept-data-loss`, but not
/// `--remove-border`.
fn option_that_destroys(args: &Arguments<'_>) -> Option<String> {
    args.words().iter().find_map(|word| {
        let option = word
            .text
            .strip_prefix("--")
            .or_else(|| word.text.strip_prefix('-').filter(|rest| rest.len() > 3))?;
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        let denied =
            option.ends_with("=false") || option.ends_with("=no") || option.ends_with("=0");
        (form::option_destroys(name) && !denied).then(|| word.text.clone())
    })
}

/// Reports whether a part of an address is a command to destroy or stop something.
pub(super) fn is_order(part: &str) -> bool {
    let object = form::Object { before: false, after: true, sweeping: false };
    form::is_command_word(part)
        && match form::verb(part, object) {
            Some(Verb::Destroys) => true,
            Some(Verb::Interrupts) => matches!(part, "shutdown" | "poweroff" | "reboot" | "halt"),
            None => false,
        }
}

/// Reports whether a word is an option that destroys something.
pub(super) fn destroys(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|name| form::option_destroys(name.trim_start_matches('-')))
}

/// Finds a destructive program by its name: `lxc-destroy x`, `fprintd-delete user`, `dropdb x`,
/// `k3s-uninstall.sh`.
fn name_that_destroys(name: &str, args: &Arguments<'_>) -> Option<String> {
    let stem = name.strip_suffix(".sh").unwrap_or(name);
    let parts: Vec<_> = stem.split(['-', '_', '.']).collect();
    let is_script = stem.len() < name.len();
    let destroys = parts.len() > 1
        && (parts.last().is_some_and(|last| has(words::VERBS_NAME_ENDINGS, last))
            || (!is_script
                && parts.iter().skip(1).any(|part| matches!(*part, "delete" | "destroy"))));
    (destroys && (is_script || !args.words().is_empty())).then(String::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::shell::value::Arg;

    fn found(line: &str) -> Option<Verb> {
        let words: Vec<_> = line.split(' ').map(Arg::literal).collect();
        let args = Arguments::new(words.get(1..).unwrap_or_default(), None);
        verb_among_operands(&args)
            .map(|(verb, _)| verb)
            .or_else(|| option_that_destroys(&args).map(|_| Verb::Destroys))
            .or_else(|| scaled_to_nothing(&args).map(|_| Verb::Interrupts))
            .or_else(|| {
                name_that_destroys(words.first()?.text.as_str(), &args).map(|_| Verb::Destroys)
            })
    }

    #[test]
    fn a_verb_destroys_in_every_form() {
        for line in [
            "tool cluster destroy prod",
            "tool DeleteInstance --id 1",
            "tool vm.destroy x",
            "tool vmsvc/destroy 1",
            "tool bulk-delete-objects b",
            "tool deletetable t",
            "tool pool rmpool p",
            "tool --accept-data-loss push",
            "tool apps:destroy x",
            "tool-destroy x",
        ] {
            assert_eq!(found(line), Some(Verb::Destroys), "{line}");
        }
    }

    #[test]
    fn a_verb_that_stops_needs_an_object() {
        for line in [
            "tool machine stop x",
            "tool service.stop nginx",
            "tool disable-alarm-actions x",
            "tool scale web --replicas 0",
            "tool ps:scale web=0",
            "tool stop --all",
        ] {
            assert_eq!(found(line), Some(Verb::Interrupts), "{line}");
        }
        for line in ["tool stop", "tool daemon stop", "tool scale web --replicas 3"] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_looked_for_or_formatted_is_not_destroyed() {
        for line in [
            "tool list delete",
            "tool get-deleted-items x",
            "tool --remove-border x",
            "tool --delete-after 3 x",
            "tool docs/delete.md",
            "tool build --no-remove x",
            "tool describe stop-policy x",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
