//! What is kept: documents that change by compare-and-set, counters with a ceiling, paces, and the
//! audit chain.
//!
//! A store knows nothing of approvals or sessions. It promises five things, which
//! `conformance.rs` tests on every backend:
//!
//! 1. A [`Batch`] happens as a whole or not at all, and once [`Store::commit`] has answered `Ok`,
//!    it is still there after the power fails.
//! 2. A document changes only from the version its writer saw. Of two writers, one is told.
//! 3. A counter never passes its ceiling, however many count at once.
//! 4. Records are appended to one chain, in the order of their batches, without a gap.
//! 5. What was committed before a read began, the read sees.
//!
//! So every arrow in the life of an approval is one batch, and everything that goes with it (the
//! counter of pending questions, the record) is in that batch.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::audit::{Draft, Head, Mark, Numbers, Record, erasure_records};
use crate::clock::Timestamp;
use crate::rate::Rate;

#[cfg(test)]
pub mod conformance;
mod memory;
mod sqlite;

pub use memory::Memory;
pub use sqlite::Sqlite;

/// An answer that comes soon.
pub type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What is kept.
pub trait Store: Send + Sync + fmt::Debug {
    /// One document.
    fn get<'a>(&'a self, kind: Kind, id: &'a str) -> Soon<'a, Result<Option<Stored>, StoreError>>;

    /// The documents a query asks for, by id in its order, at most as many as it wants.
    fn find<'a>(&'a self, query: &'a Query) -> Soon<'a, Result<Vec<Stored>, StoreError>>;

    /// How many documents a query would find without its limit.
    fn count<'a>(&'a self, query: &'a Query) -> Soon<'a, Result<u64, StoreError>>;

    /// What a counter stands at; 0 when nobody has counted.
    fn counter<'a>(&'a self, key: &'a str) -> Soon<'a, Result<u64, StoreError>>;

    /// The bytes that are free where it is kept, if that is bounded.
    ///
    /// # Errors
    /// It cannot be written at all.
    fn room(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// The bytes that it takes up where it is kept, if it is kept anywhere.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Does all of a batch, durably, or nothing.
    fn commit(&self, batch: Batch) -> Soon<'_, Result<Committed, CommitError>>;

    /// Records of the audit chain, in the query's order, at most as many as it wants.
    fn records<'a>(&'a self, query: &'a RecordQuery) -> Soon<'a, Result<Vec<Record>, StoreError>>;

    /// Where the chain begins, where it ends, and the signed marks between.
    fn chain(&self) -> Soon<'_, Result<Chain, StoreError>>;

    /// What was noted outside of the store about the length of the chain.
    fn noted(&self) -> Noted {
        Noted::NotKept
    }

    /// One document, perhaps from memory. Only for a batch that names the [`epoch`](Self::epoch)
    /// from before: others who use the same store may have changed the document since, and their
    /// change is noticed when the batch is committed. A store that cannot notice reads.
    fn recall<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> Soon<'a, Result<Option<Arc<Kept>>, StoreError>> {
        Box::pin(
            async move { Ok(self.get(kind, id).await?.map(|stored| Kept::new(stored).into())) },
        )
    }

    /// What [`recall`](Self::recall) would give without reading; nothing, if it would read.
    fn in_mind(&self, _kind: Kind, _id: &str) -> Option<Option<Arc<Kept>>> {
        None
    }

    /// What [`recall_counter`](Self::recall_counter) would give without reading; nothing, if it
    /// would read.
    fn counter_in_mind(&self, _key: &str) -> Option<u64> {
        None
    }

    /// What a counter stands at, perhaps from memory, as [`recall`](Self::recall) has it.
    fn recall_counter<'a>(&'a self, key: &'a str) -> Soon<'a, Result<u64, StoreError>> {
        self.counter(key)
    }

    /// The epoch that a batch names to rely on what is recalled from now on.
    fn epoch(&self) -> Epoch {
        Epoch::default()
    }
}

