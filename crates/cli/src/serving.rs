//! A server in this process: its data, its gate, its channels, its timer.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_core::Policy;
use countersign_gate::announce::{Announcer, Audience, FrontDesk};
use countersign_gate::channel::{self, Configured, Dispatcher};
use countersign_gate::clock::System;
use countersign_gate::keyring::Keyring;
use countersign_gate::secret::Secret;
use countersign_gate::store::Sqlite;
use countersign_gate::sweeper::Sweeper;
use countersign_gate::{Config, Gate, Parts, process, vault};
use countersign_server::{App, Bound, Inherited, Settings, bind_inherited};

use crate::{data, settings};

/// The socket for programs of the same user, in the data folder.
pub(crate) const SOCKET: &str = "server.sock";
/// Locked by the server that uses the data folder.
const LOCK: &str = "server.lock";
/// The folder of files in the data folder.
const FILES: &str = "files";
/// In the data folder: the server's address for people, for links that are created over the socket.
pub(crate) const URL: &str = "server.url";
/// A file that exists while everything is halted, so that hooks see it without a request.
pub(crate) const HALTED: &str = "server.halted";
/// The interval at which the gate is swept for expired items.
const SWEEP: Duration = Duration::from_secs(1);
/// Added to the error when the gate cannot be opened.
const WHAT_TO_DO: &str = "nothing is served. If the record is damaged, `countersign audit verify` \
    says how, and `countersign audit begin-anew` leaves it behind";
const CHANNELS_MAY_TAKE: Duration = Duration::from_secs(3);

/// The parts from which a server is built.
pub(crate) struct Plan {
    pub(crate) folder: PathBuf,
    pub(crate) policy: Policy,
    pub(crate) config: Config,
    pub(crate) channels: Vec<Configured>,
    pub(crate) settings: Settings,
    /// Sockets that the service manager has opened.
    pub(crate) inherited: Inherited,
}

/// A server that listens.
pub(crate) struct Serving {
    pub(crate) gate: Arc<Gate>,
    pub(crate) bound: Bound,
    /// The link that signs the first device in.
    pub(crate) link: Option<Secret>,
    dispatchers: Vec<Arc<Dispatcher>>,
    sweeper: Sweeper,
    _claim: File,
}

impl Serving {
    /// Opens the data, the gate, the channels and the listeners.
    ///
    /// # Errors
    /// A part cannot be opened: nothing is served.
    pub(crate) async fn open(plan: Plan) -> Result<Self> {
        let Plan { folder, policy, config, channels, settings, inherited } = plan;
        // First of all: secrets that are loaded from here on must not get into a core dump.
        vault::forbid_dumps().context("cannot keep secrets out of crash reports")?;
        data::make_private(&folder)?;
        let claim = claim(&folder)?;
        let clock: Arc<System> = Arc::new(System);
        let keyring = Arc::new(Keyring::open(&folder, &*clock)?);
        let store = Sqlite::open(&folder.join(Sqlite::FILE), Arc::clone(&keyring));
        let store = Arc::new(store.context(WHAT_TO_DO)?);
        let parts = Parts {
            store,
            keyring,
            clock: clock.clone(),
            processes: Arc::new(process::System),
            policy,
            config,
        };
        let files = folder.join(FILES);
        let gate = Gate::open(parts).await.context(WHAT_TO_DO)?;
        let gate = gate.knowing_agents_in(&folder).keeping_files_in(&files);
        let gate = gate.with_context(|| format!("cannot keep files in `{}`", files.display()))?;
        let gate = Arc::new(gate);
        tell_hooks(&gate, &folder).await?;
        let link = first_link(&gate).await?;
        let app = App::open(Arc::clone(&gate), settings)?;
        let bound = bind_inherited(app.clone(), inherited).await?;
        fs::write(folder.join(URL), bound.url()).context("cannot write into the data folder")?;
        let dispatchers = announce(&gate, channels, &bound.url()).await?;
        app.watch_channels(dispatchers.clone());
        let failed = |error: &str| tracing::error!(error, "the clock could not be heeded");
        let sweeper = Sweeper::start(&gate, SWEEP, failed)?;
        Ok(Self { gate, bound, link, dispatchers, sweeper, _claim: claim })
    }

