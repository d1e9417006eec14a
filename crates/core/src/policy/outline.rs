//! An overview of a policy: the settings of each layer, in the order in which they are applied.

use crate::policy::Policy;
use crate::policy::layer::Layer;
use crate::policy::profile::{Limits, Profile};
use crate::rule;
use crate::verdict::Verdict;

/// The settings of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// `hard-block`, `profile:coding-agent`, `organisation`, `workspace`, `user` or `project`.
    pub layer: String,
    /// The file it comes from, if it is one.
    pub file: Option<String>,
    /// The settings and their values.
    pub entries: Vec<(String, String)>,
}

impl Policy {
    /// The settings of each layer, in the order in which they are applied.
    #[must_use]
    pub fn outline(&self) -> Vec<Outline> {
        let hard = rule::rules().iter().filter(|rule| rule.hard);
        let hard = hard.map(|rule| (rule.id.to_string(), rule.title.to_string())).collect();
        let compiled = Outline { layer: "hard-block".to_owned(), file: None, entries: hard };
        let profile = Outline {
            layer: format!("profile:{}", self.profile.name),
            file: None,
            entries: of_profile(self.profile),
        };
        let files = self.layers.iter().map(|layer| Outline {
            layer: layer.rank.as_str().to_owned(),
            file: Some(layer.file.clone()),
            entries: of_layer(layer),
        });
        [compiled, profile].into_iter().chain(files).collect()
    }
}

fn verdict((name, verdict): &(impl ToString, Verdict)) -> (String, String) {
    (name.to_string(), verdict.as_str().to_owned())
}

fn of_profile(profile: &Profile) -> Vec<(String, String)> {
    let mut entries = vec![("for".to_owned(), profile.title.to_owned())];
    entries.push(("families".to_owned(), profile.families.join(", ")));
    entries.extend(profile.verdicts.iter().map(verdict));
    let in_mode = |mode: &str, rows: &[(&'static str, Verdict)]| {
        let row =
            |(name, said): &(&str, Verdict)| (format!("{mode}: {name}"), said.as_str().to_owned());
        rows.iter().map(row).collect::<Vec<_>>()
    };
    entries.extend(in_mode("explore", profile.explore));
    entries.extend(in_mode("task", profile.task));
    let option = |option: &crate::policy::profile::Choice| {
        (format!("option {}", option.name), option.verdict.as_str().to_owned())
    };
    entries.extend(profile.options.iter().map(option));
    let always = profile.always.rules.iter();
    entries.extend(always.map(|rules| ("always".to_owned(), (*rules).to_owned())));
    entries.push(("approval_timeout".to_owned(), format!("{} s", profile.approval_timeout)));
    entries.extend(limits(&profile.limits));
    entries
}

fn limits(limits: &Limits) -> impl Iterator<Item = (String, String)> {
    let set = |(name, limit): (&str, Option<u32>)| {
        limit.map(|limit| (format!("limit {name}"), limit.to_string()))
    };
    limits.entries().into_iter().filter_map(set)
}

fn of_layer(layer: &Layer) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let mut set = |name: &str, value: Option<String>| {
        entries.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("profile", layer.profile.map(|profile| profile.name.to_owned()));
    set("enabled", layer.enabled.map(|enabled| enabled.to_string()));
    set("approval_timeout", layer.approval_timeout.map(|seconds| format!("{seconds} s")));
    entries.extend(limits(&layer.limits));
    entries.extend(layer.overrides.iter().map(verdict));
    let named = |section: &'static str| {
        move |(name, said): &(String, Verdict)| {
            (format!("{section} {name}"), said.as_str().to_owned())
        }
    };
    entries.extend(layer.danger_overrides.iter().map(named("danger override")));
    entries.extend(layer.defaults.iter().map(named("default")));
    let rules = layer.auto_confirm.iter().flatten();
    entries.extend(rules.map(|rule| ("auto_confirm".to_owned(), rule.clone())));
    let locks = layer.locks.iter();
    entries.extend(locks.map(|lock| ("lock".to_owned(), lock.as_str().to_owned())));
    let options = layer.options.iter();
    entries
        .extend(options.map(|(name, said)| (format!("option {name}"), said.as_str().to_owned())));
    entries.extend(layer.always.iter().map(|name| ("always".to_owned(), name.clone())));
    entries.extend(
        layer.sensitive_paths.iter().map(|path| ("sensitive path".to_owned(), path.clone())),
    );
    let skill = |(id, skill): (&String, &crate::app::Skill)| {
        let asks = if skill.confirm { "asks" } else { "does not ask" };
        (format!("skill {id}"), asks.to_owned())
    };
    entries.extend(layer.skills.iter().map(skill));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Source, Sources};

    #[test]
    fn every_layer_says_what_it_sets() {
        let text = "overrides: {shell.git.*: warn}\nsafety: {sensitive_paths: [secret/]}";
        let user = Source { name: "mine.yaml".to_owned(), text: text.to_owned() };
        let policy = Policy::load(&Sources { user: Some(user), ..Sources::default() }).unwrap();
        let outline = policy.outline();
        let names: Vec<_> = outline.iter().map(|layer| layer.layer.as_str()).collect();
        assert_eq!(names, ["hard-block", "profile:coding-agent", "user"]);
        let wanted = ("shell.git.*".to_owned(), "warn".to_owned());
        assert!(outline.last().unwrap().entries.contains(&wanted), "{outline:?}");
        assert!(!outline.first().unwrap().entries.is_empty());
    }
}
