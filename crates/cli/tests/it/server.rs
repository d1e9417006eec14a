//! The commands for people, against the real server.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use countersign_gate::clock::System;
use countersign_gate::secret::{Secret, SecretKind};
use serde_json::{Value, json};

use crate::sandbox::{Ended, Sandbox, binary, end};

/// A server that runs until the end of the test.
struct Running {
    sandbox: Sandbox,
    server: Child,
    url: String,
    link: String,
    /// The secret of the owner's device, once they have signed in.
    device: std::sync::OnceLock<String>,
    /// Kept open, so that the server can continue to print.
    out: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(name: &str) -> Self {
        let sandbox = Sandbox::new(name);
        let mut server = serve(&sandbox);
        let mut out = BufReader::new(server.stdout.take().unwrap());
        let mut last_word = || {
            let mut text = String::new();
            out.read_line(&mut text).unwrap();
            text.split_whitespace().last().unwrap_or_default().to_owned()
        };
        let (url, link) = (last_word(), last_word());
        assert!(url.starts_with("http://127.0.0.1:") && link.contains("/sign-in?link="), "{url}");
        Self { sandbox, server, url, link, device: std::sync::OnceLock::new(), out }
    }

    /// Kills the server and starts another one on the same data.
    fn restart(&mut self, between: impl FnOnce(&Path)) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        between(&data(&self.sandbox));
        self.server = serve(&self.sandbox);
        self.out = BufReader::new(self.server.stdout.take().unwrap());
        self.out.read_line(&mut String::new()).unwrap();
    }

    /// Runs a command as the owner, over the socket, with their device once they have one.
    fn run(&self, args: &[&str]) -> Ended {
        end(&mut self.command(args), "")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(binary());
        command.args(args).env("COUNTERSIGN_DATA", data(&self.sandbox));
        command.envs(self.device.get().map(|secret| ("COUNTERSIGN_DEVICE", secret)));
        command
    }

    /// Runs a command over the socket without a device.
    fn plain(&self, args: &[&str]) -> Ended {
        end(self.command(args).env_remove("COUNTERSIGN_DEVICE"), "")
    }

    /// Signs the owner's device in.
    fn sign_in(&self) {
        let signed_in = self.run(&["sign-in", &self.link]);
        let secret =
            signed_in.out.lines().find_map(|line| line.strip_prefix("export COUNTERSIGN_DEVICE="));
        self.device.set(secret.unwrap().to_owned()).unwrap();
    }

    fn json(&self, args: &[&str]) -> Value {
        let ended = self.run(&[args, &["--json"]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(&ended.out).unwrap()
    }

    /// Creates a key that works here, and returns its secret. The owner is signed in, so somebody
    /// can be asked.
    fn key(&self) -> String {
        self.sign_in();
        let made = self.run(&["keys", "create", "agent", "--scope", "*", "--any-device"]);
        assert_eq!(made.code, Some(0), "{made:?}");
        made.out.trim().to_owned()
    }

    /// Proposes a command as an agent, and returns the server's answer.
    fn propose(&self, key: &str, command: &str) -> Value {
        let body = json!({"action": {"kind": "shell", "command": command},
            "context": {"cwd": "/work", "workspace": "/work", "home": "/home/user"}});
        self.post(key, "/api/actions", &body)
    }

    fn post(&self, secret: &str, path: &str, body: &Value) -> Value {
        use std::io::{Read as _, Write as _};
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {secret}\r\n\
             Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    fn asked(&self, key: &str, command: &str) -> String {
        let said = self.propose(key, command);
        assert_eq!(said["status"], "waiting", "{said}");
        said["approval_id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn serve(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.command(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error"]);
    command.args(["--data", data(sandbox).to_str().unwrap()]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn data(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join("gate")
}

#[test]
fn questions_are_listed_shown_approved_and_rejected() {
    let running = Running::start("server-approvals");
    let ended = running.run(&["approvals", "list"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "no questions are waiting for you\n"));
    assert_eq!(running.json(&["approvals", "list"]), json!([]));

    let key = running.key();
    let (one, two) = (
        running.asked(&key, "git push --force origin main"),
        running.asked(&key, "git push --force origin other"),
    );
    let listed = running.run(&["approvals", "list"]).out;
    assert!(listed.starts_with("ID ") && listed.contains(&one), "{listed}");
    assert!(listed.contains("high"), "{listed}");
    let shown = running.run(&["approvals", "show", &one]).out;
    for part in ["pending, high risk", "would run     git push --force origin main", "instead"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(running.json(&["approvals", "show", &one]).get("token").is_none());

    let approved = running.run(&["approvals", "approve", &one]);
    assert_eq!((approved.code, approved.out), (Some(0), format!("{one}: approved\n")));
    let again = running.run(&["approvals", "reject", &one]);
    assert_eq!((again.code, again.err.as_str()), (Some(1), "countersign: already approved\n"));
    let rejected = running.run(&["approvals", "reject", &two, "--feedback", "not today"]);
    assert_eq!(rejected.code, Some(0), "{rejected:?}");
    let shown = running.run(&["approvals", "show", &two]).out;
    assert!(shown.contains("rejected") && shown.contains("not today"), "{shown}");
    let past = running.run(&["approvals", "list", "--state", "any"]).out;
    assert!(past.contains(&one) && past.contains(&two), "{past}");
}

#[test]
fn a_list_that_is_cut_says_so_and_how_to_see_the_rest() {
    let running = Running::start("server-cut");
    for name in ["a", "b", "c"] {
        assert_eq!(running.run(&["users", "add", name]).code, Some(0));
    }
    let key = running.key();
    let device = running.device.get().unwrap();
    for branch in ["a", "b", "c"] {
        running.asked(&key, &format!("git push --force origin {branch}"));
        let begun = running.post(device, "/api/sessions", &json!({"consent": true}));
        assert!(begun["session_id"].is_string(), "{begun}");
    }
    let more = "more than 2: a higher --limit lists the others too\n";
    for (list, whole, told) in [
        (&["approvals", "list"][..], 3, "1 more: --limit 3 lists all\n"),
        (&["approvals", "list", "--state", "any"], 3, more),
        (&["sessions", "list"], 3, more),
        (&["users", "list", "--everybody"], 4, more),
    ] {
        for (limit, listed, told) in [(2, 2, told), (whole, whole, ""), (50, whole, "")] {
            let limit = limit.to_string();
            let words = [list, &["--limit", &limit]].concat();
            let plain = running.run(&words);
            assert_eq!((plain.code, plain.err.as_str()), (Some(0), told), "{words:?}");
            assert_eq!(plain.out.lines().count(), listed + 1, "{words:?}: {}", plain.out);
            let json = running.run(&[words.as_slice(), &["--json"]].concat());
            assert_eq!(json.err, told, "{words:?}");
            let json: Value = serde_json::from_str(&json.out).unwrap();
            assert_eq!(json.as_array().map(Vec::len), Some(listed), "{words:?}");
        }
    }
}

#[test]
fn several_are_answered_each_by_itself() {
    let running = Running::start("server-several");
    let key = running.key();
    let one = running.asked(&key, "git push --force origin main");
    let wrong = "apr_00000000000000000000000000";
    let ended = running.run(&["approvals", "approve", wrong, &one]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.out, format!("{one}: approved\n"));
    assert!(ended.err.contains("countersign: apr_0"), "{}", ended.err);
}

#[test]
fn keys_are_made_rotated_and_revoked_and_the_secret_is_alone_on_standard_output() {
    let running = Running::start("server-keys");
    let key = running.key();
    assert!(key.starts_with("csk_") && !key.contains(char::is_whitespace), "{key}");
    assert_eq!(running.propose(&key, "ls")["status"], "permitted");
    let keys = running.json(&["keys", "list"]);
    let id = keys[0]["key_id"].as_str().unwrap();
    assert!(!keys.to_string().contains(&key));
    let rotated = running.run(&["keys", "rotate", id]);
    let next = rotated.out.trim();
    assert!(next.starts_with("csk_") && next != key, "{rotated:?}");
    assert_eq!(running.propose(&key, "ls")["status"], 401, "the old one is over");
    assert_eq!(running.propose(next, "ls")["status"], "permitted");
    let keys = running.json(&["keys", "list"]);
    let ids: Vec<_> = keys.as_array().unwrap().iter().map(|key| &key["key_id"]).collect();
    for id in ids {
        running.run(&["keys", "revoke", id.as_str().unwrap()]);
    }
    assert_eq!(running.propose(next, "ls")["status"], 401);
    let wrong = running.run(&["keys", "create", "x", "--scope", "emial.send"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.err.contains("did you mean"), "{}", wrong.err);
}

#[test]
fn people_and_bots_come_and_go() {
    let server = Running::start("server-people");
    server.sign_in();
    let done = |args: &[&str]| {
        let ended = server.run(args);
        assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
        ended.out.trim().to_owned()
    };
    let link = done(&["users", "add", "Bob"]);
    let id = |name: &str| {
        let users = server.json(&["users", "list", "--everybody", "--removed"]);
        let users = users.as_array().unwrap().clone();
        let user = users.into_iter().find(|user| user["name"] == name).unwrap();
        user["user_id"].as_str().unwrap().to_owned()
    };
    let bob = id("Bob");
    assert!(done(&["users", "invite", &bob]).contains("/sign-in?link="));
    assert_eq!(server.run(&["sign-in", &link]).code, Some(1), "only the last link works");
    assert_eq!(done(&["users", "role", &bob, "--as", "admin"]), format!("{bob}: admin"));
    assert_eq!(done(&["users", "super-admin", &bob]), format!("{bob}: super admin"));
    assert!(done(&["users", "list", "--everybody"]).contains("super admin"));
    done(&["users", "super-admin", &bob, "--revoke"]);
    done(&["users", "disable", &bob]);
    assert!(done(&["users", "list", "--everybody"]).contains("disabled"));
    done(&["users", "enable", &bob]);
    let link = done(&["users", "invite", &bob]);
    let signed_in = server.run(&["sign-in", &link]);
    assert_eq!(signed_in.code, Some(0), "{signed_in:?}");
    // A lost laptop.
    let devices = server.json(&["devices", "list", "--user", &bob]);
    let laptop = devices[0]["device_id"].as_str().unwrap().to_owned();
    done(&["devices", "revoke", &laptop]);
    assert_eq!(server.json(&["devices", "list", "--user", &bob])[0]["state"], "revoked");
    done(&["users", "remove", &bob]);
    assert_eq!(server.run(&["users", "enable", &bob]).code, Some(1));
    assert_eq!(server.run(&["users", "erase", &bob]).code, Some(2), "nobody can be asked");
    assert!(done(&["users", "erase", &bob, "--yes"]).contains("erased"));
    let users = server.json(&["users", "list", "--everybody", "--removed"]).to_string();
    assert!(!users.contains("Bob"), "{users}");
    // A bot asks with a key of its own, and its administrator answers.
    let bot = done(&["users", "add", "ci", "--bot"]);
    let scope = ["--scope", "*", "--any-device"];
    let key = done(&[&["keys", "create", "runner", "--bot", &bot][..], &scope].concat());
    let question = server.asked(&key, "git push --force");
    done(&["approvals", "approve", &question]);
    assert_eq!(server.json(&["keys", "list", "--user", &bot])[0]["uses"], 1);
    assert!(done(&["audit", "verify"]).starts_with("intact"));
}

#[test]
fn a_halt_that_a_full_disk_kept_from_the_store_outlives_the_server() {
    let mut running = Running::start("server-halt-unstored");
    running.sign_in();
    let halt = |folder: &Path| folder.join("server.halted");
    // A full disk lets a file be made, and nothing be written into it.
    running.restart(|folder| std::fs::write(halt(folder), "").unwrap());
    assert_eq!(running.run(&["halt", "--status"]).out, "halted: nothing is allowed\n");
    running.restart(|folder| std::fs::remove_file(halt(folder)).unwrap());
    assert_eq!(running.run(&["halt", "--status"]).out, "halted: nothing is allowed\n");
    assert_eq!(running.run(&["halt", "--resume"]).out, "running\n");
    running.restart(|folder| assert!(!halt(folder).exists()));
    assert_eq!(running.run(&["halt", "--status"]).out, "running\n");
}

#[test]
fn everything_halts_and_goes_on() {
    let running = Running::start("server-halt");
    let key = running.key();
    assert_eq!(running.run(&["halt", "--status"]).out, "running\n");
    let halted = running.run(&["halt"]);
    assert_eq!((halted.code, halted.out.as_str()), (Some(0), "halted: nothing is allowed\n"));
    assert_eq!(running.propose(&key, "ls")["type"], "urn:countersign:problem:halted");
    assert_eq!(running.run(&["halt", "--resume"]).out, "running\n");
    assert_eq!(running.propose(&key, "ls")["status"], "permitted");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_starts_a_server_is_shown_no_link() {
    let sandbox = Sandbox::new("server-by-agent");
    let with_data = |args: &[&str]| {
        let mut command = sandbox.command(binary());
        command.args(args).env("COUNTERSIGN_DATA", data(&sandbox));
        command
    };
    let serve = || {
        let mut server = with_data(&["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(server.stdout.take().unwrap());
        let said = out.lines().map_while(Result::ok).find(|line| line.starts_with("sign in"));
        server.kill().unwrap();
        server.wait().unwrap();
        said.unwrap()
    };
    assert!(serve().contains("/sign-in?link="), "nobody is known to be an agent yet");
    // What starts a hook is an agent, and so is everything that this starts.
    let call = json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "git push --force"},
    });
    end(&mut with_data(&["hook", "claude-code", "--timeout", "3"]), &call.to_string());
    let said = serve();
    assert!(said.contains("a link is for people") && !said.contains("link="), "{said}");
    let invited = end(&mut with_data(&["serve", "--listen", "127.0.0.1:0", "--invite"]), "");
    assert!(invited.err.contains("a link is for people"), "{invited:?}");
    assert!(!invited.out.contains("link="), "{invited:?}");
}

#[test]
fn sessions_are_seen_and_stopped() {
    let running = Running::start("server-sessions");
    let key = running.key();
    let body = json!({"consent": true, "plan": {"task": "mend it\u{1b}[2J"}});
    let refused = running.post(&key, "/api/sessions", &body);
    assert_eq!(refused["type"], "urn:countersign:problem:not-for-agents");
    let session = running.post(running.device.get().unwrap(), "/api/sessions", &body);
    let id = session["session_id"].as_str().unwrap();
    let listed = running.run(&["sessions", "list"]).out;
    assert!(listed.contains(id) && listed.contains("active"), "{listed}");
    assert!(!listed.contains('\u{1b}'), "{listed:?}");
    assert!(running.run(&["sessions", "show", id]).out.contains("steps        0"));
    assert_eq!(running.run(&["sessions", "stop", id]).out, format!("{id}: stopped\n"));
    assert_eq!(running.json(&["sessions", "list"])[0]["state"], "ended");
    assert_eq!(running.run(&["sessions", "stop", "--all"]).out, "stopped: 0\n");
    assert_eq!(running.run(&["sessions", "stop"]).code, Some(2), "names neither");
}

#[test]
fn settings_are_shown_and_changed_with_a_warning_where_one_is_due() {
    let running = Running::start("server-settings");
    assert!(running.run(&["settings", "show"]).out.contains("autonomous        off\n"));
    let on = running.run(&["settings", "set", "autonomous", "on"]);
    assert!(on.out.contains("autonomous        on\n"), "{on:?}");
    assert!(on.err.starts_with("warning: "), "{on:?}");
    let off = running.run(&["settings", "set", "autonomous", "off"]);
    assert_eq!((off.code, off.err.as_str()), (Some(0), ""));
    let skill = ["settings", "set", "skill", "email.send", "--confirm", "no", "--always"];
    assert!(running.run(&skill).out.contains("skill email.send: always asks\n"));
    let days = running.run(&["settings", "set", "retention-days", "7"]);
    assert!(days.out.contains("retention-days    7\n"), "{days:?}");
    let unknown = running.run(&["settings", "set", "skill", "no.such"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
}

#[test]
fn a_link_signs_a_device_in_once_and_a_url_needs_one() {
    let running = Running::start("server-devices");
    let nobody = running.run(&["approvals", "list", "--server", &running.url]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.err.contains("COUNTERSIGN_DEVICE"), "{}", nobody.err);

    let signed_in = running.run(&["sign-in", &running.link, "--name", "Laptop"]);
    assert_eq!(signed_in.code, Some(0), "{signed_in:?}");
    assert!(signed_in.err.contains("shown only once"));
    let secret =
        signed_in.out.lines().find_map(|line| line.strip_prefix("export COUNTERSIGN_DEVICE="));
    let secret = secret.unwrap();
    let mut list = running.command(&["devices", "list", "--server", &running.url]);
    let listed = end(list.env("COUNTERSIGN_DEVICE", secret), "");
    assert!(listed.out.contains("Laptop") && listed.out.contains("this one"), "{listed:?}");
    let again = running.run(&["sign-in", &running.link]);
    assert_eq!(again.code, Some(1), "{again:?}");

    let invited = running.run(&["devices", "invite"]);
    assert_eq!(invited.code, Some(1), "{invited:?}");
    assert!(invited.err.contains("$COUNTERSIGN_DEVICE"), "{}", invited.err);
    running.device.set(secret.to_owned()).unwrap();
    let invited = running.run(&["devices", "invite"]);
    assert!(invited.out.starts_with(&format!("{}/sign-in?link=", running.url)), "{invited:?}");
    let added = running.run(&["users", "add", "Ann"]);
    assert!(added.out.contains("/sign-in?link="), "{added:?}");
    assert!(running.run(&["users", "list", "--everybody"]).out.contains("Ann"));
    assert_eq!(running.json(&["users", "workspaces"]).as_array().unwrap().len(), 1);

    let devices = running.json(&["devices", "list"]);
    let id = devices.as_array().unwrap().iter().find(|device| device["name"] == "Laptop");
    let id = id.unwrap()["device_id"].as_str().unwrap();
    assert_eq!(running.run(&["devices", "revoke", id]).code, Some(0));
    let mut list = running.command(&["devices", "list", "--server", &running.url]);
    assert_eq!(end(list.env("COUNTERSIGN_DEVICE", secret), "").code, Some(1));
}

#[test]
fn over_the_socket_alone_a_yes_holds_only_until_the_owner_has_a_device() {
    let running = Running::start("server-plain-socket");
    let made = running.run(&["keys", "create", "agent", "--scope", "*", "--any-device"]);
    let key = made.out.trim().to_owned();
    let mut watch = running.command(&["approvals", "watch", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Somebody can be asked once the watch has connected.
    let mut before = Value::Null;
    for _ in 0..500 {
        before = running.propose(&key, "git push --force origin main");
        if before["status"] == "waiting" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let before = before["approval_id"].as_str().expect("it is asked").to_owned();
    assert_eq!(running.run(&["approvals", "approve", &before]).code, Some(0));
    watch.kill().unwrap();
    watch.wait().unwrap();

    running.sign_in();
    let id = running.asked(&key, "git push --force origin other");
    assert!(running.plain(&["approvals", "list"]).out.contains(&id), "it may look");
    let refused = running.plain(&["approvals", "approve", &id]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for part in ["$COUNTERSIGN_DEVICE", &format!("{}/approvals/{id}", running.url)] {
        assert!(refused.err.contains(part), "{}", refused.err);
    }
    for args in [
        &["devices", "invite"][..],
        &["keys", "create", "x", "--scope", "*"],
        &["settings", "set", "autonomous", "on"],
        &["users", "add", "Eve"],
        &["halt", "--resume"],
    ] {
        let refused = running.plain(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.err.contains("$COUNTERSIGN_DEVICE"), "{args:?}: {}", refused.err);
    }
    assert_eq!(running.plain(&["approvals", "reject", &id]).code, Some(0), "it may say no");
    assert_eq!(running.plain(&["halt"]).code, Some(0), "and stop everything");
    assert_eq!(running.run(&["halt", "--resume"]).code, Some(0), "the device goes on");
}

#[test]
fn what_happens_is_printed_as_it_happens() {
    let running = Running::start("server-watch");
    let key = running.key();
    let mut watch = running.command(&["approvals", "watch", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let id = running.asked(&key, "git push --force origin main");
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let asked = next();
    assert_eq!(
        (&asked["event"], &asked["data"]["approval_id"]),
        (&json!("approval_required"), &json!(id))
    );
    assert!(asked["data"].get("token").is_none(), "{asked}");
    running.run(&["approvals", "approve", &id]);
    let settled = std::iter::repeat_with(next).find(|event| event["event"] == "approval_settled");
    assert_eq!(settled.unwrap()["data"]["state"], "approved");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn without_a_server_every_command_says_so_and_exits_with_2() {
    let sandbox = Sandbox::new("server-none");
    for args in [
        &["approvals", "list"][..],
        &["approvals", "watch"],
        &["sessions", "list"],
        &["keys", "list"],
        &["devices", "list"],
        &["users", "list"],
        &["settings", "show"],
        &["halt", "--status"],
        &["halt", "--status", "--server", "http://127.0.0.1:1"],
    ] {
        let ended = sandbox.run(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        let advice = match args.last() {
            Some(url) if url.starts_with("http") => "is it running, and is the address right?",
            _ => "start one with `countersign serve`",
        };
        assert!(ended.err.contains(advice), "{}", ended.err);
    }
    let plain = sandbox.run(&["watch"]);
    assert_eq!(plain.code, Some(2));
    assert!(plain.err.contains("needs a terminal"), "{}", plain.err);
}

#[test]
fn a_secret_is_not_shown_to_another_machine_without_encryption() {
    let sandbox = Sandbox::new("server-plain");
    let secret = Secret::draw(SecretKind::Device, &System).unwrap();
    let mut command = sandbox.command(binary());
    command.args(["keys", "list", "--server", "http://gate.example"]);
    let ended = end(command.env("COUNTERSIGN_DEVICE", secret.expose()), "");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("is not encrypted"), "{}", ended.err);
    assert!(!ended.err.contains(secret.expose()));
}

#[test]
fn the_demo_plays_thirty_actions_and_leaves_nothing_behind() {
    let sandbox = Sandbox::new("demo");
    let temp = sandbox.home().join("tmp");
    std::fs::create_dir_all(&temp).unwrap();
    let mut command = sandbox.command(binary());
    command.args(["demo", "--answers", "play", "--fast"]).env("TMPDIR", &temp);
    let ended = end(&mut command, "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("\n30 actions: "), "{}", ended.out);
    assert!(ended.out.contains("1 expired") && ended.out.contains("verified"), "{}", ended.out);
    assert!(std::fs::read_dir(&temp).unwrap().next().is_none(), "the folder is gone");
}
