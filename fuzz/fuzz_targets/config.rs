//! Any text as a configuration file, at every rank, and as an action or a context.
//!
//! Whatever loads must not lower a hard block, and a project's file must not lower anything.

#![no_main]

use countersign_core::example::{example_action, example_context};
use countersign_core::policy::{Source, Sources};
use countersign_core::{Action, Context, Policy, Verdict, judge};
use libfuzzer_sys::fuzz_target;

const HARD: &str = "rm -rf /";
const ASKED: &str = "git push --force";

fuzz_target!(|text: String| {
    // What parses must say the same once it has been written and read again.
    if let Ok(action) = serde_json::from_str::<Action>(&text) {
        let written = serde_json::to_string(&action).expect("an action can be written");
        assert_eq!(serde_json::from_str::<Action>(&written).expect("and read"), action);
    }
    let _ = serde_json::from_str::<Context>(&text);

    let source = Some(Source { name: "fuzz.yaml".into(), text });
    let user = Sources { user: source.clone(), ..Sources::default() };
    if let Ok(policy) = Policy::load(&user) {
        assert_eq!(verdict(HARD, &policy), Verdict::Block);
    }
    let project = Sources { project: source, ..Sources::default() };
    if let Ok(policy) = Policy::load(&project) {
        assert_eq!(verdict(HARD, &policy), Verdict::Block);
        assert!(verdict(ASKED, &policy) >= verdict(ASKED, &Policy::default()));
    }
});

fn verdict(command: &str, policy: &Policy) -> Verdict {
    judge(&example_action(command), policy, &example_context()).verdict
}
