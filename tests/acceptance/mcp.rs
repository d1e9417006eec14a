//! Traffic between MCP clients and servers through our proxy.
//!
//! Clients and servers are those of the official SDKs, in both eras of the protocol. Everything
//! that one sends to the other without us must also arrive through us.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::server::{Client, Home, Server, Setup, text, until};

#[cfg(target_os = "linux")]
mod end;
mod fields;
mod http;
mod link;
mod once;
mod sdk;
mod serve;

use sdk::{ConnectionResult, Era, Rig, Run, Sdk};

/// Returns every step that a client may take, on one connection.
fn everything() -> Value {
    let deep =
        json!({"a": [1, 2.5, null, {"": "ü \u{1f980}"}], "large": 9_007_199_254_740_991_i64});
    json!([
        {"do": "server"},
        {"do": "tools"},
        {"do": "resources"},
        {"do": "templates"},
        {"do": "prompts"},
        {"do": "read", "uri": "test://notes"},
        {"do": "read", "uri": "test://nothing"},
        {"do": "prompt", "name": "greet", "arguments": {"name": "Ada"}},
        {"do": "call", "name": "get_weather", "arguments": {"city": "Kyoto"}},
        {"do": "call", "name": "get_echo", "arguments": deep, "meta": {"example.org/trace": [1, {"x": "y"}]}},
        {"do": "call", "name": "get_nothing", "arguments": {}},
        {"do": "call", "name": "count_slowly", "arguments": {"steps": 3, "pause": 1, "label": "one"}},
        {"do": "cancel", "name": "count_slowly", "arguments": {"steps": 2000, "pause": 20, "label": "two"}},
        {"do": "log", "contains": "cancelled two"},
        {"do": "call", "name": "ask_name", "arguments": {}},
        {"do": "concurrent", "count": 20},
        {"do": "change"},
        {"do": "call", "name": "get_weather", "arguments": {"city": "Oslo"}},
    ])
}

/// Connects a client to every server, with and without the proxy, and compares the answers.
fn same_answers(client: Sdk, era: Era) {
    // The answers are compared, so no marks may be added.
    let setup = Setup::new().config("mcp: {mark_tools: false}\n");
    let Some(rig) = Rig::new(setup.home) else { return };
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    let mut connections = Vec::new();
    for server in Sdk::ALL {
        let (direct, proxied) = (format!("{server:?} direct"), format!("{server:?} through us"));
        connections.push(rig.direct(&direct, server).elicit(ada.clone()));
        connections.push(rig.proxied(&proxied, server).elicit(ada.clone()));
    }
    let said = rig.run(client, era, &connections, &everything());
    assert_eq!(said.len(), connections.len());
    for server in Sdk::ALL {
        let by = |way: &str| said.iter().find(|said| said.name == format!("{server:?} {way}"));
        let (direct, proxied) = (by("direct").expect("one"), by("through us").expect("one"));
        looks_right(direct);
        assert_eq!(direct.protocol, server.protocol(client, era), "{server:?}");
        assert_eq!(proxied.protocol, direct.protocol, "{server:?}");
        let steps = everything();
        let asked = steps.as_array().expect("steps");
        for ((step, proxied), direct) in asked.iter().zip(&proxied.steps).zip(&direct.steps) {
            assert_eq!(proxied, direct, "{server:?}: {step}");
        }
        assert_eq!(rig.log(&proxied.name), rig.log(&direct.name), "{server:?}");
    }
}

/// Checks the results of a direct connection, so that there is something to compare with.
fn looks_right(said: &ConnectionResult) {
    let steps = everything();
    let gave = |what: &str, name: Option<&str>| {
        let asked = steps.as_array().expect("steps").iter();
        let at = asked
            .zip(&said.steps)
            .find(|(step, _)| step["do"] == what && name.is_none_or(|name| step["name"] == name));
        at.unwrap_or_else(|| panic!("no {what}: {said:?}")).1
    };
    let tools = gave("tools", None);
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(7), "{tools}");
    let weather = gave("call", Some("get_weather"));
    assert_eq!(weather["result"]["structuredContent"]["degrees"], 21.5, "{weather}");
    let count = gave("call", Some("count_slowly"));
    assert_eq!(count["progress"].as_array().map(Vec::len), Some(3), "{count}");
    assert_eq!(count["progress"][2][2], "one 3");
    assert_eq!(gave("cancel", None)["cancelled"], true, "{said:?}");
    assert_eq!(gave("log", None), true, "{said:?}");
    let name = gave("call", Some("ask_name"));
    assert_eq!(name["result"]["content"][0]["text"], "accept Ada", "{name}");
    assert_eq!(gave("concurrent", None)["own"], 20);
    let version = |tools: &Value| text(&tools["tools"][3]["description"]);
    assert_ne!(version(tools), version(gave("change", None)));
}

#[test]
fn a_python_client_of_the_older_era_gets_the_same_answers_through_us() {
    same_answers(Sdk::Python, Era::Legacy);
}

#[test]
fn a_python_client_of_the_newer_era_gets_the_same_answers_through_us() {
    same_answers(Sdk::Python, Era::Modern);
}

#[test]
fn a_typescript_client_of_the_older_era_gets_the_same_answers_through_us() {
    same_answers(Sdk::TypeScript, Era::Legacy);
}

#[test]
fn a_typescript_client_of_the_newer_era_gets_the_same_answers_through_us() {
    same_answers(Sdk::TypeScript, Era::Modern);
}