    /// The page on which people sign in with a link.
    pub(crate) fn sign_in_url(&self, link: &Secret) -> String {
        format!("{}/sign-in?link={}", self.bound.url(), link.expose())
    }

    /// Creates a link for the owner, even if they have devices: they may have lost them all.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn invite_owner(&mut self) -> Result<()> {
        let owner = self.gate.owner().await?.filter(|_| self.link.is_none());
        if let Some(owner) = owner {
            let owner = self.gate.by_channel(&owner).await?;
            self.link = Some(self.gate.invite(&owner).await?);
        }
        Ok(())
    }

    /// Serves until it is told to stop.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) {
        let Self { gate, bound, dispatchers, sweeper, .. } = self;
        bound.run(stop).await;
        drop(sweeper);
        gate.vault().forget_all();
        for dispatcher in dispatchers {
            dispatcher.shutdown(CHANNELS_MAY_TAKE);
        }
    }
}

/// Keeps a file in the data folder while everything is halted: hooks judge by themselves, and must
/// see the kill switch without a request.
async fn tell_hooks(gate: &Arc<Gate>, folder: &Path) -> Result<()> {
    let path = folder.join(HALTED);
    // Subscribes first, so that no change is missed while the file is first written.
    let mut switched = gate.switched();
    mark(&path, gate.is_halted().await?).context("cannot write into the data folder")?;
    let gate = Arc::downgrade(gate);
    tokio::spawn(async move {
        while switched.changed().await.is_ok() {
            let Some(gate) = gate.upgrade() else { return };
            // If the state cannot be read, it must count as halted.
            let halted = gate.is_halted().await.unwrap_or(true);
            if let Err(error) = mark(&path, halted) {
                tracing::error!(%error, "hooks could not be told about the kill switch");
            }
        }
    });
    Ok(())
}

fn mark(path: &Path, halted: bool) -> std::io::Result<()> {
    if halted {
        return fs::write(path, "everything is halted; `countersign halt --resume` ends it\n");
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The link that lets the owner in, as long as none of their devices is signed in.
async fn first_link(gate: &Gate) -> Result<Option<Secret>> {
    let name = std::env::var("USER").ok().filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| "owner".to_owned());
    if let Some((_, link)) = gate.first_start(&name).await? {
        return Ok(Some(link));
    }
    let Some(owner) = gate.owner().await? else { return Ok(None) };
    if gate.has_console(&owner).await? {
        return Ok(None);
    }
    Ok(Some(gate.invite(&gate.by_channel(&owner).await?).await?))
}

async fn announce(
    gate: &Arc<Gate>,
    told: Vec<Configured>,
    url: &str,
) -> Result<Vec<Arc<Dispatcher>>> {
    if told.is_empty() {
        return Ok(Vec::new());
    }
    let clock = gate.clock();
    let desk = Arc::new(FrontDesk::new(gate, gate.owner().await?));
    let (mut audiences, mut dispatchers) = (Vec::new(), Vec::new());
    for Configured { user, settings } in told {
        let channel = channel::open(settings, clock.clone(), desk.clone())?;
        let dispatcher = Arc::new(Dispatcher::new(vec![channel], clock.clone()));
        dispatchers.push(Arc::clone(&dispatcher));
        audiences.push(Audience { user, dispatcher });
    }
    // The thread ends when the gate is dropped.
    Announcer::start(gate, audiences, Some(url.to_owned()))?;
    Ok(dispatchers)
}

/// Locks the data folder before anything in it is read: a second server would end sessions whose
/// credentials only the first one has, because it would consider them lost.
pub(crate) fn claim(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let wrong = || format!("cannot lock `{}`", path.display());
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    // Any process that can open the file can lock it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).with_context(wrong)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another server uses the data folder `{}`: stop it first", folder.display())
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(wrong),
    }
}

/// The policy of a server: that of the user who runs it and of the organisation, without a project.
/// The organisation's file may be named.
///
/// # Errors
/// A configuration is wrong.
pub(crate) fn policy(organisation: Option<&Path>) -> Result<Policy> {
    settings::server_policy(organisation)
}
