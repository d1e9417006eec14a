//! How far the record was sent to one receiver, in a file of the data folder.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::channel::Feed;
use crate::keyring::{Keyring, Purpose};

/// How far the record was sent to one receiver.
#[derive(Debug)]
pub struct Position {
    path: PathBuf,
    number: u64,
    kept: u64,
}

/// Why it is not known how far the record was sent.
#[derive(Debug, thiserror::Error)]
pub enum PositionError {
    /// The file cannot be read or written.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: io::Error,
    },
    /// It holds something else.
    #[error(
        "`{}` does not say how far the record was sent: remove it to go on from its end",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The number of the last record that was sent.
    sent: u64,
}

impl Position {
    /// Reads how far the record was sent to the receiver of a feed. One that is new is sent what
    /// comes after `end`.
    ///
    /// # Errors
    /// The file in `folder` cannot be used.
    pub fn open(
        folder: &Path,
        keyring: &Keyring,
        feed: &Feed,
        end: u64,
    ) -> Result<Self, PositionError> {
        let print = keyring.fingerprint(Purpose::Forward, feed.destination.as_bytes());
        let print = u64::from_be_bytes(print.first_chunk().copied().unwrap_or_default());
        let path = folder.join(format!("forward-{}-{print:016x}.json", feed.sink.name()));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let position = Self { path, number: end, kept: end };
                position.write(end)?;
                return Ok(position);
            }
            Err(cause) => return Err(PositionError::Io { path, cause }),
        };
        let Ok(Kept { sent }) = serde_json::from_str(&text) else {
            return Err(PositionError::Unreadable { path });
        };
        Ok(Self { path, number: sent, kept: sent })
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn set(&mut self, number: u64) {
        self.number = number;
    }

    /// Goes on to this number, and writes it down.
    pub(super) fn keep(&mut self, number: u64) -> Result<(), PositionError> {
        self.number = number;
        if self.kept != number {
            self.write(number)?;
            self.kept = number;
        }
        Ok(())
    }

    /// Written under another name first: a crash leaves the old one or the new one.
    fn write(&self, number: u64) -> Result<(), PositionError> {
        let draft = self.path.with_extension("new");
        let written = write_private(&draft, format!("{{\"sent\":{number}}}\n").as_bytes())
            .and_then(|()| fs::rename(&draft, &self.path));
        written.map_err(|cause| PositionError::Io { path: self.path.clone(), cause })
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::File::options();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}
