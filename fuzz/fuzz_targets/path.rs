//! Any text as a path, read, written, deleted and listed, from any working folder.

#![no_main]

use countersign_core::example::example_context;
use countersign_core::{Action, Context, Verdict};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/support/invariant.rs"]
mod invariant;

fuzz_target!(|input: (String, Option<String>, bool)| {
    let (path, cwd, decoded) = input;
    let context = Context { cwd, paths_will_be_decoded: Some(decoded), ..example_context() };
    let verdict = |action: Action| invariant::judged(&action, &context).verdict;
    let list = verdict(Action::FileList { path: path.clone() });
    let write = verdict(Action::FileWrite { path: path.clone(), content: None });
    verdict(Action::FileRead { path: path.clone() });
    let delete = verdict(Action::FileDelete { path });
    // Whoever may not even look at a name may not change what it names.
    if list == Verdict::Block {
        assert_eq!((write, delete), (Verdict::Block, Verdict::Block));
    }
});
