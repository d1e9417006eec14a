//! Rules: rows of a table that turn commands and facts into findings.
//!
//! Our own rows are compiled from `rules/**/*.yaml` by `build.rs`, so that a cold start parses
//! nothing; the user's have the same fields and are read when a policy is loaded. A row never
//! computes: when it cannot express a condition, an analyzer gets a new fact and the row names it.

use std::borrow::Cow;

use crate::analysis::Invocation;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::lookup::{Name, Names};
use crate::row::Row;
use crate::verdict::{Category, Finding, RiskLevel, Verdict};

/// The most findings about one action.
const MOST_FINDINGS: usize = 64;

/// Words of a rule: static for ours, owned for the user's.
pub type Words = Cow<'static, [Cow<'static, str>]>;

/// One row of the rule table.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its path in the table: `shell.git.force-push`.
    pub id: Cow<'static, str>,
    /// The effect of the action.
    pub title: Cow<'static, str>,
    /// The danger, when the title does not name it.
    pub why: Option<Cow<'static, str>>,
    /// The severity.
    pub risk: RiskLevel,
    /// The verdict of the rule itself, before policy.
    pub verdict: Verdict,
    /// The kind of harm.
    pub category: Category,
    /// An alternative.
    pub instead: Option<Cow<'static, str>>,
    /// True when nothing can lift it.
    pub hard: bool,
    /// The condition that it matches.
    pub when: When,
    /// In a configured rule that allows: the words it accepts besides those it names. It then
    /// matches a command only if it covers every word.
    pub optional: Option<Words>,
    /// Examples that must match.
    pub hits: Words,
    /// Examples that must not match.
    pub misses: Words,
}

/// The condition of a rule: a command, or a fact.
#[derive(Debug, Clone)]
pub enum When {
    /// A program called with these words.
    Command {
        /// Any of these programs.
        program: Words,
        /// The first words that are not options, in order.
        args: Words,
        /// At least one of these.
        any: Words,
        /// All of these.
        all: Words,
        /// None of these.
        none: Words,
    },
    /// A fact of one of these kinds.
    Fact {
        /// Any of these kinds.
        kinds: Cow<'static, [FactKind]>,
        /// At least one of these tags; empty means anywhere.
        locations: Tags,
        /// All of these tags.
        with: Tags,
        /// None of these tags.
        without: Tags,
    },
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Every built-in rule.
#[must_use]
pub fn rules() -> &'static [Rule] {
    RULES
}

/// The built-in rule with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Adds the findings of the built-in rules for an analysis.
pub(crate) fn apply(commands: &[Invocation], facts: &[Fact], findings: &mut Vec<Finding>) {
    for command in commands {
        for rule in for_program(&command.program) {
            rule.on_command_of_its_program(command, findings);
        }
    }
    for fact in facts {
        for index in fact_rules(fact.kind) {
            if let Some(rule) = RULES.get(usize::from(*index)) {
                rule.on_fact(fact, findings);
            }
        }
    }
}

/// Reports whether any of this is blocked.
pub(crate) fn has_block(commands: &[Invocation], facts: &[Fact]) -> bool {
    let mut findings = Vec::new();
    apply(commands, facts, &mut findings);
    findings.iter().any(|finding| finding.verdict == Verdict::Block)
}

/// Reports whether any of this is asked about or blocked for its effect, not for being unclear.
pub(crate) fn would_ask(commands: &[Invocation], facts: &[Fact]) -> bool {
    let mut findings = Vec::new();
    apply(commands, facts, &mut findings);
    let is_clear = |finding: &Finding| finding.category != Category::NotUnderstood;
    findings.iter().any(|finding| finding.verdict >= Verdict::Confirm && is_clear(finding))
}

/// Reports whether any rule is about this program.
pub(crate) fn knows(program: &str) -> bool {
    PROGRAM_RULE_NAMES.find(program).is_some()
}

