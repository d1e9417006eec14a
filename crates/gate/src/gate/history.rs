//! Reading the record, each as far as their role allows; and erasing what is theirs.

use countersign_core::policy::Lock;

use crate::audit::{self, Record, Report};
use crate::caller::Person;
use crate::gate::{Gate, GateError};
use crate::id::UserId;
use crate::store::{RecordQuery, StoreError};
use crate::user::Role;

/// Why the record stays closed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not theirs to see.
    #[error("you may see your own records, and those of workspaces you look after")]
    NotAllowed,
    /// The organisation has pinned this.
    #[error("the organisation has locked `{0}`: ask an administrator")]
    Locked(&'static str),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl Gate {
    /// Records, as far as this person may see them: users their own, workspace admins their
    /// workspace's, super admins all.
    ///
    /// # Errors
    /// The query asks for more than that, or the store failed.
    pub async fn records(
        &self,
        person: &Person,
        query: &RecordQuery,
    ) -> Result<Vec<Record>, ReadError> {
        let own = query.owner.as_deref() == Some(person.user().id.as_str());
        let looks_after = |id: &str| {
            crate::id::WorkspaceId::parse(id)
                .is_ok_and(|id| person.role_in(&id) >= Role::WorkspaceAdmin)
        };
        let allowed =
            own || person.user().super_admin || query.workspace.as_deref().is_some_and(looks_after);
        if !allowed {
            return Err(ReadError::NotAllowed);
        }
        Ok(self.store.records(query).await?)
    }

    /// Erases what is on record about a user: theirs to ask, or a super admin's to do. The chain
    /// stays whole. Says how many records lost their content. Their files go too.
    ///
    /// # Errors
    /// The person may not, or the store failed.
    pub async fn erase(&self, person: &Person, user: &UserId) -> Result<u64, ReadError> {
        if *user != person.user().id && !person.user().super_admin {
            return Err(ReadError::NotAllowed);
        }
        if *user == person.user().id && self.policy().is_locked(Lock::Erasure) {
            return Err(ReadError::Locked(Lock::Erasure.as_str()));
        }
        self.erase_files(user).await?;
        Ok(audit::erase(&*self.store, &self.clock, user).await?)
    }

    /// Proves that the chain is whole.
    ///
    /// # Errors
    /// The store failed.
    pub async fn verify(&self) -> Result<Report, GateError> {
        Ok(audit::check(&*self.store, &self.keyring.public(), &[], &mut |_| {}).await?)
    }
}
