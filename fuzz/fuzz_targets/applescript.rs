//! Any text as an AppleScript: judged the same twice, with sound spans, never let through where it
//! is not understood; validated without end; quoted so that it stays one string.

#![no_main]

use countersign_core::Action;
use countersign_core::applescript;
use countersign_core::example::example_context;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

fuzz_target!(|script: String| {
    let action = Action::Applescript { script: script.clone() };
    invariant::judged(&action, &example_context());
    let validation = applescript::validate(&script, &example_context());
    assert_eq!(validation.valid, validation.errors.is_empty());
    let built = applescript::validate(&applescript::activate(&script), &example_context());
    assert!(built.valid, "{:?}", built.errors);
});
