//! What a machine last proved about itself: that its hooks guard, by which policy and version, and
//! that its clock can be trusted. `countersign doctor` tells the server.
//!
//! It is the machine's own word, bound to its key and, where the key is, to its device. It decides
//! nothing.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::document::{Document, Marks};
use crate::id::{DeviceId, KeyId, UserId, WorkspaceId};
use crate::redacted;
use crate::store::Kind;

/// The most hosts and problems of one proof, and the longest text in it.
const MOST: usize = 32;
const LONGEST: usize = 300;

/// What a machine says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// What the machine calls itself.
    pub machine: String,
    /// The version of Countersign there.
    pub version: String,
    /// The digest of the policy in force there, where it is known.
    #[serde(default)]
    pub policy_digest: Option<String>,
    /// How far its clock is ahead of the server's, in milliseconds.
    pub clock_skew_ms: i64,
    /// The hosts that have a hook, and whether it guards.
    pub hosts: Vec<ProvedHost>,
    /// Decisions that were made without the server and are not delivered yet.
    #[serde(default)]
    pub undelivered: u64,
    /// What is wrong there; nothing, if everything was proved.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// A host that has a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProvedHost {
    /// Which.
    pub host: String,
    /// Whether what must be stopped is, and what is harmless is not.
    pub guards: bool,
}

/// What a machine last proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its id: its device's, or its user's and its name.
    pub id: String,
    /// Whose key it used.
    pub user: UserId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// Which key.
    pub key: Option<KeyId>,
    /// Which device, where the key is bound to one.
    pub device: Option<DeviceId>,
    /// When, by the gate's clock.
    pub proved_at: Timestamp,
    /// What it said.
    pub proof: Proof,
}

impl Proof {
    /// Whether everything was proved.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && self.hosts.iter().all(|host| host.guards)
    }

    /// The same, short and with everything masked that must not be kept.
    pub(crate) fn redacted(self) -> Self {
        let text = |text: &str| {
            let text: String = text.chars().take(LONGEST).collect();
            redacted::text(&text)
        };
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

    fn marks(&self) -> Marks<'_> {
        Marks {
            owner: Some(self.user.as_str()),
            workspace: Some(self.workspace.as_str()),
            state: if self.proof.is_whole() { "proved" } else { "wanting" },
            ..Marks::default()
        }
    }
}
