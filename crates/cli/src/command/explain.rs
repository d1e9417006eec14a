//! `countersign explain`: the reasons for a verdict, and what would change it.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::Args;
use countersign_core::{Effects, Judgement};
use serde::Serialize;

use crate::context_options::ContextOptions;
use crate::exit::Exit;
use crate::explanation::Page;
use crate::input::{Input, KINDS};
use crate::show::Paint;
use crate::{change, judging, settings};

/// Explain why an action gets its verdict
///
/// Shows the action with each finding underlined, the rule and why it exists, which layer
/// decided, what to do instead, and what would change the verdict. The exit codes are those of
/// `check`.
#[derive(Debug, Args)]
#[command(after_help = KINDS, override_usage = USAGE)]
pub(crate) struct Explain {
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    context: ContextOptions,
}

const USAGE: &str = "countersign explain [OPTIONS] <KIND> [INPUT]
       countersign explain [OPTIONS] --action <JSON>";

impl Explain {
    pub(super) fn run(self) -> Result<Exit> {
        let mut context = self.context.context()?;
        let action = self.input.action()?;
        let policy = settings::policy(&context)?;
        let judgement = judging::judge_with_facts(&action, &policy, &mut context)?;
        let changes = change::changes(&action, &policy, &context, &judgement)?;
        let effects = judging::effects_of(&action, &policy, &context)?;
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(
                &mut out,
                &Explanation { judgement: &judgement, effects: &effects, changes: &changes },
            )?;
            writeln!(out)?;
        } else {
            let page = Page { action: &action, policy: &policy, paint: Paint::on(&out) };
            out.write_all(page.text(&judgement, &effects, &changes).as_bytes())?;
        }
        Ok(judgement.verdict.into())
    }
}

#[derive(Serialize)]
struct Explanation<'a> {
    judgement: &'a Judgement,
    #[serde(flatten)]
    effects: &'a Effects,
    changes: &'a [String],
}
