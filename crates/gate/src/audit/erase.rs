//! Erasure of everything that is kept about a user. The chain stays whole.

use crate::approval::OVER as APPROVALS_OVER;
use crate::clock::{Clock, random};
use crate::document;
use crate::error::GateError;
use crate::id::UserId;
use crate::store::{Batch, CommitError, Erase, Kind, Query, Store, StoreError};

/// Removes the content of every record about a user, and deletes their settled approvals and ended
/// sessions. Returns the number of records that lost their content. `by` is recorded as the one who
/// erased.
///
/// # Errors
/// One of the records fails verification, or the store failed; erasures made until then stay.
pub async fn erase(
    store: &dyn Store,
    clock: &dyn Clock,
    user: &UserId,
    by: &str,
) -> Result<u64, GateError> {
    forget(store, user, Kind::Approval, APPROVALS_OVER).await?;
    forget(store, user, Kind::Session, &["ended"]).await?;
    let (at, salt) = (clock.now(), random(clock)?);
    let owner = Some(user.to_string());
    let erase = Some(Erase { owner, before: None, by: by.to_owned(), at, salt });
    let batch = Batch { erase, ..Batch::default() };
    Ok(store.commit(batch).await.map_err(failed)?.erased)
}

async fn forget(
    store: &dyn Store,
    user: &UserId,
    kind: Kind,
    states: &[&'static str],
) -> Result<(), GateError> {
    let owner = Some(user.to_string());
    let mut query = Query { owner, states: states.to_vec(), limit: 100, ..Query::of(kind) };
    loop {
        let settled = store.find(&query).await?;
        let Some(last) = settled.last() else { return Ok(()) };
        query.after = Some(last.doc.id.clone());
        let writes = settled.iter().map(document::delete).collect();
        store.commit(Batch { writes, ..Batch::default() }).await.map_err(failed)?;
    }
}

fn failed(error: CommitError) -> GateError {
    match error {
        CommitError::Store(error) => error.into(),
        other @ (CommitError::Conflict { .. }
        | CommitError::Outdated
        | CommitError::Full { .. }
        | CommitError::TooFast { .. }) => StoreError(other.to_string()).into(),
    }
}
