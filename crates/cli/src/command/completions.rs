//! `countersign completions`: scripts by which a shell completes our commands.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;
use crate::exit::Exit;

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<Exit> {
        // Into memory first: the generator panics when its output is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "countersign", &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(Exit::Done)
    }
}
