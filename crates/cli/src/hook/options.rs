//! What the configuration says about hooks. A project's file says nothing.

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{self, Layer};

/// The section `hook` of the organisation's and the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Hook")]
pub(crate) struct Options {
    /// The server that asks a person, as a URL or the path of its socket, instead of the one in
    /// the data folder. `$COUNTERSIGN_KEY` holds the key for a URL.
    pub(crate) server: Option<String>,
    /// Starts a server when none runs and a person must be asked.
    pub(crate) start_server: bool,
    /// Sends every action through the server, so that all of them are on record. Costs a round
    /// trip for each, and without a server nothing runs.
    pub(crate) record: bool,
    /// The public key of the server (`cspk_…`) whose organisation policy holds on this machine.
    /// It is fetched from `server`, kept in the data folder, and checked by this key.
    pub(crate) policy_key: Option<String>,
    /// Seconds after which a newer policy is asked for; 300 unless said.
    pub(crate) policy_refresh: Option<u32>,
    /// Seconds after which a policy is too old to be used, and nothing is judged without a newer
    /// one; 86400 unless said.
    pub(crate) policy_max_age: Option<u32>,
}

impl Options {
    /// What these layers say.
    ///
    /// # Errors
    /// One of them is wrong.
    pub(crate) fn read(layers: &[Layer]) -> Result<Self> {
        // Nothing to read, nothing to parse: this is the path of almost every hook.
        if layers.iter().all(|layer| layer.text.is_none()) {
            return Ok(Self::default());
        }
        Ok(settings::hook_of(layers.to_vec())?.unwrap_or_default())
    }
}
