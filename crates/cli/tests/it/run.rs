//! `run`: the judged command is the one that runs, and nothing runs without approval.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use crate::sandbox::{Ended, Sandbox, binary, end};

#[test]
fn the_exit_code_is_the_commands_own() {
    let sandbox = Sandbox::new("run-code");
    assert_eq!(sandbox.run(&["run", "-c", "exit 7"]).code, Some(7));
    assert_eq!(sandbox.run(&["run", "--", "false"]).code, Some(1));
    assert_eq!(sandbox.run(&["run", "--", "true"]).code, Some(0));
}

#[test]
fn what_cannot_be_started_exits_as_a_shell_would() {
    let sandbox = Sandbox::new("run-missing");
    sandbox.write("notes.txt", "no program");
    let missing = sandbox.run(&["run", "--", "no-such-program-anywhere"]);
    assert_eq!(missing.code, Some(127));
    assert!(missing.err.contains("`no-such-program-anywhere`"));
    assert_eq!(sandbox.run(&["run", "--", "./notes.txt"]).code, Some(126));
}

/// The one JSON object on standard output.
fn report(ended: &Ended) -> serde_json::Value {
    assert_eq!(ended.out.lines().count(), 1, "{ended:?}");
    serde_json::from_str(&ended.out).unwrap()
}

#[test]
fn with_json_the_exit_code_is_ours_and_the_commands_is_told() {
    let sandbox = Sandbox::new("run-json");
    for (script, code, outcome, exit_code) in [
        ("echo said; exit 0", 0, "succeeded", 0),
        ("echo said; exit 1", 1, "failed", 1),
        ("echo said; exit 3", 1, "failed", 3),
        ("echo said; exit 4", 1, "failed", 4),
        ("echo said; exit 127", 1, "failed", 127),
    ] {
        let ended = sandbox.run(&["run", "--json", "-c", script]);
        assert_eq!(ended.code, Some(code), "{script}: {ended:?}");
        let told = report(&ended);
        assert_eq!(told["outcome"], outcome, "{script}");
        assert_eq!(told["exit_code"], exit_code, "{script}");
        assert_eq!(told["judgement"]["verdict"], "allow", "{script}");
        assert!(ended.err.contains("said"), "what it prints goes to standard error: {ended:?}");
    }
}

#[test]
fn with_json_a_refusal_is_told_apart_from_every_end_of_a_command() {
    let sandbox = Sandbox::new("run-json-refused");
    let ended = |arguments: &[&str], code: i32, outcome: &str| {
        let ended = sandbox.run(&[&["run", "--json"][..], arguments].concat());
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let told = report(&ended);
        assert_eq!(told["outcome"], outcome);
        assert!(told.get("exit_code").is_none());
        told
    };
    let blocked = ended(&["--", "mkfs.ext4", "/no-such-device"], 4, "blocked");
    assert_eq!(blocked["judgement"]["verdict"], "block");
    ended(&["--", "no-such-program-anywhere"], 127, "not_started");
    sandbox.write(".countersign.yaml", "overrides: {kind.shell: maybe}\n");
    let wrong = ended(&["--", "true"], 2, "not_judged");
    assert!(wrong["error"].as_str().unwrap().contains("maybe"), "{wrong}");
}

#[test]
fn every_argument_arrives_as_it_was_given() {
    let sandbox = Sandbox::new("run-argv");
    let words = ["a b", "", "*", "$HOME", "it's", "`id`", "x;y", "-n"];
    let ended = sandbox.run(&[&["run", "--", "printf", "<%s>"][..], &words].concat());
    assert_eq!(ended.out, words.map(|word| format!("<{word}>")).concat());
}

#[test]
fn standard_input_goes_to_the_command() {
    let sandbox = Sandbox::new("run-stdin");
    assert_eq!(sandbox.run_with(&["run", "--", "cat"], "hello").out, "hello");
}

#[test]
fn nothing_from_the_environment_changes_what_a_script_means() {
    let sandbox = Sandbox::new("run-environment");
    let start_up = sandbox.write("start-up", "echo from-a-file\n");
    let mut command = sandbox.command(binary());
    command.env("BASH_ENV", start_up).env("BASH_FUNC_ls%%", "() { echo from-a-function; }");
    let ended = end(command.args(["run", "-c", "ls /; echo done"]), "");
    assert!(ended.out.ends_with("done\n"), "{ended:?}");
    assert!(!ended.out.contains("from-a"), "{ended:?}");
}

#[test]
fn variables_that_programs_need_are_passed_on_and_those_that_run_something_first_are_not() {
    let sandbox = Sandbox::new("run-variables");
    let start_up = sandbox.write("start-up", "echo from-a-file\n");
    let mut command = sandbox.command(binary());
    command.env("LD_PRELOAD", "/no-such-library.so").env("BASH_ENV", start_up);
    command.env("PYTHONPATH", "/a").env("LD_LIBRARY_PATH", "/b").env("ENV", "production");
    let script = "echo $PYTHONPATH $LD_LIBRARY_PATH $ENV \"<$LD_PRELOAD>\"";
    let ended = end(command.args(["run", "--", "bash", "-c", script]), "");
    assert_eq!(ended.out, "/a /b production <>\n", "{ended:?}");
    let told = ended.err.lines().find(|line| line.starts_with("countersign: not passed on"));
    let told = told.unwrap_or_default();
    assert!(told.contains("BASH_ENV") && told.contains("LD_PRELOAD"), "{ended:?}");
}

