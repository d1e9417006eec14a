//! The effective settings of a policy, line by line, each with the layer it comes from. And its
//! digest.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use crate::digest;
use crate::policy::Policy;
use crate::policy::layer::Layer;
use crate::policy::rank::Rank;
use crate::verdict::Verdict;

/// One thing that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    /// The name of the setting: `profile`, `safety.enabled`, `overrides.shell.git.*`.
    pub name: String,
    /// The value it is set to.
    pub value: String,
    /// `default`, `profile`, `organisation`, `workspace`, `user` or `project`.
    pub layer: &'static str,
}

/// The layer of settings that no file sets.
const DEFAULT: &str = "default";
/// The layer of settings from the built-in profile.
const PROFILE: &str = "profile";

impl Policy {
    /// All effective settings, each with the layer it comes from. Ignored entries are left out:
    /// [`Policy::notices`] lists them.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = vec![self.profile_line(), self.enabled_line(), self.timeout_line()];
        lines.extend(self.limit_lines());
        let settings = self.settings();
        lines.extend(settings.options.into_iter().map(|setting| Line {
            name: format!("options.{}", setting.name),
            value: setting.verdict.as_str().to_owned(),
            layer: rank_named(&setting.layer),
        }));
        lines.extend(self.verdict_lines());
        lines.extend(self.listed_lines());
        lines
    }

    /// The SHA-256 of the content of the layers, in hex: the same on every machine with the same
    /// policy, wherever the files are and whatever their formatting.
    #[must_use]
    pub fn digest(&self) -> String {
        let layers: Vec<_> =
            self.layers.iter().map(|layer| json!([layer.rank.as_str(), layer.written])).collect();
        digest::of_value(&json!({"profile": self.profile.name, "layers": layers}))
    }

    fn profile_line(&self) -> Line {
        let set = self
            .layers
            .iter()
            .find(|layer| layer.profile.is_some_and(|profile| profile.name == self.profile.name));
        line("profile", self.profile.name, set.map_or(DEFAULT, of))
    }

    fn enabled_line(&self) -> Line {
        let off = self.layers.iter().find(|layer| layer.enabled == Some(false));
        let on = self.layers.iter().find(|layer| layer.enabled == Some(true));
        let layer = off.or(on).map_or(DEFAULT, of);
        line("safety.enabled", if off.is_some() { "false" } else { "true" }, layer)
    }

    fn timeout_line(&self) -> Line {
        let set = self.layers.iter().rev().find(|layer| layer.approval_timeout.is_some());
        let seconds = self.settings().approval_timeout.to_string();
        line("safety.approval_timeout", &seconds, set.map_or(PROFILE, of))
    }

    fn limit_lines(&self) -> Vec<Line> {
        let limits = self.limits(None).unwrap_or_default().entries();
        let of_limit = |(name, limit): (&str, Option<u32>)| {
            let limit = limit?;
            let set = self.layers.iter().find(|layer| {
                layer.limits.entries().into_iter().any(|entry| entry == (name, Some(limit)))
            });
            Some(line(&format!("limits.{name}"), &limit.to_string(), set.map_or(PROFILE, of)))
        };
        limits.into_iter().filter_map(of_limit).collect()
    }

    /// Overrides and defaults: for the same words, the entry of the last layer that is followed.
    fn verdict_lines(&self) -> Vec<Line> {
        let mut lines: BTreeMap<String, Line> = BTreeMap::new();
        let mut set = |section: &str, words: &str, verdict: Verdict, layer| {
            let name = format!("{section}.{words}");
            lines.insert(name.clone(), line(&name, verdict.as_str(), layer));
        };
        for (words, verdict) in self.profile.verdicts {
            set("overrides", words, *verdict, PROFILE);
        }
        for layer in self.layers.iter() {
            let Layer { overrides, danger_overrides, .. } = layer;
            for (section, entries) in
                [("overrides", overrides), ("danger_overrides", danger_overrides)]
            {
                let heard = |words: &String| !layer.unheard.contains(&format!("{section}.{words}"));
                for (words, verdict) in entries.iter().filter(|(words, _)| heard(words)) {
                    set(section, words, *verdict, of(layer));
                }
            }
        }
        let mut lines: Vec<_> = lines.into_values().collect();
        // Each file's list is a separate requirement, so none replaces another.
        lines.extend(self.layers.iter().flat_map(|layer| {
            let one = |(kind, verdict): &(String, Verdict)| {
                line(&format!("defaults.{kind}"), verdict.as_str(), of(layer))
            };
            layer.defaults.iter().map(one)
        }));
        lines
    }

    /// The settings that accumulate over the layers.
    fn listed_lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for layer in self.layers.iter() {
            let mut add = |name: &str, values: Vec<String>| {
                lines.extend(values.iter().map(|value| line(name, value, of(layer))));
            };
            add("always", layer.always.clone());
            if let Some(rules) = &layer.auto_confirm {
                add(
                    "auto_confirm",
                    if rules.is_empty() { vec!["nothing".to_owned()] } else { rules.clone() },
                );
            }
            add("lock", layer.locks.iter().map(|lock| lock.as_str().to_owned()).collect());
            let patterns = layer.patterns.as_ref();
            add(
                "safety.custom_patterns",
                patterns.map_or_else(Vec::new, |all| all.texts().to_vec()),
            );
            add("safety.sensitive_paths", layer.sensitive_paths.clone());
            add("rules", layer.rules.iter().map(|rule| rule.id.to_string()).collect());
            add("apps", layer.skills.keys().cloned().collect());
        }
        lines
    }
}

