//! The latest proof of a machine about itself: that its hooks guard, its policy and version, and
//! that its clock can be trusted. `countersign doctor` sends it to the server.
//!
//! It is the machine's own statement, bound to its key and, if the key is bound to one, to its
//! device. No decision depends on it.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::document::{Document, IndexKeys};
use crate::id::{DeviceId, KeyId, UserId, WorkspaceId};
use crate::redacted;
use crate::store::Kind;

/// The most hosts and problems of one proof, and the longest text in it.
const MOST: usize = 32;
const LONGEST: usize = 300;

/// A machine's statement about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The name of the machine.
    pub machine: String,
    /// The version of Countersign there.
    pub version: String,
    /// The digest of the policy in force there, where it is known.
    #[serde(default)]
    pub policy_digest: Option<String>,
    /// The milliseconds by which its clock is ahead of the server's.
    pub clock_skew_ms: i64,
    /// The hosts that have a hook, and whether it guards.
    pub hosts: Vec<ProvedHost>,
    /// Decisions that were made without the server and are not delivered yet.
    #[serde(default)]
    pub undelivered: u64,
    /// The problems found there; empty, if everything was proved.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// A host that has a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProvedHost {
    /// The host.
    pub host: String,
    /// True when harmful actions are stopped there and harmless ones are not.
    pub guards: bool,
}

/// The latest proof of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The id: that of its device, or made of its user and its name.
    pub id: String,
    /// The user whose key it used.
    pub user: UserId,
    /// The workspace of the key.
    pub workspace: WorkspaceId,
    /// The key.
    pub key: Option<KeyId>,
    /// The device, if the key is bound to one.
    pub device: Option<DeviceId>,
    /// The time of the proof, by the gate's clock.
    pub proved_at: Timestamp,
    /// The proof.
    pub proof: Proof,
}

impl Proof {
    /// Reports whether everything was proved.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && self.hosts.iter().all(|host| host.guards)
    }

    /// The same, shortened and redacted.
    pub(crate) fn redacted(self) -> Self {
        // Masked first: half a secret is not recognised.
        let text = |text: &str| -> String { redacted::text(text).chars().take(LONGEST).collect() };
        let host = |host: ProvedHost| ProvedHost { host: text(&host.host), ..host };
        Self {
            machine: text(&self.machine),
            version: text(&self.version),
            policy_digest: self.policy_digest.as_deref().map(text),
            hosts: self.hosts.into_iter().take(MOST).map(host).collect(),
            problems: self.problems.iter().take(MOST).map(|problem| text(problem)).collect(),
            ..self
        }
    }
}

impl Document for Machine {
    const KIND: Kind = Kind::Machine;

    fn id(&self) -> &str {
        &self.id
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys {
            owner: Some(self.user.as_str()),
            workspace: Some(self.workspace.as_str()),
            state: if self.proof.is_whole() { "proved" } else { "wanting" },
            ..IndexKeys::default()
        }
    }
}
