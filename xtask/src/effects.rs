//! The real effects of commands, compared with the core's predictions.
//!
//! Commands of the shell corpora and scripts of our own are run for real, dangerous ones too, but
//! only in a throw-away root (see [`sandbox`]), and every system call that touches something is
//! recorded. Rows of a corpus are never written to the repository, only counts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::Result;
use crate::generated::{How, settle};

mod compare;
mod floor;
mod happened;
mod made;
mod named;
mod pick;
mod plant;
mod predicted;
mod report;
mod sandbox;
mod thing;
mod trace;

use compare::{Ending, Scores};
use pick::Script;
use sandbox::Sandbox;

const PAGE: &str = "docs/effects.md";
/// The number of scripts of a run by default: about two minutes on two cores.
const SAMPLE: usize = 1_000;
/// The number of scripts of a run that only checks: scripts of our own, which do not need a corpus
/// and use few programs.
const SAMPLE_CHECKED: usize = 400;

/// The result of one script.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) script: Script,
    /// The first program, as parsed by the core.
    pub(crate) program: String,
    /// The exit code; `None` when it was killed.
    pub(crate) code: Option<i32>,
    pub(crate) scores: Scores,
}

impl Outcome {
    /// Reports whether the shell found the command.
    pub(crate) fn ran(&self) -> bool {
        !matches!(self.code, Some(126 | 127))
    }
}

/// Runs a sample of the scripts and compares.
///
/// # Errors
/// A sandbox is not available (skipped under `--check`), an option is unknown, or, under `--check`,
/// a floor is missed.
pub(crate) fn run(args: &[&str]) -> Result {
    let options = Options::parse(args)?;
    // First of all, before anything is read: without a sandbox nothing is run.
    let sandbox = match Sandbox::new("bwrap") {
        Err(error) if options.how == How::Check => {
            println!("effects: skipped, {error}");
            return Ok(());
        }
        made => made?,
    };
    let scripts = pick::scripts(options.only(), options.sample());
    let outcomes = run_all(&sandbox, &scripts)?;
    print!("{}", report::summary(&outcomes));
    if let Some(most) = options.show {
        print!("{}", report::wrong(&outcomes, most));
    }
    match options.how {
        How::Check => floor::check(&outcomes),
        How::Write if options.is_whole() => {
            settle(PAGE, &report::page(&outcomes), How::Write, "effects")
        }
        How::Write => Ok(()),
    }
}

/// Runs every script, two at a time, and returns the outcomes in order.
fn run_all(sandbox: &Sandbox, scripts: &[Script]) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcomes = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(script) = scripts.get(at) else { return outcomes };
            outcomes.push((at, run_one(sandbox, script).map_err(|error| error.to_string())));
        }
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, outcome)| outcome.map_err(Into::into)).collect()
}

fn run_one(sandbox: &Sandbox, script: &Script) -> Result<Outcome> {
    let said = predicted::predict(&script.text);
    let mut planted = plant::named(&script.text, &said.touched(), &said.written());
    let run = sandbox.run(&script.text, &planted)?;
    let done = happened::happened(&run.trace, &script.text, plant::SECRETS);
    planted.extend(plant::paths().map(str::to_owned));
    let ending = if run.code == Some(0) { Ending::Success } else { Ending::Failure };
    let scores = compare::compare(&said, &done, ending, &planted);
    Ok(Outcome { script: script.clone(), program: said.program, code: run.code, scores })
}

/// The options of the task.
struct Options<'a> {
    how: How,
    /// Only files whose name begins like this; `made` for scripts of our own.
    only: Option<&'a str>,
    sample: Option<usize>,
    /// The number of misses and of false predictions of each class to print.
    show: Option<usize>,
}

impl<'a> Options<'a> {
    fn parse(args: &[&'a str]) -> Result<Self> {
        let mut options = Self { how: How::Write, only: None, sample: None, show: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("`{arg}` needs a value"));
            match *arg {
                "--check" => options.how = How::Check,
                "--only" => options.only = Some(value()?),
                "--sample" => options.sample = Some(value()?.parse()?),
                "--show" => options.show = Some(value()?.parse()?),
                other => return Err(format!("unknown option `{other}`").into()),
            }
        }
        Ok(options)
    }

    fn sample(&self) -> usize {
        let usual = if self.how == How::Check { SAMPLE_CHECKED } else { SAMPLE };
        self.sample.unwrap_or(usual)
    }

    fn only(&self) -> Option<&str> {
        let usual = (self.how == How::Check).then_some(pick::MADE);
        self.only.or(usual)
    }

    /// Reports whether the result is written to the page.
    fn is_whole(&self) -> bool {
        self.only.is_none() && self.show.is_none() && self.sample.is_none_or(|most| most >= SAMPLE)
    }
}
