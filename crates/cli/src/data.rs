//! The data folder, in which the gate keeps its persistent state.

use std::env;
#[cfg(unix)]
use std::fs;
use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use countersign_gate::keyring::Keyring;
use countersign_gate::store::{self, Store, StoreUrl};

use crate::home::home;

/// The socket for programs of the same user.
pub(crate) const SOCKET: &str = "server.sock";
/// The server's address for people, for links that are created over the socket.
pub(crate) const URL: &str = "server.url";
/// A file that exists while the server keeps people from erasing what is on record about them.
pub(crate) const RECORD_KEPT: &str = "record.kept";
/// A file that exists while everything is halted, so that hooks see it without a request.
pub(crate) const HALTED: &str = "server.halted";

/// Which data folder.
#[derive(Debug, Args)]
pub(crate) struct Data {
    /// The data folder [default: `$COUNTERSIGN_DATA`, or `countersign` in the user's data folder]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

impl Data {
    /// Returns the path of the folder.
    ///
    /// # Errors
    /// No option and no variable says where it is.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let folder = self.data.clone().or_else(usual_folder);
        folder.ok_or_else(|| anyhow!("no data folder: name one with --data or $COUNTERSIGN_DATA"))
    }

    /// Opens the database read-only, with the server's keys.
    ///
    /// # Errors
    /// The folder lacks a database, or its data cannot be read.
    pub(crate) fn read(&self) -> Result<(Arc<dyn Store>, Keyring)> {
        let folder = self.existing()?;
        let keyring = Keyring::existing(&folder)?;
        let database = database(&folder);
        if !database.is_file() {
            bail!(
                "the record is gone: there is no `{}`, although the server's key is not new",
                database.display()
            );
        }
        Ok((store::open_read_only(&StoreUrl::in_folder(&folder))?, keyring))
    }

    /// Opens the database for writing.
    ///
    /// # Errors
    /// The folder lacks a database, other users can access it, or it cannot be opened.
    pub(crate) fn write(&self) -> Result<Arc<dyn Store>> {
        let folder = self.writable()?;
        let keyring = Arc::new(Keyring::existing(&folder)?);
        Ok(store::open(&StoreUrl::in_folder(&folder), keyring)?)
    }

    /// Returns the folder for changing its contents.
    ///
    /// # Errors
    /// The folder lacks a database, or other users can access it.
    pub(crate) fn writable(&self) -> Result<PathBuf> {
        let folder = self.existing()?;
        check_private(&folder)?;
        Ok(folder)
    }

    /// Returns the server's own keys.
    ///
    /// # Errors
    /// There are none, or they cannot be read.
    pub(crate) fn keyring(&self) -> Result<Keyring> {
        Ok(Keyring::existing(&self.existing()?)?)
    }

    /// The folder, if a server has used it: a mistyped name must not create an empty database. The
    /// key alone means that the record is gone.
    fn existing(&self) -> Result<PathBuf> {
        let folder = self.folder()?;
        let left = [database(&folder), store::note_in(&folder), folder.join(Keyring::FILE)];
        if !left.iter().any(|file| file.is_file()) {
            bail!("no records in `{}`: nothing has been gated there yet", folder.display());
        }
        Ok(folder)
    }
}

/// The default data folder, when none is named on the command line.
pub(crate) fn usual_folder() -> Option<PathBuf> {
    set("COUNTERSIGN_DATA").or_else(|| {
        let folder = set("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
        let folder = folder.or_else(|| home().map(|home| home.join(".local/share")))?;
        Some(folder.join("countersign"))
    })
}

/// Creates a folder that only its owner can access, and refuses one that others can access.
///
/// # Errors
/// It cannot be created, or others can access it.
pub(crate) fn make_private(folder: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let wrong = || format!("cannot create the data folder `{}`", folder.display());
    builder.create(folder).with_context(wrong)?;
    check_private(folder)
}

/// Refuses a data folder that other users can read or change, or that another user owns.
///
/// # Errors
/// It is such a folder, or its metadata cannot be read.
#[cfg(unix)]
pub(crate) fn check_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS: u32 = 0o077;
    let shown = folder.display();
    let metadata = fs::metadata(folder).with_context(|| format!("cannot look at `{shown}`"))?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        bail!(
            "the data folder `{shown}` belongs to another user: name one of your own with --data"
        );
    }
    if metadata.mode() & OTHERS != 0 {
        bail!("the data folder `{shown}` is open to others: close it with `chmod 700 {shown}`");
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_private(_: &Path) -> Result<()> {
    Ok(())
}

/// The path of the database in a data folder.
pub(crate) fn database(folder: &Path) -> PathBuf {
    store::file_in(folder)
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
