//! From start to exit: `countersign check` and a hook against `/bin/true`, one after the other.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sample::Times;

const TURNS: u32 = 300;

/// The three commands that guards of this kind are compared by.
const COMMANDS: &[(&str, &str)] = &[
    ("a harmless command", "ls -la src"),
    ("`rm -rf /`", "rm -rf /"),
    (
        "a heredoc and Python",
        "cat <<'END' > notes.txt\nrm -rf / is bad\nEND\npython3 -c 'print(1)' && git status | head -3",
    ),
];

/// Both programs, in turns.
pub(crate) fn table(binary: &Path) -> Result<String, Box<dyn Error>> {
    let mut table = String::from(
        "| cold start | `true` ms | ours ms | ratio | over 1.5 × `true`, ms | goal |\n\
         |---|---|---|---|---|---|\n",
    );
    for (name, command) in COMMANDS {
        let words = [binary.as_os_str(), "check".as_ref(), "shell".as_ref(), command.as_ref()];
        table += &row(name, "≤ 1", &words, || Ok(Stdio::null()))?;
    }
    let payload = std::env::temp_dir().join(format!("countersign-bench-{}", std::process::id()));
    fs::write(&payload, PAYLOAD)?;
    let words = [binary.as_os_str(), "hook".as_ref(), "claude-code".as_ref()];
    let input = || File::open(&payload).map(Stdio::from);
    let hook = row("a hook that allows", "≤ 1.5", &words, input);
    fs::remove_file(&payload)?;
    Ok(table + &hook?)
}

/// What a host says about a harmless command.
const PAYLOAD: &str = r#"{"session_id":"s","cwd":"/tmp","hook_event_name":"PreToolUse",
"tool_name":"Bash","tool_input":{"command":"ls -la src"}}"#;

fn row(
    name: &str,
    goal: &str,
    words: &[&OsStr],
    input: impl Fn() -> io::Result<Stdio>,
) -> Result<String, Box<dyn Error>> {
    let (mut trues, mut checks) = (Times::default(), Times::default());
    let (binary, words) = words.split_first().ok_or("no program")?;
    for _ in 0..TURNS {
        trues.add(|| start(Command::new("/bin/true").arg("check").stdin(Stdio::null())))?;
        let input = input()?;
        checks.add(|| start(Command::new(binary).args(words).stdin(input)))?;
    }
    let (idle, check) = (trues.median() / 1e3, checks.median() / 1e3);
    Ok(format!(
        "| {name} | {idle:.2} (least {:.2}) | {check:.2} (least {:.2}) | {:.2} | {:.2} | {goal} |\n",
        trues.least() / 1e3,
        checks.least() / 1e3,
        check / idle,
        check - 1.5 * idle,
    ))
}

fn start(command: &mut Command) -> Result<(), Box<dyn Error>> {
    // A verdict is told by the exit code, so any code is fine; only not starting is not.
    command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(())
}
