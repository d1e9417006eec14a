//! Hooks as their hosts run them: recorded payloads with golden answers, everything that can go
//! wrong, and the files that `install` writes.
//!
//! `tests/host/<host>/<case>.json` is a host's payload, composed from its contract; `<case>.answer`
//! beside it is our answer. `BLESS=1` writes the answers.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Ended, Sandbox, binary, end};
use crate::start::{package, program};

/// Every host, with a shell call that must be stopped, one that must not, and one that asks.
pub(crate) const HOSTS: &[(&str, [&str; 3])] = &[
    ("claude-code", ["bash-block", "bash-allow", "bash-confirm"]),
    ("codex", ["bash-block", "bash-allow", "bash-confirm"]),
    ("gemini", ["shell-block", "shell-allow", "shell-confirm"]),
    ("cursor", ["shell-block", "shell-allow", "shell-confirm"]),
    ("copilot", ["bash-block-string-arguments", "bash-allow", "bash-confirm"]),
    ("vscode", ["terminal-block", "terminal-allow", "terminal-confirm"]),
    ("opencode", ["bash-block", "bash-allow", "bash-confirm"]),
    ("windsurf", ["command-block", "command-allow", "command-confirm"]),
    ("cline", ["command-block", "command-allow", "command-confirm"]),
    ("droid", ["execute-block", "execute-allow", "execute-confirm"]),
];

pub(crate) fn folder() -> PathBuf {
    package().join("tests/host")
}

pub(crate) fn payload(host: &str, case: &str, sandbox: &Sandbox) -> String {
    recorded(host, case).replace("/home/user", sandbox.home().to_str().unwrap())
}

fn recorded(host: &str, case: &str) -> String {
    fs::read_to_string(folder().join(host).join(format!("{case}.json"))).unwrap()
}

/// Reports whether the host stops the action, by its own rules: table 0.1 of the contracts.
pub(crate) fn stops(host: &str, ended: &Ended) -> bool {
    let said: Value = serde_json::from_str(&ended.out).unwrap_or_default();
    let specific = &said["hookSpecificOutput"];
    let denied =
        specific["permissionDecision"] == "deny" || specific["decision"]["behavior"] == "deny";
    let code = ended.code.expect("it ends by itself");
    match host {
        "claude-code" | "vscode" | "droid" => code == 2 || (denied && code == 0),
        "codex" => {
            let reason = specific["permissionDecisionReason"].as_str();
            code == 0 && denied && reason.is_some_and(|reason| !reason.is_empty())
        }
        "gemini" => said["decision"] == "deny" && said["reason"] != "",
        "cursor" => code != 0 || said["permission"] == "deny",
        "copilot" => code != 0 || said["permissionDecision"] == "deny",
        "opencode" => code != 0 || said["decision"] != "allow",
        "windsurf" => code == 2 && !ended.err.is_empty(),
        "cline" => code == 0 && said["cancel"] == true,
        other => panic!("{other}"),
    }
}

pub(crate) fn hook(sandbox: &Sandbox, host: &str, input: &str) -> Ended {
    sandbox.run_with(&["hook", host], input)
}

/// A home folder that does not exist. Long paths are cut in answers, so an answer depends on the
/// length of the home folder's path; this one is the same on every machine.
const NOWHERE: &str = "/nonexistent/user";

/// A payload from that home folder. A host that does not send its working folder starts its hooks
/// in the project, so there the project is a real one.
fn nowhere(payload: &str, project: &str) -> String {
    if payload.contains("/home/user/project\"") {
        return payload.replace("/home/user", NOWHERE);
    }
    let parts = payload.split("/home/user/project").map(|part| part.replace("/home/user", NOWHERE));
    parts.collect::<Vec<_>>().join(project)
}

