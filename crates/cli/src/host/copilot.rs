//! GitHub Copilot CLI and its cloud agent: files of our own in its folders of hooks.
//!
//! A crash denies, but a timeout always lets the call continue, so the watchdog is the only
//! protection against it.

use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{Change, Entry, Installed, Scope};
use crate::host::servers::{self, Servers};
use crate::host::tool::{self, Shape, Tools};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, Tested, UNCHANGEABLE, Unreadable, What, dialect,
    object, required, text,
};

/// The host.
pub(crate) struct Copilot;

const BEFORE: &str = "preToolUse";
const PROMPT: &str = "permissionRequest";

/// Events of the other dialect in which nothing happens that a hook could prevent.
const NEUTRAL: &[&str] = &[
    "AgentStop",
    "ErrorOccurred",
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
    ("bash", Shape::Shell { command: "command", cwd: None }),
    ("Bash", Shape::Shell { command: "command", cwd: None }),
    ("powershell", Shape::PowerShell("command")),
    ("create", Shape::Write { path: "path", content: &["file_text", "content"] }),
    ("edit", Shape::Write { path: "path", content: &["new_str", "new_string"] }),
    ("apply_patch", Shape::Patch("input")),
    ("view", Shape::Read("path")),
    ("grep", Shape::Search("path")),
    ("glob", Shape::List("path")),
    ("web_fetch", Shape::Fetch("url")),
    ("web_search", Shape::Inside),
    ("task", Shape::Inside),
    ("update_todo", Shape::Inside),
    ("report_intent", Shape::Inside),
    ("read_bash", Shape::Inside),
    ("stop_bash", Shape::Inside),
];

impl Host for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn title(&self) -> &'static str {
        "GitHub Copilot CLI"
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        // The other dialect, for events that are spelled as in Claude Code.
        if payload.get("hook_event_name").is_some() {
            return dialect::decode(self.name(), TOOLS, NEUTRAL, payload);
        }
        let name = required(payload, "toolName")?;
        let input = object(payload.get("toolArgs"))?;
        let actions = tool::actions(self.name(), TOOLS, name, &input)?;
        // The payload does not name its event; a prompt names the kind of permission.
        let (event, what) = match text(payload, "permissionKind") {
            Some(_) => (PROMPT, What::Prompts(actions)),
            None => (BEFORE, What::Acts(actions)),
        };
        Ok(HookEvent {
            event: event.to_owned(),
            session: text(payload, "sessionId").map(str::to_owned),
            cwd: text(payload, "cwd").map(str::to_owned),
            call: None,
            what,
        })
    }

    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput {
        let says = |decision: &str, reason: &str| {
            HookOutput::json(&json!({
                "permissionDecision": decision, "permissionDecisionReason": reason,
            }))
        };
        match said {
            HookAnswer::Neutral => HookOutput::empty(),
            HookAnswer::Approved(_) | HookAnswer::Ask(_) if event == PROMPT => HookOutput::empty(),
            HookAnswer::Changed(_) if event == PROMPT => {
                self.encode(event, &HookAnswer::Deny(UNCHANGEABLE))
            }
            HookAnswer::Deny(reason) if event == PROMPT => {
                HookOutput::json(&json!({"behavior": "deny", "message": reason}))
            }
            HookAnswer::Approved(how) => says("allow", how),
            HookAnswer::Changed(input) => HookOutput::json(&json!({
                "permissionDecision": "allow",
                "permissionDecisionReason": "A person changed this and said yes.",
                "modifiedArgs": input,
            })),
            HookAnswer::Deny(reason) => says("deny", reason),
            HookAnswer::Ask(reason) => says("ask", reason),
        }
    }

    fn broken(&self, event: &str, reason: &str) -> HookOutput {
        self.encode(event, &HookAnswer::Deny(reason)).failing(reason)
    }

    fn changed(&self, payload: &Value, edited: &Action) -> Option<Value> {
        if payload.get("hook_event_name").is_some() {
            return None;
        }
        let input = object(payload.get("toolArgs")).ok()?;
        let changed = tool::changed(TOOLS, text(payload, "toolName")?, &input, edited)?;
        tool::read_back(self, payload, "toolArgs", changed, edited)
    }

    fn asks(&self, _: &str) -> bool {
        // In several releases its own question answered itself.
        false
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        json!({
            "sessionId": "canary", "cwd": cwd, "toolName": "bash",
            "toolArgs": {"command": command},
        })
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        let denied = reply.object().is_some_and(|object| {
            text(&object, "permissionDecision") == Some("deny")
                || text(&object, "behavior") == Some("deny")
        });
        denied || reply.code != 0
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let path = match installed.scope {
            Scope::User => {
                installed.home_or("COPILOT_HOME", ".copilot")?.join("hooks/countersign.json")
            }
            Scope::Project => installed.project.join(".github/hooks/countersign.json"),
            Scope::Managed => {
                installed.managed(&[("", "/etc/github-copilot/policy.d/countersign.json")])
            }
        };
        let (program, words) = installed.words(self.name());
        let hook = json!({
            "type": "command", "exec": program, "args": words, "timeoutSec": installed.seconds,
        });
        let entries = vec![Entry::new(&["hooks", BEFORE], hook)];
        let change = Change::json(path, self.name(), entries);
        Ok(vec![change.fresh(json!({"version": 1}))])
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        if installed.scope != Scope::User {
            return Ok(Vec::new());
        }
        let folder = installed.home_or("COPILOT_HOME", ".copilot")?;
        Ok(vec![Servers::new(folder.join("mcp-config.json"), &servers::USUAL)])
    }

    fn tested(&self) -> Option<Tested> {
        Some(Tested { program: "copilot", from: (1, 0, 0), to: (1, 0, 60) })
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "a hook that is killed for taking too long lets the call go on, whatever is installed",
            "background and task agents were seen to run no hooks (issue 3013)",
            "the cloud agent reads only .github/hooks of the repository",
        ]
    }
}
