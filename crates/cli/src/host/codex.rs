//! Codex CLI: command hooks in `hooks.json`, and static rules that cannot time out.
//!
//! Codex is strict about a hook's output: an empty output is the only yes, a no needs a reason, and
//! anything else counts as a failed hook, which lets the call continue.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{self, Change, Entry, Installed, Scope};
use crate::host::servers::{self, Servers};
use crate::host::tool::{Shape, Tools};
use crate::host::{HookAnswer, HookEvent, HookOutput, Host, Tested, Unreadable, dialect};

pub(crate) mod trust;

/// The host.
pub(crate) struct Codex;

/// Events in which nothing happens that a hook could prevent.
const NEUTRAL: &[&str] = &[
    "Interrupt",
    "PostCompact",
    "PostModelRequest",
    "PostToolUse",
    "PreCompact",
    "PreModelRequest",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
];

const TOOLS: Tools = &[
    ("Bash", Shape::Shell { command: "command", cwd: None }),
    ("apply_patch", Shape::Patch("command")),
    ("update_plan", Shape::Inside),
    ("view_image", Shape::Read("path")),
    ("spawn_agent", Shape::Inside),
    ("wait_agent", Shape::Inside),
    ("close_agent", Shape::Inside),
    ("request_user_input", Shape::Inside),
];

impl Host for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex CLI"
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(10)
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        dialect::decode(self.name(), TOOLS, NEUTRAL, payload)
    }

    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput {
        match said {
            // A bare `allow` is not a known answer here, and neither is `ask`.
            HookAnswer::Neutral | HookAnswer::Approved(_) => HookOutput::empty(),
            HookAnswer::Ask(reason) => dialect::reply(event, &HookAnswer::Deny(reason)),
            HookAnswer::Changed(_) | HookAnswer::Deny(_) => dialect::reply(event, said),
        }
    }

    fn changed(&self, payload: &Value, edited: &Action) -> Option<Value> {
        dialect::changed(self, TOOLS, payload, edited)
    }

    fn asks(&self, _: &str) -> bool {
        false
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        dialect::canary("Bash", command, cwd)
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        // Exit code 2 is not enough: some wrappers of its shell turn it into 1.
        reply.code == 0 && dialect::says_no(reply) && !reply.out.contains("\"\"")
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let folder = match installed.scope {
            Scope::User => installed.home_or("CODEX_HOME", ".codex")?,
            Scope::Project => installed.project.join(".codex"),
            Scope::Managed => installed.managed(&[("", "/etc/codex")]),
        };
        let line = installed.line_or_no(self.name());
        let hooks = if installed.scope == Scope::Managed {
            Change::lines(folder.join("config.toml"), tables(&line, installed.seconds))
        } else {
            let handler = json!({
                "type": "command", "command": line, "timeout": installed.seconds,
                "statusMessage": install::WAITS,
            });
            let group = json!({"matcher": "*", "hooks": [handler]});
            let events = [dialect::BEFORE, dialect::PROMPT];
            let entries = events.iter().map(|event| Entry::new(&["hooks", event], group.clone()));
            Change::json(folder.join("hooks.json"), self.name(), entries.collect())
        };
        Ok(vec![hooks, Change::whole(folder.join("rules/countersign.rules"), rules())])
    }

    fn skips(&self, installed: &Installed<'_>, file: &Path, text: &str) -> Option<String> {
        if installed.scope == Scope::Managed {
            return None;
        }
        let config = installed.home_or("CODEX_HOME", ".codex").ok()?.join("config.toml");
        let settings = match std::fs::read_to_string(&config) {
            Ok(settings) => settings,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Some(format!("`{}` cannot be read: {error}", config.display())),
        };
        // Codex resolves links in a folder that the variable names, and in no other.
        let resolved = std::env::var_os("CODEX_HOME").and_then(|_| file.canonicalize().ok());
        let file = resolved.as_deref().filter(|_| installed.scope == Scope::User).unwrap_or(file);
        let project = (installed.scope == Scope::Project).then_some(installed.project);
        trust::problem(&trust::HookFile { file, project, config: &config }, text, &settings)
    }

    fn accepting(&self, scope: Scope) -> Option<&'static str> {
        (scope != Scope::Managed).then_some(trust::ACCEPT)
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        let folder = match installed.scope {
            Scope::User => installed.home_or("CODEX_HOME", ".codex")?,
            Scope::Project => installed.project.join(".codex"),
            Scope::Managed => return Ok(Vec::new()),
        };
        Ok(vec![Servers::new(folder.join("config.toml"), &servers::CODEX)])
    }

    fn tested(&self) -> Option<Tested> {
        Some(Tested { program: "codex", from: (0, 153, 0), to: (0, 166, 0) })
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "a new or changed hook is skipped until you accept it in /hooks (managed ones are not)",
            "typing into a process that already runs (write_stdin), hosted web search",
            "a hook that crashes or is ended by SIGKILL lets the call go on",
        ]
    }
}

/// The hooks as TOML, for the file that only the machine's owner can write.
fn tables(line: &str, seconds: u64) -> String {
    let mut text = format!("# runs: {line}\n");
    for event in [dialect::BEFORE, dialect::PROMPT] {
        // A JSON string is also a valid TOML string.
        let (command, waits) = (Value::from(line), Value::from(install::WAITS));
        let _ = write!(
            text,
            "[[hooks.{event}]]\nmatcher = \"*\"\n[[hooks.{event}.hooks]]\ntype = \"command\"\n\
             command = {command}\ntimeout = {seconds}\nstatusMessage = {waits}\n"
        );
    }
    text
}

fn rules() -> String {
    let mut text =
        "# Made by countersign: what is never allowed, for when no hook runs.\n".to_owned();
    for words in install::hard_blocks() {
        let _ = writeln!(
            text,
            "prefix_rule(pattern={}, decision=\"forbidden\", \
             justification=\"Countersign never allows this\")",
            json!(words)
        );
    }
    text
}
