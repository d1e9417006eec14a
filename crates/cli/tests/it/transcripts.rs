//! Transcripts: the files of `tests/cli/`. Those of the README are run by `cargo xtask`.
//!
//! ```text
//! $ countersign check shell 'ls'        a command, run by bash in a sandbox
//! > …                                   more lines of it
//! allow: nothing risky found            what it prints, both streams
//! ? 3                                   its exit code, when that is not 0
//! ```
//!
//! `BLESS=1` writes the real output back into the file. A file without any output has not been
//! blessed yet and is skipped with a message.

use std::fmt::Write as _;
use std::fs;

use crate::sandbox::{Sandbox, end};
use crate::start::package;

/// The context that `check` and `explain` get, so that a transcript is the same on every machine.
const PRELUDE: &str = r#"exec 2>&1
countersign() {
  case $1 in
    check|explain)
      command countersign "$1" --home /home/user --workspace /home/user/project \
        --cwd /home/user/project "${@:2}" ;;
    applescript)
      # As root it could make that home, and another user could not read it later.
      COUNTERSIGN_DATA=$HOME/.local/share/countersign HOME=/nonexistent/user command countersign "$@" ;;
    *) command countersign "$@" ;;
  esac
}
"#;

#[test]
fn transcripts_are_what_really_happens() {
    let folder = package();
    let mut wrong = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(folder.join("tests/cli"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let written = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let bless = std::env::var_os("BLESS").is_some();
        if !bless && !is_blessed(&written) {
            println!("skipped: {name} has not been blessed yet");
            continue;
        }
        let real = replay(&written, name);
        if real != written {
            if bless {
                fs::write(&path, real).unwrap();
            } else {
                wrong.push(format!("--- {name}, as it really is:\n{real}"));
            }
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 rewrites these:\n{}", wrong.join("\n"));
}

/// Reports whether anything but commands and empty lines follows the first command.
fn is_blessed(text: &str) -> bool {
    text.lines()
        .skip_while(|line| !line.starts_with("$ "))
        .any(|line| !line.is_empty() && !line.starts_with("$ ") && !line.starts_with("> "))
}

/// Returns the same text with every command's real output.
fn replay(text: &str, name: &str) -> String {
    let sandbox = Sandbox::new(&format!("transcript-{name}"));
    let mut real = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        writeln!(real, "{line}").unwrap();
        let Some(first) = line.strip_prefix("$ ") else { continue };
        let mut script = first.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
            writeln!(real, "{more}").unwrap();
            write!(script, "\n{}", more.strip_prefix("> ").unwrap_or_default()).unwrap();
        }
        let mut apart = false;
        while let Some(old) = lines.next_if(|line| !line.starts_with("$ ")) {
            apart = old.is_empty();
        }
        real.push_str(&output(&sandbox, &script));
        if apart {
            real.push('\n');
        }
    }
    real
}

fn output(sandbox: &Sandbox, script: &str) -> String {
    let mut bash = sandbox.command("bash");
    let ended = end(bash.args(["-c", &format!("{PRELUDE}{script}\n")]), "");
    let out = ended.out.replace(sandbox.home().to_str().unwrap(), "/home/user");
    let out = out.replace("/nonexistent/user", "/home/user");
    let mut out = out.trim_end_matches('\n').to_owned();
    if !out.is_empty() {
        out.push('\n');
    }
    match ended.code {
        Some(0) => {}
        Some(code) => writeln!(out, "? {code}").unwrap(),
        None => out.push_str("? killed\n"),
    }
    out
}
