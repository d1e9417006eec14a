//! Uploads: a whole file in one request, or in pieces, each from where the last one ended.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::extract::multipart::{Field, Multipart, MultipartRejection};
use axum::http::{HeaderMap, Method, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{Bytes, BytesMut};
use countersign_gate::Caller;
use countersign_gate::bytes::Hash;
use countersign_gate::id::{FileId, SessionId};
use countersign_gate::transfer::{FileName, Incoming, NewFile, TransferError, Upload};
use countersign_wire::path;
use futures_util::{Stream, StreamExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::api::action::caller_of;
use crate::api::file::FileView;
use crate::app::App;
use crate::auth::Identity;
use crate::body::{self, Path};
use crate::error::Problem;
use crate::page::Listed;
use crate::route::{Route, Who, get, post, row};

/// The number of bytes that are buffered before they are written to the disk.
const BLOCK: usize = 256 * 1024;

/// A file that will come in pieces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewUpload")]
struct Begin {
    name: String,
    /// The size it will have; any other is refused.
    bytes: Option<u64>,
    /// The hash it will have, in hexadecimal digits; any other is refused.
    sha256: Option<String>,
}

/// The state of an upload.
#[derive(Debug, Serialize, JsonSchema)]
struct UploadView {
    file_id: String,
    session_id: String,
    /// The name of the file: made safe, and with a number if there was one of its name.
    name: String,
    /// The number of bytes that are kept, which is the offset to go on from.
    offset: u64,
    bytes: Option<u64>,
    /// The most that is taken at once.
    chunk_bytes: u64,
    /// The time at which it goes away, unless it is finished.
    expires_at: String,
}

impl From<Upload> for UploadView {
    fn from(upload: Upload) -> Self {
        Self {
            file_id: upload.id.to_string(),
            session_id: upload.session.to_string(),
            name: upload.name.as_str().to_owned(),
            offset: upload.offset,
            bytes: upload.bytes,
            chunk_bytes: upload.chunk_bytes,
            expires_at: upload.expires_at.to_string(),
        }
    }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::SESSION_FILES, "upload_files")
            .by(Who::Either)
            .says("Uploads files as a form; each is stored as it arrives.")
            .takes_media("multipart/form-data")
            .gives::<Listed<FileView>>(201)
            .to(upload),
        post(path::SESSION_UPLOADS, "begin_upload")
            .by(Who::Either)
            .says("Starts the upload of a file in pieces.")
            .takes::<Begin>()
            .gives::<UploadView>(201)
            .to(begin),
        get(path::SESSION_UPLOAD, "show_upload")
            .by(Who::Either)
            .says("The state of an upload: where to continue.")
            .gives::<UploadView>(200)
            .to(show),
        row(Method::PATCH, path::SESSION_UPLOAD, "continue_upload")
            .by(Who::Either)
            .says("The next piece, from `Upload-Offset` on. The part of an interrupted piece that arrived is kept.")
            .takes_media("application/octet-stream")
            .gives::<UploadView>(200)
            .to(go_on),
        post(path::SESSION_UPLOAD_FINISH, "finish_upload")
            .by(Who::Either)
            .says("Completes an upload.")
            .gives::<FileView>(200)
            .to(finish),
        row(Method::DELETE, path::SESSION_UPLOAD, "abort_upload")
            .by(Who::Either)
            .says("Cancels an upload and drops what has arrived.")
            .gives_media(204, "")
            .to(abort),
    ]
}

/// Runs work that may block on a disk, on a thread where it blocks nobody else.
async fn wait<T: Send + 'static>(
    work: impl Future<Output = Result<T, TransferError>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(|| pollster::block_on(work)).await;
    let done = done.unwrap_or_else(|error| Err(std::io::Error::other(error).into()));
    Ok(done?)
}

/// Returns the caller that uploads: the key, or the assistant of the person who owns the session.
async fn caller(app: &App, identity: Identity, session: &SessionId) -> Result<Caller, Problem> {
    match identity {
        Identity::Caller(caller) => Ok(caller),
        Identity::Person(person) => {
            let session = app.gate.session(&person, session).await?;
            caller_of(Identity::Person(person), Some(&session.workspace))
        }
    }
}

async fn begin(
    State(app): State<App>,
    identity: Identity,
    Path(session): Path<SessionId>,
    body::Json(begin): body::Json<Begin>,
) -> Result<(StatusCode, Json<UploadView>), Problem> {
    let caller = caller(&app, identity, &session).await?;
    let sha256 = begin.sha256.as_deref().map(hash).transpose()?;
    let new = NewFile { name: FileName::of(&begin.name), bytes: begin.bytes, sha256 };
    let upload = app.gate.begin_upload(&caller, &session, new).await?;
    Ok((StatusCode::CREATED, Json(upload.into())))
}

/// Parses a SHA-256 in hexadecimal digits, or in base64url as in receipts.
fn hash(text: &str) -> Result<Hash, Problem> {
    let wrong = || Problem::bad_request("`sha256` is 64 hexadecimal digits");
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes: Option<Vec<u8>> = if text.len() == 64 {
        let pairs = text.as_bytes().as_chunks::<2>().0.iter();
        pairs.map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
    } else {
        URL_SAFE_NO_PAD.decode(text).ok()
    };
    bytes.and_then(|bytes| bytes.try_into().ok()).map(Hash).ok_or_else(wrong)
}

async fn show(
    State(app): State<App>,
    identity: Identity,
    Path((session, file)): Path<(SessionId, FileId)>,
) -> Result<Json<UploadView>, Problem> {
    let caller = caller(&app, identity, &session).await?;
    Ok(Json(of(&session, app.gate.upload(&caller, &file).await?)?.into()))
}

