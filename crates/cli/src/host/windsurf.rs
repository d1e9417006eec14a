//! Windsurf: exit code 2 stops the action, with the reason on standard error; any other lets it
//! continue.

use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{Change, Entry, Installed, Scope};
use crate::host::servers::{self, Layout, Servers, Spoken};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, UNCHANGEABLE, Unreadable, What, object, required,
    text, tool,
};

/// The host.
pub(crate) struct Windsurf;

const EVENTS: [&str; 4] =
    ["pre_run_command", "pre_write_code", "pre_read_code", "pre_mcp_tool_use"];

/// Events in which nothing happens that a hook could prevent, and the user's prompts.
const NEUTRAL: &[&str] = &[
    "post_cascade_response",
    "post_cascade_response_with_transcript",
    "post_mcp_tool_use",
    "post_read_code",
    "post_run_command",
    "post_setup_worktree",
    "post_write_code",
    "pre_user_prompt",
];

impl Host for Windsurf {
    fn name(&self) -> &'static str {
        "windsurf"
    }

    fn title(&self) -> &'static str {
        "Windsurf"
    }

    fn patience(&self) -> Duration {
        // The timeout is not documented and cannot be set.
        Duration::from_secs(30)
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        let event = required(payload, "agent_action_name")?;
        let nothing = json!({});
        let info = payload.get("tool_info").unwrap_or(&nothing);
        let path = || required(info, "file_path").map(str::to_owned);
        let what = match event {
            "pre_run_command" => What::Acts(vec![Action::Shell {
                command: required(info, "command_line")?.to_owned(),
                cwd: None,
            }]),
            "pre_write_code" => {
                let edits = info.get("edits").and_then(Value::as_array).into_iter().flatten();
                let added = edits.map(|edit| required(edit, "new_string"));
                let added = added.collect::<Result<Vec<_>, _>>()?;
                What::Acts(vec![Action::FileWrite {
                    path: path()?,
                    content: Some(added.join("\n")),
                }])
            }
            "pre_read_code" => What::Acts(vec![Action::FileRead { path: path()? }]),
            "pre_mcp_tool_use" => {
                let arguments = object(info.get("mcp_tool_arguments"))?;
                let server = required(info, "mcp_server_name")?;
                let name = required(info, "mcp_tool_name")?;
                What::Acts(vec![tool::unknown(server, name, &arguments)])
            }
            other if NEUTRAL.contains(&other) => What::Nothing,
            other => return Err(Unreadable::event(other)),
        };
        Ok(HookEvent {
            event: event.to_owned(),
            session: text(payload, "trajectory_id").map(str::to_owned),
            cwd: text(info, "cwd").map(str::to_owned),
            call: None,
            what,
        })
    }

    fn encode(&self, _: &str, said: &HookAnswer<'_>) -> HookOutput {
        match said {
            HookAnswer::Neutral | HookAnswer::Approved(_) => HookOutput::empty(),
            HookAnswer::Changed(_) => HookOutput::empty().failing(UNCHANGEABLE),
            HookAnswer::Deny(reason) | HookAnswer::Ask(reason) => {
                HookOutput::empty().failing(reason)
            }
        }
    }

    fn asks(&self, _: &str) -> bool {
        false
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        json!({
            "agent_action_name": "pre_run_command", "trajectory_id": "canary",
            "tool_info": {"command_line": command, "cwd": cwd},
        })
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        reply.code == 2
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let path = match installed.scope {
            Scope::User => installed.home(".codeium/windsurf/hooks.json")?,
            Scope::Project => installed.project.join(".windsurf/hooks.json"),
            Scope::Managed => installed.managed(&[
                ("macos", "/Library/Application Support/Windsurf/hooks.json"),
                ("", "/etc/windsurf/hooks.json"),
            ]),
        };
        let patient = Installed { seconds: self.patience().as_secs(), ..installed.clone() };
        let hook = json!({"command": patient.line_or_no(self.name()), "show_output": true});
        let entries = EVENTS.iter().map(|event| Entry::new(&["hooks", event], hook.clone()));
        Ok(vec![Change::json(path, self.name(), entries.collect())])
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        const OWN: Layout = Layout {
            urls: &[("serverUrl", Spoken::Http), ("url", Spoken::Http)],
            ..servers::USUAL
        };
        if installed.scope != Scope::User {
            return Ok(Vec::new());
        }
        let path = installed.home(".codeium/windsurf")?.join("mcp_config.json");
        Ok(vec![Servers::new(path, &OWN)])
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "a hook that crashes or is ended by SIGKILL lets the action go on",
            "a question must be answered within half a minute: what is not, is refused",
            "web search and browser previews have no hook",
        ]
    }
}
