//! What a server says no with, and what keeps it from saying anything.

use std::error::Error;
use std::fmt;

use hyper::StatusCode;
use serde_json::Value;

use super::Address;

/// Why a server did not do what was asked.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// Nothing answers there.
    NoServer {
        /// Where.
        at: Address,
        /// What the system says.
        why: String,
    },
    /// It said no.
    Refused(Box<Refused>),
    /// It is not for certain who it should be.
    Untrusted(String),
    /// It said nothing that could be understood, or broke off.
    Broken(String),
}

/// What a server says when it says no.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The status of the answer.
    pub(crate) status: StatusCode,
    /// Its kind, for programs: `not-found`, `already-settled`…
    pub(crate) kind: String,
    /// For people: what, and what to do about it.
    pub(crate) detail: String,
    /// Seconds after which it makes sense to ask again.
    pub(crate) retry_after: Option<u64>,
    /// Everything it said.
    pub(crate) body: Value,
    /// Whether it was asked with a key.
    pub(crate) with_key: bool,
}

impl Refused {
    /// Reads problem details.
    pub(super) fn read(status: StatusCode, body: &Value, retry_after: Option<u64>) -> Option<Self> {
        let kind = body.get("type")?.as_str()?.rsplit(':').next()?.to_owned();
        let detail = body.get("detail")?.as_str()?.to_owned();
        Some(Self { status, kind, detail, retry_after, body: body.clone(), with_key: false })
    }
}

impl ClientError {
    /// Something answers there, but no server of ours.
    pub(super) fn not_ours(status: StatusCode) -> Self {
        Self::Broken(format!("this does not look like a Countersign server: it answered {status}"))
    }

    /// What the server said, if it said no.
    pub(crate) fn refused(&self) -> Option<&Refused> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::NoServer { .. } | Self::Untrusted(_) | Self::Broken(_) => None,
        }
    }

    /// Whether it is the same as no server at all: nothing was said that counts as an answer.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Self::NoServer { .. } | Self::Untrusted(_) | Self::Broken(_) => true,
            Self::Refused(refused) => refused.status.is_server_error(),
        }
    }

    /// Whether the same request may be answered in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::NoServer { .. } | Self::Broken(_) => true,
            Self::Untrusted(_) => false,
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
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        match self.kind.as_str() {
            "not-signed-in" if self.with_key => f.write_str(
                "; the key may be revoked, over or for another server: `countersign keys list` \
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
