//! The errors of the gate as problems: each gets its status and its name for programs here.

use axum::http::StatusCode;
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
use serde_json::json;
use std::time::Duration;

use super::{Problem, too_many};

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
