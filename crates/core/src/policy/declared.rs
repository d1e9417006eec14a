//! Apps and their skills, as configuration files declare them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::app::{self, Access, Skill};
use crate::policy::Policy;
use crate::policy::choice::app_of;
use crate::policy::config::{self, SourceRef};
use crate::policy::error::ConfigError;
use crate::policy::spot::To;

impl Policy {
    /// Returns the declaration of `app.skill`, by the most trusted file that has one.
    #[must_use]
    pub fn skill(&self, id: &str) -> Option<Skill> {
        let configured = self.layers.iter().find_map(|layer| layer.skills.get(id));
        configured.copied().or_else(|| app::find(id))
    }

    /// The ids of every declared skill.
    #[must_use]
    pub fn skill_ids(&self) -> BTreeSet<String> {
        let configured = self.layers.iter().flat_map(|layer| layer.skills.keys().cloned());
        let ours = app::apps().iter().flat_map(|app| {
            app.skills.iter().map(move |(skill, ..)| format!("{}.{skill}", app.id))
        });
        configured.chain(ours).collect()
    }

    /// The provider that serves the app of a skill, for limits by provider; the app itself unless
    /// declared.
    #[must_use]
    pub fn provider<'a>(&'a self, skill: &'a str) -> &'a str {
        let app = app_of(skill);
        // The most trusted file that declares an app names its provider: a less trusted one could
        // otherwise get around a provider's limit by giving it another name.
        let declared = self.layers.iter().find_map(|layer| layer.providers.get(app));
        match declared {
            Some(Some(provider)) => provider,
            Some(None) | None => app::provider(app).unwrap_or(app),
        }
    }
}

/// One app as written.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AppRow {
    /// The name for a person.
    #[expect(dead_code, reason = "for people who read the file; cards show the id")]
    #[serde(default)]
    name: Option<String>,
    /// The provider that serves it, for limits by provider; the app itself unless said.
    #[serde(default)]
    pub(super) provider: Option<String>,
    /// Its skills, by the part of their id after the dot.
    skills: BTreeMap<String, SkillRow>,
}

/// One skill as written.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillRow {
    /// The name for a person.
    #[expect(dead_code, reason = "for people who read the file; cards show the id")]
    #[serde(default)]
    name: Option<String>,
    /// `read`, `write` or `sensitive`.
    access: Access,
    /// True when a person is asked; unless said, about all that does not just read.
    #[serde(default)]
    confirm: Option<bool>,
    /// Seconds until silence is a refusal.
    #[serde(default)]
    timeout: Option<u32>,
}

impl From<SkillRow> for Skill {
    fn from(row: SkillRow) -> Self {
        let confirm = row.confirm.unwrap_or(row.access != Access::Read);
        Self { access: row.access, confirm, timeout: row.timeout }
    }
}

/// Reads the skills that a file declares.
pub(super) fn read(
    apps: BTreeMap<String, AppRow>,
    at: SourceRef<'_>,
) -> Result<BTreeMap<String, Skill>, ConfigError> {
    let mut skills = BTreeMap::new();
    for (app, row) in apps {
        for (skill, row) in row.skills {
            let path = [To::Key("apps"), To::Key(&app), To::Key("skills"), To::Key(&skill)];
            config::check_timeout(row.timeout, "timeout", &path, at)?;
            skills.insert(format!("{app}.{skill}"), row.into());
        }
    }
    Ok(skills)
}

/// Skills before which a person is asked because the file says `confirm: true`.
pub(super) fn asking_skills(apps: &BTreeMap<String, AppRow>) -> BTreeSet<String> {
    let skills = apps.iter().flat_map(|(app, row)| {
        row.skills.iter().map(move |(skill, row)| (format!("{app}.{skill}"), row.confirm))
    });
    skills.filter(|(_, confirm)| *confirm == Some(true)).map(|(id, _)| id).collect()
}
