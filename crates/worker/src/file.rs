//! The executor of file actions.
//!
//! Every path is resolved by the kernel beneath the opened workspace at the time of use, without
//! following a link that was not judged. A file is replaced as a whole or not at all.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use countersign_core::{Action, Context};
use countersign_wire::work::{Ended, ExecutorKind, Output, WorkLimits, WorkResult};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::executor::{Executor, Running};
use crate::output::Capture;
use crate::permit::Permit;
use crate::workspace::{Beneath, PathError, Workspace};

/// The most entries of a folder that are listed.
const MOST_ENTRIES: usize = 10_000;

/// The most bytes that are written to one file.
const MOST_WRITTEN: usize = 64 * 1_024 * 1_024;

/// The permissions that are kept of a file that is replaced.
const KEPT: u32 = 0o777;

/// The executor of file actions.
#[derive(Debug)]
pub(crate) struct Files {
    workspace: Arc<Workspace>,
}

/// The reason for which a file action was not done.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("`{0}` is not a regular file")]
    NotAFile(String),
    #[error("`{0}` is not a folder")]
    NotAFolder(String),
    #[error("there is no content to write")]
    NoContent,
    #[error("the content has more than {MOST_WRITTEN} bytes")]
    TooLarge,
    #[error("this is not a file action")]
    NotSupported,
}

impl FileError {
    const fn name(&self) -> &'static str {
        match self {
            Self::Path(error) => error.name(),
            Self::NotAFile(_) => "NotAFile",
            Self::NotAFolder(_) => "NotAFolder",
            Self::NoContent => "NoContent",
            Self::TooLarge => "TooLarge",
            Self::NotSupported => "NotSupported",
        }
    }

    /// A refusal, or a failure such as that of a full disk.
    const fn ended(&self) -> Ended {
        match self {
            Self::Path(PathError::Io { .. }) | Self::NotAFile(_) | Self::NotAFolder(_) => {
                Ended::Failed
            }
            _ => Ended::Refused,
        }
    }
}

/// What was done, for the result.
struct Done {
    output: Output,
    value: Value,
}

impl Executor for Files {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::File
    }

    fn execute(&self, permit: Permit, _: Running<'_>) -> WorkResult {
        let begun = Instant::now();
        let item = permit.into_item();
        let mut result = match self.done(&item.action, &item.context, item.limits) {
            Ok(done) => {
                WorkResult { output: done.output, value: done.value, ..WorkResult::of(Ended::Done) }
            }
            Err(error) => WorkResult::because(error.ended(), error.name(), error.to_string()),
        };
        result.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        result
    }
}

