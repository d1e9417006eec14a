//! Hooks that are killed, cut off or kept busy: in no case does a host read a yes. Also tests which
//! events of each host are judged.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use countersign_core::{Action, Context, Policy, RiskLevel, judge};
use countersign_wire::{ApprovalCard, Confirmation, Proposed, path};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::host::{HOSTS, folder, hook, payload, stops};
use crate::sandbox::{Ended, Sandbox, binary};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

const SIGNALS: &[Signal] =
    &[Signal::TERM, Signal::INT, Signal::HUP, Signal::PIPE, Signal::QUIT, Signal::USR1];

/// A server's socket, removed when this value is dropped.
struct Socket(PathBuf);

impl Socket {
    fn new(name: &str) -> (Self, UnixListener) {
        let path = std::env::temp_dir().join(format!("cs-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let name = countersign_server::SocketName::of(&path).unwrap();
        let listener = UnixListener::bind(name.path()).unwrap();
        (Self(path), listener)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("never: {what}")
}

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Starts a hook with an event, which then waits for its server.
fn asking(sandbox: &Sandbox, host: &str, case: &str, server: &Socket, timeout: &str) -> Child {
    let mut command = sandbox.command(binary());
    command.args(["hook", host, "--timeout", timeout]).env("COUNTERSIGN_SERVER", &server.0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = payload(host, case, sandbox);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child
}

fn ended(mut child: Child) -> Ended {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    Ended { code: child.wait().unwrap().code(), out, err }
}

#[test]
fn a_signal_to_a_waiting_hook_is_a_no_in_every_hosts_words() {
    let sandbox = Sandbox::new("host-signals");
    let (socket, listener) = Socket::new("signals");
    listener.set_nonblocking(true).unwrap();
    for signal in SIGNALS {
        let children: Vec<_> = HOSTS
            .iter()
            .map(|(host, [_, _, confirm])| (host, asking(&sandbox, host, confirm, &socket, "60")))
            .collect();
        // Each of them asks a server that never answers.
        let _asked: Vec<_> =
            children.iter().map(|_| until("a hook asks", || listener.accept().ok())).collect();
        for (_, child) in &children {
            send(child, *signal);
        }
        for (host, child) in children {
            let ended = ended(child);
            assert!(stops(host, &ended), "{host}, {signal:?}: {ended:?}");
            assert!(
                format!("{ended:?}").contains("was stopped before"),
                "{host}, {signal:?}: {ended:?}"
            );
        }
    }
}

/// Reports whether a process handles a signal, as Linux reports it.
#[cfg(target_os = "linux")]
fn handles(child: &Child, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & (1 << (signal.as_raw() - 1)) != 0
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_before_anything_is_read_is_a_no_too() {
    let sandbox = Sandbox::new("host-signals-early");
    for (host, _) in HOSTS {
        let mut command = sandbox.command(binary());
        command.args(["hook", host, "--timeout", "60"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        until("it handles signals", || handles(&child, Signal::USR2).then_some(()));
        send(&child, Signal::TERM);
        let ended = ended(child);
        drop(stdin);
        assert!(stops(host, &ended), "{host}: {ended:?}");
    }
}

#[test]
fn a_no_that_cannot_be_written_is_an_exit_code_and_a_reason_elsewhere() {
    let sandbox = Sandbox::new("host-closed");
    for (host, [block, _, _]) in HOSTS {
        let mut command = sandbox.command(binary());
        command.args(["hook", host]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let input = payload(host, block, &sandbox);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!((code, err.is_empty()), (Some(2), false), "{host}: {err}");
    }
}

#[test]
fn a_hook_whose_host_is_gone_ends() {
    let sandbox = Sandbox::new("host-gone");
    let (socket, listener) = Socket::new("gone");
    let input = sandbox.write("input.json", &payload("codex", "bash-confirm", &sandbox));
    // The shell starts the hook, and is then killed.
    let mut host = sandbox.command("sh");
    let script = "\"$0\" hook codex --timeout 60 < \"$1\" > /dev/null & echo $!; read stop";
    host.args(["-c", script, binary()]).arg(input).env("COUNTERSIGN_SERVER", &socket.0);
    let mut host = host.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pid = String::new();
    BufReader::new(host.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    let (mut asked, _) = listener.accept().unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    // The hook's connection ends with the hook.
    let mut said = Vec::new();
    asked.set_read_timeout(Some(PATIENCE)).unwrap();
    asked.read_to_end(&mut said).unwrap();
}

/// A server that returns "pending" at once, however long it is asked to wait.
fn hasty(listener: UnixListener) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = answer(stream);
        }
    });
    count
}

fn answer(mut stream: UnixStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    let request = line.clone();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if let Some(bytes) = header.strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
        if header.is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let said = match request.split(' ').nth(1).unwrap_or_default() {
        path::SESSIONS => json!({"session_id": "ses_1"}),
        path::ACTIONS => waiting(),
        _ => pending(),
    };
    let said = said.to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{said}", said.len())
}

/// The answer to a proposal about which a person is asked.
fn waiting() -> Value {
    let action = Action::Shell { command: "git push --force".to_owned(), cwd: None };
    let proposed = Proposed::Waiting {
        approval_id: "apr_1".to_owned(),
        action_id: None,
        expires_at: "2026-01-01T00:00:00.000Z".to_owned(),
        confirmation: Confirmation {
            confirmation_id: "apr_1".to_owned(),
            action: "shell".to_owned(),
            description: "Run: git push --force".to_owned(),
            details: Vec::new(),
            risk_level: RiskLevel::High,
            timeout: 60,
        },
        judgement: Box::new(judge(&action, &Policy::default(), &Context::default())),
    };
    serde_json::to_value(proposed).unwrap()
}

/// A question that nobody has answered.
fn pending() -> Value {
    json!({
        "approval_id": "apr_1", "user_id": "usr_1", "workspace_id": "wsp_1", "session_id": null,
        "key_id": null, "action": "shell", "description": "Run: git push --force", "details": [],
        "proposed": {}, "cwd": null, "reasoning": null, "scripts": [], "risk_level": "high",
        "reason": "Overwrites history", "instead": null, "rules": [], "findings": [], "effects": [],
        "opaque": [], "may_remember": false, "created_at": "2026-01-01T00:00:00.000Z",
        "expires_at": "2026-01-01T00:01:00.000Z", "state": "pending", "feedback": null, "need": 1,
        "have": 0, "others_must_agree": false, "escalated": false, "replaces": null,
        "replaced_by": null,
    })
}

#[test]
fn a_server_that_does_not_wait_is_not_asked_without_a_pause() {
    serde_json::from_value::<ApprovalCard>(pending()).expect("a card");
    let sandbox = Sandbox::new("host-hasty");
    let (socket, listener) = Socket::new("hasty");
    let count = hasty(listener);
    let child = asking(&sandbox, "codex", "bash-confirm", &socket, "5");
    let ended = ended(child);
    assert!(stops("codex", &ended), "{ended:?}");
    // A session, a proposal, a few polls and a withdrawal in four seconds.
    let connections = count.load(Ordering::SeqCst);
    assert!((3..20).contains(&connections), "{connections}");
}

/// The events that the hosts' contracts name, and one that no host has.
const EVENTS: &[(&str, &[&str])] = &[
    (
        "claude-code",
        &[
            "PreToolUse",
            "PermissionRequest",
            "ConfigChange",
            "PostToolUse",
            "PostToolUseFailure",
            "PostToolBatch",
            "UserPromptSubmit",
            "UserPromptExpansion",
            "SessionStart",
            "SessionEnd",
            "Setup",
            "Stop",
            "StopFailure",
            "SubagentStart",
            "SubagentStop",
            "PermissionDenied",
            "Notification",
            "Elicitation",
            "ElicitationResult",
            "FileChanged",
            "CwdChanged",
            "InstructionsLoaded",
            "PreCompact",
            "PostCompact",
            "PreModelSwitch",
            "PostModelSwitch",
            "TaskCreated",
            "TaskCompleted",
            "TeammateIdle",
            "WorktreeCreate",
            "WorktreeRemove",
            "MessageDisplay",
            "Invented",
        ],
    ),
    (
        "codex",
        &[
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "PreCompact",
            "PostCompact",
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "PreModelRequest",
            "PostModelRequest",
            "Interrupt",
            "Invented",
        ],
    ),
    (
        "gemini",
        &[
            "BeforeTool",
            "AfterTool",
            "BeforeAgent",
            "AfterAgent",
            "BeforeModel",
            "AfterModel",
            "BeforeToolSelection",
            "SessionStart",
            "SessionEnd",
            "PreCompress",
            "Notification",
            "Invented",
        ],
    ),
    (
        "cursor",
        &[
            "beforeShellExecution",
            "beforeMCPExecution",
            "beforeReadFile",
            "beforeTabFileRead",
            "preToolUse",
            "subagentStart",
            "beforeSubmitPrompt",
            "sessionStart",
            "afterShellExecution",
            "afterMCPExecution",
            "afterFileEdit",
            "afterTabFileEdit",
            "postToolUse",
            "postToolUseFailure",
            "afterAgentResponse",
            "afterAgentThought",
            "preCompact",
            "stop",
            "subagentStop",
            "sessionEnd",
            "workspaceOpen",
            "invented",
        ],
    ),
    (
        "copilot",
        &[
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "Stop",
            "AgentStop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "Notification",
            "ErrorOccurred",
            "Invented",
        ],
    ),
    (
        "vscode",
        &[
            "PreToolUse",
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "PreCompact",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "Invented",
        ],
    ),
    (
        "windsurf",
        &[
            "pre_run_command",
            "pre_write_code",
            "pre_read_code",
            "pre_mcp_tool_use",
            "pre_user_prompt",
            "post_run_command",
            "post_write_code",
            "post_read_code",
            "post_mcp_tool_use",
            "post_cascade_response",
            "post_cascade_response_with_transcript",
            "post_setup_worktree",
            "invented",
        ],
    ),
    (
        "cline",
        &[
            "tool_call",
            "PreToolUse",
            "tool_result",
            "PostToolUse",
            "agent_start",
            "agent_resume",
            "agent_abort",
            "agent_end",
            "agent_error",
            "prompt_submit",
            "pre_compact",
            "session_shutdown",
            "TaskStart",
            "TaskResume",
            "TaskCancel",
            "TaskComplete",
            "TaskError",
            "UserPromptSubmit",
            "PreCompact",
            "SessionShutdown",
            "Notification",
            "invented",
        ],
    ),
    (
        "droid",
        &[
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "UserPromptSubmit",
            "Notification",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "SessionStart",
            "SessionEnd",
            "Invented",
        ],
    ),
];

/// A host's payload for an event, with an action that must be stopped or must not.
fn event(host: &str, event: &str, harm: bool, sandbox: &Sandbox) -> Value {
    let cwd = sandbox.project();
    let command = if harm { "rm -rf /" } else { "ls" };
    let file = if harm { "/etc/shadow" } else { "notes.txt" };
    let call = if harm { json!({"command": command}) } else { json!({"city": "Kyoto"}) };
    let shell = json!({"command": command});
    match host {
        "vscode" => json!({"hookEventName": event, "sessionId": "s", "cwd": cwd,
            "tool_name": "run_in_terminal", "tool_input": shell}),
        "gemini" => json!({"hook_event_name": event, "session_id": "s", "cwd": cwd,
            "tool_name": "run_shell_command", "tool_input": shell}),
        "cursor" => {
            let is_mcp = event == "beforeMCPExecution";
            let (tool, input) = if is_mcp { ("get_weather", call) } else { ("Shell", shell) };
            json!({"hook_event_name": event, "conversation_id": "s", "cwd": cwd,
                "workspace_roots": [cwd], "command": command, "file_path": file,
                "tool_name": tool, "tool_input": input})
        }
        "windsurf" => json!({"agent_action_name": event, "trajectory_id": "s", "tool_info": {
            "command_line": command, "cwd": cwd, "file_path": file,
            "edits": [{"old_string": "", "new_string": "x"}], "mcp_server_name": "s",
            "mcp_tool_name": "get_weather", "mcp_tool_arguments": call}}),
        "cline" if matches!(event, "tool_call" | "PreToolUse") => {
            json!({"hookName": event, "taskId": "s", "workspaceRoots": [cwd],
                "tool_call": {"id": "1", "name": "run_commands", "input": {"commands": [command]}}})
        }
        "cline" => json!({"hookName": event, "taskId": "s", "workspaceRoots": [cwd]}),
        "droid" => json!({"hook_event_name": event, "session_id": "s", "cwd": cwd,
            "tool_name": "Execute", "tool_input": shell}),
        _ => json!({"hook_event_name": event, "session_id": "s", "cwd": cwd,
            "tool_name": "Bash", "tool_input": shell}),
    }
}

#[test]
fn every_event_of_every_host_is_judged_neutral_by_name_or_refused() {
    let sandbox = Sandbox::new("host-events");
    let mut table = String::new();
    for (host, events) in EVENTS {
        for name in *events {
            let stopped = [true, false].map(|harm| {
                let said = event(host, name, harm, &sandbox).to_string();
                let ended = hook(&sandbox, host, &said);
                // A no to the host's own prompt has a format of its own.
                stops(host, &ended) || ended.out.contains("\"behavior\":\"deny\"")
            });
            let word = match stopped {
                [true, false] => "judged",
                [false, false] => "neutral",
                [true, true] => "refused",
                [false, true] => "odd",
            };
            table.extend([host, " ", name, ": ", word, "\n"]);
        }
    }
    let golden = folder().join("events.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &table).unwrap();
    }
    let wanted = fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(table, wanted, "BLESS=1 rewrites {}", golden.display());
    for line in table.lines() {
        let unknown = line.to_lowercase().contains(" invented");
        assert_eq!(unknown, line.ends_with("refused"), "{line}");
        assert!(!line.ends_with("odd"), "{line}");
    }
}

#[test]
fn a_signal_to_clines_script_is_a_no() {
    let sandbox = Sandbox::new("host-cline-signal");
    assert_eq!(sandbox.run(&["install", "cline", "--yes"]).code, Some(0));
    let script = sandbox.home().join("Documents/Cline/Hooks/PreToolUse");
    let (socket, listener) = Socket::new("cline");
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut command = sandbox.command(script.to_str().unwrap());
        command.env("COUNTERSIGN_SERVER", &socket.0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = payload("cline", "command-confirm", &sandbox);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let _asked = listener.accept().unwrap();
        send(&child, signal);
        let ended = ended(child);
        assert!(stops("cline", &ended), "{signal:?}: {ended:?}");
    }
}
