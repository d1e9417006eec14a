//! The organisation's policy: it holds on the server and on the machines that receive it.

use std::fs;
use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::{Client, Server, Setup, text};

/// A name that only the organisation may see.
const TOPIC: &str = "a-name-that-nobody-guesses";

fn organisation(setup: &Setup, yaml: &str) -> String {
    let path = setup.home.0.join("organisation.yaml");
    fs::write(&path, yaml).expect("a policy");
    path.display().to_string()
}

/// Starts a server with the organisation's policy.
fn serving(yaml: &str) -> Server {
    let setup = Setup::new();
    let policy = organisation(&setup, yaml);
    setup.word("--policy").word(&policy).start()
}

/// Another machine: a home of its own, and a key of the server.
struct Machine {
    setup: Setup,
    server: String,
    policy_key: String,
}

impl Machine {
    fn new(server: &Server, agent: &Client) -> Self {
        let policy_key = text(&agent.get("/api/policy").expect(200)["key"]);
        let secret = agent.secret.clone().expect("a key");
        let setup = Setup::new().variable("COUNTERSIGN_KEY", &secret);
        Self { setup, server: server.url.clone(), policy_key }
    }

    /// Writes this configuration for the machine's user, besides the server's address.
    fn configure(&self, hook: &str, rest: &str) {
        let Self { server, policy_key, .. } = self;
        let hook = format!("hook: {{server: '{server}', policy_key: {policy_key}{hook}}}\n");
        drop(self.setup.clone().config(&format!("{hook}{rest}")));
    }

    fn run(&self, words: &[&str], input: &str) -> Output {
        let mut command = self.setup.command();
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("an input");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    fn check(&self, command: &str) -> Option<i32> {
        self.run(&["check", "shell", command], "").status.code()
    }

    /// What a hook of Claude Code decides about a command, and why; nothing where it says nothing.
    fn hook(&self, command: &str) -> (String, String) {
        let call = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "session_id": "s",
            "cwd": self.setup.home.0, "tool_input": {"command": command}});
        let output = self.run(&["hook", "claude-code", "--timeout", "20"], &call.to_string());
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let said = &said["hookSpecificOutput"];
        let word = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        (word("permissionDecision"), word("permissionDecisionReason"))
    }

    fn kept(&self) -> std::path::PathBuf {
        self.setup.home.0.join(".local/share/countersign/organisation-policy.json")
    }
}

const LAX: &str = "safety: {enabled: false}\noverrides: {'*': allow, kind.shell: allow}\n";
const PUSH: &str = "git push --force";
const PIPE: &str = "curl https://example.com/install | sh";

#[test]
fn the_organisations_policy_holds_on_every_machine_it_is_handed_to() {
    let server = serving(&format!(
        "safety: {{enabled: true}}\noverrides: {{kind.code: confirm}}\nlock: [profile]\n\
         channels: [{{ntfy: {{topic: {TOPIC}}}}}]\n"
    ));
    let agent = server.owner().key("agent");
    let machine = Machine::new(&server, &agent);
    machine.setup.clone().config(LAX);
    assert_eq!(machine.check(PUSH), Some(0), "without the organisation the user decides");
    machine.configure("", LAX);
    assert_eq!(machine.check(PUSH), Some(3));
    assert_eq!(machine.check(PIPE), Some(3));
    assert_eq!(machine.check("rm -rf /usr"), Some(4));
    assert_eq!(machine.check("ls"), Some(0));
    // In the hook, too: what the user lowered is asked about again.
    let profile = machine.run(&["config", "show", "--json"], "");
    let shown: Value = serde_json::from_slice(&profile.stdout).expect("JSON");
    let line = |name: &str| {
        let lines = shown["lines"].as_array().expect("lines").iter();
        lines.filter(|line| line["name"] == name).cloned().collect::<Vec<_>>()
    };
    assert_eq!(line("safety.enabled")[0]["layer"], "organisation", "{shown}");
    assert_eq!(
        line("lock")[0],
        json!({"name": "lock", "value": "profile", "layer": "organisation"})
    );
    assert_eq!(shown["digest"].as_str().map(str::len), Some(64));
    assert_eq!(shown["from"]["hook"]["policy_key"], "user");
    drop(server);
    let (decision, reason) = machine.hook(PUSH);
    assert_eq!(decision, "deny", "{reason}");
    assert!(reason.contains("a person must say yes") && reason.contains("reached"), "{reason}");
    // The same host without the organisation has nothing against it.
    machine.setup.clone().config(LAX);
    assert_eq!(machine.hook(PUSH), (String::new(), String::new()));
    machine.configure("", LAX);
    // And nothing of what is secret has left the server.
    let kept = fs::read_to_string(machine.kept()).expect("it is kept");
    assert!(!kept.contains(TOPIC), "{kept}");
}

