//! `countersign serve`: the gate as a server.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, ValueEnum};
use countersign_gate::Gate;
use countersign_server::{Certificates, Inherited, Tls, ready, stopping};
use tracing::level_filters::LevelFilter;

use crate::command::worker::local::LocalWorker;
use crate::data::Data;
use crate::data::SOCKET;
use crate::exit::Exit;
use crate::serving::{NOT_FOR_AGENTS, Plan, Serving, Starter, policy};
use crate::settings;

/// Run the gate as a server: agents propose, people answer, everything is recorded
///
/// Needs no setup: listens on this machine only and keeps everything in the data folder. The first
/// start prints a link that signs the owner in. Ctrl-C or SIGTERM stops it after requests in
/// progress have finished; SIGHUP reloads the profile and rules of the configuration and the
/// certificate, and logs what needs a restart. Takes sockets from the service manager
/// (`LISTEN_FDS`).
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The address to listen on [default: 127.0.0.1:8720]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    data: Data,
    /// The TLS certificate, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "tls_self_signed")]
    tls_certificate: Option<PathBuf>,
    /// Its private key, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Use a self-signed TLS certificate: browsers ask whether to trust it
    #[arg(long)]
    tls_self_signed: bool,
    /// Listen for other machines without encryption: anyone in between can read and answer
    #[arg(long)]
    danger_plain_http: bool,
    /// A host name of the server, besides `localhost` and its address
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// The URL at which people reach the server, if it differs from where it listens
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The organisation's policy file, if it is not `/etc/countersign/config.yaml`: applies here,
    /// and is sent to hooks and clients
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print a link that signs in one more device of the owner: for when they have lost all others
    #[arg(long)]
    invite: bool,
    /// Run a worker beside the server, which does what is permitted in sessions of this owner, in the
    /// current folder
    #[arg(long, value_enum)]
    worker: Option<WorkerPlace>,
    #[command(flatten)]
    log: Log,
}

/// The place of the server's own worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WorkerPlace {
    /// On this machine, started and ended with the server
    Local,
}

/// What is logged, and how.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The format of log lines
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
    /// The level of detail of the log
    #[arg(long, value_enum, default_value_t = Level::Info)]
    log_level: Level,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs: one JSON object per line
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

impl Log {
    /// Starts logging to standard error.
    pub(crate) fn start(&self) {
        let level = match self.log_level {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
        };
        let lines = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal());
        match self.log_format {
            Format::Text => lines.init(),
            Format::Json => lines.json().init(),
        }
    }
}

impl Serve {
    pub(super) fn run(self) -> Result<Exit> {
        self.log.start();
        let (invite, worker) = (self.invite, self.worker);
        let organisation = self.policy.clone();
        // Before any thread is started, because it changes the environment.
        let inherited = Inherited::from_environment()?;
        let plan = self.plan(inherited)?;
        let socket = plan.folder.join(SOCKET);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut serving = Serving::open(plan).await?;
            if invite {
                serving.invite_owner().await?;
            }
            // Before readiness is reported: an unhandled signal would kill the process.
            let stopped = stopped();
            // Output that nobody reads does not stop the server.
            let _ = greet(&serving);
            let certificates = serving.bound.certificates();
            tokio::spawn(reload(Arc::downgrade(&serving.gate), organisation, certificates));
            tracing::info!(url = serving.bound.url(), "listening");
            ready();
            let worker = match worker {
                Some(WorkerPlace::Local) => Some(LocalWorker::start(&serving.gate, socket).await?),
                None => None,
            };
            let stopped = async {
                stopped.await;
                // While the server still serves: its last results are taken.
                if let Some(worker) = worker {
                    worker.end().await;
                }
            };
            serving.run(stopped).await;
            tracing::info!("stopped");
            Ok(Exit::Done)
        })
    }

    fn plan(self, inherited: Inherited) -> Result<Plan> {
        let folder = self.data.folder()?;
        let sections = settings::server_sections(self.policy.as_deref())?;
        let mut server = sections.server;
        server.socket = Some(folder.join(SOCKET));
        server.listen = self.listen.unwrap_or(server.listen);
        server.danger_plain_http |= self.danger_plain_http;
        server.names.extend(self.name);
        server.url = self.url.or(server.url);
        if let (Some(certificate), Some(key)) = (self.tls_certificate, self.tls_key) {
            server.tls = Some(Tls::Files { certificate, key });
        } else if self.tls_self_signed {
            server.tls = Some(Tls::SelfSigned { folder: folder.clone() });
        }
        let (config, channels) = (sections.gate, sections.channels);
        let policy = policy(self.policy.as_deref())?;
        Ok(Plan { folder, policy, config, channels, settings: server, inherited })
    }
}

/// Prints the server's address.
fn greet(serving: &Serving) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "countersign listens on {}", serving.bound.url())?;
    if let Some(fingerprint) = serving.bound.fingerprint() {
        writeln!(out, "certificate SHA-256: {fingerprint}")?;
    }
    match &serving.link {
        None if serving.starter == Starter::Agent => writeln!(out, "sign in: {NOT_FOR_AGENTS}")?,
        Some(link) => {
            writeln!(out, "sign in, once, within 15 minutes: {}", serving.sign_in_url(link))?;
        }
        None => writeln!(
            out,
            "sign in on another device: with a link from one that is signed in, or with --invite"
        )?,
    }
    writeln!(out, "API: {}/api/docs", serving.bound.url())?;
    writeln!(out, "answer here: countersign watch")?;
    out.flush()
}

/// Returns a future that completes when a signal asks the server to stop. Handlers are installed at
/// once and not at the first poll: a signal in between would kill the process.
pub(super) fn stopped() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    };
    async move {
        #[cfg(unix)]
        match signals {
            (Ok(mut interrupted), Ok(mut terminated)) => tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            },
            (Ok(mut only), Err(_)) | (Err(_), Ok(mut only)) => drop(only.recv().await),
            // Without handlers the system kills the process.
            (Err(_), Err(_)) => std::future::pending().await,
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
        tracing::info!("stopping");
        stopping();
    }
}

/// The settings that SIGHUP does not reload.
const NEEDS_A_RESTART: &str = "`server`, `gate` and `channels` of the configuration, environment \
                               variables, the command line";

/// Reloads the rules and the certificate on SIGHUP. A faulty file changes nothing.
async fn reload(
    gate: std::sync::Weak<Gate>,
    organisation: Option<PathBuf>,
    certificates: Option<Arc<Certificates>>,
) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut asked) = signal(SignalKind::hangup()) else { return };
        while asked.recv().await.is_some() {
            let Some(gate) = gate.upgrade() else { return };
            match policy(organisation.as_deref()) {
                Ok(policy) => {
                    gate.set_policy(policy);
                    tracing::info!("profile and rules were reloaded");
                    tracing::info!("not reloaded: {NEEDS_A_RESTART}; these need a restart");
                }
                Err(error) => tracing::error!(%error, "the old rules stay in use"),
            }
            match certificates.as_ref().map(|certificates| certificates.reload()) {
                Some(Ok(fingerprint)) => {
                    tracing::info!(fingerprint, "the certificate was reloaded");
                }
                Some(Err(error)) => tracing::error!(%error, "the old certificate stays in use"),
                None => {}
            }
        }
    }
    #[cfg(not(unix))]
    drop((gate, organisation, certificates));
}
