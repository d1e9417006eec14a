//! A server in this process: its data, its gate, its channels, its timer.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_core::Policy;
use countersign_core::policy::Lock;
use countersign_gate::announce::{Announcer, Audience, ChannelAnswers};
#[cfg(target_os = "linux")]
use countersign_gate::caller::Peer;
use countersign_gate::channel::{self, Configured, Dispatcher, Feed};
use countersign_gate::clock::System;
use countersign_gate::config::Erasure;
use countersign_gate::forward::{End, Forwarder, Position};
use countersign_gate::gate::Kept;
use countersign_gate::id::UserId;
use countersign_gate::keyring::Keyring;
use countersign_gate::secret::Secret;
use countersign_gate::store::{self, StoreUrl};
use countersign_gate::sweeper::Sweeper;
use countersign_gate::{Config, Gate, Parts, process, vault};
use countersign_server::{App, Bound, Inherited, Settings, bind_inherited};

use crate::data::{self, HALTED, RECORD_KEPT, URL};
use crate::settings;

/// Locked by the server that uses the data folder.
const LOCK: &str = "server.lock";
/// The folder of files in the data folder.
const FILES: &str = "files";
/// The interval at which the gate is swept for expired items.
const SWEEP: Duration = Duration::from_secs(1);
/// Added to the error when the gate cannot be opened.
const WHAT_TO_DO: &str = "the server does not start. If the record is damaged, `countersign audit verify` \
    says how, and `countersign audit begin-anew` sets it aside";
/// Said instead of a link.
pub(crate) const NOT_FOR_AGENTS: &str = "a link is for people, and this was started by a process that \
    belongs to an agent, or may: `countersign devices invite` gives one in a terminal that was open \
    before the agent began";
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

/// Who has started this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starter {
    /// A process of an agent, or what may be one: with a link it would be a person.
    Agent,
    /// Anybody else.
    Person,
}

/// Leaves word for `audit erase`, which cannot see the policy that a server was started with.
fn tell_who_erases(folder: &Path, policy: &Policy, config: &Config) -> Result<()> {
    let file = folder.join(RECORD_KEPT);
    let kept = policy.is_locked(Lock::Erasure) || config.erasure == Erasure::Administrators;
    let told = if kept {
        fs::write(&file, "the policy of the server keeps the record\n")
    } else {
        match fs::remove_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    };
    told.context("cannot write into the data folder")
}

/// A server that listens.
pub(crate) struct Serving {
    pub(crate) gate: Arc<Gate>,
    pub(crate) bound: Bound,
    /// The link that signs the first device in.
    pub(crate) link: Option<Secret>,
    pub(crate) starter: Starter,
    channels: Channels,
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
        vault::forbid_dumps().context("cannot disable core dumps")?;
        data::make_private(&folder)?;
        let claim = claim(&folder)?;
        tell_who_erases(&folder, &policy, &config)?;
        let clock: Arc<System> = Arc::new(System);
        let keyring = Arc::new(Keyring::open(&folder, &*clock)?);
        let store = store::open(&StoreUrl::in_folder(&folder), Arc::clone(&keyring));
        let store = store.context(WHAT_TO_DO)?;
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
        let gate = gate.with_context(|| format!("cannot store files in `{}`", files.display()))?;
        let gate = Arc::new(gate);
        tell_hooks(&gate, &folder).await?;
        let starter = starter(&gate);
        let link = first_link(&gate, starter).await?;
        let app = App::open(Arc::clone(&gate), settings)?;
        let bound = bind_inherited(app.clone(), inherited).await?;
        fs::write(folder.join(URL), bound.url()).context("cannot write into the data folder")?;
        let channels = announce(&gate, channels, &bound.url(), &folder).await?;
        app.watch_channels(channels.dispatchers.clone(), channels.forwarders.clone());
        let failed = |error: &str| tracing::error!(error, "the clock could not be checked");
        let sweeper = Sweeper::start(&gate, SWEEP, failed)?;
        Ok(Self { gate, bound, link, starter, channels, sweeper, _claim: claim })
    }

    /// The page on which people sign in with a link.
    pub(crate) fn sign_in_url(&self, link: &Secret) -> String {
        format!("{}/sign-in?link={}", self.bound.url(), link.expose())
    }

    /// Creates a link for the owner, even if they have devices: they may have lost them all.
    ///
    /// # Errors
    /// An agent wants it, or the store failed.
    pub(crate) async fn invite_owner(&mut self) -> Result<()> {
        if self.starter == Starter::Agent {
            bail!("{NOT_FOR_AGENTS}");
        }
        let owner = self.gate.owner().await?.filter(|_| self.link.is_none());
        if let Some(owner) = owner {
            let owner = self.gate.by_channel(&owner).await?;
            self.link = Some(self.gate.invite(&owner).await?);
        }
        Ok(())
    }

    /// Serves until it is told to stop.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) {
        let Self { gate, bound, channels, sweeper, .. } = self;
        bound.run(stop).await;
        drop(sweeper);
        gate.vault().forget_all();
        for dispatcher in channels.dispatchers {
            dispatcher.shutdown(CHANNELS_MAY_TAKE);
        }
        for forwarder in channels.forwarders {
            forwarder.shutdown(CHANNELS_MAY_TAKE);
        }
    }
}

