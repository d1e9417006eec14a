//! People and bots, the workspaces they belong to, and how they sign in.
//!
//! The first start creates the owner and a link that signs one device in, once. Every further
//! device is approved from one that is signed in already, or signs in by a link.

use std::collections::BTreeMap;

use serde_json::json;

use crate::approval::TamperedError;
use crate::audit::{self, RecordOwner};
use crate::caller::Person;
use crate::document::{self, Versioned};
use crate::gate::control::failed;
use crate::gate::{Gate, GateError, TRIES};
use crate::id::{UserId, WorkspaceId};
use crate::secret::Secret;
use crate::store::{Batch, Kind, Query, StoreError, Write};
use crate::user::{Membership, Role, User, UserKind, Workspace};

mod account;
mod device;
mod erase;

pub use account::SuperAdmin;

/// The reason for which an operation on people failed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// The item does not exist, or they may not see it.
    #[error("not found")]
    NotFound,
    /// They may not do this.
    #[error("you may not do this")]
    NotAllowed,
    /// The configuration has thrown the kill switch.
    #[error("switched off by configuration: only the operator of the gate can switch it on")]
    SwitchedOff,
    /// The organisation has locked this setting.
    #[error("the organisation has locked `{0}`")]
    Locked(&'static str),
    /// The link was used, has expired, or never existed.
    #[error("this link does not work: it was used already or has run out")]
    Link,
    /// The device was not approved, or no longer is.
    #[error("this device is not signed in")]
    NotSignedIn,
    /// Too many devices of the user wait already.
    #[error("{MOST_WAITING} devices wait for approval already: approve or revoke some first")]
    TooManyWaiting,
    /// The user is signed in on a device: a link for another device comes from there.
    #[error(
        "they have a signed-in device: they make a link there; revoke the device if it is lost"
    )]
    SignedIn,
    /// The user is a bot: it cannot sign in or be an administrator.
    #[error(
        "a bot is not a person: it cannot sign in or be an administrator, and has keys instead"
    )]
    Bot,
    /// The organisation keeps the audit trail.
    #[error("{KEPT}")]
    Kept,
    /// A model's key cannot consent for a person, or read records about others.
    #[error("a model's key cannot have `{0}`: make it a program's")]
    NotForModels(&'static str),
    /// A bot's key cannot consent, because a bot is not a person.
    #[error("a bot's key cannot have `{}`: there is nobody behind it", crate::scope::CONSENT)]
    NotForBots,
    /// Somebody changed the question in the database.
    #[error(transparent)]
    Tampered(#[from] TamperedError),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for PeopleError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl From<crate::clock::ChanceError> for PeopleError {
    fn from(error: crate::clock::ChanceError) -> Self {
        Self::Gate(error.into())
    }
}

/// The result of a change of membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// The membership is in force.
    Now,
    /// The user was invited, and must agree.
    Invited,
}

/// The message for a person who may not erase records about themselves.
pub(super) const KEPT: &str = "the organisation keeps the record: only another administrator may \
    erase what is about you, and nobody may keep it for a shorter time";

/// The most devices of one user that may wait for approval, so that a stolen key cannot flood the
/// list and hide the real one.
pub(super) const MOST_WAITING: u64 = 10;

impl Gate {
    /// Creates the owner on the very first start, with a link for their first device. Returns
    /// `None` if there is a user already.
    ///
    /// # Errors
    /// The store failed.
    pub async fn first_start(&self, name: &str) -> Result<Option<(UserId, Secret)>, PeopleError> {
        let anybody = self.store.find(&Query { limit: 1, ..Query::of(Kind::User) }).await?;
        if !anybody.is_empty() {
            return Ok(None);
        }
        let now = self.now();
        let workspace = Workspace {
            id: WorkspaceId::draw(&self.clock)?,
            name: name.to_owned(),
            created_at: now,
        };
        let member = (workspace.id.clone(), Membership::Admin);
        let owner = User { super_admin: true, ..self.new_user(name, member, UserKind::Person)? };
        let (link, invitation) = self.invitation(&owner.id, None)?;
        let payload = json!({"created": owner.id, "owner": true});
        let writes = vec![
            document::insert(&workspace)?,
            document::insert(&owner)?,
            document::insert(&invitation)?,
        ];
        self.change_people(writes, audit::Event::UserChanged, &owner.id, payload).await?;
        Ok(Some((owner.id, link)))
    }

