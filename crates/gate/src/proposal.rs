//! What an agent proposes, and what it gets back.

use std::time::Duration;

use countersign_core::digest::of_value;
use countersign_core::{Action, Context, Judgement};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::bytes::Hash;
use crate::clock::Timestamp;
use crate::id::{ApprovalId, SessionId};
use crate::permit::Permit;
use crate::session::{End, Hit, Violation};

/// What an agent proposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The action.
    pub action: Action,
    /// What is true around it. Profile, mode and origins are the session's, whatever stands here.
    pub context: Context,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// The files it runs, as they were when it was proposed.
    pub scripts: Vec<Script>,
    /// Which model proposed it.
    pub model: Option<String>,
    /// Why, in the agent's own words.
    pub reasoning: Option<String>,
    /// How the asker waits for a person's answer, where it does.
    pub waits: Option<Waits>,
    /// Whether the caller only answers for a host and runs nothing itself, as hooks do. The proxy
    /// that sees the same call next may then go on with the same yes, once.
    pub relays: bool,
    /// What the host calls this call, where it has a name for it.
    pub call_id: Option<String>,
    /// What the asker calls the run of its agent. Outside of a session the same action in the same
    /// run is one question: whoever lost the connection finds it again, with its answer.
    pub run: Option<String>,
}

/// How an asker waits: one request of its waits at every moment, and a question nobody waits for
/// any more is withdrawn within seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Waits {
    /// Seconds until the asker gives up; the question waits no longer.
    pub seconds: Option<u32>,
}

impl Proposal {
    /// An action with nothing known around it.
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

/// A file that an action runs, by what is in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Where it is.
    pub path: String,
    /// SHA-256 of what is in it.
    pub sha256: Hash,
}

impl Script {
    /// A script and what is in it.
    #[must_use]
    pub fn new(path: &str, content: &[u8]) -> Self {
        Self { path: path.to_owned(), sha256: Hash(Sha256::digest(content).into()) }
    }
}

/// What an approval is bound to: the action, and what is in the scripts it runs.
pub(crate) fn binding(digest: &str, scripts: &[Script]) -> String {
    if scripts.is_empty() {
        return digest.to_owned();
    }
    let mut scripts = scripts.to_vec();
    scripts.sort();
    of_value(&json!({"action": digest, "scripts": scripts}))
}

/// What an agent gets back.
#[derive(Debug)]
#[must_use = "only a permit lets anything run"]
pub enum Submitted {
    /// It may run.
    Permitted(Permit, Box<Judgement>),
    /// It may not.
    Refused(Box<Refusal>),
    /// A person is asked.
    Waiting(Box<Waiting>),
}

/// Why an action may not run, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Why.
    pub why: Why,
    /// What was found, where it came to that.
    pub judgement: Option<Judgement>,
    /// How long to wait before trying again.
    pub retry_after: Option<Duration>,
    /// Which limit was hit, and how much of it is used.
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

/// Why an action may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The kill switch.
    Halted,
    /// There is no such session of theirs.
    NoSession,
    /// The session is over.
    Ended(End),
    /// The session waits for a person to let it go on.
    Paused,
    /// A session limit was hit.
    Violation(Violation),
    /// The key may not propose this.
    Scope(String),
    /// Too fast; what was too fast.
    TooFast(&'static str),
    /// As many questions as a person may have waiting.
    TooManyPending(u64),
    /// There is nobody who could be asked.
    NobodyToAsk,
    /// A sign-in for which the session was given no credential.
    NoCredential,
    /// A person has said no to this very action in this session.
    Declined(Option<String>),
    /// It never runs.
    Blocked,
}

impl Why {
    /// One line for a person, or for the agent.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Halted => "everything is halted: a person has thrown the kill switch".to_owned(),
            Self::NoSession => "there is no such session".to_owned(),
            Self::Ended(reason) => format!("the session is over: {}", reason.as_str()),
            Self::Paused => "the session is paused until a person lets it go on".to_owned(),
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

/// A question that waits for a person.
#[derive(Debug)]
pub struct Waiting {
    /// Which approval.
    pub approval: ApprovalId,
    /// From when on silence is a refusal, as the system's clock shows it.
    pub expires_at: Timestamp,
    /// What was found.
    pub judgement: Judgement,
}
