//! The gate against a reference model: random traces of submit, answer, spend, report, expire,
//! crash, restart, clock jump and the rest, over both stores.
//!
//! Zero double spends, zero lost approvals, zero answers after expiry, zero foreign answers.
//! `TRACE_STEPS` is the number of steps in memory, `TRACE_STEPS_DISK` the number on disk, and
//! `TRACE_SEED` repeats an earlier run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

mod answers;
mod brittle;
mod check;
mod dice;
mod pool;
mod reference;
mod stage;
mod trace;

use countersign_gate::clock::{System, random};
use dice::Dice;
use stage::Backend;
use trace::{Tally, Trace};

/// The number of steps after which a new trace begins, so that settled approvals do not outnumber
/// the pending ones too much.
const TRACE: u64 = 1_000;

#[test]
fn the_gate_does_what_the_model_says_in_memory() {
    run(Backend::Memory, number("TRACE_STEPS").unwrap_or(12_000), 20);
}

#[test]
fn the_gate_does_what_the_model_says_on_disk() {
    run(Backend::Disk, number("TRACE_STEPS_DISK").unwrap_or(3_000), 100);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn run(backend: Backend, steps: u64, check_every: u64) {
    let seed = number("TRACE_SEED")
        .unwrap_or_else(|| u64::from(u32::from_le_bytes(random(&System).unwrap())));
    println!("{steps} steps, TRACE_SEED={seed}");
    let (mut done, mut told, mut seeds) = (Tally::default(), 0, Dice(seed));
    let began = Instant::now();
    while done.steps < steps {
        // The first trace of a run has the run's own seed, so that a failure can be repeated at
        // once.
        let own = if done.steps == 0 { seed } else { seeds.next() >> 32 };
        let length = TRACE.min(steps - done.steps);
        let mut trace = Trace::new(backend, own);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for step in 1..=length {
                trace.step();
                if step % check_every == 0 || step == length {
                    trace.check();
                }
            }
        }));
        if let Err(cause) = outcome {
            eprintln!("TRACE_SEED={own} fails {backend:?} at step {}:", trace.tally.steps);
            trace.log.iter().for_each(|line| eprintln!("  {line}"));
            resume_unwind(cause);
        }
        done.add(&trace.tally);
        if done.steps / 50_000 > told {
            told = done.steps / 50_000;
            println!("{backend:?}: {} steps in {:.0?}", done.steps, began.elapsed());
        }
    }
    println!("{backend:?}: {done:?} in {:.1?}", began.elapsed());
    // A run in which nothing happened would prove nothing.
    assert!(done.permits > 0 && done.asked > 0 && done.answered > 0 && done.refused > 0);
    assert!(done.answers_refused > 0 && done.spends_refused > 0);
    assert!(done.spent > 0 || steps < 1_000);
    assert!(done.turned_away > 0 || steps < 3_000);
}
