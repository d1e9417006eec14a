//! Reading the audit trail, as far as each role allows, and erasing records about a user.

use countersign_core::policy::Lock;

use crate::audit::{self, Record, Report};
use crate::caller::{Caller, Person};
use crate::config::Erasure;
use crate::document::Versioned;
use crate::gate::people::KEPT;
use crate::gate::{Gate, GateError, Lookup};
use crate::id::UserId;
use crate::scope::AUDIT_READ;
use crate::store::{RecordQuery, StoreError};
use crate::user::{Role, User, UserKind};

/// The reason for which the audit trail cannot be read or erased.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The person may not see or erase these records.
    #[error("you may see your own records, and those of workspaces you look after")]
    NotAllowed,
    /// The organisation has locked this setting.
    #[error("the organisation has locked `{0}`: ask an administrator")]
    Locked(&'static str),
    /// The key lacks the scope that reads the audit trail.
    #[error("the key does not have the scope `{AUDIT_READ}`")]
    Scope,
    /// The organisation keeps the audit trail: only administrators erase.
    #[error("{KEPT}")]
    Kept,
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
    /// The records that this person may see: users their own, workspace admins their workspace's,
    /// super admins all.
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

    /// The records for a program whose key may read them: those of its workspace, or all if its
    /// user is a super admin.
    ///
    /// # Errors
    /// The key may not read them, the query asks for more than that, or the store failed.
    pub async fn records_of_caller(
        &self,
        caller: &Caller,
        query: &RecordQuery,
    ) -> Result<Vec<Record>, ReadError> {
        self.rights_of(caller, Lookup::Fresh).await?;
        let user: Option<Versioned<User>> = self.get(caller.user.as_str()).await?;
        let user = user.map(|versioned| versioned.value).ok_or(ReadError::NotAllowed)?;
        let looks_after =
            user.kind == UserKind::Bot || user.role_in(&caller.workspace) >= Role::WorkspaceAdmin;
        if !caller.has_scope(AUDIT_READ) {
            return Err(ReadError::Scope);
        }
        if !looks_after {
            return Err(ReadError::NotAllowed);
        }
        if user.super_admin {
            return Ok(self.store.records(query).await?);
        }
        let own = caller.workspace.to_string();
        if query.workspace.as_ref().is_some_and(|asked| *asked != own) {
            return Err(ReadError::NotAllowed);
        }
        let query = RecordQuery { workspace: Some(own), ..query.clone() };
        Ok(self.store.records(&query).await?)
    }

    /// Erases the records about a user: at their own request, unless the organisation keeps the
    /// audit trail, or by a super admin. The chain stays whole, and names the person who erased.
    /// Returns the number of records that lost their content. Their files are deleted too.
    ///
    /// # Errors
    /// The person may not, or the store failed.
    pub async fn erase(&self, person: &Person, user: &UserId) -> Result<u64, ReadError> {
        match (*user == person.user().id, self.config.erasure) {
            (true, Erasure::People) => {}
            (true, Erasure::Administrators) => return Err(ReadError::Kept),
            (false, _) if person.user().super_admin => {}
            (false, _) => return Err(ReadError::NotAllowed),
        }
        if *user == person.user().id && self.policy().is_locked(Lock::Erasure) {
            return Err(ReadError::Locked(Lock::Erasure.as_str()));
        }
        self.erase_files(user).await?;
        let by = person.user().id.as_str();
        Ok(audit::erase(&*self.store, &self.clock, user, by).await?)
    }

    /// Verifies the chain.
    ///
    /// # Errors
    /// The store failed.
    pub async fn verify(&self) -> Result<Report, GateError> {
        Ok(audit::check(&*self.store, &self.keyring.public(), &[], &mut |_| {}).await?)
    }
}
