//! Accounts: bots and super admins; disabling, enabling and removing users.

use serde_json::json;

use crate::approval::{Cancel, OPEN};
use crate::audit;
use crate::caller::Person;
use crate::document;
use crate::gate::control::failed;
use crate::gate::people::{PeopleError, active};
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::{UserId, WorkspaceId};
use crate::session::{End, Session};
use crate::store::{Batch, Kind, Query};
use crate::user::{Membership, Role, User, UserKind};

impl Gate {
    /// Adds a bot to a workspace: it has keys, and never signs in or answers.
    ///
    /// # Errors
    /// The person may not do this, or the store failed.
    pub async fn add_bot(
        &self,
        person: &Person,
        name: &str,
        workspace: &WorkspaceId,
    ) -> Result<UserId, PeopleError> {
        if person.role_in(workspace) < Role::WorkspaceAdmin {
            return Err(PeopleError::NotAllowed);
        }
        let member = (workspace.clone(), Membership::Member);
        let bot = self.new_user(name, member, UserKind::Bot)?;
        let payload = json!({"created": bot.id, "bot": true, "by": person.user().id});
        let writes = vec![document::insert(&bot)?];
        self.change_people(writes, audit::Event::UserChanged, &bot.id, payload).await?;
        Ok(bot.id)
    }

    /// One user: the person themselves, or a user whom they administer.
    ///
    /// # Errors
    /// The user does not exist for them, or the store failed.
    pub async fn user(&self, person: &Person, id: &UserId) -> Result<User, PeopleError> {
        let own = *id == person.user().id;
        if own {
            Ok(self.person_now(person).await?.0.user)
        } else {
            self.looked_after(person, id).await
        }
    }

    /// Makes a user a super admin, or revokes that. Never oneself, so that there is always one
    /// left.
    ///
    /// # Errors
    /// The person may not do this, the user does not exist, or the store failed.
    pub async fn set_super_admin(
        &self,
        person: &Person,
        user: &UserId,
        super_admin: SuperAdmin,
    ) -> Result<(), PeopleError> {
        let changed = self.change_others(person, user, |user| {
            active(user)?;
            if user.kind == UserKind::Bot {
                return Err(PeopleError::Bot);
            }
            user.super_admin = super_admin == SuperAdmin::Yes;
            Ok(())
        });
        changed.await.map(drop)
    }

    /// Disables a user: their devices and keys stop working at once.
    ///
    /// # Errors
    /// The person may not do this, the user does not exist, or the store failed.
    pub async fn disable_user(&self, person: &Person, user: &UserId) -> Result<(), PeopleError> {
        let at = self.now();
        let disable = |user: &mut User| {
            active(user)?;
            user.disabled_at = Some(at);
            Ok(())
        };
        self.change_others(person, user, disable).await?;
        self.tell_signed_out(user, None);
        Ok(())
    }

    /// Enables a disabled user: devices and keys that were not revoked work again.
    ///
    /// # Errors
    /// The person may not do this, the user does not exist, or the store failed.
    pub async fn enable_user(&self, person: &Person, user: &UserId) -> Result<(), PeopleError> {
        let enable = |user: &mut User| {
            if user.disabled_at.take().is_none() || user.removed_at.is_some() {
                return Err(PeopleError::NotFound);
            }
            Ok(())
        };
        self.change_others(person, user, enable).await.map(drop)
    }

    /// Removes a user for good: they leave all workspaces, their sessions end, their questions are
    /// cancelled, and their devices and keys never work again. Their name and their records stay.
    ///
    /// Called again, it finishes an interrupted removal.
    ///
    /// # Errors
    /// The person may not do this, the user does not exist, or the store failed.
    pub async fn remove_user(&self, person: &Person, user: &UserId) -> Result<(), PeopleError> {
        let at = self.now();
        let remove = |user: &mut User| {
            user.disabled_at.get_or_insert(at);
            user.removed_at.get_or_insert(at);
            user.super_admin = false;
            user.workspaces.clear();
            user.invited.clear();
            Ok(())
        };
        self.change_others(person, user, remove).await?;
        self.tell_signed_out(user, None);
        Ok(self.end_all_of(user).await?)
    }

    /// Changes another user as a super admin. Never oneself, so that a mistake cannot lock
    /// everybody out.
    async fn change_others(
        &self,
        person: &Person,
        id: &UserId,
        change: impl Fn(&mut User) -> Result<(), PeopleError>,
    ) -> Result<User, PeopleError> {
        if !person.user().super_admin || person.user().id == *id {
            return Err(PeopleError::NotAllowed);
        }
        self.change_user(person, id, |person, user| {
            if person.user().super_admin { change(user) } else { Err(PeopleError::NotAllowed) }
        })
        .await
    }

    /// Ends the sessions of a removed user, cancels their questions, and deletes links, remembered
    /// answers and preferences.
    async fn end_all_of(&self, user: &UserId) -> Result<(), GateError> {
        let owner = Some(user.to_string());
        self.end_where(|session: &Session| (session.user == *user).then_some(End::Stopped)).await?;
        let open = Query { owner, states: OPEN.to_vec(), ..Query::of(Kind::Approval) };
        self.cancel_all(open, Cancel::UserRemoved).await?;
        for kind in [Kind::Invitation, Kind::Remembered, Kind::Declined, Kind::Settings] {
            self.delete_all_of(user, kind).await?;
        }
        Ok(())
    }

    /// Deletes every document of a kind that a user owns.
    pub(super) async fn delete_all_of(&self, user: &UserId, kind: Kind) -> Result<(), GateError> {
        let query = Query { owner: Some(user.to_string()), ..Query::of(kind) };
        let mut tries = 0;
        while tries < TRIES {
            let found = self.store.find(&query).await?;
            if found.is_empty() {
                return Ok(());
            }
            // The number of documents is unlimited: only rounds without a deletion count.
            tries += 1;
            for stored in &found {
                let writes = vec![document::delete(stored)];
                match self.commit(Batch { writes, ..Batch::default() }).await {
                    Ok(_) => tries = 0,
                    // It was changed meanwhile: the next query finds it again.
                    Err(error) if is_conflict(&error) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        Err(GateError::Busy)
    }
}

/// The choice to make a user a super admin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuperAdmin {
    /// The user is a super admin, who may see and do everything.
    Yes,
    /// The user is not a super admin.
    No,
}
