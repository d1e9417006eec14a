//! `countersign check`: one action in, one judgement out, or a batch of them.

use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use clap::Args;
use countersign_core::{Action, Context, JudgementWithEffects, Policy, Verdict};
use serde::{Deserialize, Serialize};

use crate::context_options::{self, ContextOptions};
use crate::exit::Exit;
use crate::input::{Input, KINDS};
use crate::show::{self, Paint};
use crate::{batch, judging, settings};

/// Judge an action without running it
///
/// Prints the verdict, the reason, each finding and what to do instead; as JSON also what the action
/// would touch (`effects`) and what could not be followed (`opaque`).
///
/// With --batch every line of standard input is an action, or {"action":…,"context":…}; every
/// line of output is its judgement, in the same order. Anything missing from a line's context comes
/// from the options below or from this machine; `cwd` and `workspace` only together. A line that
/// cannot be read is answered with {"error":…,"line":…,"verdict":"block"}, and the final exit code
/// is 2. In a batch no file is looked at, and only this workspace's project file is used.
#[derive(Debug, Args)]
#[command(after_help = KINDS, override_usage = USAGE)]
pub(crate) struct Check {
    /// Print the judgement as JSON
    #[arg(long)]
    json: bool,
    /// Judge each JSON line of standard input
    #[arg(long, conflicts_with_all = ["kind", "input", "action", "json"])]
    batch: bool,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    context: ContextOptions,
}

const USAGE: &str = "countersign check [OPTIONS] <KIND> [INPUT]
       countersign check [OPTIONS] --action <JSON>
       countersign check [OPTIONS] --batch";

impl Check {
    pub(super) fn run(self) -> Result<Exit> {
        let mut context = self.context.context()?;
        if self.batch {
            return judge_lines(&settings::policy(&context)?, &context);
        }
        let action = self.input.action()?;
        let policy = settings::policy(&context)?;
        let judgement = judging::judge_with_facts(&action, &policy, &mut context)?;
        let mut out = io::stdout().lock();
        if self.json {
            let verdict = judgement.verdict;
            let effects = judging::effects_of(&action, &policy, &context)?;
            serde_json::to_writer(&mut out, &JudgementWithEffects { judgement, effects })?;
            writeln!(out)?;
            return Ok(verdict.into());
        }
        let paint = Paint::on(&out);
        show::judgement(&mut out, &judgement, paint)?;
        Ok(judgement.verdict.into())
    }
}

/// The answer to a line that could not be judged.
#[derive(Serialize)]
struct Refusal {
    error: String,
    line: usize,
    verdict: Verdict,
}

/// An action with its context.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    action: Action,
    #[serde(default)]
    context: Context,
}

fn judge_lines(policy: &Policy, host: &Context) -> Result<Exit> {
    batch::each_line(
        io::BufReader::new(io::stdin().lock()),
        io::stdout().lock(),
        |line| judge_line(line, policy, host),
        |error, line| Refusal { error, line, verdict: Verdict::Block },
    )
}

fn judge_line(line: &str, policy: &Policy, host: &Context) -> Result<JudgementWithEffects> {
    let Line { action, context } = read(line)?;
    let context = context_options::fill(context, host);
    Ok(judging::judge_and_tell(&action, policy, &context)?)
}

/// Parses either shape of a line. Each is parsed as its own type, so that an unknown or doubled
/// field is named in the error in both.
fn read(line: &str) -> Result<Line> {
    #[derive(Deserialize)]
    struct Shape {
        action: Option<serde::de::IgnoredAny>,
    }
    let shape: Shape = serde_json::from_str(line).context("not a JSON object")?;
    if shape.action.is_some() {
        return serde_json::from_str(line).context("not an action with its context");
    }
    let action = serde_json::from_str(line).context("not an action")?;
    Ok(Line { action, context: Context::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        format!("{:#}", read(line).err().unwrap())
    }

    #[test]
    fn a_line_is_an_action_or_an_action_with_its_context() {
        assert_eq!(read(r#"{"kind":"shell","command":"ls"}"#).unwrap().context, Context::default());
        let line = read(r#"{"action":{"kind":"shell","command":"ls"},"context":{"cwd":"/x"}}"#);
        assert_eq!(line.unwrap().context.cwd.as_deref(), Some("/x"));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told_by_name() {
        assert!(error(r#"{"kind":"shell","command":"ls","commnd":"x"}"#).contains("`commnd`"));
        assert!(error(r#"{"kind":"shall"}"#).contains("`shall`"));
        assert!(error(r#"{"action":{"kind":"shell","command":"ls"},"x":1}"#).contains("`x`"));
        assert!(error(r#"{"kind":"shell","command":"ls","command":"rm"}"#).contains("duplicate"));
        assert!(error("[1").contains("not a JSON object"));
    }
}
