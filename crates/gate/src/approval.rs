//! An approval: one question to a person, and its state.
//!
//! ```text
//! Pending ──approve──► Approved ──spend──► Started ──► Done | Failed | Unknown
//!    ├─────reject────► Rejected
//!    ├─────expire────► Expired       silence is a refusal
//!    └─────cancel────► Cancelled     (session ended, kill switch, agent withdrew, replaced)
//! ```
//!
//! The [`Request`] is signed when it is made and never changes; the [`Decision`] is signed when it
//! is made. Before anything runs, both signatures are checked again: write access to the database
//! is enough to lose an approval, but not to make one.
//!
//! The action itself is in the sealed [`Details`], redacted; the request holds only a fingerprint
//! and a commitment of it, which reveal nothing without the server's key.

use countersign_core::{Action, Context, Effects, Finding, Judgement, Policy, RiskLevel, effects};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::bytes::{Hash, Sign};
use crate::clock::{ChanceError, Clock, Timestamp};
use crate::document::{Document, IndexKeys};
use crate::id::{ActionId, ApprovalId, KeyId, SessionId, UserId, WorkspaceId};
use crate::keyring::{Keyring, PublicKey, Purpose, SealError};
use crate::proposal::Script;
use crate::redacted;
use crate::secret::{Secret, SecretHash, SecretKind};
use crate::store::Kind;

mod describe;
mod quorum;
mod receipt;
mod state;

pub(crate) use describe::{describe, subject_of};
pub(crate) use quorum::quorum;
pub use quorum::{Quorum, QuorumRow, Requester, needs_others};
pub use receipt::{Receipt, ReceiptError};
pub use state::{Answer, Cancel, Decision, Outcome, Scope, SettledError, State, Vote};
pub(crate) use state::{CheckedAnswer, OPEN, OVER};

/// One question to a person.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Approval {
    /// The question.
    pub request: Request,
    /// The server's signature on the request.
    signature: Sign,
    /// The current state.
    pub state: State,
    /// True once the question was escalated to workspace admins.
    pub escalated: bool,
    /// The details, encrypted.
    sealed: String,
}

/// A question to a person: the action, the people who may answer and the deadline. Never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ApprovalRequest"))]
pub struct Request {
    /// Its id.
    pub id: ApprovalId,
    /// The user for whom the agent works.
    pub user: UserId,
    /// The workspace in which the agent works.
    pub workspace: WorkspaceId,
    /// The session in which the agent asked.
    pub session: Option<SessionId>,
    /// The API key with which the agent asked.
    pub key: Option<KeyId>,
    /// The kind of the action, or the name of the skill or tool.
    pub action: String,
    /// The risk of the action.
    pub risk: RiskLevel,
    /// The time at which it was asked.
    pub created_at: Timestamp,
    /// From when on silence is a refusal.
    pub expires_at: Timestamp,
    /// From when on others may answer too.
    pub escalate_at: Option<Timestamp>,
    /// The people who must agree.
    pub quorum: Quorum,
    /// Names the action for those who have the server's key.
    pub fingerprint: Hash,
    /// Binds the action for those who have its salt.
    pub commitment: Hash,
    /// Binds the sealed details.
    pub details: Hash,
    /// The hash of the token that goes to the person's devices.
    pub token: SecretHash,
    /// True when the asker waits for the answer: the answer is not used once the asker is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attended: bool,
    /// Names the run of the agent that asked outside of any session, for those who have the
    /// server's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Hash>,
}

/// The details that a person is shown, and by which an edited action is judged. Redacted, and
/// encrypted in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// One line that tells a person what would happen.
    pub description: String,
    /// More lines: files, arguments, recipients.
    pub details: Vec<String>,
    /// The reason for asking.
    pub reason: String,
    /// A suggestion of what to do instead.
    pub instead: Option<String>,
    /// The action, with secrets and personal data masked.
    pub action: serde_json::Value,
    /// The rules that asked.
    pub rules: Vec<String>,
    /// The findings of the rules, marked in the text that is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The things that would be touched, and the parts of the action that could not be followed.
    #[serde(default)]
    pub touched: Effects,
    /// True when an approval may be remembered.
    pub may_remember: bool,
    /// The context in which the action would run.
    pub context: Context,
    /// The agent's own words on why it wants the action.
    pub reasoning: Option<String>,
    /// The files that the action runs, with a digest of their content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// The question that this one replaces, when a person edited the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ApprovalId>,
    /// The salt that opens the commitment.
    pub salt: [u8; 16],
    /// The nonce from which the token is derived again when a device comes back.
    nonce: [u8; 16],
}

