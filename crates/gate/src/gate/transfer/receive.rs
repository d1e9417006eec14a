//! Receiving of a file's bytes, chunk by chunk.

use std::fs::{File, TryLockError};

use crate::caller::Caller;
use crate::document::Versioned;
use crate::gate::transfer::{BYTES, taken_away};
use crate::gate::{Gate, GateError, TRIES};
use crate::id::FileId;
use crate::store::{Batch, CommitError, Count, CountStep};
use crate::transfer::{FileMeta, FileState, Incoming, Running, Stop, TransferError, Upload};

impl Gate {
    /// Prepares for the next chunk of an upload, whose length may be known. It begins at the
    /// upload's current offset.
    ///
    /// # Errors
    /// The upload does not exist for them, it has another offset, somebody else is writing, the
    /// session does not run, or the space is used up.
    pub async fn receive(
        &self,
        caller: &Caller,
        id: &FileId,
        offset: u64,
        length: Option<u64>,
    ) -> Result<Incoming, TransferError> {
        let (versioned, mut file) = self.locked(caller, id).await?;
        let expected = self.upload_of(&versioned.value)?.offset;
        if offset != expected {
            return Err(TransferError::Offset { expected });
        }
        let (mut end, mut stop) = self.stop_of(&versioned.value, offset);
        if let Some(length) = length {
            let asked = offset.saturating_add(length);
            if asked > end {
                return Err(stop.error());
            }
            end = asked;
        }
        let running = self.running(&versioned, offset, &mut file)?;
        // Bytes beyond the offset were never committed.
        file.set_len(offset)?;
        let least = if length.is_some() { end } else { offset };
        let (versioned, granted) = self.reserve(caller, versioned, end, least).await?;
        if granted < end {
            (end, stop) = (granted, Stop::Session(self.config.files.session_bytes));
        }
        self.keeper()?.known.put(id.clone(), versioned.version, running.clone());
        Ok(Incoming { versioned, running, file, end, stop })
    }

    /// Commits the bytes that have arrived, also if the rest of the chunk was lost on its way.
    ///
    /// # Errors
    /// The upload was aborted or the session stopped meanwhile, or the disk failed: the upload
    /// keeps its earlier offset.
    pub async fn keep(&self, caller: &Caller, incoming: Incoming) -> Result<Upload, TransferError> {
        let Incoming { versioned, running, file, .. } = incoming;
        file.sync_data()?;
        let FileState::Uploading { reserved, expires_at, .. } = versioned.value.state else {
            return Err(TransferError::Complete);
        };
        let received = running.bytes();
        let keep = if versioned.value.declared_bytes.is_some() { reserved } else { received };
        let state = FileState::Uploading { received, reserved: keep, expires_at };
        let next = FileMeta { state, ..versioned.value.clone() };
        for _ in 0..TRIES {
            let ground = self.ground(caller, &versioned.value.session).await?;
            let step = CountStep::Sub { by: reserved.saturating_sub(keep) };
            let batch = Batch {
                unchanged: ground.unchanged,
                writes: vec![versioned.replace(&next)?],
                counts: vec![Count { key: ground.session.counter(BYTES), step }],
                ..Batch::default()
            };
            match self.commit(batch).await {
                Ok(_) => {
                    let version = versioned.version.saturating_add(1);
                    self.keeper()?.known.put(next.id.clone(), version, running);
                    return self.upload_of(&next);
                }
                Err(error) => taken_away(error)?,
            }
        }
        Err(GateError::Busy.into())
    }

    /// Writes one chunk that is in memory as a whole.
    ///
    /// # Errors
    /// As for [`Gate::receive`], [`Incoming::write`] and [`Gate::keep`].
    pub async fn write_chunk(
        &self,
        caller: &Caller,
        id: &FileId,
        offset: u64,
        bytes: &[u8],
    ) -> Result<Upload, TransferError> {
        let length = Some(bytes.len() as u64);
        let mut incoming = self.receive(caller, id, offset, length).await?;
        incoming.write(bytes)?;
        self.keep(caller, incoming).await
    }

