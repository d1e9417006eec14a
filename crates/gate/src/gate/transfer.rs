//! Files that an agent hands in.
//!
//! Disk access here is blocking: call it from a thread that may block.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bytes::Hash;
use crate::caller::Caller;
use crate::document::{self, Document, IndexKeys, Versioned};
use crate::gate::control::failed;
use crate::gate::session::{looks_after, works_in};
use crate::gate::{Gate, GateError, Lookup, TRIES};
use crate::id::{FileId, SessionId};
use crate::session::{Session, SessionState};
use crate::store::{Batch, CommitError, Count, CountStep, Kind, StoreError, Unchanged};
use crate::transfer::{
    FileMeta, FileName, FileState, Folder, Known, NewFile, Reader, TransferError, UPLOAD_WITHIN,
    Upload,
};

mod finish;
mod forget;
mod read;
mod receive;

/// The state for storing files.
#[derive(Debug)]
pub(super) struct Files {
    folder: Arc<Folder>,
    known: Known,
}

/// The versions on which an upload relies: the kill switch and the session, as they were read.
struct Ground {
    unchanged: Vec<Unchanged>,
    session: Session,
}

impl Gate {
    /// The same gate, which stores files in a folder of its own.
    ///
    /// # Errors
    /// The folder cannot be created, or cannot be closed to others.
    pub fn keeping_files_in(self, folder: &Path) -> io::Result<Self> {
        let folder = Arc::new(Folder::open(folder)?);
        Ok(Self { files: Some(Files { folder, known: Known::default() }), ..self })
    }

    /// Begins the upload of a file into a session. A name that is taken gets a number.
    ///
    /// # Errors
    /// The session is not theirs or does not run, everything is halted, or the space is used up.
    pub async fn begin_upload(
        &self,
        caller: &Caller,
        session: &SessionId,
        new: NewFile,
    ) -> Result<Upload, TransferError> {
        self.folder()?;
        let most = self.config.files.file_bytes;
        if new.bytes.is_some_and(|bytes| bytes > most) {
            return Err(TransferError::FileTooLarge { most });
        }
        let (mut number, mut tries) = (1, 0);
        while tries < TRIES {
            let ground = self.ground(caller, session).await?;
            let name = if number == 1 { new.name.clone() } else { new.name.numbered(number) };
            let taken = Taken::new(session, &name);
            if self.get::<Taken>(&taken.id).await?.is_some() {
                number += 1;
                continue;
            }
            let meta = self.begun(caller, &ground.session, &new, name)?;
            let batch = Batch {
                writes: vec![document::insert(&meta)?, document::insert(&taken)?],
                counts: self.room_for(&ground.session, new.bytes.unwrap_or(0)),
                unchanged: ground.unchanged,
                ..Batch::default()
            };
            match self.commit(batch).await {
                Ok(_) => return self.upload_of(&meta),
                Err(CommitError::Conflict { .. }) => tries += 1,
                Err(error) => return Err(no_room(error)),
            }
        }
        Err(GateError::Busy.into())
    }

    /// The state of an upload, for a client that resumes it.
    ///
    /// # Errors
    /// The upload does not exist for them, or is complete.
    pub async fn upload(&self, caller: &Caller, id: &FileId) -> Result<Upload, TransferError> {
        self.upload_of(&self.own(caller, id).await?.value)
    }

    /// Aborts an upload and deletes its bytes.
    ///
    /// # Errors
    /// The upload does not exist for them, or is complete.
    pub async fn abort_upload(&self, caller: &Caller, id: &FileId) -> Result<(), TransferError> {
        for _ in 0..TRIES {
            let versioned = self.own(caller, id).await?;
            self.upload_of(&versioned.value)?;
            if self.drop_file(&versioned).await? {
                return Ok(());
            }
        }
        Err(GateError::Busy.into())
    }

    fn begun(
        &self,
        caller: &Caller,
        session: &Session,
        new: &NewFile,
        name: FileName,
    ) -> Result<FileMeta, TransferError> {
        let now = self.now();
        Ok(FileMeta {
            id: FileId::draw(&self.clock)?,
            user: session.user.clone(),
            workspace: session.workspace.clone(),
            session: session.id.clone(),
            key: caller.key_id().cloned(),
            name,
            declared_bytes: new.bytes,
            declared_sha256: new.sha256,
            created_at: now,
            state: FileState::Uploading {
                received: 0,
                reserved: new.bytes.unwrap_or(0),
                expires_at: now.after(UPLOAD_WITHIN),
            },
        })
    }

    fn room_for(&self, session: &Session, bytes: u64) -> Vec<Count> {
        let limits = self.config.files;
        vec![
            Count { key: session.counter(FILES), step: CountStep::Up { most: limits.files } },
            Count {
                key: session.counter(BYTES),
                step: CountStep::Add { by: bytes, most: limits.session_bytes },
            },
        ]
    }

