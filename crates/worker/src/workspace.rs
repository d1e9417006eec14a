//! The folder of a worker, opened once, and what is opened beneath it.
//!
//! Each path is resolved by the kernel in the same step that opens it (`openat2`), beneath the
//! opened folder and without following a link. Where a link was judged, its target is what was
//! judged, and the target is opened: a link that was put there meanwhile is refused.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use countersign_core::Context;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// A folder on the way: a handle from which to continue, never read itself.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The folder of a worker, opened once.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The path as it was given.
    given: PathBuf,
    /// The real path.
    real: PathBuf,
    folder: OwnedFd,
}

/// The reason for which a path is not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("a path cannot contain a NUL byte")]
    NulByte,
    #[error("`{0}` is outside of the workspace")]
    Outside(String),
    #[error("`{0}` leads elsewhere than it did when it was judged")]
    Swapped(String),
    #[error("`{0}` names no file")]
    Unnamed(String),
    #[error("the work is for the workspace `{0}`, and this worker has another")]
    OtherWorkspace(String),
    #[error("`{path}`: {cause}")]
    Io { path: String, cause: io::Error },
}

impl PathError {
    /// The name of the error, for programs.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::NulByte => "NulByte",
            Self::Outside(_) => "OutsideWorkspace",
            Self::Swapped(_) => "PathSwapped",
            Self::Unnamed(_) => "NoFileName",
            Self::OtherWorkspace(_) => "OtherWorkspace",
            Self::Io { .. } => "FileError",
        }
    }

    pub(crate) fn io(path: &str, cause: impl Into<io::Error>) -> Self {
        Self::Io { path: path.to_owned(), cause: cause.into() }
    }

    /// The error of the kernel about a path, where a refused path has an error of its own.
    fn of(path: &Path, errno: Errno) -> Self {
        let path = path.display().to_string();
        match errno {
            Errno::XDEV => Self::Outside(path),
            Errno::LOOP => Self::Swapped(path),
            errno => Self::io(&path, errno),
        }
    }
}

/// A path beneath a workspace: which of its names is meant, and how it is written there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beneath(PathBuf);

impl Beneath {
    /// The path, relative to the workspace.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn parent_and_name(&self) -> Result<(&Path, &OsStr), PathError> {
        let unnamed = || PathError::Unnamed(self.0.display().to_string());
        let name = self.0.file_name().ok_or_else(unnamed)?;
        Ok((self.0.parent().unwrap_or(Path::new("")), name))
    }
}

