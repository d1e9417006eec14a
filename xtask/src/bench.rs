//! Runs `bench/` on a release build, and writes its tables to `docs/performance.md`.

use std::fs;
use std::process::{Command, Stdio};

use crate::Result;
use crate::generated::{How, between, settle};
use crate::process::{cargo, root, run as run_command, target};

const PAGE: &str = "docs/performance.md";

/// Measures everything and rewrites the tables.
///
/// # Errors
/// The build or a measurement failed.
pub(crate) fn run() -> Result {
    build()?;
    measure(&[], "bench")?;
    measure(&["mcp"], "mcp")
}

/// Measures the MCP proxy and rewrites its table.
///
/// # Errors
/// The build or the measurement failed.
pub(crate) fn mcp() -> Result {
    build()?;
    measure(&["mcp"], "mcp")
}

fn build() -> Result {
    run_command(&mut cargo(&[
        "build",
        "--profile",
        "dist",
        "--package",
        "countersign",
        "--package",
        "bench",
    ]))
}

/// Runs the benchmark with these arguments, for the marked part of the page.
fn measure(words: &[&str], part: &str) -> Result {
    let built = target().join("dist");
    let output = Command::new(built.join("bench"))
        .args(words)
        .arg(built.join("countersign"))
        .stderr(Stdio::inherit())
        .output()?;
    let table = String::from_utf8(output.stdout)?;
    print!("{table}");
    if !output.status.success() {
        return Err(format!("bench: {}", output.status).into());
    }
    let page = fs::read_to_string(root().join(PAGE))?;
    settle(PAGE, &between(&page, part, &table)?, How::Write, "bench")
}
