//! Devices, and the links that sign them in.
//!
//! A device is either a console, where a person answers, or a machine, where keys work: never both.

use std::time::Duration;

use serde_json::json;

use crate::audit;
use crate::caller::Person;
use crate::document::{self, Versioned};
use crate::event::{Event, What};
use crate::gate::control::failed;
use crate::gate::people::{MOST_WAITING, PeopleError, active};
use crate::gate::{Gate, GateError, TRIES};
use crate::id::{DeviceId, UserId};
use crate::secret::{Secret, SecretKind};
use crate::store::{CommitError, Count, CountStep, Kind, Query, StoreError};
use crate::user::{Device, DeviceRole, DeviceState, Invitation, User, UserKind};

/// The time for which a link works.
const LINK_WORKS_FOR: Duration = Duration::from_mins(15);
/// The longest name of a device that waits for approval; a longer one is cut.
const MOST_CHARACTERS: usize = 100;

impl Gate {
    /// A new link for a person's next device, created on one that is signed in.
    ///
    /// # Errors
    /// The store failed.
    pub async fn invite(&self, person: &Person) -> Result<Secret, PeopleError> {
        let id = &person.user().id;
        let (link, invitation) = self.invitation(id, Some(id))?;
        let payload = json!({"invited": id, "by": id, "from_device": person.device});
        let writes = vec![document::insert(&invitation)?];
        self.change_people(writes, audit::Event::DeviceChanged, id, payload).await?;
        Ok(link)
    }

    /// A new link for a user whom the person administers and who is signed in nowhere. Earlier
    /// links of theirs stop working.
    ///
    /// # Errors
    /// The user does not exist for them, is signed in somewhere, or the store failed.
    pub async fn invite_user(&self, person: &Person, id: &UserId) -> Result<Secret, PeopleError> {
        let user = self.looked_after(person, id).await?;
        active(&user)?;
        if user.kind == UserKind::Bot {
            return Err(PeopleError::Bot);
        }
        // A signed-in user would not notice that somebody else signs in as them.
        if self.has_console(id).await? {
            return Err(PeopleError::SignedIn);
        }
        let by = &person.user().id;
        let (link, invitation) = self.invitation(id, Some(by))?;
        let query = Query { owner: Some(id.to_string()), ..Query::of(Kind::Invitation) };
        let earlier = document::find::<Invitation>(&*self.store, &query).await?;
        let mut writes: Vec<_> = earlier.iter().map(Versioned::delete).collect();
        writes.push(document::insert(&invitation)?);
        let payload = json!({"invited": id, "by": by, "from_device": person.device});
        self.change_people(writes, audit::Event::DeviceChanged, id, payload).await?;
        Ok(link)
    }

    /// Signs a device in by a link, once. Returns the secret by which the device proves itself from
    /// then on.
    ///
    /// # Errors
    /// The link does not work, or the store failed.
    pub async fn accept(&self, link: &Secret, name: &str) -> Result<Secret, PeopleError> {
        let versioned: Versioned<Invitation> =
            self.get(&invitation_id(link)).await?.ok_or(PeopleError::Link)?;
        let invitation = &versioned.value;
        if !link.matches(&invitation.secret) || self.now() >= invitation.expires_at {
            return Err(PeopleError::Link);
        }
        let state = DeviceState::Approved { by: None, role: DeviceRole::Console };
        self.active_person(&invitation.user).await.map_err(|_| PeopleError::Link)?;
        let (secret, device) = self.device(&invitation.user, name, state)?;
        let by = &invitation.by;
        let payload = json!({"device": device.id, "state": "approved", "invited_by": by});
        let writes = vec![versioned.delete(), document::insert(&device)?];
        let changed =
            self.change_people(writes, audit::Event::DeviceChanged, &device.user, payload);
        match changed.await {
            Ok(()) => Ok(secret),
            // The link was used a moment ago.
            Err(GateError::Busy) => Err(PeopleError::Link),
            Err(error) => Err(error.into()),
        }
    }

    /// The person at a signed-in device.
    ///
    /// # Errors
    /// The device is not signed in.
    pub async fn sign_in(&self, device: &Secret) -> Result<Person, PeopleError> {
        let versioned = self.device_by(device).await?.ok_or(PeopleError::NotSignedIn)?;
        let DeviceState::Approved { role: DeviceRole::Console, .. } = versioned.value.state else {
            return Err(PeopleError::NotSignedIn);
        };
        let user = self.active_person(&versioned.value.user).await?;
        Ok(Person { user, device: Some(versioned.value.id), peer: None, unproven: false })
    }

    /// The person who answers through a channel whose settings bind an account to this user.
    ///
    /// # Errors
    /// The user does not exist.
    pub async fn by_channel(&self, user: &UserId) -> Result<Person, PeopleError> {
        let user = self.active_person(user).await?;
        Ok(Person { user, device: None, peer: None, unproven: false })
    }

