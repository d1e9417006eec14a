//! Starts hooks as their hosts do, and reads their answers.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::host::HookOutput;
use crate::host::install::Line;
use crate::program::run;
use crate::show::one_line;

/// Starts a hook as its host does.
pub(super) fn start(line: &Line, payload: &Value, project: &Path) -> Result<HookOutput, String> {
    let (name, mut command) = match line {
        Line::Words(words) => {
            let mut words = words.iter();
            let program = words.next().map(String::as_str).unwrap_or_default();
            let mut command = Command::new(program);
            command.args(words);
            (program.to_owned(), command)
        }
        Line::Shell(line) => {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            (line.clone(), command)
        }
    };
    run(&mut command, Some(payload), project).map_err(|why| format!("`{}`: {why}", one_line(&name)))
}