impl Files {
    pub(crate) const fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }

    fn done(
        &self,
        action: &Action,
        context: &Context,
        limits: WorkLimits,
    ) -> Result<Done, FileError> {
        let folder = self.workspace.folder_of(context, None)?;
        let judged = |path: &str| self.workspace.judged(path, folder.path(), context);
        match action {
            Action::FileRead { path } => self.read(path, &judged(path)?, limits),
            Action::FileWrite { path, content } => {
                let text = content.as_deref().ok_or(FileError::NoContent)?;
                self.write(path, &judged(path)?, text.as_bytes())
            }
            Action::FileDelete { path } => {
                let written = self.workspace.beneath(path, folder.path())?;
                self.delete(path, &written, &judged(path)?)
            }
            Action::FileList { path } => self.list(path, &judged(path)?, limits),
            _ => Err(FileError::NotSupported),
        }
    }

    fn read(&self, path: &str, place: &Beneath, limits: WorkLimits) -> Result<Done, FileError> {
        let mut file = self.workspace.read(place)?;
        let failed = |error| PathError::io(path, error);
        let facts = file.metadata().map_err(failed)?;
        if !facts.is_file() {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        let output = kept(&mut file, facts.size(), limits.output_bytes).map_err(failed)?;
        Ok(Done { output, value: json!({"bytes": facts.size()}) })
    }

    fn write(&self, path: &str, place: &Beneath, content: &[u8]) -> Result<Done, FileError> {
        if content.len() > MOST_WRITTEN {
            return Err(FileError::TooLarge);
        }
        self.workspace.make_parents(place)?;
        let (folder, name) = self.workspace.parent(place)?;
        let failed = |errno: Errno| PathError::io(path, errno);
        let replaced = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) => Some(facts.st_mode),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(failed(errno).into()),
        };
        match replaced.map(FileType::from_raw_mode) {
            None | Some(FileType::RegularFile) => {}
            Some(FileType::Symlink) => return Err(PathError::Swapped(path.to_owned()).into()),
            Some(_) => return Err(FileError::NotAFile(path.to_owned())),
        }
        let (temporary, file) = temporary(folder.as_fd()).map_err(failed)?;
        let written = fill(file, content, replaced).and_then(|()| {
            rustix::fs::renameat(&folder, &temporary, &folder, name)?;
            // The name is on the disk only when the folder is.
            let folder = rustix::fs::openat(&folder, ".", FOLDER, Mode::empty())?;
            Ok(rustix::fs::fsync(folder)?)
        });
        if let Err(error) = written {
            let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
            return Err(PathError::io(path, error).into());
        }
        let value = json!({"bytes": content.len(), "created": replaced.is_none()});
        Ok(Done { output: Output::EMPTY, value })
    }

    /// Deletes a file, a link itself, or a folder that is empty.
    fn delete(&self, path: &str, place: &Beneath, judged: &Beneath) -> Result<Done, FileError> {
        let (folder, name) = self.workspace.parent(place)?;
        let failed = |errno: Errno| PathError::io(path, errno);
        let facts = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let kind = FileType::from_raw_mode(facts.st_mode);
        // Where another path was judged, a link was: it is the link that goes.
        if (kind == FileType::Symlink) != (place != judged) {
            return Err(PathError::Swapped(path.to_owned()).into());
        }
        let flags = match kind {
            FileType::Directory => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        rustix::fs::unlinkat(&folder, name, flags).map_err(failed)?;
        Ok(Done { output: Output::EMPTY, value: Value::Null })
    }

    fn list(&self, path: &str, place: &Beneath, limits: WorkLimits) -> Result<Done, FileError> {
        let folder = self.workspace.read(place)?;
        let failed = |error| PathError::io(path, error);
        if !folder.metadata().map_err(failed)?.is_dir() {
            return Err(FileError::NotAFolder(path.to_owned()));
        }
        let (mut names, left_out) = names(&folder).map_err(failed)?;
        names.sort_unstable();
        let mut capture = Capture::new(limits.output_bytes);
        for name in &names {
            capture.push(name.as_bytes());
            capture.push(b"\n");
        }
        let value = json!({"entries": names.len(), "left_out": left_out});
        Ok(Done { output: capture.finish(), value })
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The start and the end of a file; what is between them is not read.
fn kept(file: &mut File, size: u64, most: u32) -> io::Result<Output> {
    let mut capture = Capture::new(most);
    let half = u64::from(most) / 2 + 1;
    if size <= half.saturating_mul(2) {
        copy(file, u64::from(most).saturating_add(2), &mut capture)?;
        return Ok(capture.finish());
    }
    copy(file, half, &mut capture)?;
    capture.skip(size - half - half);
    file.seek(SeekFrom::Start(size - half))?;
    copy(file, half, &mut capture)?;
    Ok(capture.finish())
}

fn copy(file: &mut File, most: u64, capture: &mut Capture) -> io::Result<()> {
    let mut left = file.take(most);
    let mut buffer = [0; 16 * 1_024];
    loop {
        match left.read(&mut buffer)? {
            0 => return Ok(()),
            read => {
                capture.push(buffer.get(..read).unwrap_or_default());
            }
        }
    }
}

/// A new file beside the one that it is to replace.
fn temporary(folder: BorrowedFd<'_>) -> Result<(PathBuf, File), Errno> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = PathBuf::from(format!(".countersign-{}-{number}.tmp", std::process::id()));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, file.into())),
            // Left there by a worker that was killed.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn fill(mut file: File, content: &[u8], replaced: Option<u32>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(mode) = replaced {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & KEPT))?;
    }
    file.sync_all()
}

/// The names in a folder, those of folders with a slash, and the number of those left out.
fn names(folder: &File) -> io::Result<(Vec<String>, usize)> {
    let (mut names, mut left_out) = (Vec::new(), 0);
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        if matches!(&*name, "." | "..") {
            continue;
        }
        if names.len() >= MOST_ENTRIES {
            left_out += 1;
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Directory => "/",
            FileType::Symlink => "@",
            _ => "",
        };
        names.push(format!("{name}{kind}"));
    }
    Ok((names, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ends_of_a_large_file_are_read() {
        let folder = std::env::temp_dir();
        let folder = rustix::fs::open(&folder, FOLDER, Mode::empty()).unwrap();
        let (name, file) = temporary(folder.as_fd()).unwrap();
        for size in [0, 5, 9, 10, 11, 12, 13, 14, 1_000] {
            file.set_len(0).unwrap();
            let text: String = ('a'..='z').cycle().take(size).collect();
            let path = std::env::temp_dir().join(&name);
            std::fs::write(&path, &text).unwrap();
            let output = kept(&mut File::open(&path).unwrap(), size as u64, 10).unwrap();
            assert!(text.starts_with(&output.head) && text.ends_with(&output.tail), "{size}");
            let all = output.head.len() as u64 + output.tail.len() as u64 + output.left_out;
            assert_eq!(all, size as u64, "{output:?}");
        }
        rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).unwrap();
    }
}
