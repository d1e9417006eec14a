//! Folders by their file descriptors.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Mode, OFlags};

/// An open folder, which stays the same when its name changes.
#[derive(Debug)]
pub(super) struct Dir(OwnedFd);

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags for a file. Non-blocking, because opening a pipe in its place would block.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

const PRIVATE_FOLDER: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

impl Dir {
    /// Opens the folder that the operator has named, also through a symbolic link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let folder = fs::open(path, FOLDER, Mode::empty())?;
        let others = Mode::RWXG.union(Mode::RWXO);
        if Mode::from_raw_mode(fs::fstat(&folder)?.st_mode).intersects(others) {
            fs::fchmod(&folder, PRIVATE_FOLDER)?;
        }
        Ok(Self(folder))
    }

    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(Self(fs::openat(&self.0, name, FOLDER.union(OFlags::NOFOLLOW), Mode::empty())?))
    }

    pub(super) fn make_folder(&self, name: &str) -> io::Result<()> {
        match fs::mkdirat(&self.0, name, PRIVATE_FOLDER) {
            // It was created meanwhile.
            Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn make_file(&self, name: &str) -> io::Result<File> {
        let flags = FILE.union(OFlags::RDWR).union(OFlags::CREATE).union(OFlags::EXCL);
        Ok(fs::openat(&self.0, name, flags, PRIVATE_FILE)?.into())
    }

    pub(super) fn file_to_write(&self, name: &str) -> io::Result<File> {
        Ok(fs::openat(&self.0, name, FILE.union(OFlags::RDWR), Mode::empty())?.into())
    }

    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        Ok(fs::openat(&self.0, name, FILE.union(OFlags::RDONLY), Mode::empty())?.into())
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// The names in it, without those that are not valid UTF-8.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.0)? {
            if let Ok(name) = entry?.file_name().to_str()
                && ![".", ".."].contains(&name)
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.0)?)
    }
}
