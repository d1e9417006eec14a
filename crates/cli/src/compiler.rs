//! Asks the compiler of macOS whether a script is valid. Compiling it runs nothing.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

/// Its path on macOS. Not searched in `PATH`, to which an agent can add a program of that name.
const OSACOMPILE: &str = "/usr/bin/osacompile";

/// Returns the errors that the compiler reports, or `None` where the compiler is missing.
///
/// # Errors
/// The compiler exists but cannot be run.
pub(crate) fn errors(script: &str) -> Result<Option<Vec<String>>> {
    if !Path::new(OSACOMPILE).is_file() {
        return Ok(None);
    }
    let mut child = Command::new(OSACOMPILE)
        .args(["-o", "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start osacompile")?;
    if let Some(mut input) = child.stdin.take() {
        match input.write_all(script.as_bytes()) {
            // It may stop reading before the end.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(error).context("cannot write to osacompile");
            }
            _ => {}
        }
    }
    let output = child.wait_with_output().context("cannot wait for osacompile")?;
    if output.status.success() {
        return Ok(Some(Vec::new()));
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let mut errors: Vec<String> =
        told.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if errors.is_empty() {
        errors.push("osacompile refused it without a reason".to_owned());
    }
    Ok(Some(errors))
}
