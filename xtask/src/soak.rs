//! The property tests, for as long as somebody likes to wait.

use crate::Result;
use crate::process::{PROFILE, cargo, run as run_command};

/// CI tries 256.
const CASES: &str = "100000";

/// Runs the property tests with many more cases than CI does.
///
/// # Errors
/// A property does not hold; its smallest counterexample has been printed.
pub(crate) fn run(args: &[&str]) -> Result {
    let cases = match args {
        [] => CASES,
        ["--cases", cases] => cases,
        other => return Err(format!("unknown option `{}`", other.join(" ")).into()),
    };
    println!("soaking with {cases} cases for each property");
    let words = ["test", "--workspace", "--profile", PROFILE, "--tests", "--no-fail-fast"];
    run_command(cargo(&words).env("PROPTEST_CASES", cases))
}