fn line(name: &str, value: &str, layer: &'static str) -> Line {
    Line { name: name.to_owned(), value: value.to_owned(), layer }
}

const fn of(layer: &Layer) -> &'static str {
    layer.rank.as_str()
}

fn rank_named(name: &str) -> &'static str {
    let rank = Rank::ALL.into_iter().find(|rank| rank.as_str() == name);
    rank.map_or(PROFILE, Rank::as_str)
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::load;

    fn lines(files: [&str; 3]) -> Vec<(String, String, &'static str)> {
        let lines = load(files).unwrap().lines().into_iter();
        lines.map(|line| (line.name, line.value, line.layer)).collect()
    }

    #[test]
    fn every_line_names_the_layer_that_holds() {
        let organisation = "profile: coding-agent\nsafety: {approval_timeout: 60}\n\
                            overrides: {shell.git.force-push: block}\nlimits: {steps: 10}\n\
                            lock: [autonomous]";
        let user = "safety: {approval_timeout: 600}\nlimits: {steps: 20, errors: 3}\n\
                    overrides: {shell.git.force-push: allow, shell.git.reset-hard: allow}";
        let project = "overrides: {shell.git.reset-hard: block}\nalways: [kind.code]";
        let lines = lines([organisation, user, project]);
        for (name, value, layer) in [
            ("profile", "coding-agent", "organisation"),
            ("safety.enabled", "true", "default"),
            ("safety.approval_timeout", "60", "organisation"),
            ("limits.steps", "10", "organisation"),
            ("limits.errors", "3", "user"),
            ("limits.files", "1000", "profile"),
            ("options.recoverable", "confirm", "profile"),
            ("overrides.shell.git.force-push", "block", "organisation"),
            ("overrides.shell.git.reset-hard", "block", "project"),
            ("always", "kind.code", "project"),
            ("lock", "autonomous", "organisation"),
        ] {
            let wanted = (name.to_owned(), value.to_owned(), layer);
            assert_eq!(
                lines.iter().filter(|line| **line == wanted).count(),
                1,
                "{wanted:?} {lines:?}"
            );
        }
        let pushes = lines.iter().filter(|(name, ..)| name.contains("force-push"));
        assert_eq!(pushes.count(), 1, "what is passed over does not hold");
    }

    #[test]
    fn the_digest_is_of_what_is_said_and_not_of_how() {
        let digest = |files| load(files).unwrap().digest();
        let one = digest(["", "overrides: {kind.shell: warn, kind.code: block}", ""]);
        let same = "# mine\noverrides:\n  kind.code: 'block'\n  kind.shell: warn\ngate: {}\n";
        assert_eq!(one, digest(["", same, ""]));
        assert_ne!(one, digest(["overrides: {kind.shell: warn, kind.code: block}", "", ""]));
        assert_ne!(one, digest(["", "overrides: {kind.shell: warn}", ""]));
        assert_ne!(one, digest(["", same, "overrides: {kind.shell: block}"]));
    }
}
