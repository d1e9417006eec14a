//! One piece of a file, as it arrives.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};

use crate::document::Held;
use crate::transfer::{FileMeta, Running, TransferError};

/// Takes one piece of a file, slice by slice. Only the gate makes one, and only
/// [`Gate::keep`](crate::Gate::keep) makes it count: one that is dropped has changed nothing.
///
/// While it is there, nobody else writes the same file.
#[derive(Debug)]
pub struct Incoming {
    pub(crate) held: Held<FileMeta>,
    pub(crate) running: Running,
    /// Locked.
    pub(crate) file: File,
    /// Where it must end at the latest, and what that is.
    pub(crate) end: u64,
    pub(crate) stop: Stop,
}

/// What a piece must not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// The size that was said.
    Declared(u64),
    /// The most a file may have.
    File(u64),
    /// The most a session may have.
    Session(u64),
    /// The most that is taken at once.
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
    /// Where the next byte goes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.running.bytes()
    }

    /// How many more it takes.
    #[must_use]
    pub const fn room(&self) -> u64 {
        self.end.saturating_sub(self.offset())
    }

    /// Writes to the disk, which may take a moment.
    ///
    /// # Errors
    /// There is no room for all of it, and nothing was taken; or the disk failed.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), TransferError> {
        if bytes.len() as u64 > self.room() {
            return Err(self.stop.error());
        }
        // Not simply on: a write that failed halfway has moved the end.
        self.file.seek(SeekFrom::Start(self.offset()))?;
        self.file.write_all(bytes)?;
        self.running.update(bytes);
        Ok(())
    }
}
