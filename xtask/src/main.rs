//! Tasks for CI and developers: `cargo xtask <task>`.
//!
//! Tasks never decide anything about actions; they build, measure, generate and compare.

#![expect(clippy::print_stdout, reason = "a task talks to the person who started it")]

use std::process::ExitCode;

mod arrows;
mod bench;
mod ci;
mod console;
mod effects;
#[cfg(unix)]
mod elsewhere;
mod fuzz;
mod generated;
mod hosts;
mod mutants;
mod process;
mod prose;
mod quality;
mod rules;
mod setup;
mod soak;
mod transcript;

/// The result of a task; its error is one line for a person.
type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
cargo xtask <task>

  setup                           install and fetch what the tests need: a browser, axe-core,
                                  the SDKs of MCP
  ci [--keep-going]               everything CI checks, in order, until one fails
  test [ARGS…]                    the tests alone, by the runner CI uses
  elsewhere [FOLDER]              the tests that touch paths, homes, users and processes, from
                                  another folder, as another user, in another environment
  arrows                          dependencies point one way, between crates and modules
  prose [--check]                 how doc comments, help and Markdown read, and where they do not
                                  read as plain English
  rules [--check]                 write docs/rules.md from the rule table
  quality [--check]               score the corpus, write docs/quality.md
          [--only NAME] [--show N]  … or print N wrong rows of the files so named
  effects [--check]               run commands in a sandbox, compare what they touch with what is
                                  predicted, write docs/effects.md
          [--only NAME] [--sample N] [--show N]  … or of some, or print N wrong ones of each class
  transcripts [--bless]           run the console blocks of README.md and the guide
  bench                           measure, write the tables of docs/performance.md
  bench mcp                       measure the MCP proxy alone, write its table there
  bench console                   measure the console in a browser, write its table there
  hosts [NAME…]                   run real agent hosts from npm, write docs/hosts-matrix.md
  screenshots                     take pictures of the console, copy some to docs/images
  fuzz [TARGET] [--seconds N]     fuzz one target or all, 600 s each
  mutants [MODULE…]               change the code that decides who may say yes, one thing at a
                                  time, and look whether a test notices
  soak [PART…] [--steps N] …      properties, traces, kills and requests, many more than CI (--help)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result {
    match args {
        ["setup"] => setup::run_all(),
        ["ci", rest @ ..] => ci::run_all(rest),
        ["test", rest @ ..] => ci::test(rest),
        #[cfg(unix)]
        ["elsewhere", rest @ ..] => elsewhere::run_all(rest).map(drop),
        ["arrows"] => arrows::check(),
        ["prose", rest @ ..] => prose::run(rest),
        ["rules", rest @ ..] => rules::run(generated::How::from_args(rest)?),
        ["quality", rest @ ..] => quality::run(rest),
        ["effects", rest @ ..] => effects::run(rest),
        ["transcripts", rest @ ..] => transcript::run(rest),
        ["bench"] => bench::run(),
        ["bench", "mcp"] => bench::mcp(),
        ["bench", "console"] => console::bench(),
        ["hosts", names @ ..] => hosts::run_all(names),
        ["screenshots"] => console::screenshots(),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["mutants", names @ ..] => mutants::run(names),
        ["soak", rest @ ..] => soak::run(rest),
        _ => Err(USAGE.into()),
    }
}
