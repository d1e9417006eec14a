//! The journal of decisions that were made while no server could be reached, kept in the data
//! folder until they are delivered.
//!
//! One file that is only appended to, and truncated once everything in it is on record. Every entry
//! is redacted by the gate's own redaction before it is written. Each entry names the one before,
//! so that a missing one is noticed; the server counts each once, however often it is sent.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_core::{Action, Judgement};
use countersign_gate::clock::{System, random};
use countersign_gate::offline::{Circumstances, Fallback, OfflineDecision};
use countersign_wire::path;
use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::{Client, ClientError, Manner};
use crate::moment;

/// The name of the file in the data folder.
const FILE: &str = "offline.jsonl";
/// A larger journal takes no more entries: a decision that cannot be kept is not made without a
/// server.
const MOST_BYTES: u64 = 16 << 20;
/// The most decisions in one request.
const MOST_AT_ONCE: usize = 100;
const MOST_BYTES_AT_ONCE: usize = 256 << 10;
/// The timeout of one request.
const DELIVERS_WITHIN: Duration = Duration::from_secs(5);

/// The journal of one data folder.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    /// The id of this journal, by which the server tells it from others.
    journal: String,
}

/// The content of a journal.
#[derive(Debug, Default)]
struct Content {
    name: Option<String>,
    decisions: Vec<OfflineDecision>,
    ends_in_a_line: bool,
}

impl Journal {
    /// Returns the journal of this data folder, which may not exist yet.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    /// Reports whether there is nothing to deliver.
    pub(crate) fn is_empty(&self) -> bool {
        std::fs::metadata(&self.path).map_or(true, |about| about.len() == 0)
    }

    /// The number of decisions that are not delivered yet.
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

    /// Appends one decision.
    ///
    /// # Errors
    /// It cannot be stored.
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
            bail!("`{}` is full: no server has received its entries", self.path.display());
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

    /// Sends everything to the server, in order, and empties the journal once the server has it.
    /// Does nothing while another process does the same.
    ///
    /// # Errors
    /// The server does not take it, or the journal cannot be read: it is left unchanged.
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

/// Reads the complete lines. A line that a crash has cut off is skipped.
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

/// The number of decisions to send in one request: at least one.
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
        client.ask_in(Method::POST, path::OFFLINE, Some(&body), &manner).await;
    Ok(sent?)
}
