//! `run --json`: the outcome of a command, for programs.
//!
//! Standard output contains one JSON object and nothing else; the command's own output goes to
//! standard error. The exit code is ours alone, so that a command cannot pass its own code off as a
//! refusal.

use std::io::{self, Write as _};
use std::process::{ExitStatus, Stdio};

use anyhow::Result;
use countersign_core::Judgement;
use serde::Serialize;

use super::start::{NotStarted, Ready};
use crate::exit::Exit;

/// The outcome of a command.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    outcome: Outcome,
    /// The command's exit code, if it ran and was not killed by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The signal that killed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// The reason why it did not run, unless that is the judgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judgement: Option<&'a Judgement>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Succeeded,
    Failed,
    NotConfirmed,
    Blocked,
    NotStarted,
    NotJudged,
}

impl<'a> Report<'a> {
    /// Returns the report of a command that was not run.
    pub(super) fn refused(exit: Exit, judgement: &'a Judgement) -> Self {
        let outcome = if exit == Exit::Block { Outcome::Blocked } else { Outcome::NotConfirmed };
        Self { judgement: Some(judgement), ..Self::of(outcome) }
    }

    /// Returns the report of a command that could not be judged.
    pub(super) fn not_judged(error: &anyhow::Error) -> Self {
        Self { error: Some(format!("{error:#}")), ..Self::of(Outcome::NotJudged) }
    }

    const fn of(outcome: Outcome) -> Self {
        Self { outcome, exit_code: None, signal: None, error: None, judgement: None }
    }

    /// Prints the report.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub(super) fn print(&self) -> Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, self)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }
}

/// Runs a command to its end and prints its outcome.
///
/// # Errors
/// Standard output cannot be written to.
pub(super) fn execute(ready: Result<Ready, NotStarted>, judgement: &Judgement) -> Result<Exit> {
    let run = |mut ready: Ready| {
        ready.command.stdout(Stdio::from(io::stderr()));
        let ran = ready.command.status();
        ran.map_err(|cause| ready.failed(cause))
    };
    let (report, exit) = match ready.and_then(run) {
        Ok(status) => ended(status, judgement),
        Err(NotStarted { exit, cause }) => {
            let error = Some(cause.to_string());
            let judgement = Some(judgement);
            (Report { error, judgement, ..Report::of(Outcome::NotStarted) }, exit)
        }
    };
    report.print()?;
    Ok(exit)
}

fn ended(status: ExitStatus, judgement: &Judgement) -> (Report<'_>, Exit) {
    let (outcome, exit) = if status.success() {
        (Outcome::Succeeded, Exit::Done)
    } else {
        (Outcome::Failed, Exit::Failed)
    };
    let (exit_code, signal, judgement) = (status.code(), signal_of(status), Some(judgement));
    (Report { exit_code, signal, judgement, ..Report::of(outcome) }, exit)
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}
