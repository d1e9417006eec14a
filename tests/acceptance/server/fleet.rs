//! Developers' machines and one server elsewhere: each machine has a home, a data folder and a
//! configuration of its own, and reaches the server over its URL with a key.

use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Client, Server, Setup, text, until, wait};

mod bound;
mod doctor;
mod offline;
mod restart;
pub(super) mod trust;
mod unreachable;

/// A command that needs an approval in the default profile.
const PUSH: &str = "git push --force origin main";

/// A developer's machine.
struct Machine {
    setup: Setup,
    /// The number of seconds that its host waits for a hook.
    patience: &'static str,
}

impl Machine {
    /// Creates a machine with this configuration.
    fn new(config: &str) -> Self {
        Self { setup: Setup::new().config(config), patience: "60" }
    }

    /// Creates a machine whose hooks use this server.
    fn of(server: &Server, more: &str) -> Self {
        Self::new(&format!("hook: {{server: \"{}\"{more}}}\n", server.url))
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.setup = self.setup.variable(name, value);
        self
    }

    /// Adds the key of a developer.
    fn with_key(self, key: &Client) -> Self {
        self.with("COUNTERSIGN_KEY", key.secret.as_deref().expect("a secret"))
    }

    fn impatient(mut self, seconds: &'static str) -> Self {
        self.patience = seconds;
        self
    }

    /// Returns the same machine with another configuration.
    fn reconfigured(&self, config: &str) -> Self {
        Self { setup: self.setup.clone().config(config), patience: self.patience }
    }

    fn data(&self) -> PathBuf {
        self.setup.home.0.join(".local/share/countersign")
    }

    /// Runs one of our commands to its end.
    fn run(&self, words: &[&str]) -> Output {
        let mut command = self.setup.command();
        command.args(words).stdin(Stdio::null()).output().expect("the binary starts")
    }

    /// Starts a hook of Claude Code for a command.
    fn begin(&self, command: &str) -> Child {
        let payload = json!({
            "session_id": "s1", "cwd": self.setup.home.0, "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": command},
        });
        let mut hook: Command = self.setup.command();
        hook.args(["hook", "claude-code", "--timeout", self.patience]);
        hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = hook.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("it has an input");
        stdin.write_all(payload.to_string().as_bytes()).expect("it reads");
        child
    }

    /// Returns the decision and its reason; both are empty when nothing was printed.
    fn call(&self, command: &str) -> (String, String) {
        end(self.begin(command))
    }

    /// Returns the result of `doctor`, and its exit code.
    fn doctor(&self) -> (i32, Value) {
        let output = self.run(&["doctor", "--json"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let found = serde_json::from_slice(&output.stdout);
        let found = found.unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code().unwrap_or_else(|| panic!("it was killed: {said}")), found)
    }
}

fn end(child: Child) -> (String, String) {
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = &said["hookSpecificOutput"];
    let word = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    (word("permissionDecision"), word("permissionDecisionReason"))
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("it is there");
}

/// Returns every pending question.
fn pending(person: &Client) -> Vec<Value> {
    let listed = person.get("/api/approvals?state=pending").expect(200);
    listed["items"].as_array().expect("a list").clone()
}

/// Returns the only pending question.
fn waiting(person: &Client) -> Value {
    let question = until("a question waits", || pending(person).first().cloned());
    assert_eq!(pending(person).len(), 1, "one card");
    question
}

fn approve(person: &Client, question: &Value) {
    person.respond(&text(&question["approval_id"]), true).expect(200);
}

/// An address that nobody listens on.
pub(super) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

/// Returns a server that is restarted at the same address.
fn at_a_fixed_address(config: &str) -> Setup {
    let address = free_address().to_string();
    Setup::new().config(config).word("--listen").word(&address)
}

/// Ends a server with a signal.
fn ended(mut server: Server, with: Signal) -> Setup {
    server.signal(with);
    wait(&mut server.child).expect("it ends");
    server.setup.clone()
}

/// Writes a file of a machine or server.
fn write(setup: &Setup, name: &str, content: &str) -> String {
    let path = setup.home.0.join(name);
    fs::write(&path, content).expect("a file");
    path.to_str().expect("a plain path").to_owned()
}
