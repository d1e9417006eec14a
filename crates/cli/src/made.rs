//! The files and folders that an agent made in its session: paths that did not exist before an
//! action of the session that writes them was permitted.
//!
//! Kept in the data folder, one file per session, as fingerprints of paths. The record alone is not
//! trusted: a path belongs to the session only while everything below it is younger than the record
//! and has a single hard link. Timestamps that can be set (`touch -d`) are ignored; only the
//! creation time of the inode counts. A path to which something is moved is taken off the record.
//! Anything that cannot be established does not belong to the session, and is asked about as usual.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use countersign_core::{Action, Context};
use sha2::{Digest as _, Sha256};

use crate::facts::{self, Moved};

/// The folder of the records in the data folder.
const FOLDER: &str = "made";
/// A longer record is not read, so that nothing belongs to the session any more.
const MOST_BYTES: u64 = 1 << 20;
/// A folder with more entries is not searched.
const MOST_ENTRIES: usize = 5_000;
/// File timestamps advance in steps of some milliseconds.
const STEP: u128 = 20_000_000;
/// Records of sessions that were last seen longer ago than this are deleted.
const KEPT_FOR: std::time::Duration = std::time::Duration::from_hours(30 * 24);

/// The paths that one session made in its workspace.
#[derive(Debug)]
pub(crate) struct Made {
    file: PathBuf,
    workspace: PathBuf,
    record: Record,
}

/// Fingerprints of paths.
#[derive(Debug, Default)]
struct Record {
    /// The time of the session's first action, in nanoseconds.
    began: u128,
    /// Paths that did not exist, with the time since which they belong to the session.
    made: BTreeMap<String, u128>,
    /// Paths to which something was moved that existed before.
    kept: BTreeSet<String>,
    /// The parent folders of `kept`.
    above: BTreeSet<String>,
}

impl Made {
    /// Opens the record of this session, or begins one. `None` where it cannot be stored.
    pub(crate) fn open(data: &Path, session: &str, workspace: &str) -> Option<Self> {
        let workspace = PathBuf::from(workspace);
        // Nobody works in the root, and a workspace that is a link has two names.
        let is_plain = workspace.parent().is_some()
            && fs::canonicalize(&workspace).is_ok_and(|real| real == workspace);
        if session.is_empty() || !is_plain {
            return None;
        }
        let folder = data.join(FOLDER);
        let name = fingerprint(&[session, "\0", workspace.to_str()?].concat());
        let file = folder.join(name);
        let record = match fs::symlink_metadata(&file) {
            Ok(about) if about.is_file() && about.len() <= MOST_BYTES => {
                Record::read(&fs::read_to_string(&file).ok()?)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => begin(&folder, &file)?,
            Ok(_) | Err(_) => return None,
        };
        Some(Self { file, workspace, record })
    }

    /// Reports whether a path belongs to the session, with everything below it.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.since(path).is_some_and(|since| {
            let mut left = MOST_ENTRIES;
            let is_link = fs::symlink_metadata(path).map_or(true, |about| about.is_symlink());
            !is_link && is_younger(path, since, &mut left)
        })
    }

    /// The time since which a path is on record, unless something older was moved to it, into it or
    /// above it.
    fn since(&self, path: &Path) -> Option<u128> {
        if self.record.above.contains(&of_path(path)?) {
            return None;
        }
        let mut since = None;
        for folder in path.ancestors().take_while(|folder| folder.starts_with(&self.workspace)) {
            let print = of_path(folder)?;
            if self.record.kept.contains(&print) {
                return None;
            }
            if folder != self.workspace {
                since = self.record.made.get(&print).copied().or(since);
            }
        }
        since
    }

    /// Records the paths that a permitted action is about to create; also used for one that the
    /// host may still permit. If this fails, the record lacks paths but never has extra ones.
    pub(crate) fn note(&mut self, action: &Action, context: &Context, runs: Runs) {
        let written = facts::written(action, context);
        let lines = match facts::moved(action, context) {
            Moved::Nothing if runs == Runs::Surely => {
                written.paths.iter().filter_map(|path| self.line(path, now())).collect()
            }
            Moved::Nothing => Vec::new(),
            Moved::These(moved) if moved.iter().all(|path| self.holds(path)) => {
                let began = self.record.began;
                written.paths.iter().filter_map(|path| self.line(path, began)).collect()
            }
            Moved::These(_) | Moved::Unknown if written.all_known => {
                written.paths.iter().flat_map(|path| self.kept(path)).collect()
            }
            Moved::These(_) | Moved::Unknown => self.kept(&self.workspace),
        };
        let _ = self.append(&lines);
    }

    /// The line for the path that is created when this path is written: the topmost folder that
    /// does not exist, or the file.
    fn line(&self, path: &Path, since: u128) -> Option<String> {
        let mut absent = None;
        for folder in path.ancestors().take_while(|folder| *folder != self.workspace) {
            match fs::symlink_metadata(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => absent = Some(folder),
                // Through a link it would be created elsewhere.
                Ok(about) if about.is_symlink() => return None,
                Ok(_) => {}
                Err(_) => return None,
            }
        }
        let absent = absent.filter(|absent| absent.starts_with(&self.workspace))?;
        Some(format!("made {since} {}\n", of_path(absent)?))
    }

    /// The lines for a path to which something is moved that existed before.
    fn kept(&self, path: &Path) -> Vec<String> {
        let inside = path.ancestors().take_while(|folder| folder.starts_with(&self.workspace));
        let words = std::iter::once("kept").chain(std::iter::repeat("above"));
        inside
            .zip(words)
            .filter_map(|(folder, word)| Some(format!("{word} {}\n", of_path(folder)?)))
            .collect()
    }

    fn append(&mut self, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let text = lines.concat();
        let done = File::options().append(true).open(&self.file)?.write_all(text.as_bytes());
        for line in lines {
            self.record.take(line.trim_end());
        }
        done
    }
}

