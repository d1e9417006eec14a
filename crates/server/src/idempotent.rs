//! Writes that may be sent twice: `Idempotency-Key` gives the second request the first one's
//! answer.
//!
//! The first request with a key claims it in the store, so that two nodes, two connections or a
//! restart cannot do it twice. An answer that contains a secret is not stored: the second request
//! is told so instead. An answer that lets something run is repeated only while that may still run.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use countersign_gate::bytes::Hash;
use countersign_gate::gate::{Allows, Begun, Claim};
use countersign_gate::id::SessionId;
use countersign_gate::keyring::Purpose;
use countersign_gate::proposal::Refusal;
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::auth::{Identity, bearer};
use crate::behind::NextStep;
use crate::body;
use crate::error::Problem;
use crate::route::Permits;

/// The header that names a write that may be sent twice.
pub(crate) const KEY: &str = "idempotency-key";
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The size of the longest answer that is stored.
const MOST_KEPT: usize = 1 << 20;

/// An answer that contains a secret: it is shown once and never stored.
pub(crate) struct Once<T>(pub(crate) T);

/// A marker for an answer that contains a secret.
#[derive(Debug, Clone, Copy)]
struct Secret;

/// An answer that lets something run in these sessions.
pub(crate) struct Within<T>(pub(crate) T, pub(crate) Vec<SessionId>);

/// The sessions in which an answer lets something run.
#[derive(Debug, Clone)]
struct Sessions(Vec<SessionId>);

impl<T: IntoResponse> IntoResponse for Within<T> {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        response.extensions_mut().insert(Sessions(self.1));
        response
    }
}

impl<T: IntoResponse> IntoResponse for Once<T> {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        response.extensions_mut().insert(Secret);
        response
    }
}

/// Does a write once, however often it is sent with the same key.
pub(crate) async fn once(
    app: &App,
    permits: Permits,
    request: Request,
    behind: NextStep<'_>,
) -> Response {
    match answer(app, permits, request, behind).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answer(
    app: &App,
    permits: Permits,
    request: Request,
    behind: NextStep<'_>,
) -> Result<Response, Problem> {
    let key = key_of(request.headers())?;
    let known = request.extensions().get::<Identity>().map(Identity::name);
    let who = match &known {
        Some(name) => name.clone(),
        None => bearer(request.headers())?.map(|key| key.hash().to_string()).unwrap_or_default(),
    };
    let limits = app.settings.limits;
    let (parts, body) = request.into_parts();
    let bytes = body::read(body, limits.body_bytes, limits.body()).await?;
    let mut hash = Sha256::new_with_prefix(b"countersign request v1\0");
    hash.update(parts.method.as_str());
    hash.update([0]);
    hash.update(parts.uri.path());
    hash.update([0]);
    hash.update(&*bytes);
    // Keyed with a secret of the server: a plain hash of the body would let somebody guess the
    // passwords in it.
    let digest: [u8; 32] = hash.finalize().into();
    let request_hash = Hash(app.gate.keyring().fingerprint(Purpose::IdempotencyKey, &digest));
    let claim = match app.gate.idempotent_begin(&who, &key, request_hash).await? {
        Begun::First(claim) => claim,
        begun => return replay(begun),
    };
    let request = Request::from_parts(parts, Body::from(bytes.to_vec()));
    let response = behind.run(app, request).await;
    if known.is_none() && !response.status().is_success() {
        // The caller is not authenticated, so a refusal is not stored.
        app.gate.idempotent_let_go(claim).await?;
        return Ok(response);
    }
    let allows = allows(permits, &response);
    finish(app, claim, response, allows).await
}

/// Returns the actions that an answer lets run, according to its route and its handler.
fn allows(permits: Permits, response: &Response) -> Allows {
    let sessions = response.extensions().get::<Sessions>().map(|sessions| sessions.0.clone());
    match (permits, sessions) {
        (Permits::Never, None) => Allows::Nothing,
        (Permits::Perhaps, None) if !response.status().is_success() => Allows::Nothing,
        (_, sessions) => Allows::Something { sessions: sessions.unwrap_or_default() },
    }
}

fn key_of(headers: &HeaderMap) -> Result<String, Problem> {
    let wrong = || Problem::bad_request("`Idempotency-Key` has 1 to 200 printable characters");
    let mut keys = headers.get_all(KEY).iter();
    let (Some(key), None) = (keys.next(), keys.next()) else { return Err(wrong()) };
    let key = key.to_str().map_err(|_| wrong())?;
    if (1..=200).contains(&key.len()) { Ok(key.to_owned()) } else { Err(wrong()) }
}

fn replay(begun: Begun) -> Result<Response, Problem> {
    match begun {
        Begun::Replay { status, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            let media =
                if status.is_success() { "application/json" } else { "application/problem+json" };
            let mut response = (status, body).into_response();
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
            Ok(response)
        }
        Begun::Shown { .. } => {
            let detail = "this was done and its secret was shown; the secret cannot be shown again";
            Err(Problem::conflict("shown-once", detail))
        }
        Begun::NoLonger(why) => {
            Err(Refusal { why, judgement: None, retry_after: None, hit: None }.into())
        }
        Begun::InProgress => Err(Problem::conflict(
            "in-progress",
            "the first request with this key is still running",
        )),
        Begun::Other => {
            let detail = "this key was used for another request";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", detail))
        }
        Begun::Lost => {
            let detail = "the first request with this key ended early: check what it did before trying again";
            Err(Problem::conflict("outcome-unknown", detail))
        }
        // Already handled by the caller.
        Begun::First(_) => {
            Err(Problem::conflict("in-progress", "the first request is still running"))
        }
    }
}

/// Stores the answer for the next request with this key, and returns it.
async fn finish(
    app: &App,
    claim: Claim,
    response: Response,
    allows: Allows,
) -> Result<Response, Problem> {
    let status = response.status();
    if response.extensions().get::<Secret>().is_some() {
        app.gate.idempotent_finish(claim, status.as_u16(), None, allows).await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, MOST_KEPT).await;
    let bytes =
        bytes.map_err(|_| Problem::conflict("outcome-unknown", "the answer is too long"))?;
    // A temporary failure is not stored as the final answer.
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        app.gate.idempotent_let_go(claim).await?;
    } else {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        app.gate.idempotent_finish(claim, status.as_u16(), Some(&text), allows).await?;
    }
    Ok(Response::from_parts(parts, Body::from(bytes)))
}
