//! Files that an agent hands in: names, sizes, quotas, and where the bytes lie.
//!
//! ```text
//! begin ──► Uploading ──receive, keep──► Uploading ──finish──► Complete ──retention──► gone
//!               └──────abort, a day without an end──────► gone
//! ```
//!
//! What is known of a file is a document in the store; its bytes lie in `<folder>/<session>/<id>`,
//! under its id, never under its name. Room is taken before a byte is written, in the batch that
//! says who takes it, so that no two uploads pass a limit together.
//!
//! An upload stands where the store says it does: `keep` flushes the bytes first and says so
//! afterwards. What lies on the disk beyond that was not kept, and is written again. One writes at
//! a time: the bytes are locked while somebody does.
//!
//! Nothing here runs, opens or judges what is in a file.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::Hash;
use crate::caller::{Caller, Person};
use crate::clock::{ChanceError, Timestamp};
use crate::document::{Document, Marks};
use crate::gate::GateError;
use crate::id::{FileId, KeyId, SessionId, UserId, WorkspaceId};
use crate::store::{Kind, StoreError};

mod crc;
mod folder;
mod incoming;
mod name;
mod running;
pub mod zip;

pub(crate) use folder::Folder;
pub use incoming::Incoming;
pub(crate) use incoming::Stop;
pub use name::FileName;
pub(crate) use running::{Known, Running};

/// How long an upload may take before what there is of it goes away.
pub const UPLOAD_WITHIN: Duration = Duration::from_hours(24);

/// How much may be handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FileLimits"))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The most bytes of one file.
    pub file_bytes: u64,
    /// The most bytes of all files of one session.
    pub session_bytes: u64,
    /// The most files of one session.
    pub files: u64,
    /// The most bytes that are taken at once, before they are kept.
    pub chunk_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 500 << 20, session_bytes: 5 << 30, files: 1_000, chunk_bytes: 10 << 20 }
    }
}

/// A file that is about to be handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// What it is called.
    pub name: FileName,
    /// How large it will be, if that is known; then it must be.
    pub bytes: Option<u64>,
    /// What it will hash to, if that is known; then it must.
    pub sha256: Option<Hash>,
}

/// How an upload stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Its id, and the file's.
    pub id: FileId,
    /// Where it belongs.
    pub session: SessionId,
    /// What the file is called: with a number, if there was one of its name.
    pub name: FileName,
    /// How much is kept, which is where to go on.
    pub offset: u64,
    /// How much it will be, if that was said.
    pub bytes: Option<u64>,
    /// The most that is taken at once.
    pub chunk_bytes: u64,
    /// When it goes away, unless it is finished.
    pub expires_at: Timestamp,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMeta {
    /// Its id.
    pub id: FileId,
    /// Whose it is.
    pub user: UserId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// In which session.
    pub session: SessionId,
    /// With which key it came.
    pub key: Option<KeyId>,
    /// What it is called.
    pub name: FileName,
    /// How large it was said to be.
    pub declared_bytes: Option<u64>,
    /// What it was said to hash to.
    pub declared_sha256: Option<Hash>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// How it stands.
    #[serde(flatten)]
    pub state: FileState,
}

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum FileState {
    /// Some of it is here.
    Uploading {
        /// How much is kept.
        received: u64,
        /// How much room it has taken.
        reserved: u64,
        /// When it goes away, unless it is finished.
        expires_at: Timestamp,
    },
    /// All of it is here.
    Complete {
        /// Since when.
        at: Timestamp,
        /// How large it is.
        bytes: u64,
        /// What it hashes to.
        sha256: Hash,
        /// Its checksum, as archives want it.
        crc32: u32,
    },
}

impl FileMeta {
    /// How much room it takes.
    pub(crate) const fn room(&self) -> u64 {
        match self.state {
            FileState::Uploading { reserved, .. } => reserved,
            FileState::Complete { bytes, .. } => bytes,
        }
    }
}

impl Document for FileMeta {
    const KIND: Kind = Kind::File;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn marks(&self) -> Marks<'_> {
        let (state, due) = match self.state {
            FileState::Uploading { expires_at, .. } => ("uploading", Some(expires_at)),
            FileState::Complete { .. } => ("complete", None),
        };
        Marks {
            owner: Some(self.user.as_str()),
            workspace: Some(self.workspace.as_str()),
            session: Some(self.session.as_str()),
            state,
            due,
            ..Marks::default()
        }
    }
}

/// A complete file, opened to be read.
#[derive(Debug)]
pub struct OpenFile {
    /// What is known of it.
    pub meta: FileMeta,
    /// How large it is.
    pub bytes: u64,
    /// Its bytes, from the beginning; to be read from anywhere.
    pub file: std::fs::File,
}

/// Who wants to see files.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// Whoever works for the session's user, in its workspace.
    Caller(&'a Caller),
    /// Whoever looks after the session.
    Person(&'a Person),
}

impl<'a> From<&'a Caller> for Reader<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self::Caller(caller)
    }
}

impl<'a> From<&'a Person> for Reader<'a> {
    fn from(person: &'a Person) -> Self {
        Self::Person(person)
    }
}

/// Why a file does not come or go.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// There is no such file or session of theirs.
    #[error("not found")]
    NotFound,
    /// The gate has no folder for files.
    #[error("files are not kept here: no folder is set for them")]
    Off,
    /// Everything is halted.
    #[error("everything is halted")]
    Halted,
    /// The session does not run.
    #[error("the session takes no files: it is {0}")]
    NotRunning(&'static str),
    /// The file is complete.
    #[error("the file is complete already")]
    Complete,
    /// The file is larger than a file may be.
    #[error("a file may have at most {most} bytes")]
    FileTooLarge {
        /// How many.
        most: u64,
    },
    /// The session has as many bytes as it may.
    #[error("the files of a session may have at most {most} bytes together")]
    SessionFull {
        /// How many.
        most: u64,
    },
    /// The session has as many files as it may.
    #[error("a session may have at most {most} files")]
    TooManyFiles {
        /// How many.
        most: u64,
    },
    /// More at once than is taken.
    #[error("at most {most} bytes are taken at once")]
    ChunkTooLarge {
        /// How many.
        most: u64,
    },
    /// More or less than was said.
    #[error("the file was said to have {declared} bytes")]
    NotAsLarge {
        /// How many.
        declared: u64,
    },
    /// Not where the upload stands.
    #[error("the upload goes on at byte {expected}")]
    Offset {
        /// Where it stands.
        expected: u64,
    },
    /// Somebody else is writing.
    #[error("somebody is writing this file: try again")]
    Writing,
    /// It does not hash to what was said.
    #[error("the file is not what it was said to be, and was dropped: its sha-256 differs")]
    Differs,
    /// What was kept is not on the disk.
    #[error("the bytes of this file are gone or damaged")]
    Lost,
    /// The disk failed.
    #[error("the file cannot be kept or read: {0}")]
    Disk(#[from] io::Error),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for TransferError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl From<ChanceError> for TransferError {
    fn from(error: ChanceError) -> Self {
        Self::Gate(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_one_by_one_and_unknown_ones_are_errors() {
        let limits: Limits = serde_json::from_str(r#"{"files": 3}"#).unwrap();
        assert_eq!(limits, Limits { files: 3, ..Limits::default() });
        assert_eq!(Limits::default().file_bytes, 524_288_000);
        assert_eq!(Limits::default().session_bytes, 5_368_709_120);
        assert!(serde_json::from_str::<Limits>(r#"{"file": 3}"#).is_err());
    }
}
