//! Signing in: a link leads to a page, and a button on it uses the link, once.
//!
//! Opening the page changes nothing: a program that opens links before people do (a mail scanner, a
//! preview) does not use them up. Signing in always makes a new device, whatever cookie came with
//! the request.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use countersign_gate::secret::Secret;
use countersign_gate::user::Device;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::{Remote, Signed, refuse_agents, same_origin, set_cookie};
use crate::body::{self, Form, Query};
use crate::error::Problem;
use crate::html::{Text, go, show};
use crate::idempotent::Once;
use crate::route::{Route, Who, form, page, post};

/// The link to sign in with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    link: Option<String>,
}

/// A device that signs in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// The value for `/sign-in?link=`.
    link: String,
    /// Your name for this device.
    #[serde(default)]
    name: String,
}

/// A device that is signed in.
#[derive(Debug, Serialize, JsonSchema)]
struct SignedIn {
    device_id: String,
    /// The secret the device authenticates with, as `Authorization: Bearer`. Shown this once.
    secret: String,
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        page("/sign-in", "sign_in_page")
            .by(Who::Anybody)
            .says("The page a sign-in link leads to. Viewing it does not use the link up.")
            .query::<ListQuery>()
            .to(look),
        form("/sign-in", "sign_in_form")
            .by(Who::Anybody)
            .says("Signs a browser in with a link, once.")
            .to(sign_in_browser),
        form("/sign-out", "sign_out_form")
            .says("Signs this browser out permanently.")
            .to(sign_out_browser),
        post(path::SIGN_IN, "sign_in")
            .by(Who::Anybody)
            .says("Signs a program of a person in with a link, once.")
            .takes::<SignIn>()
            .gives::<SignedIn>(201)
            .to(sign_in),
        post(path::SIGN_OUT, "sign_out")
            .says("Signs this device out permanently.")
            .gives_media(204, "")
            .to(sign_out),
    ]
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page {
    t: Text,
    link: String,
}

async fn look(Query(which): Query<ListQuery>, headers: HeaderMap) -> Result<Html<String>, Problem> {
    show(&Page { t: Text::wanted(&headers), link: which.link.unwrap_or_default() })
}

async fn sign_in_browser(
    State(app): State<App>,
    remote: Remote,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Problem> {
    // Another site must not sign somebody in as somebody else.
    same_origin(&headers, remote)?;
    let name = form.get("name").unwrap_or_default().to_owned();
    let fields = SignIn { link: form.need("link")?.to_owned(), name };
    let secret = accept(&app, remote, &fields).await?;
    let mut response = go("/");
    if let Some(cookie) = set_cookie(Some(&secret), remote) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn sign_in(
    State(app): State<App>,
    remote: Remote,
    body::Json(fields): body::Json<SignIn>,
) -> Result<Once<(StatusCode, Json<SignedIn>)>, Problem> {
    let secret = accept(&app, remote, &fields).await?;
    let device_id = Device::id_of(&secret).to_string();
    let signed_in = SignedIn { device_id, secret: secret.expose().to_owned() };
    Ok(Once((StatusCode::CREATED, Json(signed_in))))
}

async fn accept(app: &App, remote: Remote, fields: &SignIn) -> Result<Secret, Problem> {
    refuse_agents(app, remote)?;
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
    Ok(without_cookie(StatusCode::NO_CONTENT.into_response(), remote))
}

async fn sign_out_browser(
    State(app): State<App>,
    Signed(person): Signed,
    remote: Remote,
) -> Result<Response, Problem> {
    app.gate.sign_out(&person).await?;
    Ok(without_cookie(go("/sign-in"), remote))
}

fn without_cookie(mut response: Response, remote: Remote) -> Response {
    let cookie = set_cookie(None, remote).unwrap_or(HeaderValue::from_static(""));
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}
