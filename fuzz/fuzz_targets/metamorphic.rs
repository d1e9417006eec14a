//! Any text as a command, run in another way: never judged milder than by itself.

#![no_main]

use countersign_core::example::example_context;
use countersign_core::{Action, Verdict};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

/// Shells that are given the text as one quoted word, which keeps whatever it does.
const WAYS: &[&str] = &[
    "bash -c {}",
    "eval {}",
    "bash <<< {}",
    "X={}; eval \"$X\"",
    "printf '%s\\n' {} | sh",
    "printf '%s\\n' {} > z.sh; bash z.sh",
    "f() { eval \"$1\"; }; f {}",
    "env bash -c {}",
];

fuzz_target!(|input: (u8, String)| {
    let (choice, command) = input;
    // Longer texts are past bounds, and a NUL is given to no program.
    if command.len() > 4096 || command.contains('\0') {
        return;
    }
    let context = example_context();
    let plain = Action::Shell { command: command.clone(), cwd: None };
    let before = invariant::judged(&plain, &context).verdict;
    let quoted = format!("'{}'", command.replace('\'', "'\\''"));
    let way = WAYS[usize::from(choice) % WAYS.len()];
    let text = way.replace("{}", &quoted);
    let after = invariant::judged(&Action::Shell { command: text, cwd: None }, &context).verdict;
    // What stops stops in every way; a block may become a question where something is not known.
    assert!(before < Verdict::Confirm || after >= Verdict::Confirm, "{before:?} {after:?}");
});
