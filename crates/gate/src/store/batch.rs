//! A batch: changes that a store commits together, the conditions under which it does, and what it
//! says afterwards.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::rate::Rate;
use crate::record::{Draft, Numbers, erasure_records};
use crate::store::{Doc, Epoch, Kind, Order};

/// Changes that are committed atomically.
///
/// They are applied in the order of the fields, except that its own records come after erasing and
/// cutting, which do not touch them. Last come the records that name the erased ones. The first
/// condition that fails is the one that is reported.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Documents that must not have changed since they were read.
    pub unchanged: Vec<Unchanged>,
    /// Writes of documents.
    pub writes: Vec<Write>,
    /// Changes of counters.
    pub counts: Vec<Count>,
    /// Rate limits that must not be exceeded.
    pub paces: Vec<Pace>,
    /// Records to append.
    pub records: Vec<Draft>,
    /// The records that lose their payload.
    pub erase: Option<Erase>,
    /// The time before which the oldest records are cut off, up to the first that is not older. If
    /// one of them fails verification, the batch fails.
    pub cut: Option<Timestamp>,
    /// The epoch in which values were read from the cache for it
    /// ([`get_cached`](crate::store::Store::get_cached)), which must not be over. This condition is
    /// checked first.
    pub epoch: Option<Epoch>,
}

/// The condition that a document has not changed since it was read; version 0 means that it did not
/// exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchanged {
    /// The kind of document.
    pub kind: Kind,
    /// The id.
    pub id: String,
    /// The version that was read.
    pub version: u64,
}

/// A change of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Inserts a document that does not exist.
    Insert(Doc),
    /// Replaces a document that has this version.
    Replace(Doc, u64),
    /// Deletes a document that has this version.
    Delete(Unchanged),
}

/// A change of a counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The key of the counter.
    pub key: String,
    /// The change.
    pub step: CountStep,
}

/// The change of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountStep {
    /// Up by one, but not past the ceiling.
    Up {
        /// The ceiling.
        most: u64,
    },
    /// Down by one, not below 0.
    Down,
    /// Up by a number, all of it or nothing.
    Add {
        /// The number; adding 0 always works.
        by: u64,
        /// The ceiling.
        most: u64,
    },
    /// Down by a number, not below 0.
    Sub {
        /// The number.
        by: u64,
    },
    /// Removes the counter.
    Forget,
}

/// A use of something with a rate limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// The key that is limited.
    pub key: String,
    /// The rate.
    pub rate: Rate,
    /// The time of this use.
    pub now: Timestamp,
}

/// The records that lose their payload. Records about erasures never do.
///
/// A record whose content does not match its digest is not erased: the batch fails.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Erase {
    /// The user whose records these are; everybody's, if `None`.
    pub owner: Option<String>,
    /// The time before which the records were made; all, if `None`.
    pub before: Option<Timestamp>,
    /// The person or program that erases, as named in the record about the erasure.
    pub by: String,
    /// The time of that record.
    pub at: Timestamp,
    /// Its salt.
    pub salt: [u8; 16],
}

impl Erase {
    /// The records of an erasure of these.
    pub(crate) fn records(&self, erased: &Numbers) -> Vec<Draft> {
        erasure_records(&self.by, self.at, self.salt, erased)
    }
}

/// A query for records. A field that is `None` matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordQuery {
    /// The user.
    pub owner: Option<String>,
    /// The workspace.
    pub workspace: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The events; any, if empty.
    pub events: Vec<&'static str>,
    /// The earliest time.
    pub from: Option<Timestamp>,
    /// The time before which the records were made.
    pub until: Option<Timestamp>,
    /// The order.
    pub order: Order,
    /// The number beyond which the search begins: greater numbers, or smaller ones if the newest
    /// come first; 0 begins at the end that the order names.
    pub after: u64,
    /// The most records.
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

/// The result of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Committed {
    /// The number of its first record, if it had any.
    pub first_record: Option<u64>,
    /// The number of records that lost their payload.
    pub erased: u64,
    /// The number of records that were cut off.
    pub cut: u64,
}

/// The reason for which nothing was committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A document has changed since it was read.
    #[error("{} `{id}` has changed meanwhile", kind.as_str())]
    Conflict {
        /// The kind of document.
        kind: Kind,
        /// The id.
        id: String,
    },
    /// Another process has changed something meanwhile, perhaps a recalled value.
    #[error("another process has changed something in the meantime")]
    Outdated,
    /// A counter is at its ceiling.
    #[error("`{key}` is at its limit of {most}")]
    Full {
        /// The key of the counter.
        key: String,
        /// Its ceiling.
        most: u64,
    },
    /// A rate limit is exceeded.
    #[error("`{key}` is used too fast: wait {wait:?}")]
    TooFast {
        /// The key that is limited.
        key: String,
        /// The time to wait.
        wait: Duration,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A failure of the store. Nothing may be allowed because of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store failed: {0}")]
pub struct StoreError(pub String);
