//! People, their devices, and how they get in.
//!
//! The first start makes the owner and a link that signs one device in, once. Every further
//! device is approved from one that is in already. A device is either a console, where a person
//! answers, or a machine, where keys work: never both.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::audit::{self, Subject};
use crate::caller::Person;
use crate::document::{self, Held};
use crate::event::{Event, What};
use crate::gate::control::failed;
use crate::gate::{Gate, GateError, TRIES};
use crate::id::{DeviceId, UserId, WorkspaceId};
use crate::secret::{Secret, SecretKind};
use crate::store::{Batch, CommitError, Count, CountStep, Kind, Query, StoreError, Write};
use crate::user::{Device, DeviceRole, DeviceState, Invitation, Membership, Role, User, Workspace};

/// Why something about people did not happen.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// There is none, or none that they may see.
    #[error("not found")]
    NotFound,
    /// They may not do this.
    #[error("you may not do this")]
    NotAllowed,
    /// The configuration has thrown the kill switch.
    #[error("switched off by configuration: only whoever runs the gate can switch it on")]
    SwitchedOff,
    /// The organisation has pinned this.
    #[error("the organisation has locked `{0}`")]
    Locked(&'static str),
    /// The link was used, has run out, or never was.
    #[error("this link does not work: it was used already or has run out")]
    Link,
    /// The device was not approved, or no longer is.
    #[error("this device is not signed in")]
    NotSignedIn,
    /// Too many devices of theirs wait already.
    #[error("{MOST_WAITING} devices wait for approval already: approve or revoke some first")]
    TooManyWaiting,
    /// A model's key cannot agree for a person.
    #[error("a model's key cannot have `{}`: make it a program's", crate::scope::CONSENT)]
    NotForModels,
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

/// What became of a change of membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// It holds.
    Now,
    /// The user was invited, and must agree.
    Invited,
}

/// How long a link works.
const LINK_WORKS_FOR: Duration = Duration::from_mins(15);

/// Devices of one user that may wait for approval: a stolen key cannot bury the real one.
pub(super) const MOST_WAITING: u64 = 10;
/// A longer name is cut.
const MOST_CHARACTERS: usize = 100;

