//! Any JSON as the arguments, hints and schema of a tool with any name and description.

#![no_main]

use countersign_core::Action;
use countersign_core::example::example_context;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

const NAMES: [&str; 10] =
    ["url", "path", "command", "args", "sql", "query", "host", "python", "javascript", "x"];

fuzz_target!(|input: (String, Option<String>, Vec<(u8, String)>, String)| {
    let (tool, description, texts, json) = input;
    let mut arguments: std::collections::BTreeMap<_, _> = texts
        .into_iter()
        .map(|(name, text)| (NAMES[usize::from(name) % NAMES.len()].to_owned(), text.into()))
        .collect();
    let value: Option<serde_json::Value> = serde_json::from_str(&json).ok();
    arguments.extend(value.clone().map(|value| ("nested".to_owned(), value)));
    let action = Action::Tool {
        server: "server".to_owned(),
        tool,
        description,
        arguments,
        annotations: value.clone(),
        schema: value,
    };
    invariant::judged(&action, &example_context());
});
