//! Fuzzing with libFuzzer, on the stable toolchain.

use std::fs;
use std::path::Path;

use countersign_core::rule::rules;

use crate::Result;
use crate::process::{cargo, has_subcommand, root, run as run_command};

/// The time for each target: ten minutes.
const SECONDS: u32 = 600;

/// Fuzzes one target or all of them.
///
/// # Errors
/// The target does not exist, cargo-fuzz cannot be installed, or a target found something.
pub(crate) fn run(args: &[&str]) -> Result {
    let (wanted, seconds) = parse(args)?;
    let targets: Vec<String> = targets()?
        .into_iter()
        .filter(|target| wanted.is_none_or(|wanted| wanted == target))
        .collect();
    if targets.is_empty() {
        return Err(format!("no target `{}` under fuzz/fuzz_targets", wanted.unwrap_or("")).into());
    }
    if !has_subcommand("fuzz") {
        println!("installing cargo-fuzz");
        run_command(&mut cargo(&["install", "cargo-fuzz", "--locked"]))?;
    }
    for target in &targets {
        println!("\n=== {target}, {seconds} s ===");
        fuzz(target, seconds)?;
    }
    println!("\n{} targets, nothing found", targets.len());
    Ok(())
}

fn parse<'a>(args: &[&'a str]) -> Result<(Option<&'a str>, u32)> {
    match args {
        [] => Ok((None, SECONDS)),
        ["--seconds", seconds] => Ok((None, seconds.parse()?)),
        [target] => Ok((Some(target), SECONDS)),
        [target, "--seconds", seconds] => Ok((Some(target), seconds.parse()?)),
        other => Err(format!("unknown option `{}`", other.join(" ")).into()),
    }
}

fn targets() -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        targets.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    Ok(targets)
}

fn fuzz(target: &str, seconds: u32) -> Result {
    seed(target)?;
    let dictionary = root().join(format!("fuzz/dictionaries/{target}.txt"));
    let mut fuzz = cargo(&["fuzz", "run", "--sanitizer", "none", target, "--"]);
    // INVARIANT: set only in this command's environment: nothing we ship may use unstable features.
    fuzz.env("RUSTC_BOOTSTRAP", "1");
    fuzz.arg(format!("-max_total_time={seconds}"));
    fuzz.args(["-max_len=4096", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    if dictionary.exists() {
        fuzz.arg(format!("-dict={}", dictionary.display()));
    }
    run_command(&mut fuzz)
}

/// Seeds the corpus with the examples of the rules.
fn seed(target: &str) -> Result {
    let folder = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&folder)?;
    let examples = rules().iter().flat_map(|rule| rule.hits.iter().chain(rule.misses.iter()));
    for (at, example) in examples.enumerate() {
        write_new(&folder.join(format!("example-{at}")), example.as_bytes())?;
    }
    Ok(())
}

fn write_new(path: &Path, bytes: &[u8]) -> Result {
    if path.exists() { Ok(()) } else { Ok(fs::write(path, bytes)?) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_and_a_time_are_both_optional() {
        assert_eq!(parse(&[]).unwrap(), (None, SECONDS));
        assert_eq!(parse(&["shell"]).unwrap(), (Some("shell"), SECONDS));
        assert_eq!(parse(&["--seconds", "5"]).unwrap(), (None, 5));
        assert_eq!(parse(&["shell", "--seconds", "5"]).unwrap(), (Some("shell"), 5));
        assert!(parse(&["shell", "--seconds", "soon"]).is_err());
    }
}
