//! The names of local sockets, whatever the length of their path.
//!
//! A system limits the path of a socket to about a hundred bytes. A longer one is reached through a
//! file descriptor of its folder: `/proc/self/fd/7/server.sock`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The most bytes a system accepts, without the terminating zero.
const LONGEST: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// A path by which the system finds a socket, for as long as this value lives.
#[derive(Debug)]
pub struct SocketName {
    path: PathBuf,
    /// The open folder that a shortened path goes through.
    _folder: Option<OwnedFd>,
}

impl SocketName {
    /// Makes a path for the socket at this one.
    ///
    /// # Errors
    /// The path is too long, and its folder cannot be opened or the system lacks such file
    /// descriptors.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= LONGEST {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        through_folder(path)?.ok_or_else(|| too_long(path))
    }

    /// The path to use.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(target_os = "linux")]
fn through_folder(path: &Path) -> io::Result<Option<SocketName>> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{Mode, OFlags, open};
    let open_files = Path::new("/proc/self/fd");
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(folder, flags, Mode::empty())?;
    let path = open_files.join(folder.as_raw_fd().to_string()).join(name);
    let works = open_files.is_dir() && path.as_os_str().len() <= LONGEST;
    Ok(works.then_some(SocketName { path, _folder: Some(folder) }))
}

#[cfg(not(target_os = "linux"))]
fn through_folder(_: &Path) -> io::Result<Option<SocketName>> {
    Ok(None)
}

fn too_long(path: &Path) -> io::Error {
    let length = path.as_os_str().len();
    let what = format!(
        "its path has {length} bytes and the system allows {LONGEST}: name a data folder with a \
         shorter path with --data or $COUNTERSIGN_DATA"
    );
    io::Error::new(io::ErrorKind::InvalidFilename, what)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_socket_in_a_folder_with_any_name_is_reached() {
        let base = std::env::temp_dir().join(format!("cs-socket-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        for length in [1, 60, 90, 100, 120, 250] {
            let folder = base.join("f".repeat(length)).join("with space");
            std::fs::create_dir_all(&folder).unwrap();
            let path = folder.join("server.sock");
            let listener = UnixListener::bind(SocketName::of(&path).unwrap().path());
            let listener = listener.unwrap_or_else(|error| panic!("{length}: {error}"));
            assert!(path.exists(), "{length}");
            UnixStream::connect(SocketName::of(&path).unwrap().path()).unwrap();
            assert!(listener.accept().is_ok(), "{length}");
        }
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_name_that_no_folder_makes_short_is_an_error_that_says_what_to_do() {
        let path = std::env::temp_dir().join("s".repeat(200));
        let error = SocketName::of(&path).unwrap_err().to_string();
        assert!(error.contains("--data") && error.contains("107"), "{error}");
    }
}