/// The parts of a new approval.
pub(crate) struct Question<'a> {
    pub(crate) id: ApprovalId,
    pub(crate) user: UserId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) session: Option<SessionId>,
    pub(crate) key: Option<KeyId>,
    pub(crate) action: &'a Action,
    pub(crate) digest: &'a str,
    pub(crate) scripts: &'a [Script],
    pub(crate) replaces: Option<ApprovalId>,
    pub(crate) risk: RiskLevel,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) escalate_at: Option<Timestamp>,
    pub(crate) quorum: Quorum,
    pub(crate) attended: bool,
    pub(crate) run: Option<Hash>,
    pub(crate) shown: Shown,
}

/// The part of the details that the caller knows.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) reason: String,
    pub(crate) instead: Option<String>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) effects: Effects,
    pub(crate) may_remember: bool,
    pub(crate) context: Context,
    pub(crate) reasoning: Option<String>,
}

impl Shown {
    /// The details that are shown of an action judged under a policy.
    pub(crate) fn of(
        action: &Action,
        judgement: &Judgement,
        policy: &Policy,
        context: Context,
        reasoning: Option<String>,
    ) -> Self {
        let findings = &judgement.findings;
        Self {
            reason: judgement.reason.clone(),
            instead: findings.iter().find_map(|finding| finding.instead.clone()),
            findings: findings.clone(),
            effects: effects(action, policy, &context),
            may_remember: policy.may_remember(judgement, action, &context),
            context,
            reasoning,
        }
    }
}

/// An approval whose signatures do not match: it was changed by someone other than this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the approval was tampered with")]
pub struct TamperedError;

impl From<SealError> for TamperedError {
    fn from(_: SealError) -> Self {
        Self
    }
}

impl Approval {
    /// Makes an approval: draws salt and token, redacts, seals and signs.
    pub(crate) fn ask(
        question: Question<'_>,
        keyring: &Keyring,
        clock: &dyn Clock,
    ) -> Result<Self, ChanceError> {
        let (salt, nonce) = (crate::clock::random(clock)?, crate::clock::random(clock)?);
        let details = Details::new(&question, salt, nonce);
        let plain = details.to_bytes();
        let request = Request {
            token: token(keyring, &question.id, nonce).hash(),
            details: Hash(Sha256::digest(&plain).into()),
            fingerprint: fingerprint(keyring, question.digest),
            commitment: commitment(salt, question.digest),
            action: subject_of(question.action),
            id: question.id,
            user: question.user,
            workspace: question.workspace,
            session: question.session,
            key: question.key,
            risk: question.risk,
            created_at: question.created_at,
            expires_at: question.expires_at,
            escalate_at: question.escalate_at,
            quorum: question.quorum,
            attended: question.attended,
            run: question.run,
        };
        let sealed = keyring.seal(request.id.as_str(), &plain, clock)?;
        let signature = Sign(keyring.sign(Purpose::Request, &request.to_bytes()));
        let state = State::Pending { votes: Vec::new() };
        Ok(Self { request, signature, state, escalated: false, sealed })
    }

    /// Returns the details, if request and details are as they were signed.
    ///
    /// # Errors
    /// They are not.
    pub fn open(&self, keyring: &Keyring) -> Result<Details, TamperedError> {
        self.check(&keyring.public())?;
        let plain = keyring.unseal(self.request.id.as_str(), &self.sealed)?;
        if Hash(Sha256::digest(&*plain).into()) != self.request.details {
            return Err(TamperedError);
        }
        serde_json::from_slice(&plain).map_err(|_| TamperedError)
    }

    /// Checks the signatures on the request, on every vote, and on the decision if there is one.
    ///
    /// # Errors
    /// One of them is not the server's.
    pub fn check(&self, key: &PublicKey) -> Result<(), TamperedError> {
        let request_holds =
            key.verifies(Purpose::Request, &self.request.to_bytes(), &self.signature.0);
        if request_holds && self.state.is_signed(&self.signature, key) {
            Ok(())
        } else {
            Err(TamperedError)
        }
    }

