//! Any text as source in every language.

#![no_main]

use countersign_core::Action;
use countersign_core::action::Language;
use countersign_core::example::example_context;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

const DIALECTS: [Option<&str>; 5] =
    [None, Some("postgres"), Some("mysql"), Some("sqlite"), Some("no such dialect")];

fuzz_target!(|input: (u8, String)| {
    let (choice, source) = input;
    let dialect = DIALECTS[usize::from(choice) % DIALECTS.len()].map(str::to_owned);
    let language = match choice % 5 {
        0 => Language::Python,
        1 => Language::Javascript,
        2 => Language::Perl,
        3 => Language::Ruby,
        _ => Language::Sql,
    };
    invariant::judged(&Action::Code { language, source, dialect }, &example_context());
});
