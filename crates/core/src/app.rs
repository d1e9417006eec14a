//! Apps and their skills, as they are declared.
//!
//! Ours are compiled from `apps/*.yaml`; an organisation's and a user's have the same shape under
//! `apps:` in their configuration. A skill nobody declared is judged by its name alone.

use serde::{Deserialize, Serialize};

/// The kind of access that a skill needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Looks, and changes nothing.
    Read,
    /// Changes something.
    Write,
    /// Pays, deletes, shares or shows what is private; its details are sealed where they wait.
    Sensitive,
}

/// One skill of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skill {
    /// The kind of access it needs.
    pub access: Access,
    /// True when a person is asked.
    pub confirm: bool,
    /// Seconds until silence is a refusal, where not the profile's.
    pub timeout: Option<u32>,
}

/// One declared app.
#[derive(Debug)]
pub struct App {
    /// The prefix of its skills' ids.
    pub id: &'static str,
    /// The name for a person.
    pub name: &'static str,
    /// The company that serves it, for limits by provider.
    pub provider: &'static str,
    /// Its skills, by id and name, sorted by id.
    pub skills: &'static [(&'static str, &'static str, Skill)],
}

include!(concat!(env!("OUT_DIR"), "/apps.rs"));

/// All declared apps.
#[must_use]
pub fn apps() -> &'static [App] {
    APPS
}

/// Returns the declaration of `app.skill`.
#[must_use]
pub fn find(id: &str) -> Option<Skill> {
    let (app, skill) = id.split_once('.')?;
    let app = APPS.iter().find(|known| known.id == app)?;
    let at = app.skills.binary_search_by(|(known, ..)| (*known).cmp(skill)).ok()?;
    app.skills.get(at).map(|(.., skill)| *skill)
}

/// Returns the provider of a declared app.
#[must_use]
pub fn provider(app: &str) -> Option<&'static str> {
    APPS.iter().find(|known| known.id == app).map(|known| known.provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_are_found_by_their_whole_id() {
        assert_eq!(find("email.read").map(|skill| skill.access), Some(Access::Read));
        assert_eq!(find("email.send").map(|skill| skill.confirm), Some(true));
        for id in ["email", "email.", ".send", "email.send.now", "Email.send", "mail.send"] {
            assert_eq!(find(id), None, "{id}");
        }
    }

    #[test]
    fn nothing_sensitive_goes_unasked() {
        for (id, _, skill) in apps().iter().flat_map(|app| app.skills) {
            assert!(skill.confirm || skill.access != Access::Sensitive, "{id}");
            assert!(!skill.confirm || skill.access != Access::Read, "{id}");
            assert!(skill.timeout.is_none_or(|seconds| (1..=86_400).contains(&seconds)), "{id}");
        }
    }
}
