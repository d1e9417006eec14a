//! `countersign schema`: the JSON Schemas of inputs and outputs.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, ValueEnum};
use countersign_core::schema;
use countersign_gate::channel::Configured;
use serde_json::json;

use crate::exit::Exit;

/// Print the JSON Schema of actions, contexts, judgements or the configuration
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// The schema to print [default: all, by name]
    #[arg(value_enum)]
    of: Option<Of>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Of {
    Action,
    Context,
    Judgement,
    Config,
}

impl Schema {
    pub(super) fn run(self) -> Result<Exit> {
        let schema = match self.of {
            Some(Of::Action) => schema::action().into(),
            Some(Of::Context) => schema::context().into(),
            Some(Of::Judgement) => schema::judgement().into(),
            Some(Of::Config) => config().into(),
            None => json!({
                "action": schema::action(),
                "context": schema::context(),
                "judgement": schema::judgement(),
                "config": config(),
            }),
        };
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &schema)?;
        writeln!(out)?;
        Ok(Exit::Done)
    }
}

/// The schema of a configuration file, including the sections that are not part of the core.
fn config() -> schema::Schema {
    schema::config(&[
        ("gate", |generator| generator.subschema_for::<countersign_gate::Config>()),
        ("server", |generator| generator.subschema_for::<countersign_server::Settings>()),
        ("hook", |generator| generator.subschema_for::<crate::hook_options::Options>()),
        ("mcp", |generator| generator.subschema_for::<crate::mcp_options::Options>()),
        ("channels", |generator| generator.subschema_for::<Vec<Configured>>()),
    ])
}
