//! The states of an approval, and the steps between them.
//!
//! Every step takes the state and returns the next, or reports that this one is settled. A step on
//! a value that was read earlier counts only once the store's compare-and-set has succeeded.

use std::collections::BTreeSet;

use countersign_wire::ApprovalState;
pub use countersign_wire::{Outcome, Scope};
use serde::{Deserialize, Serialize};

use crate::approval::{Request, canonical};
use crate::bytes::Sign;
use crate::clock::Timestamp;
use crate::id::{ApprovalId, DeviceId, UserId};
use crate::keyring::{Keyring, PublicKey, Purpose};

/// The state of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ApprovalState"))]
#[serde(tag = "state", rename_all = "snake_case")]
#[expect(missing_docs, reason = "each field is the word it stands for")]
pub enum State {
    /// Nobody, or not everybody needed, has answered.
    Pending { votes: Vec<Vote> },
    /// It may run, once, until then.
    Approved { decision: Decision, until: Timestamp },
    /// Somebody said no.
    Rejected { decision: Decision },
    /// Nobody answered in time, or it was not run in time.
    Expired { at: Timestamp },
    /// It is no longer wanted.
    Cancelled { at: Timestamp, why: Cancel },
    /// It runs; by then we want to hear how it went.
    Started { decision: Decision, at: Timestamp, until: Timestamp },
    /// It ran.
    Done { decision: Decision, at: Timestamp },
    /// It failed.
    Failed { decision: Decision, at: Timestamp },
    /// It started, and nobody said how it went. Never run again by itself: a person decides.
    Unknown { decision: Decision, at: Timestamp },
}

/// The reason for which an approval is no longer wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cancel {
    /// The session ended.
    SessionEnded,
    /// The kill switch.
    Halted,
    /// The agent no longer wants it.
    Withdrawn,
    /// The user for whom the agent worked was removed.
    UserRemoved,
    /// A person wanted the action otherwise.
    Replaced {
        /// The question about the action as they want it.
        by: ApprovalId,
    },
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may run.
    Approve,
    /// It may not.
    Reject,
}

/// One person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vote {
    /// The person who voted.
    pub by: UserId,
    /// On which device; none for a channel such as a terminal.
    pub device: Option<DeviceId>,
    /// The time of the vote.
    pub at: Timestamp,
    /// The server's signature over all of it and the request's signature: a yes that waits for
    /// others must not be one that somebody wrote into the database.
    signature: Sign,
}

/// A signed decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// Yes or no.
    pub say: Answer,
    /// Everybody whose word it took.
    pub votes: Vec<Vote>,
    /// The time of the decision.
    pub at: Timestamp,
    /// The reach of the decision.
    pub scope: Scope,
    /// A message from the person to the agent, redacted.
    pub feedback: Option<String>,
    /// The server's signature over all of it and the request's signature.
    signature: Sign,
}

/// An approval that is already settled: this step comes too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("already settled")]
pub struct SettledError;

/// A person's answer, before it is applied to the state.
#[derive(Debug, Clone)]
pub(crate) struct CheckedAnswer {
    pub(crate) say: Answer,
    pub(crate) vote: Vote,
    pub(crate) scope: Scope,
    pub(crate) feedback: Option<String>,
    /// The time by which an approval must be used.
    pub(crate) until: Timestamp,
}

