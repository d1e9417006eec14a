//! Ways to run a command, one inside the other: a hard block is never allowed.
//!
//! All pairs of the metamorphic suite, and random triples. Commands that are asked about instead of
//! blocked are counted there; here nothing may be allowed. `COUNTERSIGN_COMPOSED=all` takes every
//! pair instead of a sample, and new triples.

use std::sync::LazyLock;

use countersign_core::example::example_context;
use countersign_core::{Action, Policy, Verdict, judge};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

#[path = "support/harm.rs"]
mod harm;
#[path = "support/launch.rs"]
mod launch;
#[path = "support/meaning.rs"]
#[expect(dead_code, reason = "another suite uses the rest")]
mod meaning;
#[path = "support/quote.rs"]
mod quote;
#[path = "support/script.rs"]
#[expect(dead_code, reason = "another suite uses the rest")]
mod script;
#[path = "support/wrap.rs"]
#[expect(dead_code, reason = "another suite uses the rest")]
mod wrap;

use launch::{COMPUTED, LAUNCHED};
use meaning::{KEEPING, Transformation};

/// Longer scripts exceed a limit, which asks.
const LONGEST: usize = 16 * 1024;

/// The sample has one in this many pairs.
const SAMPLE: usize = 8;

static WAYS: LazyLock<Vec<Transformation>> =
    LazyLock::new(|| KEEPING.iter().chain(COMPUTED).chain(LAUNCHED).copied().collect());

/// One command of words and one of the shell, which can be in different places.
const HARM: &[&str] = &["dd if=/dev/zero of=/dev/sda", "echo x > /etc/shadow"];

#[test]
fn no_pair_of_ways_lets_a_hard_block_pass() {
    let step = if draws_all() { 1 } else { SAMPLE };
    let pairs = WAYS.iter().flat_map(|inner| WAYS.iter().map(move |outer| (inner, outer)));
    let mut passed = Vec::new();
    for (at, (inner, outer)) in pairs.enumerate().filter(|(at, _)| at % step == 0) {
        let harm = HARM.get(at / step % HARM.len()).copied().unwrap_or_default();
        let Some(text) = inner.apply(harm).and_then(|text| outer.apply(&text)) else { continue };
        if text.len() < LONGEST && verdict(&text) < Verdict::Confirm {
            passed.push(text);
        }
    }
    assert!(passed.is_empty(), "{} pass: {passed:#?}", passed.len());
}

/// The file that ways write and run: two of them in one script would overwrite it for each other.
const FILE: &str = "z.sh";

/// The same triples in every run, so that CI can be repeated; `COUNTERSIGN_COMPOSED=all` draws new
/// ones.
fn config() -> ProptestConfig {
    let rng_seed = if draws_all() { RngSeed::Random } else { RngSeed::Fixed(7) };
    ProptestConfig { failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

fn draws_all() -> bool {
    std::env::var_os("COUNTERSIGN_COMPOSED").is_some_and(|how| how == "all")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_three_ways_let_a_hard_block_pass(
        harm in harm::harm(),
        ways in prop::collection::vec(select(WAYS.as_slice()), 1..=3),
    ) {
        let text = ways.iter().fold(harm.text, |text, way| {
            let clashes = text.contains(FILE) && way.template.contains(FILE);
            let applied = way.apply(&text).filter(|text| text.len() < LONGEST && !clashes);
            applied.unwrap_or(text)
        });
        let verdict = verdict(&text);
        prop_assert!(verdict >= Verdict::Confirm, "{:?}: {}", verdict, text);
    }
}

fn verdict(command: &str) -> Verdict {
    let action = Action::Shell { command: command.to_owned(), cwd: None };
    judge(&action, &Policy::default(), &example_context()).verdict
}