/// The time in which no other process was seen to change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Epoch(pub u64);

/// A document that is kept in mind, with what was made of its text.
#[derive(Debug)]
pub struct Kept {
    stored: Stored,
    read: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Kept {
    /// A document whose text nobody has read yet.
    #[must_use]
    pub const fn new(stored: Stored) -> Self {
        Self { stored, read: OnceLock::new() }
    }

    /// The document.
    #[must_use]
    pub const fn stored(&self) -> &Stored {
        &self.stored
    }

    /// What its text says, read once.
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

/// The signed ends of the chain, and the marks between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    /// What was cut off by retention, if anything was: the first record left follows it.
    pub anchor: Option<Mark>,
    /// Signed as the chain grew, oldest first.
    pub marks: Vec<Mark>,
    /// The last record; none before the first.
    pub head: Option<Mark>,
    /// How many records have a number below 1, which no record can have.
    pub stray: u64,
}

/// What the server has noted outside of its store: a record that the chain has reached. Whoever
/// can only write into the store cannot make the chain shorter than that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Noted {
    /// Nobody else can get at the store, and nothing is noted.
    NotKept,
    /// There should be a note, and is none.
    Missing,
    /// What is there is not a note.
    Unreadable,
    /// The chain has reached this record; number 0 means that it had not begun.
    At(Mark),
}

impl Chain {
    /// What the next record is linked to.
    #[must_use]
    pub fn end(&self) -> Head {
        self.head.as_ref().or(self.anchor.as_ref()).map_or_else(Head::genesis, Mark::head)
    }
}

/// What a document is about.
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
    /// Every one.
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

/// One document, with what it can be found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    /// What it is about.
    pub kind: Kind,
    /// Unique within its kind.
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
    /// When something must be done about it.
    pub due: Option<Timestamp>,
    /// Everything else, as JSON.
    pub body: String,
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The document.
    pub doc: Doc,
    /// What [`Write::Replace`] must name; the first is 1.
    pub version: u64,
}

/// From which end a search begins. Ids and numbers grow with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The smallest first.
    #[default]
    Oldest,
    /// The largest first.
    Newest,
}

/// Which documents. What is `None` does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Of this kind.
    pub kind: Kind,
    /// Belonging to this user.
    pub owner: Option<String>,
    /// Belonging to this workspace.
    pub workspace: Option<String>,
    /// Belonging to this session.
    pub session: Option<String>,
    /// About the action with this fingerprint.
    pub fingerprint: Option<String>,
    /// In one of these states; any, if empty.
    pub states: Vec<&'static str>,
    /// Due at this moment or before.
    pub due_by: Option<Timestamp>,
    /// From which end.
    pub order: Order,
    /// Beyond this id: with one after it, or before it where the newest come first.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl Query {
    /// All of a kind, up to a thousand.
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

/// What happens as a whole or not at all.
///
/// It happens in the order of its fields, except that its own records come after erasing and
/// cutting, which do not touch them. Last come the records that name what was erased. A condition
/// that fails first is the one that is told.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Documents that must still be as they were read.
    pub unchanged: Vec<Unchanged>,
    /// What is written.
    pub writes: Vec<Write>,
    /// What is counted.
    pub counts: Vec<Count>,
    /// What must not go too fast.
    pub paces: Vec<Pace>,
    /// What goes on record.
    pub records: Vec<Draft>,
    /// Whose records lose their payload.
    pub erase: Option<Erase>,
    /// The chain loses its records from before this moment, down to the first that is not. If one
    /// of them does not hold, the batch fails.
    pub cut: Option<Timestamp>,
    /// What was [recalled](Store::recall) for it was recalled in this epoch, which must not be over.
    /// Of all conditions this is the first.
    pub epoch: Option<Epoch>,
}