fn for_program(program: &str) -> impl Iterator<Item = &'static Rule> {
    let indexes = PROGRAM_RULE_NAMES.find(program).and_then(|at| PROGRAM_RULES.get(at));
    let indexes = indexes.copied().unwrap_or_default();
    indexes.iter().filter_map(|index| RULES.get(usize::from(*index)))
}

impl Rule {
    /// Reads a row written by a user.
    ///
    /// # Errors
    /// The row lacks examples, names a fact, tag, risk, verdict or category that does not exist, or
    /// has both or neither of `program` and `fact`.
    pub fn from_row(id: String, row: Row) -> Result<Self, RuleError> {
        let when = When::from_row(&row)?;
        if row.hits.is_empty() || row.misses.is_empty() {
            return Err(RuleError::NoExamples);
        }
        let allows = word::<Verdict>(&row.verdict, "verdict")? == Verdict::Allow;
        if !allows && !row.optional.is_empty() {
            return Err(RuleError::OptionalWithoutAllow);
        }
        Ok(Self {
            optional: allows.then(|| each(&row.optional)),
            id: Cow::Owned(id),
            when,
            risk: word(&row.risk, "risk")?,
            verdict: word(&row.verdict, "verdict")?,
            category: word(&row.category, "category")?,
            title: Cow::Owned(row.title),
            why: row.why.map(Cow::Owned),
            instead: row.instead.map(Cow::Owned),
            // INVARIANT: only compiled-in rules are hard; a user's row could otherwise lock its own
            // author out with no way back.
            hard: false,
            hits: owned(row.hits),
            misses: owned(row.misses),
        })
    }

    /// Adds a finding if this command matches.
    pub fn on_command(&self, command: &Invocation, findings: &mut Vec<Finding>) {
        if let When::Command { program, .. } = &self.when
            && program.iter().any(|name| *name == command.program)
        {
            self.on_command_of_its_program(command, findings);
        }
    }

    /// Does the same, where the program has already been looked up.
    fn on_command_of_its_program(&self, command: &Invocation, findings: &mut Vec<Finding>) {
        if self.matches_words(command) {
            self.add(findings, &command.shown(), command.span, None);
        }
    }

    /// Adds a finding if this fact matches.
    pub fn on_fact(&self, fact: &Fact, findings: &mut Vec<Finding>) {
        if self.matches_fact(fact) {
            self.add(findings, &fact.subject, fact.span, Some(fact.kind));
        }
    }

    /// Reports whether this command matches.
    pub(crate) fn matches_command(&self, command: &Invocation) -> bool {
        matches!(&self.when, When::Command { program, .. }
            if program.iter().any(|name| *name == command.program))
            && self.matches_words(command)
    }

    /// Reports whether the words of a command match, when its program does.
    fn matches_words(&self, command: &Invocation) -> bool {
        let When::Command { args, any, all, none, .. } = &self.when else { return false };
        command.starts_with(args)
            && (any.is_empty() || any.iter().any(|word| command.has_one(word)))
            && all.iter().all(|word| command.has(word))
            && !none.iter().any(|word| command.has_one(word))
            && self.optional.as_ref().is_none_or(|optional| {
                let named = [any, all, optional].into_iter().flat_map(|words| words.iter());
                command.has_only(args.len(), &named.map(|word| &**word).collect::<Vec<_>>())
            })
    }

    /// Reports whether this fact matches.
    pub(crate) fn matches_fact(&self, fact: &Fact) -> bool {
        if let When::Fact { kinds, locations, with, without } = &self.when
            && kinds.contains(&fact.kind)
        {
            let tags = fact.tags.derived();
            (locations.is_empty() || tags.any(*locations)) && tags.all(*with) && !tags.any(*without)
        } else {
            false
        }
    }

