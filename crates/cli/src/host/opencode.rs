//! `OpenCode`: a plugin of our own that starts the hook and throws unless it says yes.
//!
//! Plugins run inside the host without a timeout; any exception stops the tool. So the plugin
//! itself fails closed: it throws if the answer is missing, unknown or late.

use std::time::Duration;

use anyhow::Result;
use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::install::{Change, Installed, Scope};
use crate::host::servers::{self, Servers};
use crate::host::tool::{self, Shape, Tools};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, Tested, Unreadable, What, object, required, text,
};

/// The host.
pub(crate) struct OpenCode;

const BEFORE: &str = "tool.execute.before";

const TOOLS: Tools = &[
    ("bash", Shape::Shell { command: "command", cwd: Some("workdir") }),
    ("write", Shape::Write { path: "filePath", content: &["content"] }),
    ("edit", Shape::Write { path: "filePath", content: &["newString"] }),
    ("patch", Shape::Patch("patchText")),
    ("apply_patch", Shape::Patch("patchText")),
    ("read", Shape::Read("filePath")),
    ("grep", Shape::Search("path")),
    ("glob", Shape::List("path")),
    ("list", Shape::List("path")),
    ("webfetch", Shape::Fetch("url")),
    ("websearch", Shape::Inside),
    ("task", Shape::Inside),
    ("todowrite", Shape::Inside),
    ("todoread", Shape::Inside),
    ("question", Shape::Inside),
    ("skill", Shape::Inside),
];

impl Host for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(330)
    }

    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable> {
        let name = required(payload, "tool")?;
        let input = object(payload.get("args"))?;
        Ok(HookEvent {
            event: BEFORE.to_owned(),
            session: text(payload, "sessionID").map(str::to_owned),
            cwd: text(payload, "directory").map(str::to_owned),
            call: text(payload, "callID").map(str::to_owned),
            what: What::Acts(tool::actions(self.name(), TOOLS, name, &input)?),
        })
    }

    fn encode(&self, _: &str, said: &HookAnswer<'_>) -> HookOutput {
        HookOutput::json(&match said {
            HookAnswer::Neutral | HookAnswer::Approved(_) => json!({"decision": "allow"}),
            HookAnswer::Changed(input) => json!({"decision": "allow", "args": input}),
            HookAnswer::Deny(reason) | HookAnswer::Ask(reason) => {
                json!({"decision": "deny", "reason": reason})
            }
        })
    }

    fn changed(&self, payload: &Value, edited: &Action) -> Option<Value> {
        let input = object(payload.get("args")).ok()?;
        let changed = tool::changed(TOOLS, text(payload, "tool")?, &input, edited)?;
        tool::read_back(self, payload, "args", changed, edited)
    }

    fn asks(&self, _: &str) -> bool {
        false
    }

    fn canary(&self, command: &str, cwd: &str) -> Value {
        json!({
            "tool": "bash", "sessionID": "canary", "callID": "1", "directory": cwd,
            "args": {"command": command},
        })
    }

    fn is_stopped_by(&self, reply: &HookOutput) -> bool {
        let allowed = |object: Value| text(&object, "decision") == Some("allow");
        reply.code != 0 || !reply.object().is_some_and(allowed)
    }

    fn plan(&self, installed: &Installed<'_>) -> Result<Vec<Change>> {
        let folder = match installed.scope {
            Scope::User => installed.home_or("OPENCODE_CONFIG_DIR", ".config/opencode")?,
            Scope::Project | Scope::Managed => installed.project.join(".opencode"),
        };
        Ok(vec![Change::whole(folder.join("plugins/countersign.js"), plugin(installed))])
    }

    fn scopes(&self) -> &'static [Scope] {
        &[Scope::User, Scope::Project]
    }

    fn servers(&self, installed: &Installed<'_>) -> Result<Vec<Servers>> {
        let folder = match installed.scope {
            Scope::User => installed.home_or("OPENCODE_CONFIG_DIR", ".config/opencode")?,
            Scope::Project => installed.project.to_owned(),
            Scope::Managed => return Ok(Vec::new()),
        };
        let files = ["opencode.json", "opencode.jsonc"];
        Ok(files.map(|file| Servers::new(folder.join(file), &servers::OPENCODE)).to_vec())
    }

    fn tested(&self) -> Option<Tested> {
        Some(Tested { program: "opencode", from: (1, 18, 0), to: (1, 19, 99) })
    }

    fn holes(&self) -> &'static [&'static str] {
        &["version 2 has other plugins: the one installed is for 1.x"]
    }
}

fn plugin(installed: &Installed<'_>) -> String {
    let (program, words) = installed.words("opencode");
    let kill = installed.seconds.saturating_mul(1_000);
    format!(
        r#"// Made by countersign: asks before a tool runs, and throws unless the answer is yes.
// runs: {line}
import {{ spawn }} from "node:child_process"

const ask = (payload) =>
  new Promise((resolve, reject) => {{
    const hook = spawn({program}, {words}, {{ stdio: ["pipe", "pipe", "ignore"], timeout: {kill} }})
    let said = ""
    hook.on("error", reject)
    hook.stdin.on("error", () => {{}})
    hook.stdout.on("data", (part) => (said += part))
    hook.on("close", (code) => (code === 0 ? resolve(said) : reject(new Error("the hook failed"))))
    hook.stdin.end(JSON.stringify(payload))
  }})

export const Countersign = async ({{ directory }}) => ({{
  "tool.execute.before": async (input, output) => {{
    const answer = JSON.parse(await ask({{ ...input, args: output.args, directory }}))
    if (answer.decision !== "allow") throw new Error(answer.reason || "Countersign said no")
    if (answer.args) {{
      // In place: another object would not be looked at.
      for (const name of Object.keys(output.args)) delete output.args[name]
      Object.assign(output.args, answer.args)
    }}
  }},
}})
"#,
        line = installed.line("opencode"),
        program = Value::from(program),
        words = json!(words),
    )
}