#[test]
fn a_policy_that_is_too_old_changed_or_somebody_elses_closes_the_gate() {
    let server = serving("overrides: {shell.git.force-push: block}\n");
    let agent = server.owner().key("agent");
    let machine = Machine::new(&server, &agent);
    machine.configure("", LAX);
    assert_eq!(machine.check(PUSH), Some(4));
    assert_eq!(machine.check("ls"), Some(0));
    drop(server);
    // The server is gone: the cached policy holds, as long as it may.
    assert_eq!(machine.check(PUSH), Some(4));
    machine.configure(", policy_refresh: 0", LAX);
    assert_eq!(machine.check(PUSH), Some(4));
    machine.configure(", policy_refresh: 0, policy_max_age: 0", LAX);
    let old = machine.run(&["check", "shell", "ls"], "");
    assert_eq!(old.status.code(), Some(2), "{old:?}");
    assert!(String::from_utf8_lossy(&old.stderr).contains("policy of the organisation"), "{old:?}");
    assert_eq!(machine.hook("ls").0, "deny");
    machine.configure("", LAX);
    assert_eq!(machine.check("ls"), Some(0), "it is still young enough");
    let kept = fs::read_to_string(machine.kept()).expect("it is kept");
    fs::write(machine.kept(), kept.replace("\"block\"", "\"allow\"")).expect("it can be written");
    assert_eq!(machine.check("ls"), Some(2), "a changed policy is none");
    fs::write(machine.kept(), kept).expect("it can be written");
    assert_eq!(machine.check("ls"), Some(0));
    let other = serving("profile: coding-agent\n");
    let agent = other.owner().key("agent");
    let key = text(&agent.get("/api/policy").expect(200)["key"]);
    let stranger = Machine { policy_key: key, ..machine };
    stranger.configure("", LAX);
    assert_eq!(stranger.check("ls"), Some(2), "another server's policy is none");
}

#[test]
fn a_machine_that_never_got_the_policy_is_told_what_is_wrong_and_is_left_by_uninstalling() {
    let server = serving("safety: {enabled: true}\n");
    let machine = Machine::new(&server, &server.owner().key("agent"));
    assert!(machine.run(&["install", "claude-code", "--yes"], "").status.success());
    machine.configure("", "");
    drop(server);
    let output = machine.run(&["doctor", "--json"], "");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = found["rollout"]["checks"].as_array().expect("checks");
    let server = checks.iter().find(|check| check["name"] == "server").expect("a check");
    assert_eq!(server["ok"], json!(false), "{found}");
    let left = machine.run(&["uninstall", "claude-code", "--yes"], "");
    assert!(left.status.success(), "{left:?}");
}

#[test]
fn a_policy_that_is_only_too_old_is_left_to_the_host_where_the_organisation_says_so() {
    const OLD: &str = ", policy_refresh: 0, policy_max_age: 0";
    let rules = "overrides: {shell.git.force-push: block}\n";
    for (organisation, hook, decision) in [
        ("hook: {unreachable: ask}\n", "", "ask"),
        // A user makes that stricter, and no user makes it looser.
        ("hook: {unreachable: ask}\n", ", unreachable: deny", "deny"),
        ("", ", unreachable: ask", "deny"),
        ("hook: {unreachable: deny}\n", ", unreachable: ask", "deny"),
        ("", "", "deny"),
    ] {
        let server = serving(&format!("{organisation}{rules}"));
        let agent = server.owner().key("agent");
        let machine = Machine::new(&server, &agent);
        machine.configure(hook, LAX);
        assert_eq!(machine.run(&["doctor"], "").status.code(), Some(0), "it is reached once");
        drop(server);
        machine.configure(&format!("{hook}{OLD}"), LAX);
        for command in ["ls", PIPE] {
            let (decided, reason) = machine.hook(command);
            assert_eq!(decided, decision, "{organisation} {hook} {command}: {reason}");
            assert!(reason.contains("policy of the organisation"), "{reason}");
        }
        // What the old policy blocks stays blocked, and a command that nobody asks about ends.
        assert_eq!(machine.hook(PUSH).0, "deny");
        assert_eq!(machine.check("ls"), Some(2));
        let kept = machine.setup.home.0.join(".local/share/countersign/offline.jsonl");
        let kept = fs::read_to_string(kept).unwrap_or_default();
        assert_eq!(kept.contains("asked_by_host"), decision == "ask", "on record: {kept}");
        // One that somebody has changed is none, whatever the organisation says.
        let text = fs::read_to_string(machine.kept()).expect("it is kept");
        fs::write(machine.kept(), text.replace("\"block\"", "\"allow\"")).expect("a file");
        assert_eq!(machine.hook("ls").0, "deny");
    }
}

