//! Signing in: a link leads to a page, a button on it uses the link up, once.
//!
//! Looking at the page changes nothing: whatever opens links before people do (a mail scanner, a
//! preview) uses none up. Whoever signs in gets a new device, whatever cookie they came with.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use countersign_gate::secret::Secret;
use countersign_gate::user::Device;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::{Remote, Signed, cookie, same_origin, set_cookie};
use crate::body::{self, Query, read};
use crate::error::Problem;
use crate::idempotent::Once;
use crate::reference::{escape, frame};
use crate::route::{Route, Who, get, post};

/// Which link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    link: Option<String>,
}

/// A device that signs in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// What stands behind `/sign-in?link=`.
    link: String,
    /// What you call this device.
    #[serde(default)]
    name: String,
}

/// A device that is signed in.
#[derive(Debug, Serialize, JsonSchema)]
struct SignedIn {
    device_id: String,
    /// What the device proves itself by, as `Authorization: Bearer`. Shown this once.
    secret: String,
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/", "home")
            .by(Who::Anybody)
            .says("Where to look.")
            .gives_media(200, "text/html")
            .to(home),
        get("/sign-in", "sign_in_page")
            .by(Who::Anybody)
            .says("The page a sign-in link leads to. Looking at it uses nothing up.")
            .query::<Which>()
            .gives_media(200, "text/html")
            .to(page),
        post("/sign-in", "sign_in_form")
            .by(Who::Anybody)
            .says("Signs a browser in by a link, once.")
            .takes_media("application/x-www-form-urlencoded")
            .gives_media(303, "")
            .to(form),
        post("/api/sign-in", "sign_in")
            .by(Who::Anybody)
            .says("Signs a program of a person in by a link, once.")
            .takes::<SignIn>()
            .gives::<SignedIn>(201)
            .to(sign_in),
        post("/api/sign-out", "sign_out")
            .says("Signs this device out, for good.")
            .gives_media(204, "")
            .to(sign_out),
    ]
}

async fn home(State(app): State<App>, remote: Remote, headers: HeaderMap) -> Html<String> {
    let person = match cookie(&headers, remote) {
        Some(secret) => app.gate.sign_in(&secret).await.ok(),
        None => None,
    };
    let who = match person {
        Some(person) => format!("You are signed in as <b>{}</b>.", escape(&person.user().name)),
        None => "You are not signed in: open the link that the server printed, or one that a \
                 signed-in device made."
            .to_owned(),
    };
    Html(frame(
        "Countersign",
        &format!(
            "<main class=\"card\"><h1>Countersign</h1><p>The gate is running. {who}</p>\
             <p>Answer questions with <code>countersign watch</code> in a terminal; \
             programs find <a href=\"/api/docs\">the API here</a>.</p></main>"
        ),
    ))
}

async fn page(Query(which): Query<Which>) -> Html<String> {
    let link = escape(which.link.as_deref().unwrap_or_default());
    Html(frame(
        "Sign in to Countersign",
        &format!(
            "<main class=\"card\"><h1>Sign in</h1>\
             <p>This link signs one device in, once.</p>\
             <form method=\"post\" action=\"/sign-in\">\
             <label for=\"link\">Link</label>\
             <input id=\"link\" name=\"link\" value=\"{link}\" autocomplete=\"off\" required>\
             <label for=\"name\">What do you call this device?</label>\
             <input id=\"name\" name=\"name\" value=\"Browser\" maxlength=\"100\" required>\
             <button>Sign in on this device</button></form></main>"
        ),
    ))
}

async fn form(
    State(app): State<App>,
    remote: Remote,
    request: Request,
) -> Result<Response, Problem> {
    // Another site must not sign somebody in as somebody else.
    same_origin(request.headers(), remote)?;
    let limits = app.settings.limits;
    let bytes = read(request.into_body(), 4_096, limits.body()).await?;
    let fields: SignIn = match axum::extract::Query::try_from_uri(&uri(&bytes)?) {
        Ok(fields) => fields.0,
        Err(error) => return Err(Problem::bad_request(error.body_text())),
    };
    let secret = accept(&app, &fields).await?;
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response();
    if let Some(cookie) = set_cookie(Some(&secret), remote) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// A form's fields are written like a query.
fn uri(form: &[u8]) -> Result<axum::http::Uri, Problem> {
    let text = std::str::from_utf8(form).ok();
    let uri = text.and_then(|text| format!("/?{text}").parse().ok());
    uri.ok_or_else(|| Problem::bad_request("this form is not understood"))
}

async fn sign_in(
    State(app): State<App>,
    body::Json(fields): body::Json<SignIn>,
) -> Result<Once<(StatusCode, Json<SignedIn>)>, Problem> {
    let secret = accept(&app, &fields).await?;
    let device_id = Device::id_of(&secret).to_string();
    let signed_in = SignedIn { device_id, secret: secret.expose().to_owned() };
    Ok(Once((StatusCode::CREATED, Json(signed_in))))
}

async fn accept(app: &App, fields: &SignIn) -> Result<Secret, Problem> {
    let link = Secret::parse(fields.link.trim()).map_err(Problem::bad_request)?;
    let name = if fields.name.trim().is_empty() { "Device" } else { &fields.name };
    Ok(app.gate.accept(&link, &crate::api::name(name)?).await?)
}

async fn sign_out(
    State(app): State<App>,
    Signed(person): Signed,
    remote: Remote,
) -> Result<Response, Problem> {
    app.gate.sign_out(&person).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let cookie = set_cookie(None, remote).unwrap_or(HeaderValue::from_static(""));
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}
