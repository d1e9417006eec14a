//! Identification of the peer of the local socket: the only place where a process is taken for a
//! person.
//!
//! A process of the server's own user is the owner, unless it belongs to a known agent: then it is
//! the owner's assistant without a person present. An owner who has a signed-in device proves
//! themselves by that; over the socket alone they may then look, reject and stop things.

use std::path::Path;

use crate::caller::{Caller, Origin, Peer, Person};
use crate::document::{self, Versioned};
use crate::gate::people::PeopleError;
use crate::gate::{Gate, GateError};
use crate::id::UserId;
use crate::process::agents::Ancestry;
use crate::session::Session;
use crate::store::{Kind, Query, StoreError};
use crate::user::{Device, User};

/// The peer of the local socket.
#[derive(Debug, Clone)]
pub enum AtSocket {
    /// The owner.
    Owner(Person),
    /// An agent of the owner's, or a process that it has started.
    Agent(Caller),
}

impl Gate {
    /// The same gate, which looks for registered agents in this data folder.
    #[must_use]
    pub fn knowing_agents_in(mut self, data: &Path) -> Self {
        self.agents.look_in(data);
        self.agents.sweep(self.now(), &*self.processes);
        self
    }

    /// Identifies a process of the server's own user; `None` without an owner.
    ///
    /// # Errors
    /// The owner belongs to no workspace, or the store failed.
    pub async fn at_socket(&self, peer: Peer) -> Result<Option<AtSocket>, PeopleError> {
        let Some(owner) = self.owner().await? else { return Ok(None) };
        let user = self.active_user(&owner).await?.value;
        let agents = match self.standing(peer) {
            Ancestry::Outside => {
                let unproven = self.has_console(&owner).await?;
                let person = Person { user, device: None, peer: Some(peer), unproven };
                return Ok(Some(AtSocket::Owner(person)));
            }
            Ancestry::Within(agents) => agents,
            Ancestry::Unknown => Vec::new(),
        };
        let origin = Origin::Agents(agents.into());
        Ok(Some(AtSocket::Agent(local_agent(user, origin)?)))
    }

    /// Reports whether a process belongs to an agent, or may.
    #[must_use]
    pub fn is_an_agents(&self, peer: Option<Peer>) -> bool {
        peer.is_some_and(|peer| self.standing(peer) != Ancestry::Outside)
    }

    fn standing(&self, peer: Peer) -> Ancestry {
        self.agents.standing(peer.pid, peer.started, &*self.processes)
    }

    /// Reports whether a user has a device on which they are signed in as a person.
    ///
    /// # Errors
    /// The store failed.
    pub async fn has_console(&self, user: &UserId) -> Result<bool, StoreError> {
        let owner = Some(user.to_string());
        let mut query = Query { owner, states: vec!["approved"], ..Query::of(Kind::Device) };
        loop {
            let devices: Vec<Versioned<Device>> = document::find(&*self.store, &query).await?;
            if devices.iter().any(|versioned| versioned.value.is_console()) {
                return Ok(true);
            }
            let Some(last) = devices.last() else { return Ok(false) };
            query.after = Some(last.value.id.to_string());
        }
    }

    /// Reports whether only the socket identifies a person who has a device to approve on.
    pub(super) async fn needs_device(&self, person: &Person) -> Result<bool, StoreError> {
        let only_socket = person.device.is_none() && person.peer.is_some();
        Ok(only_socket && self.has_console(&person.user().id).await?)
    }

    /// Registers the agents of all sessions after a restart. Also of ended ones: an agent that has
    /// completed its session is still an agent.
    pub(super) async fn note_agents(&self) -> Result<(), GateError> {
        let mut query = Query::of(Kind::Session);
        loop {
            let sessions: Vec<Versioned<Session>> = document::find(&*self.store, &query).await?;
            let Some(last) = sessions.last() else { return Ok(()) };
            query.after = Some(last.value.id.to_string());
            for agent in sessions.iter().filter_map(|session| session.value.plan.process) {
                self.agents.note(agent, &*self.processes);
            }
        }
    }
}

/// A caller in the owner's first workspace: an agent cannot choose it.
fn local_agent(user: User, origin: Origin) -> Result<Caller, PeopleError> {
    let workspace = user.workspaces.into_keys().next().ok_or(PeopleError::NotAllowed)?;
    Ok(Caller { user: user.id, workspace, key: None, device: None, epoch: None, origin })
}
