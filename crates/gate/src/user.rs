//! Users with their roles, workspaces, devices, and one-time invitations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::document::{Document, IndexKeys};
use crate::id::{DeviceId, UserId, WorkspaceId};
use crate::secret::{Secret, SecretHash};
use crate::store::Kind;

/// A person who can sign in, or a bot with keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    /// Their id.
    pub id: UserId,
    /// The name of the user.
    pub name: String,
    /// A person or a bot.
    #[serde(default)]
    pub kind: UserKind,
    /// True when they may see and do everything.
    pub super_admin: bool,
    /// The workspaces they belong to.
    pub workspaces: BTreeMap<WorkspaceId, Membership>,
    /// The workspaces to which an admin has invited them, and which they have not joined.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub invited: BTreeMap<WorkspaceId, Membership>,
    /// Since when.
    pub created_at: Timestamp,
    /// Since when they can no longer sign in.
    pub disabled_at: Option<Timestamp>,
    /// Since when they are gone for good. Their name stays, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<Timestamp>,
}

/// A person or a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UserKind {
    /// Signs in and answers.
    #[default]
    Person,
    /// Has keys, and never signs in or answers. The administrators of its workspace make its keys
    /// and answer what it asks.
    Bot,
}

/// The membership of a user in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// Sees what is theirs.
    Member,
    /// Sees what is the workspace's.
    Admin,
}

/// The role of a user in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Has nothing to do with it.
    Stranger,
    /// Works in it.
    User,
    /// Looks after it.
    WorkspaceAdmin,
    /// Looks after everything.
    SuperAdmin,
}

impl User {
    /// Their role in a workspace.
    #[must_use]
    pub fn role_in(&self, workspace: &WorkspaceId) -> Role {
        if self.super_admin {
            return Role::SuperAdmin;
        }
        match self.workspaces.get(workspace) {
            Some(Membership::Admin) => Role::WorkspaceAdmin,
            Some(Membership::Member) => Role::User,
            None => Role::Stranger,
        }
    }
}

impl User {
    /// Reports whether they are not disabled and have a role in a workspace, as super admins have
    /// in all.
    #[must_use]
    pub fn works_in(&self, workspace: &WorkspaceId) -> bool {
        self.disabled_at.is_none() && self.role_in(workspace) > Role::Stranger
    }
}

impl Document for User {
    const KIND: Kind = Kind::User;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        let state = match (self.removed_at, self.disabled_at) {
            (Some(_), _) => "removed",
            (None, Some(_)) => "disabled",
            (None, None) => "active",
        };
        IndexKeys { owner: Some(self.id.as_str()), state, ..IndexKeys::default() }
    }
}

/// A workspace, which owns sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// The name of the workspace.
    pub name: String,
    /// Since when.
    pub created_at: Timestamp,
}

impl Document for Workspace {
    const KIND: Kind = Kind::Workspace;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys { workspace: Some(self.id.as_str()), state: "active", ..IndexKeys::default() }
    }
}

/// One signed-in client of a person, or a machine on which their keys may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The id, which is derived from the secret.
    pub id: DeviceId,
    /// The user it belongs to.
    pub user: UserId,
    /// The name that its user gave it.
    pub name: String,
    /// The hash of the secret by which it proves itself.
    pub secret: SecretHash,
    /// The state.
    pub state: DeviceState,
    /// The time at which it was registered.
    pub created_at: Timestamp,
}

/// The state of a device, with its rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum DeviceState {
    /// It may do nothing until it is approved from a signed-in device of its user, or of an
    /// administrator if it belongs to a bot.
    Waiting,
    /// The device is approved for a role.
    Approved {
        /// The device from which it was approved; none if a link signed it in, or the local socket
        /// approved it.
        by: Option<DeviceId>,
        /// The role.
        role: DeviceRole,
    },
    /// It may do nothing, for good.
    Revoked {
        /// Since when.
        at: Timestamp,
    },
}

/// The role of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceRole {
    /// A person signs in and answers there.
    Console,
    /// Keys may be used there. It can never answer.
    Machine,
}

impl Device {
    /// Reports whether a person may answer there.
    #[must_use]
    pub const fn is_console(&self) -> bool {
        matches!(self.state, DeviceState::Approved { role: DeviceRole::Console, .. })
    }

    /// Reports whether keys may be used there.
    #[must_use]
    pub const fn is_machine(&self) -> bool {
        matches!(self.state, DeviceState::Approved { role: DeviceRole::Machine, .. })
    }

    /// The id of the device with this secret.
    #[must_use]
    pub fn id_of(secret: &Secret) -> DeviceId {
        DeviceId::from_bytes(secret.hash().short())
    }
}

impl Document for Device {
    const KIND: Kind = Kind::Device;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        let state = match self.state {
            DeviceState::Waiting => "waiting",
            DeviceState::Approved { .. } => "approved",
            DeviceState::Revoked { .. } => "revoked",
        };
        IndexKeys { owner: Some(self.user.as_str()), state, ..IndexKeys::default() }
    }
}

/// A link that signs one device in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Invitation {
    /// The id, derived from the secret.
    pub(crate) id: String,
    pub(crate) user: UserId,
    /// The person who created it; `None` on the first start.
    #[serde(default)]
    pub(crate) by: Option<UserId>,
    pub(crate) secret: SecretHash,
    pub(crate) expires_at: Timestamp,
}

impl Document for Invitation {
    const KIND: Kind = Kind::Invitation;

    fn id(&self) -> &str {
        &self.id
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys {
            owner: Some(self.user.as_str()),
            state: "open",
            due: Some(self.expires_at),
            ..IndexKeys::default()
        }
    }
}
