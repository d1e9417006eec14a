//! A restart is not an answer: a waiting hook finds the same question again.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Machine, PUSH, approve, at_a_fixed_address, end, ended, pending, signal, waiting};
use crate::server::{Client, Server, Setup, text, until};
use crate::start::binary;

#[test]
fn a_waiting_hook_outlives_a_server_that_is_killed_stopped_or_held_up() {
    for with in [Signal::KILL, Signal::TERM, Signal::STOP] {
        let server = at_a_fixed_address("profile: coding-agent\n").start();
        let owner = server.owner();
        let key = owner.key("agent");
        let machine = Machine::of(&server, "").with_key(&key);
        let call = machine.begin(PUSH);
        let question = waiting(&owner);
        let server = if with == Signal::STOP {
            // Slow: it is paused, and continues.
            server.signal(Signal::STOP);
            std::thread::sleep(std::time::Duration::from_secs(2));
            server.signal(Signal::CONT);
            server
        } else {
            ended(server, with).start()
        };
        let owner = Client { address: server.address, ..owner };
        let again = waiting(&owner);
        assert_eq!(again["approval_id"], question["approval_id"], "{with:?}: the same card");
        approve(&owner, &again);
        let (decision, reason) = end(call);
        assert_eq!(decision, "allow", "{with:?}: {reason}");
        assert_eq!(owner.history("critical_point").len(), 1, "{with:?}: it was asked once");
        assert_eq!(owner.state(&text(&question["approval_id"])), "started");
    }
}

#[test]
fn a_hook_over_the_socket_outlives_a_restart_too() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let machine = Machine::new("profile: coding-agent\n");
    let data = server.data().to_str().expect("a plain path").to_owned();
    let machine = machine.with("COUNTERSIGN_DATA", &data);
    let call = machine.begin(PUSH);
    let question = waiting(&owner);
    let server = ended(server, Signal::KILL).start();
    let owner = Client { address: server.address, ..owner };
    let again = waiting(&owner);
    assert_eq!(again["approval_id"], question["approval_id"]);
    approve(&owner, &again);
    assert_eq!(end(call).0, "allow");
}

#[test]
fn a_call_that_the_proxy_holds_outlives_a_restart_too() {
    use std::io::{BufRead as _, Write as _};
    let server = at_a_fixed_address("profile: coding-agent\n").start();
    let owner = server.owner();
    let key = owner.key("agent");
    let machine = Machine::of(&server, "").with_key(&key);
    // A server that answers everything with an empty list of tools.
    let list = r#"s/^\({"jsonrpc":"2.0","id":[^,]*\),.*/\1,"result":{"tools":[]}}/"#;
    let mut proxy = machine.setup.command();
    proxy.args(["mcp", "proxy", "--name", "test", "--", "sed", "-u", "-e", list]);
    let mut proxy = proxy.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_all"}}"#;
    writeln!(proxy.stdin.as_mut().expect("an input"), "{call}").expect("it reads");
    let question = waiting(&owner);
    let server = ended(server, Signal::KILL).start();
    let owner = Client { address: server.address, ..owner };
    let again = waiting(&owner);
    assert_eq!(again["approval_id"], question["approval_id"], "the same card");
    approve(&owner, &again);
    let out = std::io::BufReader::new(proxy.stdout.take().expect("an output"));
    let answer = out.lines().map_while(Result::ok).find(|line| line.contains("\"id\":1"));
    let answer: Value = serde_json::from_str(&answer.expect("an answer")).expect("JSON");
    assert_eq!(answer["result"], json!({"tools": []}), "the server's own answer");
    drop(proxy.stdin.take());
    proxy.wait().expect("it ends");
}

#[test]
fn a_server_that_stays_away_means_what_the_setting_says_before_the_host_gives_up() {
    for (setting, expected) in [("ask", "ask"), ("deny", "deny")] {
        let server = Server::with("coding-agent");
        let owner = server.owner();
        let key = owner.key("agent");
        let more = format!(", unreachable: {setting}");
        let machine = Machine::of(&server, &more).with_key(&key).impatient("8");
        assert_eq!(machine.doctor().0, 0);
        let call = machine.begin(PUSH);
        waiting(&owner);
        ended(server, Signal::KILL);
        let (decision, reason) = end(call);
        assert_eq!(decision, expected, "{reason}");
    }
}

#[test]
fn a_late_yes_is_kept_for_the_next_try_over_a_url() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let key = owner.key("agent");
    let machine = Machine::of(&server, "").with_key(&key);
    let mut call = machine.begin(PUSH);
    let question = waiting(&owner);
    // The hook is paused, so the approval comes too late for it.
    signal(&call, Signal::STOP);
    approve(&owner, &question);
    signal(&call, Signal::KILL);
    call.wait().expect("it is dead");
    let (decision, reason) = machine.call(PUSH);
    assert_eq!(decision, "allow", "{reason}");
    assert_eq!(owner.history("critical_point").len(), 1, "no second card");
    assert_eq!(owner.state(&text(&question["approval_id"])), "started");
    // The approval was for one call.
    let again = machine.begin(PUSH);
    assert_ne!(waiting(&owner)["approval_id"], question["approval_id"]);
    signal(&again, Signal::TERM);
    again.wait_with_output().expect("it ends");
}

