//! Changes of a session's mode between exploring and working.

use countersign_core::context::Mode;
use serde_json::json;

use crate::audit;
use crate::caller::{Caller, Person};
use crate::event::What;
use crate::gate::control::failed;
use crate::gate::people::PeopleError;
use crate::gate::session::start::may_consent;
use crate::gate::session::{looks_after, owner_of, works_in};
use crate::gate::{Gate, GateError, Lookup, TRIES, is_conflict};
use crate::id::SessionId;
use crate::session::Session;
use crate::store::{Batch, StoreError};

/// The reason for which a session stays in its mode.
#[derive(Debug, thiserror::Error)]
pub enum ModeError {
    /// The session does not exist for them.
    #[error("not found")]
    NotFound,
    /// An agent, or a program without the right to consent for its person, asks for more than it
    /// has.
    #[error(
        "this key may go back to exploring; a person lets it work, or a program whose key has the \
         scope `{}`",
        crate::scope::CONSENT
    )]
    NotForAgents,
    /// The session has ended.
    #[error("the session is over")]
    Over,
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for ModeError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl Gate {
    /// Changes the mode of a session that a person administers, from the next action on.
    ///
    /// # Errors
    /// The session does not exist for them, it has ended, or the store failed.
    pub async fn switch_mode(
        &self,
        person: &Person,
        id: &SessionId,
        mode: Mode,
    ) -> Result<Session, ModeError> {
        // Over the socket an agent could pose as its person.
        if mode == Mode::Task && person.is_unproven() {
            return Err(ModeError::NotForAgents);
        }
        self.set_mode(id, mode, |session| {
            looks_after(person, session).map_err(|_: PeopleError| ModeError::NotFound)
        })
        .await
    }

    /// Changes the mode of a caller's own session. A model may only reduce its own rights.
    ///
    /// # Errors
    /// The session does not exist for them, it has ended, the caller may not do this, or the store
    /// failed.
    pub async fn switch_own_mode(
        &self,
        caller: &Caller,
        id: &SessionId,
        mode: Mode,
    ) -> Result<Session, ModeError> {
        self.rights_of(caller, Lookup::Fresh).await?;
        self.set_mode(id, mode, |session| match mode {
            _ if !works_in(caller, session) => Err(ModeError::NotFound),
            // A caller that could not start such a session cannot turn one into it either.
            Mode::Task if !may_consent(caller) => Err(ModeError::NotForAgents),
            Mode::Task | Mode::Explore => Ok(()),
        })
        .await
    }

    async fn set_mode(
        &self,
        id: &SessionId,
        mode: Mode,
        check: impl Fn(&Session) -> Result<(), ModeError>,
    ) -> Result<Session, ModeError> {
        for _ in 0..TRIES {
            let versioned = self.get::<Session>(id.as_str()).await?.ok_or(ModeError::NotFound)?;
            check(&versioned.value)?;
            if !versioned.value.is_alive() {
                return Err(ModeError::Over);
            }
            if versioned.value.plan.mode == Some(mode) {
                return Ok(versioned.value);
            }
            let mut next = versioned.value.clone();
            let from = next.plan.mode.replace(mode);
            let payload = json!({"mode": mode, "from": from});
            let record = self.record(audit::Event::SessionMode, owner_of(&next), &payload)?;
            let writes = vec![versioned.replace(&next).map_err(GateError::from)?];
            let batch = Batch { writes, records: vec![record], ..Batch::default() };
            match self.commit(batch).await {
                Ok(_) => {
                    self.tell_session(&next, What::SessionMode);
                    return Ok(next);
                }
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error).into()),
            }
        }
        Err(GateError::Busy.into())
    }
}
