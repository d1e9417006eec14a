//! Any text redacted: spans in order, apart and on characters, and nothing left to find.

#![no_main]

use countersign_core::redact::redact;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: String| {
    let redacted = redact(&text);
    let mut from = 0;
    for found in &redacted.found {
        let [start, end] = found.span;
        assert!(from <= start && start < end, "{:?} overlaps or is empty", found.span);
        assert!(text.get(start..end).is_some(), "{:?} is not in the text", found.span);
        from = end;
    }
    assert_eq!(redact(&redacted.text).text, redacted.text, "something was left");
});
