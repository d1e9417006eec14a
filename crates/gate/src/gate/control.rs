//! The kill switch.

use std::sync::{Arc, MutexGuard, PoisonError};

use serde_json::json;

use crate::approval::Cancel;
use crate::approval::OPEN;
use crate::audit::{self, Draft};
use crate::caller::Person;
use crate::document::{self, Shared, Versioned};
use crate::event::{Event, What};
use crate::gate::people::PeopleError;
use crate::gate::{Control, Gate, GateError, Lookup, TRIES, is_conflict};
use crate::id::UserId;
use crate::store::{Batch, CommitError, Kind, Query, StoreError, Unchanged};

impl Gate {
    /// Reports whether everything is halted.
    ///
    /// # Errors
    /// The store failed; the caller must treat that as halted.
    pub async fn is_halted(&self) -> Result<bool, GateError> {
        Ok(self.control().await?.value.halted)
    }

    /// Throws the kill switch: from now on nothing is allowed, and open approvals are cancelled.
    ///
    /// Anybody who can sign in may halt everything; only a super admin may resume.
    ///
    /// If the store cannot be written, the halt takes effect in memory until it can be.
    ///
    /// # Errors
    /// None: everything is halted. The result says if the halt is stored.
    pub async fn halt(&self, person: &Person) -> Result<Kept, GateError> {
        Ok(self.halt_by(&SwitchedBy::Person(person.user().id.clone())).await)
    }

    /// Halts everything again: the server ended before it could store that somebody had halted it.
    pub async fn halt_again(&self) -> Kept {
        self.halt_by(&SwitchedBy::Interrupted).await
    }

    async fn halt_by(&self, by: &SwitchedBy) -> Kept {
        *self.halted_by() = Some(by.clone());
        self.workers.stop_all("everything is halted");
        let kept = self.keep_halt(by).await;
        // Also if it is not stored: listeners must know, above all the hooks.
        self.bus.tell(Event { user: None, workspace: None, session: None, what: What::Halted });
        if let Err(error) = kept {
            return Kept::InMemory(error.to_string());
        }
        let open = Query { states: OPEN.to_vec(), ..Query::of(Kind::Approval) };
        match self.cancel_all(open, Cancel::Halted).await {
            Ok(()) => Kept::InStore,
            // Halted all the same: open approvals are cancelled when the gate is next opened.
            Err(error) => Kept::InMemory(error.to_string()),
        }
    }

    /// Stores a halt that could not be stored at the time.
    pub(super) async fn keep_pending_halt(&self) {
        let by = self.halted_by().clone();
        if let Some(by) = by {
            // The halt stays in memory until this works.
            let _ = self.keep_halt(&by).await;
        }
    }

    /// Reports whether a halt is not stored yet.
    #[must_use]
    pub fn is_halt_pending(&self) -> bool {
        self.halted_by().is_some()
    }

    async fn keep_halt(&self, by: &SwitchedBy) -> Result<(), GateError> {
        self.switch(by, true).await?;
        *self.halted_by() = None;
        Ok(())
    }

    fn halted_by(&self) -> MutexGuard<'_, Option<SwitchedBy>> {
        self.halted_by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error for a batch that relies on the kill switch while a halt is only in memory.
    pub(super) fn halted_against(&self, batch: &Batch) -> Option<CommitError> {
        let relies = |unchanged: &Unchanged| unchanged.kind == Kind::Control;
        if !batch.unchanged.iter().any(relies) || self.halted_by().is_none() {
            return None;
        }
        Some(CommitError::Conflict { kind: Kind::Control, id: Control::ID.to_owned() })
    }

    /// Resets the kill switch.
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
        self.switch(&SwitchedBy::Person(person.user().id.clone()), false).await?;
        *self.halted_by() = None;
        self.bus.tell(Event { user: None, workspace: None, session: None, what: What::Resumed });
        Ok(())
    }

    pub(super) async fn control(&self) -> Result<Versioned<Control>, StoreError> {
        self.look_at_control(Lookup::Fresh).await
    }

    pub(super) async fn look_at_control(
        &self,
        look: Lookup,
    ) -> Result<Versioned<Control>, StoreError> {
        let control: Option<Shared<Control>> = self.look(Control::ID, look).await?;
        let Versioned { value, version } =
            control.ok_or_else(|| StoreError("the kill switch is missing".to_owned()))?;
        let mut value = Arc::unwrap_or_clone(value);
        // A switch without our seal halts everything, until a super admin resumes.
        value.halted |= !value.holds(&self.keyring);
        // Disabled by configuration, until that changes.
        value.halted |= !self.config.enabled;
        // Halted while the store could not be written.
        value.halted |= self.halted_by().is_some();
        Ok(Versioned { value, version })
    }

    /// Creates the kill switch on the first start, and records that the configuration has thrown
    /// it.
    pub(super) async fn set_up_control(&self) -> Result<(), GateError> {
        if self.get::<Control>(Control::ID).await?.is_none() {
            self.make_control().await?;
        }
        if self.config.enabled {
            return Ok(());
        }
        let records = vec![self.halt_record("configuration")?];
        self.commit(Batch { records, ..Batch::default() }).await.map(drop).map_err(failed)
    }

    async fn make_control(&self) -> Result<(), GateError> {
        // If there are records, it existed before: somebody has deleted it.
        let missing = self.store.chain().await?.end().number > 0;
        let control = Control::new(missing, None, self.now(), &self.keyring);
        let records = if missing { vec![self.halt_record("missing")?] } else { Vec::new() };
        let writes = vec![document::insert(&control)?];
        match self.commit(Batch { writes, records, ..Batch::default() }).await {
            // Another process created it first.
            Ok(_) | Err(CommitError::Conflict { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    fn halt_record(&self, what: &str) -> Result<Draft, GateError> {
        self.record(audit::Event::Halted, audit::RecordOwner::default(), &json!({"by": what}))
    }

    async fn switch(&self, by: &SwitchedBy, halted: bool) -> Result<(), GateError> {
        let event = if halted { audit::Event::Halted } else { audit::Event::Resumed };
        for _ in 0..TRIES {
            let control = self.control().await?;
            let (person, payload) = match by {
                SwitchedBy::Person(person) => (Some(person.clone()), json!({"by": person})),
                SwitchedBy::Interrupted => (None, json!({"by": "interrupted"})),
            };
            let next = Control::new(halted, person, self.now(), &self.keyring);
            let batch = Batch {
                writes: vec![control.replace(&next)?],
                records: vec![self.record(event, audit::RecordOwner::default(), &payload)?],
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

/// The reason for which the kill switch changes.
#[derive(Debug, Clone)]
pub(super) enum SwitchedBy {
    /// A person used it.
    Person(UserId),
    /// The server ended before it could store a halt.
    Interrupted,
}

/// The place in which a halt is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// The halt is in the store.
    InStore,
    /// The halt, or the cancellation of open approvals, could not be stored, for this reason.
    InMemory(String),
}

/// The error of a commit that had no limit to reach.
pub(super) fn failed(error: CommitError) -> GateError {
    match error {
        CommitError::Conflict { .. } | CommitError::Outdated => GateError::Busy,
        CommitError::Full { .. } | CommitError::TooFast { .. } => {
            GateError::Store(StoreError(error.to_string()))
        }
        CommitError::Store(error) => GateError::Store(error),
    }
}
