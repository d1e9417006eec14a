//! Claude Code 2.1: command hooks, by settings files.
//!
//! Any answer but a no lets the call continue to the host's own permissions, so a crash or a
//! timeout would be a yes; `onFailure: block` prevents that from 2.1.295 on, and our own watchdog
//! before that.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{self, Change, Entry, Installed, Scope};
use crate::host::servers::{self, Layout, Servers};
use crate::host::tool::{Shape, Tools};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, Tested, Unreadable, What, dialect, text,
};

/// The host.
pub(crate) struct ClaudeCode;

/// The event after a settings file has changed, before the change takes effect.
const SETTINGS: &str = "ConfigChange";

/// Events in which nothing happens that a hook could prevent, or that are followed by an event of a
/// tool. Listed by name, so that a new one is refused until somebody has looked at it.
const NEUTRAL: &[&str] = &[
    SETTINGS,
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
    "PostCompact",
    "PostModelSwitch",
    "PostToolBatch",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreModelSwitch",
    "SessionEnd",
    "SessionStart",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "UserPromptSubmit",
    "WorktreeCreate",
    "WorktreeRemove",
];

const TOOLS: Tools = &[
    ("Bash", Shape::Shell { command: "command", cwd: None }),
    ("PowerShell", Shape::PowerShell("command")),
    ("Write", Shape::Write { path: "file_path", content: &["content"] }),
    ("Edit", Shape::Write { path: "file_path", content: &["new_string"] }),
    ("MultiEdit", Shape::Write { path: "file_path", content: &[] }),
    ("NotebookEdit", Shape::Write { path: "notebook_path", content: &["new_source"] }),
    ("Read", Shape::Read("file_path")),
    ("Glob", Shape::List("path")),
    ("Grep", Shape::Search("path")),
    ("LS", Shape::List("path")),
    ("WebFetch", Shape::Fetch("url")),
    ("WebSearch", Shape::Inside),
    ("Agent", Shape::Inside),
    ("Task", Shape::Inside),
    ("TaskCreate", Shape::Inside),
    ("TaskGet", Shape::Inside),
    ("TaskList", Shape::Inside),
    ("TaskOutput", Shape::Inside),
    ("TaskStop", Shape::Inside),
    ("TaskUpdate", Shape::Inside),
    ("TodoWrite", Shape::Inside),
    ("AskUserQuestion", Shape::Inside),
    ("EnterPlanMode", Shape::Inside),
    ("ExitPlanMode", Shape::Inside),
    ("Skill", Shape::Inside),
    ("ToolSearch", Shape::Inside),
    ("BashOutput", Shape::Inside),
    ("KillShell", Shape::Inside),
    ("ListMcpResourcesTool", Shape::Inside),
];

impl Host for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(10)
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PROJECT_DIR")
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        let hook_event = dialect::decode(self.name(), TOOLS, NEUTRAL, payload)?;
        if hook_event.event != SETTINGS {
            return Ok(hook_event);
        }
        let changed = text(payload, "file_path").map(Path::new);
        let what = match changed.and_then(|path| install::switched_off(path, self.name())) {
            Some(why) => What::Refused(why),
            None => What::Nothing,
        };
        Ok(HookEvent { what, ..hook_event })
    }

    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput {
        match said {
            HookAnswer::Deny(reason) if event == SETTINGS => {
                HookOutput::json(&json!({"decision": "block", "reason": reason}))
            }
            _ => dialect::reply(event, said),
        }
    }

    fn broken(&self, event: &str, reason: &str) -> HookOutput {
        // For an unknown event the exit code alone says no; at a prompt only the object does.
        let event = if event.is_empty() { dialect::BEFORE } else { event };
        let reply = self.encode(event, &HookAnswer::Deny(reason));
        if event == dialect::PROMPT { reply } else { reply.failing(reason) }
    }

    fn changed(&self, payload: &Value, edited: &Action) -> Option<Value> {
        dialect::changed(self, TOOLS, payload, edited)
    }

    fn asks(&self, _: &str) -> bool {
        true
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        dialect::canary("Bash", command, cwd)
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        reply.code == 2 || dialect::says_no(reply)
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let path = match installed.scope {
            Scope::User => installed.home_or("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
            Scope::Project => installed.project.join(".claude/settings.json"),
            Scope::Managed => installed.managed(&[
                ("macos", "/Library/Application Support/ClaudeCode/managed-settings.json"),
                ("", "/etc/claude-code/managed-settings.json"),
            ]),
        };
        let (program, words) = installed.words_or_no(self.name());
        let handler = json!({
            "type": "command", "command": program, "args": words,
            "timeout": installed.seconds, "onFailure": "block",
            "statusMessage": install::WAITS,
        });
        let group = json!({"matcher": "*", "hooks": [handler]});
        let mut entries: Vec<Entry> = [dialect::BEFORE, dialect::PROMPT]
            .iter()
            .map(|event| Entry::new(&["hooks", event], group.clone()))
            .collect();
        entries.push(Entry::new(&["hooks", SETTINGS], json!({"hooks": [handler]})));
        let denied = install::hard_blocks().into_iter();
        let denied = denied.map(|words| json!(format!("Bash({})", words.join(" ")))).collect();
        let rules = Entry::run(&["permissions", "deny"], denied);
        Ok(vec![Change::json(path, self.name(), entries).and(rules)])
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        const OWN: Layout = Layout {
            places: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
            ..servers::USUAL
        };
        let path = match installed.scope {
            Scope::User => installed.home_or("CLAUDE_CONFIG_DIR", "")?.join(".claude.json"),
            Scope::Project => installed.project.join(".mcp.json"),
            Scope::Managed => return Ok(Vec::new()),
        };
        Ok(vec![Servers::new(path, &OWN)])
    }

    fn tested(&self) -> Option<Tested> {
        Some(Tested { program: "claude", from: (2, 1, 295), to: (2, 1, 325) })
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "files mentioned with @, and lines you type after !",
            "sessions started with --bare or CLAUDE_CODE_SIMPLE=1, which look for no hooks",
            "before 2.1.295 a hook that crashes, is ended by SIGKILL or cannot be started lets the \
             call go on",
            "only --managed survives a project's disableAllHooks",
        ]
    }
}
