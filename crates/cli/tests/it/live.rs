//! `doctor --live`: its message where it cannot run, and one real host where there is one.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::sandbox::{Sandbox, binary, end};

#[test]
fn a_host_that_is_not_there_or_needs_a_desktop_is_named() {
    let sandbox = Sandbox::new("live-missing");
    for (host, says) in [
        ("claude-code", "Claude Code is not installed: `claude` on the path cannot be started"),
        ("cursor", "Cursor needs a desktop and cannot be run live"),
    ] {
        let mut command = sandbox.command(binary());
        // Only the programs that the trial itself needs.
        command.args(["doctor", host, "--live"]).env("PATH", "/usr/bin:/bin");
        let ended = end(&mut command, "");
        if host == "claude-code" && Path::new("/usr/bin/claude").exists() {
            continue;
        }
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(says), "{ended:?}");
    }
    assert_eq!(sandbox.run(&["doctor", "--live"]).code, Some(2));
}

/// The newest Claude Code that `cargo xtask hosts` has installed.
fn claude_code() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let folders = std::fs::read_dir(target.join("hosts")).ok()?.flatten();
    let mut folders: Vec<_> = folders.map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.to_string_lossy().contains("claude-code-"));
    folders.retain(|folder| folder.join("node_modules/.bin/claude").exists());
    folders.sort();
    Some(folders.pop()?.join("node_modules/.bin"))
}

#[test]
fn claude_code_holds_to_every_answer_of_the_hook() {
    let Some(programs) = claude_code() else {
        println!("skipped: `cargo xtask hosts` has not installed Claude Code");
        return;
    };
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(binary());
    command.args(["doctor", "claude-code", "--live", "--json"]).env("PATH", path);
    let ended = end(&mut command, "");
    let report: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{ended:?}"));
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 9, "{report:#}");
    for tried in checks {
        // The host may accept the invalid output of another program; our own hook never writes any.
        let limit = tried["check"] == "garbage" && tried["mark"] == "limit";
        assert!(tried["mark"] == "good" || limit, "{tried:#}");
    }
    assert_eq!(ended.code, Some(0));
}
