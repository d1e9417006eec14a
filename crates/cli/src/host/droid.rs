//! Factory's Droid: Claude's format with tools of its own, in `hooks.json` keyed by event.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::host::install::{Change, Entry, Installed, Scope};
use crate::host::servers::{self, Servers};
use crate::host::tool::{Shape, Tools};
use crate::host::{HookAnswer, HookEvent, HookOutput, Host, UNCHANGEABLE, Unreadable, dialect};

/// The host.
pub(crate) struct Droid;

/// Events in which nothing happens that a hook could prevent.
const NEUTRAL: &[&str] = &[
    "Notification",
    "PostToolUse",
    "PreCompact",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
];

const TOOLS: Tools = &[
    ("Execute", Shape::Shell { command: "command", cwd: None }),
    ("Create", Shape::Write { path: "file_path", content: &["content"] }),
    ("Edit", Shape::Write { path: "file_path", content: &["new_str", "new_string"] }),
    ("ApplyPatch", Shape::Patch("input")),
    ("Read", Shape::Read("file_path")),
    ("LS", Shape::List("directory_path")),
    ("Glob", Shape::List("folder")),
    ("Grep", Shape::Search("path")),
    ("FetchUrl", Shape::Fetch("url")),
    ("WebSearch", Shape::Inside),
    ("TodoWrite", Shape::Inside),
    ("Task", Shape::Inside),
    ("ExitSpecMode", Shape::Inside),
    ("AskUser", Shape::Inside),
];

impl Host for Droid {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn title(&self) -> &'static str {
        "Factory Droid"
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("FACTORY_PROJECT_DIR")
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        dialect::decode(self.name(), TOOLS, NEUTRAL, payload)
    }

    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput {
        match said {
            HookAnswer::Deny(reason) => dialect::reply(event, said).failing(reason),
            // It is not documented to accept a changed input: it might run its own.
            HookAnswer::Changed(_) => self.encode(event, &HookAnswer::Deny(UNCHANGEABLE)),
            HookAnswer::Neutral | HookAnswer::Approved(_) | HookAnswer::Ask(_) => {
                dialect::reply(event, said)
            }
        }
    }

    fn asks(&self, _: &str) -> bool {
        true
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        dialect::canary("Execute", command, cwd)
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        reply.code == 2 || (reply.code == 0 && dialect::says_no(reply))
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let path = match installed.scope {
            Scope::User => installed.home(".factory/hooks.json")?,
            Scope::Project | Scope::Managed => installed.project.join(".factory/hooks.json"),
        };
        let handler = json!({
            "type": "command", "command": installed.line_or_no(self.name()),
            "timeout": installed.seconds,
        });
        let group = json!({"matcher": "*", "hooks": [handler]});
        let entries = vec![Entry::new(&[dialect::BEFORE], group)];
        Ok(vec![Change::json(path, self.name(), entries)])
    }

    fn scopes(&self) -> &'static [Scope] {
        &[Scope::User, Scope::Project]
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        let folder = match installed.scope {
            Scope::User => installed.home(".factory")?,
            Scope::Project => installed.project.join(".factory"),
            Scope::Managed => return Ok(Vec::new()),
        };
        Ok(vec![Servers::new(folder.join("mcp.json"), &servers::USUAL)])
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "a hook that crashes or is ended by SIGKILL lets the call go on",
            "only hooks managed by your organisation cannot be taken away by a user",
        ]
    }
}
