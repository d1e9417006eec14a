//! The definitions of tools that were accepted: the server's definition when it was first seen, or
//! one that a person has approved since.
//!
//! One file in the data folder, which agents may not change, shared by all proxies of the user.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The name of the file in the data folder.
const FILE: &str = "mcp-pins.json";
/// Locked while the file is changed.
const LOCK: &str = "mcp-pins.lock";

/// Digests of definitions, by `server/tool`.
#[derive(Debug)]
pub(crate) struct Pins {
    folder: PathBuf,
    known: BTreeMap<String, String>,
}

impl Pins {
    /// Opens the pins in a data folder, which is created if it does not exist.
    ///
    /// # Errors
    /// They cannot be read or written: without them no change would be noticed.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        make(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let mut pins = Self { folder: folder.to_owned(), known: BTreeMap::new() };
        pins.change(|_| {})?;
        Ok(pins)
    }

    /// Returns the digest of the accepted definition.
    pub(crate) fn get(&self, tool: &str) -> Option<&str> {
        self.known.get(tool).map(String::as_str)
    }

    /// Stores the definitions of tools that are seen for the first time.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn keep_new(&mut self, seen: Vec<(String, String)>) -> Result<()> {
        if seen.iter().all(|(tool, _)| self.known.contains_key(tool)) {
            return Ok(());
        }
        self.change(|known| {
            for (tool, digest) in seen {
                known.entry(tool).or_insert(digest);
            }
        })
    }

    /// Stores a definition that a person has approved.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn agree(&mut self, tool: String, digest: String) -> Result<()> {
        self.change(|known| {
            known.insert(tool, digest);
        })
    }

    /// Changes the stored pins, and takes over those that others have stored.
    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<()> {
        let lock = File::create(self.folder.join(LOCK)).and_then(|lock| {
            lock.lock()?;
            Ok(lock)
        });
        let _lock = lock.context("cannot lock the pinned definitions of tools")?;
        let path = self.folder.join(FILE);
        let before = read(&path)?;
        let mut known = before.clone();
        change(&mut known);
        if known != before {
            write(&path, &known).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        self.known = known;
        Ok(())
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, String>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
        }
    };
    serde_json::from_slice(&text).with_context(|| {
        format!("`{}` is damaged; remove it to accept all tool definitions again", path.display())
    })
}

/// Writes the file atomically.
fn write(path: &Path, known: &BTreeMap<String, String>) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = private().create(true).truncate(true).open(&new)?;
    serde_json::to_writer_pretty(&mut file, known)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(new, path)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let id = std::process::id();
        let folder = std::env::temp_dir().join(format!("countersign-pins-{name}-{id}"));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn pair(tool: &str, digest: &str) -> (String, String) {
        (tool.to_owned(), digest.to_owned())
    }

    #[test]
    fn the_first_definition_stays_until_a_person_agrees_to_another() {
        let folder = folder("first");
        let mut pins = Pins::open(&folder).unwrap();
        pins.keep_new(vec![pair("s/a", "1")]).unwrap();
        pins.keep_new(vec![pair("s/a", "2"), pair("s/b", "1")]).unwrap();
        assert_eq!((pins.get("s/a"), pins.get("s/b")), (Some("1"), Some("1")));
        let (tool, digest) = pair("s/a", "2");
        pins.agree(tool, digest).unwrap();
        assert_eq!(Pins::open(&folder).unwrap().get("s/a"), Some("2"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_another_proxy_keeps_meanwhile_is_not_lost() {
        let folder = folder("both");
        let (mut one, mut other) = (Pins::open(&folder).unwrap(), Pins::open(&folder).unwrap());
        one.keep_new(vec![pair("s/a", "1")]).unwrap();
        other.keep_new(vec![pair("s/a", "2"), pair("t/a", "1")]).unwrap();
        assert_eq!((other.get("s/a"), other.get("t/a")), (Some("1"), Some("1")));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_a_fresh_start() {
        let folder = folder("damaged");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(FILE), "{").unwrap();
        assert!(Pins::open(&folder).unwrap_err().to_string().contains("damaged"));
        fs::remove_dir_all(folder).unwrap();
    }
}
