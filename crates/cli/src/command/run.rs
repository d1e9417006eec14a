//! `countersign run`: judges a command, asks if need be, then runs exactly what was judged.
//!
//! The words that are judged are the words that are executed: an argument list goes to the kernel
//! unchanged, a script goes to bash unchanged. The program is found and opened by us, and started by
//! its descriptor. On Unix the command replaces our process, so its exit code, its signals and its
//! terminal are its own.

use std::ffi::OsString;
use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use clap::{ArgGroup, Args};
use countersign_core::{Action, Judgement, Verdict};

use crate::ask::{self, Answer};
use crate::context_options::{Bounds, ContextOptions};
use crate::exit::Exit;
use crate::show::{self, Paint};
use crate::{judging, quote, settings};

mod report;
mod start;

use report::Report;
use start::Ready;

/// Judge a command, ask if need be, then run it
///
/// An allowed command runs. One that must be confirmed is asked about on the terminal; without a
/// terminal it does not run. A blocked command does not run. Exits with the command's own exit
/// code, or 3 when nobody approved it, 4 when it is blocked, 2 when it could not be judged, 126 or
/// 127 when it could not be started. With --json the exit code is never the command's own: 0 when
/// it succeeded, 1 when it failed, and the others as above.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["script", "argv"]))]
#[command(override_usage = USAGE)]
pub(crate) struct Run {
    /// A bash script instead of a program and its arguments
    #[arg(short = 'c', value_name = "SCRIPT")]
    script: Option<String>,
    /// The program and its arguments, passed unchanged
    #[arg(last = true, value_name = "CMD")]
    argv: Vec<OsString>,
    /// Print the outcome as JSON; the command's own output goes to standard error
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    bounds: Bounds,
}

const USAGE: &str = "countersign run [OPTIONS] -- <CMD> [ARGS]...
       countersign run [OPTIONS] -c <SCRIPT>";

impl Run {
    pub(super) fn run(self) -> Result<Exit> {
        let ended = self.judge_and_run();
        if let (true, Err(error)) = (self.json, &ended) {
            Report::not_judged(error).print()?;
        }
        ended
    }

    fn judge_and_run(&self) -> Result<Exit> {
        let command = self.judged_text()?;
        let mut context = ContextOptions::here(&self.bounds).context()?;
        let policy = settings::policy(&context)?;
        let action = Action::Shell { command: command.clone(), cwd: None };
        let judgement = judging::judge_with_facts(&action, &policy, &mut context)?;
        match (permitted(&judgement, &command)?, self.json) {
            (Exit::Done, false) => Ok(self.ready().map_or_else(|not| not.exit, Ready::execute)),
            (Exit::Done, true) => report::execute(self.ready(), &judgement),
            (refused, false) => Ok(refused),
            (refused, true) => {
                Report::refused(refused, &judgement).print()?;
                Ok(refused)
            }
        }
    }

    /// Returns shell text that means exactly what would be executed.
    fn judged_text(&self) -> Result<String> {
        if let Some(script) = &self.script {
            return Ok(script.clone());
        }
        let words: Option<Vec<&str>> = self.argv.iter().map(|word| word.to_str()).collect();
        Ok(quote::join(words.context("an argument is not UTF-8, so it cannot be judged")?))
    }

    fn ready(&self) -> Result<Ready, start::NotStarted> {
        Ready::new(self.script.as_deref(), &self.argv)
    }
}

/// Decides whether the command may run: `Done` if so, otherwise the exit code.
fn permitted(judgement: &Judgement, command: &str) -> Result<Exit> {
    let mut stderr = io::stderr().lock();
    let paint = Paint::on(&stderr);
    match judgement.verdict {
        Verdict::Allow => Ok(Exit::Done),
        Verdict::Warn => {
            show::judgement(&mut stderr, judgement, paint)?;
            Ok(Exit::Done)
        }
        Verdict::Confirm => match ask::proceed(&question(judgement, command)?) {
            Answer::Yes => Ok(Exit::Done),
            Answer::No => {
                writeln!(stderr, "countersign: not confirmed, so not run")?;
                Ok(Exit::Confirm)
            }
            Answer::Nobody => {
                show::judgement(&mut stderr, judgement, paint)?;
                writeln!(
                    stderr,
                    "countersign: this needs approval and there is no terminal to ask on, so it was not run"
                )?;
                Ok(Exit::Confirm)
            }
        },
        Verdict::Block => {
            show::judgement(&mut stderr, judgement, paint)?;
            writeln!(stderr, "countersign: blocked, so not run")?;
            Ok(Exit::Block)
        }
    }
}

/// The text that the person sees before the question.
fn question(judgement: &Judgement, command: &str) -> Result<String> {
    let mut text = Vec::new();
    for line in show::visible(command).lines() {
        writeln!(text, "  {line}")?;
    }
    // Without colours: this is written to the terminal from which the answer is read.
    show::judgement(&mut text, judgement, Paint::Plain)?;
    Ok(String::from_utf8(text)?)
}