#[test]
fn every_recorded_payload_gets_its_golden_answer() {
    let bless = std::env::var_os("BLESS").is_some();
    let sandbox = Sandbox::new("host-golden");
    let (home, project) = (sandbox.home(), sandbox.project());
    let here = project.to_str().unwrap();
    let mut wrong = Vec::new();
    for (host, _) in HOSTS {
        let mut cases: Vec<_> = fs::read_dir(folder().join(host))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .collect();
        cases.sort();
        assert!(cases.len() > 5, "{host}");
        for path in cases {
            let case = path.file_stem().unwrap().to_str().unwrap();
            let mut command = program(binary(), Path::new(NOWHERE));
            command.args(["hook", host]).current_dir(sandbox.project());
            // As root the hook could create that home folder, and another user could not read it
            // later.
            command.env("COUNTERSIGN_DATA", sandbox.data());
            let ended = end(&mut command, &nowhere(&recorded(host, case), here));
            let shown = format!("exit {}\n{}{}", ended.code.unwrap(), ended.out, ended.err);
            let shown = shown.replace(home.to_str().unwrap(), "/home/user");
            let shown = shown.replace(NOWHERE, "/home/user");
            let golden = path.with_extension("answer");
            if fs::read_to_string(&golden).unwrap_or_default() != shown {
                if bless {
                    fs::write(&golden, shown).unwrap();
                } else {
                    wrong.push(format!("--- {host}/{case}:\n{shown}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 rewrites these:\n{}", wrong.join("\n"));
}

#[test]
fn a_block_stops_every_host_and_an_allow_stops_none() {
    let sandbox = Sandbox::new("host-verdicts");
    for (host, [block, allow, _]) in HOSTS {
        let stopped = hook(&sandbox, host, &payload(host, block, &sandbox));
        assert!(stops(host, &stopped), "{host}: {stopped:?}");
        let went_on = hook(&sandbox, host, &payload(host, allow, &sandbox));
        assert!(!stops(host, &went_on), "{host}: {went_on:?}");
        assert_eq!(went_on.err, "", "{host}");
    }
}

#[test]
fn input_that_cannot_be_read_stops_every_host() {
    let sandbox = Sandbox::new("host-unreadable");
    let deep = "[".repeat(5_000);
    let large = format!("{{\"x\": \"{}\"}}", "y".repeat(17 << 20));
    for (host, _) in HOSTS {
        for input in ["", "{", "null", "[]", "{}", "{\"tool_name\":1}", "\u{0}", &deep, &large] {
            let ended = hook(&sandbox, host, input);
            let start: String = input.chars().take(20).collect();
            assert!(stops(host, &ended), "{host}, {start}: {ended:?}");
        }
    }
}

#[test]
fn a_configuration_that_is_wrong_stops_every_host() {
    let sandbox = Sandbox::new("host-misconfigured");
    sandbox.configure("safety: {enabled: perhaps}\n");
    for (host, [_, allow, _]) in HOSTS {
        let ended = hook(&sandbox, host, &payload(host, allow, &sandbox));
        assert!(stops(host, &ended), "{host}: {ended:?}");
    }
}

#[test]
fn without_a_server_a_question_is_the_hosts_own_or_a_no() {
    let sandbox = Sandbox::new("host-no-server");
    let own: Vec<_> = HOSTS
        .iter()
        .filter(|(host, [_, _, confirm])| {
            let ended = hook(&sandbox, host, &payload(host, confirm, &sandbox));
            let asks = ended.out.contains("\"ask\"");
            assert!(asks || stops(host, &ended), "{host}: {ended:?}");
            assert!(
                asks || format!("{ended:?}").contains("countersign serve"),
                "{host}: {ended:?}"
            );
            asks
        })
        .map(|(host, _)| *host)
        .collect();
    // Only where the contracts say that it is enforced.
    assert_eq!(own, ["claude-code", "cursor", "vscode", "droid"]);
}

#[test]
fn a_halted_gate_stops_every_host() {
    let sandbox = Sandbox::new("host-halted");
    sandbox.write("../.local/share/countersign/server.halted", "");
    for (host, [_, allow, _]) in HOSTS {
        let ended = hook(&sandbox, host, &payload(host, allow, &sandbox));
        assert!(stops(host, &ended), "{host}: {ended:?}");
        assert!(format!("{ended:?}").contains("halted"), "{host}: {ended:?}");
    }
}

#[test]
fn with_everything_on_record_no_server_means_no() {
    let sandbox = Sandbox::new("host-record");
    sandbox.configure("hook: {record: true}\n");
    for (host, [_, allow, _]) in HOSTS {
        let ended = hook(&sandbox, host, &payload(host, allow, &sandbox));
        assert!(stops(host, &ended), "{host}: {ended:?}");
    }
}

/// Starts a hook whose input never ends.
fn silent(sandbox: &Sandbox, host: &str) -> (Child, std::process::ChildStdin) {
    let mut command = sandbox.command(binary());
    command.args(["hook", host, "--timeout", "1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

#[test]
fn a_host_that_keeps_us_waiting_is_told_no_before_its_clock_runs_out() {
    let sandbox = Sandbox::new("host-late");
    let began = Instant::now();
    let all: Vec<_> = HOSTS.iter().map(|(host, _)| (host, silent(&sandbox, host))).collect();
    for (host, (child, stdin)) in all {
        let ended = child.wait_with_output().unwrap();
        drop(stdin);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ended =
            Ended { code: ended.status.code(), out: text(ended.stdout), err: text(ended.stderr) };
        assert!(stops(host, &ended), "{host}: {ended:?}");
    }
    let took = began.elapsed();
    assert!(took > Duration::from_millis(700), "{took:?}");
}

#[cfg(unix)]
#[test]
fn a_server_that_never_answers_means_what_the_setting_says_in_time() {
    let sandbox = Sandbox::new("host-hung");
    sandbox.configure("hook: {unreachable: deny}\n");
    for (host, ended) in hung(&sandbox, "2") {
        assert!(stops(host, &ended), "{host}: {ended:?}");
    }
    // A host that can ask its user may do so, if there is time; for all others it stays a no.
    sandbox.configure("hook: {unreachable: ask}\n");
    let mut asked = 0;
    for (host, ended) in hung(&sandbox, "8") {
        let asks = ended.out.contains("Countersign asks: ");
        assert!(asks || stops(host, &ended), "{host}: {ended:?}");
        asked += usize::from(asks);
    }
    assert!(asked > 0, "some hosts can ask");
    // Unless somebody has said so, an agent that stops the server gains nothing.
    sandbox.configure("");
    for (host, ended) in hung(&sandbox, "8") {
        assert!(stops(host, &ended), "{host}: {ended:?}");
    }
}

/// The answers of hooks whose server accepts connections and never answers.
#[cfg(unix)]
fn hung(sandbox: &Sandbox, seconds: &str) -> Vec<(&'static str, Ended)> {
    let path = std::env::temp_dir().join(format!("cs-hung-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let name = countersign_server::SocketName::of(&path).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(name.path()).unwrap();
    let children: Vec<_> = HOSTS
        .iter()
        .map(|(host, [_, _, confirm])| {
            let mut command = sandbox.command(binary());
            command.args(["hook", host, "--timeout", seconds]).env("COUNTERSIGN_SERVER", &path);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let input = payload(host, confirm, sandbox);
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            (*host, child)
        })
        .collect();
    let mut all = Vec::new();
    for (host, mut child) in children {
        let (mut out, mut err) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        all.push((host, Ended { code: child.wait().unwrap().code(), out, err }));
    }
    drop(listener);
    fs::remove_file(path).unwrap();
    all
}

#[test]
fn the_secret_of_a_device_is_not_even_looked_at() {
    let sandbox = Sandbox::new("host-device");
    for (host, [_, allow, confirm]) in HOSTS {
        for case in [allow, confirm] {
            let plain = hook(&sandbox, host, &payload(host, case, &sandbox));
            let mut command = sandbox.command(binary());
            // An invalid secret is an error wherever it is read.
            command.args(["hook", host]).env("COUNTERSIGN_DEVICE", "not a secret");
            let with = end(&mut command, &payload(host, case, &sandbox));
            assert_eq!(format!("{with:?}"), format!("{plain:?}"), "{host}");
        }
    }
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.clone(), fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    all.sort();
    all
}

fn scopes(host: &str) -> &'static [&'static str] {
    match host {
        "vscode" | "opencode" | "cline" | "droid" => &["--user", "--project"],
        _ => &["--user", "--project", "--managed"],
    }
}

#[test]
fn what_is_installed_twice_is_installed_once_and_uninstalling_leaves_nothing() {
    for (host, _) in HOSTS {
        for scope in scopes(host) {
            let sandbox = Sandbox::new(&format!("host-install-{host}{scope}"));
            let root = sandbox.home().join("root");
            let root = root.to_str().unwrap();
            let run = |what: &str, more: &[&str]| {
                let words = [&[what, host, scope, "--root", root], more].concat();
                let ended = sandbox.run(&words);
                assert_eq!(ended.code, Some(0), "{host} {scope}: {ended:?}");
                ended.out
            };
            let before = files(&sandbox.home());
            run("install", &["--dry-run"]);
            assert_eq!(files(&sandbox.home()), before, "{host} {scope}");
            run("install", &["--yes"]);
            let once = files(&sandbox.home());
            assert_ne!(once, before, "{host} {scope}");
            assert!(run("install", &["--yes"]).contains("already installed"), "{host} {scope}");
            assert_eq!(files(&sandbox.home()), once, "{host} {scope}");
            run("uninstall", &["--yes"]);
            assert_eq!(files(&sandbox.home()), before, "{host} {scope}");
        }
    }
}

#[test]
fn what_others_wrote_stays_to_the_byte() {
    let theirs = "{\n  // mine\n  \"model\": \"x\", /* kept */\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}, // theirs\n    ],\n  },\n  \"permissions\": {\"deny\": [\"Bash(rm -rf /)\"]},\n}\n";
    let sandbox = Sandbox::new("host-others");
    for (host, path) in [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("cursor", ".cursor/hooks.json"),
        ("windsurf", ".codeium/windsurf/hooks.json"),
        ("droid", ".factory/hooks.json"),
    ] {
        let path = sandbox.write(&format!("../{path}"), theirs);
        let shown = sandbox.run(&["install", host, "--yes"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let with = fs::read_to_string(&path).unwrap();
        assert!(with.contains("// mine") && with.contains("\"command\": \"theirs\""), "{with}");
        assert!(with.contains(&format!("hook {host}")) || with.contains("\"hook\""), "{with}");
        assert_eq!(sandbox.run(&["uninstall", host, "--yes"]).code, Some(0));
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs, "{host}");
    }
}

#[test]
fn a_file_that_cannot_be_read_and_a_program_of_somebody_else_are_left_alone() {
    let sandbox = Sandbox::new("host-left-alone");
    let settings = sandbox.write("../.claude/settings.json", "{ not json");
    assert_eq!(sandbox.run(&["install", "claude-code", "--yes"]).code, Some(2));
    assert_eq!(fs::read_to_string(settings).unwrap(), "{ not json");
    let theirs = "#!/bin/sh\necho theirs\n";
    let script = sandbox.write("../Documents/Cline/Hooks/PreToolUse", theirs);
    assert_eq!(sandbox.run(&["install", "cline", "--yes"]).code, Some(2));
    assert_eq!(fs::read_to_string(script).unwrap(), theirs);
}

#[test]
fn cline_has_one_hook_where_an_earlier_version_put_two() {
    let sandbox = Sandbox::new("host-cline-one");
    let theirs = "#!/bin/sh\necho theirs\n";
    let ours = "#!/bin/sh\n# Made by countersign: asks before a tool runs.\n";
    let old = sandbox.write("../.cline/hooks/PreToolUse", ours);
    assert_eq!(sandbox.run(&["install", "cline", "--yes"]).code, Some(0));
    assert!(!old.exists());
    assert!(sandbox.home().join("Documents/Cline/Hooks/PreToolUse").exists());
    fs::write(&old, theirs).unwrap();
    assert_eq!(sandbox.run(&["install", "cline", "--yes"]).code, Some(0));
    assert_eq!(fs::read_to_string(&old).unwrap(), theirs);
    assert_eq!(sandbox.run(&["uninstall", "cline", "--yes"]).code, Some(0));
    assert_eq!(fs::read_to_string(&old).unwrap(), theirs);
}

#[cfg(target_os = "linux")]
#[test]
fn a_host_is_found_behind_every_shell_that_starts_its_hook() {
    let sandbox = Sandbox::new("host-shells");
    let input = sandbox.write("input.json", &payload("codex", "bash-allow", &sandbox));
    // The last command keeps a shell from becoming the hook.
    let one = "\"$0\" hook codex < \"$1\"; true";
    let two = format!("sh -c '{one}' \"$0\" \"$1\"; true");
    let subshell = format!("({two}); true");
    // Cline starts a script by its path, which names its process.
    let text = format!("#!/bin/sh\n'{}' hook codex < '{}'; true\n", binary(), input.display());
    let script = sandbox.write("PreToolUse", &text);
    make_executable(&script);
    // The folder may have spaces in its name.
    let script = format!("'{}'", script.display());
    for line in [one, &two, &subshell, &script, &format!("setsid {script}")] {
        let mut host = sandbox.command("sh");
        host.args(["-c", line, binary()]).arg(&input);
        assert_eq!(end(&mut host, "").code, Some(0), "{line}");
        let known = fs::read_dir(sandbox.data().join("agents")).unwrap();
        let known: Vec<_> = known.map(|entry| entry.unwrap().file_name()).collect();
        let own = format!("{}-", std::process::id());
        let is_own = |name: &std::ffi::OsString| name.to_string_lossy().starts_with(&own);
        assert!(known.len() == 1 && known.iter().all(is_own), "{line}: {known:?}");
    }
}

#[cfg(unix)]
#[test]
fn doctor_shows_that_every_hook_fires_and_says_so_when_one_does_not() {
    let sandbox = Sandbox::new("host-doctor");
    for (host, _) in HOSTS {
        assert_eq!(sandbox.run(&["install", host, "--yes"]).code, Some(0), "{host}");
        if *host == "codex" {
            accept_in_codex(&sandbox);
        }
        let looked = sandbox.run(&["doctor", host, "--json"]);
        assert_eq!(looked.code, Some(0), "{host}: {looked:?}");
        let found: Value = serde_json::from_str(&looked.out).unwrap();
        let hooks = found["hosts"][0]["hooks"].as_array().unwrap();
        assert!(!hooks.is_empty(), "{host}: {found}");
        for hook in hooks {
            assert_eq!(hook["guards"], true, "{host}: {found}");
            assert_eq!(hook["current"], true, "{host}: {found}");
        }
        assert!(!found["hosts"][0]["not_guarded"].as_array().unwrap().is_empty());
    }
    // The person who looks is not an agent: later terminals of theirs would count as its own.
    assert!(!sandbox.data().join("agents").exists());
    // A binary that is gone, and one that always says yes.
    let path = sandbox.home().join(".claude/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(binary(), "/nowhere/countersign")).unwrap();
    let gone = sandbox.run(&["doctor", "claude-code"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.out.contains("DOES NOT GUARD"), "{gone:?}");
    let yes = sandbox.write("countersign", "#!/bin/sh\nexit 0\n");
    make_executable(&yes);
    fs::write(&path, text.replace(binary(), yes.to_str().unwrap())).unwrap();
    let open = sandbox.run(&["doctor", "claude-code"]);
    assert_eq!(open.code, Some(1), "{open:?}");
    assert!(open.out.contains("what must be stopped is not"), "{open:?}");
}

/// Accepts the hooks in Codex's settings, as its user does in `/hooks`.
fn accept_in_codex(sandbox: &Sandbox) {
    use sha2::{Digest as _, Sha256};
    let file = sandbox.home().join(".codex/hooks.json");
    let hooks: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let mut accepted = String::new();
    for (event, label) in
        [("PreToolUse", "pre_tool_use"), ("PermissionRequest", "permission_request")]
    {
        let mut handler = hooks["hooks"][event][0]["hooks"][0].clone();
        handler["async"] = Value::Bool(false);
        let whole = json!({"event_name": label, "matcher": "*", "hooks": [handler]});
        let hash = Sha256::digest(whole.to_string().as_bytes());
        let hash = hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        let key = format!("{}:{label}:0:0", file.display());
        let state = format!("[hooks.state.{key:?}]\ntrusted_hash = \"sha256:{hash}\"\n");
        accepted.push_str(&state);
    }
    sandbox.write("../.codex/config.toml", &accepted);
}

#[cfg(unix)]
#[test]
fn a_hook_that_codex_skips_does_not_guard_and_it_is_said_what_to_press() {
    let sandbox = Sandbox::new("host-codex-trust");
    let installed = sandbox.run(&["install", "codex", "--yes"]);
    assert!(installed.out.contains("/hooks") && installed.out.contains("press t"), "{installed:?}");
    let looked = || {
        let looked = sandbox.run(&["doctor", "codex"]);
        (looked.code, looked.out)
    };
    let (code, out) = looked();
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("DOES NOT GUARD") && out.contains("press t"), "{out}");
    accept_in_codex(&sandbox);
    let (code, out) = looked();
    assert_eq!(code, Some(0), "{out}");
    // A changed timeout makes it another hook.
    assert_eq!(sandbox.run(&["install", "codex", "--yes", "--timeout", "77"]).code, Some(0));
    let (code, out) = looked();
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("has changed since"), "{out}");
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn the_script_for_cline_says_no_when_the_binary_is_gone() {
    let sandbox = Sandbox::new("host-cline-script");
    assert_eq!(sandbox.run(&["install", "cline", "--yes"]).code, Some(0));
    let script = sandbox.home().join("Documents/Cline/Hooks/PreToolUse");
    let run = |case: &str| {
        let mut command = sandbox.command(script.to_str().unwrap());
        end(&mut command, &payload("cline", case, &sandbox))
    };
    assert!(!stops("cline", &run("command-allow")));
    assert!(stops("cline", &run("command-block")));
    let text = fs::read_to_string(&script).unwrap();
    fs::write(&script, text.replace(binary(), "/nowhere/countersign")).unwrap();
    assert!(stops("cline", &run("command-allow")));
}

#[cfg(unix)]
#[test]
fn the_plugin_for_opencode_throws_unless_the_answer_is_yes() {
    if Command::new("node").arg("--version").output().is_err() {
        println!("skipped: there is no node to run the plugin");
        return;
    }
    let sandbox = Sandbox::new("host-opencode-plugin");
    assert_eq!(sandbox.run(&["install", "opencode", "--yes"]).code, Some(0));
    let plugin = sandbox.home().join(".config/opencode/plugins/countersign.js");
    let copy = sandbox.write("plugin.mjs", &fs::read_to_string(&plugin).unwrap());
    let run = |plugin: &Path, command: &str| {
        let script = format!(
            "const {{ Countersign }} = await import({});
             const plugin = await Countersign({{ directory: process.cwd() }});
             const input = {{ tool: 'bash', sessionID: 's', callID: 'c' }};
             try {{ await plugin['tool.execute.before'](input, {{ args: {{ command: {} }} }});
                    console.log('ran') }} catch (error) {{ console.log('threw: ' + error.message) }}
             process.exit(0)",
            json!(plugin),
            json!(command)
        );
        let mut node = sandbox.command("node");
        end(node.args(["--input-type=module", "-e", &script]), "").out
    };
    assert_eq!(run(&copy, "ls"), "ran\n");
    assert!(run(&copy, "rm -rf /").starts_with("threw: Countersign never lets this run"));
    let text = fs::read_to_string(&copy).unwrap();
    let broken = sandbox.write("broken.mjs", &text.replace(binary(), "/nowhere/countersign"));
    assert!(run(&broken, "ls").starts_with("threw: "));
}
