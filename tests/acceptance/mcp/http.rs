//! Servers and clients that use HTTP, with our proxy on either side of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::sdk::{Era, Rig, Sdk};
use super::{everything, looks_right};
use crate::server::{Home, Setup};
use crate::start::binary;

/// Connects a client to a server over HTTP: directly, to our proxy on its standard input, and to
/// our proxy over HTTP.
fn same_answers(client: Sdk, era: Era, server: Sdk) {
    let setup = Setup::new().config("mcp: {mark_tools: false}\n");
    let Some(rig) = Rig::new(setup.home) else { return };
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    let plain = |name: &str| rig.direct(name, server).elicit(ada.clone());
    let servers = ["direct", "started", "listening"].map(|name| rig.listening(name, server));
    let [(_, direct), (_, started), (_, behind)] = &servers;
    let (_proxy, listening) = rig.listening_proxy(behind);
    let proxy = [binary(), "mcp", "proxy", "--name", "test", "--http"];
    let connections = [
        plain("direct").at(direct),
        plain("started").by(&[&proxy, [started.as_str()].as_slice()].concat()),
        plain("listening").at(&listening),
    ];
    let said = rig.run(client, era, &connections, &everything());
    let by = |name: &str| said.iter().find(|said| said.name == name).expect("one");
    looks_right(by("direct"));
    for name in ["started", "listening"] {
        assert_eq!(by(name).protocol, server.protocol(client, era), "{name}");
        let steps = everything();
        let asked = steps.as_array().expect("steps");
        for ((step, got), direct) in asked.iter().zip(&by(name).steps).zip(&by("direct").steps) {
            assert_eq!(got, direct, "{name}: {step}");
        }
        assert_eq!(rig.log(name), rig.log("direct"), "{name}");
    }
}

#[test]
fn over_http_a_python_client_of_the_older_era_gets_the_same_answers() {
    same_answers(Sdk::Python, Era::Legacy, Sdk::OldTypeScript);
}

#[test]
fn over_http_a_python_client_of_the_newer_era_gets_the_same_answers() {
    same_answers(Sdk::Python, Era::Modern, Sdk::TypeScript);
}

#[test]
fn over_http_a_typescript_client_of_the_older_era_gets_the_same_answers() {
    same_answers(Sdk::TypeScript, Era::Legacy, Sdk::Python);
}

#[test]
fn over_http_a_typescript_client_of_the_newer_era_gets_the_same_answers() {
    same_answers(Sdk::TypeScript, Era::Modern, Sdk::Python);
}

#[test]
fn over_http_a_client_of_the_first_typescript_sdk_gets_the_same_answers() {
    same_answers(Sdk::OldTypeScript, Era::Legacy, Sdk::Python);
}

/// Sends a request of these lines, and returns the response.
fn asked(url: &str, request: &str) -> String {
    let authority = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(authority).expect("somebody listens");
    stream.write_all(request.replace("HOST", authority).as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_proxy_that_listens_lets_no_page_and_no_odd_request_through() {
    let Some(rig) = Rig::new(Home::new()) else { return };
    let (_server, behind) = rig.listening("behind", Sdk::Python);
    let (_proxy, url) = rig.listening_proxy(&behind);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_version",
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let post = |host: &str, headers: &str, body: &str| {
        let length = body.len();
        asked(
            &url,
            &format!(
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
            ),
        )
    };
    let right = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
                 Mcp-Name: get_version\r\n";
    let answer = post("HOST", right, call);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("version 1"), "{answer}");
    for (host, headers, body, status) in [
        ("evil.example", right, call, "403"),
        ("HOST", &format!("{right}Origin: https://evil.example\r\n"), call, "403"),
        ("HOST", &right.replace("get_version", "get_weather"), call, "400"),
        ("HOST", &right.replace("tools/call", "tools/list"), call, "400"),
        ("HOST", "", call, "400"),
        ("HOST", right, "{", "400"),
        ("HOST", "Mcp-Session-Id: none\r\n", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "404"),
    ] {
        let answer = post(host, headers, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {answer}");
    }
    for method in ["GET", "DELETE", "PUT"] {
        let request = format!("{method} /mcp HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n");
        assert!(asked(&url, &request).starts_with("HTTP/1.1 405"), "{method}");
    }
}
