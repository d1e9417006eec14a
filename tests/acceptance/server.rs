//! The server as its users see it: the real binary, over HTTP, WebSocket and SSE.
//!
//! Each test has a server of its own, in an empty home, without the environment of the person who
//! runs the tests. It ends with the test.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

mod assistant;
mod browser;
mod browser_agent;
mod client;
mod clock;
mod coding_agent;
mod computer_use;
mod console;
mod files;
mod fleet;
mod forward;
mod hosts;
mod live;
mod operations;
mod policy;
mod record;
mod serve;
mod worker;

pub(crate) use browser::{missing, target};
pub(crate) use client::Client;
use client::local;
use live::{Events, Socket};

use crate::start::{binary, program};

/// A timeout longer than anything here takes, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// A temporary folder that is deleted with the test.
pub(crate) struct Home(pub(crate) PathBuf);

impl Home {
    pub(crate) fn new() -> Arc<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("cs-{process}-{number}"));
        // A run that was killed may have left one, and another process may get its id.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        Arc::new(Self(folder))
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.0.join("log")).unwrap_or_default()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The options to start a server with.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) home: Arc<Home>,
    environment: Vec<(String, String)>,
    words: Vec<String>,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self { home: Home::new(), environment: Vec::new(), words: Vec::new() }
    }

    /// Writes a configuration.
    pub(crate) fn config(self, yaml: &str) -> Self {
        let folder = self.home.0.join(".config/countersign");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("config.yaml"), yaml).expect("a configuration");
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn word(mut self, word: &str) -> Self {
        self.words.push(word.to_owned());
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = program(binary(), &self.home.0);
        command.current_dir(&self.home.0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn serve(&self) -> Command {
        let mut command = self.command();
        command.arg("serve").args(&self.words);
        if !self.words.iter().any(|word| word == "--data") {
            command.arg("--data").arg(self.home.data());
        }
        if !self.words.iter().any(|word| word == "--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command
    }

    /// Starts a server that must refuse to start, and returns its output.
    fn refused(&self) -> Output {
        let child = self.serve().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the binary starts");
        let ended = wait(&mut child);
        if ended.is_none() {
            child.kill().expect("it can be ended");
        }
        let output = child.wait_with_output().expect("it has ended");
        assert!(ended.is_some(), "it runs: {output:?}");
        output
    }

    pub(crate) fn start(self) -> Server {
        let log = OpenOptions::new().create(true).append(true).open(self.home.0.join("log"));
        let log: File = log.expect("a log");
        let child = self.serve().stdout(Stdio::piped()).stderr(log).spawn();
        let mut child = child.expect("the binary starts");
        let out = BufReader::new(child.stdout.take().expect("it has an output"));
        let (mut url, mut link) = (String::new(), None);
        for line in out.lines().map_while(Result::ok) {
            if let Some(found) = line.strip_prefix("countersign listens on ") {
                found.clone_into(&mut url);
            }
            if let Some((_, found)) = line.split_once("/sign-in?link=") {
                link = Some(found.to_owned());
            }
            if line.starts_with("answer here") {
                break;
            }
        }
        let (_, address) = url.split_once("://").unwrap_or_else(|| {
            let _ = child.kill();
            panic!("it does not say where it listens: {}", self.home.log())
        });
        let address = address.parse().expect("an address");
        Server { child, address, url, link, setup: self }
    }
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    url: String,
    link: Option<String>,
    pub(crate) setup: Setup,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- the server's log:\n{}", self.setup.home.log());
        }
    }
}

impl Server {
    /// Starts a server with a profile.
    pub(crate) fn with(profile: &str) -> Self {
        Setup::new().config(&format!("profile: {profile}\n")).start()
    }

    fn nobody(&self) -> Client {
        Client { address: self.address, secret: None, device: None, maker: None }
    }

    /// Returns the owner, signed in by the link that the server printed.
    pub(crate) fn owner(&self) -> Client {
        self.sign_in(self.link.as_deref().expect("a link"), "first")
    }

    fn sign_in(&self, link: &str, name: &str) -> Client {
        let body = json!({"link": link, "name": name});
        let answer = self.nobody().post("/api/sign-in", &body).expect(201);
        Client { secret: Some(text(&answer["secret"])), ..self.nobody() }
    }

    /// Signs in another device of a person.
    fn device_of(&self, person: &Client) -> Client {
        let link = person.post("/api/devices/invite", &json!({})).expect(201);
        self.sign_in(&text(&link["link"]), "one more")
    }

    /// Adds another person to the owner's workspace.
    fn person(&self, owner: &Client, membership: &str) -> Client {
        let body = json!({
            "name": "Somebody Else",
            "workspace_id": owner.workspace(),
            "membership": membership,
        });
        let added = owner.post("/api/users", &body).expect(201);
        self.sign_in(&text(&added["link"]), "theirs")
    }

    /// Sends a request over the socket that only the server's own user can open: as the owner,
    /// without a device.
    fn local(&self, method: &str, path: &str, body: &Value) -> client::Answer {
        local(&self.data().join("server.sock"), method, path, body)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.setup.home.data()
    }

    fn log(&self) -> String {
        self.setup.home.log()
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process"), signal).expect("it is there");
    }

    /// Sends SIGTERM, and waits until it has ended.
    fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        wait(&mut self.child).expect("it ends when asked to")
    }

    /// Kills it at any moment, and starts it again on the same folder.
    fn killed_and_started_again(mut self) -> Self {
        self.signal(Signal::KILL);
        let ended = wait(&mut self.child).expect("it is dead");
        assert_eq!(ended.signal(), Some(9));
        let setup = self.setup.clone();
        drop(self);
        setup.start()
    }

    /// Returns the result of `countersign audit verify` for the folder.
    fn verified(&self) -> Value {
        let mut command = self.setup.command();
        command.args(["audit", "verify", "--json", "--data"]).arg(self.data());
        let output = command.output().expect("the binary starts");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Returns a number of kilobytes from the process's status in `/proc`.
    #[cfg(target_os = "linux")]
    fn memory(&self, what: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("the system tells");
        let line = status.lines().find_map(|line| line.strip_prefix(what)).expect("a number");
        let number = line.trim_start_matches(':').trim().split(' ').next().expect("a number");
        number.parse().expect("a number")
    }
}

/// Returns the exit status of a process, if it ends in time.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

/// Polls until a condition holds.
pub(crate) fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never: {what}")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// Returns the names of an object's fields, sorted.
fn names(value: &Value) -> Vec<&str> {
    let mut names: Vec<_> = value.as_object().expect("an object").keys().collect();
    names.sort();
    names.into_iter().map(String::as_str).collect()
}

/// Returns every file below a folder that contains these bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if fs::read(&path).is_ok_and(|all| all.windows(bytes.len()).any(|at| at == bytes)) {
            found.push(path);
        }
    }
    found
}