#[test]
fn a_client_of_the_first_typescript_sdk_gets_the_same_answers_through_us() {
    same_answers(Sdk::OldTypeScript, Era::Legacy);
}

#[test]
fn a_thousand_calls_at_once_each_get_their_own_answer() {
    let Some(rig) = Rig::new(Home::new()) else { return };
    let pairs = [
        (Sdk::Python, Era::Modern, Sdk::TypeScript),
        (Sdk::TypeScript, Era::Modern, Sdk::Python),
        (Sdk::OldTypeScript, Era::Legacy, Sdk::OldTypeScript),
    ];
    let calls = json!([{"do": "concurrent", "count": 1000}]);
    for (client, era, server) in pairs {
        let connection = rig.proxied(&format!("{client:?}"), server);
        let said = rig.run(client, era, &[connection], &calls);
        assert_eq!(said[0].steps, [json!({"own": 1000, "wrong": []})], "{client:?} and {server:?}");
    }
}

/// Every client, and a server of another SDK where there is one.
const PAIRS: [(Sdk, Era, Sdk); 5] = [
    (Sdk::Python, Era::Legacy, Sdk::TypeScript),
    (Sdk::Python, Era::Modern, Sdk::TypeScript),
    (Sdk::TypeScript, Era::Legacy, Sdk::OldTypeScript),
    (Sdk::TypeScript, Era::Modern, Sdk::Python),
    (Sdk::OldTypeScript, Era::Legacy, Sdk::Python),
];

/// Starts all clients at once, each with the steps for its name. Questions go to this data folder.
fn everybody(rig: &Rig, data: &Path, steps: impl Fn(&str) -> Value) -> Vec<(String, Run)> {
    let start = |(client, era, server)| {
        let name = format!("{client:?} {era:?}");
        let connection = rig.proxied(&name, server).variable("COUNTERSIGN_DATA", data);
        let run = rig.start(client, era, &[connection], &steps(&name));
        (name, run)
    };
    PAIRS.into_iter().map(start).collect()
}

fn delete(label: &str) -> Value {
    json!({"do": "call", "name": "delete_everything", "arguments": {"label": label}})
}

fn waiting(person: &Client) -> Vec<Value> {
    let listed = person.get("/api/approvals?state=pending").expect(200);
    listed["items"].as_array().expect("a list").clone()
}

fn question(person: &Client) -> Value {
    until("a question waits", || waiting(person).first().cloned())
}

#[test]
fn with_nobody_to_ask_a_destructive_call_is_refused_where_the_model_sees_it() {
    let Some(rig) = Rig::new(Home::new()) else { return };
    let nowhere = rig.home.0.join("nowhere");
    for (name, run) in everybody(&rig, &nowhere, |_| json!([delete("all")])) {
        let said = run.end();
        let result = &said[0].steps[0]["result"];
        assert_eq!(result["isError"], true, "{name}: {said:?}");
        let why = text(&result["content"][0]["text"]);
        assert!(why.contains("Countersign"), "{name}: {why}");
        assert_eq!(rig.log(&name), [""; 0], "{name}");
    }
}

#[test]
fn a_destructive_call_runs_once_after_a_yes_and_never_after_a_no() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let Some(rig) = Rig::new(server.setup.home.clone()) else { return };
    let runs = everybody(&rig, &server.data(), |name| {
        json!([delete(&format!("{name}, yes")), delete(&format!("{name}, no"))])
    });
    for _ in 0..2 * runs.len() {
        let asked = question(&owner);
        let label = text(&asked["proposed"]["arguments"]["label"]);
        let (name, answer) = label.split_once(", ").expect("a label of ours");
        let ran = rig.log(name);
        assert!(!ran.contains(&format!("deleted {label}")), "it waits: {ran:?}");
        owner.respond(&text(&asked["approval_id"]), answer == "yes").expect(200);
    }
    for (name, run) in runs {
        let said = run.end();
        let [yes, no] = said[0].steps.as_slice() else { panic!("{name}: {said:?}") };
        assert_eq!(yes["result"]["content"][0]["text"], "deleted", "{name}: {said:?}");
        assert_eq!(no["result"]["isError"], true, "{name}: {said:?}");
        assert_eq!(rig.log(&name), [format!("deleted {name}, yes")], "{name}");
    }
}

#[test]
fn a_call_that_is_taken_back_while_it_waits_never_runs() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let Some(rig) = Rig::new(server.setup.home.clone()) else { return };
    let file = server.setup.home.0.join("all-are-asked");
    let runs = everybody(&rig, &server.data(), |name| {
        json!([
            {"do": "cancel", "name": "delete_everything", "arguments": {"label": name}, "file": file},
            {"do": "call", "name": "get_version", "arguments": {}},
        ])
    });
    let asked = until("all are asked", || {
        let asked = waiting(&owner);
        (asked.len() == runs.len()).then_some(asked)
    });
    fs::write(&file, "").expect("a file");
    for (name, run) in runs {
        let said = run.end();
        assert_eq!(said[0].steps[0]["cancelled"], true, "{name}: {said:?}");
        // The connection is still intact.
        assert_eq!(said[0].steps[1]["result"]["content"][0]["text"], "version 1", "{name}");
        assert_eq!(rig.log(&name), [""; 0], "{name}");
    }
    for question in asked {
        let state = || owner.state(&text(&question["approval_id"]));
        until("nobody is asked any more", || (state() == "cancelled").then_some(()));
    }
}