/// A document that must still be as it was read; version 0 means that there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchanged {
    /// What it is about.
    pub kind: Kind,
    /// Which one.
    pub id: String,
    /// The version that was read.
    pub version: u64,
}

/// One change to the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// A document that was not there.
    Insert(Doc),
    /// A document that was there in this version.
    Replace(Doc, u64),
    /// A document that is no longer wanted, in this version.
    Delete(Unchanged),
}

/// A counter that moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Which one.
    pub key: String,
    /// How it moves.
    pub step: CountStep,
}

/// How a counter moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountStep {
    /// Up by one, but not past this.
    Up {
        /// The most it may stand at.
        most: u64,
    },
    /// Down by one, not below 0.
    Down,
    /// Up by so many, all of them or none.
    Add {
        /// How many; adding nothing always works.
        by: u64,
        /// The most it may stand at afterwards.
        most: u64,
    },
    /// Down by so many, not below 0.
    Sub {
        /// How many.
        by: u64,
    },
    /// Back to nothing.
    Forget,
}

/// Something that must not go too fast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// What is paced.
    pub key: String,
    /// How fast it may go.
    pub rate: Rate,
    /// The time of this one.
    pub now: Timestamp,
}

/// Whose records lose their payload. Records about erasures never do.
///
/// A record whose content is not what was recorded is not erased: the batch fails.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Erase {
    /// This user's; everybody's, if none is named.
    pub owner: Option<String>,
    /// Those from before this moment; all, if none is named.
    pub before: Option<Timestamp>,
    /// The person or program that did it, as the record that names the erased ones says.
    pub by: String,
    /// The time of that record.
    pub at: Timestamp,
    /// Its salt.
    pub salt: [u8; 16],
}

impl Erase {
    /// What goes on record when the content of these was taken away.
    pub(crate) fn records(&self, erased: &Numbers) -> Vec<Draft> {
        erasure_records(&self.by, self.at, self.salt, erased)
    }
}

/// Which records. What is `None` does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordQuery {
    /// This user's.
    pub owner: Option<String>,
    /// This workspace's.
    pub workspace: Option<String>,
    /// This session's.
    pub session: Option<String>,
    /// About one of these events; any, if empty.
    pub events: Vec<&'static str>,
    /// From this moment on.
    pub from: Option<Timestamp>,
    /// From before this moment.
    pub until: Option<Timestamp>,
    /// From which end.
    pub order: Order,
    /// Beyond this number: after it, or before it where the newest come first; 0 begins at the end
    /// that the order names.
    pub after: u64,
    /// At most so many.
    pub limit: usize,
}

impl Default for RecordQuery {
    fn default() -> Self {
        Self {
            owner: None,
            workspace: None,
            session: None,
            events: Vec::new(),
            from: None,
            until: None,
            order: Order::Oldest,
            after: 0,
            limit: 1_000,
        }
    }
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Committed {
    /// The number of its first record, if it had any.
    pub first_record: Option<u64>,
    /// How many records lost their payload.
    pub erased: u64,
    /// How many records were cut off.
    pub cut: u64,
}

/// Why nothing was committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A document is not as it was read.
    #[error("{} `{id}` has changed meanwhile", kind.as_str())]
    Conflict {
        /// What it is about.
        kind: Kind,
        /// Which one.
        id: String,
    },
    /// Another process has changed something meanwhile, perhaps what was recalled.
    #[error("another process has changed something meanwhile")]
    Outdated,
    /// A counter stands at its ceiling.
    #[error("`{key}` stands at its limit of {most}")]
    Full {
        /// Which one.
        key: String,
        /// Its ceiling.
        most: u64,
    },
    /// Too fast.
    #[error("`{key}` goes too fast: wait {wait:?}")]
    TooFast {
        /// What is paced.
        key: String,
        /// How long to wait.
        wait: Duration,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The store failed. Nothing may be allowed because of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct StoreError(pub String);
