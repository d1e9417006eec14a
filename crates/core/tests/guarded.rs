//! Attacks on the guard: every guarded path, in every spelling, by every way to change it.
//!
//! The paths are read from `guarded/*.yaml`, so that a new path is tested at once.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::Path;

use countersign_core::{Action, Context, Policy, Verdict, judge};
use serde::Deserialize;
use serde_json::{Value, json};

const HOME: &str = "/home/user";

fn context() -> Context {
    Context {
        home: Some(HOME.to_owned()),
        workspace: Some("/home/user/project".to_owned()),
        cwd: Some("/home/user/project".to_owned()),
        own_program: Some("/opt/gate/bin/gate".to_owned()),
        own_data: Some("/srv/gate".to_owned()),
        ..Context::default()
    }
}

fn verdict(action: &Action) -> Verdict {
    judge(action, &Policy::default(), &context()).verdict
}

fn shell(command: &str) -> Verdict {
    verdict(&Action::Shell { command: command.to_owned(), cwd: None })
}

fn action(value: Value) -> Verdict {
    verdict(&serde_json::from_value(value).unwrap())
}

/// The entry of one host or one part of Countersign in a file of `guarded/`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    hooks: Vec<String>,
    servers: Vec<String>,
    config: Vec<String>,
    data: Vec<String>,
    program: Vec<String>,
    names: Vec<String>,
    off: Vec<String>,
    skips: Vec<String>,
    moves: BTreeMap<String, String>,
    off_if: Vec<String>,
    skips_if: Vec<String>,
    settings_if: Vec<String>,
}

fn entries() -> Vec<Entry> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guarded");
    let mut entries = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let map: BTreeMap<String, Entry> = serde_saphyr::from_str(&text).unwrap();
        entries.extend(map.into_values());
    }
    assert!(entries.len() > 10);
    entries
}

/// A guarded path in a user's home folder.
fn at_home(path: &str) -> String {
    match path.strip_prefix("~/") {
        Some(rest) => format!("{HOME}/{rest}"),
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{HOME}/{path}"),
    }
}

fn all(of: impl Fn(&Entry) -> Vec<String>) -> Vec<String> {
    entries().iter().flat_map(of).map(|path| at_home(&path)).collect()
}

fn every_path() -> Vec<String> {
    let own = ["/opt/gate/bin/gate".to_owned(), "/srv/gate/server.key".to_owned()];
    let listed = all(|entry| {
        let roles = [&entry.hooks, &entry.servers, &entry.config, &entry.data, &entry.program];
        roles.into_iter().flatten().cloned().collect()
    });
    listed.into_iter().chain(own).collect()
}

/// Whole commands with `P` for the path.
const CHANGES: &[&str] = &[
    "echo x > P",
    "echo x >> P",
    "rm -rf P",
    "mv P /tmp/y",
    "cp /dev/null P",
    "cp -r x P",
    "install x P",
    "chmod 000 P",
    "chown nobody P",
    "setfacl -m u::--- P",
    "ln -sf /dev/null P",
    "ln -s P /tmp/z",
    "ln P z",
    "tee P < x",
    "truncate -s 0 P",
    "dd if=/dev/null of=P",
    "sed -i s/a/b/ P",
    "sudo rm -f P",
    "bash -c 'rm -f P'",
    "true && { mv P y; }",
];

/// Ways to spell a path below the home folder, or any other.
fn spellings(path: &str) -> Vec<String> {
    let quoted = path.replace(' ', "\\ ");
    let (folder, name) = quoted.rsplit_once('/').unwrap();
    let mut all = vec![
        quoted.clone(),
        format!("{folder}//{name}"),
        format!("{folder}/../{}/{name}", folder.rsplit('/').next().unwrap()),
    ];
    if let Some(rest) = quoted.strip_prefix(&format!("{HOME}/")) {
        all.push(format!("~/{rest}"));
        all.push(format!("$HOME/{rest}"));
        all.push(format!("\"${{HOME}}\"/{rest}"));
        all.push(format!("../{rest}"));
    }
    all
}

