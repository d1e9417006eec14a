//! The data folder of a server: the key in it, and the database that is begun with a new key.

use std::fs;
use std::io;
use std::path::Path;

use zeroize::Zeroizing;

use crate::clock::{Clock, random};
use crate::keyring::{Keyring, KeyringError, SEED, write_private};
use crate::store::StoreUrl;

impl Keyring {
    /// Opens the keyring of a data folder, or creates one if there is neither a key nor a database.
    ///
    /// # Errors
    /// The file is damaged, readable by others or missing, or cannot be created.
    pub fn open(folder: &Path, clock: &dyn Clock) -> Result<Self, KeyringError> {
        let path = folder.join(Keyring::FILE);
        match Self::read(&path) {
            Err(KeyringError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                if StoreUrl::in_folder(folder)
                    .was_used()
                    .map_err(|cause| KeyringError::Io { path: path.clone(), cause })?
                {
                    return Err(KeyringError::Gone(path));
                }
                Self::make(folder, &path, clock)
            }
            other => other,
        }
    }

    /// Creates the key, after the note that its database is new: from then on a folder with a key
    /// and neither of these has lost its record. The key is written under another name first and
    /// linked into place: a crash leaves a whole key or none, and without one the next start begins
    /// again.
    fn make(folder: &Path, path: &Path, clock: &dyn Clock) -> Result<Self, KeyringError> {
        let io = |cause| KeyringError::Io { path: path.to_owned(), cause };
        let seed = Zeroizing::new(random::<SEED>(clock)?);
        StoreUrl::in_folder(folder)
            .begin(&Self::from_seed(&seed))
            .map_err(|error| KeyringError::NotBegun(error.0))?;
        let draft = folder.join(format!("{}.{}", Self::FILE, std::process::id()));
        let written = write_private(&draft, &*seed).and_then(|()| fs::hard_link(&draft, path));
        let removed = fs::remove_file(&draft);
        match written {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(error)),
            Ok(()) | Err(_) => removed.map_err(io)?,
        }
        Self::read(path)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store;

    #[cfg(unix)]
    #[test]
    fn the_file_is_made_once_for_its_owner_alone_and_refused_when_exposed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = crate::testing::folder();
        let first = Keyring::open(folder.path(), &crate::clock::System).unwrap();
        let second = Keyring::open(folder.path(), &crate::clock::System).unwrap();
        assert_eq!(first.public(), second.public());
        let path = folder.path().join(Keyring::FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the key and the note");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let opened = Keyring::open(folder.path(), &crate::clock::System);
        assert!(matches!(opened, Err(KeyringError::Exposed(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        let opened = Keyring::open(folder.path(), &crate::clock::System);
        assert!(matches!(opened, Err(KeyringError::Damaged(_))));
    }

    #[test]
    fn a_key_that_is_gone_is_not_replaced_where_there_is_a_database() {
        for left in ["gate.db", "gate.noted"] {
            let folder = crate::testing::folder();
            fs::write(folder.path().join(left), "").unwrap();
            let opened = Keyring::open(folder.path(), &crate::clock::System);
            assert!(matches!(opened, Err(KeyringError::Gone(_))), "{left}: {opened:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
        }
    }

    #[test]
    fn a_record_that_is_gone_is_not_begun_again_with_an_old_key() {
        let folder = crate::testing::folder();
        let url = StoreUrl::in_folder(folder.path());
        let open = || Arc::new(Keyring::open(folder.path(), &crate::clock::System).unwrap());
        drop(store::open(&url, open()).unwrap());
        for left in fs::read_dir(folder.path()).unwrap() {
            let left = left.unwrap().path();
            if left.file_name().unwrap() != Keyring::FILE {
                fs::remove_file(left).unwrap();
            }
        }
        let refused = store::open(&url, open()).err().unwrap();
        assert!(refused.0.contains("although the server's key is not new"), "{refused}");
        assert!(!store::file_in(folder.path()).exists(), "nothing was made");
    }

    #[test]
    fn a_crash_before_the_key_is_written_leaves_a_folder_that_can_begin() {
        let folder = crate::testing::folder();
        let url = StoreUrl::in_folder(folder.path());
        url.begin(&Keyring::from_seed(&[9; SEED])).unwrap();
        let keyring = Keyring::open(folder.path(), &crate::clock::System).unwrap();
        store::open(&url, Arc::new(keyring)).unwrap();
    }
}
