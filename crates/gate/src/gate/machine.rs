//! Proofs that machines report, and their lists for administrators.

use crate::caller::{Caller, Person};
use crate::document::{self, Versioned};
use crate::gate::control::failed;
use crate::gate::list::newest;
use crate::gate::people::PeopleError;
use crate::gate::{Gate, GateError, Lookup, OwnerFilter, Page, Paged, TRIES, is_conflict};
use crate::machine::{Machine, Proof};
use crate::store::{Batch, Kind, Query, StoreError};

/// The most machines of one user.
const MOST: u64 = 500;

/// The reason for which a proof is not stored.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The user has too many machines already.
    #[error("{MOST} machines of this user have proved something already, which is the most")]
    TooMany,
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for MachineError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl Gate {
    /// Stores a machine's proof, in place of its earlier one.
    ///
    /// # Errors
    /// The user has too many machines, the caller has lost its rights, or the store failed.
    pub async fn keep_proof(&self, caller: &Caller, proof: Proof) -> Result<Machine, MachineError> {
        let proof = proof.redacted();
        let id = match &caller.device {
            Some(device) => device.to_string(),
            None => format!("{}:{}", caller.user, proof.machine),
        };
        for _ in 0..TRIES {
            let unchanged = self.rights_of(caller, Lookup::Fresh).await?;
            let machine = Machine {
                id: id.clone(),
                user: caller.user.clone(),
                workspace: caller.workspace.clone(),
                key: caller.key_id().cloned(),
                device: caller.device.clone(),
                proved_at: self.now(),
                proof: proof.clone(),
            };
            let before: Option<Versioned<Machine>> = self.get(&id).await?;
            let write = if let Some(versioned) = before {
                versioned.replace(&machine)?
            } else {
                let owner = Some(caller.user.to_string());
                let query = Query { owner, ..Query::of(Kind::Machine) };
                if self.store.count(&query).await? >= MOST {
                    return Err(MachineError::TooMany);
                }
                document::insert(&machine)?
            };
            let batch = Batch { unchanged, writes: vec![write], ..Batch::default() };
            match self.commit(batch).await {
                Ok(_) => return Ok(machine),
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error).into()),
            }
        }
        Err(GateError::Busy.into())
    }

    /// The latest proofs of machines that this person may see.
    ///
    /// # Errors
    /// The person may not see these, or the store failed.
    pub async fn machines(
        &self,
        person: &Person,
        whose: &OwnerFilter,
        page: &Page,
    ) -> Result<Paged<Machine>, PeopleError> {
        self.page(newest(person, whose, Kind::Machine)?, page).await
    }
}
