//! The ways in which a tool is asked to run a command.

use countersign_core::Action;
use serde_json::{Value, json};

use super::script;

/// A name, and the arguments of a tool that runs the command.
type Call = (&'static str, fn(&str) -> Option<Value>);

/// All ways.
pub(crate) const CALLS: &[Call] = &[
    ("call: command", |text| Some(json!({"command": text}))),
    ("call: bash -c in args", |text| Some(json!({"command": "bash", "args": ["-c", text]}))),
    ("call: bash -lc in a list", |text| Some(json!({"command": ["bash", "-lc", text]}))),
    ("call: words in argv", |text| Some(json!({"argv": plain(text)?}))),
    ("call: words in a list", |text| Some(json!({"command": plain(text)?}))),
    ("call: program and args", |text| {
        let words = plain(text)?;
        let (program, rest) = words.split_first()?;
        Some(json!({"program": program, "args": rest}))
    }),
    ("call: command and arguments", |text| {
        let words = plain(text)?;
        let (program, rest) = words.split_first()?;
        Some(json!({"command": program, "arguments": rest}))
    }),
];

/// The words of a command in which the shell would not change anything.
fn plain(text: &str) -> Option<Vec<String>> {
    (script::form(text) == script::Form::Plain).then(|| script::words(text))?
}

/// The tool with these arguments.
pub(crate) fn action(arguments: &Value) -> Option<Action> {
    let call = json!({
        "kind": "tool", "server": "shell", "tool": "execute_command", "arguments": arguments,
    });
    serde_json::from_value(call).ok()
}
