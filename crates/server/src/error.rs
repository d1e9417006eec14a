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
use countersign_gate::GateError;
use countersign_gate::gate::{
    AnswerError, AuthError, IdempotencyError, MachineError, ModeError, NotReady, OfflineError,
    PeopleError, ReadError, ReportError, SpendError, StartError,
};
use countersign_gate::id::IdError;
use countersign_gate::judging::NotJudged;
use countersign_gate::proposal::{Refusal, Why};
use countersign_gate::session::{Response as Consequence, Violation};
use countersign_gate::transfer::TransferError;
use serde_json::{Map, Value, json};

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

impl From<GateError> for Problem {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Busy | GateError::Outdated => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too much at once: try again")
                    .retry_after(Some(Duration::from_secs(1)))
            }
            GateError::Revoked(_) => Self::not_signed_in(error),
            GateError::NotJudged(NotJudged::Full) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error)
                    .retry_after(Some(Duration::from_secs(1)))
            }
            GateError::NotJudged(NotJudged::OverBudget(wait)) => {
                too_many("rate-limit", error, Some(wait))
            }
            GateError::Store(_) | GateError::Chance(_) => {
                tracing::error!(%error, "the gate failed");
                let detail = "the gate is not working: nothing was allowed; see its log";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "gate-failed", detail)
            }
        }
    }
}

impl From<NotReady> for Problem {
    fn from(error: NotReady) -> Self {
        match error {
            NotReady::Refused(refusal) => (*refusal).into(),
            NotReady::Gate(error) => error.into(),
            NotReady::NoWorker => {
                let detail = "no worker is connected that can do this here";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "no-worker", detail)
            }
        }
    }
}

impl From<PeopleError> for Problem {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::NotFound => Self::not_found(),
            PeopleError::NotAllowed => Self::forbidden("not-allowed", error),
            PeopleError::Locked(_) => Self::forbidden("locked", error),
            PeopleError::SwitchedOff => Self::conflict("switched-off", error),
            PeopleError::Link => Self::new(StatusCode::GONE, "link", error),
            PeopleError::NotSignedIn => Self::not_signed_in(error),
            PeopleError::NotForModels(_) | PeopleError::NotForBots => Self::bad_request(error),
            PeopleError::SignedIn => Self::conflict("signed-in", error),
            PeopleError::Bot => Self::conflict("bot", error),
            PeopleError::Kept => Self::forbidden("kept", error),
            PeopleError::Tampered(_) => Self::conflict("tampered", error),
            PeopleError::TooManyWaiting => too_many("too-many-devices", error, None),
            PeopleError::Gate(error) => error.into(),
        }
    }
}

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Key => Self::not_signed_in(error),
            AuthError::NoDevice => Self::forbidden("device-unknown", error),
            AuthError::Device(ref device) => {
                let device = device.to_string();
                Self::forbidden("device-not-approved", error).with("device_id", device)
            }
            AuthError::TooManyWaiting => too_many("too-many-devices", error, None),
            AuthError::Gate(error) => error.into(),
        }
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Halted => Self::forbidden("halted", error),
            StartError::NoConsent => Self::forbidden("no-consent", error),
            StartError::NotForAgents(_) | StartError::ConsentScope => {
                Self::forbidden("not-for-agents", error)
            }
            StartError::Workspace => Self::forbidden("workspace", error),
            StartError::Locked(_) => Self::forbidden("locked", error),
            StartError::Profile(_)
            | StartError::UnknownRule(_)
            | StartError::Origin(_)
            | StartError::Site(_) => Self::bad_request(error),
            StartError::TooMany(wait) => too_many("too-many-sessions", error, Some(wait)),
            StartError::Running => Self::conflict("session-running", error),
            StartError::Gate(error) => error.into(),
        }
    }
}

impl From<ModeError> for Problem {
    fn from(error: ModeError) -> Self {
        match error {
            ModeError::NotFound => Self::not_found(),
            ModeError::NotForAgents => Self::forbidden("not-for-agents", error),
            ModeError::Over => Self::conflict("session-over", error),
            ModeError::Gate(error) => error.into(),
        }
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::NotFound => Self::not_found(),
            AnswerError::Settled(state) => {
                Self::conflict("already-settled", error).with("state", state)
            }
            AnswerError::Token => Self::forbidden("token", error),
            AnswerError::OthersMustAgree => Self::forbidden("others-must-agree", error),
            AnswerError::FromTheAgent => Self::forbidden("from-the-agent", error),
            AnswerError::NeedsDevice => Self::forbidden("needs-device", error),
            AnswerError::NotForAlways => Self::conflict("not-for-always", error),
            AnswerError::EditedIsBlocked(_) => Self::forbidden("edited-is-blocked", error),
            AnswerError::EditedHasSecrets | AnswerError::NoneNamed => Self::bad_request(error),
            AnswerError::Halted => Self::forbidden("halted", error),
            AnswerError::Tampered(_) => Self::conflict("tampered", error),
            AnswerError::Gate(error) => error.into(),
        }
    }
}

impl From<SpendError> for Problem {
    fn from(error: SpendError) -> Self {
        match error {
            SpendError::NotFound => Self::not_found(),
            SpendError::Pending => Self::conflict("pending", error),
            SpendError::Settled(state) => {
                Self::conflict("already-settled", error).with("state", state)
            }
            SpendError::OtherAction => Self::conflict("other-action", error),
            SpendError::Scope(_) => Self::forbidden("scope", error),
            SpendError::TooFewAgree => Self::conflict("too-few-agree", error),
            SpendError::Session => Self::conflict("session-over", error),
            SpendError::Halted => Self::forbidden("halted", error),
            SpendError::Tampered(_) => Self::conflict("tampered", error),
            SpendError::Gate(error) => error.into(),
        }
    }
}

