//! Cline: a program named after the event, in a folder of hooks.
//!
//! Cline ignores timeouts, bad JSON and failures, so the script itself says no when our binary does
//! not answer. The command line also reads the extension's folders and runs every program it finds,
//! so only one script is installed, in one folder.
//!
//! A no ends the run, and the model never learns the reason. The command line also accepts another
//! input for a call: a refused shell call becomes a call without commands, with the reason beside
//! it for the model. That is sent only to versions that are known to accept it: any other would run
//! the call.

use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use countersign_gate::process::{Processes as _, System};
use serde_json::{Value, json};

use crate::host::install::{Change, Installed, Scope};
use crate::host::servers::{self, Layout, Reached, Servers, Spoken};
use crate::host::tool::{self, Shape, Tools};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, UNCHANGEABLE, Unreadable, What, object, required, text,
};
use crate::quote;

/// The host.
pub(crate) struct Cline;

/// The file that names its servers, and the extension's folder for it below VS Code's folder.
const SETTINGS: &str = "cline_mcp_settings.json";
const EXTENSION: &str = "globalStorage/saoudrizwan.claude-dev/settings";

/// The events before a tool is used, as the command line and the extension name them.
const BEFORE: [&str; 2] = ["tool_call", "PreToolUse"];

/// The command line's shell tool, and the event name that marks a call of it until it is answered.
const SHELL: &str = "run_commands";
const SHELL_CALL: &str = "tool_call run_commands";

/// The first version that is known to accept another input for a call.
const TAKES_INPUT: (u32, u32, u32) = (3, 0, 65);

