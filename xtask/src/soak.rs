//! Long versions of checks that CI runs briefly: properties, random traces of the gate against its
//! model, processes that are killed, and a server that gets every request that its own description
//! allows and many that it does not.

use std::time::Instant;

use crate::Result;
use crate::process::{PROFILE, cargo, run as run_command};

mod api;

const HELP: &str = "\
cargo xtask soak [PART…] [OPTIONS]

Parts; all of them, if none is named:
  properties       the property tests of every crate
  traces           random traces of the gate against its reference model
  kills            processes that use the store and the gate, killed at random moments
  api              the server, by schemathesis and its OpenAPI document; needs python3

  --cases N        cases for each property                 (100000; CI tries 256)
  --kilobytes N    length of the longest inputs            (1024; CI tries 128)
  --steps N        steps of the traces in memory           (1000000; CI takes 12000)
  --disk-steps N   steps of the traces on SQLite           (200000; CI takes 3000)
  --kills N        kills of each process                   (300; CI does 60 and 30)
  --seconds N      seconds for the server                  (120)
  --seed N         repeats a trace, the moments of the kills or the requests
";

/// The options, by name, with the variables of the tests and the default values.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("--cases", "PROPTEST_CASES", "100000"),
    ("--kilobytes", "LONG_KILOBYTES", "1024"),
    ("--steps", "TRACE_STEPS", "1000000"),
    ("--disk-steps", "TRACE_STEPS_DISK", "200000"),
    ("--kills", "KILLS", "300"),
    ("--seconds", api::SECONDS, "120"),
];

const PARTS: &[(&str, &[&str])] = &[
    ("properties", &["--workspace", "--tests", "--no-fail-fast"]),
    ("traces", &["--package", "countersign-gate", "--test", "it"]),
    ("kills", &["--package", "countersign-gate", "--test", "kill"]),
    (api::NAME, &[]),
];

/// Runs the selected parts, with many more iterations than CI.
///
/// # Errors
/// Something does not hold: the smallest counterexample, or the seed and the last steps of the
/// trace, have been printed.
pub(crate) fn run(args: &[&str]) -> Result {
    let Some(plan) = parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    for (at, (name, words)) in plan.parts.iter().enumerate() {
        let began = Instant::now();
        println!("\n=== {}/{} {name}: {} ===", at + 1, plan.parts.len(), plan.told(name));
        if *name == api::NAME {
            api::run(plan.number(api::SECONDS).unwrap_or_default(), plan.number(api::SEED))?;
        } else {
            test(&plan, name, words)?;
        }
        println!("--- {name}: ok in {:.0?}", began.elapsed());
    }
    Ok(())
}

fn test(plan: &Plan, name: &str, words: &[&str]) -> Result {
    let mut command = cargo(&["test", "--profile", PROFILE]);
    command.args(words);
    command.envs(plan.numbers_of(name).map(|(variable, number)| (*variable, number.as_str())));
    if name != "properties" {
        command.args(["--", "--nocapture", if name == "traces" { "model::" } else { "" }]);
    }
    run_command(&mut command)
}

/// The parts to run.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    parts: Vec<(&'static str, &'static [&'static str])>,
    /// The variables that the tests read, and their values.
    numbers: Vec<(&'static str, String)>,
}

impl Plan {
    /// Returns the variables of a part. The tests of every crate are among the properties; only
    /// their number of cases is raised there.
    fn numbers_of(&self, part: &str) -> impl Iterator<Item = &(&'static str, String)> {
        let wanted: &[&str] = match part {
            "properties" => &["PROPTEST_CASES", "LONG_KILOBYTES"],
            "traces" => &["TRACE_STEPS", "TRACE_STEPS_DISK", "TRACE_SEED"],
            api::NAME => &[api::SECONDS, api::SEED],
            _ => &["KILLS", "KILL_SEED"],
        };
        self.numbers.iter().filter(move |(variable, _)| wanted.contains(variable))
    }

    fn number(&self, variable: &str) -> Option<u64> {
        let found = self.numbers.iter().find(|(known, _)| *known == variable);
        found.and_then(|(_, number)| number.parse().ok())
    }

    fn told(&self, part: &str) -> String {
        let numbers =
            self.numbers_of(part).map(|(variable, number)| format!("{variable}={number}"));
        numbers.collect::<Vec<_>>().join(" ")
    }
}

/// Parses the arguments; `None` when only help is wanted.
fn parse(args: &[&str]) -> Result<Option<Plan>> {
    let mut plan = Plan { parts: Vec::new(), numbers: Vec::new() };
    plan.numbers
        .extend(OPTIONS.iter().map(|(_, variable, usual)| (*variable, (*usual).to_owned())));
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if ["--help", "-h"].contains(arg) {
            return Ok(None);
        }
        if let Some(part) = PARTS.iter().find(|(name, _)| name == arg) {
            plan.parts.push(*part);
            continue;
        }
        let variables: &[&'static str] = match OPTIONS.iter().find(|(name, ..)| name == arg) {
            Some((_, variable, _)) => std::slice::from_ref(variable),
            None if *arg == "--seed" => &["TRACE_SEED", "KILL_SEED", api::SEED],
            None => return Err(format!("unknown option `{arg}`\n\n{HELP}").into()),
        };
        let number: u64 = args.next().ok_or_else(|| format!("`{arg}` needs a number"))?.parse()?;
        plan.numbers.retain(|(known, _)| !variables.contains(known));
        plan.numbers.extend(variables.iter().map(|variable| (*variable, number.to_string())));
    }
    if plan.parts.is_empty() {
        plan.parts = PARTS.to_vec();
    }
    Ok(Some(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_run_unless_parts_are_named() {
        let plan = parse(&[]).unwrap().unwrap();
        assert_eq!(plan.parts.len(), PARTS.len());
        let plan = parse(&["kills", "--kills", "7", "--seed", "3"]).unwrap().unwrap();
        assert_eq!(plan.parts, [PARTS[2]]);
        assert_eq!(plan.told("kills"), "KILLS=7 KILL_SEED=3");
        assert_eq!(plan.told("api"), "SOAK_SECONDS=120 SOAK_SEED=3");
        assert_eq!(plan.told("traces"), "TRACE_STEPS=1000000 TRACE_STEPS_DISK=200000 TRACE_SEED=3");
    }

    #[test]
    fn what_is_no_option_or_no_number_is_refused() {
        assert!(parse(&["--help"]).unwrap().is_none());
        for bad in [&["--steps"][..], &["--steps", "many"], &["--fast"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