impl Workspace {
    /// Opens the folder.
    ///
    /// # Errors
    /// It does not exist, is not a folder, or may not be entered.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let folder = rustix::fs::open(&real, FOLDER, Mode::empty())?;
        Ok(Self { given: path.to_owned(), real, folder })
    }

    /// The real path.
    pub(crate) fn path(&self) -> &Path {
        &self.real
    }

    /// The folder in which work is done: the one that was judged, beneath the workspace.
    pub(crate) fn folder_of(
        &self,
        context: &Context,
        cwd: Option<&str>,
    ) -> Result<Beneath, PathError> {
        if let Some(workspace) = &context.workspace {
            self.beneath(workspace, Path::new(""))
                .map_err(|_| PathError::OtherWorkspace(workspace.clone()))?;
        }
        let base = match &context.cwd {
            Some(base) => self.beneath(base, Path::new(""))?,
            None => Beneath(PathBuf::new()),
        };
        cwd.map_or(Ok(base.clone()), |cwd| self.beneath(cwd, &base.0))
    }

    /// The place of a path beneath the workspace, by its text alone.
    pub(crate) fn beneath(&self, path: &str, folder: &Path) -> Result<Beneath, PathError> {
        if path.contains('\0') {
            return Err(PathError::NulByte);
        }
        let outside = || PathError::Outside(path.to_owned());
        let written = Path::new(path);
        let relative = if written.is_absolute() {
            let inside = written.strip_prefix(&self.real);
            inside.or_else(|_| written.strip_prefix(&self.given)).map_err(|_| outside())?.to_owned()
        } else {
            folder.join(written)
        };
        normal(&relative).map(Beneath).ok_or_else(outside)
    }

    /// The place that was judged for a path: the target, where its links were followed.
    pub(crate) fn judged(
        &self,
        path: &str,
        folder: &Path,
        context: &Context,
    ) -> Result<Beneath, PathError> {
        let written = self.beneath(path, folder)?;
        let absolute = self.real.join(&written.0);
        let given = self.given.join(&written.0);
        let keys = [Some(path), absolute.to_str(), given.to_str()];
        let facts = keys.into_iter().flatten().find_map(|key| context.paths.get(key));
        match facts.and_then(|facts| facts.resolves_to.as_deref()) {
            Some(real) => self.beneath(real, Path::new("")),
            None => Ok(written),
        }
    }

    /// Opens a folder, only to go on from there.
    pub(crate) fn folder(&self, path: &Path) -> Result<OwnedFd, PathError> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.at(path, FOLDER, Mode::empty()).map_err(|errno| PathError::of(path, errno))
    }

    /// Opens the folder that a path is in, and returns it with the last name.
    pub(crate) fn parent<'a>(&self, path: &'a Beneath) -> Result<(OwnedFd, &'a OsStr), PathError> {
        let (parent, name) = path.parent_and_name()?;
        Ok((self.folder(parent)?, name))
    }

    /// Makes the folders that a path is in, as far as they are missing.
    pub(crate) fn make_parents(&self, path: &Beneath) -> Result<(), PathError> {
        let (parent, _) = path.parent_and_name()?;
        let mut made = PathBuf::new();
        let mut folder = self.folder(&made)?;
        for name in parent {
            made.push(name);
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(PathError::of(&made, errno)),
            }
            folder = self.folder(&made)?;
        }
        Ok(())
    }

    /// Opens a file or folder for reading, without waiting for a pipe or a device.
    pub(crate) fn read(&self, path: &Beneath) -> Result<File, PathError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let name = if path.0.as_os_str().is_empty() { Path::new(".") } else { path.path() };
        let opened = self.at(name, flags, Mode::empty());
        opened.map(File::from).map_err(|errno| PathError::of(name, errno))
    }

    #[cfg(target_os = "linux")]
    fn at(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        use rustix::fs::ResolveFlags;

        let beneath =
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        for _ in 0..16 {
            match rustix::fs::openat2(&self.folder, path, flags, mode, beneath) {
                // Something on the way was renamed at this moment.
                Err(Errno::AGAIN) => {}
                other => return other,
            }
        }
        Err(Errno::LOOP)
    }

    /// Opens each folder from the one before, because the kernel has no call for the whole.
    #[cfg(not(target_os = "linux"))]
    fn at(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let mut folder = rustix::fs::openat(&self.folder, ".", FOLDER, Mode::empty())?;
        let mut names = path.components().peekable();
        while let Some(name) = names.next() {
            let last = names.peek().is_none();
            let flags = if last { flags } else { FOLDER };
            folder = rustix::fs::openat(
                &folder,
                name.as_os_str(),
                flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                mode,
            )?;
        }
        Ok(folder)
    }
}

impl AsFd for Workspace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The path without `.` and `..`, unless it leads up from where it begins.
///
/// `a/../b` is `b` even where `a` is a link, because no link is followed.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::CurDir => {}
            Component::ParentDir => {
                names.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        Workspace::open(&std::env::temp_dir()).unwrap()
    }

    #[test]
    fn a_path_is_placed_by_its_text() {
        let workspace = workspace();
        let place = |path: &str| workspace.beneath(path, Path::new("sub")).map(|it| it.0);
        assert_eq!(place("a/./b").unwrap(), Path::new("sub/a/b"));
        assert_eq!(place("../a").unwrap(), Path::new("a"));
        assert!(matches!(place("../../a"), Err(PathError::Outside(_))));
        assert!(matches!(place("/somewhere/else"), Err(PathError::Outside(_))));
        assert!(matches!(place("a\0b"), Err(PathError::NulByte)));
        let absolute = workspace.path().join("x").display().to_string();
        assert_eq!(place(&absolute).unwrap(), Path::new("x"));
    }

    #[test]
    fn work_for_another_workspace_is_refused() {
        let context =
            Context { workspace: Some("/somewhere/else".to_owned()), ..Context::default() };
        let refused = workspace().folder_of(&context, None);
        assert!(matches!(refused, Err(PathError::OtherWorkspace(_))));
    }
}
