//! API keys: credentials of agents and programs. A key can propose; it can never answer.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::document::{Document, IndexKeys};
use crate::id::{KeyId, UserId, WorkspaceId};
use crate::rate::Rate;
use crate::scope::Scope;
use crate::secret::{Secret, SecretHash};
use crate::store::Kind;

/// A credential of an agent or program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The id, which is derived from the secret.
    pub id: KeyId,
    /// The user for whom it works.
    pub user: UserId,
    /// The workspace in which it works.
    pub workspace: WorkspaceId,
    /// The name that its owner gave it.
    pub name: String,
    /// The hash of the secret, which was shown once.
    pub secret: SecretHash,
    /// The actions that it may propose.
    pub scopes: Vec<Scope>,
    /// The kind of user behind it: a model or a program.
    pub access: Access,
    /// The devices on which it works.
    pub devices: Devices,
    /// The rate at which it may change something.
    pub writes: Rate,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time at which it expires; never, if `None`.
    pub expires_at: Option<Timestamp>,
    /// The time at which it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The key that replaced it.
    pub rotated_to: Option<KeyId>,
    /// The first key of its line, if it replaced another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_of_line: Option<KeyId>,
}

/// The kind of user behind a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "KeyAccess"))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// A model decides what to do: a person is asked.
    #[default]
    Agent,
    /// A program its owner wrote: declared skills do not ask, unless its owner wants them to.
    Program,
}

/// The devices on which a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "KeyDevices"))]
#[serde(rename_all = "snake_case")]
pub enum Devices {
    /// On devices that were approved.
    #[default]
    Approved,
    /// Everywhere.
    Any,
}

/// The properties of a new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// The name that its owner gives it.
    pub name: String,
    /// The workspace in which it works.
    pub workspace: WorkspaceId,
    /// The actions that it may propose.
    pub scopes: Vec<Scope>,
    /// The kind of user behind it: a model or a program.
    pub access: Access,
    /// The devices on which it works.
    pub devices: Devices,
    /// The rate at which it may change something.
    pub writes: Rate,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
}

/// The default rate at which a key may change something.
pub const WRITES: Rate = Rate::per_minute(10);

/// The writes of a key for hooks: as many as a session of the `coding-agent` profile has.
pub const HOOK_WRITES: Rate = Rate::per_minute(600);

impl ApiKey {
    /// The id of the key with this secret.
    #[must_use]
    pub fn id_of(secret: &Secret) -> KeyId {
        KeyId::from_bytes(secret.hash().short())
    }

    /// Reports whether it works at a time.
    #[must_use]
    pub fn works_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }

    /// The id that stays the same when a key is rotated.
    #[must_use]
    pub fn line(&self) -> &KeyId {
        self.first_of_line.as_ref().unwrap_or(&self.id)
    }

    /// The key of one of its counters.
    #[must_use]
    pub fn counter(id: &KeyId, what: &str) -> String {
        ["key:", id.as_str(), ":", what].concat()
    }
}

impl Document for ApiKey {
    const KIND: Kind = Kind::Key;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys {
            owner: Some(self.user.as_str()),
            workspace: Some(self.workspace.as_str()),
            state: if self.revoked_at.is_some() { "revoked" } else { "active" },
            ..IndexKeys::default()
        }
    }
}