impl Gate {
    /// Makes the owner on the very first start, with a link for their first device. Nothing, when
    /// there is somebody already.
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
        let owner = User {
            id: UserId::draw(&self.clock)?,
            name: name.to_owned(),
            super_admin: true,
            workspaces: BTreeMap::from([(workspace.id.clone(), Membership::Admin)]),
            invited: BTreeMap::new(),
            created_at: now,
            disabled_at: None,
        };
        let (link, invitation) = self.invitation(&owner.id)?;
        let payload = json!({"created": owner.id, "owner": true});
        let writes = vec![
            document::insert(&workspace)?,
            document::insert(&owner)?,
            document::insert(&invitation)?,
        ];
        self.change_people(writes, audit::Event::UserChanged, &owner.id, payload).await?;
        Ok(Some((owner.id, link)))
    }

    /// Adds somebody to a workspace, with a link for their first device.
    ///
    /// # Errors
    /// The person may not, or the store failed.
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
        let user = User {
            id: UserId::draw(&self.clock)?,
            name: name.to_owned(),
            super_admin: false,
            workspaces: BTreeMap::from([(workspace.clone(), membership)]),
            invited: BTreeMap::new(),
            created_at: self.now(),
            disabled_at: None,
        };
        let (link, invitation) = self.invitation(&user.id)?;
        let payload = json!({"created": user.id, "by": person.user().id});
        let writes = vec![document::insert(&user)?, document::insert(&invitation)?];
        self.change_people(writes, audit::Event::UserChanged, &user.id, payload).await?;
        Ok((user.id, link))
    }

    /// Makes a workspace, which its maker looks after.
    ///
    /// # Errors
    /// The person may not, or the store failed.
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

    /// Makes somebody a member or an admin of a workspace, or neither. Whom a workspace admin
    /// brings in from outside is invited, and joins by their own yes.
    ///
    /// # Errors
    /// The person may not, there is no such user, or the store failed.
    pub async fn change_membership(
        &self,
        person: &Person,
        user: &UserId,
        workspace: &WorkspaceId,
        membership: Option<Membership>,
    ) -> Result<Joined, PeopleError> {
        let (person, _) = self.person_now(person).await?;
        let role = person.role_in(workspace);
        if role < Role::WorkspaceAdmin {
            return Err(PeopleError::NotAllowed);
        }
        let invites =
            |user: &User| role < Role::SuperAdmin && user.role_in(workspace) == Role::Stranger;
        let changed = self
            .change_user(&person, user, |user| {
                let invites = invites(user);
                user.invited.remove(workspace);
                match membership {
                    Some(as_what) if invites => user.invited.insert(workspace.clone(), as_what),
                    Some(as_what) => user.workspaces.insert(workspace.clone(), as_what),
                    None => user.workspaces.remove(workspace),
                };
            })
            .await?;
        let waits = changed.invited.contains_key(workspace);
        Ok(if waits { Joined::Invited } else { Joined::Now })
    }

    /// Joins a workspace that the person was invited to.
    ///
    /// # Errors
    /// They were not, or the store failed.
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

    /// Turns an invitation to a workspace down.
    ///
    /// # Errors
    /// There is none, or the store failed.
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
        let answer = |user: &mut User| {
            // Taken back meanwhile: there is nothing to join.
            if let Some(as_what) = user.invited.remove(workspace) {
                accept(user, as_what);
            }
        };
        self.change_user(person, id, answer).await.map(drop)
    }

    /// Lets somebody no longer in: their devices and keys stop working at once.
    ///
    /// # Errors
    /// The person may not, there is no such user, or the store failed.
    pub async fn disable_user(&self, person: &Person, user: &UserId) -> Result<(), PeopleError> {
        // Nobody locks everybody out by mistake.
        if !person.user().super_admin || person.user().id == *user {
            return Err(PeopleError::NotAllowed);
        }
        let at = self.now();
        self.change_user(person, user, |user| user.disabled_at = Some(at)).await?;
        self.tell_signed_out(user, None);
        Ok(())
    }

    async fn change_user(
        &self,
        person: &Person,
        id: &UserId,
        change: impl Fn(&mut User),
    ) -> Result<User, PeopleError> {
        for _ in 0..TRIES {
            let held = self.active_user(id).await?;
            let mut next = held.value.clone();
            change(&mut next);
            let payload = json!({
                "changed": id,
                "by": person.user().id,
                "workspaces": next.workspaces,
                "invited": next.invited,
                "disabled": next.disabled_at.is_some(),
            });
            let writes = vec![held.replace(&next)?];
            match self.change_people(writes, audit::Event::UserChanged, id, payload).await {
                Ok(()) => {
                    self.tell_rights_changed(id);
                    return Ok(next);
                }
                Err(GateError::Busy) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(GateError::Busy.into())
    }

    /// A new link for a person's next device, from one that is signed in.
    ///
    /// # Errors
    /// The store failed.
    pub async fn invite(&self, person: &Person) -> Result<Secret, PeopleError> {
        let (link, invitation) = self.invitation(&person.user().id)?;
        let payload = json!({"invited_from": person.device});
        let writes = vec![document::insert(&invitation)?];
        let id = &person.user().id;
        self.change_people(writes, audit::Event::DeviceChanged, id, payload).await?;
        Ok(link)
    }

    /// Signs a device in by a link, once. Gives what the device proves itself by from then on.
    ///
    /// # Errors
    /// The link does not work, or the store failed.
    pub async fn accept(&self, link: &Secret, name: &str) -> Result<Secret, PeopleError> {
        let held: Held<Invitation> =
            self.get(&invitation_id(link)).await?.ok_or(PeopleError::Link)?;
        let invitation = &held.value;
        if !link.matches(&invitation.secret) || self.now() >= invitation.expires_at {
            return Err(PeopleError::Link);
        }
        let state = DeviceState::Approved { by: None, role: DeviceRole::Console };
        let (secret, device) = self.device(&invitation.user, name, state)?;
        let payload = json!({"device": device.id, "state": "approved"});
        let writes = vec![held.delete(), document::insert(&device)?];
        let changed =
            self.change_people(writes, audit::Event::DeviceChanged, &device.user, payload);
        match changed.await {
            Ok(()) => Ok(secret),
            // Somebody else used it a moment ago.
            Err(GateError::Busy) => Err(PeopleError::Link),
            Err(error) => Err(error.into()),
        }
    }

    /// Who is at a signed-in device.
    ///
    /// # Errors
    /// Nobody is.
    pub async fn sign_in(&self, device: &Secret) -> Result<Person, PeopleError> {
        let held = self.device_by(device).await?.ok_or(PeopleError::NotSignedIn)?;
        let DeviceState::Approved { role: DeviceRole::Console, .. } = held.value.state else {
            return Err(PeopleError::NotSignedIn);
        };
        let user = self.active_user(&held.value.user).await?.value;
        Ok(Person { user, device: Some(held.value.id), peer: None, unproven: false })
    }

    /// Who answers through a channel whose settings bind an account to this user.
    ///
    /// # Errors
    /// There is no such user.
    pub async fn by_channel(&self, user: &UserId) -> Result<Person, PeopleError> {
        let user = self.active_user(user).await?.value;
        Ok(Person { user, device: None, peer: None, unproven: false })
    }

    /// A new device asks to be let in.
    ///
    /// # Errors
    /// There is no such user, too many devices of theirs wait already, or the store failed.
    pub async fn request_device(&self, user: &UserId, name: &str) -> Result<Secret, PeopleError> {
        self.active_user(user).await?;
        // Whoever asks is not let in yet: a name must not forge lines or fill a screen.
        let name = name.chars().filter(|char| !char.is_control()).take(MOST_CHARACTERS);
        let name: String = name.collect();
        let (secret, device) = self.device(user, &name, DeviceState::Waiting)?;
        let payload = json!({"device": device.id, "state": "waiting"});
        let writes = vec![document::insert(&device)?];
        let mut batch = self.people_batch(writes, audit::Event::DeviceChanged, user, &payload)?;
        batch.counts.push(waiting_count(user, CountStep::Up { most: MOST_WAITING }));
        match self.commit(batch).await {
            Ok(_) => {}
            Err(CommitError::Full { .. }) => return Err(PeopleError::TooManyWaiting),
            Err(error) => return Err(failed(error).into()),
        }
        self.bus.tell(Event {
            user: Some(user.clone()),
            workspace: None,
            session: None,
            what: What::DeviceWaiting { device: device.id },
        });
        Ok(secret)
    }

    /// Lets a device in, from one that is.
    ///
    /// # Errors
    /// There is no such device of theirs that waits, or the store failed.
    pub async fn approve_device(
        &self,
        person: &Person,
        id: &DeviceId,
        role: DeviceRole,
    ) -> Result<(), PeopleError> {
        let by = person.device.clone();
        self.change_device(person, id, |state| match state {
            DeviceState::Waiting => Some(DeviceState::Approved { by: by.clone(), role }),
            DeviceState::Approved { .. } | DeviceState::Revoked { .. } => None,
        })
        .await
    }

    /// Puts a device out, at once and for good.
    ///
    /// # Errors
    /// There is no such device of theirs, or the store failed.
    pub async fn revoke_device(&self, person: &Person, id: &DeviceId) -> Result<(), PeopleError> {
        let at = self.now();
        self.change_device(person, id, |state| match state {
            DeviceState::Waiting | DeviceState::Approved { .. } => {
                Some(DeviceState::Revoked { at })
            }
            DeviceState::Revoked { .. } => None,
        })
        .await?;
        self.tell_signed_out(&person.user().id, Some(id.clone()));
        Ok(())
    }

    /// The person who was let in, with the rights of this moment.
    ///
    /// # Errors
    /// Their device was revoked or they were, or the store failed.
    pub async fn still_signed_in(&self, person: &Person) -> Result<Person, PeopleError> {
        if self.is_an_agents(person.peer) {
            return Err(PeopleError::NotSignedIn);
        }
        match self.person_now(person).await {
            Ok((person, _)) => Ok(person),
            Err(GateError::Revoked(_)) => Err(PeopleError::NotSignedIn),
            Err(error) => Err(error.into()),
        }
    }

    fn tell_signed_out(&self, user: &UserId, device: Option<DeviceId>) {
        let (user, what) = (Some(user.clone()), What::SignedOut { device });
        self.bus.tell(Event { user, workspace: None, session: None, what });
    }

    /// Signs a person out: their own device no longer works, for good.
    ///
    /// # Errors
    /// They are at no device, or the store failed.
    pub async fn sign_out(&self, person: &Person) -> Result<(), PeopleError> {
        let device = person.device.as_ref().ok_or(PeopleError::NotSignedIn)?;
        self.revoke_device(person, device).await
    }

    /// A person's devices.
    ///
    /// # Errors
    /// The store failed.
    pub async fn devices(&self, person: &Person) -> Result<Vec<Device>, PeopleError> {
        let owner = Some(person.user().id.to_string());
        let query = Query { owner, ..Query::of(Kind::Device) };
        Ok(self.all(query).await?)
    }

    pub(super) async fn device_by(
        &self,
        secret: &Secret,
    ) -> Result<Option<Held<Device>>, StoreError> {
        let held: Option<Held<Device>> = self.get(Device::id_of(secret).as_str()).await?;
        Ok(held.filter(|held| secret.matches(&held.value.secret)))
    }

    pub(super) async fn active_user(&self, id: &UserId) -> Result<Held<User>, PeopleError> {
        let held: Option<Held<User>> = self.get(id.as_str()).await?;
        held.filter(|held| held.value.disabled_at.is_none()).ok_or(PeopleError::NotFound)
    }

    /// One batch about people, on record.
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
        let subject = Subject { owner: Some(owner.to_string()), ..Subject::default() };
        let records = vec![self.record(event, subject, payload)?];
        Ok(Batch { writes, records, ..Batch::default() })
    }

    async fn change_device(
        &self,
        person: &Person,
        id: &DeviceId,
        change: impl Fn(&DeviceState) -> Option<DeviceState>,
    ) -> Result<(), PeopleError> {
        for _ in 0..TRIES {
            let held: Held<Device> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
            if held.value.user != person.user().id {
                return Err(PeopleError::NotFound);
            }
            let state = change(&held.value.state).ok_or(PeopleError::NotFound)?;
            let next = Device { state, ..held.value.clone() };
            let payload = json!({"device": id, "state": next.state, "by": person.device});
            let writes = vec![held.replace(&next)?];
            let event = audit::Event::DeviceChanged;
            let mut batch = self.people_batch(writes, event, &next.user, &payload)?;
            if held.value.state == DeviceState::Waiting {
                batch.counts.push(waiting_count(&next.user, CountStep::Down));
            }
            match self.commit(batch).await.map_err(failed) {
                Ok(_) => return Ok(()),
                Err(GateError::Busy) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(GateError::Busy.into())
    }

    fn device(
        &self,
        user: &UserId,
        name: &str,
        state: DeviceState,
    ) -> Result<(Secret, Device), PeopleError> {
        let secret = Secret::draw(SecretKind::Device, &self.clock)?;
        let device = Device {
            id: Device::id_of(&secret),
            user: user.clone(),
            name: name.to_owned(),
            secret: secret.hash(),
            state,
            created_at: self.now(),
        };
        Ok((secret, device))
    }

    fn invitation(&self, user: &UserId) -> Result<(Secret, Invitation), PeopleError> {
        let link = Secret::draw(SecretKind::Link, &self.clock)?;
        let invitation = Invitation {
            id: invitation_id(&link),
            user: user.clone(),
            secret: link.hash(),
            expires_at: self.now().after(LINK_WORKS_FOR),
        };
        Ok((link, invitation))
    }
}

/// Where the devices of a user that wait are counted.
fn waiting_count(user: &UserId, step: CountStep) -> Count {
    Count { key: format!("user:{user}:devices_waiting"), step }
}

fn invitation_id(link: &Secret) -> String {
    DeviceId::from_bytes(link.hash().short()).to_string()
}
