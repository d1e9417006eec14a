//! Everything that CI checks, in the order in which failures show soonest.
//!
//! One profile and one target folder, so that nothing is compiled twice. Checks whose tools a
//! machine lacks (cargo-deny, the corpus) are skipped with a line that says so.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::generated::How;
use crate::process::{PROFILE, cargo, has_subcommand, root, run, run_keeping};
use crate::{Result, arrows, effects, elsewhere, prose, quality, rules, setup, transcript};

/// One heading of the output.
struct Section {
    name: &'static str,
    run: fn() -> Result<Vec<String>>,
}

const SECTIONS: &[Section] = &[
    Section { name: "format", run: format },
    Section { name: "arrows between crates and modules", run: || quiet(arrows::check()) },
    Section { name: "plain prose", run: || quiet(prose::run(&["--check"])) },
    Section { name: "lints", run: lints },
    Section { name: "what tests need", run: || quiet(setup::run_all()) },
    Section { name: "tests", run: all_tests },
    Section { name: "the same from another folder", run: || elsewhere::run_all(&[]) },
    Section { name: "effects of commands", run: || quiet(effects::run(&["--check"])) },
    Section { name: "ignored tests still fail", run: ignored_tests },
    Section { name: "documentation tests", run: doc_tests },
    Section { name: "documentation", run: documentation },
    Section { name: "generated files", run: generated_files },
    Section { name: "transcripts", run: || quiet(transcript::run(&[])) },
    Section { name: "fuzz targets compile", run: fuzz_targets },
    Section { name: "dependencies", run: dependencies },
];

/// Runs every section, and stops at the first that fails unless told to continue.
///
/// # Errors
/// A section failed; the message names it.
pub(crate) fn run_all(args: &[&str]) -> Result {
    let on_failure = match args {
        [] => OnFailure::Stop,
        ["--keep-going"] => OnFailure::GoOn,
        other => return Err(format!("unknown option `{}`", other.join(" ")).into()),
    };
    let started = Instant::now();
    let (mut closing, mut failed) = (Vec::new(), Vec::new());
    for (at, section) in SECTIONS.iter().enumerate() {
        println!("\n=== {}/{} {} ===", at + 1, SECTIONS.len(), section.name);
        let section_started = Instant::now();
        match (section.run)() {
            Ok(lines) => {
                println!("--- {}: ok in {:.1?}", section.name, section_started.elapsed());
                closing.extend(lines);
            }
            Err(error) => {
                println!("--- {}: FAILED: {error}", section.name);
                failed.push(section.name);
                if on_failure == OnFailure::Stop {
                    break;
                }
            }
        }
    }
    close(&closing, &failed, started.elapsed())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    Stop,
    GoOn,
}

/// Prints the last lines: the summaries of the test runners, then the result and the duration.
fn close(closing: &[String], failed: &[&str], took: Duration) -> Result {
    // Repeated here, because hundreds of lines separate them from the end.
    println!();
    for line in closing {
        println!("{}", line.trim());
    }
    if failed.is_empty() {
        println!("=== all {} sections passed in {took:.1?} ===", SECTIONS.len());
        return Ok(());
    }
    println!("=== failed after {took:.1?} ===");
    Err(format!("failed: {}", failed.join(", ")).into())
}

/// Runs only the tests.
///
/// # Errors
/// A test failed.
pub(crate) fn test(args: &[&str]) -> Result {
    run_keeping(&mut test_command(args), is_closing_line).map(drop)
}

fn quiet(outcome: Result) -> Result<Vec<String>> {
    outcome.map(|()| Vec::new())
}

fn format() -> Result<Vec<String>> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    quiet(run(&mut cargo(&["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"])))
}

fn lints() -> Result<Vec<String>> {
    quiet(run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--profile",
        PROFILE,
        "--",
        "-D",
        "warnings",
    ])))
}

/// Runs all tests. In CI a test that cannot do its work fails; elsewhere it says that it is
/// skipped.
fn all_tests() -> Result<Vec<String>> {
    run_keeping(test_command(&[]).env("COUNTERSIGN_CI", "1"), is_closing_line)
}

/// Returns the test command: nextest where it is installed, else cargo.
fn test_command(args: &[&str]) -> Command {
    let nextest: &[&str] = &["nextest", "run", "--workspace", "--cargo-profile", PROFILE];
    let plain: &[&str] =
        &["test", "--workspace", "--all-targets", "--profile", PROFILE, "--no-fail-fast"];
    let words = if has_subcommand("nextest") { nextest } else { plain };
    cargo(&[words, args].concat())
}

/// Reports whether a line is the summary of a test runner.
fn is_closing_line(line: &str) -> bool {
    line.trim_start().starts_with("Summary [") || line.starts_with("test result:")
}

/// Runs the ignored tests. An ignored test represents something that does not hold yet; once it
/// passes, it is stale.
fn ignored_tests() -> Result<Vec<String>> {
    let listed = cargo(&["test", "--workspace", "--profile", PROFILE, "--all-targets", "--quiet"])
        .args(["--no-fail-fast", "--", "--ignored", "--list", "--format", "terse"])
        .output()?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names: Vec<_> = names.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    for name in &names {
        let passed =
            cargo(&["test", "--workspace", "--profile", PROFILE, "--all-targets", "--quiet"])
                .args(["--", "--ignored", "--exact", name])
                .output()?
                .status
                .success();
        if passed {
            return Err(format!("`{name}` is ignored but passes").into());
        }
    }
    println!("{} ignored tests", names.len());
    Ok(Vec::new())
}

fn doc_tests() -> Result<Vec<String>> {
    let words = ["test", "--workspace", "--doc", "--profile", PROFILE];
    run_keeping(&mut cargo(&words), is_closing_line)
}

fn documentation() -> Result<Vec<String>> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--profile", PROFILE]);
    quiet(run(doc.env("RUSTDOCFLAGS", "-D warnings")))
}

fn generated_files() -> Result<Vec<String>> {
    rules::run(How::Check)?;
    quiet(quality::run(&["--check"]))
}

/// Checks the fuzz targets without linking: libFuzzer itself needs a C++ compiler, which CI lacks.
fn fuzz_targets() -> Result<Vec<String>> {
    let mut check = cargo(&["check", "--manifest-path", "fuzz/Cargo.toml", "--profile", PROFILE]);
    let target = crate::process::target();
    quiet(run(check
        .env("CUSTOM_LIBFUZZER_PATH", root().join("fuzz/not-linked.a"))
        .arg("--target-dir")
        .arg(target)))
}

fn dependencies() -> Result<Vec<String>> {
    if !has_subcommand("deny") {
        println!("skipped: cargo-deny is not installed");
        return Ok(Vec::new());
    }
    // Advisories need network access beyond the registries; `cargo deny check` includes them.
    quiet(run(&mut cargo(&["deny", "check", "bans", "licenses", "sources"])))
}
