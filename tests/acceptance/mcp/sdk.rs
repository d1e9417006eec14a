//! Clients and servers of the official SDKs, from `tests/mcp`.
//!
//! Each rig works on a copy in a home of its own, with a link to the installed packages, so that
//! nothing is written into the sources.

use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Home, PATIENCE, missing, target, until};
use crate::start::{binary, package, program as start};

/// An SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sdk {
    Python,
    TypeScript,
    /// Version 1, which only supports the older era.
    OldTypeScript,
}

/// The era of MCP that a client prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

impl Sdk {
    pub(super) const ALL: [Self; 3] = [Self::Python, Self::TypeScript, Self::OldTypeScript];

    const fn client(self) -> &'static str {
        match self {
            Self::Python => "python/client.py",
            Self::TypeScript => "typescript/client.mjs",
            Self::OldTypeScript => "typescript/legacy-client.mjs",
        }
    }

    const fn server(self) -> &'static str {
        match self {
            Self::Python => "python/server.py",
            Self::TypeScript => "typescript/server.mjs",
            Self::OldTypeScript => "typescript/legacy-server.mjs",
        }
    }

    /// Returns the protocol revision that a client and this server agree on.
    pub(super) const fn protocol(self, client: Self, era: Era) -> &'static str {
        match (self, client, era) {
            (Self::OldTypeScript, _, _) | (_, Self::OldTypeScript, _) | (_, _, Era::Legacy) => {
                "2025-11-25"
            }
            (Self::Python | Self::TypeScript, Self::Python | Self::TypeScript, Era::Modern) => {
                "2026-07-28"
            }
        }
    }
}

/// The SDKs with the programs written for them.
pub(super) struct Rig {
    pub(super) home: Arc<Home>,
    python: PathBuf,
}

impl Rig {
    /// Creates a rig; `None` without the SDKs, which CI does not accept.
    pub(super) fn new(home: Arc<Home>) -> Option<Self> {
        let installed = target().join("mcp-sdk");
        let python = installed.join("python/bin/python");
        let modules = installed.join("typescript/node_modules");
        // The stamp is written last: without it, an SDK may be incomplete.
        if ["python", "typescript"].iter().any(|name| !installed.join(name).join("stamp").is_file())
        {
            missing("there are no MCP SDKs");
            return None;
        }
        let sources = package().join("../../tests/mcp");
        let programs = home.0.join("mcp");
        copy(&sources, &programs);
        symlink(modules, programs.join("typescript/node_modules")).expect("a link");
        Some(Self { home, python })
    }

    fn command(&self, program: &str) -> Vec<String> {
        let interpreter =
            if program.ends_with("py") { self.python.clone() } else { PathBuf::from("node") };
        let program = self.home.0.join("mcp").join(program);
        [interpreter, program].iter().map(|path| word(path)).collect()
    }

