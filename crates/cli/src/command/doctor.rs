//! `countersign doctor`: tries everything that is installed, to show whether it guards.
//!
//! Each hook is started as its host would start it, once with an action that must be stopped and
//! once with a harmless one, and its answer is read as the host would read it.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use countersign_core::Context;
use countersign_gate::machine::ProvedHost;
use countersign_wire::path;
use serde::Serialize;
use serde_json::Value;

use super::hook::{Known, known};
use super::install::{program, project, read, usual_seconds_here};
use super::wrap;
use crate::client::{Client, DEVICE, Server, block_on};
use crate::connection::server_name;
use crate::exit::Exit;
use crate::home::home;
use crate::hook_options::Options;
use crate::host::install::{Change, Installed, Scope};
use crate::host::{HOSTS, HookOutput, Host};
use crate::layer::local_layers;
use crate::mcp::wrap::unguarded;
use crate::show::one_line;
use crate::{data, settings};

mod rollout;
mod start;
mod version;

use rollout::Rollout;
use start::start;
use version::{VersionState, version_of};

/// A command that every configuration blocks.
const DANGER: &str = "rm -rf /";
const HARMLESS: &str = "ls";

/// Test what is guarded, and show what is not
///
/// Runs every installed hook with a call that must be stopped and one that must not, and reads the
/// answers as the host does. Where hooks are configured to use a server, it tests the server as
/// they use it: its certificate, the key, the clock, the version; and the server stores the result.
/// Exits with 1 when something installed does not guard, a host that was named has no hook, or that
/// server cannot be used.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Only this host
    #[arg(value_parser = known, value_name = "HOST")]
    host: Option<Known>,
    /// Run the host itself in a temporary folder against a scripted model, and report what it
    /// does with the hook: takes minutes
    #[arg(long, requires = "host")]
    live: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
    /// The root folder for managed files, for packaging
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true)]
    root: PathBuf,
}

/// All findings of the doctor.
#[derive(Debug, Serialize)]
struct Findings {
    binary: String,
    version: &'static str,
    server: ServerState,
    /// The server that hooks are configured to use, if one is named.
    rollout: Option<Rollout>,
    /// The host that was named, if it has no hook.
    without_hook: Option<&'static str>,
    /// True when this shell has the secret with which a person answers.
    has_device: bool,
    hosts: Vec<HostState>,
}

#[derive(Debug, Serialize)]
struct ServerState {
    answers: bool,
    halted: bool,
    /// The address, or the reason why it does not answer.
    detail: String,
}

#[derive(Debug, Serialize)]
struct HostState {
    host: &'static str,
    title: &'static str,
    hooks: Vec<HookState>,
    /// The version that the host reports, and whether we have tested it.
    version: Option<VersionState>,
    not_guarded: &'static [&'static str],
    /// MCP servers that are started without the proxy.
    unwrapped: Vec<String>,
}

#[derive(Debug, Serialize)]
struct HookState {
    scope: &'static str,
    path: String,
    /// True when the file contains what `install` would write.
    current: bool,
    guards: bool,
    problems: Vec<String>,
    milliseconds: Option<u128>,
}

