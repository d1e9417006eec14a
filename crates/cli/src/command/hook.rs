//! `countersign hook`: run by agent hosts before a tool is used.

use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::exit::Exit;
use crate::hook::{self, MOST_SECONDS};
use crate::host::{self, HOSTS, Host};

/// Answer one event of an agent host (hosts run this; `countersign install` sets it up)
///
/// Reads the host's event on standard input and answers in the host's own format. Allowed actions
/// continue without interruption; blocked ones are refused with the reason; actions that must be
/// confirmed wait while a running server asks a person.
#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// The host that runs it
    #[arg(value_parser = known, value_name = "HOST")]
    host: Known,
    /// How long the host waits, in seconds: the answer comes before that
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    timeout: Option<u64>,
}

/// A host, found by its name.
#[derive(Clone, Copy)]
pub(crate) struct Known(pub(crate) &'static dyn Host);

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Parses the name of a host.
pub(crate) fn known(name: &str) -> Result<Known> {
    let names = || HOSTS.iter().map(|host| host.name()).collect::<Vec<_>>().join(", ");
    host::find(name).map(Known).ok_or_else(|| anyhow!("no such host; there are {}", names()))
}

impl Hook {
    pub(super) fn run(self) -> Exit {
        Exit::Passed(hook::run(self.host.0, self.timeout.map(Duration::from_secs)))
    }
}
