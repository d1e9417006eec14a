//! Hashes in the making.
//!
//! The hash of an upload goes on from one piece to the next without reading what is there again.
//! Only in memory: after a restart, or when somebody else wrote meanwhile, what is on the disk is
//! read again, once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use sha2::{Digest as _, Sha256};

use crate::bytes::Hash;
use crate::id::FileId;
use crate::sync::Mutex;
use crate::transfer::crc::Crc;

/// How many hashes are remembered; a further one pushes another out, which costs one reading.
const MOST_KNOWN: usize = 4_096;

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// The hashes of what has come so far.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    sha: Sha256,
    crc: Crc,
    bytes: u64,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self { sha: Sha256::new(), crc: Crc::new(), bytes: 0 }
    }

    /// The hashes of the first so many bytes of a file; nothing, if it has fewer.
    pub(crate) fn of(file: &mut File, bytes: u64) -> io::Result<Option<Self>> {
        file.seek(SeekFrom::Start(0))?;
        let mut running = Self::new();
        let mut piece = vec![0; PIECE];
        let mut from = file.take(bytes);
        loop {
            match from.read(&mut piece) {
                Ok(0) => return Ok((running.bytes == bytes).then_some(running)),
                Ok(read) => running.update(piece.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.sha.update(bytes);
        self.crc.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
    }

    /// How much there was so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn finish(self) -> (Hash, u32) {
        (Hash(self.sha.finalize().into()), self.crc.sum())
    }
}

/// The hashes of uploads, each as of a version of its document.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<FileId, (u64, Running)>>);

impl Known {
    pub(crate) fn put(&self, id: FileId, version: u64, running: Running) {
        let mut known = self.0.lock();
        if known.len() >= MOST_KNOWN {
            let other = known.keys().next().cloned();
            other.and_then(|other| known.remove(&other));
        }
        known.insert(id, (version, running));
    }

    /// The hashes, if they are those of this version.
    pub(crate) fn find(&self, id: &FileId, version: u64) -> Option<Running> {
        let known = self.0.lock();
        let (_, running) = known.get(id).filter(|(of, _)| *of == version)?;
        Some(running.clone())
    }

    pub(crate) fn forget(&self, id: &FileId) {
        self.0.lock().remove(id);
    }
}
