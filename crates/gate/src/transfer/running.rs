//! Running hashes of uploads.
//!
//! The hash of an upload goes on from one chunk to the next without reading the file again. It is
//! kept only in memory: after a restart, or after another process wrote meanwhile, the file is read
//! again, once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use crc32fast::Hasher as Crc;
use sha2::{Digest as _, Sha256};

use crate::bytes::Hash;
use crate::id::FileId;
use crate::sync::Mutex;

/// The most hashes that are cached; a further one evicts another, which costs one read of its file.
const MOST_KNOWN: usize = 4_096;

/// The number of bytes that are read at once.
const PIECE: usize = 64 << 10;

/// The hashes of the bytes so far.
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

    /// The hashes of the first bytes of a file; `None` if it has fewer.
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

    /// The number of bytes so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn finish(self) -> (Hash, u32) {
        (Hash(self.sha.finalize().into()), self.crc.finalize())
    }
}

/// The hashes of uploads, each for one version of its document.
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

    /// The hashes, if they are of this version.
    pub(crate) fn find(&self, id: &FileId, version: u64) -> Option<Running> {
        let known = self.0.lock();
        let (_, running) = known.get(id).filter(|(of, _)| *of == version)?;
        Some(running.clone())
    }

    pub(crate) fn forget(&self, id: &FileId) {
        self.0.lock().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(pieces: &[&[u8]]) -> u32 {
        let mut running = Running::new();
        for piece in pieces {
            running.update(piece);
        }
        running.finish().1
    }

    /// Computes bit by bit, as the definition says.
    fn slowly(bytes: &[u8]) -> u32 {
        let mut sum = u32::MAX;
        for byte in bytes {
            sum ^= u32::from(*byte);
            for _ in 0..8 {
                sum = (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
            }
        }
        !sum
    }

    #[test]
    fn known_texts_have_their_known_sums() {
        assert_eq!(sum(&[b""]), 0);
        assert_eq!(sum(&[b"123456789"]), 0xcbf4_3926);
        assert_eq!(sum(&[b"The quick brown fox jumps over the lazy dog"]), 0x414f_a339);
    }

    proptest! {
        #[test]
        fn pieces_sum_up_to_the_whole(bytes: Vec<u8>, cut in any::<prop::sample::Index>()) {
            let (one, other) = bytes.split_at(cut.index(bytes.len() + 1));
            prop_assert_eq!(sum(&[one, other]), slowly(&bytes));
        }
    }
}
