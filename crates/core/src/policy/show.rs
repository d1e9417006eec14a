//! The effective settings of a policy, for `countersign config show`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::action::Action;
use crate::context::Context;
use crate::policy::Policy;
use crate::policy::layer::{By, Layer};
use crate::policy::profile::{Choice, Profile};
use crate::policy::rank::Rank;
use crate::policy::rule_target::RuleTarget;

/// The effective settings after all files are read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// The profile.
    pub profile: String,
    /// The files, most trusted first.
    pub files: Vec<String>,
    /// True when people are asked at all.
    pub enabled: bool,
    /// Seconds until silence is a refusal.
    pub approval_timeout: u32,
    /// The limits of a session, where there are any.
    pub limits: BTreeMap<String, u32>,
    /// Regular expressions over shell commands.
    pub custom_patterns: Vec<String>,
    /// Paths that ask before they are changed.
    pub sensitive_paths: Vec<String>,
    /// The profile's named settings.
    pub options: Vec<Setting>,
    /// Verdicts that differ from the rules' own.
    pub overrides: Vec<Setting>,
    /// The rules, families, kinds or risks that always ask.
    pub always: Vec<String>,
    /// The ids of configured rules.
    pub rules: Vec<String>,
}

/// One named verdict, and who set it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The name of the rule, family, kind, risk or option.
    pub name: String,
    /// The verdict it is set to.
    pub verdict: crate::verdict::Verdict,
    /// `profile`, `organisation`, `user` or `project`.
    pub layer: String,
}

impl Policy {
    /// Returns the effective settings after all files are read.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let layers = &self.layers;
        Settings {
            profile: self.profile.name.to_owned(),
            files: layers.iter().map(|layer| layer.file.clone()).collect(),
            enabled: layers.iter().all(|layer| layer.enabled != Some(false)),
            approval_timeout: self.settled_timeout(self.profile),
            limits: self.shown_limits(),
            custom_patterns: layers
                .iter()
                .filter_map(|layer| layer.patterns.as_ref())
                .flat_map(|patterns| patterns.texts().iter().cloned())
                .collect(),
            sensitive_paths: self.sensitive_paths.to_vec(),
            options: self.shown_options(),
            overrides: self.shown_overrides(),
            always: layers.iter().flat_map(|layer| layer.always.iter().cloned()).collect(),
            rules: layers
                .iter()
                .flat_map(|layer| layer.rules.iter())
                .map(|rule| rule.id.to_string())
                .collect(),
        }
    }

    /// Seconds until silence is a refusal for this action: a skill's own timeout, else the one of
    /// the policy. A project may shorten either.
    #[must_use]
    pub fn approval_timeout(&self, action: &Action, context: &Context) -> u32 {
        let profile = self.profile_in(context).unwrap_or(self.profile);
        let settled = self.settled_timeout(profile);
        let Action::Skill { skill, .. } = action else { return settled };
        let Some(own) = self.skill(skill).and_then(|skill| skill.timeout) else { return settled };
        let of_project = |layer: &&Layer| layer.rank == Rank::Project;
        let shorter = self.layers.iter().find(of_project).and_then(|layer| layer.approval_timeout);
        shorter.map_or(own, |seconds| own.min(seconds))
    }

    /// Reports whether a file or a skill sets the timeout of a question about this action, besides
    /// the profile.
    #[must_use]
    pub fn has_own_timeout(&self, action: &Action) -> bool {
        let of_skill = match action {
            Action::Skill { skill, .. } => self.skill(skill).and_then(|skill| skill.timeout),
            _ => None,
        };
        of_skill.is_some() || self.layers.iter().any(|layer| layer.approval_timeout.is_some())
    }

    /// The same when no person is present to answer: longer, where the profile says so and no file
    /// or skill sets a timeout.
    #[must_use]
    pub fn approval_timeout_away(&self, action: &Action, context: &Context) -> u32 {
        // A file that sets exactly the profile's own timeout has set it too.
        if self.has_own_timeout(action) {
            return self.approval_timeout(action, context);
        }
        self.profile_in(context).unwrap_or(self.profile).approval_timeout_away
    }

    fn settled_timeout(&self, profile: &Profile) -> u32 {
        let set = self.layers.iter().rev().find_map(|layer| layer.approval_timeout);
        set.unwrap_or(profile.approval_timeout)
    }

    fn shown_limits(&self) -> BTreeMap<String, u32> {
        let limits = self.limits(None).unwrap_or_default().entries();
        limits.into_iter().filter_map(|(name, limit)| Some((name.to_owned(), limit?))).collect()
    }

    fn shown_options(&self) -> Vec<Setting> {
        let options = self.profile.options.iter();
        let rule_of =
            |option: &'static Choice| option.rules.first().map(|rule| (option.name, rule));
        options
            .filter_map(rule_of)
            .map(|(name, rule)| {
                let ruling = self.before(RuleTarget::Rule(rule), None);
                let layer = match ruling.by {
                    By::Entry(layer, _) => layer.rank.as_str(),
                    _ => "profile",
                };
                Setting { name: name.to_owned(), verdict: ruling.verdict, layer: layer.to_owned() }
            })
            .collect()
    }

    fn shown_overrides(&self) -> Vec<Setting> {
        let of_profile = self.profile.verdicts.iter().map(|(name, verdict)| Setting {
            name: (*name).to_owned(),
            verdict: *verdict,
            layer: "profile".to_owned(),
        });
        let of_files = self.layers.iter().flat_map(|layer| {
            layer.overrides.iter().map(|(name, verdict)| Setting {
                name: name.clone(),
                verdict: *verdict,
                layer: layer.rank.as_str().to_owned(),
            })
        });
        of_profile.chain(of_files).collect()
    }
}
