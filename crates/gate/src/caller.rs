//! Who is asking, and who is answering. Two types, so that one can never pass for the other.
//!
//! A [`Caller`] comes from an API key, from a person whose assistant works for them, or from an
//! agent of this machine over the local socket. A [`Person`] comes from a signed-in device, a
//! channel that is bound to them or the local socket, never from a key or an agent's process.

use std::sync::Arc;

use countersign_core::Action;

use crate::id::{DeviceId, KeyId, UserId, WorkspaceId};
use crate::key::{Access, ApiKey};
use crate::process::{Pid, Process, Processes, Uid};
use crate::redacted;
use crate::scope;
use crate::session::Session;
use crate::store::Epoch;
use crate::user::{Role, User};

/// Who proposes an action.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(crate) user: UserId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) key: Option<Arc<ApiKey>>,
    /// The machine a key is used on, or the console at which the person sits.
    pub(crate) device: Option<DeviceId>,
    /// Recognised from memory, in this epoch: proposals of theirs are decided in no other.
    pub(crate) epoch: Option<Epoch>,
    pub(crate) origin: Origin,
}

/// What is known of where a caller without a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It has a key, or its person is present.
    Known,
    /// The local socket, of a person who has a signed-in device elsewhere: nobody is known to be
    /// present.
    Socket,
    /// The local socket, from a process that belongs to these agents.
    Agents(Arc<[Process]>),
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

    /// Whether its key names this scope, which no pattern includes.
    #[must_use]
    pub fn has_scope(&self, name: &str) -> bool {
        self.key.as_ref().is_some_and(|key| key.scopes.iter().any(|scope| scope.is(name)))
    }

    /// The agents of this machine it belongs to, where it came over the local socket without a key.
    #[must_use]
    pub fn local_agents(&self) -> Option<&[Process]> {
        match &self.origin {
            Origin::Agents(agents) => Some(agents),
            Origin::Known | Origin::Socket => None,
        }
    }

    /// Whether it may work in a session, as far as processes go: an agent of this machine works in
    /// its own sessions alone.
    pub(crate) fn may_enter(&self, session: &Session) -> bool {
        let Some(agents) = self.local_agents() else { return true };
        session.plan.process.is_some_and(|process| agents.contains(&process))
    }

    /// Whether a model decides what it does, with no person at its side.
    pub(crate) fn is_agent(&self) -> bool {
        let key = self.key.as_ref();
        self.origin != Origin::Known || key.is_some_and(|key| key.access == Access::Agent)
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
    /// Only the local socket speaks for them, though they have a device to prove themselves by.
    pub(crate) unproven: bool,
}

/// The process at the other end, where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its process id.
    pub pid: Pid,
    /// The operating system's user.
    pub uid: Uid,
    /// When it began, as it was seen when it connected.
    pub started: Option<u64>,
}

impl Peer {
    /// The process that has this number now.
    #[must_use]
    pub fn of(pid: Pid, uid: Uid, processes: &dyn Processes) -> Self {
        Self { pid, uid, started: processes.started(pid) }
    }
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

    /// Whether only the local socket speaks for them, though they have a signed-in device: they may
    /// look, say no and stop things.
    #[must_use]
    pub const fn is_unproven(&self) -> bool {
        self.unproven
    }

    /// What they are, seen from a workspace.
    #[must_use]
    pub fn role_in(&self, workspace: &WorkspaceId) -> Role {
        self.user.role_in(workspace)
    }

    /// Whether they look after somebody: a super admin after everybody, a workspace admin after
    /// those who belong to no workspace but theirs.
    #[must_use]
    pub fn looks_after(&self, user: &User) -> bool {
        let mut workspaces = user.workspaces.keys();
        self.user.super_admin
            || !user.super_admin
                && !user.workspaces.is_empty()
                && workspaces.all(|workspace| self.role_in(workspace) >= Role::WorkspaceAdmin)
    }

    /// The assistant that works for them in a workspace, with them present.
    #[must_use]
    pub fn assistant(&self, workspace: &WorkspaceId) -> Option<Caller> {
        (self.role_in(workspace) > Role::Stranger).then(|| Caller {
            user: self.user.id.clone(),
            workspace: workspace.clone(),
            key: None,
            device: self.device.clone(),
            epoch: None,
            origin: if self.unproven { Origin::Socket } else { Origin::Known },
        })
    }
}
