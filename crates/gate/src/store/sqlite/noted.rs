//! The note beside the database: a record that the chain has reached, signed.
//!
//! A database that was emptied, deleted or replaced by an older copy is shorter than the note. Only
//! a new key begins a note, so a database that was deleted together with its note is not taken for
//! a new one. The note is written at the start and at the end, after the first record, and then at intervals; it
//! never moves back. It is written inside a transaction of the database, so that only one process
//! writes it at a time, and contains only what an earlier transaction has committed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::{Hash, Sign};
use crate::clock::Timestamp;
use crate::keyring::{Keyring, Purpose};
use crate::record::{Checkpoint, Head};
use crate::store::{Noted, StoreError};

/// The number of records after which the note is written again.
const RECORDS: u64 = 1_024;
/// The time after which it is written again with the next record.
const WHILE: Duration = Duration::from_mins(1);

/// The note of one database.
pub(super) struct Note {
    path: PathBuf,
    head: Head,
}

impl Note {
    /// Opens the note of a database, which may not exist yet.
    pub(super) fn open(database: &Path, keyring: &Keyring) -> Result<Self, StoreError> {
        let path = path(database);
        let is_new = !database.try_exists().map_err(|cause| failed(&path, &cause))?;
        match read(database) {
            Noted::Missing if is_new => Err(refused(
                &path,
                "is missing, and so is the database, although the server's key is not new",
            )),
            Noted::At(checkpoint) if !checkpoint.is_signed(Purpose::Noted, &keyring.public()) => {
                Err(refused(&path, "is not signed by this server's key"))
            }
            Noted::At(checkpoint) if is_new && checkpoint.number > 0 => Err(refused(
                &path,
                &format!(
                    "says that there are {} records, and the database is gone",
                    checkpoint.number
                ),
            )),
            Noted::At(checkpoint) => Ok(Self { path, head: checkpoint.head() }),
            Noted::Unreadable => Err(refused(&path, "cannot be read")),
            Noted::Missing | Noted::NotKept => Err(refused(&path, "is missing")),
        }
    }

    /// Writes the first note.
    pub(super) fn begin(path: PathBuf, keyring: &Keyring) -> Result<Self, StoreError> {
        let head = Head::genesis();
        write(&path, head, keyring).map_err(|cause| failed(&path, &cause))?;
        Ok(Self { path, head })
    }

    /// The minimum length of the chain.
    pub(super) const fn number(&self) -> u64 {
        self.head.number
    }

    /// Notes the end of the chain if enough records or time have passed. Called inside a
    /// transaction, with the end that an earlier one has committed.
    pub(super) fn keep_up(&mut self, end: &Head, keyring: &Keyring) -> Result<(), StoreError> {
        let first = self.head.number == 0 && end.number > 0;
        let many = end.number.saturating_sub(self.head.number) >= RECORDS;
        let long = end.number > self.head.number && end.at.since(self.head.at) >= WHILE;
        if first || many || long { self.note(end, keyring) } else { Ok(()) }
    }

    /// Notes the end of the chain. Never moves back.
    pub(super) fn note(&mut self, end: &Head, keyring: &Keyring) -> Result<(), StoreError> {
        if end.number > self.head.number {
            write(&self.path, *end, keyring).map_err(|cause| failed(&self.path, &cause))?;
            self.head = *end;
        }
        Ok(())
    }
}

/// The path of a database's note.
pub(super) fn path(database: &Path) -> PathBuf {
    database.with_extension("noted")
}

/// Reads the note of a database. Its signature is checked by the caller.
pub(super) fn read(database: &Path) -> Noted {
    match fs::read(path(database)) {
        Ok(bytes) => match serde_json::from_slice::<Written>(&bytes) {
            Ok(written) => Noted::At(written.into()),
            Err(_) => Noted::Unreadable,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Noted::Missing,
        Err(_) => Noted::Unreadable,
    }
}

/// A note as it is in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    number: u64,
    hash: Hash,
    at: Timestamp,
    signature: Sign,
}

impl From<Written> for Checkpoint {
    fn from(written: Written) -> Self {
        let Written { number, hash, at, signature } = written;
        Self { number, hash: hash.0, at, signature: signature.0 }
    }
}

/// Writes the note under another name first: a crash leaves this note or the previous one.
fn write(path: &Path, head: Head, keyring: &Keyring) -> io::Result<()> {
    let Checkpoint { number, hash, at, signature } = head.sign(Purpose::Noted, keyring);
    let written = Written { number, hash: Hash(hash), at, signature: Sign(signature) };
    let text = serde_json::to_vec(&written).map_err(io::Error::other)?;
    let draft = path.with_extension("noted.new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

fn failed(path: &Path, cause: &io::Error) -> StoreError {
    StoreError(format!("cannot use `{}`: {cause}", path.display()))
}

fn refused(path: &Path, why: &str) -> StoreError {
    StoreError(format!(
        "the record is damaged: `{}`, which says how long it is at least, {why}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folder;

    fn head(number: u64, at: i64) -> Head {
        Head { number, hash: [7; 32], at: Timestamp(at) }
    }

    fn noted(database: &Path) -> u64 {
        match read(database) {
            Noted::At(checkpoint) => checkpoint.number,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_note_is_written_with_the_first_record_then_rarely_and_never_moves_back() {
        let folder = folder();
        let database = folder.path().join("store.db");
        let keyring = Keyring::from_seed(&[5; 32]);
        let mut note = Note::begin(path(&database), &keyring).unwrap();
        for (number, at, expected) in [
            (0, 0, 0),
            (1, 10, 1),
            (2, 20, 1),
            (RECORDS, 30, 1),
            (RECORDS + 1, 40, RECORDS + 1),
            (RECORDS + 2, 60_039, RECORDS + 1),
            (RECORDS + 2, 60_040, RECORDS + 2),
            (3, 999_999, RECORDS + 2),
        ] {
            note.keep_up(&head(number, at), &keyring).unwrap();
            assert_eq!(noted(&database), expected, "{number} at {at}");
        }
        note.note(&head(5, 0), &keyring).unwrap();
        assert_eq!(noted(&database), RECORDS + 2);
    }

    #[test]
    fn a_note_must_be_ours_and_a_database_must_have_one() {
        let folder = folder();
        let database = folder.path().join("store.db");
        let (ours, other) = (Keyring::from_seed(&[5; 32]), Keyring::from_seed(&[6; 32]));
        let unbegun = Note::open(&database, &ours).err().unwrap();
        assert!(unbegun.0.contains("although the server's key is not new"), "{unbegun}");
        let mut note = Note::begin(path(&database), &ours).unwrap();
        assert!(Note::open(&database, &other).is_err());
        assert!(Note::open(&database, &ours).is_ok(), "nothing has begun yet");
        note.note(&head(3, 1), &ours).unwrap();
        let gone = Note::open(&database, &ours).err().unwrap();
        assert!(gone.0.contains("the database is gone"), "{gone}");
        fs::write(&database, "").unwrap();
        assert_eq!(Note::open(&database, &ours).unwrap().number(), 3);
        fs::write(path(&database), "{}").unwrap();
        assert!(Note::open(&database, &ours).is_err());
        fs::remove_file(path(&database)).unwrap();
        assert!(Note::open(&database, &ours).is_err());
    }
}
