//! A store whose process dies at a chosen commit: just before it, or just after, when it is on disk
//! and no waiter was told.

use std::sync::{Arc, Mutex};

use countersign_gate::store::{
    Batch, BoxFuture, Chain, CommitError, Committed, Kind, Query, RecordQuery, Store, StoreError,
    Stored,
};

#[derive(Debug)]
pub(super) struct Brittle {
    inner: Arc<dyn Store>,
    fate: Mutex<Option<Fate>>,
}

/// The moment at which it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// After this many more commits, before the next.
    Before(u32),
    /// Right after the next commit, whose result is lost.
    After,
    /// It is dead.
    Dead,
}

impl Brittle {
    pub(super) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, fate: Mutex::new(None) }
    }

    pub(super) fn doom(&self, fate: Fate) {
        *self.fate.lock().unwrap() = Some(fate);
    }

    /// Cancels a fate that did not come true, and reports whether it did.
    pub(super) fn spare(&self) -> bool {
        self.fate.lock().unwrap().take() == Some(Fate::Dead)
    }

    async fn try_commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let fate = *self.fate.lock().unwrap();
        let dead = || CommitError::Store(StoreError("died".to_owned()));
        let then = match fate {
            None => return self.inner.commit(batch).await,
            Some(Fate::Dead | Fate::Before(0)) => Fate::Dead,
            Some(Fate::Before(left)) => {
                let done = self.inner.commit(batch).await;
                let left = if done.is_ok() { left - 1 } else { left };
                *self.fate.lock().unwrap() = Some(Fate::Before(left));
                return done;
            }
            Some(Fate::After) => {
                // A commit that fails anyway is not counted as a moment to die.
                self.inner.commit(batch).await?;
                Fate::Dead
            }
        };
        *self.fate.lock().unwrap() = Some(then);
        Err(dead())
    }
}

impl Store for Brittle {
    fn get<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        self.inner.get(kind, id)
    }

    fn find<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>> {
        self.inner.find(query)
    }

    fn count<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.inner.count(query)
    }

    fn counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.inner.counter(key)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        Box::pin(self.try_commit(batch))
    }

    fn records<'a>(
        &'a self,
        query: &'a RecordQuery,
    ) -> BoxFuture<'a, Result<Vec<countersign_gate::audit::Record>, StoreError>> {
        self.inner.records(query)
    }

    fn chain(&self) -> BoxFuture<'_, Result<Chain, StoreError>> {
        self.inner.chain()
    }
}
