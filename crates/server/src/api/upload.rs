//! Uploads: a whole file in one request, or in pieces, each from where the last one ended.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::extract::multipart::{Field, Multipart, MultipartRejection};
use axum::http::{HeaderMap, Method, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use countersign_gate::Caller;
use countersign_gate::bytes::Hash;
use countersign_gate::id::{FileId, SessionId};
use countersign_gate::transfer::{FileName, NewFile, TransferError, Upload};
use countersign_wire::path;
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

mod piece;

use piece::{Piece, too_slow, wait};

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
