//! The store: documents that change by compare-and-set, counters with a ceiling, rate limits, and
//! the audit chain.
//!
//! A store knows nothing of approvals or sessions. It promises five things, which `conformance.rs`
//! tests on every backend:
//!
//! 1. A [`Batch`] is atomic, and once [`Store::commit`] has returned `Ok`, it survives a power
//!    failure.
//! 2. A document changes only from the version its writer read. Of two writers, one gets a
//!    conflict.
//! 3. A counter never exceeds its ceiling, under any concurrency.
//! 4. Records are appended to one chain, in the order of their batches, without a gap.
//! 5. A read sees everything that was committed before it began.
//!
//! So every state transition of an approval is one batch, which also contains its side effects (the
//! counter of pending questions, the record).

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use crate::clock::Timestamp;
use crate::record::Record;
pub use crate::record::{Chain, Noted};

mod batch;
mod memory;
mod sqlite;
mod url;

pub use batch::{
    Batch, CommitError, Committed, Count, CountStep, Erase, Pace, RecordQuery, StoreError,
    Unchanged, Write,
};
pub use url::{
    StoreUrl, StoreUrlError, danger_open_or_begin, file_in, note_in, open, open_read_only,
};

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A store of documents, counters and records.
pub trait Store: Send + Sync + fmt::Debug {
    /// Reads one document.
    fn get<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>, StoreError>>;

    /// The documents that a query finds, by id in its order, up to its limit.
    fn find<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>>;

    /// The number of documents that a query would find without its limit.
    fn count<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// The value of a counter; 0 if it was never counted.
    fn counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// The free bytes on its disk, if it has one.
    ///
    /// # Errors
    /// It cannot be written at all.
    fn room(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// The bytes that it occupies on disk, if it is on disk.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Commits a batch, atomically and durably.
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>>;

    /// The records of the audit chain that a query finds, in its order, up to its limit.
    fn records<'a>(
        &'a self,
        query: &'a RecordQuery,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// The beginning and end of the chain, and the signed checkpoints between.
    fn chain(&self) -> BoxFuture<'_, Result<Chain, StoreError>>;

    /// The note outside the store about the length of the chain.
    fn noted(&self) -> Noted {
        Noted::NotKept
    }

    /// Reads one document, perhaps from the cache. Only for a batch that names the
    /// [`epoch`](Self::epoch) read before: other processes may have changed the document since, and
    /// their change is noticed when the batch is committed. A store that cannot notice this always
    /// reads.
    fn get_cached<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<CachedDoc>>, StoreError>> {
        Box::pin(async move {
            Ok(self.get(kind, id).await?.map(|stored| CachedDoc::new(stored).into()))
        })
    }

    /// The result of [`Self::get_cached`] if it is cached; `None` if it would have to read.
    fn cached(&self, _kind: Kind, _id: &str) -> Option<Option<Arc<CachedDoc>>> {
        None
    }

    /// The result of [`Self::get_cached_counter`] if it is cached; `None` if it would have to read.
    fn cached_counter(&self, _key: &str) -> Option<u64> {
        None
    }

    /// The value of a counter, perhaps from the cache, with the rules of
    /// [`Self::get_cached`].
    fn get_cached_counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.counter(key)
    }

    /// The epoch that a batch names to rely on cached values read from now on.
    fn epoch(&self) -> Epoch {
        Epoch::default()
    }
}

/// A period in which no other process was seen to change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Epoch(pub u64);

/// A cached document, with its parsed body.
#[derive(Debug)]
pub struct CachedDoc {
    stored: Stored,
    read: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl CachedDoc {
    /// A document whose body is not parsed yet.
    #[must_use]
    pub const fn new(stored: Stored) -> Self {
        Self { stored, read: OnceLock::new() }
    }

    /// The document.
    #[must_use]
    pub const fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Its parsed body; parsed once.
    pub(crate) fn read<T: Any + Send + Sync, E>(
        &self,
        read: impl FnOnce(&Stored) -> Result<T, E>,
    ) -> Result<Option<Arc<T>>, E> {
        if let Some(value) = self.read.get() {
            return Ok(Arc::clone(value).downcast().ok());
        }
        let value = Arc::new(read(&self.stored)?);
        Ok(Arc::clone(self.read.get_or_init(|| value)).downcast().ok())
    }
}

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the module of its name")]
pub enum Kind {
    Approval,
    Session,
    User,
    Workspace,
    Device,
    Key,
    Settings,
    Remembered,
    Declined,
    Invitation,
    File,
    FileName,
    Control,
    Idempotency,
    Running,
    Machine,
}

impl Kind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::Approval,
        Self::Session,
        Self::User,
        Self::Workspace,
        Self::Device,
        Self::Key,
        Self::Settings,
        Self::Remembered,
        Self::Declined,
        Self::Invitation,
        Self::File,
        Self::FileName,
        Self::Control,
        Self::Idempotency,
        Self::Running,
        Self::Machine,
    ];

    /// The name in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Session => "session",
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Device => "device",
            Self::Key => "key",
            Self::Settings => "settings",
            Self::Remembered => "remembered",
            Self::Declined => "declined",
            Self::Invitation => "invitation",
            Self::File => "file",
            Self::FileName => "file_name",
            Self::Control => "control",
            Self::Idempotency => "idempotency",
            Self::Running => "running",
            Self::Machine => "machine",
        }
    }
}

/// A document, with the columns by which it can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    /// The kind of document.
    pub kind: Kind,
    /// The id, unique within its kind.
    pub id: String,
    /// The user it belongs to.
    pub owner: Option<String>,
    /// The workspace it belongs to.
    pub workspace: Option<String>,
    /// The session it belongs to.
    pub session: Option<String>,
    /// The fingerprint of the action it is about.
    pub fingerprint: Option<String>,
    /// The name of its state.
    pub state: String,
    /// The time at which the sweeper must act on it.
    pub due: Option<Timestamp>,
    /// All other fields, as JSON.
    pub body: String,
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The document.
    pub doc: Doc,
    /// The version, which [`Write::Replace`] must name; the first is 1.
    pub version: u64,
}

/// The end from which a search begins. Ids and numbers grow with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The smallest first.
    #[default]
    Oldest,
    /// The largest first.
    Newest,
}

/// A query for documents. A field that is `None` matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The kind.
    pub kind: Kind,
    /// The user to whom they belong.
    pub owner: Option<String>,
    /// The workspace to which they belong.
    pub workspace: Option<String>,
    /// The session to which they belong.
    pub session: Option<String>,
    /// About the action with this fingerprint.
    pub fingerprint: Option<String>,
    /// In one of these states; any, if empty.
    pub states: Vec<&'static str>,
    /// The latest due time.
    pub due_by: Option<Timestamp>,
    /// The order.
    pub order: Order,
    /// The id beyond which the search begins: greater ids, or smaller ones if the newest come
    /// first.
    pub after: Option<String>,
    /// The most documents.
    pub limit: usize,
}

impl Query {
    /// A query for all documents of a kind, up to a thousand.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            owner: None,
            workspace: None,
            session: None,
            fingerprint: None,
            states: Vec::new(),
            due_by: None,
            order: Order::Oldest,
            after: None,
            limit: 1_000,
        }
    }
}
