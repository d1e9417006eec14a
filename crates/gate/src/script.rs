//! The files that an action runs: an approval is bound to their content, too.

use countersign_core::digest::of_value;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::bytes::Hash;

/// A file that an action runs, by what is in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The path of the file.
    pub path: String,
    /// SHA-256 of what is in it.
    pub sha256: Hash,
}

impl Script {
    /// A script with this content.
    #[must_use]
    pub fn new(path: &str, content: &[u8]) -> Self {
        Self { path: path.to_owned(), sha256: Hash(Sha256::digest(content).into()) }
    }
}

/// The digest to which an approval is bound: the action, and the content of the scripts it runs.
pub(crate) fn binding(digest: &str, scripts: &[Script]) -> String {
    if scripts.is_empty() {
        return digest.to_owned();
    }
    let mut scripts = scripts.to_vec();
    scripts.sort();
    of_value(&json!({"action": digest, "scripts": scripts}))
}
