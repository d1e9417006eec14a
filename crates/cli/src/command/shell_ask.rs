//! `countersign shell-ask`: run by the scripts of `shell-init` for every line.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, ValueEnum};
use countersign_core::{Action, Category, Finding, Judgement, RiskLevel, Verdict};

use crate::ask::{self, Answer};
use crate::context_options::ContextOptions;
use crate::exit::Exit;
use crate::show::{self, Paint};
use crate::{judging, settings};

/// Ask about a line that a person typed (for the scripts of `shell-init`)
///
/// Exits with 3 when the person decides against it.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct ShellAsk {
    /// The lowest risk that asks
    #[arg(long, value_enum, default_value_t = From::Medium)]
    from: From,
    /// The cursor is still on the line that was typed
    #[arg(long)]
    typed: bool,
    /// The line
    #[arg(last = true, value_name = "LINE")]
    line: String,
}

/// A risk to ask from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    Medium,
    High,
    Critical,
}

impl ShellAsk {
    pub(super) fn run(self) -> Result<Exit> {
        let mut context = ContextOptions::default().context()?;
        let policy = settings::policy(&context)?;
        let action = Action::Shell { command: self.line, cwd: None };
        let judgement = judging::judge_with_facts(&action, &policy, &mut context)?;
        if !is_destructive(&judgement, self.from) {
            return Ok(Exit::Done);
        }
        let mut text = Vec::new();
        if self.typed {
            writeln!(text)?;
        }
        // The verdict is for agents; a person is told the risk.
        let reason = show::one_line(&judgement.reason);
        writeln!(text, "{}: {reason}", Paint::Plain.risk(judgement.risk.level))?;
        match ask::proceed(&String::from_utf8_lossy(&text)) {
            Answer::Yes => Ok(Exit::Done),
            Answer::No => Ok(Exit::Confirm),
            Answer::Nobody => {
                io::stderr().write_all(&text)?;
                writeln!(io::stderr(), "countersign: there is no terminal to ask on, so not run")?;
                Ok(Exit::Confirm)
            }
        }
    }
}

/// Reports whether data would be lost. Other findings do not count: a person may run and install
/// what they like, and give commands to Countersign.
fn is_destructive(judgement: &Judgement, from: From) -> bool {
    let from = match from {
        From::Medium => RiskLevel::Medium,
        From::High => RiskLevel::High,
        From::Critical => RiskLevel::Critical,
    };
    let loses = |finding: &Finding| {
        let lost = [Category::DestructiveActions, Category::IrreversibleChanges];
        lost.contains(&finding.category)
            && finding.verdict >= Verdict::Confirm
            && finding.risk >= from
    };
    judgement.verdict >= Verdict::Confirm && judgement.findings.iter().any(loses)
}

#[cfg(test)]
mod tests {
    use countersign_core::{Context, Policy, judge};

    use super::*;

    fn asks(line: &str, from: From) -> bool {
        let home = "/home/ann".to_owned();
        let project = format!("{home}/project");
        let context = Context {
            cwd: Some(project.clone()),
            workspace: Some(project),
            home: Some(home),
            ..Context::default()
        };
        let action = Action::Shell { command: line.to_owned(), cwd: None };
        is_destructive(&judge(&action, &Policy::default(), &context), from)
    }

    #[test]
    fn only_what_destroys_is_asked_about() {
        for line in ["rm -rf ~", "git push --force", "dd if=/dev/zero of=/dev/sda"] {
            assert!(asks(line, From::Medium), "{line}");
        }
        for line in ["ls", "git commit -m x", "countersign approvals approve apr_1"] {
            assert!(!asks(line, From::Medium), "{line}");
        }
        assert!(asks("rm -rf /", From::Critical) && !asks("rm notes.txt", From::Critical));
    }
}
