//! The circumstances of an action: its folder, its user, and the facts that were looked up.
//!
//! The core looks nothing up itself. Facts that need I/O (a symlink's target, whether git has the
//! file) are gathered by the caller and passed in here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The circumstances of an action.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Context {
    /// The folder it would run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The user's home folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The folder the agent was given to work in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The profile to judge by, when not the policy's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Explore or task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Origins the agent may open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_origins: Option<Vec<String>>,
    /// The URL that relative ones are resolved against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Paths the caller has looked at.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, PathFacts>,
    /// Paths the caller calls sensitive, besides those of the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitive_paths: Vec<String>,
    /// Countersign's own program on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_program: Option<String>,
    /// Countersign's own data folder on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_data: Option<String>,
    /// Folders in which hosts keep their settings on this machine instead of the usual ones below
    /// the home folder: `/srv/claude` instead of `.claude`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub host_settings: BTreeMap<String, String>,
    /// Addresses the caller has resolved, by domain.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub addresses: BTreeMap<String, Vec<String>>,
    /// The digests of the tool definitions that were agreed to, by `server/tool`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pinned_tools: BTreeMap<String, String>,
    /// True when the paths of this action will be percent-decoded before use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths_will_be_decoded: Option<bool>,
    /// The caller's confidence that this is the agent's intention, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Earlier answers of people to this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// A bounded run only looks, or works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Look, change nothing.
    Explore,
    /// Do the work.
    Task,
}

/// The facts that the caller found out about one path.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and a field of JSON")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct PathFacts {
    /// The real path, after every symlink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolves_to: Option<String>,
    /// Tracked by git, without changes: deleting it loses nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tracked_clean: bool,
    /// Ignored by git: build output or the like.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
    /// A folder that nothing is in, or nothing at all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Made by this agent in this session, with everything in it, and not known to git: deleting
    /// it loses nothing that was there before. Never taken from the agent itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub made_in_session: bool,
}

/// The numbers of yes and no answers to this agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct History {
    /// The number of yes answers.
    pub approved: u32,
    /// The number of no answers.
    pub rejected: u32,
}
