//! Any text as a URL, with any text as its base, an allowed origin and a resolved address.

#![no_main]

use countersign_core::Action;
use countersign_core::context::Context;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

fuzz_target!(|input: (String, Option<String>, Option<Vec<String>>, String)| {
    let (url, base_url, allowed_origins, address) = input;
    let addresses = [("example.com".to_owned(), vec![address])].into();
    let context = Context { base_url, allowed_origins, addresses, ..Context::default() };
    invariant::judged(&Action::Navigate { url }, &context);
});