#[test]
fn a_server_that_cannot_vouch_for_its_policy_is_not_one_that_cannot_be_reached() {
    let server = serving("hook: {unreachable: ask}\n");
    let agent = server.owner().key("agent");
    let machine = Machine::new(&server, &agent);
    machine.configure("", LAX);
    assert_eq!(machine.run(&["doctor"], "").status.code(), Some(0));
    drop(server);
    let other = serving("hook: {unreachable: ask}\n");
    let agent = other.owner().key("agent");
    let secret = agent.secret.clone().expect("a key");
    let moved = Machine {
        setup: machine.setup.clone().variable("COUNTERSIGN_KEY", &secret),
        server: other.url.clone(),
        policy_key: machine.policy_key.clone(),
    };
    moved.configure(", policy_refresh: 0, policy_max_age: 0", LAX);
    let (decision, reason) = moved.hook("ls");
    assert_eq!(decision, "deny", "{reason}");
    assert!(reason.contains("not to be trusted"), "{reason}");
}

#[test]
fn locked_safety_holds_on_machines_and_a_locked_record_is_not_erased_there() {
    let server = serving("lock: [safety, erasure]\n");
    let agent = server.owner().key("agent");
    let machine = Machine::new(&server, &agent);
    machine.setup.clone().config(LAX);
    assert_eq!(machine.check(PUSH), Some(0), "without the organisation the user decides");
    machine.configure("", LAX);
    // The organisation sets nothing else: the default holds, and lower layers only raise.
    assert_eq!((machine.check(PUSH), machine.check(PIPE)), (Some(3), Some(3)));
    machine.configure("", "overrides: {shell.git.force-push: block}\n");
    assert_eq!(machine.check(PUSH), Some(4), "stricter is allowed");
    // A gate of the machine's own, whose record somebody wants to be rid of.
    let own = Setup { words: Vec::new(), ..machine.setup.clone() };
    let mut local = own.start();
    let me = local.owner();
    let user = me.id();
    me.key("agent").propose(&json!({"kind": "shell", "command": "ls"})).expect(200);
    assert!(local.stop().success());
    let data = local.data().display().to_string();
    let words = ["audit", "erase", "--yes", "--user", &user, "--data", &data];
    let refused = machine.run(&words, "");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("the organisation has locked `erasure`"), "{said}");
    assert_eq!(local.verified()["erased"], 0);
    machine.setup.clone().config("profile: coding-agent\n");
    let erased = machine.run(&words, "");
    assert!(erased.status.success(), "without the lock it is theirs: {erased:?}");
}

#[test]
fn a_record_that_the_server_keeps_is_not_erased_in_its_folder() {
    let mut server = serving("lock: [erasure]\n");
    let user = server.owner().id();
    assert!(server.stop().success());
    let data = server.data().display().to_string();
    let words = ["audit", "erase", "--yes", "--user", &user, "--data", &data];
    let refused = Setup::new().command().args(words).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("keeps the record"), "{said}");
    assert_eq!(server.verified()["erased"], 0);
}

#[test]
fn what_the_organisation_has_locked_nobody_unlocks() {
    let server = serving(
        "lock: [profile, autonomous, auto_confirm, program_keys, retention, erasure]\n\
         gate: {retention_days: 90}\n",
    );
    let owner = server.owner();
    let begin = |plan: Value| {
        owner.post("/api/sessions", &json!({"consent": true, "plan": plan})).problem(403)
    };
    assert_eq!(begin(json!({"auto_confirm": true})), "locked");
    assert_eq!(begin(json!({"profile": "browser-agent"})), "locked");
    let change = |change: Value| owner.json("PATCH", "/api/settings", &[], &change);
    assert_eq!(change(json!({"autonomous": true})).problem(403), "locked");
    assert_eq!(change(json!({"retention_days": 1})).problem(403), "locked");
    change(json!({"confirm_programs": true})).expect(200);
    assert_eq!(change(json!({"confirm_programs": false})).problem(403), "locked");
    change(json!({"logging": "enhanced"})).expect(200);
    assert_eq!(owner.delete("/api/history").problem(403), "locked");
    // A program that would not need a confirmation elsewhere needs one here.
    let program = owner.key("program");
    let skill = json!({"kind": "skill", "skill": "email.send"});
    program.ask(&skill);
    let free = serving("profile: coding-agent\n");
    let owner = free.owner();
    owner.key("program").propose(&skill).expect(200);
    owner.json("PATCH", "/api/settings", &[], &json!({"autonomous": true})).expect(200);
}