impl Doctor {
    pub(super) fn run(self) -> Result<Exit> {
        if let (true, Some(host)) = (self.live, &self.host) {
            return self.run_live(host.0);
        }
        let hosts: Vec<&dyn Host> = match &self.host {
            Some(known) => vec![known.0],
            None => HOSTS.to_vec(),
        };
        let mut states = Vec::new();
        // Once: it may have to ask a server that does not answer.
        let seconds = usual_seconds_here()?;
        for host in hosts {
            states.push(self.host_state(host, seconds)?);
        }
        let without_hook = self.without_hook(&states);
        let rollout = self.rollout(&states, without_hook)?;
        let findings = Findings {
            binary: program(Scope::User)?,
            version: env!("CARGO_PKG_VERSION"),
            server: self.server_state(),
            rollout,
            without_hook,
            has_device: std::env::var_os(DEVICE).is_some_and(|secret| !secret.is_empty()),
            hosts: states,
        };
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &findings)?;
            writeln!(out)?;
        } else {
            findings.write(&mut out)?;
        }
        Ok(findings.exit())
    }

    #[cfg(unix)]
    fn run_live(&self, host: &dyn Host) -> Result<Exit> {
        use crate::live::{self, Form};
        let form = if self.json { Form::Json } else { Form::Text };
        live::run(host, form)
    }

    #[cfg(not(unix))]
    fn run_live(&self, host: &dyn Host) -> Result<Exit> {
        anyhow::bail!("{} can be run live on Linux and macOS only", host.title())
    }

    /// Tries the server that hooks are configured to use. A project's configuration does not count
    /// there.
    fn rollout(
        &self,
        hosts: &[HostState],
        without_hook: Option<&'static str>,
    ) -> Result<Option<Rollout>> {
        // A policy that the server does not serve is reported as a failed check.
        let layers = settings::layers(&Context::default()).or_else(|_| local_layers())?;
        let options = Options::read(&layers)?;
        let Some(server) = server_name(&options).filter(|_| !self.server.is_named()) else {
            return Ok(None);
        };
        let installed = hosts.iter().filter(|host| !host.hooks.is_empty());
        let mut proved: Vec<_> = installed
            .map(|host| ProvedHost {
                host: host.host.to_owned(),
                guards: host.hooks.iter().all(|hook| hook.guards),
            })
            .collect();
        // The server is told, too: a hook that somebody removed shows on its page.
        proved.extend(without_hook.map(|host| ProvedHost { host: host.to_owned(), guards: false }));
        let folder = data::usual_folder();
        Ok(Some(Rollout::prove(server, &options, folder.as_deref(), &proved)))
    }

    /// The host that was named, if it has no hook.
    fn without_hook(&self, states: &[HostState]) -> Option<&'static str> {
        let named = self.host.is_some();
        states.first().filter(|state| named && state.hooks.is_empty()).map(|state| state.host)
    }

    fn server_state(&self) -> ServerState {
        let asked = self.server.open().and_then(|client: Client| {
            let at = client.address().to_string();
            block_on(async { Ok(client.get(path::HALT).await?) }).map(|state| (at, state))
        });
        match asked {
            Ok((at, state)) => {
                let halted = state.get("halted") == Some(&Value::Bool(true));
                ServerState { answers: true, halted, detail: at }
            }
            Err(error) => {
                ServerState { answers: false, halted: false, detail: format!("{error:#}") }
            }
        }
    }

    fn host_state(&self, host: &dyn Host, seconds: u64) -> Result<HostState> {
        let mut hooks = Vec::new();
        let (home, project) = (home(), project()?);
        for scope in host.scopes() {
            let program = program(*scope)?;
            let installed = Installed {
                scope: *scope,
                home: home.as_deref(),
                project: &project,
                root: &self.root,
                program: &program,
                seconds,
            };
            let Ok(changes) = host.plan(&installed) else { continue };
            hooks.extend(changes.iter().filter_map(|change| look(host, &installed, change)));
        }
        let version = host.tested().filter(|_| !hooks.is_empty()).and_then(version_of);
        Ok(HostState {
            host: host.name(),
            title: host.title(),
            hooks,
            version,
            not_guarded: host.holes(),
            unwrapped: unwrapped(host),
        })
    }
}

