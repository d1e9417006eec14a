//! An agent host with our hook, a server that runs, and a person elsewhere who answers.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{Client, Server, Setup, text, until};

/// The part of a host that runs hooks.
struct Host<'a> {
    server: &'a Server,
    name: &'static str,
    environment: Vec<(&'static str, String)>,
    /// How long it waits, in seconds.
    patience: &'static str,
}

impl<'a> Host<'a> {
    fn new(server: &'a Server, name: &'static str) -> Self {
        let data = server.data().to_str().expect("a path").to_owned();
        Self { server, name, environment: vec![("COUNTERSIGN_DATA", data)], patience: "60" }
    }

    fn command(&self) -> Command {
        let mut command = self.server.setup.command();
        command.args(["hook", self.name, "--timeout", self.patience]);
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Begins a call, which goes on by itself.
    fn begin(&self, command: &str) -> Child {
        let cwd = &self.server.setup.home.0;
        let payload = json!({
            "session_id": "s1", "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command},
        });
        let mut child = self.command().spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("it has an input");
        stdin.write_all(payload.to_string().as_bytes()).expect("it reads");
        child
    }

    /// Makes a call to its end: the decision and its reason, nothing where nothing was said.
    fn call(&self, command: &str) -> (String, String) {
        end(self.begin(command))
    }
}

fn end(child: Child) -> (String, String) {
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = &said["hookSpecificOutput"];
    let word = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    (word("permissionDecision"), word("permissionDecisionReason"))
}

fn waiting(person: &Client) -> Value {
    until("a question waits", || {
        let listed = person.get("/api/approvals?state=pending").expect(200);
        listed["items"].as_array().and_then(|items| items.first().cloned())
    })
}

fn answer(person: &Client, id: &Value, body: &Value) {
    person.post(&format!("/api/approvals/{}/respond", text(id)), body).expect(200);
}

const PUSH: &str = "git push --force origin main";

#[test]
fn a_yes_from_elsewhere_lets_the_call_go_on() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let host = Host::new(&server, "claude-code");
    let call = host.begin(PUSH);
    let question = waiting(&owner);
    assert_eq!(question["proposed"]["command"], PUSH);
    answer(&owner, &question["approval_id"], &json!({"approved": true}));
    let (decision, reason) = end(call);
    assert_eq!((decision.as_str(), reason.is_empty()), ("allow", false));
    // The yes is used, and not for a second call.
    assert_eq!(owner.state(&text(&question["approval_id"])), "started");
    let again = host.begin(PUSH);
    let second = waiting(&owner);
    assert_ne!(second["approval_id"], question["approval_id"]);
    assert_eq!(second["session_id"], question["session_id"], "it is the same run of the agent");
    answer(&owner, &second["approval_id"], &json!({"approved": false}));
    assert_eq!(end(again).0, "deny");
    let sessions = owner.get("/api/sessions").expect(200);
    assert_eq!(sessions["items"][0]["plan"]["task"], "Claude Code s1");
}

#[test]
fn a_yes_that_comes_too_late_for_one_hook_holds_for_the_same_call_again() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut host = Host::new(&server, "codex");
    host.patience = "3";
    let (decision, reason) = host.call(PUSH);
    let question = waiting(&owner);
    assert_eq!(decision, "deny");
    assert!(reason.contains(&text(&question["approval_id"])), "{reason}");
    answer(&owner, &question["approval_id"], &json!({"approved": true}));
    host.patience = "60";
    assert_eq!(host.call(PUSH).0, "", "it goes on");
    assert_eq!(owner.state(&text(&question["approval_id"])), "started");
    // Another call is another question.
    host.patience = "3";
    assert_eq!(host.call("git push --force origin other").0, "deny");
}

#[test]
fn a_no_reaches_the_agent_with_what_the_person_wrote_and_is_not_asked_again() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    for name in ["claude-code", "codex"] {
        let host = Host::new(&server, name);
        let call = host.begin(PUSH);
        let body = json!({"approved": false, "feedback": "use --force-with-lease"});
        answer(&owner, &waiting(&owner)["approval_id"], &body);
        let (decision, reason) = end(call);
        assert_eq!(decision, "deny");
        assert!(reason.contains("use --force-with-lease"), "{reason}");
        // At once, and without bothering anybody.
        let (decision, reason) = host.call(PUSH);
        assert_eq!(decision, "deny");
        assert!(reason.contains("use --force-with-lease"), "{reason}");
    }
}

#[test]
fn what_is_allowed_or_blocked_asks_no_server() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let host = Host::new(&server, "claude-code");
    assert_eq!(host.call("ls -la").0, "");
    assert_eq!(host.call("rm -rf /").0, "deny");
    assert_eq!(owner.history("action_planned").len(), 0);
}

#[test]
fn with_everything_on_record_each_call_is() {
    let server = Setup::new().config("hook: {record: true}\n").start();
    let owner = server.owner();
    assert_eq!(Host::new(&server, "claude-code").call("ls -la").0, "");
    assert_eq!(owner.history("action_planned").len(), 1);
}

