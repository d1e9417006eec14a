//! Cline: a program named after the event, in a folder of hooks.
//!
//! Timeouts, bad JSON and failures are skipped over, so the script itself says no when our binary
//! does not answer.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::host::place::{Change, Installed, Scope};
use crate::host::servers::{self, Layout, Reached, Servers, Spoken};
use crate::host::tool::{self, Shape, Tools};
use crate::host::{Host, Reply, Said, Told, Unreadable, What, object, required, text};

/// The host.
pub(crate) struct Cline;

/// Where its servers stand, and where the extension keeps that file below VS Code's folder.
const SETTINGS: &str = "cline_mcp_settings.json";
const EXTENSION: &str = "globalStorage/saoudrizwan.claude-dev/settings";

const TOOLS: Tools = &[
    ("execute_command", Shape::Shell { command: "command", cwd: None }),
    ("bash", Shape::Shell { command: "command", cwd: None }),
    ("write_to_file", Shape::Write { path: "path", content: &["content"] }),
    ("replace_in_file", Shape::Write { path: "path", content: &["diff"] }),
    ("new_rule", Shape::Write { path: "path", content: &["content"] }),
    ("read_file", Shape::Read("path")),
    ("list_files", Shape::List("path")),
    ("search_files", Shape::Search("path")),
    ("list_code_definition_names", Shape::List("path")),
    ("web_fetch", Shape::Fetch("url")),
    ("ask_followup_question", Shape::Inside),
    ("attempt_completion", Shape::Inside),
    ("plan_mode_respond", Shape::Inside),
    ("act_mode_respond", Shape::Inside),
    ("new_task", Shape::Inside),
    ("condense", Shape::Inside),
    ("focus_chain", Shape::Inside),
];

impl Host for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn title(&self) -> &'static str {
        "Cline"
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn decode(&self, payload: &Value) -> Result<Told, Unreadable> {
        let event = required(payload, "hookName")?;
        let session = ["taskId", "conversationId", "agentId"];
        let session = session.iter().find_map(|name| text(payload, name));
        let root = payload.get("workspaceRoots").and_then(|roots| roots.get(0)?.as_str());
        let mut told = Told {
            event: event.to_owned(),
            session: session.map(str::to_owned),
            cwd: root.map(str::to_owned),
            what: What::Nothing,
        };
        let call = match (payload.get("tool_call"), payload.get("preToolUse")) {
            (Some(call), _) => Some((required(call, "name")?, call.get("input"))),
            (None, Some(call)) => Some((required(call, "toolName")?, call.get("parameters"))),
            (None, None) if matches!(event, "tool_call" | "PreToolUse") => {
                return Err(Unreadable::missing("tool_call"));
            }
            (None, None) => None,
        };
        if let Some((name, input)) = call {
            let input = object(input)?;
            told.what = What::Acts(match (name, mcp(&input)) {
                ("use_mcp_tool", Some((server, name, arguments))) => {
                    vec![tool::unknown(server, name, &object(Some(&arguments))?)]
                }
                _ => tool::actions(self.name(), TOOLS, name, &input)?,
            });
        }
        Ok(told)
    }

    fn encode(&self, _: &str, said: &Said<'_>) -> Reply {
        Reply::json(&match said {
            Said::Neutral | Said::Approved => json!({"cancel": false}),
            Said::Deny(reason) | Said::Ask(reason) => {
                json!({"cancel": true, "errorMessage": reason})
            }
        })
    }

    fn asks(&self, _: &str) -> bool {
        false
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        json!({
            "hookName": "tool_call", "taskId": "canary", "workspaceRoots": [cwd],
            "tool_call": {"id": "1", "name": "execute_command", "input": {"command": command}},
        })
    }

    fn is_stopped_by(&self, reply: &Reply) -> bool {
        let cancels = |object: Value| object.get("cancel") == Some(&Value::Bool(true));
        reply.code == 0 && reply.object().is_some_and(cancels)
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let folders = match installed.scope {
            Scope::User => {
                vec![installed.home(".cline/hooks")?, installed.home("Documents/Cline/Hooks")?]
            }
            Scope::Project | Scope::Managed => vec![
                installed.project.join(".cline/hooks"),
                installed.project.join(".clinerules/hooks"),
            ],
        };
        let patient = Installed { seconds: self.patience().as_secs(), ..installed.clone() };
        let script = script(&patient.line(self.name()));
        let scripts = folders.into_iter().map(|folder| folder.join("PreToolUse"));
        Ok(scripts.map(|path| Change::script(path, script.clone())).collect())
    }

    fn scopes(&self) -> &'static [Scope] {
        &[Scope::User, Scope::Project]
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        const OWN: Layout = Layout {
            urls: &[("url", Spoken::Sse)],
            kind: Some(Reached { field: "type", program: "stdio", http: "streamableHttp" }),
            ..servers::USUAL
        };
        if installed.scope != Scope::User {
            return Ok(Vec::new());
        }
        let named = std::env::var_os("CLINE_MCP_SETTINGS_PATH").filter(|path| !path.is_empty());
        let own = installed.home(".cline/data/settings")?.join(SETTINGS);
        let inside = installed.home(super::vscode::code_folder())?.join(EXTENSION).join(SETTINGS);
        let own = named.map_or(own, std::path::PathBuf::from);
        Ok([own, inside].map(|path| Servers::new(path, &OWN)).to_vec())
    }

    fn holes(&self) -> &'static [&'static str] {
        &[
            "it waits half a minute and cannot be told to wait longer: a question that takes \
             longer is refused",
            "a hook that is killed lets the call go on",
        ]
    }
}

/// What `use_mcp_tool` calls.
fn mcp(input: &Value) -> Option<(&str, &str, Value)> {
    let arguments = input.get("arguments").cloned().unwrap_or_else(|| json!({}));
    Some((text(input, "server_name")?, text(input, "tool_name")?, arguments))
}

fn script(line: &str) -> String {
    let refusal = json!({"cancel": true, "errorMessage": "Countersign did not answer."});
    format!(
        "#!/bin/sh\n# Made by countersign: asks before a tool runs.\n# runs: {line}\n\
         said=$({line}) || said=\n\
         if [ -n \"$said\" ]; then printf '%s\\n' \"$said\"; else echo '{refusal}'; fi\n"
    )
}
