//! A look at what workers do.

use countersign_wire::Execution;
use tokio::sync::watch;

use crate::document::Versioned;
use crate::gate::session::{looks_after, works_in};
use crate::gate::{Gate, Lookup, PeopleError};
use crate::id::{ActionId, SessionId};
use crate::session::Session;
use crate::transfer::Reader;

impl Gate {
    /// An action that was given to a worker. The agent that asked for it sees its own output as it
    /// was, until the session ends; everybody else sees it redacted.
    ///
    /// # Errors
    /// The session or the action does not exist for them, or the store failed.
    pub async fn execution(
        &self,
        reader: Reader<'_>,
        session: &SessionId,
        id: &ActionId,
    ) -> Result<Execution, PeopleError> {
        if let Reader::Caller(caller) = &reader {
            self.rights_of(caller, Lookup::Fresh).await?;
        }
        let found: Option<Versioned<Session>> = self.get(session.as_str()).await?;
        let found = found.ok_or(PeopleError::NotFound)?;
        match &reader {
            Reader::Caller(caller) if works_in(caller, &found.value) => {}
            Reader::Caller(_) => return Err(PeopleError::NotFound),
            Reader::Person(person) => looks_after(person, &found.value)?,
        }
        let inside = self.workers.inside();
        let job = inside.jobs.get(id).filter(|job| job.session == *session);
        let job = job.ok_or(PeopleError::NotFound)?;
        let own = match &reader {
            Reader::Caller(caller) => {
                let line = |key: &crate::key::ApiKey| key.line().clone();
                caller.user == job.caller.user
                    && caller.key.as_deref().map(line) == job.caller.key.as_deref().map(line)
            }
            Reader::Person(_) => false,
        };
        Ok(if own { job.plain(id) } else { job.shown(id) })
    }

    /// A receiver that becomes true when an action is over; `None` if no worker was given it.
    pub fn work_over(&self, id: &ActionId) -> Option<watch::Receiver<bool>> {
        let inside = self.workers.inside();
        inside.jobs.get(id).map(|job| job.over.subscribe())
    }
}
