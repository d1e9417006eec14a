//! The time to execute `true` as a permit, beside starting it without anything: in turns, in one
//! run, as a ratio.

#![expect(clippy::print_stdout, reason = "the measurement is the output")]

#[cfg(unix)]
#[path = "../tests/it/support.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
#[expect(clippy::unwrap_used, reason = "a measurement may fail")]
mod support;

#[cfg(unix)]
fn main() {
    use std::process::Command;
    use std::time::Instant;

    /// The number of turns of each.
    const TURNS: usize = 200;

    let bench = support::Bench::new("measured");
    let executors = bench.executors();
    let action = countersign_core::Action::Shell { command: "true".to_owned(), cwd: None };
    let (mut executed, mut bare, mut bash) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let begun = Instant::now();
        support::done(&bench.act_by(&executors, action.clone()));
        executed.push(begun.elapsed());
        let begun = Instant::now();
        assert!(Command::new("true").status().is_ok_and(|status| status.success()));
        bare.push(begun.elapsed());
        let begun = Instant::now();
        let plain = Command::new("bash").args(["-p", "-c", "true"]).status();
        assert!(plain.is_ok_and(|status| status.success()));
        bash.push(begun.elapsed());
    }
    let median = |times: &mut Vec<std::time::Duration>| {
        times.sort_unstable();
        times.get(TURNS / 2).copied().unwrap_or_default()
    };
    let (executed, bare, bash) = (median(&mut executed), median(&mut bare), median(&mut bash));
    println!("executed `true`: {executed:?}; bare `true`: {bare:?}; bare `bash -c true`: {bash:?}");
    let ratio = |to: std::time::Duration| executed.as_secs_f64() / to.as_secs_f64();
    println!("ratio to `true`: {:.2}; ratio to `bash -c true`: {:.2}", ratio(bare), ratio(bash));
}

#[cfg(not(unix))]
fn main() {}
