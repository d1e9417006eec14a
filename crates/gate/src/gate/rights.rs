//! Current rights of callers and people.
//!
//! A [`Caller`] or a [`Person`] identifies somebody, but their rights may have changed since they
//! signed in, seconds or days ago. So every permit and every answer looks up key, device and user
//! again, and its batch names the versions it read. A right that is revoked before the commit fails
//! the batch, and the next attempt is refused.

use crate::approval::{Approval, Decision, Quorum, Requester, Vote};
use crate::caller::{Caller, Person};
use crate::document::{Shared, Versioned};
use crate::error::Lost;
use crate::event::{Event, What};
use crate::gate::{Gate, GateError, Lookup};
use crate::id::{DeviceId, UserId};
use crate::key::ApiKey;
use crate::store::{StoreError, Unchanged};
use crate::user::{Device, Role, User};

/// The votes of a question that still count, and the versions from which that was read.
pub(super) struct Counting {
    pub(super) votes: Vec<Vote>,
    pub(super) unchanged: Vec<Unchanged>,
}

impl Gate {
    /// The versions on which a caller's right to act is based, for the batch that uses it.
    pub(super) async fn rights_of(
        &self,
        caller: &Caller,
        look: Lookup,
    ) -> Result<Vec<Unchanged>, GateError> {
        let mut rests_on = Vec::with_capacity(3);
        let user: Option<Shared<User>> = self.look(caller.user.as_str(), look).await?;
        let user = user.filter(|versioned| versioned.value.disabled_at.is_none());
        let user = user.ok_or(GateError::Revoked(Lost::User))?;
        if !user.value.works_in(&caller.workspace) {
            return Err(GateError::Revoked(Lost::Workspace));
        }
        rests_on.push(user.unchanged());
        if let Some(key) = &caller.key {
            let key: Option<Shared<ApiKey>> = self.look(key.id.as_str(), look).await?;
            let key = key.filter(|versioned| versioned.value.works_at(self.now()));
            rests_on.push(key.ok_or(GateError::Revoked(Lost::Key))?.unchanged());
        }
        if let Some(id) = &caller.device {
            let fits = if caller.key.is_some() { Device::is_machine } else { Device::is_console };
            rests_on.push(self.device_in_use(&caller.user, id, fits, look).await?);
        }
        Ok(rests_on)
    }

    /// A person with their current rights, and the versions from which these were read.
    pub(super) async fn person_now(
        &self,
        person: &Person,
    ) -> Result<(Person, Vec<Unchanged>), GateError> {
        let user: Option<Versioned<User>> = self.get(person.user().id.as_str()).await?;
        let user = user.filter(|versioned| versioned.value.disabled_at.is_none());
        let user = user.ok_or(GateError::Revoked(Lost::User))?;
        let mut rests_on = vec![user.unchanged()];
        if let Some(id) = &person.device {
            let console = Device::is_console;
            rests_on.push(self.device_in_use(&person.user().id, id, console, Lookup::Fresh).await?);
        }
        Ok((Person { user: user.value, ..person.clone() }, rests_on))
    }

    async fn device_in_use(
        &self,
        user: &UserId,
        id: &DeviceId,
        fits: fn(&Device) -> bool,
        look: Lookup,
    ) -> Result<Unchanged, GateError> {
        let device: Option<Shared<Device>> = self.look(id.as_str(), look).await?;
        let device =
            device.filter(|versioned| versioned.value.user == *user && fits(&versioned.value));
        Ok(device.ok_or(GateError::Revoked(Lost::Device))?.unchanged())
    }

    /// The votes of the people who could still answer the question.
    pub(super) async fn counting(
        &self,
        approval: &Approval,
        votes: &[Vote],
    ) -> Result<Counting, StoreError> {
        let mut counting = Counting { votes: Vec::new(), unchanged: Vec::new() };
        for vote in votes {
            let user: Option<Versioned<User>> = self.get(vote.by.as_str()).await?;
            if let Some(user) = user.filter(|versioned| is_called(&versioned.value, approval)) {
                counting.unchanged.push(user.unchanged());
                counting.votes.push(vote.clone());
            }
        }
        Ok(counting)
    }

    /// The versions that show that enough of the people who agreed still may; `None` if not.
    pub(super) async fn agreed(
        &self,
        approval: &Approval,
        decision: &Decision,
        needed: Quorum,
    ) -> Result<Option<Vec<Unchanged>>, StoreError> {
        let Counting { votes, unchanged } = self.counting(approval, &decision.votes).await?;
        let requester = &approval.request.user;
        let counts = |vote: &&Vote| match needed.requester {
            Requester::Counts => true,
            Requester::Excluded => vote.by != *requester,
        };
        let mut people: Vec<_> = votes.iter().filter(counts).map(|vote| &vote.by).collect();
        people.sort();
        people.dedup();
        Ok((people.len() >= usize::from(needed.need)).then_some(unchanged))
    }

    /// Tells every connection and every waiting request of a user to check their rights again.
    pub(super) fn tell_rights_changed(&self, user: &UserId) {
        let (user, what) = (Some(user.clone()), What::RightsChanged);
        self.bus.tell(Event { user, workspace: None, session: None, what });
    }
}

/// Reports whether a question is one for this user to answer: their own, one to which others must
/// agree, and for a workspace admin also one that was escalated. A super admin may answer any; a
/// user outside the workspace none.
pub(super) fn is_called(user: &User, approval: &Approval) -> bool {
    let request = &approval.request;
    if !user.works_in(&request.workspace) {
        return false;
    }
    let others = request.quorum.requester == Requester::Excluded;
    request.user == user.id
        || match user.role_in(&request.workspace) {
            Role::SuperAdmin => true,
            Role::WorkspaceAdmin => others || approval.escalated,
            Role::User => others,
            Role::Stranger => false,
        }
}
