//! `countersign rules`: the rule table, ours and the user's.

use std::io::{self, Write as _};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use countersign_core::example::{example_context, example_failures};
use countersign_core::rule::{self, Rule};
use countersign_core::{Policy, Verdict};
use serde::Serialize;

use crate::context_options::ContextOptions;
use crate::exit::Exit;
use crate::explanation::{find, word};
use crate::settings;
use crate::show::one_line;

/// List, show and test the rules
#[derive(Debug, Args)]
pub(crate) struct Rules {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the rules: id, risk, verdict and title
    List {
        /// Only this family, for example `shell.git`
        #[arg(long)]
        family: Option<String>,
        /// Only rules that ask for this verdict
        #[arg(long, value_enum)]
        verdict: Option<Wanted>,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one rule: what it matches, why, what to do instead, examples
    #[command(alias = "explain")]
    Show {
        /// The rule's id, for example `shell.git.force-push`
        id: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run every example of every rule
    ///
    /// Each hit must match its rule and each miss must not. Exits with 1 if one fails.
    Test {
        /// Print the outcome as JSON
        #[arg(long)]
        json: bool,
    },
}

/// A verdict to filter by.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Wanted {
    Allow,
    Warn,
    Confirm,
    Block,
}

impl Rules {
    pub(super) fn run(self) -> Result<Exit> {
        let policy = settings::policy(&ContextOptions::default().context()?)?;
        match self.what {
            What::List { family, verdict, json } => {
                let wanted: Vec<_> = all(&policy)
                    .filter(|rule| family.as_deref().is_none_or(|family| belongs(&rule.id, family)))
                    .filter(|rule| verdict.is_none_or(|verdict| rule.verdict == verdict.into()))
                    .collect();
                list(&wanted, json)
            }
            What::Show { id, json } => show(&id, &policy, json),
            What::Test { json } => test(&policy, json),
        }
    }
}

impl From<Wanted> for Verdict {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Allow => Self::Allow,
            Wanted::Warn => Self::Warn,
            Wanted::Confirm => Self::Confirm,
            Wanted::Block => Self::Block,
        }
    }
}

fn all(policy: &Policy) -> impl Iterator<Item = &Rule> {
    rule::rules().iter().chain(policy.own_rules())
}

/// Reports whether a rule's id is in a family, or in a family below it.
fn belongs(id: &str, family: &str) -> bool {
    id.strip_prefix(family).is_some_and(|rest| rest.starts_with('.'))
}

fn list(rules: &[&Rule], json: bool) -> Result<Exit> {
    let mut out = io::stdout().lock();
    if json {
        let rows: Vec<_> = rules.iter().map(|rule| Row::from(*rule)).collect();
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
        return Ok(Exit::Done);
    }
    let width = rules.iter().map(|rule| rule.id.chars().count()).max().unwrap_or(0);
    for rule in rules {
        let (risk, verdict) = (rule.risk.as_str(), rule.verdict.as_str());
        let (id, title) = (one_line(&rule.id), one_line(&rule.title));
        writeln!(out, "{id:width$}  {risk:8}  {verdict:7}  {title}")?;
    }
    Ok(Exit::Done)
}

fn show(id: &str, policy: &Policy, json: bool) -> Result<Exit> {
    let rule = find(id, policy)
        .ok_or_else(|| anyhow!("no rule `{id}`; `countersign rules list` shows them all"))?;
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &Row::from(rule))?;
        writeln!(out)?;
        return Ok(Exit::Done);
    }
    let hard = if rule.hard { ", which nothing lifts" } else { "" };
    writeln!(out, "{}: {}", one_line(&rule.id), one_line(&rule.title))?;
    writeln!(out, "  verdict   {}{hard}", rule.verdict.as_str())?;
    writeln!(out, "  risk      {}", rule.risk.as_str())?;
    writeln!(out, "  category  {}", word(rule.category))?;
    for (name, text) in [("why", &rule.why), ("instead", &rule.instead)] {
        if let Some(text) = text {
            writeln!(out, "  {name:8}  {}", one_line(text))?;
        }
    }
    for (name, examples) in [("hits", &rule.hits), ("misses", &rule.misses)] {
        writeln!(out, "  {name}")?;
        for example in examples.iter() {
            writeln!(out, "    {}", one_line(example))?;
        }
    }
    Ok(Exit::Done)
}

/// The result of running the examples.
#[derive(Default, Serialize)]
struct Outcome {
    rules: usize,
    examples: usize,
    failures: Vec<Failure>,
}

#[derive(Serialize)]
struct Failure {
    rule: String,
    problem: String,
}

fn test(policy: &Policy, json: bool) -> Result<Exit> {
    let mut outcome = Outcome::default();
    // Our rules are tested as shipped: a configuration may silence one without breaking it.
    outcome.add(rule::rules(), &Policy::default());
    outcome.add(policy.own_rules(), policy);
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &outcome)?;
        writeln!(out)?;
    } else {
        for failure in &outcome.failures {
            writeln!(out, "{}: {}", one_line(&failure.rule), one_line(&failure.problem))?;
        }
        let (rules, examples, failed) = (outcome.rules, outcome.examples, outcome.failures.len());
        writeln!(out, "rules: {rules}, examples: {examples}, failed: {failed}")?;
    }
    Ok(if outcome.failures.is_empty() { Exit::Done } else { Exit::Failed })
}

impl Outcome {
    fn add<'a>(&mut self, rules: impl IntoIterator<Item = &'a Rule>, policy: &Policy) {
        let context = example_context();
        for rule in rules {
            self.rules += 1;
            self.examples += rule.hits.len() + rule.misses.len();
            self.failures.extend(
                example_failures(rule, policy, &context)
                    .map(|error| Failure { rule: rule.id.to_string(), problem: error.to_string() }),
            );
        }
    }
}

/// A rule as JSON.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    risk: countersign_core::RiskLevel,
    verdict: Verdict,
    category: countersign_core::Category,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<&'a str>,
    hard: bool,
    hits: &'a [std::borrow::Cow<'static, str>],
    misses: &'a [std::borrow::Cow<'static, str>],
}

impl<'a> From<&'a Rule> for Row<'a> {
    fn from(rule: &'a Rule) -> Self {
        Self {
            id: &rule.id,
            title: &rule.title,
            why: rule.why.as_deref(),
            risk: rule.risk,
            verdict: rule.verdict,
            category: rule.category,
            instead: rule.instead.as_deref(),
            hard: rule.hard,
            hits: &rule.hits,
            misses: &rule.misses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_whole_words_of_an_id() {
        assert!(belongs("shell.git.force-push", "shell.git"));
        assert!(belongs("shell.git.force-push", "shell"));
        assert!(!belongs("shell.github.delete", "shell.git"));
        assert!(!belongs("shell.git", "shell.git"));
    }
}
