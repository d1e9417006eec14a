//! How far a session is towards its limits.

use crate::caller::{Caller, Person};
use crate::clock::Timestamp;
use crate::gate::Gate;
use crate::gate::people::PeopleError;
use crate::id::SessionId;
use crate::session::Session;

/// The progress of a session, with its limits. The counters of an ended session are released: all
/// of them are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Steps it took, refused ones too.
    pub steps: u64,
    /// Steps it may take.
    pub most_steps: Option<u32>,
    /// Screenshots it took.
    pub screenshots: u64,
    /// Screenshots it may take.
    pub most_screenshots: Option<u32>,
    /// Files it moved.
    pub files: u64,
    /// Files it may move.
    pub most_files: Option<u32>,
    /// Actions that failed.
    pub errors: u64,
    /// The number of errors at which it ends.
    pub most_errors: Option<u32>,
    /// The time at which it began.
    pub started_at: Timestamp,
    /// The time at which it ends at the latest.
    pub deadline: Option<Timestamp>,
}

impl Gate {
    /// The progress of a session that a person may see.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
    pub async fn progress(&self, person: &Person, id: &SessionId) -> Result<Progress, PeopleError> {
        let session = self.session(person, id).await?;
        self.progress_of(&session).await
    }

    /// The progress of a session in which a caller may propose.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
    pub async fn progress_of_caller(
        &self,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<Progress, PeopleError> {
        let session = self.session_of_caller(caller, id).await?;
        self.progress_of(&session).await
    }

    async fn progress_of(&self, session: &Session) -> Result<Progress, PeopleError> {
        let count = async |what| self.store.counter(&session.counter(what)).await;
        Ok(Progress {
            steps: count("steps").await?,
            most_steps: session.most_steps(),
            screenshots: count("screenshots").await?,
            most_screenshots: session.limits.screenshots,
            files: count("files").await?,
            most_files: session.limits.files,
            errors: count("errors").await?,
            most_errors: session.limits.errors,
            started_at: session.started_at,
            deadline: session.deadline,
        })
    }
}
