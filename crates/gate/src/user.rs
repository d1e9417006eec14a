//! Who can sign in: users with their roles, workspaces, devices, and one-time invitations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::document::{Document, Marks};
use crate::id::{DeviceId, UserId, WorkspaceId};
use crate::secret::{Secret, SecretHash};
use crate::store::Kind;

/// A person who can sign in, or a bot with keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct User {
    /// Their id.
    pub id: UserId,
    /// What they are called.
    pub name: String,
    /// A person or a bot.
    #[serde(default)]
    pub kind: UserKind,
    /// Whether they may see and do everything.
    pub super_admin: bool,
    /// Where they belong.
    pub workspaces: BTreeMap<WorkspaceId, Membership>,
    /// Where an admin wants them, who have not said yes.
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

/// What somebody is in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// Sees what is theirs.
    Member,
    /// Sees what is the workspace's.
    Admin,
}

/// What somebody is, seen from a workspace.
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
    /// What they are, seen from a workspace.
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
    /// Whether they can sign in, and belong to a workspace.
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

    fn marks(&self) -> Marks<'_> {
        let state = match (self.removed_at, self.disabled_at) {
            (Some(_), _) => "removed",
            (None, Some(_)) => "disabled",
            (None, None) => "active",
        };
        Marks { owner: Some(self.id.as_str()), state, ..Marks::default() }
    }
}

/// What owns sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// What it is called.
    pub name: String,
    /// Since when.
    pub created_at: Timestamp,
}

impl Document for Workspace {
    const KIND: Kind = Kind::Workspace;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn marks(&self) -> Marks<'_> {
        Marks { workspace: Some(self.id.as_str()), state: "active", ..Marks::default() }
    }
}

/// One signed-in client of a person, or a machine on which their keys may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its id, which follows from its secret.
    pub id: DeviceId,
    /// Whose.
    pub user: UserId,
    /// What they call it.
    pub name: String,
    /// The hash of what it proves itself by.
    pub secret: SecretHash,
    /// What it may do.
    pub state: DeviceState,
    /// Since when it is known.
    pub created_at: Timestamp,
}

/// What a device may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum DeviceState {
    /// Nothing, until another device approves it.
    Waiting,
    /// What it was approved for.
    Approved {
        /// By which device; none for the first.
        by: Option<DeviceId>,
        /// What for.
        role: DeviceRole,
    },
    /// Nothing, for good.
    Revoked {
        /// Since when.
        at: Timestamp,
    },
}

/// What a device is for.
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
    /// Whether a person may answer there.
    #[must_use]
    pub const fn is_console(&self) -> bool {
        matches!(self.state, DeviceState::Approved { role: DeviceRole::Console, .. })
    }

    /// Whether keys may be used there.
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

    fn marks(&self) -> Marks<'_> {
        let state = match self.state {
            DeviceState::Waiting => "waiting",
            DeviceState::Approved { .. } => "approved",
            DeviceState::Revoked { .. } => "revoked",
        };
        Marks { owner: Some(self.user.as_str()), state, ..Marks::default() }
    }
}

/// A link that signs one device in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Invitation {
    /// Follows from its secret.
    pub(crate) id: String,
    pub(crate) user: UserId,
    /// The person who made it; nobody on the first start.
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

    fn marks(&self) -> Marks<'_> {
        Marks {
            owner: Some(self.user.as_str()),
            state: "open",
            due: Some(self.expires_at),
            ..Marks::default()
        }
    }
}
