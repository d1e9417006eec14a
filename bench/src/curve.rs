//! In process: what a judgement costs as a user's own rules and patterns grow.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use countersign_core::policy::{Source, Sources};
use countersign_core::{Action, Policy};

use crate::kinds::costs;

const SIZES: [usize; 4] = [10, 100, 1_000, 5_000];

/// The curve, as a ratio to no rules at all.
pub(crate) fn table() -> Result<String, Box<dyn Error>> {
    let mut table = String::from(
        "| the user's own | judge µs with rules | ratio to none | with patterns | ratio to none | \
         loading ms |\n|---|---|---|---|---|---|\n",
    );
    let command = "git push origin main && cargo test -p core -- --nocapture";
    let action = Action::Shell { command: command.to_owned(), cwd: None };
    let none = Policy::default();
    for size in SIZES {
        let started = Instant::now();
        let with_rules = policy(&rules(size))?;
        let with_patterns = policy(&patterns(size))?;
        let loading = started.elapsed().as_secs_f64() * 1e3;
        let [none, rules, patterns] = costs(&action, [&none, &with_rules, &with_patterns]);
        writeln!(
            table,
            "| {size} | {rules:.2} | {:.2} | {patterns:.2} | {:.2} | {loading:.0} |",
            rules / none,
            patterns / none,
        )?;
    }
    Ok(table)
}

fn policy(text: &str) -> Result<Policy, Box<dyn Error>> {
    let source = Source { name: "config.yaml".to_owned(), text: text.to_owned() };
    Ok(Policy::load(&Sources { user: Some(source), ..Sources::default() })?)
}

fn rules(size: usize) -> String {
    let mut text = String::from("rules:\n");
    for at in 0..size {
        let _ = write!(
            text,
            "  rule-{at}:\n    title: Runs tool {at}\n    program: tool{at}\n    args: [deploy]\n    \
             risk: high\n    verdict: confirm\n    category: system_change\n    \
             hits: [tool{at} deploy]\n    misses: [tool{at} build]\n"
        );
    }
    text
}

fn patterns(size: usize) -> String {
    let mut text = String::from("safety:\n  custom_patterns:\n");
    for at in 0..size {
        let _ = writeln!(text, "    - 'tool{at}\\s+.*--force-{at}'");
    }
    text
}
