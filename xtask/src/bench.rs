//! Runs `bench/` on a release build, and keeps its table in `docs/performance.md`.

use std::fs;
use std::process::{Command, Stdio};

use crate::Result;
use crate::generated::{How, between, settle};
use crate::process::{cargo, root, run as run_command, target};

const PAGE: &str = "docs/performance.md";

/// Measures and rewrites the table.
///
/// # Errors
/// The build or the measurement failed.
pub(crate) fn run() -> Result {
    run_command(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "countersign",
        "--package",
        "bench",
    ]))?;
    let release = target().join("release");
    let output = Command::new(release.join("bench"))
        .arg(release.join("countersign"))
        .stderr(Stdio::inherit())
        .output()?;
    let table = String::from_utf8(output.stdout)?;
    print!("{table}");
    if !output.status.success() {
        return Err(format!("bench: {}", output.status).into());
    }
    let page = fs::read_to_string(root().join(PAGE))?;
    settle(PAGE, &between(&page, "bench", &table)?, How::Write, "bench")
}
