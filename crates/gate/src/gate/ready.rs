//! Readiness of the gate: its store can be read and written, and has room.

use std::sync::{Mutex, PoisonError};

use crate::gate::{Gate, GateError};
use crate::store::{Batch, CommitError, Committed, Count, CountStep, StoreError};

/// The least free space; a store with less counts as full.
const LEAST_ROOM: u64 = 8 << 20;

/// The error of the last write, if it failed.
#[derive(Debug, Default)]
pub(super) struct LastWrite(Mutex<Option<StoreError>>);

impl Gate {
    /// Succeeds if the gate can decide. A halted gate is ready: it decides, and refuses. Nothing is
    /// written: the last write tells if the store can be written.
    ///
    /// # Errors
    /// The store cannot be read or written, or is full.
    pub async fn ready(&self) -> Result<(), GateError> {
        self.is_halted().await?;
        if let Some(room) = self.store.room()?.filter(|room| *room < LEAST_ROOM) {
            return Err(StoreError(format!("the disk is full: {room} bytes are left")).into());
        }
        self.last_write.failure().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Writes again after a write has failed, so that an idle gate notices when the store can be
    /// written again.
    pub(super) async fn retry_writing(&self) {
        if self.last_write.failure().is_none() {
            return;
        }
        let key = "gate:ready".to_owned();
        let counts = vec![Count { key, step: CountStep::Up { most: u64::MAX } }];
        // The result is kept like that of every write.
        let _ = self.commit(Batch { counts, ..Batch::default() }).await;
    }
}

impl LastWrite {
    /// Keeps the result of a write. A batch that was refused for its conditions does not count: it
    /// says nothing about the store.
    pub(super) fn keep(&self, outcome: &Result<Committed, CommitError>) {
        let failure = match outcome {
            Ok(_) => None,
            Err(CommitError::Store(error)) => Some(error.clone()),
            Err(_) => return,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    fn failure(&self) -> Option<StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
