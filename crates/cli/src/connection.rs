//! A connection to the server that the configuration of hooks names, with the credentials for it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_gate::secret::{Secret, SecretKind};

use crate::client::{self, Address, Client, Trust};
use crate::data::SOCKET;
use crate::hook_options::Options;

/// The variable that holds a key of the agent's side.
pub(crate) const KEY: &str = "COUNTERSIGN_KEY";
/// The time that a server which was just started may take to listen.
const STARTS_WITHIN: Duration = Duration::from_secs(8);

/// A client of the server, and the credentials that it shows.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) shows: Shows,
}

/// The credentials that a client shows to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// A key.
    Key,
    /// None: the socket says whose process asks.
    Nothing,
}

impl Connection {
    /// Finds the server, by its data folder unless the configuration names it, and starts one if
    /// the options say so, within this time. Nothing is sent yet.
    ///
    /// # Errors
    /// There is none, or its address is wrong.
    pub(crate) fn open(options: &Options, folder: Option<&Path>, within: Duration) -> Result<Self> {
        let address = address(options, folder)?;
        let (key, machine) = (key()?, machine()?);
        if key.is_none() && !matches!(address, Address::Socket(_)) {
            bail!("${KEY} must hold a key for {address}: `countersign keys create` makes one");
        }
        if let (Address::Socket(socket), true) = (&address, options.start_server) {
            start(socket, within)?;
        }
        if address.is_readable_by_others() {
            bail!("{address} is not encrypted, so the key is not sent to it");
        }
        let trust = options.tls_ca.as_deref().map_or(Trust::Usual, Trust::Only);
        let client = Client::new(address, trust)?;
        Ok(match key {
            Some(key) => Self { client: client.with(key).on_machine(machine), shows: Shows::Key },
            None => Self { client, shows: Shows::Nothing },
        })
    }
}

/// The configured address of the server, if there is one. The configuration comes first, because a
/// project's settings may set variables for its host's hooks.
pub(crate) fn server_name(options: &Options) -> Option<String> {
    let named = || std::env::var(client::SERVER).ok().filter(|named| !named.is_empty());
    options.server.clone().or_else(named)
}

fn address(options: &Options, folder: Option<&Path>) -> Result<Address> {
    if let Some(named) = server_name(options) {
        return Address::parse(&named);
    }
    let folder = folder.context("the data folder is not known")?;
    Ok(Address::Socket(folder.join(SOCKET)))
}

/// Returns the key in the environment, if there is one.
///
/// # Errors
/// The value is not a key.
pub(crate) fn key() -> Result<Option<Secret>> {
    let Some(text) = std::env::var(KEY).ok().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let secret = Secret::parse(text.trim()).with_context(|| format!("${KEY}"))?;
    if secret.kind() != SecretKind::Key {
        bail!("${KEY} is not a key: `countersign keys create` gives one");
    }
    Ok(Some(secret))
}

/// The secret of this machine, if the environment has one; some keys are bound to a machine.
fn machine() -> Result<Option<Secret>> {
    let name = client::MACHINE;
    let Some(text) = std::env::var(name).ok().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let secret = Secret::parse(text.trim()).with_context(|| format!("${name}"))?;
    if secret.kind() != SecretKind::Device {
        bail!("${name} is not the secret of a machine: `countersign devices request` gives one");
    }
    Ok(Some(secret))
}

/// Starts a server unless one listens already.
fn start(socket: &Path, within: Duration) -> Result<()> {
    if listens(socket) {
        return Ok(());
    }
    let binary = std::env::current_exe().context("cannot find our own binary")?;
    let mut serve = Command::new(binary);
    let folder = socket.parent().context("the socket is in no folder")?;
    serve.args(["serve", "--data"]).arg(folder).env_remove(client::DEVICE).env_remove(KEY);
    serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A process group of its own: it outlives the agent, and signals to the agent's group are not
    // meant for it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut serve, 0);
    serve.spawn().context("cannot start a server")?;
    let until = std::time::Instant::now() + STARTS_WITHIN.min(within);
    while std::time::Instant::now() < until {
        if listens(socket) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the server was started but does not listen")
}

#[cfg(unix)]
fn listens(socket: &Path) -> bool {
    let name = countersign_server::SocketName::of(socket);
    name.is_ok_and(|name| std::os::unix::net::UnixStream::connect(name.path()).is_ok())
}

#[cfg(not(unix))]
fn listens(_: &Path) -> bool {
    false
}
