//! `countersign shell-init`: asks before a person's own destructive commands.
//!
//! For people and not for agents: the shell is theirs, so after any error the line runs.

use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};

use super::shell_ask::From;
use crate::exit::Exit;
use crate::quote;

/// Print a script that makes your own shell ask before destructive commands
///
/// Only for interactive shells. Add this to the start-up file of the shell:
///
///   bash   eval "$(countersign shell-init bash)"
///   zsh    eval "$(countersign shell-init zsh)"
///   fish   countersign shell-init fish | source
#[derive(Debug, Args)]
pub(crate) struct ShellInit {
    /// The shell to print for
    #[arg(value_enum)]
    shell: Shell,
    /// The lowest risk that asks
    #[arg(long, value_enum, default_value_t = From::Medium)]
    from: From,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl ShellInit {
    pub(super) fn run(self) -> Result<Exit> {
        let script = match self.shell {
            Shell::Bash => include_str!("shell_init/bash.sh"),
            Shell::Zsh => include_str!("shell_init/zsh.zsh"),
            Shell::Fish => include_str!("shell_init/fish.fish"),
        };
        let binary = std::env::current_exe().context("cannot find our own binary")?;
        let binary = binary.to_str().context("the path of our own binary is not UTF-8")?;
        let level = self.from.to_possible_value();
        let level = level.as_ref().map_or("medium", |level| level.get_name());
        let ask = quote::join([binary, "shell-ask", "--from", level]);
        io::stdout().lock().write_all(script.replace("@ASK@", &ask).as_bytes())?;
        Ok(Exit::Done)
    }
}
