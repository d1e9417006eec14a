//! A coding agent with a shell, files and tools. Rows D1, D2, D3, D5 and D8, as far as judging
//! goes; the prompt, the configuration and the server have tests of their own.

use serde_json::{Value, json};

use crate::check::judged_in;

fn verdict(action: &Value) -> String {
    let context =
        json!({"home": "/home/dev", "workspace": "/home/dev/app", "cwd": "/home/dev/app"});
    judged_in(&context, action)["verdict"].as_str().expect("a verdict").to_owned()
}

fn shell(command: &str) -> String {
    verdict(&json!({"kind": "shell", "command": command}))
}

fn file(op: &str, path: &str) -> String {
    verdict(&json!({"kind": format!("file_{op}"), "path": path}))
}

fn fetch(url: &str) -> String {
    let arguments = json!({ "url": url });
    verdict(&json!({"kind": "tool", "server": "web", "tool": "fetch", "arguments": arguments}))
}

#[test]
fn d1_destructive_commands_ask() {
    for command in [
        "rm notes.txt",
        "rmdir old",
        "git push --force",
        "git push -f origin main",
        "git reset --hard",
        "git clean -fd",
        "git checkout .",
        "psql -c 'drop table users'",
        "mysql -e 'DROP DATABASE app'",
        "truncate -s 0 data.db",
        "chmod 777 run.sh",
        "kill -9 4711",
    ] {
        assert_eq!(shell(command), "confirm", "{command}");
    }
}

#[test]
fn d1_they_are_found_through_whatever_stands_around_them() {
    for command in [
        "sudo rm notes.txt",
        "env X=1 rm notes.txt",
        "ls | xargs rm",
        "find . -name '*.md' -exec rm {} +",
        "bash -c 'rm notes.txt'",
        "(rm notes.txt)",
        "echo $(rm notes.txt)",
        "bash <<'END'\nrm notes.txt\nEND",
        "r''m notes.txt",
        "X=rm; $X notes.txt",
    ] {
        assert_eq!(shell(command), "confirm", "{command}");
    }
}

#[test]
fn d1_a_mere_mention_passes() {
    for command in [
        "echo \"rm -rf /\"",
        "git commit -m 'rm the old file'",
        "ls # rm -rf /",
        "grep -rn 'rm -rf' src",
        "man rm",
    ] {
        assert_eq!(shell(command), "allow", "{command}");
    }
}

#[test]
fn d2_nobody_can_lift_the_hard_blocks() {
    for command in [
        "rm -rf /",
        "rm -fr //",
        "rm --recursive --force /*",
        "sudo rm -rf --no-preserve-root /",
        "mkfs.ext4 /dev/sda1",
        "dd if=/dev/zero of=/dev/sda",
        ":(){ :|:& };:",
    ] {
        assert_eq!(shell(command), "block", "{command}");
    }
}

#[test]
fn d2_blocked_paths_are_blocked_in_every_operation() {
    for path in
        ["/etc/shadow", "/etc/passwd", "/etc/sudoers", "/proc/1/environ", "/sys/x", "/dev/sda"]
    {
        for op in ["read", "write", "delete"] {
            assert_eq!(file(op, path), "block", "{op} {path}");
        }
    }
    let link = json!({"home": "/home/dev", "workspace": "/home/dev/app", "cwd": "/home/dev/app",
        "paths": {"notes.txt": {"resolves_to": "/etc/shadow"}}});
    let read = json!({"kind": "file_read", "path": "notes.txt"});
    assert_eq!(judged_in(&link, &read)["verdict"], "block");
}

#[test]
fn d2_everyday_streams_are_no_attack() {
    for command in ["make > /dev/null 2>&1", "cat < /dev/stdin", "echo x > /dev/stderr"] {
        assert_eq!(shell(command), "allow", "{command}");
    }
}

#[test]
fn d3_null_bytes_and_traversal_are_blocked() {
    assert_eq!(shell("ls \0"), "block");
    for op in ["read", "write", "delete", "list"] {
        assert_eq!(file(op, "a\0b"), "block", "{op}");
        assert_eq!(file(op, "../../other/secret"), "block", "{op}");
    }
}

#[test]
fn d5_sensitive_writes_ask() {
    for path in [".env", ".env.local", "/home/dev/.ssh/config", "/home/dev/.gnupg/gpg.conf"] {
        assert!(["confirm", "block"].contains(&file("write", path).as_str()), "{path}");
    }
    assert_eq!(file("write", ".env"), "confirm");
    assert_eq!(file("write", "src/main.rs"), "allow");
}

#[test]
fn d8_a_tool_may_not_be_sent_inside() {
    for url in [
        "http://127.0.0.1/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://[::ffff:10.0.0.1]/",
        "http://[fe80::1]/",
        "http://localhost:8080/",
        "http://2130706433/",
    ] {
        assert_eq!(fetch(url), "block", "{url}");
    }
    assert_eq!(fetch("https://example.com/"), "allow");
    let rebound = json!({"addresses": {"example.com": ["93.184.216.34", "10.0.0.7"]}});
    let call = json!({"kind": "tool", "server": "web", "tool": "fetch",
        "arguments": {"url": "https://example.com/"}});
    assert_eq!(judged_in(&rebound, &call)["verdict"], "block");
}

#[test]
fn d8_shell_syntax_in_a_command_argument_is_refused() {
    let run = |command: &str| {
        let arguments = json!({ "command": command });
        verdict(&json!({"kind": "tool", "server": "s", "tool": "run", "arguments": arguments}))
    };
    for command in ["ls; id", "ls | sh", "ls $(id)", "ls `id`", "ls > /tmp/x", "ls && id", "ls\nid"]
    {
        assert_eq!(run(command), "block", "{command}");
    }
    assert_eq!(run("ls -l"), "allow");
}
