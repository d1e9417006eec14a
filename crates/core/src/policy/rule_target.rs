//! The subjects of verdicts, and the words by which profiles and configurations name them.
//!
//! | written | means |
//! |---|---|
//! | `shell.git.force-push` | one rule |
//! | `shell.git.*` | a family and everything below it |
//! | `*` | every rule |
//! | `kind.file_write` | every action of a kind, with findings or without |
//! | `risk.high` | every action whose risk is this or worse |

use std::fmt;

use crate::verdict::{RiskLevel, Verdict};

/// The subject of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleTarget<'a> {
    /// A finding, by the id of its rule.
    Rule(&'a str),
    /// The action's kind.
    Kind(&'a str),
    /// The action's level of risk.
    Risk(RiskLevel),
    /// The skill itself, when the user's settings ask before it.
    Skill(&'a str),
    /// A profile that was asked for and does not exist.
    UnknownProfile(&'a str),
}

impl fmt::Display for RuleTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(id) => f.write_str(id),
            Self::Kind(kind) => write!(f, "kind.{kind}"),
            Self::Risk(level) => write!(f, "risk.{}", level.as_str()),
            Self::Skill(name) => write!(f, "skill {name}"),
            Self::UnknownProfile(name) => write!(f, "profile {name}"),
        }
    }
}

/// The closeness with which these words name the subject, if they do; the closest entry of a layer
/// wins.
pub(crate) fn reach(words: &str, target: RuleTarget<'_>) -> Option<usize> {
    match target {
        RuleTarget::Rule(id) => match words.strip_suffix('*') {
            Some(family) if family.is_empty() || family.ends_with('.') => {
                id.starts_with(family).then_some(family.len())
            }
            _ => (words == id).then_some(usize::MAX),
        },
        RuleTarget::Kind(kind) => (words.strip_prefix("kind.") == Some(kind)).then_some(0),
        RuleTarget::Risk(level) => {
            let from = level_named(words.strip_prefix("risk.")?)?;
            (from <= level).then_some(from as usize)
        }
        RuleTarget::Skill(_) | RuleTarget::UnknownProfile(_) => None,
    }
}

/// The entry that names the subject most closely.
pub(crate) fn closest<'a, K: AsRef<str>>(
    entries: &'a [(K, Verdict)],
    target: RuleTarget<'_>,
) -> Option<(&'a str, Verdict)> {
    entries
        .iter()
        .filter_map(|(words, verdict)| {
            let words = words.as_ref();
            reach(words, target).map(|reach| (reach, words, *verdict))
        })
        .max_by_key(|(reach, ..)| *reach)
        .map(|(_, words, verdict)| (words, verdict))
}

/// The levels that can be named.
pub(crate) const LEVELS: &[RiskLevel] =
    &[RiskLevel::Low, RiskLevel::Medium, RiskLevel::High, RiskLevel::Critical];

pub(crate) fn level_named(name: &str) -> Option<RiskLevel> {
    LEVELS.iter().copied().find(|level| level.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_entry_holds() {
        let entries = [
            ("*", Verdict::Warn),
            ("shell.*", Verdict::Block),
            ("shell.git.*", Verdict::Confirm),
            ("shell.git.push", Verdict::Allow),
        ];
        let verdict = |id| closest(&entries, RuleTarget::Rule(id)).map(|(_, verdict)| verdict);
        assert_eq!(verdict("shell.git.push"), Some(Verdict::Allow));
        assert_eq!(verdict("shell.git.clean"), Some(Verdict::Confirm));
        assert_eq!(verdict("shell.github.x"), Some(Verdict::Block));
        assert_eq!(verdict("effect.files.x"), Some(Verdict::Warn));
    }

    #[test]
    fn a_star_stands_only_after_a_dot() {
        assert_eq!(reach("shell.git*", RuleTarget::Rule("shell.git.push")), None);
        assert_eq!(reach("shell", RuleTarget::Rule("shell.git.push")), None);
    }

    #[test]
    fn a_level_of_risk_means_this_or_worse() {
        let entries = [("risk.medium", Verdict::Warn), ("risk.critical", Verdict::Block)];
        let verdict =
            |level| closest(&entries, RuleTarget::Risk(level)).map(|(_, verdict)| verdict);
        assert_eq!(verdict(RiskLevel::Low), None);
        assert_eq!(verdict(RiskLevel::High), Some(Verdict::Warn));
        assert_eq!(verdict(RiskLevel::Critical), Some(Verdict::Block));
    }

    #[test]
    fn rules_kinds_and_risks_do_not_mix() {
        assert_eq!(reach("*", RuleTarget::Kind("shell")), None);
        assert_eq!(reach("*", RuleTarget::Risk(RiskLevel::High)), None);
        assert_eq!(reach("kind.shell", RuleTarget::Kind("shell")), Some(0));
        assert_eq!(reach("kind.shell", RuleTarget::Rule("kind.shell")), Some(usize::MAX));
    }
}