    /// Adds a user to a workspace, with a link for their first device.
    ///
    /// # Errors
    /// The person may not do this, or the store failed.
    pub async fn add_user(
        &self,
        person: &Person,
        name: &str,
        workspace: &WorkspaceId,
        membership: Membership,
    ) -> Result<(UserId, Secret), PeopleError> {
        if person.role_in(workspace) < Role::WorkspaceAdmin {
            return Err(PeopleError::NotAllowed);
        }
        let user = self.new_user(name, (workspace.clone(), membership), UserKind::Person)?;
        let (link, invitation) = self.invitation(&user.id, Some(&person.user().id))?;
        let payload = json!({"created": user.id, "by": person.user().id});
        let writes = vec![document::insert(&user)?, document::insert(&invitation)?];
        self.change_people(writes, audit::Event::UserChanged, &user.id, payload).await?;
        Ok((user.id, link))
    }

    /// Creates a workspace, of which its creator becomes an admin.
    ///
    /// # Errors
    /// The person may not do this, or the store failed.
    pub async fn add_workspace(
        &self,
        person: &Person,
        name: &str,
    ) -> Result<WorkspaceId, PeopleError> {
        if !person.user().super_admin {
            return Err(PeopleError::NotAllowed);
        }
        let id = WorkspaceId::draw(&self.clock)?;
        let workspace = Workspace { id, name: name.to_owned(), created_at: self.now() };
        let payload = json!({"workspace": workspace.id, "by": person.user().id});
        let writes = vec![document::insert(&workspace)?];
        let owner = &person.user().id;
        self.change_people(writes, audit::Event::UserChanged, owner, payload).await?;
        let member = Some(Membership::Admin);
        self.change_membership(person, owner, &workspace.id, member).await?;
        Ok(workspace.id)
    }

    /// Makes a user a member or an admin of a workspace, or neither. A user whom a workspace admin
    /// brings in from outside is invited, and joins by accepting.
    ///
    /// # Errors
    /// The person may not do this, the user does not exist, or the store failed.
    pub async fn change_membership(
        &self,
        person: &Person,
        user: &UserId,
        workspace: &WorkspaceId,
        membership: Option<Membership>,
    ) -> Result<Joined, PeopleError> {
        let (person, _) = self.person_now(person).await?;
        if person.role_in(workspace) < Role::WorkspaceAdmin {
            return Err(PeopleError::NotAllowed);
        }
        let changed = self
            .change_user(&person, user, |person, user| {
                let role = person.role_in(workspace);
                if role < Role::WorkspaceAdmin {
                    return Err(PeopleError::NotAllowed);
                }
                active(user)?;
                if user.kind == UserKind::Bot && membership == Some(Membership::Admin) {
                    return Err(PeopleError::Bot);
                }
                let invites = role < Role::SuperAdmin && user.role_in(workspace) == Role::Stranger;
                user.invited.remove(workspace);
                match membership {
                    Some(as_what) if invites => user.invited.insert(workspace.clone(), as_what),
                    Some(as_what) => user.workspaces.insert(workspace.clone(), as_what),
                    None => user.workspaces.remove(workspace),
                };
                Ok(())
            })
            .await?;
        let waits = changed.invited.contains_key(workspace);
        Ok(if waits { Joined::Invited } else { Joined::Now })
    }

    /// Joins a workspace to which the person was invited.
    ///
    /// # Errors
    /// They were not invited, or the store failed.
    pub async fn join_workspace(
        &self,
        person: &Person,
        workspace: &WorkspaceId,
    ) -> Result<(), PeopleError> {
        self.answer_invitation(person, workspace, |user, as_what| {
            user.workspaces.insert(workspace.clone(), as_what);
        })
        .await
    }

    /// Declines an invitation to a workspace.
    ///
    /// # Errors
    /// They were not invited, or the store failed.
    pub async fn decline_workspace(
        &self,
        person: &Person,
        workspace: &WorkspaceId,
    ) -> Result<(), PeopleError> {
        self.answer_invitation(person, workspace, |_, _| {}).await
    }

