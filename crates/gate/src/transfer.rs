//! Files that an agent hands in: names, sizes, quotas, and the location of the bytes.
//!
//! ```text
//! begin ──► Uploading ──receive, keep──► Uploading ──finish──► Complete ──retention──► gone
//!               └──────abort, a day without an end──────► gone
//! ```
//!
//! The metadata of a file is a document in the store; its bytes are in `<folder>/<session>/<id>`,
//! under its id, never under its name. Space is reserved before a byte is written, in the batch
//! that names the upload, so that two uploads cannot exceed a limit together.
//!
//! The offset of an upload is the one in the store: `keep` flushes the bytes first and updates the
//! offset afterwards. Bytes on the disk beyond it were not committed, and are written again. There
//! is one writer at a time: the file is locked during a write.
//!
//! Nothing here runs, opens or judges the content of a file.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::Hash;
use crate::caller::{Caller, Person};
use crate::clock::{ChanceError, Timestamp};
use crate::document::{Document, IndexKeys};
use crate::error::GateError;
use crate::id::{FileId, KeyId, SessionId, UserId, WorkspaceId};
use crate::store::{Kind, StoreError};

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

/// The time within which an upload must be finished before it is deleted.
pub const UPLOAD_WITHIN: Duration = Duration::from_hours(24);

/// The limits of files that may be handed in.
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
    /// The name of the file.
    pub name: FileName,
    /// The size, if it is known in advance; the file must then have it.
    pub bytes: Option<u64>,
    /// The SHA-256, if it is known in advance; the file must then have it.
    pub sha256: Option<Hash>,
}

/// The state of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The id of the upload and of the file.
    pub id: FileId,
    /// The session it belongs to.
    pub session: SessionId,
    /// The name of the file: with a number, if the name was taken.
    pub name: FileName,
    /// The number of bytes that are committed, at which to resume.
    pub offset: u64,
    /// The declared size, if there is one.
    pub bytes: Option<u64>,
    /// The most bytes of one chunk.
    pub chunk_bytes: u64,
    /// The time at which it is deleted, unless it is finished.
    pub expires_at: Timestamp,
}

/// The metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMeta {
    /// Its id.
    pub id: FileId,
    /// The user it belongs to.
    pub user: UserId,
    /// The workspace it belongs to.
    pub workspace: WorkspaceId,
    /// The session it belongs to.
    pub session: SessionId,
    /// The API key with which it was handed in.
    pub key: Option<KeyId>,
    /// The name of the file.
    pub name: FileName,
    /// The declared size.
    pub declared_bytes: Option<u64>,
    /// The declared SHA-256.
    pub declared_sha256: Option<Hash>,
    /// The time at which the upload began.
    pub created_at: Timestamp,
    /// The state.
    #[serde(flatten)]
    pub state: FileState,
}

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum FileState {
    /// Some of it has arrived.
    Uploading {
        /// The number of bytes that are committed.
        received: u64,
        /// The number of bytes that are reserved.
        reserved: u64,
        /// The time at which it is deleted, unless it is finished.
        expires_at: Timestamp,
    },
    /// All of it has arrived.
    Complete {
        /// The time of completion.
        at: Timestamp,
        /// The size in bytes.
        bytes: u64,
        /// The SHA-256 of the content.
        sha256: Hash,
        /// The CRC-32 of the content, for archives.
        crc32: u32,
    },
}

impl FileMeta {
    /// The bytes that it counts for in the session's quota.
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

    fn index_keys(&self) -> IndexKeys<'_> {
        let (state, due) = match self.state {
            FileState::Uploading { expires_at, .. } => ("uploading", Some(expires_at)),
            FileState::Complete { .. } => ("complete", None),
        };
        IndexKeys {
            owner: Some(self.user.as_str()),
            workspace: Some(self.workspace.as_str()),
            session: Some(self.session.as_str()),
            state,
            due,
            ..IndexKeys::default()
        }
    }
}

/// A complete file, opened for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The metadata.
    pub meta: FileMeta,
    /// The size in bytes.
    pub bytes: u64,
    /// The open file, at its beginning; seekable.
    pub file: std::fs::File,
}

/// The one who wants to read files.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// A caller that works for the session's user, in its workspace.
    Caller(&'a Caller),
    /// A person who administers the session.
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

/// The reason for which a transfer failed.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The file or session does not exist for them.
    #[error("not found")]
    NotFound,
    /// The gate lacks a folder for files.
    #[error("files cannot be stored here: no folder is set for them")]
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
    /// The file is larger than allowed.
    #[error("a file may have at most {most} bytes")]
    FileTooLarge {
        /// The limit in bytes.
        most: u64,
    },
    /// The session has reached its limit of bytes.
    #[error("the files of a session may have at most {most} bytes together")]
    SessionFull {
        /// The limit in bytes.
        most: u64,
    },
    /// The session has reached its limit of files.
    #[error("a session may have at most {most} files")]
    TooManyFiles {
        /// The limit.
        most: u64,
    },
    /// The chunk is larger than allowed.
    #[error("at most {most} bytes are taken at once")]
    ChunkTooLarge {
        /// The limit in bytes.
        most: u64,
    },
    /// The size differs from the declared one.
    #[error("the file was said to have {declared} bytes")]
    NotAsLarge {
        /// The declared size.
        declared: u64,
    },
    /// The chunk does not begin at the upload's offset.
    #[error("the upload continues at byte {expected}")]
    Offset {
        /// The upload's offset.
        expected: u64,
    },
    /// Somebody else is writing.
    #[error("somebody is writing this file: try again")]
    Writing,
    /// The SHA-256 differs from the declared one.
    #[error("the file is not what it was said to be, and was dropped: its sha-256 differs")]
    Differs,
    /// Committed bytes are not on the disk.
    #[error("the content of this file is missing or damaged")]
    Lost,
    /// The disk failed.
    #[error("the file cannot be stored or read: {0}")]
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