/// Events in which nothing happens that a hook could prevent.
const NEUTRAL: &[&str] = &[
    "Notification",
    "PostToolUse",
    "PreCompact",
    "SessionShutdown",
    "TaskCancel",
    "TaskComplete",
    "TaskError",
    "TaskResume",
    "TaskStart",
    "UserPromptSubmit",
    "agent_abort",
    "agent_end",
    "agent_error",
    "agent_resume",
    "agent_start",
    "pre_compact",
    "prompt_submit",
    "session_shutdown",
    "tool_result",
];

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
    ("editor", Shape::Write { path: "path", content: &["new_text"] }),
    ("apply_patch", Shape::Patch("input")),
    ("search_codebase", Shape::Search("path")),
    ("skills", Shape::Inside),
    ("ask_question", Shape::Inside),
    ("submit_and_exit", Shape::Inside),
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

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        let event = required(payload, "hookName")?;
        let session = ["taskId", "conversationId", "agentId"];
        let session = session.iter().find_map(|name| text(payload, name));
        let root = payload.get("workspaceRoots").and_then(|roots| roots.get(0)?.as_str());
        let mut hook_event = HookEvent {
            event: event.to_owned(),
            session: session.map(str::to_owned),
            cwd: root.map(str::to_owned),
            call: payload.pointer("/tool_call/id").and_then(Value::as_str).map(str::to_owned),
            what: What::Nothing,
        };
        let call = match (payload.get("tool_call"), payload.get("preToolUse")) {
            (Some(call), _) => Some((required(call, "name")?, call.get("input"))),
            (None, Some(call)) => Some((required(call, "toolName")?, call.get("parameters"))),
            (None, None) if NEUTRAL.contains(&event) => None,
            (None, None) if BEFORE.contains(&event) => {
                return Err(Unreadable::missing("tool_call"));
            }
            (None, None) => return Err(Unreadable::event(event)),
        };
        if let Some((name, input)) = call {
            hook_event.what = What::Acts(actions(name, input)?);
            if (event, name) == ("tool_call", SHELL) {
                SHELL_CALL.clone_into(&mut hook_event.event);
            }
        }
        Ok(hook_event)
    }

    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput {
        HookOutput::json(&match said {
            HookAnswer::Neutral | HookAnswer::Approved(_) => json!({"cancel": false}),
            HookAnswer::Changed(_) => json!({"cancel": true, "errorMessage": UNCHANGEABLE}),
            HookAnswer::Deny(reason) | HookAnswer::Ask(reason) => {
                refusal(reason, event == SHELL_CALL && tells_its_model())
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

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        let empty = json!({"commands": []});
        let cancels = |object: Value| {
            object.get("cancel") == Some(&Value::Bool(true))
                || object.get("overrideInput") == Some(&empty)
        };
        reply.code == 0 && reply.object().is_some_and(cancels)
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        // The command line and the extension both read the first; only the command line reads the
        // other.
        let (folder, other) = match installed.scope {
            Scope::User => {
                (installed.home("Documents/Cline/Hooks")?, installed.home(".cline/hooks")?)
            }
            Scope::Project | Scope::Managed => (
                installed.project.join(".clinerules/hooks"),
                installed.project.join(".cline/hooks"),
            ),
        };
        let patient = Installed { seconds: self.patience().as_secs(), ..installed.clone() };
        let script = script(&patient.line(self.name()));
        let (path, other) = (folder.join("PreToolUse"), other.join("PreToolUse"));
        Ok(vec![Change::script(path, script), Change::gone(other)])
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
            "a no to anything but a command ends the run: Cline shows the reason to you, and its \
             model never sees it (in the extension, and before 3.0.65, that goes for commands too)",
            "a script that is ended by SIGKILL lets the call go on",
        ]
    }
}

/// The server, the tool and the arguments that `use_mcp_tool` calls.
fn mcp(input: &Value) -> Option<(&str, &str, Value)> {
    let arguments = input.get("arguments").cloned().unwrap_or_else(|| json!({}));
    Some((text(input, "server_name")?, text(input, "tool_name")?, arguments))
}

/// A no: ends the run, or becomes a call without commands, with the reason for the model.
fn refusal(reason: &str, tells_its_model: bool) -> Value {
    if tells_its_model {
        json!({"cancel": false, "context": reason, "overrideInput": {"commands": []}})
    } else {
        json!({"cancel": true, "errorMessage": reason})
    }
}

/// Reports whether we are run by a version of the command line that accepts another input.
fn tells_its_model() -> bool {
    let mut pid = std::process::id();
    // The script's shell is in between.
    for _ in 0..4 {
        let Some(parent) = System.parent(pid) else { return false };
        let program = std::fs::read_link(format!("/proc/{parent}/exe")).unwrap_or_default();
        let folder = program.parent().and_then(std::path::Path::parent);
        let package = folder.map(|folder| std::fs::read_to_string(folder.join("package.json")));
        if let Some(Ok(package)) = package
            && takes_input(&package)
        {
            return true;
        }
        pid = parent;
    }
    false
}

/// Reports whether a `package.json` describes such a version.
fn takes_input(package: &str) -> bool {
    let package: Value = serde_json::from_str(package).unwrap_or_default();
    let is_cline = text(&package, "name").is_some_and(|name| name.starts_with("@cline/cli-"));
    let version = text(&package, "version").and_then(numbers);
    is_cline && version.is_some_and(|version| version >= TAKES_INPUT)
}

fn numbers(version: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// The actions of a call.
fn actions(name: &str, input: Option<&Value>) -> Result<Vec<Action>, Unreadable> {
    let nothing = Value::Null;
    let wrong = || Unreadable(format!("`{name}` with an input in a shape that is not known"));
    let found = match name {
        "run_commands" => commands(input.unwrap_or(&nothing)).ok_or_else(wrong)?,
        "read_files" => files(input.unwrap_or(&nothing)).ok_or_else(wrong)?,
        "fetch_web_content" => pages(input.unwrap_or(&nothing)).ok_or_else(wrong)?,
        _ => {
            let input = object(input)?;
            return Ok(match (name, mcp(&input)) {
                ("use_mcp_tool", Some((server, name, arguments))) => {
                    vec![tool::unknown(server, name, &object(Some(&arguments))?)]
                }
                _ => tool::actions("cline", TOOLS, name, &input)?,
            });
        }
    };
    if found.is_empty() { Err(wrong()) } else { Ok(found) }
}

/// All commands, in any of the shapes that the tool accepts: a text, a program with its arguments,
/// and lists of both.
fn commands(input: &Value) -> Option<Vec<Action>> {
    let shell = |command: String| Action::Shell { command, cwd: None };
    match input {
        Value::String(command) => Some(vec![shell(command.clone())]),
        Value::Array(all) => all.iter().map(commands).collect::<Option<Vec<_>>>().map(flat),
        Value::Object(fields) => match (fields.get("commands"), fields.get("args")) {
            (Some(commands_), _) => commands(commands_),
            (None, None) => {
                let command = fields.get("command").or_else(|| fields.get("cmd"))?.as_str()?;
                Some(vec![shell(command.to_owned())])
            }
            (None, Some(words)) => {
                let words = words.as_array()?.iter().map(Value::as_str);
                let words = words.collect::<Option<Vec<_>>>()?;
                let program = fields.get("command")?.as_str()?;
                Some(vec![shell(quote::join(std::iter::once(program).chain(words)))])
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// All files, in any of the shapes that the tool accepts.
fn files(input: &Value) -> Option<Vec<Action>> {
    match input {
        Value::String(path) => Some(vec![Action::FileRead { path: path.clone() }]),
        Value::Array(all) => all.iter().map(files).collect::<Option<Vec<_>>>().map(flat),
        Value::Object(fields) => {
            let names = ["path", "file_path", "filePath", "files", "file_paths", "paths"];
            files(names.iter().find_map(|name| fields.get(*name))?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// All URLs.
fn pages(input: &Value) -> Option<Vec<Action>> {
    let requests = input.get("requests")?.as_array()?;
    let url = |request: &Value| Some(Action::Navigate { url: text(request, "url")?.to_owned() });
    requests.iter().map(url).collect()
}

fn flat(all: Vec<Vec<Action>>) -> Vec<Action> {
    all.into_iter().flatten().collect()
}

/// Runs the hook as a background job of the shell, so that a signal to the shell reaches the hook,
/// which says no itself; any other failure to answer is a no as well.
fn script(line: &str) -> String {
    let refusal = json!({"cancel": true, "errorMessage": "Countersign did not answer."});
    format!(
        "#!/bin/sh\n# Made by countersign: asks before a tool runs.\n# runs: {line}\n\
         exec 3<&0\n{line} <&3 &\nhook=$!\n\
         trap 'kill -TERM $hook 2>/dev/null' HUP INT QUIT PIPE TERM USR1 USR2\n\
         wait $hook\ncode=$?\n\
         while kill -0 $hook 2>/dev/null; do wait $hook; code=$?; done\n\
         [ $code -eq 0 ] || echo '{refusal}'\nexit 0\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_its_commands_is_a_shell_command() {
        let of = |input: &Value| actions("run_commands", Some(input)).ok();
        let shell = |text: &str| Action::Shell { command: text.to_owned(), cwd: None };
        let (a, b) = (shell("rm -rf /"), shell("ls"));
        for input in [
            json!({"commands": ["rm -rf /", "ls"]}),
            json!(["rm -rf /", "ls"]),
            json!([{"command": "rm", "args": ["-rf", "/"]}, "ls"]),
            json!({"commands": [{"command": "rm", "args": ["-rf", "/"]}, {"command": "ls"}]}),
        ] {
            assert_eq!(of(&input), Some(vec![a.clone(), b.clone()]), "{input}");
        }
        for input in [json!("ls"), json!({"command": "ls"}), json!({"cmd": "ls"})] {
            assert_eq!(of(&input), Some(vec![b.clone()]), "{input}");
        }
        for odd in [json!({}), json!([]), json!(1), json!({"commands": [1]}), json!({"x": "ls"})] {
            assert_eq!(of(&odd), None, "{odd}");
        }
    }

    #[test]
    fn only_a_version_that_takes_another_input_is_given_one() {
        let package = |name: &str, version: &str| {
            takes_input(&json!({"name": name, "version": version}).to_string())
        };
        assert!(package("@cline/cli-linux-x64", "3.0.65") && package("@cline/cli-x", "4.0.0"));
        for (name, version) in [
            ("@cline/cli-linux-x64", "3.0.64"),
            ("@cline/cli-linux-x64", "3.0"),
            ("@cline/cli-linux-x64", "next"),
            ("cline-like", "9.9.9"),
        ] {
            assert!(!package(name, version), "{name} {version}");
        }
        assert!(!takes_input("{"));
        for tells in [true, false] {
            let reply = HookOutput::json(&refusal("because", tells));
            assert!(Cline.is_stopped_by(&reply) && reply.out.contains("because"), "{reply:?}");
        }
    }

    #[test]
    fn every_shape_of_its_files_is_read() {
        for input in [
            json!({"files": [{"path": "/etc/shadow"}]}),
            json!({"paths": "/etc/shadow"}),
            json!([{"filePath": "/etc/shadow"}]),
        ] {
            let found = actions("read_files", Some(&input)).unwrap();
            assert_eq!(found, [Action::FileRead { path: "/etc/shadow".to_owned() }], "{input}");
        }
        assert!(actions("read_files", Some(&json!({"glob": "*"}))).is_err());
        assert!(actions("fetch_web_content", Some(&json!({"url": "x"}))).is_err());
    }
}
