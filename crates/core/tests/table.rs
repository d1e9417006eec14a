//! The rule table is whole: every file is used, every rule is complete, every example holds and is
//! in the golden table.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use countersign_core::Policy;
use countersign_core::Verdict;
use countersign_core::example::{example_context, example_failures};
use countersign_core::rule::{Rule, rules};

#[test]
fn every_family_file_has_rules_and_every_rule_has_a_family_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let files: BTreeSet<String> =
        yaml_files(&folder).iter().map(|file| family_of_file(&folder, file)).collect();
    let families: BTreeSet<String> = rules().iter().map(family).collect();
    assert_eq!(files, families);
    assert!(
        files.iter().all(|family| family.split('.').count() == 2),
        "not kind.family: {files:?}"
    );
}

#[test]
fn every_rule_stands_in_the_golden_table() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verdicts.txt");
    let golden = std::fs::read_to_string(file).unwrap_or_default();
    let lines: BTreeSet<&str> = golden.lines().collect();
    let missing: Vec<_> =
        rules().iter().map(|rule| &*rule.id).filter(|id| !lines.contains(id)).collect();
    assert!(missing.is_empty(), "not in verdicts.txt: {missing:?}");
}

#[test]
fn hits_hit_and_misses_miss() {
    let (policy, context) = (Policy::default(), example_context());
    let failures: Vec<_> = rules()
        .iter()
        .flat_map(|rule| {
            example_failures(rule, &policy, &context).map(|error| format!("{}: {error}", rule.id))
        })
        .collect();
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_id_is_there_once_and_names_the_danger() {
    let ids: BTreeSet<_> = rules().iter().map(|rule| &*rule.id).collect();
    assert_eq!(ids.len(), rules().len(), "an id stands twice");
    let odd: Vec<_> = ids.iter().filter(|id| !is_kebab(id) || id.contains(".no-")).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

#[test]
fn every_rule_that_stops_says_what_to_do_instead() {
    let silent: Vec<_> = rules()
        .iter()
        .filter(|rule| rule.verdict >= Verdict::Confirm && rule.instead.is_none())
        .map(|rule| &*rule.id)
        .collect();
    assert!(silent.is_empty(), "no `instead`: {silent:?}");
}

#[test]
fn titles_are_one_line_without_a_full_stop() {
    let odd: Vec<_> = rules()
        .iter()
        .filter(|rule| {
            rule.title.is_empty() || rule.title.ends_with('.') || rule.title.contains('\n')
        })
        .map(|rule| &*rule.id)
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
}

/// `shell.git` of `shell.git.force-push`.
fn family(rule: &Rule) -> String {
    rule.id.rsplit_once('.').map_or(String::new(), |(family, _)| family.to_owned())
}

/// `shell.git` of `rules/shell/git.yaml`.
fn family_of_file(folder: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join(".")
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => yaml_files(&path),
            path => vec![path],
        })
        .collect()
}

fn is_kebab(id: &str) -> bool {
    id.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || ".-".contains(char))
}
