//! A piece of a file: received, and written to the disk block by block.

use axum::extract::multipart::Field;
use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use countersign_gate::Caller;
use countersign_gate::id::FileId;
use countersign_gate::transfer::{Incoming, TransferError, Upload};
use futures_util::{Stream, StreamExt as _};
use tokio::time::timeout;

use crate::app::App;
use crate::error::Problem;

/// The number of bytes that are buffered before they are written to the disk.
const BLOCK: usize = 256 * 1024;

/// One piece of a file that is being written to the disk.
pub(super) struct Piece {
    /// `None` only while a thread is using it.
    incoming: Option<Incoming>,
    gathered: BytesMut,
    pub(super) room: u64,
}

impl Piece {
    pub(super) async fn begin(
        app: &App,
        caller: &Caller,
        file: &FileId,
        offset: u64,
        length: Option<u64>,
    ) -> Result<Self, Problem> {
        let (gate, caller, file) = (app.gate.clone(), caller.clone(), file.clone());
        let incoming = wait(async move { gate.receive(&caller, &file, offset, length).await });
        let incoming = incoming.await?;
        let room = incoming.room();
        Ok(Self { incoming: Some(incoming), gathered: BytesMut::new(), room })
    }

    pub(super) async fn take_all<E>(
        &mut self,
        app: &App,
        mut stream: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<(), Problem> {
        while let Some(bytes) = next(app, &mut stream).await? {
            self.take(bytes).await?;
        }
        self.write().await
    }

    /// Takes the bytes that fit. Returns true when there may be more.
    pub(super) async fn take_until_full(
        &mut self,
        app: &App,
        field: &mut Field<'_>,
        rest: &mut Bytes,
    ) -> Result<bool, Problem> {
        loop {
            if rest.is_empty() {
                let Some(bytes) = next(app, field).await? else {
                    self.write().await?;
                    return Ok(false);
                };
                *rest = bytes;
            }
            let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(rest.len());
            if fits == 0 {
                self.write().await?;
                return Ok(true);
            }
            self.take(rest.split_to(fits)).await?;
        }
    }

    async fn take(&mut self, bytes: Bytes) -> Result<(), Problem> {
        self.room = self.room.saturating_sub(bytes.len() as u64);
        self.gathered.extend_from_slice(&bytes);
        if self.gathered.len() >= BLOCK { self.write().await } else { Ok(()) }
    }

    /// Reports which limit leaves no room.
    pub(super) fn refuse(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Some(incoming) = &mut self.incoming else { return Ok(()) };
        Ok(incoming.write(bytes)?)
    }

    async fn write(&mut self) -> Result<(), Problem> {
        let Some(mut incoming) = self.incoming.take() else { return Ok(()) };
        let block = self.gathered.split().freeze();
        let written = tokio::task::spawn_blocking(move || {
            let written = if block.is_empty() { Ok(()) } else { incoming.write(&block) };
            (written, incoming)
        });
        let gone = |error| TransferError::from(std::io::Error::other(error));
        let (written, incoming) = written.await.map_err(gone)?;
        self.incoming = Some(incoming);
        Ok(written?)
    }

    pub(super) async fn keep(self, app: &App, caller: &Caller) -> Result<Upload, Problem> {
        let incoming = self.incoming.ok_or(TransferError::Lost)?;
        let (gate, caller) = (app.gate.clone(), caller.clone());
        wait(async move { gate.keep(&caller, incoming).await }).await
    }
}

/// Returns the next bytes. A sender that is silent for too long is disconnected.
async fn next<E>(
    app: &App,
    stream: &mut (impl Stream<Item = Result<Bytes, E>> + Unpin),
) -> Result<Option<Bytes>, Problem> {
    let bytes = timeout(app.settings.limits.body(), stream.next()).await;
    let bytes = bytes.map_err(|_| too_slow())?.transpose();
    bytes.map_err(|_| Problem::bad_request("the upload ended early"))
}

pub(super) fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the upload stalled for too long")
}

/// Runs work that may block on a disk, on a thread where it blocks nobody else.
pub(super) async fn wait<T: Send + 'static>(
    work: impl Future<Output = Result<T, TransferError>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(|| pollster::block_on(work)).await;
    let done = done.unwrap_or_else(|error| Err(std::io::Error::other(error).into()));
    Ok(done?)
}
