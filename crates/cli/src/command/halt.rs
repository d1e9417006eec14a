//! `countersign halt`: the kill switch.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::Args;
use countersign_wire::path;
use serde_json::Value;

use crate::client::{Server, block_on};
use crate::exit::Exit;

/// Stop everything: refuse every action and cancel pending questions
///
/// Anyone who is signed in may stop everything; only a super admin may resume.
#[derive(Debug, Args)]
pub(crate) struct Halt {
    #[command(flatten)]
    server: Server,
    /// Resume after everything was stopped
    #[arg(long, conflicts_with = "status")]
    resume: bool,
    /// Only report whether everything is halted
    #[arg(long)]
    status: bool,
}

impl Halt {
    pub(super) fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let halted = block_on(async {
            if self.resume {
                client.call(path::HALT_RESUME).await?;
            } else if !self.status {
                client.call(path::HALT).await?;
            }
            Ok(client.get(path::HALT).await?)
        })?;
        let halted = halted.get("halted").and_then(Value::as_bool).unwrap_or(true);
        let said = if halted { "halted: nothing is allowed" } else { "running" };
        writeln!(io::stdout(), "{said}")?;
        Ok(Exit::Done)
    }
}
