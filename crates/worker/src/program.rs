//! Programs, found in `PATH` by us, opened once and started by descriptor.
//!
//! What is checked is the opened file, and what is started is the same opened file: another one
//! that takes its name meanwhile is not run. A file that begins with `#!` is started as the kernel
//! would do it, by its interpreter, which is opened in the same way. The interpreter is given the
//! file's name, because scripts find their neighbours by it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags};

/// The most interpreters that lead from a script to a program.
const MOST_INTERPRETERS: usize = 4;

/// The most bytes of a file's first line that the kernel reads.
const FIRST_LINE: u64 = 256;

#[cfg(target_os = "linux")]
const OPENED: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const OPENED: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// The reason for which a program is not started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no such file, nowhere in `PATH`.
    #[error("`{0}` was not found")]
    NotFound(String),
    /// The file cannot be started.
    #[error("`{name}` cannot be run: {cause}")]
    NotRunnable {
        /// The name of the program.
        name: String,
        /// The error of the system.
        cause: io::Error,
    },
}

/// A program that was opened, with the words it is started with.
#[derive(Debug)]
pub struct Program {
    file: OwnedFd,
    path: PathBuf,
    argv0: OsString,
    before: Vec<OsString>,
}

/// The places in which a program is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The folders for a plain name, as in `PATH`. Relative ones are passed over: they would mean
    /// another program in another folder.
    pub search: &'a OsStr,
    /// The folder that a relative path begins in.
    pub folder: BorrowedFd<'a>,
}

impl Places<'_> {
    /// Finds a program and opens it.
    ///
    /// # Errors
    /// There is none, or it cannot be run.
    pub fn find(self, name: &OsStr) -> Result<Program, ProgramError> {
        self.resolve(name, MOST_INTERPRETERS)
    }

    fn resolve(self, name: &OsStr, interpreters: usize) -> Result<Program, ProgramError> {
        let (file, path) = self.open(name)?;
        let not_runnable = |cause| ProgramError::NotRunnable { name: shown(name), cause };
        let Some(line) = first_line(&file).map_err(not_runnable)? else {
            return Ok(Program { file, path, argv0: name.to_owned(), before: Vec::new() });
        };
        let left = interpreters.checked_sub(1).ok_or_else(|| {
            not_runnable(io::Error::other("too many interpreters, one inside the other"))
        })?;
        let (interpreter, argument) = named(&line).ok_or_else(|| {
            not_runnable(io::Error::other("its first line names no interpreter by its full path"))
        })?;
        let mut program = if let Some(searched) = searched(&interpreter, argument.as_deref()) {
            self.resolve(searched, left)?
        } else {
            let mut program = self.resolve(&interpreter, left)?;
            program.before.extend(argument);
            program
        };
        program.before.push(path.into_os_string());
        Ok(program)
    }

    fn open(self, name: &OsStr) -> Result<(OwnedFd, PathBuf), ProgramError> {
        let not_runnable =
            |cause: io::Error| ProgramError::NotRunnable { name: shown(name), cause };
        if name.as_bytes().contains(&b'/') {
            let path = PathBuf::from(name);
            return match open_program(self.folder, &path) {
                Ok(file) => Ok((file, path)),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                    Err(ProgramError::NotFound(shown(name)))
                }
                Err(cause) => Err(not_runnable(cause)),
            };
        }
        let mut refused = None;
        let folders = std::env::split_paths(self.search).filter(|folder| folder.is_absolute());
        for folder in folders {
            if name.is_empty() {
                break;
            }
            let path = folder.join(name);
            match open_program(self.folder, &path) {
                Ok(file) => return Ok((file, path)),
                // A folder that may not be searched says nothing about the program.
                Err(cause) if path.is_file() => refused = refused.or(Some(cause)),
                Err(_) => {}
            }
        }
        Err(refused.map_or_else(|| ProgramError::NotFound(shown(name)), not_runnable))
    }
}

impl Program {
    /// The path under which it was found.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name that the program is told that it has.
    #[must_use]
    pub fn argv0(&self) -> &OsStr {
        &self.argv0
    }

    /// The words that it is given before its arguments: those of an interpreter.
    #[must_use]
    pub fn before(&self) -> &[OsString] {
        &self.before
    }

