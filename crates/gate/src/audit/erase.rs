//! Erases what is kept about a user. The chain stays whole.

use serde_json::json;

use crate::approval::OVER as APPROVALS_OVER;
use crate::audit::{Draft, Event, Subject};
use crate::clock::{Clock, random};
use crate::gate::GateError;
use crate::id::UserId;
use crate::store::{Batch, CommitError, Erase, Kind, Query, Store, StoreError, Unchanged, Write};

/// Takes the content of every record about a user away, and their settled approvals and ended
/// sessions with what those were about. Says how many records lost their content.
///
/// # Errors
/// The store failed; what was done until then stays done.
pub async fn erase(store: &dyn Store, clock: &dyn Clock, user: &UserId) -> Result<u64, GateError> {
    forget(store, user, Kind::Approval, APPROVALS_OVER).await?;
    forget(store, user, Kind::Session, &["ended"]).await?;
    // On record without a name: that something was erased, not whose it was.
    let payload = json!({"by": "request"}).to_string();
    let (at, salt) = (clock.now(), random(clock)?);
    let record = Draft::new(at, Event::Erased, Subject::default(), payload, salt);
    let owner = Some(user.to_string());
    let batch = Batch {
        records: vec![record],
        erase: Some(Erase { owner, before: None }),
        ..Batch::default()
    };
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
        let writes = settled
            .into_iter()
            .map(|stored| {
                let (kind, id) = (stored.doc.kind, stored.doc.id);
                Write::Delete(Unchanged { kind, id, version: stored.version })
            })
            .collect();
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
