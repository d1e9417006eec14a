//! Clients that can show their user a link: a convenience, and never the proof.
//!
//! The server behind the proxy is a line editor that records every call it gets.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::{question, waiting};
use crate::server::{Client, Server, text, until};

const SERVER: &str = r#"
/"method":"notifications/d
s/,"method":"initialize".*/,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}/
t
s/,"method":"tools\/list".*/,"result":{"tools":[{"name":"delete_x"}]}}/
t
s/,"method":"tools\/call","params":\(.*\)}$/,"result":{"content":[],"got":\1}}/
w calls
"#;

/// A client with the proxy and such a server behind it.
pub(super) struct Link {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: PathBuf,
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Link {
    pub(super) fn start(server: &Server) -> Self {
        let folder = server.setup.home.0.join("link");
        fs::create_dir_all(&folder).expect("a folder");
        let mut command = server.setup.command();
        command.env("COUNTERSIGN_DATA", server.data()).current_dir(&folder);
        command.args(["mcp", "proxy", "--name", "s", "--", "sed", "-u", "-e", SERVER]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let to = child.stdin.take().expect("an input");
        let from = BufReader::new(child.stdout.take().expect("an output"));
        Self { child, to, from, calls: folder.join("calls") }
    }

    pub(super) fn say(&mut self, message: &Value) {
        writeln!(self.to, "{message}").expect("it reads");
    }

    pub(super) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("JSON")
    }

    pub(super) fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        self.hear()
    }

    pub(super) fn calls(&self) -> usize {
        fs::read_to_string(&self.calls).unwrap_or_default().lines().count()
    }
}

/// Returns a call in the newer era, by a client that shows links.
fn modern(id: u32, more: &Value) -> Value {
    let mut call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "delete_x", "arguments": {"which": "a"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
        },
    }});
    for (name, value) in more.as_object().expect("fields") {
        call["params"][name] = value.clone();
    }
    call
}

fn again(state: &Value, action: &str) -> Value {
    json!({"requestState": state, "inputResponses": {"countersign": {"action": action}}})
}

/// Makes a call, and returns the state to repeat it with.
fn sent_to_a_page(link: &mut Link, id: u32, owner: &Client) -> Value {
    let answer = link.ask(&modern(id, &json!({})));
    let asked = &answer["result"]["inputRequests"]["countersign"];
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert_eq!(asked["params"]["mode"], "url", "{answer}");
    let approval = text(&question(owner)["approval_id"]);
    assert!(text(&asked["params"]["url"]).ends_with(&format!("/approvals/{approval}")), "{asked}");
    answer["result"]["requestState"].clone()
}

#[test]
fn in_the_newer_era_a_link_is_shown_and_only_the_gate_says_yes() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut link = Link::start(&server);
    let state = sent_to_a_page(&mut link, 1, &owner);
    // Opening the page is not an approval: the call waits until there is one.
    link.say(&modern(2, &again(&state, "accept")));
    assert_eq!(link.calls(), 0);
    owner.respond(&text(&question(&owner)["approval_id"]), true).expect(200);
    let answer = link.hear();
    assert_eq!(answer["id"], 2, "{answer}");
    let got = &answer["result"]["got"];
    assert!(got.get("requestState").is_none() && got.get("inputResponses").is_none(), "{got}");
    assert_eq!((link.calls(), &got["arguments"]["which"]), (1, &json!("a")));
    // A spent approval stays spent.
    let answer = link.ask(&modern(3, &again(&state, "accept")));
    assert_eq!((link.calls(), &answer["result"]["isError"]), (1, &json!(true)), "{answer}");
}

#[test]
fn a_state_is_good_for_no_other_call() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut link = Link::start(&server);
    let state = sent_to_a_page(&mut link, 1, &owner);
    owner.respond(&text(&question(&owner)["approval_id"]), true).expect(200);
    let mut other = again(&state, "accept");
    other["arguments"] = json!({"which": "b"});
    for (id, more) in [(2, other), (3, again(&json!("countersign:apr_none"), "accept"))] {
        let answer = link.ask(&modern(id, &more));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    assert_eq!(link.calls(), 0);
}

#[test]
fn declining_is_a_no_in_both_eras() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut link = Link::start(&server);
    let state = sent_to_a_page(&mut link, 1, &owner);
    let answer = link.ask(&modern(2, &again(&state, "decline")));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    until("nobody is asked any more", || waiting(&owner).is_empty().then_some(()));

    let mut link = Link::start(&server);
    let elicitation = begin(&mut link);
    let declined =
        json!({"jsonrpc": "2.0", "id": elicitation["id"], "result": {"action": "decline"}});
    let answer = link.ask(&declined);
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(1), &json!(true)),
        "{answer}"
    );
    until("nobody is asked any more", || waiting(&owner).is_empty().then_some(()));
    assert_eq!(link.calls(), 0);
}

/// Initializes in the older era and makes a call; returns the link that the client is to show.
fn begin(link: &mut Link) -> Value {
    let can = json!({"elicitation": {"url": {}}});
    link.ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": {},
    }}));
    link.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let params = json!({"name": "delete_x", "_meta": {"progressToken": 7}});
    link.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    loop {
        let heard = link.hear();
        match heard["method"].as_str() {
            Some("notifications/progress") => assert_eq!(heard["params"]["progressToken"], 7),
            method => {
                assert_eq!(method, Some("elicitation/create"), "{heard}");
                return heard;
            }
        }
    }
}

#[test]
fn in_the_older_era_a_link_is_shown_while_the_call_waits() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut link = Link::start(&server);
    let elicitation = begin(&mut link);
    let approval = text(&question(&owner)["approval_id"]);
    assert_eq!(elicitation["params"]["elicitationId"], approval.as_str(), "{elicitation}");
    link.say(&json!({"jsonrpc": "2.0", "id": elicitation["id"], "result": {"action": "accept"}}));
    assert_eq!(link.calls(), 0, "the page was opened, no more");
    owner.respond(&approval, true).expect(200);
    let done = link.hear();
    assert_eq!(done["method"], "notifications/elicitation/complete", "{done}");
    let answer = link.hear();
    assert_eq!((&answer["id"], link.calls()), (&json!(1), 1), "{answer}");
    // The gate was told the result.
    until("it is done", || (owner.state(&approval) == "done").then_some(()));
}
