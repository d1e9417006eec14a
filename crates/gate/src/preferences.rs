//! The preferences of a user: autonomy, choices per app and skill, logging, retention.

use countersign_core::policy::SkillChoices;
use serde::{Deserialize, Serialize};

use crate::document::{Document, IndexKeys};
use crate::id::UserId;
use crate::store::Kind;

/// The preferences of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "UserSettings"))]
#[serde(deny_unknown_fields)]
pub struct Preferences {
    /// The user.
    pub user: UserId,
    /// Everything is confirmed without asking, except what always asks.
    #[serde(default)]
    pub autonomous: bool,
    /// Their own choices per app and skill.
    #[serde(default)]
    pub skills: SkillChoices,
    /// The amount that goes on record.
    #[serde(default)]
    pub logging: Logging,
    /// Programs with a key ask too.
    #[serde(default)]
    pub confirm_programs: bool,
    /// Days until their records lose their content, where sooner than everybody's.
    #[serde(default)]
    pub retention_days: Option<u32>,
}

/// The amount that goes on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Logging {
    /// The kind of action, its time, its key, and its outcome.
    #[default]
    Minimal,
    /// Also what exactly, redacted, and why.
    Enhanced,
}

impl Preferences {
    /// The defaults for a user without preferences.
    #[must_use]
    pub fn of(user: UserId) -> Self {
        Self {
            user,
            autonomous: false,
            skills: SkillChoices::default(),
            logging: Logging::Minimal,
            confirm_programs: false,
            retention_days: None,
        }
    }
}

impl Document for Preferences {
    const KIND: Kind = Kind::Settings;

    fn id(&self) -> &str {
        self.user.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys { owner: Some(self.user.as_str()), state: "set", ..IndexKeys::default() }
    }
}
