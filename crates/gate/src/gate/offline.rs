//! Decisions that were made while the server could not be reached. They are recorded when they are
//! delivered: in their order, each once.

use serde_json::{Value, json};

use crate::audit::{self, RecordOwner};
use crate::caller::Caller;
use crate::gate::control::failed;
use crate::gate::{Gate, GateError, Lookup, TRIES, is_conflict};
use crate::offline::OfflineDecision;
use crate::preferences::Logging;
use crate::store::{Batch, CommitError, Count, CountStep};

/// The reason for which decisions are not accepted.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The name of the journal is invalid.
    #[error("a journal is named by 32 hexadecimal digits")]
    Journal,
    /// Decisions are missing between the recorded ones and these.
    #[error("the next decision of this journal has the number {next}")]
    Gap {
        /// The number of the next decision.
        next: u64,
    },
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<crate::store::StoreError> for OfflineError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl Gate {
    /// Records the decisions of one journal, except those already recorded, and returns the number
    /// of the last recorded one.
    ///
    /// # Errors
    /// Some are missing in between, the caller has lost its rights, or the store failed.
    pub async fn deliver_offline(
        &self,
        caller: &Caller,
        journal: &str,
        decisions: &[OfflineDecision],
    ) -> Result<u64, OfflineError> {
        if journal.len() != 32 || !journal.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(OfflineError::Journal);
        }
        let key = format!("user:{}:offline:{}", caller.user, journal.to_ascii_lowercase());
        for _ in 0..TRIES {
            let unchanged = self.rights_of(caller, Lookup::Fresh).await?;
            let last = self.store.counter(&key).await?;
            let new = decisions.iter().filter(|decision| decision.number > last);
            let new: Vec<&OfflineDecision> = new.collect();
            let Some(newest) = new.last().map(|decision| decision.number) else { return Ok(last) };
            // Compared one by one: the sender chooses the numbers, so the range may be huge.
            let numbers = new.iter().map(|decision| decision.number);
            if !numbers.eq(last.saturating_add(1)..=newest) {
                return Err(OfflineError::Gap { next: last.saturating_add(1) });
            }
            let step = CountStep::Add { by: newest.saturating_sub(last), most: newest };
            let counts = vec![Count { key: key.clone(), step }];
            let mut records = Vec::with_capacity(new.len());
            for decision in new {
                let is_before =
                    |other: &&OfflineDecision| other.number.checked_add(1) == Some(decision.number);
                let before = decisions.iter().find(is_before);
                let follows = before.map(|before| decision.follows(before));
                let payload = self.offline_payload(caller, journal, decision, follows).await?;
                let record_owner = RecordOwner {
                    owner: Some(caller.user.to_string()),
                    workspace: Some(caller.workspace.to_string()),
                    session: None,
                };
                records.push(self.record(audit::Event::DecidedOffline, record_owner, &payload)?);
            }
            match self.commit(Batch { unchanged, counts, records, ..Batch::default() }).await {
                Ok(_) => return Ok(newest),
                // The same decisions were delivered meanwhile: read again.
                Err(CommitError::Full { .. }) => {}
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error).into()),
            }
        }
        Err(GateError::Busy.into())
    }

    /// The recorded fields of a decision, as many as the logging level asks for.
    async fn offline_payload(
        &self,
        caller: &Caller,
        journal: &str,
        decision: &OfflineDecision,
        follows: Option<bool>,
    ) -> Result<Value, GateError> {
        let decision = decision.redacted();
        let mut payload = json!({
            "action": decision.action,
            "status": decision.decision.as_str(),
            "verdict": decision.verdict.as_str(),
            "risk": decision.risk.as_str(),
            "rules": decision.rules,
            "decided_at": decision.at,
            "journal": journal,
            "number": decision.number,
            "key": caller.key_id(),
            "device": caller.device,
        });
        let Some(fields) = payload.as_object_mut() else { return Ok(payload) };
        if follows == Some(false) {
            fields.insert("changed_before_delivery".to_owned(), true.into());
        }
        let settings = self.settings_of(&caller.user).await?;
        if [self.config.logging, settings.logging].contains(&Logging::Enhanced) {
            fields.insert("target".to_owned(), decision.target);
            fields.insert("reason".to_owned(), decision.reason.into());
            fields.insert("asker".to_owned(), decision.asker.into());
            fields.insert("why".to_owned(), decision.why.into());
        }
        Ok(payload)
    }
}
