//! Much at once: nobody waits for ever for somebody who waits for them.
//!
//! The servers behind the proxy are a shell and a line editor, which turns parameters into a
//! result.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::server::Setup;

const ECHO: &str = r#"exec sed -u -e 's/^\({"jsonrpc":"2.0","id":[^,]*,\)"method":"[^"]*","params":/\1"result":/'"#;
/// Some megabytes, before anything is read.
const TALK: &str = r#"awk 'BEGIN {
    for (n = 0; n < 1024; n++) pad = pad "talk"
    for (n = 0; n < 1000; n++)
        print "{\"jsonrpc\":\"2.0\",\"method\":\"example/told\",\"params\":{\"n\":" n ",\"pad\":\"" pad "\"}}"
}'"#;

fn start(setup: &Setup, script: &str) -> Child {
    let mut command = setup.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["mcp", "proxy", "--name", "flow", "--", "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts")
}

/// Hears everything, from now on.
fn heard(proxy: &mut Child) -> JoinHandle<Vec<Value>> {
    let from = BufReader::new(proxy.stdout.take().expect("an output"));
    let read =
        |line: Result<String, _>| serde_json::from_str(&line.expect("a line")).expect("JSON");
    thread::spawn(move || from.lines().map(read).collect())
}

fn request(id: usize, pad: &str) -> String {
    let params = json!({"n": id, "pad": pad});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"example/ask","params":{params}}}"#) + "\n"
}

#[test]
fn megabytes_both_ways_come_through_whole_and_in_order() {
    let setup = Setup::new();
    let mut proxy = start(&setup, &format!("{TALK}; {ECHO}"));
    let heard = heard(&mut proxy);
    let pad = "word".repeat(1024);
    let requests: String = (0..1000).map(|id| request(id, &pad)).collect();
    let mut to = proxy.stdin.take().expect("an input");
    to.write_all(requests.as_bytes()).expect("it reads");
    drop(to);
    let heard = heard.join().expect("it is JSON");
    let (told, answers): (Vec<_>, Vec<_>) = heard.iter().partition(|said| said.get("id").is_none());
    let numbers = |said: &[&Value], of: &str| -> Vec<_> {
        said.iter().map(|said| said[of]["n"].as_u64().expect("a number")).collect()
    };
    let all: Vec<_> = (0..1000).collect();
    assert_eq!((numbers(&told, "params"), numbers(&answers, "result")), (all.clone(), all));
    assert!(told.iter().all(|said| said["params"]["pad"] == "talk".repeat(1024).as_str()));
    assert!(answers.iter().all(|said| said["result"]["pad"] == pad.as_str()));
    assert_eq!(proxy.wait().expect("it ends").code(), Some(0));
}

#[test]
fn who_asks_and_says_no_more_still_gets_every_answer() {
    let setup = Setup::new();
    let mut proxy = start(&setup, ECHO);
    let requests: String = (0..200).map(|id| request(id, "")).collect();
    let mut to = proxy.stdin.take().expect("an input");
    to.write_all(requests.as_bytes()).expect("it reads");
    drop(to);
    let answers = heard(&mut proxy).join().expect("it is JSON");
    let ids: Vec<_> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| answer.get("error").is_none()));
    assert_eq!(proxy.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_its_proxy() {
    let setup = Setup::new();
    let told = r#"{"jsonrpc":"2.0","method":"example/told"}"#;
    let mut proxy = start(&setup, &format!("exec yes '{told}'"));
    let mut from = proxy.stdout.take().expect("an output");
    // It has begun, and nobody reads on.
    from.read_exact(&mut [0; 1]).expect("it talks");
    drop(proxy.stdin.take());
    proxy.wait().expect("it ends");
}

#[test]
fn a_proxy_ends_with_what_its_server_ended_with() {
    for script in ["exit 7", "read line; exit 7"] {
        let setup = Setup::new();
        let mut proxy = start(&setup, script);
        let to = proxy.stdin.take().filter(|_| script == "exit 7");
        assert_eq!(proxy.wait().expect("it ends").code(), Some(7), "{script}");
        drop(to);
    }
}

#[test]
fn a_server_that_stops_listening_does_not_leave_requests_without_an_answer() {
    let setup = Setup::new();
    let done = setup.home.0.join("done");
    // More is sent than a pipe takes, so some of it waits when the server closes its input.
    let script = format!(
        "read line; exec < /dev/null; until [ -e {} ]; do sleep 0.01; done",
        done.display()
    );
    let mut proxy = start(&setup, &script);
    let mut from = BufReader::new(proxy.stdout.take().expect("an output"));
    let mut to = proxy.stdin.take().expect("an input");
    let pad = "word".repeat(64 << 10);
    to.write_all((request(0, "") + &request(1, &pad)).as_bytes()).expect("it reads");
    let mut line = String::new();
    from.read_line(&mut line).expect("an answer");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-31_001)), "{answer}");
    std::fs::write(&done, "").expect("a file");
    drop(to);
    proxy.wait().expect("it ends");
}
