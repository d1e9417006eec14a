//! Any text as the label, the field and the value of every kind of user-interface action.

#![no_main]

use countersign_core::action::{Field, Surface, UiOp};
use countersign_core::example::example_context;
use countersign_core::{Action, Verdict};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

const OPS: [UiOp; 7] =
    [UiOp::Click, UiOp::Type, UiOp::Select, UiOp::Submit, UiOp::Press, UiOp::Scroll, UiOp::Hover];

fuzz_target!(|input: (u8, Option<String>, Option<String>, Option<String>, [Option<String>; 6])| {
    let (choice, label, text, url, [name, id, kind, autocomplete, aria_label, nearby]) = input;
    let op = OPS[usize::from(choice) % OPS.len()];
    let surface = if choice > 127 { Surface::App } else { Surface::Browser };
    let field = Field { name, id, kind, autocomplete, aria_label, nearby, ..Field::default() };
    let action =
        Action::Ui { surface, op, label, field: Some(Box::new(field)), text, url, reference: None };
    let verdict = invariant::judged(&action, &example_context()).verdict;
    // Looking at something changes nothing, sending a form always may. A NUL is another matter.
    let nul = serde_json::to_string(&action).is_ok_and(|json| json.contains("\\u0000"));
    match op {
        UiOp::Scroll | UiOp::Hover => assert!(nul || verdict == Verdict::Allow),
        UiOp::Submit => assert!(verdict >= Verdict::Confirm),
        _ => {}
    }
});