#[test]
fn two_tries_of_the_same_call_are_one_card_and_another_machine_has_its_own() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let key = owner.key("agent");
    let machine = Machine::of(&server, "").with_key(&key);
    let mut first = machine.begin(PUSH);
    let question = waiting(&owner);
    first.kill().expect("it can be ended");
    first.wait().expect("it is dead");
    let second = machine.begin(PUSH);
    // Another machine is another home, so another folder: another action, and another card.
    let other = Machine::of(&server, "").with_key(&key);
    let third = other.begin(PUSH);
    let cards = until("a second card", || {
        let cards = pending(&owner);
        (cards.len() == 2).then_some(cards)
    });
    assert!(cards.iter().any(|card| card["approval_id"] == question["approval_id"]));
    for card in &cards {
        approve(&owner, card);
    }
    assert_eq!((end(second).0, end(third).0), ("allow".to_owned(), "allow".to_owned()));
    assert_eq!(owner.history("critical_point").len(), 2, "each was asked about once");
}

#[test]
fn while_it_drains_the_server_serves_and_says_that_it_is_not_ready() {
    let config = "server: {limits: {drain_seconds: 300}}\n";
    let server = Setup::new().config(config).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    assert_eq!(server.nobody().get("/api/ready").status, 200);
    server.signal(Signal::TERM);
    until("it drains", || {
        let ready = server.nobody().get("/api/ready");
        (ready.status == 503).then(|| assert_eq!(ready.problem(503), "draining"))
    });
    assert_eq!(server.nobody().get("/api/health").status, 200);
    let asked = agent.ask(&json!({"kind": "shell", "command": PUSH}));
    owner.respond(&asked, true).expect(200);
}

#[test]
fn a_socket_of_the_service_manager_takes_requests_while_the_server_restarts() {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    let setup = Setup::new();
    let (child, mut out) = activated(&setup, &socket);
    let link = until_link(&mut out);
    let nobody = Client { address, secret: None, device: None, maker: None };
    let body = json!({"link": link, "name": "first"});
    let signed_in = nobody.post("/api/sign-in", &body).expect(201);
    let owner = Client { secret: Some(text(&signed_in["secret"])), ..nobody };
    let key = owner.key("agent");
    let machine = Machine::new(&format!("hook: {{server: \"http://{address}\"}}\n"));
    let machine = machine.with_key(&key);
    let call = machine.begin(PUSH);
    let question = waiting(&owner);
    let mut child = child;
    signal(&child, Signal::KILL);
    child.wait().expect("it is dead");
    // No connection is refused in between: it waits in the socket's queue.
    let queued = TcpStream::connect(address).expect("the socket is still there");
    let (mut child, mut out) = activated(&setup, &socket);
    until_line(&mut out, "answer here");
    drop(queued);
    let again = waiting(&owner);
    assert_eq!(again["approval_id"], question["approval_id"]);
    approve(&owner, &again);
    assert_eq!(end(call).0, "allow");
    signal(&child, Signal::TERM);
    assert!(child.wait().expect("it ends").success());
}

type Lines = std::io::Lines<std::io::BufReader<std::process::ChildStdout>>;

/// Starts a server that inherits a socket as with systemd: as descriptor 3.
fn activated(setup: &Setup, socket: &TcpListener) -> (std::process::Child, Lines) {
    use std::io::BufRead as _;
    let script = "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\"";
    let mut command = crate::start::program("sh", &setup.home.0);
    command.args(["-c", script, binary(), "serve", "--listen", "127.0.0.1:1", "--data"]);
    command.arg(setup.home.0.join("data"));
    let socket = OwnedFd::from(socket.try_clone().expect("the same socket"));
    command.stdin(Stdio::from(socket)).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let out = std::io::BufReader::new(child.stdout.take().expect("it has an output"));
    (child, out.lines())
}

fn until_line(lines: &mut Lines, begin: &str) -> String {
    let mut all = lines.map_while(Result::ok);
    all.find(|line| line.contains(begin)).unwrap_or_else(|| panic!("no line with `{begin}`"))
}

fn until_link(lines: &mut Lines) -> String {
    let found = until_line(lines, "/sign-in?link=");
    let link = found.split_once("link=").expect("a link").1.to_owned();
    until_line(lines, "answer here");
    link
}

#[test]
fn sockets_that_are_for_another_process_are_left_alone() {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let inherited = socket.local_addr().expect("an address");
    let setup = Setup::new().variable("LISTEN_PID", "1").variable("LISTEN_FDS", "1");
    let server = setup.start();
    assert_ne!(server.address, inherited);
    assert_eq!(server.nobody().get("/api/health").expect(200)["status"], Value::from("ok"));
}
