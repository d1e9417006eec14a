//! The language of a text that a tool will run.
//!
//! The argument's own name decides, then the fields beside it (`language: python`), then the names
//! of the tool and its server, then the text's first line. Where none of them does, the text is
//! read in every language that it looks like, and the findings of all of them count.

use serde_json::Value;

use super::looks_like_sql;
use crate::action::Language;
use crate::analyze::code::sql::form::{self, Setting};
use crate::analyze::{Analysis, applescript, code, purpose, shell};
use crate::fact::{Fact, FactKind};
use crate::location::Scene;

/// The length past which a text in an unknown language is not read and needs a confirmation: each
/// language takes its time.
const MOST_GUESSED: usize = 64 * 1024;

/// A language that a tool can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    /// A shell script.
    Shell,
    /// `AppleScript`, or JavaScript for Automation.
    Applescript,
    /// A programming language or SQL.
    Code(Language),
}

impl Tongue {
    /// Returns the facts of a text in this language.
    pub(super) fn read(self, text: &str, scene: &Scene<'_>) -> Analysis {
        match self {
            Self::Shell => shell::analyze(text, scene),
            Self::Applescript => applescript::nested(text, scene, None),
            // A tool that drives a Mac calls JavaScript for Automation by the language's name.
            Self::Code(Language::Javascript) if is_automation(text) => {
                let mut found = code::analyze(Language::Javascript, text, None, scene);
                found.extend(applescript::nested(text, scene, None));
                found
            }
            Self::Code(language) => code::analyze(language, text, None, scene),
        }
    }
}

/// Returns the language that a name, or a value such as `python3`, refers to.
pub(super) fn named(name: &str) -> Option<Tongue> {
    purpose::split(name).iter().rev().find_map(|word| of_word(word))
}

/// Returns the language that a field beside the text names.
pub(super) fn beside(name: &str, value: &Value) -> Option<Tongue> {
    const NAMES: [&str; 7] =
        ["language", "lang", "interpreter", "runtime", "dialect", "engine", "shell"];
    let says = purpose::split(name).last().is_some_and(|word| NAMES.contains(&&**word));
    value.as_str().filter(|text| says && text.len() <= 64).and_then(named)
}

fn of_word(word: &str) -> Option<Tongue> {
    let word = word.trim_end_matches(|char: char| char.is_ascii_digit());
    Some(match word {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "shell" | "terminal" | "ssh" => Tongue::Shell,
        "applescript" | "osascript" | "jxa" | "osa" => Tongue::Applescript,
        "python" | "ipython" | "py" | "jupyter" => Tongue::Code(Language::Python),
        "javascript" | "js" | "node" | "nodejs" | "typescript" | "ts" | "deno" | "bun" => {
            Tongue::Code(Language::Javascript)
        }
        "perl" => Tongue::Code(Language::Perl),
        "ruby" | "irb" => Tongue::Code(Language::Ruby),
        "sql" | "postgres" | "postgresql" | "psql" | "mysql" | "mariadb" | "sqlite"
        | "bigquery" | "snowflake" | "clickhouse" | "duckdb" => Tongue::Code(Language::Sql),
        _ => return None,
    })
}

/// Returns the language that the first line names: `#!/usr/bin/env python3`.
pub(super) fn first_line(text: &str) -> Option<Tongue> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    line.split(['/', ' ']).rev().find_map(of_word)
}

/// Facts that say only that a text could not be read.
pub(super) const DOUBTS: [FactKind; 4] =
    [FactKind::Unparsed, FactKind::UnknownCode, FactKind::UnknownCommand, FactKind::AssumedCommand];

/// What any of the languages finds in a text of which nobody says what it is. That one of them
/// cannot read it says nothing.
pub(super) fn guess(text: &str, scene: &Scene<'_>) -> Analysis {
    if text.len() > MOST_GUESSED {
        return Analysis::of(vec![Fact::new(FactKind::Bound, "longer text than is guessed at")]);
    }
    let mut tongues = vec![Tongue::Shell];
    if text.contains('(') {
        let languages = [Language::Python, Language::Javascript];
        tongues.extend(languages.map(Tongue::Code));
    }
    if looks_like_sql(text) || form::statements(text, Setting::Elsewhere).is_some() {
        tongues.push(Tongue::Code(Language::Sql));
    }
    if looks_like_applescript(text) {
        tongues.push(Tongue::Applescript);
    }
    let mut found = Analysis::default();
    for tongue in tongues {
        let mut read = tongue.read(text, scene);
        read.facts.retain(|fact| !DOUBTS.contains(&fact.kind));
        found.extend(read);
    }
    found
}

/// Whether JavaScript speaks to apps or to Cocoa, which only `osascript` lets it do.
fn is_automation(text: &str) -> bool {
    ["Application(", "Application.", "ObjC.", "$.NS", "$["].iter().any(|sign| text.contains(sign))
}

fn looks_like_applescript(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["tell app", "do shell script", "end tell", "application(", "doshellscript"]
        .iter()
        .any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_tell_the_language() {
        assert_eq!(named("run_applescript"), Some(Tongue::Applescript));
        assert_eq!(named("python3"), Some(Tongue::Code(Language::Python)));
        assert_eq!(named("pythonCode"), Some(Tongue::Code(Language::Python)));
        assert_eq!(named("list_shells"), None);
        assert_eq!(first_line("#!/usr/bin/env node\nx()"), named("js"));
        assert_eq!(first_line("#!/bin/sh -e\nls"), Some(Tongue::Shell));
        assert_eq!(first_line("ls"), None);
        assert_eq!(beside("language", &Value::from("ruby")), named("ruby"));
        assert_eq!(beside("title", &Value::from("ruby")), None);
    }
}
