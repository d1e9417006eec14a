//! The end of a proxy: its server ends with it, and its pending questions are withdrawn.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::question;
use crate::server::{Server, Setup, text, until};

/// Starts a proxy with a server that reads nothing, and ignores the signals in `trap`.
fn deaf(setup: &Setup, trap: &str) -> (Child, u32) {
    let file = setup.home.0.join("pid");
    let script =
        format!("trap '' {trap}; echo $$ > '{}'; while :; do sleep 0.1; done", file.display());
    let mut command = setup.command();
    command.args(["mcp", "proxy", "--", "sh", "-c", &script]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let child = command.spawn().expect("the binary starts");
    let pid = until("the server runs", || fs::read_to_string(&file).ok()?.trim().parse().ok());
    (child, pid)
}

/// Reports whether a process still runs. A zombie does not.
fn runs(pid: u32) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

fn terminate(child: &Child) {
    kill_process(Pid::from_child(child), Signal::TERM).expect("it is there");
}

#[test]
fn a_server_ends_with_its_proxy_whoever_ends_that() {
    for trap in ["HUP", "TERM"] {
        let setup = Setup::new();
        let (mut proxy, server) = deaf(&setup, trap);
        terminate(&proxy);
        until("the server has ended", || (!runs(server)).then_some(()));
        assert_eq!(proxy.wait().expect("it ends").code(), Some(143), "{trap}");
    }
}

#[test]
fn a_server_that_does_not_hear_that_its_client_is_gone_is_ended() {
    let setup = Setup::new();
    let (mut proxy, server) = deaf(&setup, "HUP");
    drop(proxy.stdin.take());
    until("the server has ended", || (!runs(server)).then_some(()));
    proxy.wait().expect("it ends");
}

#[test]
fn a_proxy_that_is_ended_takes_its_questions_back() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut command = server.setup.command();
    command.env("COUNTERSIGN_DATA", server.data());
    let list = r#"s/^\({"jsonrpc":"2.0","id":[^,]*\),.*/\1,"result":{"tools":[]}}/"#;
    command.args(["mcp", "proxy", "--name", "test", "--", "sed", "-u", "-e", list]);
    let mut proxy = command.stdin(Stdio::piped()).spawn().expect("the binary starts");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_all"}}"#;
    writeln!(proxy.stdin.as_mut().expect("an input"), "{call}").expect("it reads");
    let asked = text(&question(&owner)["approval_id"]);
    terminate(&proxy);
    until("nobody is asked any more", || (owner.state(&asked) == "cancelled").then_some(()));
    proxy.wait().expect("it ends");
}
