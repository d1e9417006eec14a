//! `countersign serve` itself: its address, its refusals, its end.

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Events, PATIENCE, Server, Setup, Socket, until};

#[test]
fn the_link_that_is_printed_signs_one_device_in_once() {
    let server = Server::with("coding-agent");
    let link = server.link.clone().unwrap();
    // Opening the page does not use the link up.
    assert_eq!(server.nobody().get(&format!("/sign-in?link={link}")).status, 200);
    let owner = server.owner();
    assert_eq!(owner.get("/api/me").expect(200)["user"]["super_admin"], true);
    let again = server.nobody().post("/api/sign-in", &json!({"link": link}));
    assert_eq!(again.problem(410), "link");
    assert_eq!(server.nobody().get("/api/me").problem(401), "not-signed-in");
    let server = server.killed_and_started_again();
    assert_eq!(server.link, None, "somebody is signed in");
}

#[test]
fn other_addresses_need_tls_or_the_word_danger() {
    let setup = Setup::new().word("--listen").word("0.0.0.0:0");
    let output = setup.refused();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("0.0.0.0:0") && said.contains("--danger-plain-http"), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    let server = setup.word("--danger-plain-http").start();
    assert!(server.url.starts_with("http://0.0.0.0:"), "{}", server.url);
}

#[test]
fn a_certificate_of_its_own_encrypts() {
    let curl = |words: &[&str]| Command::new("curl").args(words).stdin(Stdio::null()).output();
    if curl(&["--version"]).is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let server = Setup::new().word("--tls-self-signed").start();
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let health = format!("{}/api/health", server.url);
    let trusting = curl(&["-sSk", "--max-time", "20", "-w", "%{http_code}", &health]).unwrap();
    assert!(trusting.stdout.ends_with(b"200"), "{trusting:?}");
    let strict = curl(&["-sS", "--max-time", "20", &health]).unwrap();
    assert!(!strict.status.success(), "nobody has vouched for it");
    let plain = curl(&["-sS", "--max-time", "20", &health.replace("https", "http")]).unwrap();
    assert!(!plain.status.success(), "it speaks nothing else");
}

#[test]
fn asked_to_end_it_closes_what_is_open_and_says_that_all_is_well() {
    let mut server = Server::with("coding-agent");
    let owner = server.owner();
    let agent = owner.key("agent");
    let mut socket = Socket::open(&owner);
    let _page = Events::open(&owner);
    let action = json!({"kind": "shell", "command": "git push --force"});
    let id = agent.ask(&action);
    let waiting = {
        let (agent, id) = (agent.clone(), id.clone());
        std::thread::spawn(move || {
            let path = format!("/api/approvals/{id}");
            agent.send("GET", &path, &[("Prefer", "wait=60")], b"").expect(200)
        })
    };
    socket.until("app_skill_confirmation_required");
    std::thread::sleep(Duration::from_millis(200));
    let ended = server.stop();
    assert_eq!(ended.code(), Some(0), "{}", server.log());
    assert_eq!(socket.closed().0, 1001);
    assert_eq!(waiting.join().unwrap()["state"], "pending", "whoever waits is told how it stands");
    assert!(!server.data().join("server.sock").exists());
    // A question that was pending is still pending.
    let server = server.setup.clone().start();
    let owner = super::Client { address: server.address, ..owner };
    assert_eq!(owner.state(&id), "pending");
}

#[test]
fn the_service_manager_is_told() {
    let setup = Setup::new();
    let path = setup.home.0.join("notify");
    let name = countersign_server::SocketName::of(&path).unwrap();
    let manager = UnixDatagram::bind(name.path()).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).trim().to_owned()
    };
    let mut server = setup.variable("NOTIFY_SOCKET", path.to_str().unwrap()).start();
    assert_eq!(heard(), "READY=1");
    assert_eq!(server.nobody().get("/api/ready").status, 200);
    server.stop();
    assert_eq!(heard(), "STOPPING=1");
}

