//! Completion of a file.

use serde_json::{Value, json};

use crate::audit::{self, Draft};
use crate::caller::Caller;
use crate::document::Versioned;
use crate::gate::session::owner_of;
use crate::gate::transfer::{BYTES, taken_away};
use crate::gate::{Gate, GateError, TRIES};
use crate::id::FileId;
use crate::preferences::Logging;
use crate::redacted;
use crate::session::Session;
use crate::store::{Batch, Count, CountStep};
use crate::transfer::{FileMeta, FileState, TransferError};

impl Gate {
    /// Completes a file. Calling it again changes nothing.
    ///
    /// # Errors
    /// The size differs from the declared one; or the content does, and the file is dropped; or the
    /// session does not run any more.
    pub async fn finish_upload(
        &self,
        caller: &Caller,
        id: &FileId,
    ) -> Result<FileMeta, TransferError> {
        let versioned = self.own(caller, id).await?;
        if matches!(versioned.value.state, FileState::Complete { .. }) {
            return Ok(versioned.value);
        }
        let (versioned, mut file) = self.locked(caller, id).await?;
        let FileState::Uploading { received, .. } = versioned.value.state else {
            return Ok(versioned.value);
        };
        if let Some(declared) = versioned.value.declared_bytes.filter(|bytes| *bytes != received) {
            return Err(TransferError::NotAsLarge { declared });
        }
        let running = self.running(&versioned, received, &mut file)?;
        file.set_len(received)?;
        file.sync_all()?;
        let (sha256, crc32) = running.finish();
        if versioned.value.declared_sha256.is_some_and(|declared| declared != sha256) {
            self.drop_file(&versioned).await?;
            return Err(TransferError::Differs);
        }
        let state = FileState::Complete { at: self.now(), bytes: received, sha256, crc32 };
        self.complete_file(caller, &versioned, FileMeta { state, ..versioned.value.clone() }).await
    }

    async fn complete_file(
        &self,
        caller: &Caller,
        versioned: &Versioned<FileMeta>,
        next: FileMeta,
    ) -> Result<FileMeta, TransferError> {
        let unused = versioned.value.room().saturating_sub(next.room());
        for _ in 0..TRIES {
            let ground = self.ground(caller, &next.session).await?;
            let step = CountStep::Sub { by: unused };
            let batch = Batch {
                unchanged: ground.unchanged,
                writes: vec![versioned.replace(&next)?],
                counts: vec![Count { key: ground.session.counter(BYTES), step }],
                records: vec![self.received(caller, &ground.session, &next).await?],
                ..Batch::default()
            };
            match self.commit(batch).await {
                Ok(_) => {
                    self.keeper()?.known.forget(&next.id);
                    return Ok(next);
                }
                Err(error) => taken_away(error)?,
            }
        }
        Err(GateError::Busy.into())
    }

    /// The record of a received file. A name can reveal a lot: it is recorded only at the enhanced
    /// logging level.
    async fn received(
        &self,
        caller: &Caller,
        session: &Session,
        meta: &FileMeta,
    ) -> Result<Draft, TransferError> {
        let FileState::Complete { bytes, sha256, .. } = meta.state else {
            return Err(TransferError::NotFound);
        };
        let mut payload =
            json!({"id": meta.id, "bytes": bytes, "sha256": sha256, "key": caller.key_id()});
        let settings = self.settings_of(&meta.user).await?;
        let enhanced = [self.config.logging, settings.logging].contains(&Logging::Enhanced);
        if let (true, Value::Object(fields)) = (enhanced, &mut payload) {
            fields.insert("name".to_owned(), redacted::text(meta.name.as_str()).into());
        }
        Ok(self.record(audit::Event::FileReceived, owner_of(session), &payload)?)
    }
}