    /// The path by which exactly the opened file is started by this process.
    #[must_use]
    pub fn by_descriptor(&self) -> PathBuf {
        by_descriptor(&self.file, &self.path)
    }

    pub(crate) fn into_parts(self) -> (OwnedFd, PathBuf, OsString, Vec<OsString>) {
        (self.file, self.path, self.argv0, self.before)
    }
}

/// The path by which exactly an opened file is started or entered, where the system has one.
pub(crate) fn by_descriptor(file: &OwnedFd, path: &Path) -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    }
    path.to_owned()
}

fn shown(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// Opens a regular file that this process may execute.
fn open_program(folder: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let file = rustix::fs::openat(folder, path, OPENED, Mode::empty())?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if kind == FileType::Directory {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if kind != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    // Asked of the opened file, by its descriptor.
    let opened = by_descriptor(&file, path);
    rustix::fs::accessat(rustix::fs::CWD, &opened, Access::EXEC_OK, AtFlags::EACCESS)?;
    Ok(file)
}

/// The words after `#!`, where a file begins with that.
fn first_line(file: &OwnedFd) -> io::Result<Option<Vec<u8>>> {
    let path = by_descriptor(file, Path::new(""));
    let mut start = Vec::new();
    match File::open(path) {
        // It may be run and not read: then it is not a script, which its interpreter must read.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        opened => opened?.take(FIRST_LINE).read_to_end(&mut start)?,
    };
    let Some(line) = start.strip_prefix(b"#!") else { return Ok(None) };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(Some(line.to_vec()))
}

/// The interpreter of a first line, and its one argument.
fn named(line: &[u8]) -> Option<(OsString, Option<OsString>)> {
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (interpreter, argument) = line.split_at_checked(end)?;
    let argument = argument.trim_ascii();
    let word = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    interpreter
        .starts_with(b"/")
        .then(|| (word(interpreter), (!argument.is_empty()).then(|| word(argument))))
}

/// The program that `env` would look for.
fn searched<'a>(interpreter: &OsStr, argument: Option<&'a OsStr>) -> Option<&'a OsStr> {
    let argument = argument?;
    let plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'+');
    let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    let bytes = argument.as_bytes();
    (is_env && !bytes.starts_with(b"-") && bytes.iter().all(plain)).then_some(argument)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    fn find(search: &str, name: &str) -> Result<Program, ProgramError> {
        let folder = rustix::fs::open("/", OPENED | OFlags::DIRECTORY, Mode::empty()).unwrap();
        Places { search: OsStr::new(search), folder: folder.as_fd() }.find(OsStr::new(name))
    }

    #[test]
    fn a_program_is_found_in_the_first_folder_that_has_it() {
        let found = find("relative:/nowhere:/usr/bin:/bin", "true").unwrap();
        assert!(found.path().ends_with("true") && found.path().is_absolute());
        assert_eq!((found.argv0(), found.before().len()), (OsStr::new("true"), 0));
    }

    #[test]
    fn what_cannot_be_started_is_told_apart_from_what_is_missing() {
        assert!(matches!(find("/usr/bin", "surely-not-there"), Err(ProgramError::NotFound(_))));
        assert!(matches!(find("bin", "true"), Err(ProgramError::NotFound(_))));
        for name in ["/etc/passwd", "/etc", "/dev/null"] {
            assert!(matches!(find("", name), Err(ProgramError::NotRunnable { .. })), "{name}");
        }
    }

    #[test]
    fn a_first_line_names_an_interpreter_and_one_argument() {
        let word = |text: &str| OsString::from(text);
        assert_eq!(named(b" /bin/sh "), Some((word("/bin/sh"), None)));
        assert_eq!(named(b"/bin/sh -e -u"), Some((word("/bin/sh"), Some(word("-e -u")))));
        assert_eq!(named(b"sh"), None);
        assert_eq!(searched(OsStr::new("/usr/bin/env"), Some(OsStr::new("-S sh"))), None);
        let python = OsStr::new("python3");
        assert_eq!(searched(OsStr::new("/usr/bin/env"), Some(python)), Some(python));
    }
}
