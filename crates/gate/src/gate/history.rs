//! Reading the record, each as far as their role allows; and erasing what is theirs.

use serde_json::json;

use crate::audit::{self, Record, Report, Subject, Verifier};
use crate::caller::Person;
use crate::gate::control::failed;
use crate::gate::{Gate, GateError};
use crate::id::UserId;
use crate::store::{Batch, Erase, RecordQuery, Store, StoreError};
use crate::user::Role;

/// Why the record stays closed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not theirs to see.
    #[error("you may see your own records, and those of workspaces you look after")]
    NotAllowed,
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
    /// stays whole. Says how many records lost their content.
    ///
    /// # Errors
    /// The person may not, or the store failed.
    pub async fn erase(&self, person: &Person, user: &UserId) -> Result<u64, ReadError> {
        if *user != person.user().id && !person.user().super_admin {
            return Err(ReadError::NotAllowed);
        }
        Ok(erase(self, user).await?)
    }

    /// Proves that the chain is whole.
    ///
    /// # Errors
    /// The store failed.
    pub async fn verify(&self) -> Result<Report, GateError> {
        Ok(audit_report(&*self.store, self.keyring.public()).await?)
    }
}

async fn erase(gate: &Gate, user: &UserId) -> Result<u64, GateError> {
    // On record without a name: that something was erased, not whose it was.
    let payload = json!({"by": "request"});
    let record = gate.record(audit::Event::Erased, Subject::default(), payload)?;
    let owner = Some(user.to_string());
    let batch = Batch {
        records: vec![record],
        erase: Some(Erase { owner, before: None }),
        ..Batch::default()
    };
    Ok(gate.commit(batch).await.map_err(failed)?.erased)
}

/// Walks a whole chain.
async fn audit_report(
    store: &dyn Store,
    key: crate::keyring::PublicKey,
) -> Result<Report, StoreError> {
    let chain = store.chain().await?;
    // What is recorded while we walk is not part of what we verify.
    // Without a signed end, everything is walked, to find that out.
    let end = chain.head.as_ref().map_or(u64::MAX, |head| head.number);
    let mut verifier = Verifier::new(chain, key);
    let mut query = RecordQuery::default();
    loop {
        let records = store.records(&query).await?;
        records.iter().filter(|record| record.number <= end).for_each(|it| verifier.next(it));
        match records.last() {
            Some(last) if last.number < end => query.after = last.number,
            Some(_) | None => break,
        }
    }
    let mut report = verifier.finish();
    // What came meanwhile is signed by now; a record past the signed end is none of ours.
    let after = RecordQuery { after: end, limit: 1, ..RecordQuery::default() };
    if let Some(record) = store.records(&after).await?.first() {
        let signed = store.chain().await?.end().number;
        if record.number > signed {
            report.damage.push(audit::Damage::End { found: record.number, signed });
        }
    }
    Ok(report)
}
