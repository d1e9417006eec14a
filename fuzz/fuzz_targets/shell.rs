//! Any text as a shell script: judged the same twice, with sound spans, never let through where
//! it is not understood.

#![no_main]

use countersign_core::Action;
use countersign_core::example::example_context;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

fuzz_target!(|command: String| {
    let action = Action::Shell { command, cwd: None };
    invariant::judged(&action, &example_context());
});
