//! Folders by their paths, for systems without anything better.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A folder.
#[derive(Debug)]
pub(super) struct Dir(PathBuf);

impl Dir {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        path.canonicalize().map(Self)
    }

    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            return Ok(Self(path));
        }
        Err(io::Error::new(io::ErrorKind::NotADirectory, "not a folder"))
    }

    pub(super) fn make_folder(&self, name: &str) -> io::Result<()> {
        match fs::create_dir(self.0.join(name)) {
            // It was created meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    pub(super) fn make_file(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.0.join(name))
    }

    pub(super) fn file_to_write(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.plain(name)?)
    }

    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        File::open(self.plain(name)?)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }

    /// The names in it, without those that are not valid UTF-8.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn plain(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path)?.is_file() {
            return Ok(path);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"))
    }
}
