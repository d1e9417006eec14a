//! Starts hooks as their hosts do, and reads their answers.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::host::HookOutput;
use crate::host::install::Line;
use crate::show::one_line;

/// Longer than a hook takes when it does not ask.
const PATIENCE: Duration = Duration::from_secs(20);

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

/// Runs a command to its end, or kills it at the timeout.
pub(super) fn run(
    command: &mut Command,
    payload: Option<&Value>,
    folder: &Path,
) -> Result<HookOutput, String> {
    let missing = |error: io::Error| format!("cannot be started ({error})");
    command.current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(missing)?;
    if let (Some(mut stdin), Some(payload)) = (child.stdin.take(), payload) {
        // Smaller than any pipe buffer, so this does not block.
        let _ = stdin.write_all(payload.to_string().as_bytes());
    }
    let until = Instant::now() + PATIENCE;
    while child.try_wait().map_err(missing)?.is_none() {
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            return Err("does not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = child.wait_with_output().map_err(missing)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = ended.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(HookOutput { out: text(ended.stdout), err: text(ended.stderr), code })
}
