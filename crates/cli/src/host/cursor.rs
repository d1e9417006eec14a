//! Cursor, the editor and `cursor-agent`: five events, each with a format of its own.
//!
//! Without `failClosed` a crash, a timeout or an empty output is a yes; with it, an empty output is
//! a no, so we always write an answer. `ask` works for shell and MCP, not for other tools.

use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{Change, Entry, Installed, Scope};
use crate::host::servers::{self, Servers};
use crate::host::tool::{self, Shape, Tools};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, UNCHANGEABLE, Unreadable, What, object, required, text,
};

/// The host.
pub(crate) struct Cursor;

const SHELL: &str = "beforeShellExecution";
const MCP: &str = "beforeMCPExecution";
const READ: &str = "beforeReadFile";
const TOOL: &str = "preToolUse";
const SUBAGENT: &str = "subagentStart";

/// Events in which nothing happens that a hook could prevent. The actions of a subagent have events
/// of their own.
const NEUTRAL: &[&str] = &[
    SUBAGENT,
    "afterAgentResponse",
    "afterAgentThought",
    "afterFileEdit",
    "afterMCPExecution",
    "afterShellExecution",
    "afterTabFileEdit",
    "beforeSubmitPrompt",
    "postToolUse",
    "postToolUseFailure",
    "preCompact",
    "sessionEnd",
    "sessionStart",
    "stop",
    "subagentStop",
    "workspaceOpen",
];

const TOOLS: Tools = &[
    ("Shell", Shape::Shell { command: "command", cwd: Some("working_directory") }),
    ("Write", Shape::Write { path: "file_path", content: &["content", "new_string"] }),
    ("Edit", Shape::Write { path: "file_path", content: &["new_string"] }),
    ("Delete", Shape::Delete("file_path")),
    ("Read", Shape::Read("file_path")),
    ("Grep", Shape::Search("path")),
    ("Glob", Shape::List("path")),
    ("LS", Shape::List("path")),
    ("WebFetch", Shape::Fetch("url")),
    ("WebSearch", Shape::Inside),
    ("Task", Shape::Inside),
    ("TodoWrite", Shape::Inside),
    ("SemanticSearch", Shape::Inside),
    ("ReadLints", Shape::Inside),
];

impl Host for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn title(&self) -> &'static str {
        "Cursor"
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CURSOR_PROJECT_DIR")
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        let event = required(payload, "hook_event_name")?;
        let root = payload.get("workspace_roots").and_then(|roots| roots.get(0)?.as_str());
        let cwd = text(payload, "cwd").filter(|cwd| !cwd.is_empty()).or(root);
        let what = match event {
            SHELL => What::Acts(vec![Action::Shell {
                command: required(payload, "command")?.to_owned(),
                cwd: None,
            }]),
            MCP => {
                let input = object(payload.get("tool_input"))?;
                let server = text(payload, "url").or_else(|| text(payload, "command"));
                let server = server.unwrap_or("mcp");
                What::Acts(vec![tool::unknown(server, required(payload, "tool_name")?, &input)])
            }
            READ | "beforeTabFileRead" => What::Acts(vec![Action::FileRead {
                path: required(payload, "file_path")?.to_owned(),
            }]),
            TOOL => {
                let input = object(payload.get("tool_input"))?;
                let name = required(payload, "tool_name")?;
                let actions = tool::actions(self.name(), TOOLS, name, &input)?;
                // These have an event of their own, in which a person is asked: once is enough.
                if matches!(name, "Shell" | "Read") || name.starts_with("MCP:") {
                    What::Prompts(actions)
                } else {
                    What::Acts(actions)
                }
            }
            other if NEUTRAL.contains(&other) => What::Nothing,
            other => return Err(Unreadable::event(other)),
        };
        Ok(HookEvent {
            event: event.to_owned(),
            session: text(payload, "conversation_id").map(str::to_owned),
            cwd: cwd.map(str::to_owned),
            call: text(payload, "tool_use_id").map(str::to_owned),
            what,
        })
    }

    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput {
        HookOutput::json(&match said {
            HookAnswer::Neutral => json!({}),
            HookAnswer::Approved(_) => json!({"permission": "allow"}),
            HookAnswer::Changed(input) if event == TOOL => {
                json!({"permission": "allow", "updated_input": input})
            }
            HookAnswer::Changed(_) => return self.encode(event, &HookAnswer::Deny(UNCHANGEABLE)),
            HookAnswer::Deny(reason) => {
                json!({"permission": "deny", "user_message": reason, "agent_message": reason})
            }
            HookAnswer::Ask(reason) => {
                json!({"permission": "ask", "user_message": reason, "agent_message": reason})
            }
        })
    }

    fn broken(&self, event: &str, reason: &str) -> HookOutput {
        self.encode(event, &HookAnswer::Deny(reason)).failing(reason)
    }

    fn changed(&self, payload: &Value, edited: &Action) -> Option<Value> {
        // Commands and calls of MCP tools have an event of their own, which takes no changed input.
        if text(payload, "hook_event_name") != Some(TOOL) {
            return None;
        }
        let input = object(payload.get("tool_input")).ok()?;
        let changed = tool::changed(TOOLS, text(payload, "tool_name")?, &input, edited)?;
        tool::read_back(self, payload, "tool_input", changed, edited)
    }

    fn asks(&self, event: &str) -> bool {
        event == SHELL || event == MCP
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        json!({
            "conversation_id": "canary", "hook_event_name": SHELL, "command": command, "cwd": cwd,
            "workspace_roots": [cwd],
        })
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        let denied = |object: Value| text(&object, "permission") == Some("deny");
        // With `failClosed`, with which we install it.
        reply.code != 0 || reply.object().is_none_or(denied)
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let path = match installed.scope {
            Scope::User => installed.home(".cursor/hooks.json")?,
            Scope::Project => installed.project.join(".cursor/hooks.json"),
            Scope::Managed => installed.managed(&[
                ("macos", "/Library/Application Support/Cursor/hooks.json"),
                ("", "/etc/cursor/hooks.json"),
            ]),
        };
        let hook = json!({
            "command": installed.line_or_no(self.name()), "timeout": installed.seconds,
            "failClosed": true,
        });
        let events = [SHELL, MCP, READ, TOOL, SUBAGENT];
        let entries = events.iter().map(|event| Entry::new(&["hooks", event], hook.clone()));
        let change = Change::json(path, self.name(), entries.collect());
        Ok(vec![change.fresh(json!({"version": 1}))])
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        let folder = match installed.scope {
            Scope::User => installed.home(".cursor")?,
            Scope::Project => installed.project.join(".cursor"),
            Scope::Managed => return Ok(Vec::new()),
        };
        Ok(vec![Servers::new(folder.join("mcp.json"), &servers::USUAL)])
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "Cursor's cloud agents may skip a project's hooks",
            "a yes does not skip Cursor's own prompts",
        ]
    }
}