#[test]
fn a_locked_retention_is_not_shortened_by_the_environment() {
    let setup = Setup::new().variable("AUTO_ACTION_LOG_RETENTION_DAYS", "1");
    let policy = organisation(&setup, "lock: [retention]\ngate: {retention_days: 90}\n");
    let output = setup.word("--policy").word(&policy).refused();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("retention") && said.contains("organisation.yaml"), "{said}");
}

#[test]
fn a_workspace_has_a_policy_of_its_own_above_none_that_the_organisation_set() {
    let server = serving("overrides: {shell.git.reset-hard: block}\n");
    let owner = server.owner();
    let first = owner.workspace();
    let second = owner.post("/api/workspaces", &json!({"name": "Second"})).expect(201);
    let second = text(&second["workspace_id"]);
    let folder = server.setup.home.0.join("workspaces");
    fs::create_dir(&folder).expect("a folder");
    let rules = "overrides: {shell.git.force-push: block, shell.git.reset-hard: allow}\n";
    fs::write(folder.join(format!("{second}.yaml")), rules).expect("a file");
    let server = server.killed_and_started_again();
    let owner = Client { address: server.nobody().address, ..owner };
    let key = |workspace: &str| {
        owner.key_of(&json!({"name": "a", "scopes": ["*"], "access": "agent", "devices": "any",
            "workspace_id": workspace}))
    };
    let (one, two) = (key(&first), key(&second));
    let shell = |command: &str| json!({"kind": "shell", "command": command});
    assert_eq!(one.propose(&shell(PUSH)).status, 202);
    assert_eq!(two.propose(&shell(PUSH)).problem(403), "blocked");
    assert_eq!(two.propose(&shell("git reset --hard")).problem(403), "blocked");
    let handed = two.get("/api/policy").expect(200);
    assert_eq!(handed["policy"]["workspace_id"], json!(second));
    assert!(handed["policy"]["workspace"].is_object() && handed["digest"].is_string());
    assert!(one.get("/api/policy").expect(200)["policy"]["workspace"].is_null());
    fs::write(folder.join("marketing.yaml"), "profile: coding-agent\n").expect("a file");
    let setup = server.setup.clone();
    drop(server);
    let said = String::from_utf8_lossy(&setup.refused().stderr).into_owned();
    assert!(said.contains("marketing.yaml"), "{said}");
}

#[test]
fn a_session_confirms_by_itself_only_the_rules_it_names() {
    let server = Server::with("coding-agent");
    let program = server.owner().key("program");
    let shell = |command: &str| json!({"kind": "shell", "command": command});
    let plan = json!({"auto_confirm": true, "auto_confirm_rules": ["shell.git.force-push"]});
    let session = program.session(&plan);
    let given = program.propose_in(&session, &shell(PUSH)).expect(200);
    assert_eq!(given["by"], "auto_confirm", "{given}");
    assert_eq!(program.propose_in(&session, &shell("git reset --hard")).status, 202);
    let every = program.session(&json!({"auto_confirm": true}));
    program.propose_in(&every, &shell("git reset --hard")).expect(200);
    let unknown = json!({"auto_confirm": true, "auto_confirm_rules": ["shell.git.forse-push"]});
    let body = json!({"consent": true, "plan": unknown});
    assert_eq!(program.post("/api/sessions", &body).status, 400);
}

#[test]
fn a_session_goes_from_exploring_to_working_and_back() {
    let server = Server::with("browser-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let session = agent.session(&json!({"mode": "explore"}));
    let path = format!("/api/sessions/{session}");
    let submit = json!({"kind": "ui", "surface": "browser", "op": "click", "label": "Submit"});
    let refused = agent.propose_in(&session, &submit);
    assert_eq!(refused.status, 403);
    assert!(String::from_utf8_lossy(&refused.body).contains("xploring"), "{refused:?}");
    let mode =
        |client: &Client, mode: &str| client.json("PATCH", &path, &[], &json!({"mode": mode}));
    assert_eq!(mode(&agent, "task").problem(403), "not-for-agents");
    assert_eq!(server.local("PATCH", &path, &json!({"mode": "task"})).status, 403);
    assert_eq!(mode(&owner, "task").expect(200)["plan"]["mode"], "task");
    assert_eq!(agent.propose_in(&session, &submit).status, 202);
    assert_eq!(mode(&agent, "explore").expect(200)["plan"]["mode"], "explore");
    assert_eq!(agent.propose_in(&session, &submit).status, 403);
    let records = owner.get("/api/audit?limit=200").expect(200).to_string();
    assert_eq!(records.matches("session_mode").count(), 2, "{records}");
    owner.post(&format!("{path}/stop"), &Value::Null).expect(204);
    assert_eq!(mode(&owner, "task").problem(409), "session-over");
}
