//! Listing, reading and archiving of files.

use crate::document;
use crate::gate::Gate;
use crate::id::{FileId, SessionId};
use crate::store::{Kind, Query};
use crate::transfer::zip::Zip;
use crate::transfer::{FileMeta, FileState, OpenFile, Reader, TransferError};

/// The most files on one page of a list.
const PAGE: usize = 1_000;

impl Gate {
    /// The complete files of a session, oldest first, after one of them.
    ///
    /// # Errors
    /// The session does not exist for them.
    pub async fn files(
        &self,
        reader: Reader<'_>,
        session: &SessionId,
        after: Option<&FileId>,
        limit: usize,
    ) -> Result<Vec<FileMeta>, TransferError> {
        self.seen(reader, session).await?;
        let query = Query {
            session: Some(session.to_string()),
            states: vec!["complete"],
            after: after.map(ToString::to_string),
            limit: limit.min(PAGE),
            ..Query::of(Kind::File)
        };
        let versioned = document::find::<FileMeta>(&*self.store, &query).await?;
        Ok(versioned.into_iter().map(|versioned| versioned.value).collect())
    }

    /// Opens a complete file for reading, from any position.
    ///
    /// # Errors
    /// The file does not exist for them, or its bytes are gone.
    pub async fn open_file(
        &self,
        reader: Reader<'_>,
        id: &FileId,
    ) -> Result<OpenFile, TransferError> {
        let folder = self.folder()?;
        let versioned: Option<document::Versioned<FileMeta>> = self.get(id.as_str()).await?;
        let meta = versioned.ok_or(TransferError::NotFound)?.value;
        self.seen(reader, &meta.session).await?;
        let FileState::Complete { bytes, .. } = meta.state else {
            return Err(TransferError::NotFound);
        };
        let file = folder.read(&meta.session, id).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => TransferError::Lost,
            _ => error.into(),
        })?;
        if file.metadata()?.len() != bytes {
            return Err(TransferError::Lost);
        }
        Ok(OpenFile { meta, bytes, file })
    }

    /// All complete files of a session as one archive.
    ///
    /// # Errors
    /// The session does not exist for them.
    pub async fn zip(&self, reader: Reader<'_>, session: &SessionId) -> Result<Zip, TransferError> {
        let folder = self.folder()?.clone();
        let mut all: Vec<FileMeta> = Vec::new();
        loop {
            let after = all.last().map(|last| last.id.clone());
            let page = self.files(reader, session, after.as_ref(), PAGE).await?;
            if page.is_empty() {
                return Ok(Zip::new(folder, all));
            }
            all.extend(page);
        }
    }
}
