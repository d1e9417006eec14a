//! The official SDKs of MCP, whose clients and servers the tests run through our proxy.
//!
//! They are somebody else's, so they are no part of the repository: `tests/mcp` names every package
//! with its digest, and says nothing about where packages come from. Nothing they bring is run while
//! they are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{NPM, Tool, digest};
use crate::Result;
use crate::process::{root, run, target};

const PYTHON: Tool = Tool { names: &["python3"], packages: &["python3", "python3-venv"] };
/// Where there are several, the first that is new enough.
const PYTHONS: &[&str] = &[
    "python3",
    "python3.13",
    "python3.12",
    "python3.11",
    // Debian's own, where another one stands before it on the path.
    "/usr/bin/python3",
];
/// What a Python must have. Debian's has no `ensurepip` without a package of its own.
const PYTHON_WILL_DO: &str =
    "import sys, venv, ensurepip; sys.exit(0 if sys.version_info >= (3, 11) else 1)";

/// Installs both SDKs, unless they are there.
///
/// # Errors
/// Python or Node.js is missing and cannot be had, or a package is not the one that is written down.
pub(super) fn provide() -> Result {
    let tests = root().join("tests/mcp");
    install("MCP SDK for Python", "python", &[tests.join("requirements.txt")], python)?;
    let locks =
        ["package.json", "package-lock.json"].map(|name| tests.join("typescript").join(name));
    install("MCP SDK for TypeScript", "typescript", &locks, typescript)
}

/// Installs into a folder of its own, which says at the end by what lock files it was made.
fn install(
    what: &str,
    name: &str,
    locks: &[PathBuf],
    by: fn(&Path, &[PathBuf]) -> Result,
) -> Result {
    let folder = target().join("mcp-sdk").join(name);
    let stamp = folder.join("stamp");
    let mut wanted = Vec::new();
    for lock in locks {
        wanted.extend(fs::read(lock)?);
    }
    let wanted = digest(&wanted);
    if fs::read_to_string(&stamp).is_ok_and(|made_by| made_by == wanted) {
        println!("{what}: there");
        return Ok(());
    }
    // Another version, or half of one.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    println!("{what}: installing");
    by(&folder, locks)?;
    Ok(fs::write(stamp, wanted)?)
}

fn python(folder: &Path, locks: &[PathBuf]) -> Result {
    if a_python().is_none() {
        PYTHON.install()?;
    }
    let found = a_python().ok_or("please install Python 3.11 or newer, with venv")?;
    run(Command::new(found).args(["-m", "venv"]).arg(folder))?;
    // Wheels alone: building one would run what it brings.
    let words = ["install", "--quiet", "--no-input", "--only-binary", ":all:", "--require-hashes"];
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip"]).args(words);
    for lock in locks {
        pip.arg("--requirement").arg(lock);
    }
    run(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))
}

fn a_python() -> Option<&'static str> {
    PYTHONS.iter().copied().find(|name| {
        let mut python = Command::new(name);
        python.args(["-c", PYTHON_WILL_DO]).stdout(Stdio::null()).stderr(Stdio::null());
        python.status().is_ok_and(|status| status.success())
    })
}

fn typescript(folder: &Path, locks: &[PathBuf]) -> Result {
    NPM.provide()?;
    for lock in locks {
        let name = lock.file_name().ok_or("a lock file has a name")?;
        fs::copy(lock, folder.join(name))?;
    }
    let words = [
        "ci",
        "--loglevel=error",
        "--ignore-scripts",
        "--engine-strict",
        "--no-audit",
        "--no-fund",
    ];
    run(Command::new("npm").args(words).current_dir(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_name_digests_and_no_place_to_fetch_from() {
        let tests = root().join("tests/mcp");
        let python = fs::read_to_string(tests.join("requirements.txt")).expect("a file");
        let names = python.lines().filter(|line| line.contains("==") && !line.starts_with('#'));
        assert!(names.count() > 10);
        for word in ["://", "--index-url", "--extra-index-url", "--find-links"] {
            assert!(!python.contains(word), "{word}");
        }
        let lock = fs::read_to_string(tests.join("typescript/package-lock.json")).expect("a file");
        let lock: serde_json::Value = serde_json::from_str(&lock).expect("JSON");
        for (name, package) in lock["packages"].as_object().expect("packages") {
            assert!(package.get("resolved").is_none(), "{name}");
            assert!(name.is_empty() || package["integrity"].is_string(), "{name}");
        }
    }
}