#[test]
fn nothing_the_agent_starts_can_answer_over_the_socket() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let call = Host::new(&server, "claude-code").begin(PUSH);
    let id = text(&waiting(&owner)["approval_id"]);
    // This very process has started the hook, so it is the host; and it owns the socket.
    let path = format!("/api/approvals/{id}/respond");
    let said = server.local("POST", &path, &json!({"approved": true}));
    assert_eq!(said.status, 403, "{}", said.text());
    assert_eq!(owner.state(&id), "pending");
    answer(&owner, &json!(id), &json!({"approved": false}));
    assert_eq!(end(call).0, "deny");
}

#[test]
fn a_halted_gate_stops_what_would_be_allowed_until_it_goes_on() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let host = Host::new(&server, "claude-code");
    assert_eq!(host.call("ls").0, "");
    owner.post("/api/halt", &json!({})).expect(204);
    let reason = until("hooks are told", || {
        let (decision, reason) = host.call("ls");
        (decision == "deny").then_some(reason)
    });
    assert!(reason.contains("halted"), "{reason}");
    // What was halted stays halted when the server is gone.
    let server = server.killed_and_started_again();
    let host = Host::new(&server, "claude-code");
    assert_eq!(host.call("ls").0, "deny");
    let owner = Client { address: server.address, ..owner };
    owner.post("/api/halt/resume", &json!({})).expect(204);
    until("hooks are told", || (host.call("ls").0.is_empty()).then_some(()));
}

#[test]
fn a_server_that_dies_while_a_person_thinks_is_a_no() {
    let mut server = Server::with("coding-agent");
    let owner = server.owner();
    let call = Host::new(&server, "codex").begin(PUSH);
    waiting(&owner);
    server.child.kill().expect("it can be ended");
    let (decision, reason) = end(call);
    assert_eq!(decision, "deny");
    assert!(!reason.is_empty());
}

#[test]
fn with_nobody_signed_in_the_host_asks_itself_or_it_is_a_no() {
    let server = Server::with("coding-agent");
    assert_eq!(Host::new(&server, "claude-code").call(PUSH).0, "ask");
    let (decision, reason) = Host::new(&server, "codex").call(PUSH);
    assert_eq!(decision, "deny");
    assert!(reason.contains("nobody to ask"), "{reason}");
}

#[test]
fn a_server_elsewhere_is_asked_with_a_key() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut host = Host::new(&server, "codex");
    host.environment = vec![("COUNTERSIGN_SERVER", server.url.clone())];
    let (decision, reason) = host.call(PUSH);
    assert_eq!(decision, "deny");
    assert!(reason.contains("COUNTERSIGN_KEY"), "{reason}");
    let key = owner.key("agent").secret.expect("a secret");
    host.environment.push(("COUNTERSIGN_KEY", key));
    let call = host.begin(PUSH);
    answer(&owner, &waiting(&owner)["approval_id"], &json!({"approved": true}));
    assert_eq!(end(call).0, "", "for Codex a yes is silence");
}

#[test]
fn a_rule_that_only_the_project_has_is_not_waved_through_by_the_server() {
    let server = Server::with("coding-agent");
    // Somebody is there to ask: the server just sees nothing to ask about.
    let _owner = server.owner();
    let rule = "safety: {custom_patterns: [\"deploy\"]}\n";
    std::fs::create_dir_all(server.setup.home.0.join("w/.git")).expect("a folder");
    std::fs::write(server.setup.home.0.join("w/.countersign.yaml"), rule).expect("a file");
    let mut child = Host::new(&server, "codex").command().spawn().expect("the binary starts");
    let payload = json!({
        "session_id": "s1", "cwd": server.setup.home.0.join("w"), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "echo deploy"},
    });
    let mut stdin = child.stdin.take().expect("it has an input");
    stdin.write_all(payload.to_string().as_bytes()).expect("it reads");
    drop(stdin);
    let (decision, reason) = end(child);
    assert_eq!(decision, "deny");
    assert!(reason.contains("does not know the rule"), "{reason}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_is_started_where_that_is_wanted() {
    let config = "hook: {start_server: true}\nserver: {listen: \"127.0.0.1:0\"}\n";
    let setup = Setup::new().config(config);
    let data = setup.home.data();
    let mut hook = setup.command();
    hook.args(["hook", "codex", "--timeout", "60"]).env("COUNTERSIGN_DATA", &data);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = hook.spawn().expect("the binary starts");
    let payload = json!({
        "session_id": "s1", "cwd": setup.home.0, "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": PUSH},
    });
    let mut stdin = child.stdin.take().expect("it has an input");
    stdin.write_all(payload.to_string().as_bytes()).expect("it reads");
    drop(stdin);
    let (decision, reason) = end(child);
    let started = process_with(data.to_str().expect("a path"));
    let pid = started.expect("a server runs");
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it ends");
    // Nobody is signed in yet: that is another no than "no server".
    assert_eq!(decision, "deny");
    assert!(reason.contains("nobody to ask"), "{reason}");
}

/// The process that has these words on its command line.
#[cfg(target_os = "linux")]
fn process_with(words: &str) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").ok()?.map_while(Result::ok);
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(words)
    })
}
