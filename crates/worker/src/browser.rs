//! Browsers, one for each session.

use countersign_wire::work::{Element, Ended, ExecutorKind, WorkResult};

use crate::executor::{Executor, Running};
use crate::permit::Permit;

mod settings;

pub use settings::{BrowserSettings, Resolver, Sandbox};

/// The browsers of all sessions.
#[derive(Debug)]
pub struct Browsers {
    settings: BrowserSettings,
}

/// The reason for which an element cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotDescribed(pub String);

impl Browsers {
    /// No browser yet; one is started for the first work of each session.
    #[must_use]
    pub const fn new(settings: BrowserSettings) -> Self {
        Self { settings }
    }

    /// Describes an element of a session's page, or the page itself where none is named.
    ///
    /// # Errors
    /// The session has no page, or no such element is on it.
    pub fn describe(
        &self,
        session_id: &str,
        reference: Option<&str>,
    ) -> Result<Element, NotDescribed> {
        let name = reference.unwrap_or("the page");
        Err(NotDescribed(format!("session {session_id} has no browser for {name}")))
    }
}

impl Executor for Browsers {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Browser
    }

    fn execute(&self, permit: Permit, running: Running<'_>) -> WorkResult {
        let _ = (permit, running);
        let program = self.settings.program.display();
        WorkResult::because(Ended::Refused, "NotThere", format!("{program} is not driven yet"))
    }
}
