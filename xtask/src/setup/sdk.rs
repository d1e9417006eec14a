//! The official SDKs of MCP, whose clients and servers the tests run through our proxy.
//!
//! They are third-party code, so they are not part of the repository: `tests/mcp` names every
//! package with its digest, without a registry. No code of theirs is run during the installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{NPM, Tool, digest};
use crate::Result;
use crate::process::{root, run, target};

const PYTHON: Tool = Tool { names: &["python3"], packages: &["python3", "python3-venv"] };
/// The names of Python; the first one that is new enough is used.
const PYTHONS: &[&str] = &[
    "python3",
    "python3.13",
    "python3.12",
    "python3.11",
    // Debian's own, where another one precedes it on the path.
    "/usr/bin/python3",
];
/// The requirements for Python. Debian's needs a package of its own for `ensurepip`.
const PYTHON_WILL_DO: &str =
    "import sys, venv, ensurepip; sys.exit(0 if sys.version_info >= (3, 11) else 1)";

/// Installs both SDKs, unless they are already installed.
///
/// # Errors
/// Python or Node.js is missing and cannot be installed, or a package differs from the recorded
/// one.
pub(super) fn provide() -> Result {
    let tests = root().join("tests/mcp");
    install("MCP SDK for Python", "python", &[tests.join("requirements.txt")], python)?;
    let locks =
        ["package.json", "package-lock.json"].map(|name| tests.join("typescript").join(name));
    install("MCP SDK for TypeScript", "typescript", &locks, typescript)
}

/// Installs into a folder of its own, whose stamp at the end is the digest of the lock files.
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
    // Another version, or an incomplete one.
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
    // Only wheels: building a package would run its code.
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
