//! A chunk of a file, as it arrives.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};

use crate::document::Versioned;
use crate::transfer::{FileMeta, Running, TransferError};

/// Takes one chunk of a file, slice by slice. Only the gate makes one, and only
/// [`Gate::keep`](crate::Gate::keep) commits it: dropping it changes nothing.
///
/// While it exists, nobody else writes the same file.
#[derive(Debug)]
pub struct Incoming {
    pub(crate) versioned: Versioned<FileMeta>,
    pub(crate) running: Running,
    /// The locked file.
    pub(crate) file: File,
    /// The latest end of the chunk, and the limit that sets it.
    pub(crate) end: u64,
    pub(crate) stop: Stop,
}

/// A limit that a chunk must not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// The declared size.
    Declared(u64),
    /// The limit of one file.
    File(u64),
    /// The limit of the session.
    Session(u64),
    /// The limit of one chunk.
    Chunk(u64),
}

impl Stop {
    pub(crate) const fn error(self) -> TransferError {
        match self {
            Self::Declared(declared) => TransferError::NotAsLarge { declared },
            Self::File(most) => TransferError::FileTooLarge { most },
            Self::Session(most) => TransferError::SessionFull { most },
            Self::Chunk(most) => TransferError::ChunkTooLarge { most },
        }
    }
}

impl Incoming {
    /// The offset of the next byte.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.running.bytes()
    }

    /// The number of bytes that still fit.
    #[must_use]
    pub const fn room(&self) -> u64 {
        self.end.saturating_sub(self.offset())
    }

    /// Writes to the disk, which may block for a moment.
    ///
    /// # Errors
    /// The bytes do not all fit, and none were written; or the disk failed.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), TransferError> {
        if bytes.len() as u64 > self.room() {
            return Err(self.stop.error());
        }
        // Seeks first, because a write that failed halfway has moved the position.
        self.file.seek(SeekFrom::Start(self.offset()))?;
        self.file.write_all(bytes)?;
        self.running.update(bytes);
        Ok(())
    }
}
