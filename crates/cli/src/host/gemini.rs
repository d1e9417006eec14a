//! Gemini CLI: command hooks in `settings.json`, timeouts in milliseconds, and a policy file.
//!
//! Any valid JSON decides, regardless of the exit code; an empty output is a yes. Its `ask` would
//! override a policy's deny, so we never send it.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{self, Change, Entry, Installed, Scope};
use crate::host::servers::{self, Layout, Servers, Spoken};
use crate::host::tool::{self, Shape, Tools};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, Tested, Unreadable, What, object, required, text,
};

/// The host.
pub(crate) struct Gemini;

const BEFORE: &str = "BeforeTool";

/// Events in which nothing happens that a hook could prevent.
const NEUTRAL: &[&str] = &[
    "AfterAgent",
    "AfterModel",
    "AfterTool",
    "BeforeAgent",
    "BeforeModel",
    "BeforeToolSelection",
    "Notification",
    "PreCompress",
    "SessionEnd",
    "SessionStart",
];

const TOOLS: Tools = &[
    ("run_shell_command", Shape::Shell { command: "command", cwd: Some("dir_path") }),
    ("write_file", Shape::Write { path: "file_path", content: &["content"] }),
    ("replace", Shape::Write { path: "file_path", content: &["new_string"] }),
    ("read_file", Shape::Read("file_path")),
    ("read_many_files", Shape::ReadAll(&["include", "paths"])),
    ("list_directory", Shape::List("dir_path")),
    ("glob", Shape::List("dir_path")),
    ("grep_search", Shape::Search("dir_path")),
    ("search_file_content", Shape::Search("dir_path")),
    ("web_fetch", Shape::FetchAll("prompt")),
    ("google_web_search", Shape::Inside),
    ("write_todos", Shape::Inside),
    ("ask_user", Shape::Inside),
    ("enter_plan_mode", Shape::Inside),
    ("exit_plan_mode", Shape::Inside),
    ("activate_skill", Shape::Inside),
    ("codebase_investigator", Shape::Inside),
];

impl Host for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("GEMINI_PROJECT_DIR")
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        let event = required(payload, "hook_event_name")?;
        let what = if event == BEFORE {
            let name = required(payload, "tool_name")?;
            let input = object(payload.get("tool_input"))?;
            let server = payload
                .get("mcp_context")
                .and_then(|mcp| Some((text(mcp, "server_name")?, text(mcp, "tool_name")?)));
            What::Acts(match server {
                Some((server, name)) => vec![tool::unknown(server, name, &input)],
                None => tool::actions(self.name(), TOOLS, name, &input)?,
            })
        } else if NEUTRAL.contains(&event) {
            What::Nothing
        } else {
            return Err(Unreadable::event(event));
        };
        Ok(HookEvent {
            event: event.to_owned(),
            session: text(payload, "session_id").map(str::to_owned),
            cwd: text(payload, "cwd").map(str::to_owned),
            call: None,
            what,
        })
    }

    fn encode(&self, _: &str, said: &HookAnswer<'_>) -> HookOutput {
        match said {
            HookAnswer::Neutral | HookAnswer::Approved(_) => HookOutput::json(&json!({})),
            HookAnswer::Changed(input) => HookOutput::json(&json!({
                "decision": "allow",
                "hookSpecificOutput": {"hookEventName": BEFORE, "tool_input": input},
            })),
            HookAnswer::Deny(reason) | HookAnswer::Ask(reason) => {
                HookOutput::json(&json!({"decision": "deny", "reason": reason}))
            }
        }
    }

    fn changed(&self, payload: &Value, edited: &Action) -> Option<Value> {
        let input = object(payload.get("tool_input")).ok()?;
        let changed = tool::changed(TOOLS, text(payload, "tool_name")?, &input, edited)?;
        // It is merged over the call's own input, so no field can be removed.
        let kept = input.as_object()?.keys().all(|field| changed.get(field).is_some());
        tool::read_back(self, payload, "tool_input", changed, edited).filter(|_| kept)
    }

    fn asks(&self, _: &str) -> bool {
        false
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        json!({
            "session_id": "canary", "cwd": cwd, "hook_event_name": BEFORE,
            "tool_name": "run_shell_command", "tool_input": {"command": command},
        })
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        let decision = reply
            .object()
            .map(|object| matches!(text(&object, "decision"), Some("deny" | "block")));
        decision.unwrap_or(reply.code > 1 && !(reply.out.is_empty() && reply.err.is_empty()))
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let folder = match installed.scope {
            Scope::User => installed.home(".gemini")?,
            Scope::Project => installed.project.join(".gemini"),
            Scope::Managed => installed.managed(&[
                ("macos", "/Library/Application Support/GeminiCli"),
                ("", "/etc/gemini-cli"),
            ]),
        };
        let handler = json!({
            "type": "command", "name": "countersign", "command": installed.line_or_no(self.name()),
            "timeout": installed.seconds.saturating_mul(1_000),
        });
        let group = json!({"matcher": ".*", "hooks": [handler]});
        let entries = vec![Entry::new(&["hooks", BEFORE], group)];
        let mut changes = vec![Change::json(folder.join("settings.json"), self.name(), entries)];
        // Gemini CLI ignores the policies of a workspace.
        if installed.scope != Scope::Project {
            changes.push(Change::whole(folder.join("policies/countersign.toml"), policy()));
        }
        Ok(changes)
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        const OWN: Layout =
            Layout { urls: &[("httpUrl", Spoken::Http), ("url", Spoken::Sse)], ..servers::USUAL };
        let folder = match installed.scope {
            Scope::User => installed.home(".gemini")?,
            Scope::Project => installed.project.join(".gemini"),
            Scope::Managed => return Ok(Vec::new()),
        };
        Ok(vec![Servers::new(folder.join("settings.json"), &OWN)])
    }

    fn tested(&self) -> Option<Tested> {
        Some(Tested { program: "gemini", from: (0, 58, 0), to: (0, 61, 0) })
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "a hook that crashes or is ended by SIGKILL lets the call go on",
            "hooksConfig in the settings can switch hooks off: --managed sets them for everybody",
            "a project's hooks run only in trusted folders",
        ]
    }
}

fn policy() -> String {
    let mut text =
        "# Made by countersign: what is never allowed, for when no hook runs.\n".to_owned();
    for words in install::hard_blocks() {
        let line = words.join(" ").replace('.', "\\.");
        let _ = write!(
            text,
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = {}\ndecision = \"deny\"\n\
             priority = 900\ndenyMessage = \"Countersign never allows this\"\n",
            json!(format!("{line}(?:[\\s\"]|$)"))
        );
    }
    text
}