impl State {
    /// Records a person's answer. One rejection settles it; approvals settle it once enough
    /// different people have approved.
    pub(crate) fn answer(
        self,
        request: &Request,
        request_signature: &Sign,
        answer: CheckedAnswer,
        keyring: &Keyring,
    ) -> Result<Self, SettledError> {
        let now = answer.vote.at;
        match self {
            Self::Pending { mut votes } if now < request.expires_at => {
                let until = answer.until;
                // Two votes of the same person count once.
                if votes.iter().all(|vote| vote.by != answer.vote.by) {
                    votes.push(answer.vote.clone());
                }
                match answer.say {
                    Answer::Reject => {
                        let answer = CheckedAnswer { scope: Scope::Once, ..answer };
                        let votes = vec![answer.vote.clone()];
                        let decision = Decision::sign(answer, votes, request_signature, keyring);
                        Ok(Self::Rejected { decision })
                    }
                    Answer::Approve if distinct(&votes) < usize::from(request.quorum.need) => {
                        Ok(Self::Pending { votes })
                    }
                    Answer::Approve => {
                        let decision = Decision::sign(answer, votes, request_signature, keyring);
                        Ok(Self::Approved { decision, until })
                    }
                }
            }
            Self::Pending { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Started { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => Err(SettledError),
        }
    }

    /// Spends an approval. From here on the action runs, or its outcome is unknown.
    pub(crate) fn spend(self, now: Timestamp, report_by: Timestamp) -> Result<Self, SettledError> {
        match self {
            Self::Approved { decision, until } if now < until => {
                Ok(Self::Started { decision, at: now, until: report_by })
            }
            Self::Approved { .. }
            | Self::Pending { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Started { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => Err(SettledError),
        }
    }

    /// Records the outcome. A late report is accepted too.
    pub(crate) fn report(self, outcome: Outcome, now: Timestamp) -> Result<Self, SettledError> {
        match self {
            Self::Started { decision, .. } | Self::Unknown { decision, .. } => Ok(match outcome {
                Outcome::Done => Self::Done { decision, at: now },
                Outcome::Failed => Self::Failed { decision, at: now },
            }),
            Self::Pending { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Done { .. }
            | Self::Failed { .. } => Err(SettledError),
        }
    }

    /// Applies expiry, if its time has come; a run that was not reported becomes unknown.
    pub(crate) fn expire(self, request: &Request, now: Timestamp) -> Result<Self, SettledError> {
        match self {
            Self::Pending { .. } if now >= request.expires_at => Ok(Self::Expired { at: now }),
            Self::Approved { until, .. } if now >= until => Ok(Self::Expired { at: now }),
            Self::Started { decision, until, .. } if now >= until => {
                Ok(Self::Unknown { decision, at: now })
            }
            Self::Pending { .. }
            | Self::Approved { .. }
            | Self::Started { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => Err(SettledError),
        }
    }

    /// Records that nobody will ever say how a run went: what ran it is gone.
    pub(crate) fn lose(self, now: Timestamp) -> Result<Self, SettledError> {
        match self {
            Self::Started { decision, .. } => Ok(Self::Unknown { decision, at: now }),
            Self::Pending { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => Err(SettledError),
        }
    }

    /// Cancels the question. An action that already runs cannot be cancelled.
    pub(crate) fn cancel(self, why: Cancel, now: Timestamp) -> Result<Self, SettledError> {
        match self {
            Self::Pending { .. } | Self::Approved { .. } => Ok(Self::Cancelled { at: now, why }),
            Self::Started { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => Err(SettledError),
        }
    }

    /// The name of the state, as a text.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.name().as_str()
    }

    /// The name of the state.
    #[must_use]
    pub const fn name(&self) -> ApprovalState {
        match self {
            Self::Pending { .. } => ApprovalState::Pending,
            Self::Approved { .. } => ApprovalState::Approved,
            Self::Rejected { .. } => ApprovalState::Rejected,
            Self::Expired { .. } => ApprovalState::Expired,
            Self::Cancelled { .. } => ApprovalState::Cancelled,
            Self::Started { .. } => ApprovalState::Started,
            Self::Done { .. } => ApprovalState::Done,
            Self::Failed { .. } => ApprovalState::Failed,
            Self::Unknown { .. } => ApprovalState::Unknown,
        }
    }

    /// Reports whether it is pending.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        matches!(self, Self::Pending { .. })
    }

    /// The decision, if there is one.
    #[must_use]
    pub const fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Approved { decision, .. }
            | Self::Rejected { decision }
            | Self::Started { decision, .. }
            | Self::Done { decision, .. }
            | Self::Failed { decision, .. }
            | Self::Unknown { decision, .. } => Some(decision),
            Self::Pending { .. } | Self::Expired { .. } | Self::Cancelled { .. } => None,
        }
    }

    /// Reports whether every vote and decision in it is signed by the server, and the state is the
    /// one that follows from them.
    pub(crate) fn is_signed(&self, request: &Sign, key: &PublicKey) -> bool {
        let say = match self {
            Self::Pending { votes } => {
                return votes.iter().all(|vote| vote.is_signed(request, key));
            }
            Self::Expired { .. } | Self::Cancelled { .. } => return true,
            Self::Rejected { .. } => Answer::Reject,
            Self::Approved { .. }
            | Self::Started { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => Answer::Approve,
        };
        // A signed rejection must not become an approval by a change of the state's name.
        self.decision()
            .is_some_and(|decision| decision.say == say && decision.is_signed(request, key))
    }

    /// The time at which the sweeper must act on it; `None` once it is settled.
    pub(crate) fn due(&self, request: &Request, escalated: bool) -> Option<Timestamp> {
        match self {
            Self::Pending { .. } => {
                let escalate_at = request.escalate_at.filter(|_| !escalated);
                Some(escalate_at.map_or(request.expires_at, |at| at.min(request.expires_at)))
            }
            Self::Approved { until, .. } | Self::Started { until, .. } => Some(*until),
            Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => None,
        }
    }
}

impl Vote {
    /// Signs one person's vote on a request.
    pub(crate) fn sign(
        by: UserId,
        device: Option<DeviceId>,
        at: Timestamp,
        request: &Sign,
        keyring: &Keyring,
    ) -> Self {
        let mut vote = Self { by, device, at, signature: Sign([0; 64]) };
        vote.signature = Sign(keyring.sign(Purpose::Vote, &vote.to_bytes(request)));
        vote
    }

    fn is_signed(&self, request: &Sign, key: &PublicKey) -> bool {
        key.verifies(Purpose::Vote, &self.to_bytes(request), &self.signature.0)
    }

    fn to_bytes(&self, request: &Sign) -> Vec<u8> {
        canonical(&(request, &self.by, &self.device, self.at))
    }
}

impl Decision {
    fn sign(answer: CheckedAnswer, votes: Vec<Vote>, request: &Sign, keyring: &Keyring) -> Self {
        let mut decision = Self {
            say: answer.say,
            votes,
            at: answer.vote.at,
            scope: answer.scope,
            feedback: answer.feedback,
            signature: Sign([0; 64]),
        };
        decision.signature = Sign(keyring.sign(Purpose::Decision, &decision.to_bytes(request)));
        decision
    }

    /// Reports whether the server signed this decision on that request.
    #[must_use]
    pub fn is_signed(&self, request: &Sign, key: &PublicKey) -> bool {
        key.verifies(Purpose::Decision, &self.to_bytes(request), &self.signature.0)
    }

    fn to_bytes(&self, request: &Sign) -> Vec<u8> {
        let unsigned = Self { signature: Sign([0; 64]), ..self.clone() };
        canonical(&(request, unsigned))
    }
}

fn distinct(votes: &[Vote]) -> usize {
    votes.iter().map(|vote| &vote.by).collect::<BTreeSet<_>>().len()
}

/// The names of the final states.
pub(crate) const OVER: &[&str] = &["rejected", "expired", "cancelled", "done", "failed", "unknown"];

/// The names of the states in which an approval can be cancelled.
pub(crate) const OPEN: [&str; 2] = ["pending", "approved"];

#[cfg(test)]
mod tests {
    use countersign_core::RiskLevel;

    use super::*;
    use crate::approval::Quorum;
    use crate::bytes::Hash;
    use crate::id::WorkspaceId;
    use crate::secret::{Secret, SecretKind};

    /// A pending question that expires at 10.
    fn request() -> Request {
        Request {
            id: ApprovalId::from_bytes([1; 16]),
            user: UserId::from_bytes([2; 16]),
            workspace: WorkspaceId::from_bytes([3; 16]),
            session: None,
            key: None,
            action: "shell".to_owned(),
            risk: RiskLevel::High,
            created_at: Timestamp(0),
            expires_at: Timestamp(10),
            escalate_at: None,
            quorum: Quorum::default(),
            fingerprint: Hash([4; 32]),
            commitment: Hash([5; 32]),
            details: Hash([6; 32]),
            token: Secret::from_bytes(SecretKind::Token, &[7; 32]).hash(),
            attended: false,
            run: None,
        }
    }

    #[test]
    fn time_ends_a_state_when_its_moment_has_come_and_not_before() {
        let (request, signature) = (request(), Sign([8; 64]));
        let keyring = Keyring::from_seed(&[9; 32]);
        let vote = Vote::sign(request.user.clone(), None, Timestamp(5), &signature, &keyring);
        let answer = CheckedAnswer {
            say: Answer::Approve,
            vote: vote.clone(),
            scope: Scope::Once,
            feedback: None,
            until: Timestamp(10),
        };
        let decision = Decision::sign(answer, vec![vote], &signature, &keyring);
        let until = Timestamp(10);
        for (state, then) in [
            (State::Pending { votes: Vec::new() }, "expired"),
            (State::Approved { decision: decision.clone(), until }, "expired"),
            (State::Started { decision, at: Timestamp(5), until }, "unknown"),
        ] {
            assert_eq!(state.clone().expire(&request, Timestamp(9)), Err(SettledError));
            let over = state.expire(&request, until).unwrap();
            assert_eq!(over.as_str(), then);
            assert_eq!(over.expire(&request, Timestamp(99)), Err(SettledError));
        }
    }
}