/// The certainty that a recorded action runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// It was permitted.
    Surely,
    /// The host asks its own user, or a person has changed the input.
    Perhaps,
}

impl Record {
    /// Parses a record; `None` if any line of it is invalid.
    fn read(text: &str) -> Option<Self> {
        let mut record = Self::default();
        for line in text.lines() {
            record.take(line)?;
        }
        (record.began > 0).then_some(record)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "began" => self.began = rest.parse().ok()?,
            "made" => {
                let (since, print) = rest.split_once(' ')?;
                self.made.insert(print.to_owned(), since.parse().ok()?);
            }
            "kept" => {
                self.kept.insert(rest.to_owned());
            }
            "above" => {
                self.above.insert(rest.to_owned());
            }
            _ => return None,
        }
        Some(())
    }
}

/// Begins a record, and deletes those of sessions that ended long ago.
fn begin(folder: &Path, file: &Path) -> Option<Record> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).ok()?;
    drop_old(folder);
    let began = now();
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let text = format!("began {began}\n");
    options.open(file).ok()?.write_all(text.as_bytes()).ok()?;
    Record::read(&text)
}

fn drop_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(MOST_ENTRIES) {
        let written = entry.metadata().and_then(|about| about.modified());
        let is_old = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT_FOR));
        if is_old {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Reports whether a file or folder and everything below it were created after this time, on one
/// file system, each file with a single hard link. Links are not followed: deleting one leaves its
/// target alone.
#[cfg(unix)]
fn is_younger(path: &Path, since: u128, left: &mut usize) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    let Ok(about) = fs::symlink_metadata(path) else { return false };
    let born = about.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    if born.is_none_or(|born| born.as_nanos() + STEP < since) {
        return false;
    }
    if !about.is_dir() {
        return about.nlink() == 1;
    }
    let Ok(entries) = fs::read_dir(path) else { return false };
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let is_here = entry.metadata().is_ok_and(|inner| inner.dev() == about.dev());
        if !is_here || !is_younger(&entry.path(), since, left) {
            return false;
        }
    }
    true
}

#[cfg(not(unix))]
fn is_younger(_: &Path, _: u128, _: &mut usize) -> bool {
    false
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(u128::MAX, |since| since.as_nanos())
}

fn of_path(path: &Path) -> Option<String> {
    path.to_str().map(fingerprint)
}

fn fingerprint(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut text = String::with_capacity(32);
    for byte in digest.iter().take(16) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
