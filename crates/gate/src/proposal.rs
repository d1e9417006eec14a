//! Proposals of agents, and the answers to them.

use std::time::Duration;

use countersign_core::{Action, Context, Judgement};
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{ApprovalId, SessionId};
use crate::permit::Permit;
pub use crate::script::Script;
pub(crate) use crate::script::binding;
use crate::session::{End, Hit, Violation};

/// A proposal of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The action.
    pub action: Action,
    /// The context of the action. Profile, mode and origins are the session's, whatever is set
    /// here.
    pub context: Context,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// The files it runs, as they were when it was proposed.
    pub scripts: Vec<Script>,
    /// The model that proposed it.
    pub model: Option<String>,
    /// The reason, in the agent's own words.
    pub reasoning: Option<String>,
    /// The way in which the asker waits for a person's answer, if it does.
    pub waits: Option<Waits>,
    /// True when the caller only answers for a host and runs nothing itself, as hooks do. The proxy
    /// that sees the same call next may then use the same approval, once.
    pub relays: bool,
    /// The host's id of this call, if it has one.
    pub call_id: Option<String>,
    /// The asker's id of its agent's run. Outside of a session the same action in the same run is
    /// one question: a client that lost the connection finds it again, with its answer.
    pub run: Option<String>,
}

/// The way in which an asker waits: one of its requests waits at all times, and a question for
/// which nobody is waiting any more is withdrawn within seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Waits {
    /// Seconds until the asker gives up; the question waits no longer.
    pub seconds: Option<u32>,
}

impl Proposal {
    /// An action without context.
    #[must_use]
    pub fn of(action: Action) -> Self {
        Self {
            action,
            context: Context::default(),
            session: None,
            scripts: Vec::new(),
            model: None,
            reasoning: None,
            waits: None,
            relays: false,
            call_id: None,
            run: None,
        }
    }

    /// The same, in a session.
    #[must_use]
    pub fn within(self, session: &SessionId) -> Self {
        Self { session: Some(session.clone()), ..self }
    }
}

/// The answer to a proposal.
#[derive(Debug)]
#[must_use = "only a permit lets anything run"]
pub enum Submitted {
    /// The action may run.
    Permitted(Permit, Box<Judgement>),
    /// The action may not run.
    Refused(Box<Refusal>),
    /// A person is asked.
    Waiting(Box<Waiting>),
}

/// The reason for which an action may not run, and the ways to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The reason.
    pub why: Why,
    /// The judgement, if there is one.
    pub judgement: Option<Judgement>,
    /// The time to wait before another attempt.
    pub retry_after: Option<Duration>,
    /// The limit that was hit, and its use so far.
    pub hit: Option<Hit>,
}

impl Refusal {
    /// One line for a person, or for the agent.
    #[must_use]
    pub fn line(&self) -> String {
        let line = self.why.line();
        self.hit.map_or_else(|| line.clone(), |hit| format!("{line}: {hit}"))
    }
}

/// The reason for which an action may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Everything is halted.
    Halted,
    /// The session does not exist for them.
    NoSession,
    /// The session has ended.
    Ended(End),
    /// The session is paused until a person resumes it.
    Paused,
    /// A session limit was hit.
    Violation(Violation),
    /// The key may not propose this.
    Scope(String),
    /// A rate was exceeded; the text names it.
    TooFast(&'static str),
    /// The person has the most pending questions already.
    TooManyPending(u64),
    /// Nobody could be asked.
    NobodyToAsk,
    /// A sign-in for which the session was given no credential.
    NoCredential,
    /// A person has rejected exactly this action in this session.
    Declined(Option<String>),
    /// The action is blocked.
    Blocked,
}

impl Why {
    /// One line for a person, or for the agent.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Halted => "everything is halted: a person used the kill switch".to_owned(),
            Self::NoSession => "there is no such session".to_owned(),
            Self::Ended(reason) => format!("the session is over: {}", reason.as_str()),
            Self::Paused => "the session is paused until a person resumes it".to_owned(),
            Self::Violation(violation) => format!("session limit: {}", violation.as_str()),
            Self::Scope(needed) => format!("this key may not do `{needed}`"),
            Self::TooFast(what) => format!("too fast: {what}"),
            Self::TooManyPending(most) => {
                format!("{most} questions are waiting already; answer or withdraw some first")
            }
            Self::NobodyToAsk => {
                "a person must agree, and there is nobody to ask: sign in, or run `countersign watch`"
                    .to_owned()
            }
            Self::NoCredential => {
                "the session has no credential for this site: a person gives it one as it begins"
                    .to_owned()
            }
            Self::Declined(Some(feedback)) => format!("a person said no: {feedback}"),
            Self::Declined(None) => "a person said no to this".to_owned(),
            Self::Blocked => "this never runs".to_owned(),
        }
    }
}

/// A pending question to a person.
#[derive(Debug)]
pub struct Waiting {
    /// The approval.
    pub approval: ApprovalId,
    /// The time at which it expires unanswered, by the system's clock.
    pub expires_at: Timestamp,
    /// The judgement.
    pub judgement: Judgement,
}
