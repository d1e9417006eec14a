//! Opens files beneath a folder so that no path can lead out of it.
//!
//! Between checking a path and opening it, a folder can be replaced by a link. Here the kernel
//! resolves and opens in one step (`openat2` with `RESOLVE_BENEATH`); where it cannot, each folder
//! on the way is opened from the one before, without following any link.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
pub(crate) use unix::Root;

/// A folder that opened files stay beneath.
#[cfg(not(unix))]
pub(crate) struct Root(std::path::PathBuf);

#[cfg(not(unix))]
impl Root {
    /// Opens the folder.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        folder.canonicalize().map(Self)
    }

    /// Opens a file for reading.
    pub(crate) fn read(&self, path: &Path) -> io::Result<File> {
        File::open(self.beneath(path)?)
    }

    /// Creates a new file.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        File::create_new(self.0.join(path))
    }

    fn beneath(&self, path: &Path) -> io::Result<std::path::PathBuf> {
        let real = self.0.join(path).canonicalize()?;
        if real.starts_with(&self.0) {
            return Ok(real);
        }
        Err(io::ErrorKind::CrossesDevices.into())
    }
}

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
    use std::path::Component;

    use rustix::fs::{Mode, OFlags, openat};
    use rustix::io::Errno;

    use super::{File, Path, io};

    /// A folder on the way: only a handle from which to continue, never read itself.
    #[cfg(target_os = "linux")]
    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    /// A folder that opened files stay beneath.
    #[derive(Debug)]
    pub(crate) struct Root {
        folder: OwnedFd,
    }

    impl Root {
        /// Opens the folder.
        ///
        /// # Errors
        /// It does not exist, is not a folder, or may not be entered.
        pub(crate) fn open(folder: &Path) -> io::Result<Self> {
            Ok(Self { folder: rustix::fs::open(folder, FOLDER, Mode::empty())? })
        }

        /// Opens a file for reading, without blocking on a pipe or a device.
        ///
        /// # Errors
        /// As for any open; `CrossesDevices` or a link error when the path leads out of the folder.
        pub(crate) fn read(&self, path: &Path) -> io::Result<File> {
            self.at(path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())
        }

        /// Creates a new file.
        ///
        /// # Errors
        /// As for any open; `AlreadyExists` when the name is taken.
        pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            self.at(path, flags, Mode::from_raw_mode(0o644))
        }

        fn at(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
            let flags = flags | OFlags::CLOEXEC;
            #[cfg(target_os = "linux")]
            let opened = in_one_step(self.folder.as_fd(), path, flags, mode);
            #[cfg(not(target_os = "linux"))]
            let opened = step_by_step(self.folder.as_fd(), path, flags, mode);
            Ok(File::from(opened?))
        }
    }

    #[cfg(target_os = "linux")]
    fn in_one_step(
        root: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        // The kernel returns EAGAIN when something was renamed meanwhile.
        const TRIES: u8 = 16;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match openat2(root, path, flags, mode, resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // An old kernel, or a sandbox that does not know the call. The fallback is
                // stricter, so a genuine EPERM only fails a second time.
                Err(Errno::NOSYS | Errno::PERM) => return step_by_step(root, path, flags, mode),
                answer => return answer,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Follows no link, so it may refuse a path that `openat2` would have opened, never the
    /// reverse.
    fn step_by_step(
        root: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        let mut folders: Vec<OwnedFd> = Vec::new();
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let here = folders.last().map_or(root, |folder| folder.as_fd());
            match part {
                Component::CurDir => {}
                // Back to the handle we came from, not to the folder that `..` is by now.
                Component::ParentDir => {
                    folders.pop().ok_or(Errno::XDEV)?;
                }
                Component::Normal(name) if parts.peek().is_none() => {
                    return openat(here, name, flags | OFlags::NOFOLLOW, mode);
                }
                Component::Normal(name) => {
                    let folder = openat(here, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
                    folders.push(folder);
                }
                Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
            }
        }
        openat(folders.last().map_or(root, |folder| folder.as_fd()), ".", flags, mode)
    }

    #[cfg(test)]
    mod tests {
        use std::fs;
        use std::io::Read as _;
        use std::os::unix::fs::symlink;
        use std::path::PathBuf;
        use std::sync::atomic::{AtomicBool, Ordering};

        use super::*;

        type Way = fn(BorrowedFd<'_>, &Path, OFlags, Mode) -> Result<OwnedFd, Errno>;

        const WAYS: &[Way] = &[
            #[cfg(target_os = "linux")]
            in_one_step,
            step_by_step,
        ];

        /// `root/in/file`, and `outside/file` that must never be read.
        struct Scene(PathBuf);

        impl Scene {
            fn new(name: &str) -> Self {
                let base = std::env::temp_dir();
                let base = base.join(format!("countersign-{name}-{}", std::process::id()));
                fs::create_dir_all(base.join("root/in")).unwrap();
                fs::create_dir_all(base.join("outside")).unwrap();
                fs::write(base.join("root/in/file"), "inside").unwrap();
                fs::write(base.join("outside/file"), "OUTSIDE").unwrap();
                Self(base)
            }

            fn root(&self) -> Root {
                Root::open(&self.0.join("root")).unwrap()
            }
        }

        impl Drop for Scene {
            fn drop(&mut self) {
                let _ = fs::remove_dir_all(&self.0);
            }
        }

        fn read(way: Way, root: &Root, path: &str) -> Result<String, Errno> {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let opened = way(root.folder.as_fd(), Path::new(path), flags, Mode::empty())?;
            let mut text = String::new();
            File::from(opened).read_to_string(&mut text).unwrap();
            Ok(text)
        }

        #[test]
        fn what_is_beneath_is_opened() {
            let scene = Scene::new("beneath");
            for way in WAYS {
                let root = scene.root();
                for path in ["in/file", "./in/file", "in/../in/file"] {
                    assert_eq!(read(*way, &root, path).as_deref(), Ok("inside"), "{path}");
                }
            }
        }

        #[test]
        fn no_spelling_leads_out() {
            let scene = Scene::new("out");
            let root = scene.0.join("root");
            symlink("../outside", root.join("link")).unwrap();
            symlink("../../outside/file", root.join("in/link")).unwrap();
            symlink(scene.0.join("outside"), root.join("absolute")).unwrap();
            symlink("/proc/self/root", root.join("magic")).unwrap();
            let absolute = scene.0.join("outside/file");
            let absolute = absolute.to_str().unwrap();
            for way in WAYS {
                let root = scene.root();
                for path in [
                    "../outside/file",
                    "in/../../outside/file",
                    "link/file",
                    "in/link",
                    "absolute/file",
                    "magic/etc/hostname",
                    "..",
                    absolute,
                ] {
                    assert!(read(*way, &root, path).is_err(), "{path}");
                }
            }
        }

        #[test]
        fn a_file_is_created_once_and_only_beneath() {
            let scene = Scene::new("create");
            symlink("../outside/new", scene.0.join("root/new")).unwrap();
            let root = scene.root();
            assert!(root.create(Path::new("in/new")).is_ok());
            let again = root.create(Path::new("in/new")).unwrap_err();
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
            assert!(root.create(Path::new("new")).is_err());
            assert!(root.create(Path::new("../outside/new")).is_err());
            assert!(!scene.0.join("outside/new").exists());
        }

        #[test]
        fn a_folder_that_becomes_a_link_in_between_is_not_followed_out() {
            let scene = Scene::new("race");
            let root = scene.0.join("root");
            symlink("../outside", root.join("trap")).unwrap();
            let done = AtomicBool::new(false);
            let mut read_texts = Vec::new();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        // `in` is the folder, then the link, then the folder again, and so on.
                        fs::rename(root.join("in"), root.join("aside")).unwrap();
                        fs::rename(root.join("trap"), root.join("in")).unwrap();
                        fs::rename(root.join("in"), root.join("trap")).unwrap();
                        fs::rename(root.join("aside"), root.join("in")).unwrap();
                    }
                });
                let handle = scene.root();
                for way in WAYS {
                    for _ in 0..5_000 {
                        read_texts.extend(read(*way, &handle, "in/file"));
                    }
                }
                done.store(true, Ordering::Relaxed);
            });
            assert!(read_texts.iter().all(|text| text == "inside"));
        }
    }
}
