//! API keys: creation, authentication, rotation, revocation.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::approval::Request;
use crate::audit;
use crate::caller::{Caller, Origin, Person};
use crate::document::{self, Shared, Versioned};
use crate::gate::people::{MOST_WAITING, PeopleError};
use crate::gate::{Gate, GateError, Lookup, TRIES};
use crate::id::{DeviceId, KeyId, UserId};
use crate::key::{Access, ApiKey, Devices, NewKey};
use crate::scope::{AUDIT_READ, CONSENT, Scope, WORKER};
use crate::secret::{Secret, SecretKind};
use crate::session::Session;
use crate::store::{Kind, Query, StoreError};
use crate::user::{Device, Role, User, UserKind};

/// A key with its secret, which is shown only once.
#[derive(Debug)]
pub struct NewSecret {
    /// The key.
    pub key: ApiKey,
    /// Its secret.
    pub secret: Secret,
}

/// The reason for which a key is refused.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The key does not exist, was revoked or has expired.
    #[error("this key does not work")]
    Key,
    /// The key works only on approved devices, and the request names none.
    #[error("this key works only on an approved device, and none was named")]
    NoDevice,
    /// The device is not an approved machine of the key's user.
    #[error(
        "this device is not approved for this key: it waits for approval, was revoked, or is \
         somebody else's"
    )]
    Device(DeviceId),
    /// Too many devices of the user wait already.
    #[error("{MOST_WAITING} devices wait for approval already: approve or revoke some first")]
    TooManyWaiting,
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl Gate {
    /// The caller with this key, on this device.
    ///
    /// # Errors
    /// The key does not work, or not on this device.
    pub async fn authenticate(
        &self,
        secret: &Secret,
        device: Option<&Secret>,
    ) -> Result<Caller, AuthError> {
        self.caller_with(secret, device, Lookup::Fresh).await
    }

    /// The caller with this key, perhaps from the cache: only for [`submit`](Gate::submit), which
    /// checks if another process has changed anything since, and then fails with
    /// [`GateError::Outdated`].
    ///
    /// # Errors
    /// The key does not work, or not on this device.
    pub async fn recognise(
        &self,
        secret: &Secret,
        device: Option<&Secret>,
    ) -> Result<Caller, AuthError> {
        let epoch = self.store.epoch();
        match self.caller_with(secret, device, Lookup::Cached).await {
            Ok(caller) => Ok(Caller { epoch: Some(epoch), ..caller }),
            // A refusal is never based on the cache.
            Err(_) => self.authenticate(secret, device).await,
        }
    }

    async fn caller_with(
        &self,
        secret: &Secret,
        device: Option<&Secret>,
        look: Lookup,
    ) -> Result<Caller, AuthError> {
        let key = self.working_key(secret, look).await?;
        let device = match key.devices {
            Devices::Any => None,
            Devices::Approved => {
                let device = device.ok_or(AuthError::NoDevice)?;
                self.check_device(&key, device, look).await?;
                Some(Device::id_of(device))
            }
        };
        let (user, workspace) = (key.user.clone(), key.workspace.clone());
        let (key, origin) = (Some(key), Origin::Known);
        Ok(Caller { user, workspace, key, device, epoch: None, origin })
    }

    /// Registers the machine that holds this key as a device. Returns the secret by which it proves
    /// itself once a person has approved it.
    ///
    /// # Errors
    /// The key does not work, too many devices of its user wait already, or the store failed.
    pub async fn request_device_with(&self, key: &Secret, name: &str) -> Result<Secret, AuthError> {
        let key = self.working_key(key, Lookup::Fresh).await?;
        self.request_device(&key.user, name).await.map_err(|error| match error {
            PeopleError::TooManyWaiting => AuthError::TooManyWaiting,
            PeopleError::Gate(error) => AuthError::Gate(error),
            _ => AuthError::Key,
        })
    }

    /// The key with this secret, on any device.
    async fn working_key(&self, secret: &Secret, look: Lookup) -> Result<Arc<ApiKey>, AuthError> {
        let versioned = self.look::<ApiKey>(ApiKey::id_of(secret).as_str(), look).await?;
        let key = versioned.ok_or(AuthError::Key)?.value;
        if !secret.matches(&key.secret) || !key.works_at(self.now()) {
            return Err(AuthError::Key);
        }
        let user: Option<Shared<User>> = self.look(key.user.as_str(), look).await?;
        if !user.is_some_and(|user| user.value.works_in(&key.workspace)) {
            return Err(AuthError::Key);
        }
        Ok(key)
    }

    async fn check_device(
        &self,
        key: &ApiKey,
        device: &Secret,
        look: Lookup,
    ) -> Result<(), AuthError> {
        let known: Option<Shared<Device>> = self.look(Device::id_of(device).as_str(), look).await?;
        let known = known.filter(|versioned| device.matches(&versioned.value.secret));
        let approved = known.is_some_and(|versioned| {
            versioned.value.user == key.user && versioned.value.is_machine()
        });
        let id = Device::id_of(device);
        if approved { Ok(()) } else { Err(AuthError::Device(id)) }
    }

    /// Reports whether a question was asked by this caller: with this key, or with one that it
    /// replaced by rotation. Another key of the same person is another agent, with other scopes.
    pub(super) async fn is_theirs(
        &self,
        caller: &Caller,
        request: &Request,
    ) -> Result<bool, StoreError> {
        if request.user != caller.user || request.workspace != caller.workspace {
            return Ok(false);
        }
        let (asked, key) = match (&request.key, &caller.key) {
            (None, None) => return self.is_in_own_session(caller, request).await,
            (Some(asked), Some(key)) => (asked, key),
            (Some(_), None) | (None, Some(_)) => return Ok(false),
        };
        let mut asked = asked.clone();
        while asked != key.id {
            let versioned: Option<Versioned<ApiKey>> = self.get(asked.as_str()).await?;
            // A key is only ever rotated to a newer one, so this loop ends.
            let Some(next) = versioned.and_then(|versioned| versioned.value.rotated_to) else {
                return Ok(false);
            };
            asked = next;
        }
        Ok(true)
    }

    /// Reports whether a question was asked in a session in which this caller works; an agent of
    /// this machine must not see, use or withdraw another's questions.
    async fn is_in_own_session(
        &self,
        caller: &Caller,
        request: &Request,
    ) -> Result<bool, StoreError> {
        if caller.local_agents().is_none() {
            return Ok(true);
        }
        let Some(id) = &request.session else { return Ok(false) };
        let session: Option<Versioned<Session>> = self.get(id.as_str()).await?;
        Ok(session.is_some_and(|session| caller.may_enter(&session.value)))
    }

    /// Creates a key for a person's agent or program.
    ///
    /// # Errors
    /// The workspace is not one of theirs, the key may not have a scope, or the store failed.
    pub async fn create_key(&self, person: &Person, new: NewKey) -> Result<NewSecret, PeopleError> {
        if person.role_in(&new.workspace) == Role::Stranger {
            return Err(PeopleError::NotAllowed);
        }
        let role = person.role_in(&new.workspace);
        if role < Role::WorkspaceAdmin && new.scopes.iter().any(|scope| scope.is(AUDIT_READ)) {
            return Err(PeopleError::NotAllowed);
        }
        self.keep_key(person, &person.user().id, new).await
    }

    /// Creates a key for a bot that a person administers.
    ///
    /// # Errors
    /// The bot does not exist for them, it does not belong to the workspace, the key may not have a
    /// scope, or the store failed.
    pub async fn create_key_for(
        &self,
        person: &Person,
        bot: &UserId,
        new: NewKey,
    ) -> Result<NewSecret, PeopleError> {
        let user = self.looked_after(person, bot).await?;
        if user.kind != UserKind::Bot || !user.works_in(&new.workspace) {
            return Err(PeopleError::NotAllowed);
        }
        if new.scopes.iter().any(Scope::is_consent) {
            return Err(PeopleError::NotForBots);
        }
        self.keep_key(person, bot, new).await
    }

    async fn keep_key(
        &self,
        person: &Person,
        owner: &UserId,
        new: NewKey,
    ) -> Result<NewSecret, PeopleError> {
        let named = |name: &&str| new.scopes.iter().any(|scope| scope.is(name));
        if let Some(scope) = [CONSENT, AUDIT_READ, WORKER].into_iter().find(named)
            && new.access == Access::Agent
        {
            return Err(PeopleError::NotForModels(scope));
        }
        let made = self.make_key(owner, new)?;
        let payload = json!({
            "created": made.key.id,
            "scopes": made.key.scopes,
            "access": made.key.access,
            "by": person.user().id,
        });
        let writes = vec![document::insert(&made.key)?];
        self.change_people(writes, audit::Event::KeyChanged, owner, payload).await?;
        Ok(made)
    }

    /// Creates a key that replaces another. The old one works on for a while.
    ///
    /// # Errors
    /// The person has no such working key, or the store failed.
    pub async fn rotate_key(
        &self,
        person: &Person,
        id: &KeyId,
        overlap: Duration,
    ) -> Result<NewSecret, PeopleError> {
        for _ in 0..TRIES {
            let versioned = self.key_of(person, id).await?;
            let old = &versioned.value;
            // An admin of a workspace may revoke a key, but not act as another person's agent.
            if old.user != person.user().id {
                let owner = self.looked_after(person, &old.user).await;
                if !owner.is_ok_and(|owner| owner.kind == UserKind::Bot) {
                    return Err(PeopleError::NotAllowed);
                }
            }
            let now = self.now();
            if !old.works_at(now) || old.rotated_to.is_some() {
                return Err(PeopleError::NotFound);
            }
            let mut made = self.make_key(
                &old.user,
                NewKey {
                    name: old.name.clone(),
                    workspace: old.workspace.clone(),
                    scopes: old.scopes.clone(),
                    access: old.access,
                    devices: old.devices,
                    writes: old.writes,
                    expires_at: old.expires_at,
                },
            )?;
            made.key.first_of_line = Some(old.line().clone());
            let until = now.after(overlap);
            let expires_at = Some(old.expires_at.map_or(until, |at| at.min(until)));
            let rotated_to = Some(made.key.id.clone());
            let old = ApiKey { expires_at, rotated_to, ..old.clone() };
            let payload = json!({"rotated": old.id, "to": made.key.id, "by": person.user().id});
            let writes = vec![versioned.replace(&old)?, document::insert(&made.key)?];
            match self.change_people(writes, audit::Event::KeyChanged, &old.user, payload).await {
                Ok(()) => return Ok(made),
                Err(GateError::Busy) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(GateError::Busy.into())
    }

    /// Revokes a key, at once and for good.
    ///
    /// # Errors
    /// The key does not exist for them, or the store failed.
    pub async fn revoke_key(&self, person: &Person, id: &KeyId) -> Result<(), PeopleError> {
        for _ in 0..TRIES {
            let versioned = self.key_of(person, id).await?;
            let revoked_at = versioned.value.revoked_at.or(Some(self.now()));
            let next = ApiKey { revoked_at, ..versioned.value.clone() };
            let payload = json!({"revoked": id, "by": person.user().id});
            let writes = vec![versioned.replace(&next)?];
            match self.change_people(writes, audit::Event::KeyChanged, &next.user, payload).await {
                Ok(()) => {
                    self.tell_rights_changed(&next.user);
                    return Ok(());
                }
                Err(GateError::Busy) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(GateError::Busy.into())
    }

    /// A person's keys, with the number of uses and refusals of each.
    ///
    /// # Errors
    /// The store failed.
    pub async fn keys(&self, person: &Person) -> Result<Vec<(ApiKey, Usage)>, PeopleError> {
        self.keys_of(person, &person.user().id).await
    }

    /// The keys of a user: the person's own, or those of a user whom the person administers.
    ///
    /// # Errors
    /// The user does not exist for them, or the store failed.
    pub async fn keys_of(
        &self,
        person: &Person,
        user: &UserId,
    ) -> Result<Vec<(ApiKey, Usage)>, PeopleError> {
        if *user != person.user().id {
            self.looked_after(person, user).await?;
        }
        let owner = Some(user.to_string());
        let query = Query { owner, ..Query::of(Kind::Key) };
        let mut keys = Vec::new();
        for key in self.all::<ApiKey>(query).await? {
            let count = async |what| self.store.counter(&ApiKey::counter(&key.id, what)).await;
            let usage = Usage { uses: count("uses").await?, refused: count("refused").await? };
            keys.push((key, usage));
        }
        Ok(keys)
    }

    async fn key_of(&self, person: &Person, id: &KeyId) -> Result<Versioned<ApiKey>, PeopleError> {
        let versioned: Versioned<ApiKey> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        let mine = versioned.value.user == person.user().id;
        if mine || person.role_in(&versioned.value.workspace) >= Role::WorkspaceAdmin {
            return Ok(versioned);
        }
        Err(PeopleError::NotFound)
    }

    fn make_key(&self, owner: &UserId, new: NewKey) -> Result<NewSecret, PeopleError> {
        let secret = Secret::draw(SecretKind::Key, &self.clock)?;
        let key = ApiKey {
            id: ApiKey::id_of(&secret),
            user: owner.clone(),
            workspace: new.workspace,
            name: new.name,
            secret: secret.hash(),
            scopes: new.scopes,
            access: new.access,
            devices: new.devices,
            writes: new.writes,
            created_at: self.now(),
            expires_at: new.expires_at,
            revoked_at: None,
            rotated_to: None,
            first_of_line: None,
        };
        Ok(NewSecret { key, secret })
    }
}

/// The number of uses of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Actions it proposed that were allowed or asked about.
    pub uses: u64,
    /// Actions it proposed that were refused.
    pub refused: u64,
}
