//! A call that passes a hook and the proxy is asked about once; the question of a client that
//! disconnects is withdrawn.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::link::Link;
use super::question;
use crate::server::{Client, Server, text, until};

const CALL: &str = "toolu_1";

/// Starts Claude Code's hook before a call of the tool.
fn hook(server: &Server, which: &str) -> Child {
    let payload = json!({
        "session_id": "s1", "cwd": server.setup.home.0, "hook_event_name": "PreToolUse",
        "tool_name": "mcp__s__delete_x", "tool_use_id": CALL, "tool_input": {"which": which},
    });
    let mut command = server.setup.command();
    command.args(["hook", "claude-code", "--timeout", "60"]);
    command.env("COUNTERSIGN_DATA", server.data());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("an input");
    stdin.write_all(payload.to_string().as_bytes()).expect("it reads");
    child
}

fn call(id: u32, which: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "delete_x", "arguments": {"which": which},
        "_meta": {"claudecode/toolUseId": CALL},
    }})
}

fn waits(owner: &Client) -> usize {
    let listed = owner.get("/api/approvals?state=pending").expect(200);
    listed["items"].as_array().map(Vec::len).expect("a list")
}

#[test]
fn a_call_that_passes_hook_and_proxy_is_asked_about_once() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    // This test process is the host of both.
    let mut link = Link::start(&server);
    let asked = hook(&server, "a");
    owner.respond(&text(&question(&owner)["approval_id"]), true).expect(200);
    let said = asked.wait_with_output().expect("it ends");
    assert!(String::from_utf8_lossy(&said.stdout).contains("\"allow\""), "{said:?}");
    let answer = link.ask(&call(1, "a"));
    assert_eq!(answer["result"]["got"]["arguments"]["which"], "a", "{answer}");
    assert_eq!((waits(&owner), link.calls()), (0, 1));
    // Only once: the same call again and another one are new questions.
    for (id, which) in [(2, "a"), (3, "b")] {
        link.say(&call(id, which));
        owner.respond(&text(&question(&owner)["approval_id"]), false).expect(200);
        assert_eq!(link.hear()["result"]["isError"], true);
    }
    assert_eq!(link.calls(), 1);
}

/// Starts a server of the older era over HTTP, with one tool.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let _ = serve(stream);
            });
        }
    });
    url
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let (_, body) = received(&stream)?;
    let asked: Value = serde_json::from_str(&body).unwrap_or_default();
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "delete_x", "inputSchema": {"type": "object"}}]}),
        _ => json!({"content": []}),
    };
    let said = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
    let (status, said) =
        if asked["id"].is_null() { ("202 Accepted", String::new()) } else { ("200 OK", said) };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nMcp-Session-Id: one\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{said}",
        said.len()
    )
}

/// Reads the head and the body of an HTTP message.
fn received(stream: &TcpStream) -> std::io::Result<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}

/// Sends a message to the proxy, on a connection of its own.
fn send(authority: &str, session: &str, message: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(authority).expect("it listens");
    let body = message.to_string();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("it reads");
    stream
}

#[test]
fn in_the_older_era_a_dropped_connection_withdraws_its_question() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let mut command = server.setup.command();
    command.env("COUNTERSIGN_DATA", server.data());
    command.args(["mcp", "proxy", "--name", "s", "--http", &upstream()]);
    command.args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut proxy = command.spawn().expect("the binary starts");
    let mut line = String::new();
    BufReader::new(proxy.stdout.take().expect("an output")).read_line(&mut line).expect("a line");
    let url = line.split_whitespace().find_map(|word| word.strip_prefix("http://"));
    let authority = url.and_then(|url| url.strip_suffix("/mcp")).expect("an address");
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}}});
    let (head, _) = received(&send(authority, "", &begin)).expect("an answer");
    assert!(head.to_ascii_lowercase().contains("mcp-session-id: one"), "{head}");
    let session = "Mcp-Session-Id: one\r\n";
    for id in [2, 3] {
        let waits = send(authority, session, &call(id, "a"));
        let asked = text(&question(&owner)["approval_id"]);
        if id == 2 {
            drop(waits);
        } else {
            // Also once the response has begun as a stream.
            let mut first = String::new();
            BufReader::new(&waits).read_line(&mut first).expect("it has begun");
            assert!(first.contains("200"), "{first}");
            drop(waits);
        }
        until("nobody is asked any more", || (owner.state(&asked) == "cancelled").then_some(()));
    }
    proxy.kill().expect("it ends");
    proxy.wait().expect("it has ended");
}
