//! `docs/rules.md`, from the rule table.

use std::fmt::Write as _;

use countersign_core::rule::{Rule, rules};

use crate::Result;
use crate::generated::{How, settle};

const OPENING: &str = "\
# Rules

Written by `cargo xtask rules` from the files under `crates/core/rules`; change those. A rule's id is its \
place there: `shell.git.force-push` is the entry `force-push` of `shell/git.yaml`. Every example runs in \
the tests: a *hit* must match, a *miss* must not. An example is a shell command unless it begins with the \
name of another kind (`python:`, `sql:`, `write:`…); `⏎` stands for the end of a line.
";

/// Writes or compares the page.
///
/// # Errors
/// The page is stale, or cannot be written.
pub(crate) fn run(how: How) -> Result {
    settle("docs/rules.md", &page(rules()), how, "rules")
}

fn page(rules: &[Rule]) -> String {
    let mut page = OPENING.to_owned();
    contents(rules, &mut page);
    let (mut last_kind, mut last_family) = ("", "");
    for rule in rules {
        let (kind, family, _) = parts(rule);
        if kind != last_kind {
            let _ = write!(page, "\n## {kind}\n");
        }
        if (kind, family) != (last_kind, last_family) {
            let _ = write!(page, "\n### {kind}.{family}\n");
        }
        (last_kind, last_family) = (kind, family);
        entry(rule, &mut page);
    }
    page
}

/// Writes the number of rules of each family.
fn contents(rules: &[Rule], page: &mut String) {
    let _ = write!(page, "\n{} rules.\n\n| family | rules |\n|---|---|\n", rules.len());
    let mut families: Vec<(&str, &str)> =
        rules.iter().map(|rule| (parts(rule).0, parts(rule).1)).collect();
    families.dedup();
    for (kind, family) in families {
        let count =
            rules.iter().filter(|rule| (parts(rule).0, parts(rule).1) == (kind, family)).count();
        let _ = writeln!(page, "| [{kind}.{family}](#{kind}{family}) | {count} |");
    }
}

fn entry(rule: &Rule, page: &mut String) {
    let _ = write!(page, "\n#### `{}`\n\n{}.", rule.id, rule.title);
    if let Some(why) = &rule.why {
        let _ = write!(page, " {why}");
    }
    let category = serde_json::to_value(rule.category).unwrap_or_default();
    let hard = if rule.hard { ", and nothing lifts it" } else { "" };
    let _ = write!(
        page,
        "\n\n- verdict **{}**{hard}; risk {}; category {}\n",
        rule.verdict.as_str(),
        rule.risk.as_str(),
        category.as_str().unwrap_or_default(),
    );
    if let Some(instead) = &rule.instead {
        let _ = writeln!(page, "- instead: {instead}");
    }
    let _ = writeln!(page, "- hits: {}", examples(&rule.hits));
    let _ = writeln!(page, "- misses: {}", examples(&rule.misses));
}

/// Splits the id of a rule: `shell`, `git`, `force-push`.
fn parts(rule: &Rule) -> (&str, &str, &str) {
    let (kind, rest) = rule.id.split_once('.').unwrap_or(("", &rule.id));
    let (family, name) = rest.split_once('.').unwrap_or(("", rest));
    (kind, family, name)
}

fn examples(examples: &[std::borrow::Cow<'static, str>]) -> String {
    let spans: Vec<_> = examples.iter().map(|example| code(example)).collect();
    spans.join(" · ")
}

/// Returns a code span for any text: fenced by more backticks than it contains.
fn code(text: &str) -> String {
    let text: String = text.chars().map(visible).collect();
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

fn visible(char: char) -> String {
    match char {
        '\n' => "⏎".to_owned(),
        char if char.is_control() => char.escape_debug().to_string(),
        char => char.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_holds_backticks_and_line_ends() {
        assert_eq!(code("ls"), "`ls`");
        assert_eq!(code("echo `ls`"), "`` echo `ls` ``");
        assert_eq!(code("a\nb\0"), "`a⏎b\\0`");
    }

    #[test]
    fn every_rule_has_its_entry() {
        let page = page(rules());
        assert!(rules().iter().all(|rule| page.contains(&format!("#### `{}`", rule.id))));
    }
}