    fn add(
        &self,
        findings: &mut Vec<Finding>,
        subject: &str,
        span: Option<[u32; 2]>,
        fact: Option<FactKind>,
    ) {
        if findings.iter().any(|known| known.rule == self.id && known.span == span) {
            return;
        }
        // A person reads a handful. Past the limit only something stricter is added.
        if findings.len() >= MOST_FINDINGS
            && findings
                .iter()
                .any(|known| known.verdict >= self.verdict && (known.hard || !self.hard))
        {
            return;
        }
        let reason = match subject {
            "" => self.title.to_string(),
            subject => format!("{}: {}", self.title, shorten(subject)),
        };
        findings.push(Finding {
            rule: self.id.to_string(),
            category: self.category,
            risk: self.risk,
            verdict: self.verdict,
            reason,
            span,
            instead: self.instead.as_deref().map(str::to_owned),
            hard: self.hard,
            fact,
        });
    }
}

impl When {
    fn from_row(row: &Row) -> Result<Self, RuleError> {
        match (row.program.words(), row.fact.words()) {
            ([], []) => Err(RuleError::MatchesNothing),
            (program, []) => Ok(Self::Command {
                program: owned(program.to_vec()),
                args: owned(row.args.clone()),
                any: each(&row.any),
                all: owned(row.all.clone()),
                none: each(&row.none),
            }),
            ([], kinds) => Ok(Self::Fact {
                kinds: kinds
                    .iter()
                    .map(|kind| FactKind::named(kind).ok_or_else(|| unknown("fact", kind)))
                    .collect::<Result<Vec<_>, _>>()?
                    .into(),
                locations: tags(&row.locations)?,
                with: tags(&row.with)?,
                without: tags(&row.without)?,
            }),
            (_, _) => Err(RuleError::MatchesTwice),
        }
    }
}

/// The reason that a user's rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Neither `program` nor `fact`.
    #[error("a rule needs `program` or `fact`")]
    MatchesNothing,
    /// Both `program` and `fact`.
    #[error("a rule has either `program` or `fact`, not both")]
    MatchesTwice,
    /// No `hits` or no `misses`.
    #[error("a rule needs at least one example under `hits` and one under `misses`")]
    NoExamples,
    /// `optional` in a rule that does not allow.
    #[error("`optional` is only for a rule whose verdict is `allow`")]
    OptionalWithoutAllow,
    /// A word that is not in the vocabulary.
    #[error("unknown {what} `{word}`")]
    Unknown {
        /// The vocabulary.
        what: &'static str,
        /// The word.
        word: String,
    },
    /// An example that fails.
    #[error("example `{example}` under `{list}` {problem}")]
    Example {
        /// `hits` or `misses`.
        list: &'static str,
        /// The example.
        example: String,
        /// The failure.
        problem: &'static str,
    },
}

fn unknown(what: &'static str, word: &str) -> RuleError {
    RuleError::Unknown { what, word: word.to_owned() }
}

fn tags(names: &[String]) -> Result<Tags, RuleError> {
    names.iter().try_fold(Tags::NONE, |tags, name| {
        Tag::named(name).map(|tag| tags.with(tag)).ok_or_else(|| unknown("tag", name))
    })
}

fn word<T: serde::de::DeserializeOwned>(text: &str, what: &'static str) -> Result<T, RuleError> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|_| unknown(what, text))
}

/// Splits `a|b` into two words.
fn each(words: &[String]) -> Words {
    owned(words.iter().flat_map(|word| word.split('|')).map(str::to_owned).collect())
}

fn owned(words: Vec<String>) -> Words {
    words.into_iter().map(Cow::Owned).collect::<Vec<_>>().into()
}

/// Shortens a subject to fit on one line.
fn shorten(subject: &str) -> Cow<'_, str> {
    const MOST: usize = 80;
    match subject.char_indices().nth(MOST) {
        None => Cow::Borrowed(subject),
        Some((end, _)) => Cow::Owned(format!("{}…", subject.get(..end).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_leads_to_its_rules() {
        PROGRAM_RULE_NAMES.assert_sound();
        for rule in RULES {
            let When::Command { program, .. } = &rule.when else { continue };
            for program in program.iter() {
                assert!(for_program(program).any(|found| found.id == rule.id), "{program}");
            }
        }
    }
}
