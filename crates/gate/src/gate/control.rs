//! The kill switch.

use std::sync::Arc;

use serde_json::json;

use crate::approval::Cancel;
use crate::approval::OPEN;
use crate::audit;
use crate::caller::Person;
use crate::document::{self, Held, Shared};
use crate::event::{Event, What};
use crate::gate::people::PeopleError;
use crate::gate::{Control, Gate, GateError, Look, TRIES, is_conflict};
use crate::store::{Batch, CommitError, Kind, Query, StoreError};

impl Gate {
    /// Whether everything is halted.
    ///
    /// # Errors
    /// The store failed; whoever asks must take that for yes.
    pub async fn is_halted(&self) -> Result<bool, GateError> {
        Ok(self.control().await?.value.halted)
    }

    /// Throws the kill switch: from now on nothing is allowed, and what waits is cancelled.
    ///
    /// Anybody who can sign in may stop everything; only a super admin may let it go on.
    ///
    /// # Errors
    /// The store failed.
    pub async fn halt(&self, person: &Person) -> Result<(), GateError> {
        self.switch(person, true).await?;
        self.bus.tell(Event { user: None, workspace: None, session: None, what: What::Halted });
        let open = Query { states: OPEN.to_vec(), ..Query::of(Kind::Approval) };
        self.cancel_all(open, Cancel::Halted).await
    }

    /// Lets things go on.
    ///
    /// # Errors
    /// The person may not, or the store failed.
    pub async fn resume(&self, person: &Person) -> Result<(), PeopleError> {
        if !person.user().super_admin {
            return Err(PeopleError::NotAllowed);
        }
        if !self.config.enabled {
            return Err(PeopleError::SwitchedOff);
        }
        self.switch(person, false).await?;
        self.bus.tell(Event { user: None, workspace: None, session: None, what: What::Resumed });
        Ok(())
    }

    pub(super) async fn control(&self) -> Result<Held<Control>, StoreError> {
        self.look_at_control(Look::Anew).await
    }

    pub(super) async fn look_at_control(&self, look: Look) -> Result<Held<Control>, StoreError> {
        let control: Option<Shared<Control>> = self.look(Control::ID, look).await?;
        let Held { value, version } =
            control.ok_or_else(|| StoreError("the kill switch is missing".to_owned()))?;
        let mut value = Arc::unwrap_or_clone(value);
        // Switched off by configuration, until it says otherwise.
        value.halted |= !self.config.enabled;
        Ok(Held { value, version })
    }

    /// Makes the kill switch on the first start, and records that the configuration has thrown it.
    pub(super) async fn set_up_control(&self) -> Result<(), GateError> {
        let control = Control { halted: false, by: None, at: self.now() };
        let batch = Batch { writes: vec![document::insert(&control)?], ..Batch::default() };
        match self.commit(batch).await {
            // It was there.
            Ok(_) | Err(CommitError::Conflict { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        if self.config.enabled {
            return Ok(());
        }
        let payload = json!({"by": "configuration"});
        let record = self.record(audit::Event::Halted, audit::Subject::default(), &payload)?;
        let batch = Batch { records: vec![record], ..Batch::default() };
        self.commit(batch).await.map(drop).map_err(failed)
    }

    async fn switch(&self, person: &Person, halted: bool) -> Result<(), GateError> {
        let event = if halted { audit::Event::Halted } else { audit::Event::Resumed };
        for _ in 0..TRIES {
            let control = self.control().await?;
            let by = person.user().id.clone();
            let payload = json!({"by": by});
            let next = Control { halted, by: Some(by), at: self.now() };
            let batch = Batch {
                writes: vec![control.replace(&next)?],
                records: vec![self.record(event, audit::Subject::default(), &payload)?],
                ..Batch::default()
            };
            match self.commit(batch).await {
                Ok(_) => return Ok(()),
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(GateError::Busy)
    }
}

/// A commit that had no limit to hit.
pub(super) fn failed(error: CommitError) -> GateError {
    match error {
        CommitError::Conflict { .. } | CommitError::Outdated => GateError::Busy,
        CommitError::Full { .. } | CommitError::TooFast { .. } => {
            GateError::Store(StoreError(error.to_string()))
        }
        CommitError::Store(error) => GateError::Store(error),
    }
}
