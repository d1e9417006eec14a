//! Requests judgements from the binary, as any program would.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::start::binary;

/// Returns the judgement of one action under a profile.
pub(crate) fn judged(profile: &str, action: &Value) -> Value {
    judged_in(&json!({ "profile": profile }), action)
}

/// Returns the judgement of one action in a context.
pub(crate) fn judged_in(context: &Value, action: &Value) -> Value {
    let line = json!({ "action": action, "context": context }).to_string();
    let mut child = Command::new(binary())
        .args(["check", "--batch"])
        // The configuration of the person who runs the tests must not influence them.
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("it has an input");
    writeln!(input, "{line}").expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("it writes UTF-8");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns only the verdict.
pub(crate) fn verdict(profile: &str, action: &Value) -> String {
    judged(profile, action)["verdict"].as_str().expect("a verdict").to_owned()
}

/// Returns only the verdict, in a mode.
pub(crate) fn verdict_in(profile: &str, mode: &str, action: &Value) -> String {
    let context = json!({ "profile": profile, "mode": mode });
    judged_in(&context, action)["verdict"].as_str().expect("a verdict").to_owned()
}
