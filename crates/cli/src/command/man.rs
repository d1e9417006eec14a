//! `countersign man`: the manual pages.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, CommandFactory as _};

use super::Cli;
use crate::exit::Exit;

/// Print the manual page, or write all of them into a folder
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder to write `countersign.1` and a page for each command into
    folder: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(self) -> Result<Exit> {
        if let Some(folder) = &self.folder {
            fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
                .with_context(|| format!("cannot write to `{}`", folder.display()))?;
        } else {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            io::stdout().lock().write_all(&page)?;
        }
        Ok(Exit::Done)
    }
}
