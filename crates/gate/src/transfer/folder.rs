//! The folder of the bytes: `<folder>/<session>/<file>`, with ids as names, readable by nobody
//! else.
//!
//! Everything is opened from the folder that was opened at the start, one component at a time and
//! never through a symbolic link: a rename or link made meanwhile leads nowhere else.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::Path;

use crate::id::{FileId, SessionId};

#[cfg_attr(unix, path = "folder/unix.rs")]
#[cfg_attr(not(unix), path = "folder/other.rs")]
mod system;

use system::Dir;

/// The folder of all files.
#[derive(Debug)]
pub(crate) struct Folder(Dir);

impl Folder {
    /// Opens the folder, or creates it. It is closed to all others from then on.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut folders = DirBuilder::new();
        folders.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.create(path)?;
        Dir::open(path).map(Self)
    }

    /// Opens a file for writing, and creates it if it does not exist.
    pub(crate) fn write(&self, session: &SessionId, file: &FileId) -> io::Result<File> {
        let folder = match self.0.folder(session.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.0.make_folder(session.as_str())?;
                self.0.sync()?;
                self.0.folder(session.as_str())?
            }
            other => other?,
        };
        match folder.make_file(file.as_str()) {
            Ok(made) => {
                // The directory entry has to survive a power failure too.
                folder.sync()?;
                Ok(made)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                regular(folder.file_to_write(file.as_str())?)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a file for reading.
    pub(crate) fn read(&self, session: &SessionId, file: &FileId) -> io::Result<File> {
        regular(self.0.folder(session.as_str())?.file(file.as_str())?)
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, session: &SessionId, file: &FileId) -> io::Result<()> {
        let removed =
            self.0.folder(session.as_str()).and_then(|folder| folder.remove(file.as_str()));
        gone(removed)
    }

    /// Removes a session's folder with all files, if it exists.
    pub(crate) fn remove_all(&self, session: &SessionId) -> io::Result<()> {
        let folder = match self.0.folder(session.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for name in folder.names()? {
            gone(folder.remove(&name))?;
        }
        gone(self.0.remove_folder(session.as_str()))
    }

    /// The sessions that have a folder.
    pub(crate) fn sessions(&self) -> io::Result<Vec<SessionId>> {
        let names = self.0.names()?;
        Ok(names.iter().filter_map(|name| SessionId::parse(name).ok()).collect())
    }
}

/// Refuses anything but a regular file: a planted pipe would block us for ever.
fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::{fs, path::PathBuf};

    use super::*;
    use crate::clock::{Fake, Timestamp};
    use crate::testing::{self, folder};

    fn made() -> (testing::Folder, PathBuf, Folder, SessionId, FileId) {
        let clock = Fake::at(Timestamp(0));
        let (session, file) = (SessionId::draw(&clock).unwrap(), FileId::draw(&clock).unwrap());
        let outer = folder();
        let path = outer.path().join("files");
        let folder = Folder::open(&path).unwrap();
        (outer, path, folder, session, file)
    }

    #[test]
    fn nobody_else_may_look_in() {
        let (_outer, path, folder, session, file) = made();
        folder.write(&session, &file).unwrap().write_all(b"x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let of_session = path.join(session.as_str());
        assert_eq!((mode(&path), mode(&of_session)), (0o700, 0o700));
        assert_eq!(mode(&of_session.join(file.as_str())), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Folder::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn what_is_there_is_opened_again_and_goes_with_its_session() {
        let (_outer, path, folder, session, file) = made();
        folder.write(&session, &file).unwrap().write_all(b"abc").unwrap();
        assert_eq!(folder.write(&session, &file).unwrap().metadata().unwrap().len(), 3);
        assert_eq!(folder.sessions().unwrap(), std::slice::from_ref(&session));
        fs::write(path.join(session.as_str()).join("stray"), "").unwrap();
        folder.remove_all(&session).unwrap();
        folder.remove_all(&session).unwrap();
        folder.remove(&session, &file).unwrap();
        assert!(folder.sessions().unwrap().is_empty());
        assert_eq!(folder.read(&session, &file).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_link_is_followed() {
        let (outer, path, folder, session, file) = made();
        let elsewhere = outer.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join(file.as_str()), "theirs").unwrap();
        symlink(&elsewhere, path.join(session.as_str())).unwrap();
        folder.write(&session, &file).unwrap_err();
        folder.read(&session, &file).unwrap_err();
        folder.remove(&session, &file).unwrap_err();
        folder.remove_all(&session).unwrap_err();
        fs::remove_file(path.join(session.as_str())).unwrap();
        let of_session = path.join(session.as_str());
        fs::create_dir(&of_session).unwrap();
        symlink(elsewhere.join(file.as_str()), of_session.join(file.as_str())).unwrap();
        folder.write(&session, &file).unwrap_err();
        folder.read(&session, &file).unwrap_err();
        folder.remove_all(&session).unwrap();
        assert_eq!(fs::read(elsewhere.join(file.as_str())).unwrap(), b"theirs");
    }

    #[test]
    fn a_folder_that_was_moved_away_is_still_the_same() {
        let (outer, path, folder, session, file) = made();
        fs::rename(&path, outer.path().join("moved")).unwrap();
        symlink("/", &path).unwrap();
        folder.write(&session, &file).unwrap();
        assert!(outer.path().join("moved").join(session.as_str()).exists());
    }

    #[test]
    fn a_pipe_is_no_file() {
        let (_outer, path, folder, session, file) = made();
        let of_session = path.join(session.as_str());
        fs::create_dir(&of_session).unwrap();
        let pipe = of_session.join(file.as_str());
        let made = rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR);
        made.unwrap();
        folder.read(&session, &file).unwrap_err();
        folder.write(&session, &file).unwrap_err();
    }
}
