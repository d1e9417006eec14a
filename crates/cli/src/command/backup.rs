//! `countersign backup` and `restore`: all data that a server must keep, verified; its key is kept
//! apart.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use countersign_gate::audit;
use countersign_gate::bytes::Hash;
use countersign_gate::clock::{Clock as _, System};
use countersign_gate::keyring::Keyring;
use countersign_gate::store::{self, StoreUrl};
use pollster::block_on;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::data::{self, Data};
use crate::exit::Exit;
use crate::serving;

/// The file in which a backup describes itself.
const ABOUT: &str = "backup.json";
/// The folder of files, in a data folder and in a backup.
const FILES: &str = "files";
/// The version of the backup format.
const FORMAT: u32 = 1;

/// Copy the data folder of a server, which may be running, and verify the copy
///
/// The copy is a folder with a snapshot of the database, the files, and `backup.json`. It does not
/// contain the server's key: without the key nobody can read what is encrypted in the copy, or sign
/// in the server's name. Keep the key somewhere else, with --key.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    data: Data,
    /// The folder to create, which must not exist yet
    #[arg(value_name = "FOLDER")]
    to: PathBuf,
    /// Also write the server's key to this file, which must not exist yet or be in the copy
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// Create a data folder from a backup and the server's key, after verifying the backup
///
/// The data folder must contain neither a database nor a key.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    data: Data,
    /// The folder that `backup` created
    #[arg(value_name = "FOLDER")]
    from: PathBuf,
    /// The server's key, which was stored separately
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// Description of a backup.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    format: u32,
    /// The version of the program that made it.
    version: String,
    at: String,
    /// The last record in it.
    end: u64,
    end_hash: Hash,
    /// SHA-256 of the database.
    database: Hash,
    /// The number of files.
    files: u64,
    /// The public half of the server's key.
    key: String,
}

impl Backup {
    pub(super) fn run(self) -> Result<Exit> {
        let (_, keyring) = self.data.read()?;
        let folder = self.data.folder()?;
        if self.key.as_ref().is_some_and(|key| key.starts_with(&self.to)) {
            bail!("the key must not be in the copy: together they reveal everything");
        }
        make_private(&self.to)?;
        let copy = data::database(&self.to);
        let head = StoreUrl::in_folder(&folder).copy_into(&copy, &keyring)?;
        let files = copy_tree(&folder.join(FILES), &self.to.join(FILES))?;
        prove(&self.to, &keyring)?;
        let about = About {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at: System.now().to_string(),
            end: head.number,
            end_hash: Hash(head.hash),
            database: digest(&copy)?,
            files,
            key: keyring.public().to_string(),
        };
        let text = serde_json::to_string_pretty(&about)?;
        write_private(&self.to.join(ABOUT), text.as_bytes())?;
        if let Some(key) = &self.key {
            copy_key(&folder.join(Keyring::FILE), key)?;
        }
        tell("copied", &about)
    }
}

impl Restore {
    pub(super) fn run(self) -> Result<Exit> {
        let text = fs::read_to_string(self.from.join(ABOUT));
        let text = text.with_context(|| format!("`{}` is not a backup", self.from.display()))?;
        let about: About = serde_json::from_str(&text)
            .with_context(|| format!("`{ABOUT}` in `{}` is wrong", self.from.display()))?;
        if about.format != FORMAT {
            bail!("this backup has format {}, and only {FORMAT} is known", about.format);
        }
        let keyring = Keyring::from_file(&self.key)?;
        if keyring.public().to_string() != about.key {
            bail!("`{}` is not the key of this backup", self.key.display());
        }
        let copy = data::database(&self.from);
        if digest(&copy)? != about.database {
            bail!("the database in `{}` is not the one that was copied", self.from.display());
        }
        prove(&self.from, &keyring)?;
        let folder = self.data.folder()?;
        make_empty(&folder)?;
        let _claim = serving::claim(&folder)?;
        copy_private(&copy, &data::database(&folder))?;
        copy_private(&store::note_in(&self.from), &store::note_in(&folder))?;
        copy_tree(&self.from.join(FILES), &folder.join(FILES))?;
        // Last, because a folder without its key is not used.
        copy_key(&self.key, &folder.join(Keyring::FILE))?;
        tell("restored", &about)
    }
}

fn tell(done: &str, about: &About) -> Result<Exit> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{done}: {}, {}; verified",
        count(about.end, "record"),
        count(about.files, "file")
    )?;
    writeln!(out, "end: {}:{}", about.end, about.end_hash)?;
    Ok(Exit::Done)
}

fn count(number: u64, what: &str) -> String {
    let many = if number == 1 { "" } else { "s" };
    format!("{number} {what}{many}")
}

/// Refuses a folder whose record is damaged.
fn prove(folder: &Path, keyring: &Keyring) -> Result<()> {
    let store = store::open_read_only(&StoreUrl::in_folder(folder))?;
    let report = block_on(audit::check(&*store, &keyring.public(), &[], &mut |_| {}))?;
    match report.damage.first() {
        None => Ok(()),
        Some(first) => {
            bail!("the record is damaged: {first}; `countersign audit verify` says more")
        }
    }
}

fn digest(path: &Path) -> Result<Hash> {
    let wrong = || format!("cannot read `{}`", path.display());
    let mut hash = Sha256::new();
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).with_context(wrong)?);
    loop {
        let bytes = file.fill_buf().with_context(wrong)?;
        let length = bytes.len();
        if length == 0 {
            return Ok(Hash(hash.finalize().into()));
        }
        hash.update(bytes);
        file.consume(length);
    }
}

/// Creates a folder that did not exist, for its owner alone.
fn make_private(folder: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("cannot make `{}`", folder.display()))
}

/// Prepares a data folder, which must contain neither a database nor a key.
fn make_empty(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent)?;
        }
        make_private(folder)?;
    }
    data::check_private(folder)?;
    let files = [data::database(folder), store::note_in(folder), folder.join(Keyring::FILE)];
    for taken in files {
        if taken.try_exists()? {
            bail!("`{}` exists: restore into a separate folder", taken.display());
        }
    }
    Ok(())
}

/// Copies the files in a folder and returns their number. Follows no link.
fn copy_tree(from: &Path, to: &Path) -> Result<u64> {
    if !from.try_exists()? {
        return Ok(0);
    }
    make_private(to)?;
    let mut count = 0_u64;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            count = count.saturating_add(copy_tree(&entry.path(), &to)?);
        } else if kind.is_file() {
            copy_private(&entry.path(), &to)?;
            count = count.saturating_add(1);
        }
    }
    Ok(count)
}

/// Copies a file to a new path, for its owner alone.
fn copy_private(from: &Path, to: &Path) -> Result<()> {
    let mut source =
        File::open(from).with_context(|| format!("cannot read `{}`", from.display()))?;
    let mut target = create(to)?;
    let copied = io::copy(&mut source, &mut target).and_then(|_| target.sync_all());
    copied.with_context(|| format!("cannot write `{}`", to.display()))
}

/// Copies a key through memory that is wiped afterwards.
fn copy_key(from: &Path, to: &Path) -> Result<()> {
    let wrong = || format!("cannot read `{}`", from.display());
    let bytes = zeroize::Zeroizing::new(fs::read(from).with_context(wrong)?);
    write_private(to, &bytes)
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = create(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

fn create(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).with_context(|| format!("cannot make `{}`", path.display()))
}