#[test]
fn asked_to_read_its_rules_again_it_says_what_needs_a_restart() {
    let server = Server::with("coding-agent");
    let agent = server.owner().key("agent");
    let push = json!({"action": {"kind": "shell", "command": "echo hello"}});
    let verdict = || agent.post("/api/check", &push).expect(200)["verdict"].clone();
    assert_eq!(verdict(), "allow");
    let rules = "profile: coding-agent\nsafety: {custom_patterns: ['^echo hello']}\n";
    let _ = server.setup.clone().config(rules);
    server.signal(Signal::HUP);
    until("the new rules hold", || (verdict() == "confirm").then_some(()));
    let told = "not reloaded: `server`, `gate` and `channels` of the configuration, environment \
                variables, the command line; these need a restart";
    until("it says so", || server.log().contains(told).then_some(()));
    let _ = server.setup.clone().config("safety: [\n");
    server.signal(Signal::HUP);
    until("it says so", || server.log().contains("the old rules stay in use").then_some(()));
    assert_eq!(verdict(), "confirm");
}

#[cfg(target_os = "linux")]
#[test]
fn the_path_of_the_data_folder_may_have_any_length() {
    let deep = ["with space", &"d".repeat(120), &"e".repeat(200)].join("/");
    let setup = Setup::new();
    let data = setup.home.0.join(deep).join("gate");
    let server = setup.word("--data").word(data.to_str().unwrap()).start();
    let over_the_socket = |words: &[&str]| {
        let mut command = server.setup.command();
        let output = command.args(words).env("COUNTERSIGN_DATA", &data).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(over_the_socket(&["halt", "--status"]), (Some(0), "running\n".to_owned()));
    assert!(over_the_socket(&["users", "list"]).1.contains("super admin"));
    assert!(data.join("server.sock").exists());
    let second = server.setup.refused();
    assert!(String::from_utf8_lossy(&second.stderr).contains("another server"), "{second:?}");
}

#[test]
fn a_second_server_on_the_same_folder_is_refused_and_disturbs_nothing() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let body = json!({
        "consent": true,
        "credentials": [{"site": "https://shop.example", "fields": {"username": "kim"}}],
    });
    let session = owner.post("/api/sessions", &body).expect(201);
    let output = server.setup.refused();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("another server"), "{said}");
    let path = format!("/api/sessions/{}", session["session_id"].as_str().unwrap());
    assert_eq!(owner.get(&path).expect(200)["state"], "active");
    assert_eq!(server.local("GET", "/api/me", &json!({})).status, 200, "its socket is still there");
}

#[test]
fn every_line_of_a_json_log_is_an_object() {
    let setup = Setup::new().word("--log-format").word("json").word("--log-level").word("debug");
    let mut server = setup.start();
    server.owner().get("/api/no/such/thing").problem(404);
    server.stop();
    let log = server.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 3, "{log}");
    for line in &lines {
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
    assert!(!log.contains("csd_") && !log.contains("csl_"), "no secret is logged");
}

#[test]
fn what_is_wrong_with_a_configuration_is_told_with_line_and_column() {
    for (yaml, place, about) in [
        ("profile: coding-agent\nsafty: {}\n", "2:1", "safty"),
        ("gate:\n  most_pendin: 3\n", "2:3", "most_pendin"),
        ("server:\n  limits:\n    body_bytes: many\n", "3:17", "whole number"),
        ("profile: [\n", "1:10", "bracket"),
    ] {
        let output = Setup::new().config(yaml).refused();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{yaml}: {said}");
        let place = format!("config.yaml:{place}");
        assert!(said.contains(&place) && said.contains(about), "{yaml}: {said}");
    }
    let output = Setup::new().variable("AUTO_ACTION_ENABLED", "perhaps").refused();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("AUTO_ACTION_ENABLED"), "{said}");
}
