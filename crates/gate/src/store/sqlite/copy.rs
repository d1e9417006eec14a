//! A consistent copy of the whole database, while others use it.

use std::fs::OpenOptions;
use std::path::Path;

use crate::keyring::Keyring;
use crate::record::Head;
use crate::store::StoreError;
use crate::store::sqlite::noted::{self, Note};
use crate::store::sqlite::{Sqlite, read, schema, unusable};

impl Sqlite {
    /// Copies the database into a file that must not exist yet, and notes the length of its chain
    /// beside it. Returns the end of that chain.
    ///
    /// # Errors
    /// The file exists or cannot be created, or the database cannot be read.
    pub(crate) fn copy_into(&self, to: &Path, keyring: &Keyring) -> Result<Head, StoreError> {
        let failed = |cause: &dyn std::fmt::Display| unusable(to, cause);
        let name = to.to_str().ok_or_else(|| failed(&"its name is not plain text"))?;
        // Created empty first, so that nobody else can ever read it.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(to).map_err(|cause| failed(&cause))?;
        self.readers.read(|connection| connection.execute("VACUUM INTO ?1", [name]))?;
        file.sync_all().map_err(|cause| failed(&cause))?;
        let head = read::chain(&schema::reader(to)?)?.end();
        Note::begin(noted::path(to), keyring)?.note(&head, keyring)?;
        Ok(head)
    }
}
