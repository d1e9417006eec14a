//! The files that an action runs: an approval is bound to their content, too.

use serde::{Deserialize, Serialize};
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

/// The script as it is sent to people and workers.
impl From<&Script> for countersign_wire::Script {
    fn from(script: &Script) -> Self {
        Self { path: script.path.clone(), sha256: script.sha256.to_string() }
    }
}

/// The digest to which an approval is bound: the action, and the content of the scripts it runs.
pub(crate) fn binding(digest: &str, scripts: &[Script]) -> String {
    let scripts: Vec<_> = scripts.iter().map(countersign_wire::Script::from).collect();
    countersign_wire::work::binding(digest, &scripts)
}