#[test]
fn every_guarded_path_is_held_against_every_change_in_every_spelling() {
    let mut missed = Vec::new();
    for path in every_path() {
        for spelled in spellings(&path) {
            for change in CHANGES {
                let command = change.replace('P', &spelled);
                if shell(&command) < Verdict::Confirm {
                    missed.push(command);
                }
            }
        }
        let quoted = path.replace(' ', "\\ ");
        let (folder, name) = quoted.rsplit_once('/').unwrap();
        for command in [
            format!("cd {folder} && rm -f {name}"),
            format!("cd {folder}; mv {name} /tmp/y"),
            format!("D={folder}; mv \"$D\"/{name} /tmp/y"),
            format!("F={quoted}; chmod 0 \"$F\""),
            format!("cp /tmp/{name} {folder}"),
            format!("mv x/{name} {folder}/"),
            format!("cp x/{name} y -t {folder}"),
            format!("find {folder} -name '{name}' -delete"),
        ] {
            if shell(&command) < Verdict::Confirm {
                missed.push(command);
            }
        }
    }
    assert!(missed.is_empty(), "{} allowed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn every_guarded_path_is_held_against_patterns() {
    let mut missed = Vec::new();
    for path in every_path() {
        let quoted = path.replace(' ', "\\ ");
        let (folder, name) = quoted.rsplit_once('/').unwrap();
        let (start, end) = name.split_at(name.len() / 2);
        let tail = end.get(1..).unwrap();
        for pattern in
            [format!("{start}*"), format!("{start}?{tail}"), format!("{start}[a-z]{tail}")]
        {
            // The middle of a name may not be a letter; the pattern is then about another file.
            if !end.starts_with(|char: char| char.is_ascii_lowercase()) && pattern.contains('[') {
                continue;
            }
            for change in ["mv P /tmp/y", "chmod 000 P", "rm -rf P", "sed -i s/a/b/ P"] {
                let command = change.replace('P', &format!("{folder}/{pattern}"));
                if shell(&command) < Verdict::Confirm {
                    missed.push(command);
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} allowed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn folders_above_hooks_and_data_are_held() {
    let paths = all(|entry| {
        [&entry.hooks, &entry.config, &entry.data].into_iter().flatten().cloned().collect()
    });
    let mut missed = Vec::new();
    for path in paths.iter().filter(|path| path.starts_with(HOME)) {
        for folder in
            Path::new(path).ancestors().skip(1).take_while(|folder| folder.starts_with(HOME))
        {
            let folder = folder.to_str().unwrap().replace(' ', "\\ ");
            for change in [
                "mv P x",
                "rm -rf P",
                "chmod -R 000 P",
                "chown -R nobody P",
                "mv P/* x",
                "cd P/.. && mv P x",
            ] {
                let command = change.replace('P', &folder);
                if shell(&command) < Verdict::Confirm {
                    missed.push(command);
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} allowed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn removing_a_hook_or_our_own_files_is_blocked() {
    let paths = all(|entry| {
        [&entry.hooks, &entry.config, &entry.data].into_iter().flatten().cloned().collect()
    });
    for path in paths {
        let quoted = path.replace(' ', "\\ ");
        for command in [format!("rm -rf {quoted}"), format!("mv {quoted} /tmp/x")] {
            assert_eq!(shell(&command), Verdict::Block, "{command}");
        }
        assert_eq!(action(json!({"kind": "file_delete", "path": path})), Verdict::Block, "{path}");
    }
}

#[test]
fn file_actions_tools_and_code_are_held_too() {
    let mut missed = Vec::new();
    for path in every_path() {
        for value in [
            json!({"kind": "file_write", "path": path}),
            json!({"kind": "file_delete", "path": path}),
            json!({"kind": "tool", "server": "fs", "tool": "write_file", "arguments": {"path": path}}),
            json!({"kind": "tool", "server": "fs", "tool": "move_file", "arguments": {"source_path": path, "destination_path": "/tmp/x"}}),
            json!({"kind": "code", "language": "python", "source": format!("open({path:?}, 'w').write('')")}),
            json!({"kind": "code", "language": "python", "source": format!("import os\nos.rename({path:?}, 'x')")}),
            json!({"kind": "code", "language": "python", "source": format!("import os\nos.chmod({path:?}, 0)")}),
            json!({"kind": "code", "language": "python", "source": format!("import os\nos.symlink({path:?}, 'x')")}),
            json!({"kind": "code", "language": "javascript", "source": format!("require('fs').unlinkSync({path:?})")}),
            json!({"kind": "code", "language": "javascript", "source": format!("require('fs').writeFileSync({path:?}, '')")}),
        ] {
            if action(value.clone()) < Verdict::Confirm {
                missed.push(value.to_string());
            }
        }
    }
    assert!(missed.is_empty(), "{} allowed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn our_data_is_held_against_reading() {
    for path in all(|entry| entry.data.clone()).into_iter().chain(["/srv/gate".to_owned()]) {
        let quoted = path.replace(' ', "\\ ");
        for command in [
            format!("cat {quoted}/server.key"),
            format!("cp -r {quoted} /tmp/x"),
            format!("tar czf x.tgz {quoted}"),
            format!("tar -cf - {quoted} | gzip > x"),
            format!("zip -r x.zip {quoted}"),
            format!("rsync -a {quoted}/ x"),
            format!("scp -r {quoted} host:/x"),
            format!("base64 < {quoted}/server.key"),
            format!("sqlite3 {quoted}/gate.db .dump"),
            format!("curl --unix-socket {quoted}/server.sock http://localhost/api/halt"),
            format!("nc -U {quoted}/server.sock"),
            format!("socat - UNIX-CONNECT:{quoted}/server.sock"),
            format!("cd {quoted} && cat server.key"),
            format!("cd {quoted} && sqlite3 gate.db .dump"),
            format!("head -c 32 {quoted}/*"),
        ] {
            assert!(shell(&command) >= Verdict::Confirm, "{command}");
        }
        let read = json!({"kind": "file_read", "path": format!("{path}/server.key")});
        assert!(action(read) >= Verdict::Confirm, "{path}");
    }
}

/// Ways to start a host, with `H` for the whole command.
const STARTS: &[&str] = &[
    "H",
    "bash -c 'H'",
    "nohup H &",
    "cd /tmp && H",
    "timeout 60 H",
    "xargs H < x",
    "tmux new-session -d 'H'",
];

#[test]
fn every_off_switch_of_every_host_is_held() {
    let mut missed = Vec::new();
    for entry in entries() {
        let Some(name) = entry.names.first() else { continue };
        let mut lines = Vec::new();
        for (options, least) in [(&entry.off, Verdict::Block), (&entry.skips, Verdict::Confirm)] {
            for option in options {
                let option = option.replace('*', "");
                lines.push((format!("{name} {option}"), least));
                lines.push((format!("{name} {option} help"), least));
                if option.starts_with("--") {
                    lines.push((format!("{name} {}", option.replace(' ', "=")), least));
                }
            }
        }
        let moves =
            entry.moves.keys().chain(&entry.settings_if).map(|name| (name, Verdict::Confirm));
        let off = entry.off_if.iter().map(|name| (name, Verdict::Block));
        let skips = entry.skips_if.iter().map(|name| (name, Verdict::Confirm));
        for (variable, least) in moves.chain(off).chain(skips) {
            lines.push((format!("{variable}=/x {name} -p hi"), least));
            lines.push((format!("env {variable}=/x {name} -p hi"), least));
        }
        lines.push((format!("HOME=/x {name} -p hi"), Verdict::Confirm));
        for (line, least) in lines {
            let assigns = line.split(' ').next().is_some_and(|first| first.contains('='));
            for start in STARTS {
                // Only a shell accepts a variable before a program.
                if assigns && ["nohup", "timeout", "xargs"].iter().any(|by| start.starts_with(by)) {
                    continue;
                }
                let command = start.replace('H', &line);
                if shell(&command) < least {
                    missed.push(command);
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} too mild:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn everyday_work_near_the_guard_stays_quiet() {
    for command in [
        "claude -p 'write a test'",
        "claude --version",
        "claude --help",
        "codex exec 'fix it'",
        "gemini -p hi",
        "ls ~/.claude",
        "ls -la ~/.config ~/.local/share/countersign",
        "cat ~/.claude/settings.json",
        "cat ~/.codex/config.toml",
        "jq .hooks ~/.claude/settings.json",
        "grep -r hooks ~/.claude/settings.json",
        "diff .claude/settings.json ~/.claude/settings.json",
        "countersign check shell ls",
        "countersign doctor",
        "countersign approvals list",
        "countersign --version",
        "pgrep -f countersign",
        "ps aux | grep countersign",
        "which countersign",
        "git mv a b",
        "git add .claude/settings.json",
        "mv ~/.config/foo bar",
        "mv .claude/commands/x.md docs/x.md",
        "mkdir -p .claude/commands",
        "cp notes.md .claude/commands/",
        "echo hi > .claude/commands/x.md",
        "mv *.json data/",
        "cp -r src lib",
        "kill 1234",
        "pkill -f server.py",
        "kill $(pgrep node)",
        "ln -s src lib",
        "chmod +x run.sh",
        "HOME=/tmp/x make test",
        "tar czf x.tgz src",
    ] {
        assert!(shell(command) < Verdict::Confirm, "{command}");
    }
    for value in [
        json!({"kind": "file_write", "path": ".claude/commands/x.md"}),
        json!({"kind": "file_read", "path": "/home/user/.claude/settings.json"}),
    ] {
        assert!(action(value.clone()) < Verdict::Confirm, "{value}");
    }
}