    /// The token with which a device answers, derived again from a nonce that only the server
    /// knows.
    pub(crate) fn token(&self, keyring: &Keyring) -> Result<Secret, TamperedError> {
        Ok(token(keyring, &self.request.id, self.open(keyring)?.nonce))
    }

    /// Reports whether this is about the action with this digest.
    pub(crate) fn is_about(&self, keyring: &Keyring, digest: &str) -> bool {
        self.request.fingerprint == fingerprint(keyring, digest)
    }

    /// The same question in another state.
    pub(crate) fn with(&self, state: State) -> Self {
        Self { state, ..self.clone() }
    }

    /// The same question, escalated to workspace admins.
    pub(crate) fn escalate(&self) -> Self {
        Self { escalated: true, ..self.clone() }
    }

    /// The request's signature, to which a decision is bound.
    pub(crate) const fn signature(&self) -> &Sign {
        &self.signature
    }

    /// The id of the action once it runs.
    #[must_use]
    pub fn action_id(&self) -> ActionId {
        ActionId::of(&self.request.id)
    }
}

impl Document for Approval {
    const KIND: Kind = Kind::Approval;

    fn id(&self) -> &str {
        self.request.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        let state = self.state.as_str();
        let is_open = OPEN.contains(&state);
        IndexKeys {
            owner: Some(self.request.user.as_str()),
            workspace: Some(self.request.workspace.as_str()),
            session: self.request.session.as_ref().map(SessionId::as_str),
            // Nobody asks again about what is over.
            fingerprint: is_open.then_some(self.request.fingerprint),
            state,
            due: self.state.due(&self.request, self.escalated),
        }
    }
}

impl Request {
    fn to_bytes(&self) -> Vec<u8> {
        canonical(self)
    }
}

impl Details {
    fn new(question: &Question<'_>, salt: [u8; 16], nonce: [u8; 16]) -> Self {
        let Shown { reason, instead, findings, effects, may_remember, context, reasoning } =
            question.shown.clone();
        let (description, details) = describe(question.action);
        Self {
            description,
            details,
            reason: redacted::shown(&reason),
            instead,
            action: redacted::shown_action(question.action),
            rules: findings.iter().map(|finding| finding.rule.clone()).collect(),
            findings: redacted::shown_findings(question.action, &findings),
            touched: redacted::shown_effects(effects),
            may_remember,
            context,
            reasoning: reasoning.as_deref().map(redacted::shown),
            scripts: question.scripts.to_vec(),
            replaces: question.replaces.clone(),
            salt,
            nonce,
        }
    }

    /// The action as edited by a person, if it was edited.
    #[must_use]
    pub fn edited(&self) -> Option<Action> {
        self.replaces.as_ref()?;
        serde_json::from_value(self.action.clone()).ok()
    }

    fn to_bytes(&self) -> Vec<u8> {
        canonical(self)
    }
}

/// The keyed fingerprint of an action.
pub(crate) fn fingerprint(keyring: &Keyring, digest: &str) -> Hash {
    Hash(keyring.fingerprint(Purpose::ActionFingerprint, digest.as_bytes()))
}

/// The keyed fingerprint of an agent's run.
pub(crate) fn run_print(keyring: &Keyring, run: &str) -> Hash {
    Hash(keyring.fingerprint(Purpose::Run, run.as_bytes()))
}

/// A commitment to an action that does not reveal it until the salt is known.
pub(crate) fn commitment(salt: [u8; 16], digest: &str) -> Hash {
    let mut hash = Sha256::new_with_prefix(b"countersign commitment v1\0");
    hash.update(salt);
    hash.update(digest);
    Hash(hash.finalize().into())
}

fn token(keyring: &Keyring, id: &ApprovalId, nonce: [u8; 16]) -> Secret {
    let about = [id.as_str().as_bytes(), &nonce].concat();
    Secret::from_bytes(SecretKind::Token, &keyring.fingerprint(Purpose::ApprovalToken, &about))
}

/// The bytes that are signed: canonical JSON, so that anyone who has read a receipt back can check
/// it.
pub(crate) fn canonical(value: &impl Serialize) -> Vec<u8> {
    // Our own types have text keys and finite numbers, so JSON can represent all of them.
    let value = serde_json::to_value(value).unwrap_or_default();
    countersign_core::digest::canonical(&value).into_bytes()
}