#[test]
fn an_argument_that_cannot_be_judged_is_not_run() {
    let sandbox = Sandbox::new("run-bytes");
    let mut command = sandbox.command(binary());
    command.args(["run", "--", "touch", "ran"]).arg(OsStr::from_bytes(b"\xff"));
    let ended = end(&mut command, "");
    assert_eq!(ended.code, Some(2));
    assert!(!sandbox.project().join("ran").exists());
}

#[test]
fn a_signal_reaches_the_command() {
    let sandbox = Sandbox::new("run-signal");
    let mut child = sandbox
        .command(binary())
        .args(["run", "-c", "trap 'echo caught; exit 9' TERM; echo ready; read -r line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    kill(&child, "TERM");
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\ncaught\n");
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn a_command_that_is_killed_is_seen_to_be_killed() {
    let sandbox = Sandbox::new("run-killed");
    let mut child = sandbox
        .command(binary())
        .args(["run", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Once it echoes, the command has replaced our process.
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    kill(&child, "KILL");
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn without_a_terminal_nothing_is_confirmed() {
    let sandbox = Sandbox::new("run-nobody");
    sandbox.write("photos/one.jpg", "");
    if !asks(&sandbox) {
        return;
    }
    // A session of its own lacks a terminal, even if the tests were started from one.
    let mut command = sandbox.command("setsid");
    command.args(["--wait", binary(), "run", "--", "rm", "-r", "photos"]);
    let ended = end(&mut command, "y\ny\n");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("no terminal"), "{ended:?}");
    assert!(sandbox.project().join("photos/one.jpg").exists());
}

#[test]
fn a_yes_on_the_terminal_runs_it_and_anything_else_does_not() {
    let sandbox = Sandbox::new("run-ask");
    sandbox.write("photos/one.jpg", "");
    if !asks(&sandbox) {
        return;
    }
    for typed in ["n\n", "\n", "maybe\n", "\u{4}"] {
        let ended = answer(&sandbox, typed);
        assert_eq!(ended.code, Some(3), "{typed:?}: {ended:?}");
        assert!(ended.out.contains("not run"), "{ended:?}");
        assert!(sandbox.project().join("photos").exists(), "{typed:?}");
    }
    let ended = answer(&sandbox, "y\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!sandbox.project().join("photos").exists());
}

#[test]
fn standard_input_cannot_answer_for_the_person() {
    let sandbox = Sandbox::new("run-pipe");
    sandbox.write("photos/one.jpg", "");
    sandbox.write("yes.txt", "y\ny\ny\n");
    if !asks(&sandbox) {
        return;
    }
    let ended = talk(&sandbox, "countersign run -- rm -r photos <yes.txt", "n\n");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(sandbox.project().join("photos").exists());
}

#[test]
fn what_is_blocked_is_not_asked_about() {
    let sandbox = Sandbox::new("run-block");
    if sandbox.run(&["check", "shell", "mkfs.ext4 /no-such-device"]).code != Some(4) {
        println!("skipped: nothing is blocked yet");
        return;
    }
    let ended = sandbox.run(&["run", "--", "mkfs.ext4", "/no-such-device"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.err.contains("blocked, so not run"), "{ended:?}");
}

/// Configures a question before a folder is deleted, regardless of the profile; reports whether
/// that worked and a terminal can be created.
fn asks(sandbox: &Sandbox) -> bool {
    sandbox.configure("safety:\n  custom_patterns: ['^rm -r photos']\n");
    let asks = sandbox.run(&["check", "shell", "rm -r photos"]).code == Some(3);
    let terminal = Command::new("script").arg("--version").output().is_ok();
    if !asks || !terminal {
        println!("skipped: no question is asked, or there is no `script` to make a terminal");
    }
    asks && terminal
}

/// Asks about deleting `photos` on a terminal, and types this.
fn answer(sandbox: &Sandbox, typed: &str) -> Ended {
    talk(sandbox, "countersign run -- rm -r photos", typed)
}

/// Runs a command on a terminal of its own and types this once the question is shown.
fn talk(sandbox: &Sandbox, command: &str, typed: &str) -> Ended {
    let mut child = sandbox
        .command("script")
        .args(["-qec", command, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"[y/N] ") && stdout.read(&mut byte).unwrap() > 0 {
        seen.extend(byte);
    }
    stdin.write_all(typed.as_bytes()).unwrap();
    stdout.read_to_end(&mut seen).unwrap();
    let code = child.wait().unwrap().code();
    Ended { code, out: String::from_utf8_lossy(&seen).into_owned(), err: String::new() }
}

fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}
