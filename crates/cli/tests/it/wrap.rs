//! `countersign mcp wrap` and `unwrap` on the files of every host.
//!
//! `tests/wrap/<case>.<ending>` is a host's file, composed from its documentation; `.wrapped`
//! beside it is the result, and `.said` the servers that are left unchanged, with the reasons.
//! `BLESS=1` writes both.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, binary};
use crate::start::package;

/// A file, its host, its path below the home folder, and the option for its scope.
const CASES: &[(&str, &str, &str, &[&str])] = &[
    ("claude-code.json", "claude-code", ".claude.json", &[]),
    ("claude-code-project.json", "claude-code", "project/.mcp.json", &["--project"]),
    ("codex.toml", "codex", ".codex/config.toml", &["--user"]),
    ("gemini.json", "gemini", ".gemini/settings.json", &[]),
    ("cursor.json", "cursor", "project/.cursor/mcp.json", &["--project"]),
    ("copilot.json", "copilot", ".copilot/mcp-config.json", &[]),
    ("vscode.json", "vscode", "project/.vscode/mcp.json", &["--project"]),
    ("opencode.jsonc", "opencode", ".config/opencode/opencode.jsonc", &[]),
    ("windsurf.json", "windsurf", ".codeium/windsurf/mcp_config.json", &[]),
    ("cline.json", "cline", ".cline/data/settings/cline_mcp_settings.json", &[]),
    ("droid.json", "droid", "project/.factory/mcp.json", &["--project"]),
];

fn folder() -> PathBuf {
    package().join("tests/wrap")
}

/// Compares with a golden file, or writes it.
fn golden(name: &str, shown: &str, wrong: &mut Vec<String>) {
    let path = folder().join(name);
    if fs::read_to_string(&path).unwrap_or_default() == shown {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, shown).unwrap();
    } else {
        wrong.push(format!("--- {name}:\n{shown}"));
    }
}

#[test]
fn every_hosts_servers_are_wrapped_once_and_come_back_to_the_byte() {
    let mut wrong = Vec::new();
    for (case, host, place, whose) in CASES {
        let sandbox = Sandbox::new(&format!("wrap-{case}"));
        let before = fs::read_to_string(folder().join(case)).unwrap();
        let path = sandbox.write(&format!("../{place}"), &before);
        let run = |what: &str, more: &[&str]| {
            let ended = sandbox.run(&[&["mcp", what, host], *whose, more].concat());
            assert_eq!(ended.code, Some(0), "{case}: {ended:?}");
            ended.out
        };
        run("wrap", &["--dry-run"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{case}");
        let said = run("wrap", &["--yes"]);
        let left = said.split_inclusive('\n').filter(|line| line.starts_with("left alone: "));
        let left: String = left.collect();
        let wrapped = fs::read_to_string(&path).unwrap();
        let shown = wrapped.replace(binary(), "/usr/bin/countersign");
        let ending = Path::new(case).extension().unwrap().to_str().unwrap();
        let stem = case.strip_suffix(ending).unwrap();
        golden(&format!("{stem}wrapped"), &shown, &mut wrong);
        golden(&format!("{stem}said"), &left, &mut wrong);
        let again = run("wrap", &["--yes"]);
        assert!(!again.contains("done"), "{case}: {again}");
        assert_eq!(fs::read_to_string(&path).unwrap(), wrapped, "{case}");
        run("unwrap", &["--yes"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{case}");
        assert!(run("unwrap", &["--yes"]).contains("no server is wrapped"), "{case}");
    }
    assert!(wrong.is_empty(), "BLESS=1 rewrites these:\n{}", wrong.join("\n"));
}

#[test]
fn only_the_named_servers_of_a_named_file_change_and_no_secret_is_shown() {
    let sandbox = Sandbox::new("wrap-only");
    let token = ["ghp", &"a1B2".repeat(9)].join("_");
    let before = json!({"mcpServers": {
        "a": {"command": "a"},
        "b": {"url": "https://b.example/mcp", "headers": {"Authorization": format!("Bearer {token}")}},
        "c": {"url": "https://c.example/mcp"},
    }})
    .to_string();
    let path = sandbox.write("servers.json", &before);
    let wrapped = |only: &[&str]| {
        let only: Vec<_> = only.iter().flat_map(|name| ["--only", name]).collect();
        let words = [&["mcp", "wrap", "servers.json", "--yes"], only.as_slice()].concat();
        let ended = sandbox.run(&words);
        assert!(!ended.out.contains(&token), "{ended:?}");
        ended
    };
    assert_eq!(wrapped(&["nobody"]).code, Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    assert_eq!(wrapped(&["b", "c"]).code, Some(0));
    let now: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(now["mcpServers"]["a"]["command"], "a");
    let b = &now["mcpServers"]["b"];
    assert_eq!(b["command"], binary());
    assert!(!b["args"].to_string().contains(&token), "{b}");
    assert_eq!(b["env"]["COUNTERSIGN_HEADER_AUTHORIZATION"], format!("Bearer {token}"));
    assert_eq!(now["mcpServers"]["c"]["args"][5], "https://c.example/mcp");
    assert_eq!(sandbox.run(&["mcp", "unwrap", "servers.json", "--yes"]).code, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    assert_eq!(sandbox.run(&["mcp", "wrap", "nowhere.json"]).code, Some(2));
    sandbox.write("broken.json", "{ no");
    assert_eq!(sandbox.run(&["mcp", "wrap", "broken.json", "--yes"]).code, Some(2));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_a_file_that_only_its_owner_could() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new("wrap-mode");
    let path = sandbox.write("../.cursor/mcp.json", r#"{"mcpServers":{"a":{"command":"a"}}}"#);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(sandbox.run(&["mcp", "wrap", "cursor", "--yes"]).code, Some(0));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn doctor_names_the_servers_that_are_not_wrapped() {
    let sandbox = Sandbox::new("wrap-doctor");
    let servers = r#"{"mcpServers":{"files":{"command":"files"},"time":{"command":"time"}}}"#;
    sandbox.write(".cursor/mcp.json", servers);
    let line = "MCP servers without the proxy: files, time (`countersign mcp wrap cursor`)";
    assert!(sandbox.run(&["doctor"]).out.contains(line));
    assert_eq!(sandbox.run(&["mcp", "wrap", "cursor", "--project", "--yes"]).code, Some(0));
    assert!(!sandbox.run(&["doctor"]).out.contains("without the proxy"));
}

#[cfg(unix)]
#[test]
fn what_was_wrapped_starts_and_answers() {
    let sandbox = Sandbox::new("wrap-starts");
    let words = ["-c", &format!("exec '{}' mcp serve", binary())];
    let servers = json!({"mcpServers": {"us": {"command": "sh", "args": words}}});
    let path = sandbox.write(".mcp.json", &servers.to_string());
    let ended = sandbox.run(&["mcp", "wrap", "claude-code", "--project", "--yes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let now: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let entry = &now["mcpServers"]["us"];
    let mut command = sandbox.command(entry["command"].as_str().unwrap());
    command.args(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list"}}"#).unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("request_confirmation"), "{answer}");
    drop(input);
    assert!(child.wait().unwrap().success());
}
