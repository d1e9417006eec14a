//! Opens the client through which questions are asked.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::{ApprovalClient, agent};
use crate::connection::{Connection, Shows};
use crate::hook_options::Options;

impl ApprovalClient {
    /// Connects to the server as [`Connection::open`] does, for the agent with this label.
    ///
    /// # Errors
    /// There is none, or its address is wrong.
    pub(crate) fn open(
        options: &Options,
        folder: Option<&Path>,
        label: String,
        within: Duration,
    ) -> Result<Self> {
        let Connection { client, shows } = Connection::open(options, folder, within)?;
        let folder = folder.map(Path::to_owned);
        Ok(match shows {
            Shows::Key => Self { client, session: None, run: Some(agent::run(&label)), folder },
            Shows::Nothing => Self { client, session: Some(label), run: None, folder },
        })
    }
}
