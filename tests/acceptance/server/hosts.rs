//! An agent host with our hook, a running server, and a person elsewhere who answers.

use std::io::Write as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign_server::SocketName;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Client, Server, Setup, text, until};

/// The part of a host that runs hooks.
struct Host<'a> {
    server: &'a Server,
    name: &'static str,
    environment: Vec<(&'static str, String)>,
    /// The number of seconds that it waits.
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

    /// Starts a call, which continues by itself.
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

    /// Makes a call to its end; returns the decision and its reason, both empty when nothing was
    /// printed.
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
    // The approval is spent, and not for a second call.
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

/// Waits until a question has ended without a decision.
fn is_withdrawn(person: &Client, id: &Value) {
    let over = ["cancelled", "expired"];
    until("the question is gone", || {
        over.contains(&person.state(&text(id)).as_str()).then_some(())
    });
}

#[test]
fn a_question_goes_when_its_host_gives_up_and_counts_down_to_that() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut host = Host::new(&server, "codex");
    host.patience = "5";
    let call = host.begin(PUSH);
    let question = waiting(&owner);
    let seconds = |name: &str| {
        let at = text(&question[name]);
        let clock = at.get(11..19).expect("a time").split(':').map(str::parse::<u64>);
        clock.fold(0, |all, part| all * 60 + part.expect("a number"))
    };
    // Two seconds less than the host waits, at most; regardless of the profile.
    let (asked, over) = (seconds("created_at"), seconds("expires_at"));
    assert!((86_400 + over - asked) % 86_400 <= 5, "{question}");
    let (decision, reason) = end(call);
    assert_eq!(decision, "deny");
    assert!(reason.contains("in time"), "{reason}");
    is_withdrawn(&owner, &question["approval_id"]);
    // Asking again is a new question.
    host.patience = "60";
    let again = host.begin(PUSH);
    let second = waiting(&owner);
    assert_ne!(second["approval_id"], question["approval_id"]);
    answer(&owner, &second["approval_id"], &json!({"approved": true}));
    assert_eq!(end(again).0, "", "for Codex a yes is silence");
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("it is there");
}

#[test]
fn a_hook_that_is_told_to_end_says_no_and_takes_its_question_back() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    for name in ["claude-code", "codex"] {
        for with in [Signal::TERM, Signal::INT, Signal::HUP, Signal::PIPE] {
            let call = Host::new(&server, name).begin(PUSH);
            let question = waiting(&owner);
            signal(&call, with);
            let output = call.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("\"permissionDecision\":\"deny\""), "{name}, {with:?}: {said}");
            assert!(output.status.code().is_some(), "{name}, {with:?}: {output:?}");
            is_withdrawn(&owner, &question["approval_id"]);
        }
    }
}

#[test]
fn the_question_of_a_hook_that_was_killed_is_withdrawn() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut call = Host::new(&server, "claude-code").begin(PUSH);
    let question = waiting(&owner);
    signal(&call, Signal::KILL);
    call.wait().expect("it is dead");
    is_withdrawn(&owner, &question["approval_id"]);
    // The question of an agent that has not said that it waits is kept.
    let agent = owner.key("agent");
    let asked = agent.post("/api/actions", &json!({"action": {"kind": "shell", "command": PUSH}}));
    let asked = text(&asked.expect(202)["approval_id"]);
    let waits = json!({"action": {"kind": "shell", "command": "git push -f"}, "waits": {}});
    let left = json!(text(&agent.post("/api/actions", &waits).expect(202)["approval_id"]));
    is_withdrawn(&owner, &left);
    assert_eq!(owner.state(&asked), "pending");
}

/// Forwards connections to the server's socket, and counts them.
fn counting(server: &Server) -> (std::path::PathBuf, Arc<AtomicUsize>) {
    let (from, to) = (server.setup.home.0.join("count.sock"), server.data().join("server.sock"));
    // A name that is short enough wherever the tests are.
    let name = SocketName::of(&from).expect("a name");
    let listener = UnixListener::bind(name.path()).expect("a socket");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::SeqCst);
            let name = SocketName::of(&to).expect("a name");
            let server = UnixStream::connect(name.path()).expect("the server listens");
            for (mut from, mut to) in [
                (client.try_clone().expect("a socket"), server.try_clone().expect("a socket")),
                (server, client),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    (from, count)
}

#[test]
fn a_waiting_hook_keeps_one_request_waiting() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let (socket, count) = counting(&server);
    let mut host = Host::new(&server, "codex");
    host.environment.push(("COUNTERSIGN_SERVER", socket.to_str().expect("a path").to_owned()));
    let call = host.begin(PUSH);
    let question = waiting(&owner);
    until("the hook waits", || (count.load(Ordering::SeqCst) >= 3).then_some(()));
    // A hook that polls has done so hundreds of times after this.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let connections = count.load(Ordering::SeqCst);
    answer(&owner, &question["approval_id"], &json!({"approved": true}));
    assert_eq!(end(call).0, "");
    assert_eq!(connections, 3, "a session, a proposal, and one request that waits");
}

const GENTLE: &str = "git push --force origin feature";

/// Approves another command than the proposed one.
fn edit(person: &Client, question: &Value, command: &str) {
    let mut action = question["proposed"].clone();
    action["command"] = json!(command);
    answer(person, &question["approval_id"], &json!({"approved": true, "edited": action}));
}

