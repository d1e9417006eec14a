//! The URL of a store, and the one place that opens a store by it.
//!
//! | URL | store |
//! |---|---|
//! | `sqlite:PATH` | one SQLite file |
//! | `memory:` | in memory: empty, and gone with the process |
//!
//! A new kind of store is a module beside this one and a row here; nothing else names it.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::clock::Clock;
use crate::keyring::Keyring;
use crate::record::{Damage, Head};
use crate::store::memory::Memory;
use crate::store::sqlite::Sqlite;
use crate::store::{Store, StoreError};

/// The kind of a store, and where it keeps its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// One SQLite file.
    Sqlite(PathBuf),
    /// In memory.
    Memory,
}

/// An error in the URL of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    /// The scheme names no store that this version has.
    #[error("there is no store `{0}:`: use `sqlite:PATH` or `memory:`")]
    Scheme(String),
    /// There is no scheme.
    #[error("`{0}` is not the URL of a store, such as `sqlite:PATH` or `memory:`")]
    NoScheme(String),
    /// The path of the file is missing.
    #[error("`sqlite:` names no file: use `sqlite:PATH`")]
    NoPath,
    /// Something follows where nothing is taken.
    #[error("`memory:` takes nothing after the colon")]
    NotEmpty,
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(url: &str) -> Result<Self, StoreUrlError> {
        let no_scheme = || StoreUrlError::NoScheme(url.to_owned());
        match url.split_once(':').ok_or_else(no_scheme)? {
            ("sqlite", "") => Err(StoreUrlError::NoPath),
            ("sqlite", path) => Ok(Self::Sqlite(path.into())),
            ("memory", "") => Ok(Self::Memory),
            ("memory", _) => Err(StoreUrlError::NotEmpty),
            (scheme, _) => Err(StoreUrlError::Scheme(scheme.to_owned())),
        }
    }
}

impl StoreUrl {
    /// The store of a data folder.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self::Sqlite(file_in(folder))
    }

    /// Notes, signed, that the store is yet to be created. Called once, with a new key: without
    /// this note a missing store is taken for a deleted one.
    ///
    /// # Errors
    /// The note or its folder cannot be written.
    pub fn begin(&self, keyring: &Keyring) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(path) => Sqlite::begin(path, keyring),
            Self::Memory => Ok(()),
        }
    }

    /// Reports whether the store exists or once had records.
    ///
    /// # Errors
    /// Its folder cannot be read.
    pub fn was_used(&self) -> io::Result<bool> {
        match self {
            Self::Sqlite(path) => Sqlite::was_used(path),
            Self::Memory => Ok(false),
        }
    }

    /// Copies the store into a file that must not exist yet, and notes the length of its chain
    /// beside it. Returns the end of that chain.
    ///
    /// # Errors
    /// The file exists or cannot be created, or the store cannot be read or is not on disk.
    pub fn copy_into(&self, to: &Path, keyring: &Keyring) -> Result<Head, StoreError> {
        match self {
            Self::Sqlite(path) => Sqlite::read_only(path)?.copy_into(to, keyring),
            Self::Memory => Err(not_on_disk()),
        }
    }

    /// Begins a new chain in a store whose chain is damaged, and returns the path of a copy of the
    /// old one; there is none if the store was missing. No other process may use the store.
    ///
    /// # Errors
    /// The store or its folder cannot be used, or it is not on disk.
    pub fn danger_begin_anew(
        &self,
        keyring: &Keyring,
        clock: &dyn Clock,
        damage: &[Damage],
    ) -> Result<Option<PathBuf>, StoreError> {
        match self {
            Self::Sqlite(path) => Sqlite::danger_begin_anew(path, keyring, clock, damage),
            Self::Memory => Err(not_on_disk()),
        }
    }
}

/// The file of the store in a data folder.
#[must_use]
pub fn file_in(folder: &Path) -> PathBuf {
    folder.join(Sqlite::FILE)
}

/// The file in a data folder with the note of the minimum length of the store's chain.
#[must_use]
pub fn note_in(folder: &Path) -> PathBuf {
    Sqlite::note_of(&file_in(folder))
}

/// Opens a store for reading and writing. A store on disk that was begun is created.
///
/// # Errors
/// It cannot be created or used, is not ours, was written by a newer version, is gone, or its audit
/// chain does not end at the signed end, or is shorter than the note.
pub fn open(url: &StoreUrl, keyring: Arc<Keyring>) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match url {
        StoreUrl::Sqlite(path) => Arc::new(Sqlite::open(path, keyring)?),
        StoreUrl::Memory => Arc::new(Memory::new(keyring)),
    })
}

/// Opens a store that another process may be using, for reading only.
///
/// # Errors
/// It does not exist, has another version, or is not on disk.
pub fn open_read_only(url: &StoreUrl) -> Result<Arc<dyn Store>, StoreError> {
    match url {
        StoreUrl::Sqlite(path) => Ok(Arc::new(Sqlite::read_only(path)?)),
        StoreUrl::Memory => Err(not_on_disk()),
    }
}

/// Opens a store, or begins one, without asking whether the key is new: an emptied folder is taken
/// for a new one. For keys that are not kept in a data folder, as in tests.
///
/// # Errors
/// As [`open`].
pub fn danger_open_or_begin(
    url: &StoreUrl,
    keyring: Arc<Keyring>,
) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match url {
        StoreUrl::Sqlite(path) => Arc::new(Sqlite::danger_open_or_begin(path, keyring)?),
        StoreUrl::Memory => Arc::new(Memory::new(keyring)),
    })
}

fn not_on_disk() -> StoreError {
    StoreError("a store in memory cannot be read from elsewhere".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_by_its_url() {
        let read = |url: &str| url.parse::<StoreUrl>();
        assert_eq!(read("sqlite:/data/gate.db"), Ok(StoreUrl::Sqlite("/data/gate.db".into())));
        assert_eq!(read("sqlite:gate.db"), Ok(StoreUrl::Sqlite("gate.db".into())));
        assert_eq!(read("memory:"), Ok(StoreUrl::Memory));
        assert_eq!(read("sqlite:"), Err(StoreUrlError::NoPath));
        assert_eq!(read("memory:x"), Err(StoreUrlError::NotEmpty));
        assert_eq!(read("gate.db"), Err(StoreUrlError::NoScheme("gate.db".to_owned())));
        let other = read("postgres://host/db").unwrap_err();
        assert_eq!(
            other.to_string(),
            "there is no store `postgres:`: use `sqlite:PATH` or `memory:`"
        );
    }

    #[test]
    fn what_is_not_on_disk_is_neither_read_from_elsewhere_nor_copied() {
        let keyring = Keyring::from_seed(&[1; 32]);
        assert!(open_read_only(&StoreUrl::Memory).is_err());
        assert!(StoreUrl::Memory.copy_into(Path::new("nowhere"), &keyring).is_err());
        assert!(!Path::new("nowhere").exists());
    }
}
