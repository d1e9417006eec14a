//! Deletion of files: aborted, never finished, past retention, erased.
//!
//! An upload's document is deleted first, so that an upload that is finished at the same moment
//! stays whole. When all files are deleted, the bytes are deleted first, so that a deletion that
//! fails halfway is found and repeated.

use crate::clock::Timestamp;
use crate::config::days;
use crate::document::{self, Versioned};
use crate::gate::control::failed;
use crate::gate::transfer::{BYTES, FILES, Files, Taken};
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::{SessionId, UserId};
use crate::session::Session;
use crate::store::{Batch, Count, CountStep, Kind, Query, StoreError};
use crate::transfer::FileMeta;

impl Gate {
    /// Deletes the uploads that were never finished.
    pub(in crate::gate) async fn sweep_uploads(&self, now: Timestamp) -> Result<(), GateError> {
        if self.files.is_none() {
            return Ok(());
        }
        let query = Query { states: vec!["uploading"], due_by: Some(now), ..Query::of(Kind::File) };
        for versioned in document::find::<FileMeta>(&*self.store, &query).await? {
            self.drop_file(&versioned).await?;
        }
        Ok(())
    }

    /// Deletes the files of sessions that were deleted, or that are past their user's retention.
    pub(in crate::gate) async fn retain_files(
        &self,
        now: Timestamp,
        cut: Timestamp,
    ) -> Result<(), GateError> {
        let Some(Files { folder, .. }) = &self.files else { return Ok(()) };
        for id in folder.sessions().map_err(|error| disk(&error))? {
            if let Some(versioned) = self.get::<Session>(id.as_str()).await? {
                let session = versioned.value;
                let sooner = self.own_retention(&self.settings_of(&session.user).await?);
                let cut = sooner.map_or(cut, |sooner| cut.max(now.before(days(sooner))));
                if session.is_alive() || session.started_at >= cut {
                    continue;
                }
            }
            self.drop_all(&id).await?;
        }
        Ok(())
    }

    /// Deletes every file that a user's agents have handed in.
    pub(in crate::gate) async fn erase_files(&self, user: &UserId) -> Result<(), GateError> {
        let owner = Some(user.to_string());
        self.drop_found(Query { owner, ..Query::of(Kind::File) }).await
    }

    /// Deletes all remaining files of a session.
    async fn drop_all(&self, session: &SessionId) -> Result<(), GateError> {
        let of_session = Some(session.to_string());
        self.drop_found(Query { session: of_session, ..Query::of(Kind::File) }).await?;
        // Files left over from a crash have no document.
        match &self.files {
            Some(files) => files.folder.remove_all(session).map_err(|error| disk(&error)),
            None => Ok(()),
        }
    }

    async fn drop_found(&self, query: Query) -> Result<(), GateError> {
        let Some(files) = &self.files else { return Ok(()) };
        let mut tries = 0;
        while tries < TRIES {
            let found = document::find::<FileMeta>(&*self.store, &query).await?;
            if found.is_empty() {
                return Ok(());
            }
            // The number of files is unlimited: only rounds without a deletion count.
            tries += 1;
            for versioned in found {
                let FileMeta { session, id, .. } = &versioned.value;
                files.folder.remove(session, id).map_err(|error| disk(&error))?;
                if self.drop_file(&versioned).await? {
                    tries = 0;
                }
            }
        }
        Err(GateError::Busy)
    }

    /// Deletes one file, unless it has changed meanwhile. Reports whether it is gone.
    pub(super) async fn drop_file(
        &self,
        versioned: &Versioned<FileMeta>,
    ) -> Result<bool, GateError> {
        let meta = &versioned.value;
        let taken = Taken::new(&meta.session, &meta.name);
        let taken: Option<Versioned<Taken>> = self.get(&taken.id).await?;
        let mut batch = Batch { writes: vec![versioned.delete()], ..Batch::default() };
        batch.writes.extend(taken.map(|taken| taken.delete()));
        let key = |what| format!("session:{}:{what}", meta.session);
        batch.counts = vec![
            Count { key: key(FILES), step: CountStep::Down },
            Count { key: key(BYTES), step: CountStep::Sub { by: meta.room() } },
        ];
        match self.commit(batch).await {
            Ok(_) => {}
            Err(error) if is_conflict(&error) => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
        if let Some(files) = &self.files {
            files.known.forget(&meta.id);
            files.folder.remove(&meta.session, &meta.id).map_err(|error| disk(&error))?;
        }
        Ok(true)
    }
}

fn disk(error: &std::io::Error) -> GateError {
    StoreError(format!("files cannot be removed: {error}")).into()
}
