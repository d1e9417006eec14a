//! From start to exit: `countersign check` against `/bin/true`, one after the other.

use std::error::Error;
use std::fmt::Write as _;
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
        "| cold start | `true` ms | check ms | ratio | over 1.5 × `true`, ms | goal |\n\
         |---|---|---|---|---|---|\n",
    );
    for (name, command) in COMMANDS {
        let (mut trues, mut checks) = (Times::default(), Times::default());
        for _ in 0..TURNS {
            trues.add(|| start(Command::new("/bin/true").arg("check")))?;
            checks.add(|| start(Command::new(binary).args(["check", "shell", command])))?;
        }
        let (idle, check) = (trues.median() / 1e3, checks.median() / 1e3);
        writeln!(
            table,
            "| {name} | {idle:.2} (least {:.2}) | {check:.2} (least {:.2}) | {:.2} | {:.2} | ≤ 1 |",
            trues.least() / 1e3,
            checks.least() / 1e3,
            check / idle,
            check - 1.5 * idle,
        )?;
    }
    Ok(table)
}

fn start(command: &mut Command) -> Result<(), Box<dyn Error>> {
    // A verdict is told by the exit code, so any code is fine; only not starting is not.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(())
}