    /// Registers a new device that waits for approval.
    ///
    /// # Errors
    /// The user does not exist, too many devices of theirs wait already, or the store failed.
    pub async fn request_device(&self, user: &UserId, name: &str) -> Result<Secret, PeopleError> {
        self.active_user(user).await?;
        // The requester is not trusted yet: a name must not forge lines or fill a screen.
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

    /// Approves a device, from one that is signed in. A bot's device can only be a machine,
    /// approved by its administrators.
    ///
    /// # Errors
    /// The device does not exist or does not wait for them, or the store failed.
    pub async fn approve_device(
        &self,
        person: &Person,
        id: &DeviceId,
        role: DeviceRole,
    ) -> Result<(), PeopleError> {
        let by = person.device.clone();
        let changed = self.change_device(person, id, |whose, state| {
            match whose {
                DeviceOwner::Own => {}
                DeviceOwner::Others(user) if user.kind == UserKind::Bot => {
                    if role == DeviceRole::Console {
                        return Err(PeopleError::Bot);
                    }
                }
                // A machine or console cannot be approved for another person.
                DeviceOwner::Others(_) => return Err(PeopleError::NotAllowed),
            }
            match state {
                DeviceState::Waiting => Ok(DeviceState::Approved { by: by.clone(), role }),
                DeviceState::Approved { .. } | DeviceState::Revoked { .. } => {
                    Err(PeopleError::NotFound)
                }
            }
        });
        changed.await.map(drop)
    }

    /// Revokes a device, at once and for good: one's own, or one of a user whom the person
    /// administers.
    ///
    /// # Errors
    /// The device does not exist for them, or the store failed.
    pub async fn revoke_device(&self, person: &Person, id: &DeviceId) -> Result<(), PeopleError> {
        let at = self.now();
        let revoked = self.change_device(person, id, |_, state| match state {
            DeviceState::Waiting | DeviceState::Approved { .. } => Ok(DeviceState::Revoked { at }),
            DeviceState::Revoked { .. } => Err(PeopleError::NotFound),
        });
        let user = revoked.await?.user;
        self.tell_signed_out(&user, Some(id.clone()));
        Ok(())
    }

    /// The signed-in person, with their current rights.
    ///
    /// # Errors
    /// Their device or their account was revoked, they connect from an agent's process, or the
    /// store failed.
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

    pub(super) fn tell_signed_out(&self, user: &UserId, device: Option<DeviceId>) {
        let (user, what) = (Some(user.clone()), What::SignedOut { device });
        self.bus.tell(Event { user, workspace: None, session: None, what });
    }

    /// Signs a person out: their own device stops working for good.
    ///
    /// # Errors
    /// They are not signed in on a device, or the store failed.
    pub async fn sign_out(&self, person: &Person) -> Result<(), PeopleError> {
        let device = person.device.as_ref().ok_or(PeopleError::NotSignedIn)?;
        self.revoke_device(person, device).await
    }

    /// A person's devices.
    ///
    /// # Errors
    /// The store failed.
    pub async fn devices(&self, person: &Person) -> Result<Vec<Device>, PeopleError> {
        self.devices_of(person, &person.user().id).await
    }

    /// The devices of a user: the person's own, or those of a user whom they administer.
    ///
    /// # Errors
    /// The user does not exist for them, or the store failed.
    pub async fn devices_of(
        &self,
        person: &Person,
        user: &UserId,
    ) -> Result<Vec<Device>, PeopleError> {
        if *user != person.user().id {
            self.looked_after(person, user).await?;
        }
        let owner = Some(user.to_string());
        let query = Query { owner, ..Query::of(Kind::Device) };
        Ok(self.all(query).await?)
    }

    pub(in crate::gate) async fn device_by(
        &self,
        secret: &Secret,
    ) -> Result<Option<Versioned<Device>>, StoreError> {
        let versioned: Option<Versioned<Device>> = self.get(Device::id_of(secret).as_str()).await?;
        Ok(versioned.filter(|versioned| secret.matches(&versioned.value.secret)))
    }

    async fn change_device(
        &self,
        person: &Person,
        id: &DeviceId,
        change: impl Fn(DeviceOwner<'_>, &DeviceState) -> Result<DeviceState, PeopleError>,
    ) -> Result<Device, PeopleError> {
        for _ in 0..TRIES {
            let versioned: Versioned<Device> =
                self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
            let state = if versioned.value.user == person.user().id {
                change(DeviceOwner::Own, &versioned.value.state)?
            } else {
                let user = self.looked_after(person, &versioned.value.user).await?;
                change(DeviceOwner::Others(&user), &versioned.value.state)?
            };
            let next = Device { state, ..versioned.value.clone() };
            let payload = json!({
                "device": id,
                "state": next.state,
                "by": person.user().id,
                "from_device": person.device,
            });
            let writes = vec![versioned.replace(&next)?];
            let event = audit::Event::DeviceChanged;
            let mut batch = self.people_batch(writes, event, &next.user, &payload)?;
            if versioned.value.state == DeviceState::Waiting {
                batch.counts.push(waiting_count(&next.user, CountStep::Down));
            }
            match self.commit(batch).await.map_err(failed) {
                Ok(_) => return Ok(next),
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

    pub(super) fn invitation(
        &self,
        user: &UserId,
        by: Option<&UserId>,
    ) -> Result<(Secret, Invitation), PeopleError> {
        let link = Secret::draw(SecretKind::Link, &self.clock)?;
        let invitation = Invitation {
            id: invitation_id(&link),
            user: user.clone(),
            by: by.cloned(),
            secret: link.hash(),
            expires_at: self.now().after(LINK_WORKS_FOR),
        };
        Ok((link, invitation))
    }
}

/// The owner of a device, for the person who changes it.
enum DeviceOwner<'a> {
    Own,
    /// The device of a user whom they administer.
    Others(&'a User),
}

/// The counter of a user's devices that wait.
pub(super) fn waiting_count(user: &UserId, step: CountStep) -> Count {
    Count { key: format!("user:{user}:devices_waiting"), step }
}

fn invitation_id(link: &Secret) -> String {
    DeviceId::from_bytes(link.hash().short()).to_string()
}
