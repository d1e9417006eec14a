//! Other programs, started in the workspace.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::Result;

/// The only profile that is used, so that nothing is compiled twice.
pub(crate) const PROFILE: &str = "ci";

/// Returns the root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Returns the target folder.
pub(crate) fn target() -> PathBuf {
    // A relative path is relative to the workspace, where `cargo` below is started.
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Returns a `cargo` command with these words, in the workspace.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    command
}

/// Reports whether cargo has this subcommand.
pub(crate) fn has_subcommand(name: &str) -> bool {
    cargo(&[name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started, or it fails.
pub(crate) fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| format!("{}: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(command)).into()) }
}

/// Runs a command to its end, passes on all output, and returns the lines that `keep` selects.
///
/// # Errors
/// It cannot be started, or it fails; the lines kept until then are printed.
pub(crate) fn run_keeping(command: &mut Command, keep: fn(&str) -> bool) -> Result<Vec<String>> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let kept: Vec<String> = thread::scope(|scope| {
        let out = scope.spawn(move || pass_on(out, std::io::stdout(), keep));
        let err = scope.spawn(move || pass_on(err, std::io::stderr(), keep));
        [out, err].into_iter().filter_map(|reader| reader.join().ok()).flatten().collect()
    });
    let status = child.wait()?;
    if status.success() { Ok(kept) } else { Err(format!("{}: {status}", shown(command)).into()) }
}

fn pass_on(
    from: Option<impl Read>,
    mut to: impl std::io::Write,
    keep: fn(&str) -> bool,
) -> Vec<String> {
    let Some(from) = from else { return Vec::new() };
    let mut kept = Vec::new();
    // Bytes, because a program under test may print anything.
    for line in BufReader::new(from).split(b'\n').map_while(std::result::Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        // A closed terminal must not stop the run; the exit code is still reported.
        let _ = writeln!(to, "{line}");
        if keep(&line) {
            kept.push(line);
        }
    }
    kept
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}
