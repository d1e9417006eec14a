//! Profiles: one policy file per kind of agent, compiled in.
//!
//! To add one, add `profiles/<name>.yaml`; the code never depends on the name of a profile.

use serde::{Deserialize, Serialize};

use crate::context::Mode;
use crate::policy::rank::Rank;
use crate::policy::rule_target::{RuleTarget, closest, reach};
use crate::verdict::{Category, Finding, RiskLevel, Verdict};

include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// The profile of a policy without a configuration.
pub(crate) static DEFAULT: &Profile = &CODING_AGENT;

/// One built-in profile.
#[derive(Debug)]
pub struct Profile {
    /// The name configurations and contexts use.
    pub name: &'static str,
    /// The kind of agent it is for.
    pub title: &'static str,
    /// Rule families that are on; hard blocks are on everywhere.
    pub families: &'static [&'static str],
    /// The verdicts that nothing lowers.
    pub always: Always,
    /// Verdicts that differ from the rules' own.
    pub verdicts: &'static [(&'static str, Verdict)],
    /// More of them in explore mode.
    pub explore: &'static [(&'static str, Verdict)],
    /// More of them in task mode.
    pub task: &'static [(&'static str, Verdict)],
    /// Named settings, each for a few rules.
    pub options: &'static [Choice],
    /// Seconds until silence is a refusal.
    pub approval_timeout: u32,
    /// The same when no person is present to answer.
    pub approval_timeout_away: u32,
    /// The limits of a session.
    pub limits: Limits,
}

/// The limits of a session. `None` is without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Actions in explore mode, refused ones too.
    pub steps_exploring: Option<u32>,
    /// Actions in task mode, refused ones too.
    pub steps: Option<u32>,
    /// Pictures of the screen.
    pub screenshots: Option<u32>,
    /// Files.
    pub files: Option<u32>,
    /// Errors; at so many the session ends.
    pub errors: Option<u32>,
    /// Seconds one action may take.
    pub step_seconds: Option<u32>,
    /// Seconds a download may take.
    pub download_seconds: Option<u32>,
    /// Seconds the session may last.
    pub session_seconds: Option<u32>,
    /// Actions per minute.
    pub actions_per_minute: Option<u32>,
    /// Sessions per hour and user.
    pub sessions_per_hour: Option<u32>,
    /// Sessions of a user at the same time.
    pub sessions_at_once: Option<u32>,
}

/// The verdicts that nothing lowers, besides the hard blocks.
#[derive(Debug)]
pub struct Always {
    /// These ask at least.
    pub rules: &'static [&'static str],
    /// Findings of these keep their verdict.
    pub categories: &'static [Category],
    /// From this risk on, a person is asked at least.
    pub risk: Option<RiskLevel>,
}

/// A named setting of a profile.
#[derive(Debug)]
pub struct Choice {
    /// The name in configurations.
    pub name: &'static str,
    /// The verdict when no configuration sets it.
    pub verdict: Verdict,
    /// The rules that it applies to.
    pub rules: &'static [&'static str],
}

impl Profile {
    /// Every built-in profile.
    #[must_use]
    pub fn all() -> &'static [&'static Self] {
        PROFILES
    }

    /// The profile with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }

    /// The option that applies to this rule.
    pub(crate) fn option_for(&self, target: RuleTarget<'_>) -> Option<&'static Choice> {
        self.options
            .iter()
            .find(|option| option.rules.iter().any(|words| reach(words, target).is_some()))
    }

    /// This profile's verdict on a subject, and the entry it comes from.
    pub(crate) fn word(
        &self,
        target: RuleTarget<'_>,
        mode: Option<Mode>,
    ) -> Option<(&'static str, Verdict)> {
        let in_mode = match mode {
            Some(Mode::Explore) => self.explore,
            Some(Mode::Task) | None => self.task,
        };
        closest(in_mode, target)
            .or_else(|| closest(self.verdicts, target))
            .or_else(|| self.option_for(target).map(|option| (option.name, option.verdict)))
    }

    /// Reports whether an entry for explore mode applies to this subject in this mode.
    pub(crate) fn explores(&self, target: RuleTarget<'_>, mode: Option<Mode>) -> bool {
        mode == Some(Mode::Explore) && closest(self.explore, target).is_some()
    }

    /// Reports whether this profile lets nothing lower its verdict on this.
    pub(crate) fn holds(&self, target: RuleTarget<'_>, finding: Option<&Finding>) -> bool {
        self.asks_always(target)
            || finding.is_some_and(|finding| self.always.categories.contains(&finding.category))
    }

    /// Reports whether this profile always requires a person to agree to this.
    pub(crate) fn asks_always(&self, target: RuleTarget<'_>) -> bool {
        let risky = match (target, self.always.risk) {
            (RuleTarget::Risk(level), Some(from)) => level >= from,
            _ => false,
        };
        risky || self.always.rules.iter().any(|words| reach(words, target).is_some())
    }

    /// Drops findings of families that are off, and returns their number. Hard blocks and
    /// configured rules are never off.
    pub(crate) fn leave_out(&self, findings: &mut Vec<Finding>) -> usize {
        if matches!(self.families, ["*"]) {
            return 0;
        }
        let before = findings.len();
        findings.retain(|finding| {
            finding.hard
                || Rank::of_rule(&finding.rule).is_some()
                || self
                    .families
                    .iter()
                    .any(|words| reach(words, RuleTarget::Rule(&finding.rule)).is_some())
        });
        before.saturating_sub(findings.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::known;
    use crate::policy::testing::{bare_profile, finding};

    #[test]
    fn the_default_is_the_coding_agent() {
        assert_eq!(DEFAULT.name, "coding-agent");
        assert!(Profile::named("coding-agent").is_some());
        assert!(Profile::named("Coding-Agent").is_none());
    }

    #[test]
    fn profiles_name_only_what_exists() {
        for profile in Profile::all() {
            let verdicts = [profile.verdicts, profile.explore, profile.task].concat();
            let words = verdicts
                .iter()
                .map(|(words, _)| words)
                .chain(profile.families)
                .chain(profile.always.rules);
            for words in words {
                assert_eq!(known::check(words, &[]), Ok(()), "{}", profile.name);
            }
        }
    }

    /// The rules of the two options come with the family `effect.files`.
    #[test]
    fn options_name_rules_that_exist() {
        if known::check("effect.files.*", &[]).is_err() {
            return;
        }
        for option in Profile::all().iter().flat_map(|profile| profile.options) {
            assert!(option.verdict <= Verdict::Confirm, "{}", option.name);
            for words in option.rules {
                assert_eq!(known::check(words, &[]), Ok(()), "{}", option.name);
            }
        }
    }

    #[test]
    fn a_family_that_is_off_finds_nothing_but_hard_blocks() {
        let quiet = Profile { families: &["effect.doubt.*"], ..bare_profile() };
        let mut findings: Vec<_> =
            ["shell.x.hard", "shell.x.soft", "effect.doubt.unparsed", "user.a"]
                .into_iter()
                .map(|id| finding(id, Verdict::Block))
                .collect();
        findings[0].hard = true;
        assert_eq!(quiet.leave_out(&mut findings), 1);
        assert!(findings.iter().all(|finding| finding.rule != "shell.x.soft"));
        assert_eq!(DEFAULT.leave_out(&mut findings), 0);
    }
}
