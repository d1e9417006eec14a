//! Agents in VS Code (hooks are in preview): Claude's format, VS Code's tools.
//!
//! Matchers are parsed and ignored, so every tool runs the hook. VS Code also runs the hooks that
//! Claude Code's settings files name.

use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{Change, Entry, Installed, Scope};
use crate::host::servers::{self, Servers};
use crate::host::tool::{Shape, Tools};
use crate::host::{HookAnswer, HookEvent, HookOutput, Host, Tested, Unreadable, dialect};

/// The host.
pub(crate) struct VsCode;

/// Events in which nothing happens that a hook could prevent.
const NEUTRAL: &[&str] = &[
    "PostToolUse",
    "PreCompact",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
];

const TOOLS: Tools = &[
    ("run_in_terminal", Shape::Shell { command: "command", cwd: None }),
    ("runTerminalCommand", Shape::Shell { command: "command", cwd: None }),
    ("runInTerminal", Shape::Shell { command: "command", cwd: None }),
    ("create_file", Shape::Write { path: "filePath", content: &["content"] }),
    ("createFile", Shape::Write { path: "filePath", content: &["content"] }),
    ("replace_string_in_file", Shape::Write { path: "filePath", content: &["newString"] }),
    ("insert_edit_into_file", Shape::Write { path: "filePath", content: &["code"] }),
    ("apply_patch", Shape::Patch("input")),
    ("read_file", Shape::Read("filePath")),
    ("readFile", Shape::Read("filePath")),
    ("list_dir", Shape::List("path")),
    ("file_search", Shape::Inside),
    ("grep_search", Shape::Inside),
    ("semantic_search", Shape::Inside),
    ("get_errors", Shape::Inside),
    ("manage_todo_list", Shape::Inside),
    ("runSubagent", Shape::Inside),
    ("get_terminal_output", Shape::Inside),
];

/// The user's own folder of VS Code, below the home folder.
pub(super) const fn code_folder() -> &'static str {
    if cfg!(target_os = "macos") {
        "Library/Application Support/Code/User"
    } else if cfg!(windows) {
        "AppData/Roaming/Code/User"
    } else {
        ".config/Code/User"
    }
}

impl Host for VsCode {
    fn name(&self) -> &'static str {
        "vscode"
    }

    fn title(&self) -> &'static str {
        "VS Code"
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        dialect::decode(self.name(), TOOLS, NEUTRAL, payload)
    }

    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput {
        match said {
            HookAnswer::Deny(reason) if event != dialect::PROMPT => {
                dialect::reply(event, said).failing(reason)
            }
            _ => dialect::reply(event, said),
        }
    }

    fn changed(&self, payload: &Value, edited: &Action) -> Option<Value> {
        dialect::changed(self, TOOLS, payload, edited)
    }

    fn asks(&self, _: &str) -> bool {
        true
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        json!({
            "timestamp": "2026-11-15T10:00:00Z", "sessionId": "canary", "cwd": cwd,
            "hookEventName": dialect::BEFORE, "tool_name": "run_in_terminal",
            "tool_input": {"command": command},
        })
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        reply.code == 2 || (reply.code == 0 && dialect::says_no(reply))
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let command = json!({
            "type": "command", "command": installed.line_or_no(self.name()),
            "timeout": installed.seconds,
        });
        let (path, hook) = match installed.scope {
            Scope::User => {
                let folder = installed.home_or("CLAUDE_CONFIG_DIR", ".claude")?;
                (folder.join("settings.json"), json!({"matcher": "*", "hooks": [command]}))
            }
            Scope::Project | Scope::Managed => {
                (installed.project.join(".github/hooks/countersign-vscode.json"), command)
            }
        };
        let entries = vec![Entry::new(&["hooks", dialect::BEFORE], hook)];
        Ok(vec![Change::json(path, self.name(), entries)])
    }

    fn scopes(&self) -> &'static [Scope] {
        &[Scope::User, Scope::Project]
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        let path = match installed.scope {
            Scope::User => installed.home(code_folder())?.join("mcp.json"),
            Scope::Project => installed.project.join(".vscode/mcp.json"),
            Scope::Managed => return Ok(Vec::new()),
        };
        Ok(vec![Servers::new(path, &servers::VSCODE)])
    }

    fn tested(&self) -> Option<Tested> {
        Some(Tested { program: "code", from: (1, 109, 0), to: (1, 125, 0) })
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "hooks are a preview: a setting or a policy may switch them off",
            "a hook that crashes or is ended by SIGKILL lets the call go on",
            "it also runs Claude Code's hooks: with both installed, a call is judged twice",
        ]
    }
}
