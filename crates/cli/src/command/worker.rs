//! `countersign worker`: does what a server has permitted.
//!
//! ```text
//! server ──signed work──► Acceptance ──► Permit ──► executor, on a thread of its own ──► result
//! ```
//!
//! Nothing is decided here. Work that the server did not sign for this worker, or that has begun
//! before, is not begun; all work ends when the connection does, because nobody could stop it then.

use std::env;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use countersign_gate::secret::{Secret, SecretKind};
use countersign_worker::{BrowserSettings, Browsers, Executors, Sandbox, Settings, executors};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::client::{Client, MACHINE, Server};
use crate::command::serve::stopped;
use crate::connection::{KEY, key};
use crate::exit::Exit;
use crate::settings::server_policy;

mod connection;
mod controller;
pub(super) mod local;
mod work;

use connection::{Connection, Lost};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time in which everything that runs has ended after a signal.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// Run a worker: it does what a server has permitted, exactly that, and once
///
/// Connects to the server with a key that `countersign keys create NAME --worker` gives, taken from
/// `$COUNTERSIGN_KEY`. Connects again when the connection is lost; what ran then is ended, and never
/// run again. Says on standard error what it does. SIGTERM and Ctrl-C end it with everything that
/// it has started.
#[derive(Debug, Args)]
pub(crate) struct Worker {
    #[command(flatten)]
    server: Server,
    /// The folder in which it works: commands and files stay inside [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// The browser for pages [default: `chromium`, where it is installed]
    #[arg(long, value_name = "PROGRAM")]
    browser: Option<PathBuf>,
    /// Run the browser without its sandbox, as root in a container must: a page that breaks out of
    /// its process then has the rights of the worker
    #[arg(long)]
    danger_no_browser_sandbox: bool,
    /// Take the key from the first line of standard input, and end when that ends
    #[arg(long)]
    key_from_stdin: bool,
}

/// The end of the worker, besides a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// No other.
    Signal,
    /// The end of standard input.
    EndOfInput,
}

/// A worker's client, executors and name, over all of its connections.
struct Hands {
    client: Client,
    executors: Arc<Executors>,
    workspace: PathBuf,
    instance: String,
}

impl Worker {
    pub(super) fn run(self) -> Result<Exit> {
        let client = self.client()?;
        let workspace = match self.workspace {
            Some(folder) => folder,
            None => env::current_dir().context("the current folder is not known")?,
        };
        let workspace = workspace
            .canonicalize()
            .with_context(|| format!("cannot work in `{}`", workspace.display()))?;
        let policy = Arc::new(server_policy(None)?);
        let settings = Settings::new(workspace.clone(), Arc::clone(&policy));
        let mut executors = executors(&settings)
            .with_context(|| format!("cannot work in `{}`", workspace.display()))?;
        let sandbox = if self.danger_no_browser_sandbox { Sandbox::DangerOff } else { Sandbox::On };
        if let Some(program) = browser(self.browser, sandbox)? {
            let settings = BrowserSettings::new(program, env::temp_dir(), policy);
            let browsers = Browsers::new(BrowserSettings { sandbox, ..settings });
            executors = executors.with(Box::new(browsers));
        }
        let (executors, instance) = (Arc::new(executors), drawn()?);
        let hands = Hands { client, executors, workspace, instance };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let exit = runtime.block_on(hands.serve(if self.key_from_stdin {
            Until::EndOfInput
        } else {
            Until::Signal
        }));
        // A thread that does not end in time does not keep the process.
        runtime.shutdown_timeout(ENDS_WITHIN);
        exit
    }

    fn client(&self) -> Result<Client> {
        let client = self.server.open()?;
        let key = if self.key_from_stdin { Some(key_on_stdin()?) } else { key()? };
        let Some(key) = key else {
            bail!("${KEY} must hold a worker's key: `countersign keys create NAME --worker`");
        };
        if client.address().is_readable_by_others() && !self.server.is_plain_http_allowed() {
            bail!(
                "`{}` is not encrypted: anyone in between could use the key; use https, or \
                 --danger-plain-http",
                client.address()
            );
        }
        let machine = env::var(MACHINE).ok().filter(|text| !text.trim().is_empty());
        let machine = machine.map(|text| Secret::parse(text.trim())).transpose()?;
        Ok(client.with(key).on_machine(machine))
    }
}

/// Returns the browser to use: the one that is named, or Chromium where it is installed and can
/// start.
fn browser(named: Option<PathBuf>, sandbox: Sandbox) -> Result<Option<PathBuf>> {
    let is_named = named.is_some();
    let found = match named {
        Some(program) => {
            Some(program.canonicalize().with_context(|| format!("no `{}`", program.display()))?)
        }
        None => installed(&["chromium", "chromium-browser"]),
    };
    if found.is_some() && sandbox == Sandbox::On && rustix::process::geteuid().is_root() {
        let why = "a browser does not start as root: use another user, or \
                   --danger-no-browser-sandbox in a container";
        if is_named {
            bail!(why);
        }
        say(&format!("no pages: {why}"));
        return Ok(None);
    }
    Ok(found)
}

/// Finds the first of these programs that is in a folder of `PATH`.
fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    names.iter().find_map(|name| {
        folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file())
    })
}

impl Hands {
    /// Connects until it is told to stop.
    async fn serve(self, until: Until) -> Result<Exit> {
        let stopping = asked_to_stop(until);
        let mut pause = FIRST_PAUSE;
        let mut acceptance = None;
        loop {
            if *stopping.borrow() {
                return Ok(Exit::Done);
            }
            let lost = match Connection::open(&self, &mut acceptance).await {
                Ok(connection) => {
                    pause = FIRST_PAUSE;
                    connection.work(stopping.clone()).await
                }
                Err(lost) => lost,
            };
            match lost {
                Lost::Stopped => return Ok(Exit::Done),
                Lost::Refused(error) => return Err(error),
                Lost::Broken(why) => {
                    say(&format!("no connection: {why}; trying again"));
                    let mut stopping = stopping.clone();
                    tokio::select! {
                        () = sleep(pause) => {}
                        () = told(&mut stopping) => {}
                    }
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

/// A receiver that becomes true when a signal or the end of standard input asks to stop.
fn asked_to_stop(until: Until) -> watch::Receiver<bool> {
    let (stop, stopping) = watch::channel(false);
    let stop = Arc::new(stop);
    if until == Until::EndOfInput {
        // The process that started us holds the other end: the system closes it in any case.
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            stop.send_replace(true);
        });
    }
    // Before the first connection: an unhandled signal would leave what runs behind.
    let asked = stopped();
    tokio::spawn(async move {
        asked.await;
        stop.send_replace(true);
    });
    stopping
}

/// Reads the key from standard input.
fn key_on_stdin() -> Result<Secret> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("cannot read the key")?;
    let secret = Secret::parse(line.trim()).context("the first line of standard input")?;
    if secret.kind() != SecretKind::Key {
        bail!("the first line of standard input is not a key");
    }
    Ok(secret)
}

/// Draws a name for this process.
fn drawn() -> Result<String> {
    use countersign_gate::clock::{Clock, System, random};
    let bytes = random::<16>(&System as &dyn Clock)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Waits until we are told to stop.
async fn told(stopping: &mut watch::Receiver<bool>) {
    // The guard of the value is dropped here: it must not be held while something waits.
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// Says something about the worker on standard error. Nobody may be listening.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "countersign worker: {text}");
}
