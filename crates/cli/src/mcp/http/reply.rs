//! Answers of the HTTP endpoint, and the requests that it answers at all.

use std::convert::Infallible;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use crate::mcp::message::{Era, Message, code};

pub(super) type Reply = Response<BoxBody<Bytes, Infallible>>;

pub(super) fn json(status: StatusCode, message: &Message) -> Reply {
    let mut reply = plain(status, &message.to_string());
    let kind = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(header::CONTENT_TYPE, kind);
    reply
}

pub(super) fn plain(status: StatusCode, text: &str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(text.to_owned())).boxed());
    *reply.status_mut() = status;
    reply
}

pub(super) fn not_allowed() -> Reply {
    let mut reply = plain(StatusCode::METHOD_NOT_ALLOWED, "");
    reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    reply
}

/// The HTTP status for a JSON-RPC error, in the new era.
pub(super) fn status(message: &Message, era: Era) -> StatusCode {
    match (era, message.error_code()) {
        (Era::Modern, Some(code::NO_METHOD)) => StatusCode::NOT_FOUND,
        (Era::Modern, Some(-32_700 | -32_600 | -32_602 | -32_099..=-32_020)) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

/// Reports whether a request is neither from a web page elsewhere nor sent to a domain that was
/// made to resolve to this machine (DNS rebinding).
pub(super) fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str());
    let host = match text(header::HOST) {
        Some(Ok(host)) => is_this_machine(&format!("http://{host}/")),
        Some(Err(_)) | None => false,
    };
    let origin = match text(header::ORIGIN) {
        None => true,
        Some(Ok(origin)) => is_this_machine(origin),
        Some(Err(_)) => false,
    };
    host && origin
}

fn is_this_machine(url: &str) -> bool {
    let Ok(url) = url::Url::parse(url) else { return false };
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_may_ask() {
        let from = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            is_from_here(&headers)
        };
        assert!(from("127.0.0.1:8000", None) && from("localhost", Some("http://localhost:3000")));
        assert!(from("[::1]:8000", Some("http://127.0.0.1")));
        assert!(!from("evil.example", None), "a name that was made to lead here");
        assert!(
            !from("127.0.0.1", Some("https://evil.example")) && !from("127.0.0.1", Some("null"))
        );
        assert!(!is_from_here(&HeaderMap::new()));
    }
}