/// Keeps a file in the data folder while everything is halted: hooks judge by themselves, and must
/// see the kill switch without a request.
async fn tell_hooks(gate: &Arc<Gate>, folder: &Path) -> Result<()> {
    let path = folder.join(HALTED);
    // Subscribes first, so that no change is missed while the file is first written.
    let mut switched = gate.switched();
    if holds_unstored_halt(&path)
        && let Kept::InMemory(why) = gate.halt_again().await
    {
        tracing::error!(why, "everything is halted again, which cannot be stored yet");
    }
    let halt = if gate.is_halted().await? { halt_of(gate) } else { HaltFile::None };
    write_halt_file(&path, halt).context("cannot write into the data folder")?;
    let gate = Arc::downgrade(gate);
    tokio::spawn(async move {
        while switched.changed().await.is_ok() {
            let Some(gate) = gate.upgrade() else { return };
            // If the state cannot be read, it must count as halted.
            let halted = gate.is_halted().await.unwrap_or(true);
            let halt = if halted { halt_of(&gate) } else { HaltFile::None };
            if let Err(error) = write_halt_file(&path, halt) {
                tracing::error!(%error, "hooks could not be told about the kill switch");
            }
        }
    });
    Ok(())
}

/// The file that tells hooks about the kill switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HaltFile {
    /// Nothing is halted.
    None,
    /// The store knows that everything is halted, or the configuration says so.
    Stored,
    /// Only the memory of this process and this file know it.
    Unstored,
}

const STORED_HALT: &str = "everything is halted; `countersign halt --resume` resumes\n";
const UNSTORED_HALT: &str =
    "everything is halted, which is not stored yet; `countersign halt --resume` resumes\n";

fn halt_of(gate: &Gate) -> HaltFile {
    if gate.is_halt_pending() { HaltFile::Unstored } else { HaltFile::Stored }
}

/// Reports whether an earlier server could not store a halt before it ended. On a full disk the
/// file may have been made without its text.
fn holds_unstored_halt(path: &Path) -> bool {
    match fs::read(path) {
        Ok(text) => text != STORED_HALT.as_bytes(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

fn write_halt_file(path: &Path, halt: HaltFile) -> std::io::Result<()> {
    match halt {
        HaltFile::None => {}
        HaltFile::Stored => return fs::write(path, STORED_HALT),
        HaltFile::Unstored => return fs::write(path, UNSTORED_HALT),
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Who has started this process. Where the system does not tell processes apart, a link is the
/// owner's last way in, and is shown.
fn starter(gate: &Gate) -> Starter {
    #[cfg(target_os = "linux")]
    {
        let uid = rustix::process::geteuid().as_raw();
        let own = Peer::of(std::process::id(), uid, &process::System);
        if gate.is_an_agents(Some(own)) {
            return Starter::Agent;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = gate;
    Starter::Person
}

/// The link that lets the owner in, as long as none of their devices is.
async fn first_link(gate: &Gate, starter: Starter) -> Result<Option<Secret>> {
    let name = std::env::var("USER").ok().filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| "owner".to_owned());
    if let Some((_, link)) = gate.first_start(&name).await? {
        return Ok((starter == Starter::Person).then_some(link));
    }
    if starter == Starter::Agent {
        return Ok(None);
    }
    let Some(owner) = gate.owner().await? else { return Ok(None) };
    if gate.has_console(&owner).await? {
        return Ok(None);
    }
    Ok(Some(gate.invite(&gate.by_channel(&owner).await?).await?))
}

/// What tells people, and what sends the record on.
#[derive(Default)]
struct Channels {
    dispatchers: Vec<Arc<Dispatcher>>,
    forwarders: Vec<Arc<Forwarder>>,
}

async fn announce(
    gate: &Arc<Gate>,
    told: Vec<Configured>,
    url: &str,
    folder: &Path,
) -> Result<Channels> {
    let mut channels = Channels::default();
    if told.is_empty() {
        return Ok(channels);
    }
    let clock = gate.clock();
    let answers = Arc::new(ChannelAnswers::new(gate, gate.owner().await?));
    let (mut audiences, mut seen) = (Vec::new(), HashSet::new());
    for Configured { user, settings } in told {
        let opened = channel::open(settings, clock.clone(), answers.clone())?;
        if let Some(feed) = opened.feed {
            let mut feed = feed;
            // Rows that name the same receiver are different ones.
            feed.destination = format!("{}\n{user:?}", feed.destination);
            while !seen.insert(feed.destination.clone()) {
                feed.destination.push_str(" again");
            }
            channels.forwarders.push(forward(gate, feed, user.clone(), folder).await?);
        }
        let Some(channel) = opened.channel else { continue };
        let dispatcher = Arc::new(Dispatcher::new(vec![channel], clock.clone()));
        channels.dispatchers.push(Arc::clone(&dispatcher));
        audiences.push(Audience { user, dispatcher });
    }
    // The thread ends when the gate is dropped.
    Announcer::start(gate, audiences, Some(url.to_owned()))?;
    Ok(channels)
}

/// Sends the record on, from where that ended before a restart.
async fn forward(
    gate: &Arc<Gate>,
    feed: Feed,
    user: Option<UserId>,
    folder: &Path,
) -> Result<Arc<Forwarder>> {
    let end = End::of(gate.store()).await?.last;
    let position = Position::open(folder, gate.keyring(), &feed, end)?;
    let report = |channel: &str, why: Option<&str>| {
        if let Some(why) = why {
            tracing::warn!(channel, why, "the record is not being forwarded");
        } else {
            tracing::info!(channel, "the record is being forwarded again");
        }
    };
    let forwarder = Forwarder::start(gate, feed, user, position, Box::new(report))?;
    Ok(Arc::new(forwarder))
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
