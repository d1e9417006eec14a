//! The one who asks and the one who answers: two types, so that one can never be used as the other.
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

/// The proposer of an action.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(crate) user: UserId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) key: Option<Arc<ApiKey>>,
    /// The machine on which a key is used, or the person's console.
    pub(crate) device: Option<DeviceId>,
    /// The epoch in which the caller was recognised from the cache: proposals are decided only in
    /// this epoch.
    pub(crate) epoch: Option<Epoch>,
    pub(crate) origin: Origin,
}

/// The known origin of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The caller has a key, or its person is present.
    Known,
    /// The local socket, of a person who has a signed-in device elsewhere: the person is not known
    /// to be present.
    Socket,
    /// The local socket, from a process that belongs to these agents.
    Agents(Arc<[Process]>),
}

impl Caller {
    /// The user for whom the agent works.
    #[must_use]
    pub const fn user(&self) -> &UserId {
        &self.user
    }

    /// The workspace in which the agent works.
    #[must_use]
    pub const fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// The key it came with.
    #[must_use]
    pub fn key_id(&self) -> Option<&KeyId> {
        self.key.as_ref().map(|key| &key.id)
    }

    /// The scope that its key lacks for an action, if it lacks one. Redacted, because names are the
    /// agent's own words.
    pub(crate) fn missing_scope(&self, action: &Action) -> Option<String> {
        let key = self.key.as_ref()?;
        let needed = scope::needed(action);
        let covered = key.scopes.iter().any(|scope| scope.allows(&needed));
        (!covered).then(|| redacted::scope(&needed))
    }

    /// Reports whether its key names this scope, which no pattern includes.
    #[must_use]
    pub fn has_scope(&self, name: &str) -> bool {
        self.key.as_ref().is_some_and(|key| key.scopes.iter().any(|scope| scope.is(name)))
    }

    /// The agents of this machine to which the caller belongs, if it came over the local socket
    /// without a key.
    #[must_use]
    pub fn local_agents(&self) -> Option<&[Process]> {
        match &self.origin {
            Origin::Agents(agents) => Some(agents),
            Origin::Known | Origin::Socket => None,
        }
    }

    /// Reports whether it may work in a session, judging by processes: an agent of this machine
    /// works in its own sessions only.
    pub(crate) fn may_enter(&self, session: &Session) -> bool {
        let Some(agents) = self.local_agents() else { return true };
        session.plan.process.is_some_and(|process| agents.contains(&process))
    }

    /// Reports whether a model decides what it does, without a person present.
    pub(crate) fn is_agent(&self) -> bool {
        let key = self.key.as_ref();
        self.origin != Origin::Known || key.is_some_and(|key| key.access == Access::Agent)
    }

    pub(crate) fn is_program(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.access == Access::Program)
    }
}

/// A person who answers.
#[derive(Debug, Clone)]
pub struct Person {
    pub(crate) user: User,
    pub(crate) device: Option<DeviceId>,
    pub(crate) peer: Option<Peer>,
    /// True when only the local socket identifies them, although they have a device to prove
    /// themselves by.
    pub(crate) unproven: bool,
}

/// The process at the other end of a local connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its process id.
    pub pid: Pid,
    /// Its user in the operating system.
    pub uid: Uid,
    /// The time at which the process started, as read when it connected.
    pub started: Option<u64>,
}

impl Peer {
    /// The process that has this id now.
    #[must_use]
    pub fn of(pid: Pid, uid: Uid, processes: &dyn Processes) -> Self {
        Self { pid, uid, started: processes.started(pid) }
    }
}

impl Person {
    /// The person's user record.
    #[must_use]
    pub const fn user(&self) -> &User {
        &self.user
    }

    /// The device on which the person is signed in.
    #[must_use]
    pub const fn device(&self) -> Option<&DeviceId> {
        self.device.as_ref()
    }

    /// The same person, seen at the other end of a local connection.
    #[must_use]
    pub fn at(self, peer: Peer) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// Reports whether only the local socket identifies them, although they have a signed-in
    /// device: they may look, reject and stop things.
    #[must_use]
    pub const fn is_unproven(&self) -> bool {
        self.unproven
    }

    /// Their role in a workspace.
    #[must_use]
    pub fn role_in(&self, workspace: &WorkspaceId) -> Role {
        self.user.role_in(workspace)
    }

    /// Reports whether they administer a user: a super admin administers everybody, a workspace
    /// admin the users who belong only to workspaces of that admin.
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
