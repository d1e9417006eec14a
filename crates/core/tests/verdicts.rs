//! The golden table: every example of every rule, in every mode, with its verdict and the rules
//! that matched. A change of judgement is a change of `verdicts.txt` that someone reviews.
//!
//! `BLESS=1 cargo test --test verdicts` rewrites it.

use std::collections::HashSet;
use std::fmt::Write as _;

use countersign_core::context::Mode;
use countersign_core::example::{example_context, judge_example};
use countersign_core::{Context, Policy, rule};

#[test]
fn every_example_is_judged_as_before() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verdicts.txt");
    let table = table();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, &table).unwrap();
        return;
    }
    let before = std::fs::read_to_string(file).unwrap_or_default();
    let changed: Vec<_> = changes(&before, &table).take(40).collect();
    assert!(before == table, "bless with BLESS=1 if this is meant:\n{}", changed.join("\n"));
}

fn table() -> String {
    let mut table = String::from(
        "# task | explore | rules that matched | example, by the rule it belongs to (+ hits, - misses)\n",
    );
    for rule in rule::rules() {
        let _ = writeln!(table, "\n{}", rule.id);
        let hits = rule.hits.iter().map(|example| ('+', example));
        let misses = rule.misses.iter().map(|example| ('-', example));
        for (sign, example) in hits.chain(misses) {
            let _ = writeln!(table, "{sign} {}", line(example));
        }
    }
    table
}

fn line(example: &str) -> String {
    let judged = |mode| {
        let context = Context { mode: Some(mode), ..example_context() };
        judge_example(example, &Policy::default(), &context)
    };
    let (task, explore) = (judged(Mode::Task), judged(Mode::Explore));
    let mut rules: Vec<_> = task.findings.iter().map(|finding| finding.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    format!(
        "{:<7} | {:<7} | {} | {}",
        task.verdict.as_str(),
        explore.verdict.as_str(),
        rules.join(" "),
        example.chars().map(visible).collect::<String>(),
    )
}

/// Escapes a character, so that the text is on one line.
fn visible(char: char) -> String {
    match char {
        '\\' => r"\\".to_owned(),
        char if char.is_control() => char.escape_debug().to_string(),
        char => char.to_string(),
    }
}

/// The lines that are in only one of the two, as a person would read them.
fn changes<'a>(before: &'a str, after: &'a str) -> impl Iterator<Item = String> + 'a {
    let (old, new): (HashSet<_>, HashSet<_>) = (before.lines().collect(), after.lines().collect());
    let gone = before.lines().filter(move |line| !new.contains(line));
    let come = after.lines().filter(move |line| !old.contains(line));
    gone.map(|line| format!("was: {line}")).chain(come.map(|line| format!("now: {line}")))
}