#[test]
fn an_edited_call_runs_edited_where_the_host_takes_another_input() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    for name in ["claude-code", "codex"] {
        let call = Host::new(&server, name).begin(PUSH);
        let question = waiting(&owner);
        edit(&owner, &question, GENTLE);
        let output = call.wait_with_output().expect("it ends");
        let said: Value = serde_json::from_slice(&output.stdout).expect("an answer");
        let said = &said["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "allow", "{name}: {said}");
        assert_eq!(said["updatedInput"], json!({"command": GENTLE}), "{name}");
        let replaced = owner.get(&format!("/api/approvals/{}", text(&question["approval_id"])));
        let by = text(&replaced.expect(200)["replaced_by"]);
        assert_eq!(owner.state(&by), "started", "{name}: the yes is used");
    }
}

#[test]
fn an_edited_call_is_told_word_for_word_where_only_the_agent_can_make_it() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let host = Host::new(&server, "droid");
    let run = |command: &str| {
        let payload = json!({
            "session_id": "s1", "cwd": server.setup.home.0, "hook_event_name": "PreToolUse",
            "tool_name": "Execute", "tool_input": {"command": command},
        });
        let mut child = host.command().spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("it has an input");
        stdin.write_all(payload.to_string().as_bytes()).expect("it reads");
        child
    };
    let said = |child: Child| {
        let output = child.wait_with_output().expect("it ends");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        said["hookSpecificOutput"].clone()
    };
    let call = run(PUSH);
    let question = waiting(&owner);
    edit(&owner, &question, GENTLE);
    let told = said(call);
    assert_eq!(told["permissionDecision"], "deny", "{told}");
    let reason = text(&told["permissionDecisionReason"]);
    assert!(reason.contains(&format!("Run exactly this command: {GENTLE}")), "{reason}");
    // Exactly that goes through immediately, and once.
    assert_eq!(said(run(GENTLE))["permissionDecision"], "allow");
    let again = run(GENTLE);
    answer(&owner, &waiting(&owner)["approval_id"], &json!({"approved": false}));
    assert_eq!(said(again)["permissionDecision"], "deny");
}

#[test]
fn an_agent_gets_the_changed_action_and_a_permit_for_it() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let proposal = json!({"action": {"kind": "shell", "command": PUSH}});
    // With the answer it waited for.
    let (waiter, asked) = (agent.clone(), proposal.clone());
    let waits = std::thread::spawn(move || {
        let wait = [("Prefer", "wait=30")];
        waiter.json("POST", "/api/actions", &wait, &asked).expect(200)
    });
    edit(&owner, &waiting(&owner), GENTLE);
    let permitted = waits.join().expect("it waits");
    assert_eq!((&permitted["status"], &permitted["by"]), (&json!("permitted"), &json!("person")));
    assert_eq!(permitted["edited"]["command"], GENTLE, "{permitted}");
    // And by spending the question that it knows.
    let first = text(&agent.post("/api/actions", &proposal).expect(202)["approval_id"]);
    edit(&owner, &waiting(&owner), GENTLE);
    let seen = agent.get(&format!("/api/approvals/{first}")).expect(200);
    assert_ne!(seen["replaced_by"], Value::Null);
    let spent = agent.post(&format!("/api/approvals/{first}/spend"), &proposal).expect(200);
    assert_eq!(spent["edited"]["command"], GENTLE, "{spent}");
    assert_eq!(spent["approval_id"], seen["replaced_by"]);
    let again = agent.post(&format!("/api/approvals/{first}/spend"), &proposal);
    assert_eq!(again.status, 409, "{}", again.text());
}

#[test]
fn a_yes_that_nobody_said_is_not_told_as_a_persons() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    owner.json("PATCH", "/api/settings", &[], &json!({"autonomous": true})).expect(200);
    let (decision, reason) = Host::new(&server, "claude-code").call(PUSH);
    assert_eq!(decision, "allow");
    assert!(reason.contains("Nobody was asked") && reason.contains("autonomous"), "{reason}");
    owner.json("PATCH", "/api/settings", &[], &json!({"autonomous": false})).expect(200);
    let call = Host::new(&server, "claude-code").begin(PUSH);
    answer(&owner, &waiting(&owner)["approval_id"], &json!({"approved": true, "scope": "session"}));
    let (decision, reason) = end(call);
    assert_eq!((decision.as_str(), reason.contains("A person said yes")), ("allow", true));
    let (_, reason) = Host::new(&server, "claude-code").call(PUSH);
    assert!(reason.contains("remembers"), "{reason}");
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
        // Immediately, and without asking anybody.
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
    // This test process has started the hook, so it is the host; and it owns the socket.
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
    // A halt persists when the server is gone.
    let server = server.killed_and_started_again();
    let host = Host::new(&server, "claude-code");
    assert_eq!(host.call("ls").0, "deny");
    let owner = Client { address: server.address, ..owner };
    owner.post("/api/halt/resume", &json!({})).expect(204);
    until("hooks are told", || (host.call("ls").0.is_empty()).then_some(()));
}

#[test]
fn a_server_that_dies_while_a_person_thinks_and_stays_away_is_a_no() {
    let mut server = Server::with("coding-agent");
    let owner = server.owner();
    let mut host = Host::new(&server, "codex");
    host.patience = "6";
    let call = host.begin(PUSH);
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
    // Somebody is there to ask, but the server sees nothing to ask about.
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
    // Nobody is signed in yet: that is another refusal than "no server".
    assert_eq!(decision, "deny");
    assert!(reason.contains("nobody to ask"), "{reason}");
}

/// Returns the process that has these words on its command line.
#[cfg(target_os = "linux")]
fn process_with(words: &str) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").ok()?.map_while(Result::ok);
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(words)
    })
}
