//! The decisions that were made while no server could be reached, kept in the data folder until a
//! server has them.
//!
//! One file that is only appended to, and emptied once everything in it is on record. The gate's
//! own redaction has been over every entry before it gets here. Each entry names the one before, so
//! that one that is missing shows; the server takes each once, however often it is sent.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_core::{Action, Judgement};
use countersign_gate::clock::{System, random};
use countersign_gate::offline::{Circumstances, Fallback, OfflineDecision};
use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::{Client, ClientError, Manner};
use crate::moment;

/// Where it is, in the data folder.
const FILE: &str = "offline.jsonl";
/// A longer journal takes no more: what cannot be kept is not decided without a server.
const MOST_BYTES: u64 = 16 << 20;
/// The most that is sent at once.
const MOST_AT_ONCE: usize = 100;
const MOST_BYTES_AT_ONCE: usize = 256 << 10;
/// How long one delivery may take.
const DELIVERS_WITHIN: Duration = Duration::from_secs(5);

/// The journal of one data folder.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    /// Tells this journal from all others, for the server.
    journal: String,
}

/// What is in a journal.
#[derive(Debug, Default)]
struct Content {
    name: Option<String>,
    decisions: Vec<OfflineDecision>,
    ends_in_a_line: bool,
}

impl Journal {
    /// The journal in this data folder, which may not be there yet.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    /// Whether there is anything to deliver.
    pub(crate) fn is_empty(&self) -> bool {
        std::fs::metadata(&self.path).map_or(true, |about| about.len() == 0)
    }

    /// How many decisions wait to be delivered.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn count(&self) -> Result<usize> {
        match File::open(&self.path) {
            Ok(mut file) => Ok(read(&mut file)?.decisions.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error).with_context(|| self.wrong()),
        }
    }

    /// Keeps one decision.
    ///
    /// # Errors
    /// It cannot be kept.
    pub(crate) fn keep(
        &self,
        asker: &str,
        (action, judgement): (&Action, &Judgement),
        decision: Fallback,
        why: &str,
    ) -> Result<()> {
        let mut file = self.open()?;
        file.lock().with_context(|| self.wrong())?;
        let content = read(&mut file)?;
        if file.metadata()?.len() > MOST_BYTES {
            bail!("`{}` is full: no server has taken what is in it", self.path.display());
        }
        let at = moment::now().to_string();
        let circumstances = Circumstances { at: &at, asker, why };
        let before = content.decisions.last();
        let entry = OfflineDecision::new(before, action, judgement, decision, circumstances);
        let mut text = String::new();
        if !content.ends_in_a_line {
            text.push('\n');
        }
        if content.name.is_none() {
            text.push_str(&serde_json::to_string(&Name { journal: draw()? })?);
            text.push('\n');
        }
        text.push_str(&serde_json::to_string(&entry)?);
        text.push('\n');
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data())?;
        Ok(())
    }

    /// Hands everything to the server, in order, and empties the journal once the server has it.
    /// Does nothing while another process does the same.
    ///
    /// # Errors
    /// The server does not take it, or the journal cannot be read: it stays as it is.
    pub(crate) async fn deliver(&self, client: &Client) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut file = self.open()?;
        if file.try_lock().is_err() {
            return Ok(());
        }
        let content = read(&mut file)?;
        let mut rest = content.decisions.as_slice();
        let journal = content.name.unwrap_or_default();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(chunk(rest));
            send(client, &journal, now).await?;
            rest = later;
        }
        file.set_len(0).and_then(|()| file.sync_data()).with_context(|| self.wrong())
    }

    fn open(&self) -> Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.path).with_context(|| self.wrong())
    }

    fn wrong(&self) -> String {
        format!("cannot use `{}`", self.path.display())
    }
}

/// Reads what is whole. A line that a crash has cut off is passed over.
fn read(file: &mut File) -> Result<Content> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MOST_BYTES.saturating_mul(2)).read_to_string(&mut text)?;
    let mut content =
        Content { ends_in_a_line: text.is_empty() || text.ends_with('\n'), ..Content::default() };
    for line in text.lines() {
        if let Ok(name) = serde_json::from_str::<Name>(line) {
            content.name.get_or_insert(name.journal);
        } else if let Ok(decision) = serde_json::from_str(line) {
            content.decisions.push(decision);
        }
    }
    Ok(content)
}

fn draw() -> Result<String> {
    Ok(format!("{:032x}", u128::from_be_bytes(random(&System)?)))
}

/// How many of these are sent at once: at least one.
fn chunk(decisions: &[OfflineDecision]) -> usize {
    let mut bytes = 0_usize;
    let fits = |decision: &&OfflineDecision| {
        bytes = bytes.saturating_add(serde_json::to_string(decision).map_or(0, |text| text.len()));
        bytes <= MOST_BYTES_AT_ONCE
    };
    decisions.iter().take(MOST_AT_ONCE).take_while(fits).count().max(1).min(decisions.len())
}

async fn send(client: &Client, journal: &str, decisions: &[OfflineDecision]) -> Result<Value> {
    let body = json!({"journal": journal, "decisions": decisions});
    let manner = Manner { within: DELIVERS_WITHIN, ..Manner::default() };
    let sent: Result<Value, ClientError> =
        client.ask_in(Method::POST, "/api/offline", Some(&body), &manner).await;
    Ok(sent?)
}
