//! The middleware around every request: the check of the `Host` header, the request id, the log
//! line, and the security headers for browsers.

use std::net::IpAddr;
use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::admit::admit;
use crate::app::App;
use crate::auth::Remote;
use crate::behind::NextStep;
use crate::decision::Decision;
use crate::error::{Problem, Slug};
use crate::route::RoutePolicy;
use crate::trace::Span;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Handles a request before everything else, and its response after everything else. Without a
/// `route_policy`, the request matches no route.
pub(crate) async fn around_request(
    app: &App,
    route_policy: Option<RoutePolicy>,
    request: Request,
    behind: NextStep<'_>,
) -> Response {
    let began = Instant::now();
    let id = request_id(app, request.headers());
    let method = known(request.method());
    let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let route = route_policy.map_or("no such route", |route_policy| route_policy.path);
    let span = app.tracer.as_ref().map(|_| Span::begin(request.headers(), &method, route));
    let lasting = lasting_https(&request);
    let mut response = if is_ours(app, &request) {
        match route_policy {
            Some(route_policy) => admit(app, route_policy, request, behind).await,
            None => behind.run(app, request).await,
        }
    } else {
        let detail = "this server does not answer to that name: see `server.names`";
        Problem::new(StatusCode::MISDIRECTED_REQUEST, "other-host", detail).into_response()
    };
    let status = response.status();
    let took = began.elapsed();
    app.metrics.answered(&method, route, status, took);
    if let (Some(tracer), Some(span)) = (&app.tracer, span) {
        tracer.end(&span, status, response.extensions().get::<Decision>());
    }
    // Neither addresses nor queries nor bodies: data about people belongs in the gate's audit
    // record.
    let slug = response.extensions().get::<Slug>().map(|slug| slug.0);
    let (status, micros) = (status.as_u16(), u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    if status >= 500 {
        tracing::warn!(%method, route, status, micros, request = id, problem = slug, "failed");
    } else {
        tracing::debug!(%method, route, status, micros, request = id, problem = slug, "answered");
    }
    protect(response.headers_mut(), id);
    if lasting {
        let year = HeaderValue::from_static("max-age=31536000");
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    if chunked {
        // A proxy in between may have gone by a `Content-Length` that we ignored: the next bytes on
        // this connection may be a smuggled request.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The method, for logs and metrics: an unknown one is not counted by its own name.
fn known(method: &Method) -> Method {
    let all = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ];
    let other = || Method::from_bytes(b"OTHER").unwrap_or_default();
    all.into_iter().find(|known| known == method).unwrap_or_else(other)
}

/// Reports whether a request names this server. Another name that resolves to it may be DNS
/// rebinding, which makes a browser take us for the attacker's own site. An IP address is safe: it
/// cannot be rebound.
fn is_ours(app: &App, request: &Request) -> bool {
    let remote = request.extensions().get::<Remote>().copied().unwrap_or_default();
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    // An absolute URI in the request line takes precedence over `Host`, so both must name the same.
    let asked = request.uri().authority();
    if asked.is_some_and(|asked| !asked.as_str().eq_ignore_ascii_case(host)) {
        return false;
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let named = || app.settings.names.iter().any(|own| own.eq_ignore_ascii_case(name));
    literal.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || named()
        || remote.peer.is_some()
}

/// Reports whether a browser should use TLS only from now on (HSTS). Not for `localhost`: that
/// would affect every other program of the machine as well. Browsers ignore it for IP addresses.
fn lasting_https(request: &Request) -> bool {
    let remote = request.extensions().get::<Remote>().copied().unwrap_or_default();
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let name = host.unwrap_or_default().split(':').next().unwrap_or_default();
    remote.is_https() && !name.eq_ignore_ascii_case("localhost")
}

/// The caller's own request id, if it is valid; otherwise a new one.
fn request_id(app: &App, headers: &HeaderMap) -> String {
    let sound = |text: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=64).contains(&text.len()) && text.bytes().all(plain)
    };
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    given.filter(sound).map_or_else(|| app.name_request(), str::to_owned)
}

const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

fn protect(headers: &mut HeaderMap, id: String) {
    // Including the date that hyper adds, so that the map need not grow.
    headers.reserve(8);
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert(REQUEST_ID, id);
    }
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Other sites get no referrer. Our own pages do: without it a browser hides the origin of
        // their forms, and those are refused.
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