    async fn answer_invitation(
        &self,
        person: &Person,
        workspace: &WorkspaceId,
        accept: impl Fn(&mut User, Membership),
    ) -> Result<(), PeopleError> {
        let id = &person.user().id;
        if !self.active_user(id).await?.value.invited.contains_key(workspace) {
            return Err(PeopleError::NotFound);
        }
        let answer = |_: &Person, user: &mut User| {
            active(user)?;
            // If the invitation was withdrawn meanwhile, there is nothing to join.
            if let Some(as_what) = user.invited.remove(workspace) {
                accept(user, as_what);
            }
            Ok(())
        };
        self.change_user(person, id, answer).await.map(drop)
    }

    fn new_user(
        &self,
        name: &str,
        member: (WorkspaceId, Membership),
        kind: UserKind,
    ) -> Result<User, PeopleError> {
        Ok(User {
            id: UserId::draw(&self.clock)?,
            name: name.to_owned(),
            kind,
            super_admin: false,
            workspaces: BTreeMap::from([member]),
            invited: BTreeMap::new(),
            created_at: self.now(),
            disabled_at: None,
            removed_at: None,
        })
    }

    /// Changes a user, as far as the person's current rights allow. The batch names the versions of
    /// both: if two administrators remove each other at the same time, one is refused.
    async fn change_user(
        &self,
        person: &Person,
        id: &UserId,
        change: impl Fn(&Person, &mut User) -> Result<(), PeopleError>,
    ) -> Result<User, PeopleError> {
        for _ in 0..TRIES {
            let (person, unchanged) = self.person_now(person).await?;
            let versioned: Versioned<User> =
                self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
            let mut next = versioned.value.clone();
            change(&person, &mut next)?;
            let payload = json!({
                "changed": id,
                "by": person.user().id,
                "workspaces": next.workspaces,
                "invited": next.invited,
                "super_admin": next.super_admin,
                "disabled": next.disabled_at.is_some(),
                "removed": next.removed_at.is_some(),
            });
            let writes = vec![versioned.replace(&next)?];
            let event = audit::Event::UserChanged;
            let batch = Batch { unchanged, ..self.people_batch(writes, event, id, &payload)? };
            match self.commit(batch).await.map_err(failed) {
                Ok(_) => {
                    self.tell_rights_changed(id);
                    return Ok(next);
                }
                Err(GateError::Busy) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(GateError::Busy.into())
    }

    pub(super) async fn active_user(&self, id: &UserId) -> Result<Versioned<User>, PeopleError> {
        let versioned: Option<Versioned<User>> = self.get(id.as_str()).await?;
        versioned
            .filter(|versioned| versioned.value.disabled_at.is_none())
            .ok_or(PeopleError::NotFound)
    }

    /// A user who can sign in, and is not a bot.
    pub(super) async fn active_person(&self, id: &UserId) -> Result<User, PeopleError> {
        let user = self.active_user(id).await?.value;
        if user.kind == UserKind::Person { Ok(user) } else { Err(PeopleError::NotFound) }
    }

    /// A user whom a person administers, disabled or not.
    pub(super) async fn looked_after(
        &self,
        person: &Person,
        id: &UserId,
    ) -> Result<User, PeopleError> {
        let (person, _) = self.person_now(person).await?;
        let versioned: Option<Versioned<User>> = self.get(id.as_str()).await?;
        let user =
            versioned.map(|versioned| versioned.value).filter(|user| person.looks_after(user));
        user.ok_or(PeopleError::NotFound)
    }

    /// Commits one batch about people, with its record.
    pub(super) async fn change_people(
        &self,
        writes: Vec<Write>,
        event: audit::Event,
        owner: &UserId,
        payload: serde_json::Value,
    ) -> Result<(), GateError> {
        let batch = self.people_batch(writes, event, owner, &payload)?;
        self.commit(batch).await.map(drop).map_err(failed)
    }

    fn people_batch(
        &self,
        writes: Vec<Write>,
        event: audit::Event,
        owner: &UserId,
        payload: &serde_json::Value,
    ) -> Result<Batch, GateError> {
        let record_owner = RecordOwner { owner: Some(owner.to_string()), ..RecordOwner::default() };
        let records = vec![self.record(event, record_owner, payload)?];
        Ok(Batch { writes, records, ..Batch::default() })
    }
}

/// Refuses a user who can no longer sign in.
fn active(user: &User) -> Result<(), PeopleError> {
    if user.disabled_at.is_none() { Ok(()) } else { Err(PeopleError::NotFound) }
}