    /// An upload and its file, locked against other writers while it is open. The document is read
    /// after the lock is taken: before, it may have changed.
    pub(super) async fn locked(
        &self,
        caller: &Caller,
        id: &FileId,
    ) -> Result<(Versioned<FileMeta>, File), TransferError> {
        let folder = self.folder()?;
        let versioned = self.own(caller, id).await?;
        self.upload_of(&versioned.value)?;
        self.ground(caller, &versioned.value.session).await?;
        let file = folder.write(&versioned.value.session, id)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(TransferError::Writing),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        match self.own(caller, id).await {
            Ok(versioned) => Ok((versioned, file)),
            Err(error) => {
                // Aborted while we opened it, which may have created the file again.
                folder.remove(&versioned.value.session, id)?;
                Err(error)
            }
        }
    }

    /// The hashes so far: from memory, or computed again from the file.
    pub(super) fn running(
        &self,
        versioned: &Versioned<FileMeta>,
        offset: u64,
        file: &mut File,
    ) -> Result<Running, TransferError> {
        let known = self.keeper()?.known.find(&versioned.value.id, versioned.version);
        match known.filter(|known| known.bytes() == offset) {
            // The hashes in memory are of bytes that were written; the file must still have them.
            Some(known) if file.metadata()?.len() >= offset => Ok(known),
            Some(_) => Err(TransferError::Lost),
            None => Running::of(file, offset)?.ok_or(TransferError::Lost),
        }
    }

    /// The latest end of a chunk that begins here, and the limit that sets it.
    fn stop_of(&self, meta: &FileMeta, offset: u64) -> (u64, Stop) {
        let limits = self.config.files;
        let chunk = (offset.saturating_add(limits.chunk_bytes), Stop::Chunk(limits.chunk_bytes));
        let whole = match meta.declared_bytes {
            Some(bytes) => (bytes, Stop::Declared(bytes)),
            None => (limits.file_bytes, Stop::File(limits.file_bytes)),
        };
        // If both are the same, the file's own end is the reason.
        whole.min(chunk)
    }

    /// Reserves space up to an end, or as much as there is if that is at least `least`. Returns the
    /// end that was reserved.
    async fn reserve(
        &self,
        caller: &Caller,
        versioned: Versioned<FileMeta>,
        end: u64,
        least: u64,
    ) -> Result<(Versioned<FileMeta>, u64), TransferError> {
        let FileState::Uploading { received, reserved, expires_at } = versioned.value.state else {
            return Err(TransferError::Complete);
        };
        let most = self.config.files.session_bytes;
        for _ in 0..TRIES {
            let ground = self.ground(caller, &versioned.value.session).await?;
            let key = ground.session.counter(BYTES);
            let free = most.saturating_sub(self.store.counter(&key).await?);
            let by = end.saturating_sub(reserved).min(free);
            let granted = reserved.saturating_add(by);
            if granted < least {
                return Err(TransferError::SessionFull { most });
            }
            if by == 0 {
                return Ok((versioned, granted));
            }
            let state = FileState::Uploading { received, reserved: granted, expires_at };
            let next = FileMeta { state, ..versioned.value.clone() };
            let batch = Batch {
                unchanged: ground.unchanged,
                writes: vec![versioned.replace(&next)?],
                counts: vec![Count { key, step: CountStep::Add { by, most } }],
                ..Batch::default()
            };
            match self.commit(batch).await {
                Ok(_) => {
                    let version = versioned.version.saturating_add(1);
                    return Ok((Versioned { value: next, version }, granted));
                }
                // Others reserved space a moment ago: there may be less left.
                Err(CommitError::Full { .. }) => {}
                Err(error) => taken_away(error)?,
            }
        }
        Err(GateError::Busy.into())
    }
}
