//! Programs that end other processes: checks for Countersign's own.

use regex_automata::meta::{Config, Regex};

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{By, Ends};
use super::own_command::OWN;
use super::value::Arg;
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// The command lines of our processes in a process list.
const LINES: &[&str] = &[
    "/usr/local/bin/countersign serve",
    "/usr/local/bin/countersign hook",
    "/usr/local/bin/countersign mcp proxy",
];

/// The length past which a pattern is not compiled and counts as matching our processes.
const MOST_PATTERN: usize = 512;
/// The memory that a compiled pattern may take.
const MOST_MEMORY: usize = 1 << 20;

impl Walker<'_> {
    /// Records that one of our processes would be ended or stopped.
    pub(super) fn ends_processes(
        &mut self,
        name: &str,
        ends: &Ends,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        if args.words().iter().any(|word| ends.unless.contains(&word.text.as_str())) {
            return;
        }
        if matches!(ends.by, By::Unit)
            && let Some(verb) = ends.after.iter().find(|verb| args.has(verb))
        {
            let listed = |word: &&&Arg| {
                word.text.starts_with(UNKNOWN) && word.variable.is_none() && !word.glob
            };
            if args.operands().iter().any(|word| listed(&word)) {
                let subject = format!("{name} {verb}: whatever is listed");
                self.note(Fact::new(FactKind::InterruptingVerb, subject).at(span));
            }
        }
        let ours = match ends.by {
            By::Number => args.words().iter().any(|word| word.taint.has(Tag::Guard)),
            By::Name => names_ours(args) || is_meant(args, &["-r", "--regexp"], LINES),
            By::Pattern => is_pattern_of_ours(args),
            By::Unit => ends.after.iter().any(|verb| args.has(verb)) && names_ours(args),
        };
        if ours {
            let fact = Fact::new(FactKind::Kill, format!("{name} {OWN}"));
            self.note(fact.tagged(Tags::of(&[Tag::Guard])).at(span));
        }
    }
}

/// Reports whether a program that lists or filters processes would output ours.
pub(super) fn finds_ours(name: &str, args: &Arguments<'_>) -> bool {
    match name {
        "pgrep" => is_pattern_of_ours(args),
        "lsof" | "fuser" => args.words().iter().any(|word| word.text.contains("server.sock")),
        // Anything that filters a process list by our name, or mentions it at all.
        _ => args.words().iter().any(|word| {
            // `grep [c]ountersign` does not find itself.
            word.text.replace(['[', ']'], "").contains(OWN)
        }),
    }
}

/// Reports whether a word is our name, or that of one of our services or containers.
fn names_ours(args: &Arguments<'_>) -> bool {
    args.operands().iter().any(|word| location::base_name(&word.text).contains(OWN))
}

/// Reports whether `pkill PATTERN` or `pgrep -f PATTERN` matches our processes.
fn is_pattern_of_ours(args: &Arguments<'_>) -> bool {
    if args.has_any(&["-f", "--full"]) {
        args.operands().iter().any(|word| matches_any(&word.text, LINES))
    } else {
        args.operands().iter().any(|word| matches_any(&word.text, &[OWN]))
    }
}

fn is_meant(args: &Arguments<'_>, options: &[&str], lines: &[&str]) -> bool {
    args.has_any(options) && args.operands().iter().any(|word| matches_any(&word.text, lines))
}

fn matches_any(pattern: &str, lines: &[&str]) -> bool {
    if pattern.len() > MOST_PATTERN {
        return true;
    }
    if pattern.chars().all(|char| char.is_ascii_alphanumeric() || " /_-".contains(char)) {
        return lines.iter().any(|line| line.contains(pattern));
    }
    let config = Config::new().nfa_size_limit(Some(MOST_MEMORY));
    match Regex::builder().configure(config).build(pattern) {
        Ok(regex) => lines.iter().any(|line| regex.is_match(*line)),
        // Not valid here, but the program may accept it.
        Err(_) => pattern.contains(OWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_reach_our_processes_are_told() {
        for pattern in ["countersign", "countersign hook", "c.untersign", "^.*sign", "counter", "."]
        {
            assert!(matches_any(pattern, LINES), "{pattern}");
        }
        for pattern in ["node", "server.py", "http.server", "python -m x", "^hook$"] {
            assert!(!matches_any(pattern, LINES), "{pattern}");
        }
    }
}
