//! `check --batch` and `redact --batch`: one line out for each line in, in order.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, binary};

fn values(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_thousand_lines_are_answered_in_order() {
    let sandbox = Sandbox::new("batch-order");
    let mut input = String::new();
    for number in 0..1000 {
        let kind = if number % 3 == 0 { "named" } else { "skill" };
        let field = if number % 3 == 0 { "name" } else { "skill" };
        let action = json!({"kind": kind, field: format!("a.b{number}")});
        let line = if number % 2 == 0 { action } else { json!({"action": action}) };
        writeln!(input, "{line}").unwrap();
    }
    let ended = sandbox.run_with(&["check", "--batch"], &input);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let answers = values(&ended.out);
    assert_eq!(answers.len(), 1000);
    let one = sandbox.run(&["check", "--json", "skill", "a.b500"]).out;
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(answers[500]["digest"], one["digest"]);
}

#[test]
fn a_bad_line_blocks_in_its_place_and_the_batch_goes_on() {
    let good = r#"{"kind":"shell","command":"ls"}"#;
    let input = format!("{good}\n\n{{\"kind\":\"no\"}}\nnot json\n{good}\n");
    let ended = Sandbox::new("batch-bad").run_with(&["check", "--batch"], &input);
    assert_eq!(ended.code, Some(2));
    let answers = values(&ended.out);
    let verdicts: Vec<_> = answers.iter().map(|answer| answer["verdict"].as_str()).collect();
    assert_eq!(verdicts, [Some("allow"), Some("block"), Some("block"), Some("allow")]);
    assert_eq!((&answers[1]["line"], &answers[2]["line"]), (&json!(3), &json!(4)));
    assert!(answers[1]["error"].as_str().unwrap().contains("`no`"));
}

#[test]
fn unknown_fields_of_a_context_are_errors() {
    let line = r#"{"action":{"kind":"shell","command":"ls"},"context":{"werkspace":"/x"}}"#;
    let ended = Sandbox::new("batch-context").run_with(&["check", "--batch"], line);
    assert_eq!(ended.code, Some(2));
    assert!(ended.out.contains("werkspace"));
}

#[test]
fn each_answer_comes_before_the_next_question() {
    let sandbox = Sandbox::new("batch-talk");
    let mut child = sandbox
        .command(binary())
        .args(["check", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        stdin.write_all(b"{\"kind\":\"shell\",\"command\":\"ls\"}\n").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert!(answer.contains("\"verdict\""));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_empty_batch_is_fine() {
    let ended = Sandbox::new("batch-empty").run_with(&["check", "--batch"], "\n \n");
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""));
}

#[test]
fn redaction_answers_text_and_what_was_found() {
    let sandbox = Sandbox::new("redact-batch");
    let ended = sandbox.run_with(&["redact", "--batch"], "{\"text\":\"hello\"}\n{\"txt\":1}\n");
    assert_eq!(ended.code, Some(2));
    let answers = values(&ended.out);
    assert_eq!(answers[0], json!({"text": "hello", "found": []}));
    assert_eq!(answers[1]["line"], 2);
    assert!(answers[1].get("text").is_none());
}

#[test]
fn redaction_passes_plain_text_through_from_a_file_or_standard_input() {
    let sandbox = Sandbox::new("redact-text");
    sandbox.write("log.txt", "one\ntwo");
    assert_eq!(sandbox.run(&["redact", "log.txt"]).out, "one\ntwo");
    assert_eq!(sandbox.run_with(&["redact"], "one\ntwo\n").out, "one\ntwo\n");
    let ended = sandbox.run(&["redact", "missing.txt"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("`missing.txt`"));
}