/// Returns an upload if it belongs to the session that the address names.
fn of(session: &SessionId, upload: Upload) -> Result<Upload, Problem> {
    if upload.session == *session { Ok(upload) } else { Err(Problem::not_found()) }
}

async fn go_on(
    State(app): State<App>,
    identity: Identity,
    Path((session, file)): Path<(SessionId, FileId)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<UploadView>, Problem> {
    let number = |name: &str| {
        let text = headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let wrong = |_| Problem::bad_request(format!("`{name}` must be a number of bytes"));
        text.map(|text| text.parse::<u64>().map_err(wrong)).transpose()
    };
    let offset = number("upload-offset")?;
    let offset = offset.ok_or_else(|| Problem::bad_request("name the `Upload-Offset`"))?;
    let length = number(header::CONTENT_LENGTH.as_str())?;
    let caller = caller(&app, identity, &session).await?;
    of(&session, app.gate.upload(&caller, &file).await?)?;
    let mut piece = Piece::begin(&app, &caller, &file, offset, length).await?;
    let taken = piece.take_all(&app, body.into_data_stream()).await;
    // The bytes that have arrived are kept, even if the rest failed.
    let upload = piece.keep(&app, &caller).await?;
    taken?;
    Ok(Json(upload.into()))
}

async fn finish(
    State(app): State<App>,
    identity: Identity,
    Path((session, file)): Path<(SessionId, FileId)>,
) -> Result<Json<FileView>, Problem> {
    let caller = caller(&app, identity, &session).await?;
    match app.gate.upload(&caller, &file).await {
        Ok(upload) => drop(of(&session, upload)?),
        // Finishing twice changes nothing.
        Err(TransferError::Complete) => {}
        Err(error) => return Err(error.into()),
    }
    let gate = app.gate.clone();
    let meta = wait(async move { gate.finish_upload(&caller, &file).await }).await?;
    if meta.session != session {
        return Err(Problem::not_found());
    }
    FileView::of(&meta).map(Json).ok_or_else(Problem::not_found)
}

async fn abort(
    State(app): State<App>,
    identity: Identity,
    Path((session, file)): Path<(SessionId, FileId)>,
) -> Result<StatusCode, Problem> {
    let caller = caller(&app, identity, &session).await?;
    of(&session, app.gate.upload(&caller, &file).await?)?;
    let gate = app.gate.clone();
    wait(async move { gate.abort_upload(&caller, &file).await }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes several files from one form, and stores each as it arrives.
async fn upload(
    State(app): State<App>,
    identity: Identity,
    Path(session): Path<SessionId>,
    form: Result<Multipart, MultipartRejection>,
) -> Result<(StatusCode, Json<Listed<FileView>>), Problem> {
    let mut form = form.map_err(|error| Problem::bad_request(error.body_text()))?;
    let caller = caller(&app, identity, &session).await?;
    let mut views = Vec::new();
    let patience = app.settings.limits.body();
    loop {
        let field = timeout(patience, form.next_field()).await.map_err(|_| too_slow())?;
        let broken = |_| Problem::bad_request("the form is not complete");
        let Some(field) = field.map_err(broken)? else { break };
        // A field without a file name is not a file.
        let Some(name) = field.file_name().map(FileName::of) else { continue };
        views.extend(whole(&app, &caller, &session, name, field).await?);
    }
    if views.is_empty() {
        return Err(Problem::bad_request("there is no file in this form"));
    }
    Ok((StatusCode::CREATED, Json(Listed::whole(views))))
}

async fn whole(
    app: &App,
    caller: &Caller,
    session: &SessionId,
    name: FileName,
    field: Field<'_>,
) -> Result<Option<FileView>, Problem> {
    let new = NewFile { name, bytes: None, sha256: None };
    let upload = app.gate.begin_upload(caller, session, new).await?;
    let file = upload.id.clone();
    let taken = pieces(app, caller, upload, field).await;
    let (gate, owner) = (app.gate.clone(), caller.clone());
    if let Err(problem) = taken {
        // Its id was never given out, so nobody could continue it.
        wait(async move { gate.abort_upload(&owner, &file).await }).await?;
        return Err(problem);
    }
    let meta = wait(async move { gate.finish_upload(&owner, &file).await }).await?;
    Ok(FileView::of(&meta))
}

/// Takes the whole stream, one piece after another.
async fn pieces(
    app: &App,
    caller: &Caller,
    mut upload: Upload,
    mut field: Field<'_>,
) -> Result<(), Problem> {
    let mut rest = Bytes::new();
    loop {
        let mut piece = Piece::begin(app, caller, &upload.id, upload.offset, None).await?;
        // Without this, a piece without room would be kept empty, and the next one too, in an
        // endless loop.
        if piece.room == 0 && !rest.is_empty() {
            piece.refuse(&rest)?;
        }
        let more = piece.take_until_full(app, &mut field, &mut rest).await?;
        upload = piece.keep(app, caller).await?;
        if !more {
            return Ok(());
        }
    }
}

/// One piece of a file that is being written to the disk.
struct Piece {
    /// `None` only while a thread is using it.
    incoming: Option<Incoming>,
    gathered: BytesMut,
    room: u64,
}

impl Piece {
    async fn begin(
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

    async fn take_all<E>(
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
    async fn take_until_full(
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
    fn refuse(&mut self, bytes: &[u8]) -> Result<(), Problem> {
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

    async fn keep(self, app: &App, caller: &Caller) -> Result<Upload, Problem> {
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

fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the upload stalled for too long")
}
