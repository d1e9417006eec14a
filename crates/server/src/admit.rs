//! Admission: a request is let in by the access rules of its route, or refused, before its handler
//! sees it.
//!
//! Credentials are read in `auth`. A page sends people to sign in, and shows errors as pages; a
//! write with an idempotency key is done once.

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::app::App;
use crate::auth::{CSRF, FROM_AN_AGENT, Identity, Remote, identify};
use crate::behind::NextStep;
use crate::body::read;
use crate::error::Problem;
use crate::html::{Text, go, render_problem};
use crate::idempotent;
use crate::parameter;
use crate::route::{Lookup, RoutePolicy, Who};

/// Query parameters that every page takes: `done` names the form that has just been processed.
const OF_PAGES: &[&str] = &["done"];

/// Authenticates a request, and refuses it or passes it on.
pub(crate) async fn admit(
    app: &App,
    route_policy: RoutePolicy,
    request: Request,
    behind: NextStep<'_>,
) -> Response {
    if route_policy.page {
        return Box::pin(admit_to_page(app, route_policy, request, behind)).await;
    }
    let request = match let_in(app, route_policy, request).await {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    if route_policy.may_be_sent_twice && request.headers().contains_key(idempotent::KEY) {
        return Box::pin(idempotent::once(app, route_policy.permits, request, behind)).await;
    }
    behind.run(app, request).await
}

/// Does the same for a page. A person who must sign in first is sent to the sign-in page, and
/// errors are pages too.
async fn admit_to_page(
    app: &App,
    route_policy: RoutePolicy,
    request: Request,
    behind: NextStep<'_>,
) -> Response {
    let t = Text::wanted(request.headers());
    let response = match let_in(app, route_policy, request).await {
        Ok(request) => behind.run(app, request).await,
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => go("/sign-in"),
        Err(problem) => problem.into_response(),
    };
    render_problem(t, response)
}

async fn let_in(
    app: &App,
    route_policy: RoutePolicy,
    request: Request,
) -> Result<Request, Problem> {
    let (mut parts, mut body) = request.into_parts();
    if route_policy.page && route_policy.who == Who::Person && is_form(&parts) {
        body = csrf_from_form(app, &mut parts, body).await?;
    }
    if let Some(identity) = recognise(app, &parts, route_policy).await? {
        parts.extensions.insert(identity);
    }
    let of_all = if route_policy.page { OF_PAGES } else { &[] };
    parameter::refuse_unknown(&parts.uri, route_policy.parameters, of_all)?;
    Ok(Request::from_parts(parts, body))
}

fn is_form(request: &Parts) -> bool {
    let media = request.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let media = media.and_then(|media| media.split(|byte| *byte == b';').next());
    request.method == Method::POST
        && media
            .is_some_and(|media| media.eq_ignore_ascii_case(b"application/x-www-form-urlencoded"))
}

/// Takes the CSRF token from a field of a form, as a script sends it in a header. The body is
/// passed on unchanged.
async fn csrf_from_form(app: &App, request: &mut Parts, body: Body) -> Result<Body, Problem> {
    let limits = app.settings.limits;
    let bytes = read(body, limits.body_bytes, limits.body()).await?;
    if !request.headers.contains_key(CSRF) {
        let mut fields = form_urlencoded::parse(&bytes);
        let token = fields.find(|(name, _)| name == "csrf");
        let token = token.and_then(|(_, token)| HeaderValue::from_str(&token).ok());
        request.headers.extend(token.map(|token| (HeaderName::from_static(CSRF), token)));
    }
    Ok(Body::from(bytes.to_vec()))
}

async fn recognise(
    app: &App,
    request: &Parts,
    RoutePolicy { who, look, needs_device, .. }: RoutePolicy,
) -> Result<Option<Identity>, Problem> {
    let (headers, method) = (&request.headers, &request.method);
    let remote = request.extensions.get::<Remote>().copied().unwrap_or_default();
    let identity = match who {
        Who::Anybody | Who::KeyAnywhere => return Ok(None),
        Who::Person | Who::Either | Who::PersonOrKey | Who::PersonOrLocalAgent => {
            // A stored answer is given without asking the gate.
            let look = if headers.contains_key(idempotent::KEY) { Lookup::Fresh } else { look };
            identify(app, headers, method, remote, look).await?
        }
    };
    match &identity {
        Identity::Person(person) if needs_device && person.is_unproven() => Err(needs_a_device()),
        Identity::Person(_) => Ok(Some(identity)),
        Identity::Caller(caller) => {
            let local = caller.local_agents().is_some();
            let let_in = match who {
                Who::Person => false,
                Who::PersonOrKey => !local,
                Who::PersonOrLocalAgent => local,
                Who::Anybody | Who::KeyAnywhere | Who::Either => true,
            };
            let why = if local { FROM_AN_AGENT } else { WITH_A_KEY };
            if let_in { Ok(Some(identity)) } else { Err(Problem::forbidden("people-only", why)) }
        }
    }
}

const WITH_A_KEY: &str = "this is for people: keys of agents and programs cannot use it";
fn needs_a_device() -> Problem {
    let detail = "you have a signed-in device: do this there, or with its secret; over the socket \
                  alone you can look, say no and stop things";
    Problem::forbidden("needs-device", detail)
}