    /// The conditions of an upload: the session is theirs and runs, and nothing is halted.
    async fn ground(&self, caller: &Caller, id: &SessionId) -> Result<Ground, TransferError> {
        let mut unchanged = self.rights_of(caller, Lookup::Fresh).await?;
        let control = self.control().await?;
        let session = self.seen(caller.into(), id).await?;
        if control.value.halted {
            return Err(TransferError::Halted);
        }
        let over = session.value.deadline.is_some_and(|deadline| self.now() >= deadline);
        match session.value.state {
            SessionState::Active if over => return Err(TransferError::NotRunning("over")),
            SessionState::Active => {}
            SessionState::Paused { .. } => return Err(TransferError::NotRunning("paused")),
            SessionState::Ended { .. } => return Err(TransferError::NotRunning("over")),
        }
        unchanged.extend([control.unchanged(), session.unchanged()]);
        Ok(Ground { unchanged, session: session.value })
    }

    /// A session that a reader may look into.
    async fn seen(
        &self,
        reader: Reader<'_>,
        id: &SessionId,
    ) -> Result<Versioned<Session>, TransferError> {
        let versioned: Versioned<Session> =
            self.get(id.as_str()).await?.ok_or(TransferError::NotFound)?;
        let session = &versioned.value;
        let may = match reader {
            Reader::Caller(caller) => works_in(caller, session) || self.works_for(caller, session),
            Reader::Person(person) => looks_after(person, session).is_ok(),
        };
        if may { Ok(versioned) } else { Err(TransferError::NotFound) }
    }

    /// A file of a session in which this caller works.
    async fn own(
        &self,
        caller: &Caller,
        id: &FileId,
    ) -> Result<Versioned<FileMeta>, TransferError> {
        let versioned: Option<Versioned<FileMeta>> = self.get(id.as_str()).await?;
        let versioned = versioned.ok_or(TransferError::NotFound)?;
        self.rights_of(caller, Lookup::Fresh).await?;
        self.seen(caller.into(), &versioned.value.session).await?;
        Ok(versioned)
    }

    fn upload_of(&self, meta: &FileMeta) -> Result<Upload, TransferError> {
        let FileState::Uploading { received, expires_at, .. } = meta.state else {
            return Err(TransferError::Complete);
        };
        Ok(Upload {
            id: meta.id.clone(),
            session: meta.session.clone(),
            name: meta.name.clone(),
            offset: received,
            bytes: meta.declared_bytes,
            chunk_bytes: self.config.files.chunk_bytes,
            expires_at,
        })
    }

    fn keeper(&self) -> Result<&Files, TransferError> {
        self.files.as_ref().ok_or(TransferError::Off)
    }

    fn folder(&self) -> Result<&Arc<Folder>, TransferError> {
        self.keeper().map(|files| &files.folder)
    }
}

/// The counters of a session's files and their bytes.
const FILES: &str = "uploads";
const BYTES: &str = "upload_bytes";

/// A name that is taken in a session, so that only one of two concurrent uploads gets it and the
/// other gets a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Taken {
    id: String,
    session: SessionId,
}

impl Taken {
    fn new(session: &SessionId, name: &FileName) -> Self {
        use sha2::{Digest as _, Sha256};
        let hash = Hash(Sha256::digest(name.folded()).into());
        Self { id: format!("{session}:{hash}"), session: session.clone() }
    }
}

impl Document for Taken {
    const KIND: Kind = Kind::FileName;

    fn id(&self) -> &str {
        &self.id
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys { session: Some(self.session.as_str()), state: "taken", ..IndexKeys::default() }
    }
}

fn no_room(error: CommitError) -> TransferError {
    match error {
        CommitError::Full { key, most } if key.ends_with(FILES) => {
            TransferError::TooManyFiles { most }
        }
        CommitError::Full { most, .. } => TransferError::SessionFull { most },
        other => failed(other).into(),
    }
}

/// Maps a failed commit about a file. Only its writer changes its document, so a conflict means
/// that the file was deleted.
fn taken_away(error: CommitError) -> Result<(), TransferError> {
    match error {
        CommitError::Conflict { kind: Kind::File, .. } => Err(TransferError::NotFound),
        // The session or the kill switch has changed: read again.
        CommitError::Conflict { .. } | CommitError::Outdated => Ok(()),
        CommitError::Full { most, .. } => Err(TransferError::SessionFull { most }),
        CommitError::TooFast { .. } => Err(StoreError(error.to_string()).into()),
        CommitError::Store(error) => Err(error.into()),
    }
}
