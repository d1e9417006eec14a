//! Other programs: run to their end within a time, and asked for their version.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::host::HookOutput;

/// Longer than a hook takes when it does not ask.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a command to its end, or kills it at the timeout.
pub(crate) fn run(
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

/// Returns the version that a program reports, if it reports one.
///
/// # Errors
/// It cannot be started, or does not end.
pub(crate) fn version(program: &mut Command) -> Result<Option<(u32, u32, u32)>, String> {
    let reply = run(program.arg("--version"), None, Path::new("."))?;
    Ok(parse_version(&reply.out).or_else(|| parse_version(&reply.err)))
}

/// Parses the first three numbers with dots between them.
fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let words = text.split(|char: char| !char.is_ascii_digit() && char != '.');
    words.into_iter().find_map(|word| {
        let mut numbers = word.split('.').map(str::parse);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Some((major, minor, patch)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        assert_eq!(parse_version("2.1.325 (Claude Code)\n"), Some((2, 1, 325)));
        assert_eq!(parse_version("codex-cli 0.166.0"), Some((0, 166, 0)));
        assert_eq!(parse_version("1.109.2\nabc\nx64"), Some((1, 109, 2)));
        assert_eq!(parse_version("none"), None);
    }
}
