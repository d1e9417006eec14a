//! The errors of a server's client: refusals, and failures to get an answer.

use std::error::Error;
use std::fmt;

use countersign_wire::Problem;
use hyper::StatusCode;
use serde_json::Value;

use super::Address;

/// The reason why a request failed.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// Nothing answers at the address.
    NoServer {
        /// The address.
        at: Address,
        /// The error of the operating system.
        why: String,
    },
    /// The server refused.
    Refused(Box<Refused>),
    /// The server's identity could not be verified.
    Untrusted(String),
    /// The connection broke, or what answers is not a Countersign server.
    Broken(String),
    /// The server answered in a way that this version does not know: it is newer.
    Unknown,
}

/// A refusal of the server.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The HTTP status.
    pub(crate) status: StatusCode,
    /// Its kind, for programs: `not-found`, `already-settled`…
    pub(crate) kind: String,
    /// The explanation for people, and what to do about it.
    pub(crate) detail: String,
    /// Seconds after which a retry makes sense.
    pub(crate) retry_after: Option<u64>,
    /// The whole problem.
    pub(crate) problem: Problem,
    /// True when the request was made with a key.
    pub(crate) with_key: bool,
}

impl Refused {
    /// Parses problem details.
    pub(super) fn read(status: StatusCode, body: &Value, retry_after: Option<u64>) -> Option<Self> {
        let problem: Problem = serde_json::from_value(body.clone()).ok()?;
        let (kind, detail) = (problem.slug().to_owned(), problem.detail.clone());
        Some(Self { status, kind, detail, retry_after, problem, with_key: false })
    }
}

impl ClientError {
    /// Something answers there, but it is not a Countersign server.
    pub(super) fn not_ours(status: StatusCode) -> Self {
        Self::Broken(format!("this does not look like a Countersign server: it answered {status}"))
    }

    /// Returns the refusal, if the server refused.
    pub(crate) fn refused(&self) -> Option<&Refused> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::NoServer { .. } | Self::Untrusted(_) | Self::Broken(_) | Self::Unknown => None,
        }
    }

    /// Reports whether this counts as no server at all: nothing came that counts as an answer.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Self::NoServer { .. } | Self::Untrusted(_) | Self::Broken(_) => true,
            // An answer all the same, and no yes.
            Self::Unknown => false,
            Self::Refused(refused) => refused.status.is_server_error(),
        }
    }

    /// Reports whether the same request may succeed in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::NoServer { .. } | Self::Broken(_) => true,
            Self::Untrusted(_) | Self::Unknown => false,
            Self::Refused(refused) => {
                refused.status.is_server_error() || refused.retry_after.is_some()
            }
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServer { at: at @ Address::Socket(_), why } => {
                write!(f, "no server runs at {at} ({why}): start one with `countersign serve`")
            }
            Self::NoServer { at, why } => {
                write!(
                    f,
                    "the server at {at} cannot be reached ({why}): is it running, and is the \
                           address right?"
                )
            }
            Self::Refused(refused) => refused.fmt(f),
            Self::Untrusted(why) | Self::Broken(why) => f.write_str(why),
            Self::Unknown => {
                f.write_str("the server answers in a way that this version does not know")
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        match self.kind.as_str() {
            "not-signed-in" if self.with_key => f.write_str(
                "; the key may be revoked, expired or for another server: `countersign keys list` \
                 shows it, `countersign keys create` makes another",
            )?,
            "device-unknown" | "device-not-approved" if self.with_key => write!(
                f,
                "; `countersign devices request NAME` asks for this machine and gives what ${} \
                 must hold",
                super::MACHINE
            )?,
            "not-signed-in" => {
                write!(f, "; a person sets ${} (see `countersign sign-in --help`)", super::DEVICE)?;
            }
            "needs-device" => {
                write!(
                    f,
                    "; to do it here, make a link on that device (page Developer) and run `eval \
                     \"$(countersign sign-in LINK)\"`, which sets ${}",
                    super::DEVICE
                )?;
            }
            _ => {}
        }
        match self.retry_after {
            Some(1) => f.write_str("; try again in 1 second"),
            Some(seconds) => write!(f, "; try again in {seconds} seconds"),
            None => Ok(()),
        }
    }
}

impl Error for ClientError {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_one_line_that_says_when_to_come_back() {
        let body = json!({"type": "urn:countersign:problem:busy", "detail": "too much at once"});
        let refused = Refused::read(StatusCode::SERVICE_UNAVAILABLE, &body, Some(3)).unwrap();
        assert_eq!(refused.kind, "busy");
        assert_eq!(refused.to_string(), "too much at once; try again in 3 seconds");
        assert!(Refused::read(StatusCode::OK, &json!({"error": "x"}), None).is_none());
    }
}