    /// Returns the folder in which a server of this name records its calls.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.home.0.join("servers").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Returns the calls of the server of this name, one per line.
    pub(super) fn log(&self, name: &str) -> Vec<String> {
        let log = fs::read_to_string(self.folder(name).join("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// Returns a connection straight to a server.
    pub(super) fn direct(&self, name: &str, sdk: Sdk) -> Connection {
        let mut command = self.command(sdk.server());
        command.push(word(&self.folder(name)));
        Connection {
            name: name.to_owned(),
            command,
            url: None,
            environment: json!({}),
            elicit: Value::Null,
        }
    }

    /// Starts a server over HTTP, and returns its address.
    pub(super) fn listening(&self, name: &str, sdk: Sdk) -> (Program, String) {
        let mut command = self.command(sdk.server());
        let folder = self.folder(name);
        command.extend([word(&folder), "--http".to_owned()]);
        let program = self.program(&command, Stdio::null());
        // Some write their port before they listen on it.
        let port = until("the server listens", || {
            let port = fs::read_to_string(folder.join("port")).ok()?;
            TcpStream::connect(format!("127.0.0.1:{port}")).ok().map(|_| port)
        });
        (program, format!("http://127.0.0.1:{port}/mcp"))
    }

    /// Starts our proxy before such a server, and returns its own address.
    pub(super) fn listening_proxy(&self, server: &str) -> (Program, String) {
        let out = self.file("proxy");
        let words = ["mcp", "proxy", "--name", "test", "--http", server, "--listen", "127.0.0.1:0"];
        let command = [&[binary()], words.as_slice()].concat();
        let command: Vec<_> = command.into_iter().map(str::to_owned).collect();
        let program = self.program(&command, File::create(&out).expect("a file").into());
        let url = until("the proxy listens", || {
            let said = fs::read_to_string(&out).ok()?;
            said.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned)
        });
        (program, url)
    }

    fn program(&self, command: &[String], out: Stdio) -> Program {
        let (program, words) = command.split_first().expect("a program");
        let mut command = start(program, &self.home.0);
        command.args(words).stdin(Stdio::null()).stdout(out);
        Program(command.current_dir(&self.home.0).spawn().expect("it starts"))
    }

    /// Returns a connection to a server through our proxy.
    pub(super) fn proxied(&self, name: &str, sdk: Sdk) -> Connection {
        let mut connection = self.direct(name, sdk);
        let proxy = [binary(), "mcp", "proxy", "--name", "test", "--"];
        connection.command.splice(0..0, proxy.map(str::to_owned));
        connection
    }

    /// Starts a client that makes these connections at once, and does the same steps on each.
    pub(super) fn start(
        &self,
        sdk: Sdk,
        era: Era,
        connections: &[Connection],
        steps: &Value,
    ) -> Run {
        let era = match era {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        };
        let plans = connections.iter().map(|connection| connection.plan(era, steps));
        let plan = json!({"connections": plans.collect::<Vec<_>>()});
        let (plan_file, out, log) = (self.file("plan"), self.file("out"), self.file("stderr"));
        fs::write(&plan_file, plan.to_string()).expect("a file");
        let words = self.command(sdk.client());
        let (program, words) = words.split_first().expect("a program");
        let mut command = start(program, &self.home.0);
        command
            .args(words)
            .current_dir(&self.home.0)
            .stdin(File::open(plan_file).expect("a file"))
            .stdout(File::create(&out).expect("a file"))
            .stderr(File::create(&log).expect("a file"));
        Run { child: command.spawn().expect("the client starts"), out, log }
    }

    /// Runs a client to its end.
    pub(super) fn run(
        &self,
        sdk: Sdk,
        era: Era,
        on: &[Connection],
        steps: &Value,
    ) -> Vec<ConnectionResult> {
        self.start(sdk, era, on, steps).end()
    }

    /// Returns a file with a unique name.
    fn file(&self, name: &str) -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        self.home.0.join(format!("{name}-{number}"))
    }
}

/// A program that is killed on drop.
pub(super) struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A connection to one server.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    name: String,
    command: Vec<String>,
    url: Option<String>,
    environment: Value,
    elicit: Value,
}

impl Connection {
    pub(super) fn variable(mut self, name: &str, value: &Path) -> Self {
        self.environment[name] = json!(word(value));
        self
    }

    /// Uses HTTP instead.
    pub(super) fn at(mut self, url: &str) -> Self {
        self.url = Some(url.to_owned());
        self
    }

    /// Uses this command instead.
    pub(super) fn by(mut self, command: &[&str]) -> Self {
        self.command = command.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// Sets the answer of the client's user to elicitations.
    pub(super) fn elicit(mut self, answer: Value) -> Self {
        self.elicit = answer;
        self
    }

    fn plan(&self, era: &str, steps: &Value) -> Value {
        let mut plan = json!({
            "name": self.name, "era": era, "command": self.command,
            "environment": self.environment, "steps": steps,
        });
        if let Some(url) = &self.url {
            plan["url"] = json!(url);
        }
        if !self.elicit.is_null() {
            plan["elicit"] = self.elicit.clone();
        }
        plan
    }
}

/// A running client.
pub(super) struct Run {
    child: Child,
    out: PathBuf,
    log: PathBuf,
}

/// The result of one connection.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConnectionResult {
    pub(super) name: String,
    pub(super) protocol: String,
    pub(super) steps: Vec<Value>,
}

impl Run {
    /// Returns the result of each connection, by name.
    pub(super) fn end(mut self) -> Vec<ConnectionResult> {
        let until = Instant::now() + 4 * PATIENCE;
        let ended = loop {
            match self.child.try_wait().expect("it can be waited for") {
                Some(status) => break status.success(),
                None if Instant::now() > until => break false,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let (out, log) = (read(&self.out), read(&self.log));
        assert!(ended, "the client failed:\n{out}\n{log}");
        let mut said: Vec<_> = out.lines().map(ConnectionResult::of).collect();
        said.sort_by(|one, other| one.name.cmp(&other.name));
        said
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ConnectionResult {
    fn of(line: &str) -> Self {
        let said: Value = serde_json::from_str(line).expect("JSON");
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let steps = said["steps"].as_array().cloned().unwrap_or_default();
        Self { name: text("name"), protocol: text("protocol"), steps }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn word(path: &Path) -> String {
    path.to_str().expect("a path").to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map_while(Result::ok) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).expect("a file");
        }
    }
}
