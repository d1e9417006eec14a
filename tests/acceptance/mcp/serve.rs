//! Our own MCP server, called by clients of the official SDKs.

use serde_json::{Value, json};

use super::sdk::{Connection, ConnectionResult, Era, Rig, Sdk};
use super::{question, waiting};
use crate::server::{Server, text, until};
use crate::start::binary;

const CLIENTS: [(Sdk, Era); 5] = [
    (Sdk::Python, Era::Legacy),
    (Sdk::Python, Era::Modern),
    (Sdk::TypeScript, Era::Legacy),
    (Sdk::TypeScript, Era::Modern),
    (Sdk::OldTypeScript, Era::Legacy),
];

fn ours(rig: &Rig, name: &str, server: &Server) -> Connection {
    let command = [binary(), "mcp", "serve"];
    rig.direct(name, Sdk::Python).by(&command).variable("COUNTERSIGN_DATA", &server.data())
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"do": "call", "name": tool, "arguments": arguments})
}

/// Returns the result of a tool, parsed as JSON.
fn told(said: &[ConnectionResult], step: usize) -> Value {
    let result = &said[0].steps[step]["result"];
    serde_json::from_str(&text(&result["content"][0]["text"])).unwrap_or_else(|_| result.clone())
}

#[test]
fn every_client_can_have_an_action_judged_and_explained() {
    let server = Server::with("coding-agent");
    let Some(rig) = Rig::new(server.setup.home.clone()) else { return };
    let wipe = json!({"action": {"kind": "shell", "command": "rm -rf /"}});
    let steps = json!([
        {"do": "tools"},
        call("check_action", &wipe),
        call("explain_action", &wipe),
        call("check_action", &json!({"action": {"kind": "nothing"}})),
        call("approve", &json!({"tool_name": "Bash", "input": {"command": "rm -rf /"}})),
        call("approve", &json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"})),
    ]);
    for (client, era) in CLIENTS {
        let name = format!("{client:?} {era:?}");
        let said = rig.run(client, era, &[ours(&rig, &name, &server)], &steps);
        let [tools, checked, explained, wrong, ..] = said[0].steps.as_slice() else {
            panic!("{name}: {said:?}")
        };
        assert_eq!(tools["tools"].as_array().map(Vec::len), Some(4), "{name}");
        assert_eq!(checked["result"]["structuredContent"]["verdict"], "block", "{name}");
        assert!(text(&explained["result"]["content"][0]["text"]).contains("Decided by"), "{name}");
        assert_eq!(wrong["result"]["isError"], true, "{name}: {wrong}");
        assert_eq!(told(&said, 4)["behavior"], "deny", "{name}");
        let allowed = json!({"behavior": "allow", "updatedInput": {"command": "ls"}});
        assert_eq!(told(&said, 5), allowed, "{name}");
    }
}

#[test]
fn a_person_is_asked_and_the_agent_is_told_yes_or_no() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let Some(rig) = Rig::new(server.setup.home.clone()) else { return };
    for (at, (client, era)) in CLIENTS.into_iter().enumerate() {
        let name = format!("{client:?} {era:?}");
        let asks = json!({"description": format!("Download 47 files? {at}"), "details": ["a.pdf"]});
        let push =
            json!({"tool_name": "Bash", "input": {"command": format!("git push --force r{at}")}});
        let steps = json!([
            call("request_confirmation", &asks),
            call("request_confirmation", &json!({"description": format!("And these? {at}")})),
            call("approve", &push),
        ]);
        let run = rig.start(client, era, &[ours(&rig, &name, &server)], &steps);
        let asked = question(&owner);
        assert!(asked.to_string().contains("Download 47 files?"), "{name}: {asked}");
        owner.respond(&text(&asked["approval_id"]), true).expect(200);
        let next = |part: &str| {
            let found = || waiting(&owner).into_iter().find(|card| card.to_string().contains(part));
            text(&until("the next question waits", found)["approval_id"])
        };
        owner.respond(&next("And these?"), false).expect(200);
        owner.respond(&next("git push"), true).expect(200);
        let said = run.end();
        assert_eq!(told(&said, 0), json!({"approved": true}), "{name}");
        assert_eq!(said[0].steps[0]["result"]["structuredContent"]["approved"], true, "{name}");
        assert_eq!(told(&said, 1)["approved"], false, "{name}");
        assert_eq!(told(&said, 2)["behavior"], "allow", "{name}");
    }
}

#[test]
fn a_question_that_nobody_wants_answered_any_more_is_taken_back() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let Some(rig) = Rig::new(server.setup.home.clone()) else { return };
    let file = server.setup.home.0.join("asked");
    let steps = json!([
        {"do": "cancel", "name": "request_confirmation", "arguments": {"description": "Now?"}, "file": file},
        call("check_action", &json!({"action": {"kind": "shell", "command": "ls"}})),
    ]);
    let run = rig.start(Sdk::Python, Era::Legacy, &[ours(&rig, "cancel", &server)], &steps);
    let asked = text(&question(&owner)["approval_id"]);
    std::fs::write(&file, "").expect("a file");
    let said = run.end();
    assert_eq!(said[0].steps[0]["cancelled"], true, "{said:?}");
    assert_eq!(said[0].steps[1]["result"]["structuredContent"]["verdict"], "allow", "{said:?}");
    until("nobody is asked any more", || (owner.state(&asked) == "cancelled").then_some(()));
}

#[test]
fn without_a_server_nobody_says_yes() {
    let Some(rig) = Rig::new(crate::server::Home::new()) else { return };
    let command = [binary(), "mcp", "serve"];
    let steps = json!([
        call("request_confirmation", &json!({"description": "Now?"})),
        call("approve", &json!({"tool_name": "Bash", "input": {"command": "git push --force"}})),
    ]);
    let connection = rig.direct("alone", Sdk::Python).by(&command);
    let said = rig.run(Sdk::Python, Era::Modern, &[connection], &steps);
    assert_eq!(said[0].steps[0]["result"]["isError"], true, "{said:?}");
    assert_eq!(told(&said, 0)["approved"], false, "{said:?}");
    assert_eq!(told(&said, 1)["behavior"], "deny", "{said:?}");
}
