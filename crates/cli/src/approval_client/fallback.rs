//! Decisions for when no person can be asked through the server.
//!
//! ```text
//! no key, no address, nothing listens, not trusted, broken off, 5xx, too late
//!    └─► several people must agree, or perhaps ──────────────► no
//!        `hook.unreachable` says deny, or the host cannot ask ► no
//!        the decision cannot be kept for the server ──────────► no
//!        else ───────────────────────────────────────────────► the host asks its own user
//! ```

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use countersign_gate::approval::{QuorumRow, needs_others};
use countersign_gate::offline;
use countersign_wire::path;
use serde::{Deserialize, Serialize};

use super::JudgedAction;
use super::journal::Journal;
use crate::client::{Address, Client};
use crate::connection::server_name;
use crate::hook_options::{Options, Unreachable, is_url};
use crate::show::one_line;
use crate::{data, moment, settings};

/// The file in the data folder with the quorum rules that the server last sent.
const QUORUM: &str = "quorum.json";
/// The time after which they are fetched again: as often as the organisation's policy.
const FRESH: std::time::Duration = std::time::Duration::from_mins(5);

/// The decision about an action about which nobody could be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// The host asks its own user.
    Ask,
    /// It is refused; the reason why not even the host may ask.
    Refuse(String),
}

/// The ability of a host to ask its own user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostCan {
    Ask,
    NotAsk,
}

/// The side that could not ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stranded<'a> {
    pub(crate) options: &'a Options,
    pub(crate) folder: Option<&'a Path>,
    /// The name of the agent's run.
    pub(crate) asker: &'a str,
}

impl Stranded<'_> {
    /// Decides, and keeps the decision until the server has it.
    pub(crate) fn decide(
        &self,
        judged_action: &JudgedAction<'_>,
        host: HostCan,
        why: &str,
    ) -> Fallback {
        let server = server_name(self.options);
        let decided = self.choose(judged_action, host, server.as_deref());
        if !self.is_kept(server.as_deref()) {
            return decided;
        }
        let word = match &decided {
            Fallback::Ask => offline::Fallback::AskedByHost,
            Fallback::Refuse(_) => offline::Fallback::Refused,
        };
        match (self.keep(judged_action, word, why), decided) {
            (Err(error), Fallback::Ask) => {
                Fallback::Refuse(format!("the decision cannot be recorded: {error:#}"))
            }
            (_, decided) => decided,
        }
    }

    fn choose(
        &self,
        judged_action: &JudgedAction<'_>,
        host: HostCan,
        server: Option<&str>,
    ) -> Fallback {
        if host == HostCan::NotAsk {
            return Fallback::Refuse(String::new());
        }
        if self.options.when_unreachable(server) == Unreachable::Deny {
            let why = "without the server, you cannot decide alone (`hook.unreachable`)";
            return Fallback::Refuse(why.to_owned());
        }
        match self.rows(server) {
            Ok(rows) if needs_others(&rows, &judged_action.judgement) => {
                Fallback::Refuse("several people must agree to this".to_owned())
            }
            Ok(_) => Fallback::Ask,
            Err(error) => Fallback::Refuse(format!(
                "it is unknown whether several people must agree to this: {}",
                one_line(&format!("{error:#}"))
            )),
        }
    }

    /// The quorum rules: those of this machine's files, and those that a remote server sent.
    fn rows(&self, server: Option<&str>) -> Result<Vec<QuorumRow>> {
        let mut rows = settings::quorum()?;
        if let Some(server) = server.filter(|server| is_url(server)) {
            let folder = self.folder.context("the data folder is not known")?;
            // By the address and not by its spelling: `learn` keeps what the client connected to.
            let address = Address::parse(server)?.to_string();
            let learned = Learned::read(folder)?.filter(|learned| learned.server == address);
            let never = "has not been reached from here yet; `countersign doctor` does that";
            rows.extend(learned.with_context(|| format!("`{address}` {never}"))?.items);
        }
        Ok(rows)
    }

    /// Reports whether there is, or was, a server to deliver the decision to.
    fn is_kept(&self, server: Option<&str>) -> bool {
        let local = |folder: &Path| data::database(folder).is_file();
        server.is_some() || self.folder.is_some_and(local)
    }

    fn keep(
        &self,
        judged_action: &JudgedAction<'_>,
        word: offline::Fallback,
        why: &str,
    ) -> Result<()> {
        let folder = self.folder.context("the data folder is not known")?;
        data::make_private(folder)?;
        let what = (judged_action.action, &judged_action.judgement);
        Journal::in_folder(folder).keep(self.asker, what, word, why)
    }
}

/// The quorum rules that a server has sent.
#[derive(Debug, Serialize, Deserialize)]
struct Learned {
    /// The address that it was learned from, as [`Address`] shows it.
    server: String,
    /// The time at which they were fetched, in milliseconds.
    at: i64,
    items: Vec<QuorumRow>,
}

impl Learned {
    /// Reads the cached rules; `None` if no server was ever reached.
    fn read(folder: &Path) -> Result<Option<Self>> {
        match fs::read_to_string(folder.join(QUORUM)) {
            Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_fresh(&self, server: &str) -> bool {
        let age = moment::now().0.saturating_sub(self.at);
        self.server == server
            && (0..i64::try_from(FRESH.as_millis()).unwrap_or(i64::MAX)).contains(&age)
    }
}

/// Caches the quorum rules of a remote server, for when it cannot be reached, unless they were
/// fetched shortly before.
///
/// # Errors
/// The server does not send them, or they cannot be stored.
pub(super) async fn learn(client: &Client, folder: &Path, server: &str) -> Result<()> {
    let is_known = |known: Option<Learned>| known.is_some_and(|known| known.is_fresh(server));
    if Learned::read(folder).is_ok_and(is_known) {
        Ok(())
    } else {
        fetch(client, folder, server).await
    }
}

/// Caches the quorum rules of a remote server as they are now.
///
/// # Errors
/// The server does not send them, or they cannot be stored.
pub(super) async fn fetch(client: &Client, folder: &Path, server: &str) -> Result<()> {
    if !is_url(server) {
        return Ok(());
    }
    let mut said = client.get(path::QUORUM).await?;
    let items = said.get_mut("items").map(serde_json::Value::take).unwrap_or_default();
    let items = serde_json::from_value(items)?;
    let learned = Learned { server: server.to_owned(), at: moment::now().0, items };
    data::make_private(folder)?;
    let (path, new) =
        (folder.join(QUORUM), folder.join(format!("{QUORUM}.{}", std::process::id())));
    fs::write(&new, serde_json::to_string(&learned)?)?;
    Ok(fs::rename(&new, &path)?)
}
