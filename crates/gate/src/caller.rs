//! Who is asking, and who is answering. Two types, so that one can never pass for the other.
//!
//! A [`Caller`] comes from an API key, or from a person whose assistant works for them. A
//! [`Person`] comes from a signed-in device or a channel that is bound to them, never from a key.

use std::sync::Arc;

use countersign_core::Action;

use crate::id::{DeviceId, KeyId, UserId, WorkspaceId};
use crate::key::{Access, ApiKey};
use crate::redacted;
use crate::scope;
use crate::store::Epoch;
use crate::user::{Role, User};

/// Who proposes an action.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(crate) user: UserId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) key: Option<Arc<ApiKey>>,
    /// Recognised from memory, in this epoch: proposals of theirs are decided in no other.
    pub(crate) epoch: Option<Epoch>,
}

impl Caller {
    /// For whom the agent works.
    #[must_use]
    pub const fn user(&self) -> &UserId {
        &self.user
    }

    /// In which workspace.
    #[must_use]
    pub const fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// The key it came with.
    #[must_use]
    pub fn key_id(&self) -> Option<&KeyId> {
        self.key.as_ref().map(|key| &key.id)
    }

    /// The scope its key would need for an action, if it does not have it. Redacted: names are the
    /// agent's own words.
    pub(crate) fn missing_scope(&self, action: &Action) -> Option<String> {
        let key = self.key.as_ref()?;
        let needed = scope::needed(action);
        let covered = key.scopes.iter().any(|scope| scope.allows(&needed));
        (!covered).then(|| redacted::scope(&needed))
    }

    /// Whether a model decides what it does, with no person at its side.
    pub(crate) fn is_agent(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.access == Access::Agent)
    }

    pub(crate) fn is_program(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.access == Access::Program)
    }
}

/// Who answers.
#[derive(Debug, Clone)]
pub struct Person {
    pub(crate) user: User,
    pub(crate) device: Option<DeviceId>,
    pub(crate) peer: Option<Peer>,
}

/// The process at the other end, where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its process id.
    pub pid: u32,
    /// The operating system's user.
    pub uid: u32,
}

impl Person {
    /// Who it is.
    #[must_use]
    pub const fn user(&self) -> &User {
        &self.user
    }

    /// On which device.
    #[must_use]
    pub const fn device(&self) -> Option<&DeviceId> {
        self.device.as_ref()
    }

    /// The same person, seen at the other end of a local connection.
    #[must_use]
    pub fn at(self, peer: Peer) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// What they are, seen from a workspace.
    #[must_use]
    pub fn role_in(&self, workspace: &WorkspaceId) -> Role {
        self.user.role_in(workspace)
    }

    /// The assistant that works for them in a workspace, with them present.
    #[must_use]
    pub fn assistant(&self, workspace: &WorkspaceId) -> Option<Caller> {
        (self.role_in(workspace) > Role::Stranger).then(|| Caller {
            user: self.user.id.clone(),
            workspace: workspace.clone(),
            key: None,
            epoch: None,
        })
    }
}
