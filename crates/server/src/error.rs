//! Errors as problem details (RFC 9457). Every status that the server answers is chosen here.
//!
//! The caller and the log are told different things: a failure of the store is logged with its
//! details, and the caller learns only that it failed.

use std::fmt;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use countersign_core::Judgement;
use countersign_core::redact::redact;
use serde_json::{Map, Value, json};

mod gate;

/// An error for the caller. Whatever it is, nothing was allowed because of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    status: StatusCode,
    /// An identifier of the kind of problem, for programs.
    slug: &'static str,
    /// An explanation for a person, with a remedy.
    detail: String,
    retry_after: Option<Duration>,
    more: Map<String, Value>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, slug: &'static str, detail: impl fmt::Display) -> Self {
        // Details quote input, which may contain secrets.
        let detail = redact(&detail.to_string()).text;
        Self { status, slug, detail, retry_after: None, more: Map::new() }
    }

    pub(crate) fn bad_request(detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "there is nothing by that name that you may see",
        )
    }

    pub(crate) fn not_signed_in(detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "not-signed-in", detail)
    }

    pub(crate) fn forbidden(slug: &'static str, detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::FORBIDDEN, slug, detail)
    }

    pub(crate) fn conflict(slug: &'static str, detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::CONFLICT, slug, detail)
    }

    /// The same with a more specific kind, for programs.
    pub(crate) fn with_kind(mut self, slug: &'static str) -> Self {
        self.slug = slug;
        self
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn with_judgement(self, judgement: Option<&Judgement>) -> Self {
        match judgement {
            Some(judgement) => self.with("judgement", json!(judgement)),
            None => self,
        }
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Whole seconds after which trying again may help. Rounded up: a caller that comes back too
    /// early would be told to wait again.
    pub(crate) fn retry_seconds(&self) -> Option<u64> {
        let wait = self.retry_after?.as_millis().div_ceil(1_000).max(1);
        Some(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// The problem as JSON, for places without an HTTP status.
    pub(crate) fn to_json(&self) -> Value {
        json!(self.to_wire())
    }

    /// The problem as it is sent.
    pub(crate) fn to_wire(&self) -> countersign_wire::Problem {
        countersign_wire::Problem {
            kind: countersign_wire::Problem::type_of(self.slug),
            title: self.status.canonical_reason().map(str::to_owned),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            more: self.more.clone(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/problem+json");
        let body = self.to_json().to_string();
        let mut response = (self.status, [(header::CONTENT_TYPE, json)], body).into_response();
        if let Some(seconds) = self.retry_seconds() {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response.extensions_mut().insert(Slug(self.slug));
        response.extensions_mut().insert(self);
        response
    }
}

/// The kind of problem in a response, for the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slug(pub(crate) &'static str);

pub(crate) fn too_many(
    slug: &'static str,
    detail: impl fmt::Display,
    wait: Option<Duration>,
) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, slug, detail).retry_after(wait)
}

#[cfg(test)]
mod tests {
    use countersign_gate::GateError;
    use countersign_gate::secret::{Secret, SecretKind};

    use super::*;

    #[test]
    fn a_problem_says_what_to_wait_for_and_never_what_was_secret() {
        let secret = Secret::from_bytes(SecretKind::Key, &[7; 32]).expose().to_owned();
        let problem = too_many("rate-limit", format!("too fast: `{secret}`"), None)
            .retry_after(Some(Duration::from_millis(1_200)));
        let body = problem.to_json().to_string();
        assert!(!body.contains(&secret), "{body}");
        assert_eq!(problem.into_response().headers().get("retry-after").unwrap(), "2");
    }

    #[test]
    fn what_failed_inside_is_not_told_outside() {
        let error = countersign_gate::store::StoreError("disk /srv/secret is full".to_owned());
        let body = Problem::from(GateError::Store(error)).to_json().to_string();
        assert!(!body.contains("secret"), "{body}");
    }
}