/// The names of the MCP servers of a host that are started without the proxy.
fn unwrapped(host: &dyn Host) -> Vec<String> {
    let mut names = Vec::new();
    for scope in [Scope::User, Scope::Project] {
        for file in wrap::files(host, scope).unwrap_or_default() {
            let text = read(&file.path).ok().flatten().unwrap_or_default();
            names.extend(unguarded(&text, file.layout).unwrap_or_default());
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Tries one file that contains a hook of ours.
fn look(host: &dyn Host, installed: &Installed<'_>, change: &Change) -> Option<HookState> {
    let project = installed.project;
    let text = read(&change.path).ok().flatten()?;
    let lines = change.found(&text);
    // Several events run the same command, so one of them is enough.
    let line = lines.first()?;
    // First: a hook that the host skips does not guard, however well it answers here.
    let mut problems: Vec<_> = host.skips(installed, &change.path, &text).into_iter().collect();
    let mut milliseconds = None;
    match start(line, &host.canary(DANGER, &project.to_string_lossy()), project) {
        Ok(reply) if host.is_stopped_by(&reply) => {}
        Ok(reply) => problems.push(format!("what must be stopped is not: {}", told(&reply))),
        Err(why) => problems.push(why),
    }
    let before = Instant::now();
    match start(line, &host.canary(HARMLESS, &project.to_string_lossy()), project) {
        Ok(reply) if host.is_stopped_by(&reply) => {
            problems.push(format!("what is harmless is stopped too: {}", told(&reply)));
        }
        Ok(_) => milliseconds = Some(before.elapsed().as_millis()),
        Err(_) => {}
    }
    Some(HookState {
        scope: installed.scope.as_str(),
        path: change.path.display().to_string(),
        current: change.is_in(Some(&text)),
        guards: problems.is_empty(),
        problems,
        milliseconds,
    })
}

fn told(reply: &HookOutput) -> String {
    let text = if reply.out.trim().is_empty() { &reply.err } else { &reply.out };
    let text: String = one_line(text.trim()).chars().take(200).collect();
    if text.is_empty() { format!("it ended with {} and said nothing", reply.code) } else { text }
}

impl Findings {
    fn exit(&self) -> Exit {
        let mut hooks = self.hosts.iter().flat_map(|host| &host.hooks);
        let usable = self.rollout.as_ref().is_none_or(Rollout::is_whole);
        let guarded = self.without_hook.is_none() && hooks.all(|hook| hook.guards);
        if guarded && usable { Exit::Done } else { Exit::Failed }
    }

    fn write(&self, out: &mut impl io::Write) -> Result<()> {
        writeln!(out, "countersign {} at {}", self.version, self.binary)?;
        match &self.server {
            // Hooks use another server, which is reported below.
            ServerState { answers: false, .. } if self.rollout.is_some() => {}
            ServerState { answers: true, halted: false, detail } => {
                writeln!(out, "server: answers at {detail}")?;
            }
            ServerState { answers: true, halted: true, detail } => {
                writeln!(out, "server: answers at {detail}; EVERYTHING IS HALTED")?;
            }
            ServerState { answers: false, detail, .. } => {
                writeln!(out, "server: {}", one_line(detail))?;
                writeln!(
                    out,
                    "  without one, the host asks about what needs approval, or it is refused"
                )?;
            }
        }
        if let Some(rollout) = &self.rollout {
            rollout.write(out)?;
        }
        if self.has_device {
            writeln!(
                out,
                "careful: ${DEVICE} is set here, and an agent started from this shell could \
                 answer in your name"
            )?;
        }
        let (guarded, others): (Vec<_>, Vec<_>) =
            self.hosts.iter().partition(|host| !host.hooks.is_empty());
        for host in guarded {
            host.write(out)?;
        }
        for host in &others {
            host.write_servers(out, host.title)?;
        }
        let others: Vec<_> = others.iter().map(|host| host.host).collect();
        if !others.is_empty() {
            writeln!(out, "not installed: {}", others.join(", "))?;
        }
        Ok(())
    }
}

impl HostState {
    fn write(&self, out: &mut impl io::Write) -> Result<()> {
        let version = match &self.version {
            Some(VersionState { version, tested: true }) => format!(" {version}"),
            Some(VersionState { version, tested: false }) => {
                format!(" {version}, which this was not tested with")
            }
            None => String::new(),
        };
        writeln!(out, "{}{version}", self.title)?;
        for hook in &self.hooks {
            let state = match (hook.guards, hook.current) {
                (true, true) => "guards",
                (true, false) => "guards; `install` would now write it differently",
                (false, _) => "DOES NOT GUARD",
            };
            writeln!(out, "  {} {}: {state}", hook.scope, hook.path)?;
            for problem in &hook.problems {
                writeln!(out, "    {}", one_line(problem))?;
            }
        }
        for hole in self.not_guarded {
            writeln!(out, "  not guarded: {hole}")?;
        }
        self.write_servers(out, " ")
    }

    fn write_servers(&self, out: &mut impl io::Write, before: &str) -> Result<()> {
        if !self.unwrapped.is_empty() {
            let names: Vec<_> = self.unwrapped.iter().map(|name| one_line(name)).collect();
            writeln!(
                out,
                "{before} MCP servers without the proxy: {} (`countersign mcp wrap {}`)",
                names.join(", "),
                self.host
            )?;
        }
        Ok(())
    }
}