impl From<ReportError> for Problem {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::NotFound => Self::not_found(),
            ReportError::NotRunning(state) => {
                Self::conflict("not-running", error).with("state", state)
            }
            ReportError::Gate(error) => error.into(),
        }
    }
}

impl From<MachineError> for Problem {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::TooMany => too_many("too-many-machines", error, None),
            MachineError::Gate(error) => error.into(),
        }
    }
}

impl From<OfflineError> for Problem {
    fn from(error: OfflineError) -> Self {
        match error {
            OfflineError::Journal => Self::bad_request(error),
            OfflineError::Gap { next } => Self::conflict("gap", error).with("next", next),
            OfflineError::Gate(error) => error.into(),
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotAllowed => Self::forbidden("not-allowed", error),
            ReadError::Locked(_) => Self::forbidden("locked", error),
            ReadError::Kept => Self::forbidden("kept", error),
            ReadError::Scope => Self::forbidden("scope", error),
            ReadError::Gate(error) => error.into(),
        }
    }
}

impl From<TransferError> for Problem {
    fn from(error: TransferError) -> Self {
        let too_large = |slug| Self::new(StatusCode::PAYLOAD_TOO_LARGE, slug, &error);
        match error {
            TransferError::NotFound => Self::not_found(),
            TransferError::Off => Self::new(StatusCode::NOT_IMPLEMENTED, "no-files", error),
            TransferError::Halted => Self::forbidden("halted", error),
            TransferError::NotRunning(_) => Self::conflict("session-over", error),
            TransferError::Complete => Self::conflict("complete", error),
            TransferError::FileTooLarge { .. } => too_large("file-too-large"),
            TransferError::ChunkTooLarge { .. } => too_large("chunk-too-large"),
            TransferError::SessionFull { .. } => too_large("session-full"),
            TransferError::TooManyFiles { .. } => too_large("too-many-files"),
            TransferError::NotAsLarge { .. } => Self::conflict("not-as-large", error),
            TransferError::Offset { expected } => {
                Self::conflict("offset", error).with("offset", expected)
            }
            TransferError::Writing => Self::conflict("being-written", error),
            TransferError::Differs => Self::conflict("differs", error),
            TransferError::Lost => Self::new(StatusCode::GONE, "lost", error),
            TransferError::Disk(error) => {
                tracing::error!(%error, "a file could not be stored or read");
                let detail = "the file cannot be stored or read: see the server's log";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "disk", detail)
            }
            TransferError::Gate(error) => error.into(),
        }
    }
}

impl From<IdempotencyError> for Problem {
    fn from(error: IdempotencyError) -> Self {
        match error {
            IdempotencyError::Key => Self::bad_request(error),
            IdempotencyError::Gate(error) => error.into(),
        }
    }
}

impl From<IdError> for Problem {
    fn from(error: IdError) -> Self {
        Self::bad_request(error)
    }
}

/// An action that may not run.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let line = refusal.line();
        let Refusal { why, judgement, retry_after, hit } = refusal;
        let (status, slug) = refused(&why);
        let mut problem = Self::new(status, slug, line).retry_after(retry_after);
        if let Some(hit) = hit {
            problem = problem.with("limit", json!(hit));
        }
        let problem = match &why {
            Why::Violation(violation) => problem.with("violation", violation.as_str()),
            Why::Declined(Some(feedback)) => problem.with("feedback", feedback.as_str()),
            _ => problem,
        };
        problem.with_judgement(judgement.as_ref())
    }
}

impl Problem {
    pub(crate) fn with_judgement(self, judgement: Option<&Judgement>) -> Self {
        match judgement {
            Some(judgement) => self.with("judgement", json!(judgement)),
            None => self,
        }
    }
}

fn refused(why: &Why) -> (StatusCode, &'static str) {
    match why {
        Why::Halted => (StatusCode::FORBIDDEN, "halted"),
        Why::NoSession => (StatusCode::NOT_FOUND, "no-session"),
        Why::Ended(_) => (StatusCode::CONFLICT, "session-over"),
        Why::Paused => (StatusCode::CONFLICT, "session-paused"),
        Why::TooFast(_) | Why::Violation(Violation::RateLimit) => {
            (StatusCode::TOO_MANY_REQUESTS, "rate-limit")
        }
        Why::Violation(violation) => match violation.response() {
            Consequence::Wait => (StatusCode::TOO_MANY_REQUESTS, "violation"),
            Consequence::Skip => (StatusCode::FORBIDDEN, "violation"),
            Consequence::Pause | Consequence::End(_) => (StatusCode::CONFLICT, "violation"),
        },
        Why::Scope(_) => (StatusCode::FORBIDDEN, "scope"),
        Why::TooManyPending(_) => (StatusCode::TOO_MANY_REQUESTS, "too-many-pending"),
        Why::NobodyToAsk => (StatusCode::FORBIDDEN, "nobody-to-ask"),
        Why::NoCredential => (StatusCode::FORBIDDEN, "no-credential"),
        Why::Declined(_) => (StatusCode::FORBIDDEN, "declined"),
        Why::Blocked => (StatusCode::FORBIDDEN, "blocked"),
    }
}

pub(crate) fn too_many(
    slug: &'static str,
    detail: impl fmt::Display,
    wait: Option<Duration>,
) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, slug, detail).retry_after(wait)
}

#[cfg(test)]
mod tests {
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
