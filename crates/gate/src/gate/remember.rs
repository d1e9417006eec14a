//! Answers that hold more than once: an approval of the same action, for a session or some days; a
//! rejection that is not asked about again in the same session.
//!
//! The conditions are narrow on purpose: the same action in the same place, found to do the same
//! things, by the agent that asked. It holds for all agents of a person only if the person says so.
//! An action that always asks, or is critical, is never remembered.

use countersign_core::policy;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval::{
    Approval, Decision, Details, OPEN, Request, Scope, State, canonical, fingerprint, run_print,
};
use crate::audit::{self, RecordOwner};
use crate::bytes::{Hash, Sign};
use crate::caller::Person;
use crate::clock::Timestamp;
use crate::config::days;
use crate::document::{self, Document, IndexKeys, Versioned};
use crate::gate::control::failed;
use crate::gate::people::PeopleError;
use crate::gate::submit::Submission;
use crate::gate::{Gate, GateError};
use crate::id::{ApprovalId, KeyId, RememberedId, SessionId, UserId, WorkspaceId};
use crate::key::ApiKey;
use crate::keyring::{Keyring, Purpose};
use crate::store::{Batch, Kind, Query, Write};

mod declined;

pub(super) use declined::Declined;

/// A yes that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remembered {
    /// Its id, which follows from whom and what it is about.
    pub id: RememberedId,
    /// The user whose agent may do it again.
    pub user: UserId,
    /// The agents whose actions it allows.
    #[serde(default)]
    pub reach: Reach,
    /// The session, where it reaches no further.
    pub session: Option<SessionId>,
    /// The workspace, where it is for one agent.
    #[serde(default)]
    pub workspace: Option<WorkspaceId>,
    /// The agent's key, by the first of its line; none for a person's own assistant.
    #[serde(default)]
    pub key: Option<KeyId>,
    /// The kind of the action, or the name of the skill or tool.
    pub action: String,
    /// Names the action for those who have the server's key.
    pub fingerprint: Hash,
    /// The rules the person was told about.
    pub rules: Vec<String>,
    /// The approval that was answered.
    pub approval: ApprovalId,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
    /// The server's signature over all of it: a yes must not be one that somebody wrote into the
    /// database, where fingerprints can be copied from.
    signature: Sign,
}

/// The reach of a remembered approval.
///
/// One from before this field existed is signed without it, and no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "RememberedReach"))]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// One session.
    Session,
    /// One agent, in one workspace.
    #[default]
    Agent,
    /// Every agent of the person, in every workspace.
    Everywhere,
}

impl Reach {
    /// The name of the reach.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Agent => "agent",
            Self::Everywhere => "everywhere",
        }
    }
}

/// The sessions and agents for which a remembered approval holds.
#[derive(Debug, Clone, Default)]
struct RememberedScope {
    reach: Reach,
    session: Option<SessionId>,
    workspace: Option<WorkspaceId>,
    key: Option<KeyId>,
}

impl RememberedScope {
    /// The id of an approval of an action in this place. It is derived from all fields, so that a
    /// row under another id is not found.
    fn id(&self, user: &UserId, print: Hash) -> RememberedId {
        use sha2::{Digest as _, Sha256};
        let reach = self.reach.as_str();
        let session = self.session.as_ref().map_or("", SessionId::as_str);
        let workspace = self.workspace.as_ref().map_or("", WorkspaceId::as_str);
        let key = self.key.as_ref().map_or("", KeyId::as_str);
        let about = [user.as_str(), reach, session, workspace, key, &print.to_string()].join("\0");
        let hash: [u8; 32] = Sha256::digest(about).into();
        let mut short = [0; 16];
        short.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        RememberedId::from_bytes(short)
    }

    /// Every place whose remembered answers apply to a proposal.
    fn all_of(submission: &Submission<'_>) -> Vec<Self> {
        let session = submission.proposal.session.clone().map(|session| Self {
            reach: Reach::Session,
            session: Some(session),
            ..Self::default()
        });
        let agent = Self {
            workspace: Some(submission.caller.workspace.clone()),
            key: submission.caller.key.as_ref().map(|key| key.line().clone()),
            ..Self::default()
        };
        let everywhere = Self { reach: Reach::Everywhere, ..Self::default() };
        session.into_iter().chain([agent, everywhere]).collect()
    }
}

impl Remembered {
    fn signed(self, keyring: &Keyring) -> Self {
        let signature = Sign(keyring.sign(Purpose::Remembered, &self.to_bytes()));
        Self { signature, ..self }
    }

    /// Reports whether it has not expired, and is signed by the server.
    fn holds(&self, now: Timestamp, keyring: &Keyring) -> bool {
        let signed =
            || keyring.public().verifies(Purpose::Remembered, &self.to_bytes(), &self.signature.0);
        now < self.expires_at && signed()
    }

    fn to_bytes(&self) -> Vec<u8> {
        canonical(&Self { signature: Sign([0; 64]), ..self.clone() })
    }
}

impl Document for Remembered {
    const KIND: Kind = Kind::Remembered;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys {
            owner: Some(self.user.as_str()),
            session: self.session.as_ref().map(SessionId::as_str),
            state: "remembered",
            due: Some(self.expires_at),
            ..IndexKeys::default()
        }
    }
}

impl Gate {
    /// Deletes a remembered approval.
    ///
    /// # Errors
    /// The answer does not exist for them, or the store failed.
    pub async fn forget_answer(
        &self,
        person: &Person,
        id: &RememberedId,
    ) -> Result<(), PeopleError> {
        let versioned: Versioned<Remembered> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if versioned.value.user != person.user().id && !person.user().super_admin {
            return Err(PeopleError::NotFound);
        }
        let record_owner =
            RecordOwner { owner: Some(versioned.value.user.to_string()), ..RecordOwner::default() };
        let payload = json!({"revoked": id, "by": person.user().id});
        let batch = Batch {
            writes: vec![versioned.delete()],
            records: vec![self.record(audit::Event::RememberedChanged, record_owner, &payload)?],
            ..Batch::default()
        };
        self.commit(batch).await.map_err(failed)?;
        Ok(())
    }

    /// All remembered approvals of a person.
    ///
    /// # Errors
    /// The store failed.
    pub async fn remembered_answers(&self, person: &Person) -> Result<Vec<Remembered>, GateError> {
        let owner = Some(person.user().id.to_string());
        let query = Query { owner, ..Query::of(Kind::Remembered) };
        let mut answers = self.all::<Remembered>(query).await?;
        let now = self.now();
        answers.retain(|answer| answer.holds(now, &self.keyring));
        Ok(answers)
    }

    /// The remembered approvals of exactly this action, as input for the core.
    pub(super) async fn remembered(
        &self,
        submission: &Submission<'_>,
        digest: &str,
        bound: &str,
    ) -> Result<Vec<policy::Remembered>, GateError> {
        let print = fingerprint(&self.keyring, bound);
        let mut answers = Vec::new();
        for remembered in RememberedScope::all_of(submission) {
            let id = remembered.id(&submission.caller.user, print);
            let versioned: Option<Versioned<Remembered>> = self.get(id.as_str()).await?;
            // A row that was copied to another id is signed for its own.
            let versioned = versioned.filter(|versioned| versioned.value.id == id);
            answers.extend(
                versioned
                    .filter(|versioned| versioned.value.holds(submission.now, &self.keyring))
                    .map(|versioned| policy::Remembered {
                        digest: digest.to_owned(),
                        rules: versioned.value.rules,
                    }),
            );
        }
        Ok(answers)
    }

    /// The write that remembers an approval, if its scope is wider than once.
    pub(super) async fn remember(
        &self,
        approval: &Approval,
        details: &Details,
        decision: &Decision,
    ) -> Result<Option<Write>, GateError> {
        let request = &approval.request;
        let Some(remembered) = self.remembered_scope(request, decision.scope).await? else {
            return Ok(None);
        };
        let lasts = match remembered.reach {
            Reach::Session => days(1),
            Reach::Agent | Reach::Everywhere => self.config.remember_for(),
        };
        let id = remembered.id(&request.user, request.fingerprint);
        let RememberedScope { reach, session, workspace, key } = remembered;
        let answer = Remembered {
            id,
            user: request.user.clone(),
            reach,
            session,
            workspace,
            key,
            action: request.action.clone(),
            fingerprint: request.fingerprint,
            rules: details.rules.clone(),
            approval: request.id.clone(),
            created_at: decision.at,
            expires_at: decision.at.after(lasts),
            signature: Sign([0; 64]),
        }
        .signed(&self.keyring);
        let before: Option<Versioned<Remembered>> = self.get(answer.id.as_str()).await?;
        Ok(Some(match before {
            Some(versioned) => versioned.replace(&answer)?,
            None => document::insert(&answer)?,
        }))
    }

    /// The place in which an approval of this scope holds; `None` if it is for once.
    async fn remembered_scope(
        &self,
        request: &Request,
        scope: Scope,
    ) -> Result<Option<RememberedScope>, GateError> {
        let remembered = RememberedScope::default();
        Ok(match (scope, &request.session) {
            (Scope::Once, _) | (Scope::Session, None) => None,
            (Scope::Session, session) => Some(RememberedScope {
                reach: Reach::Session,
                session: session.clone(),
                ..remembered
            }),
            (Scope::Always, _) => {
                let workspace = Some(request.workspace.clone());
                Some(RememberedScope {
                    workspace,
                    key: self.line_of(request.key.as_ref()).await?,
                    ..remembered
                })
            }
            (Scope::Everywhere, _) => {
                Some(RememberedScope { reach: Reach::Everywhere, ..remembered })
            }
        })
    }

    pub(super) async fn line_of(&self, key: Option<&KeyId>) -> Result<Option<KeyId>, GateError> {
        let Some(id) = key else { return Ok(None) };
        let versioned: Option<Versioned<ApiKey>> = self.get(id.as_str()).await?;
        Ok(Some(versioned.map_or_else(|| id.clone(), |versioned| versioned.value.line().clone())))
    }

    /// The question about exactly this action that is already pending, or approved and not used
    /// yet, so that an agent that lost track does not ask twice.
    pub(super) async fn already_asked(
        &self,
        submission: &Submission<'_>,
        bound: &str,
    ) -> Result<Option<Approval>, GateError> {
        let session = submission.proposal.session.as_ref();
        let run = submission.proposal.run.as_deref().map(|run| run_print(&self.keyring, run));
        let query = Query {
            owner: Some(submission.caller.user.to_string()),
            session: session.map(ToString::to_string),
            fingerprint: Some(fingerprint(&self.keyring, bound).to_string()),
            states: if session.is_some() || run.is_some() {
                OPEN.to_vec()
            } else {
                vec!["approved"]
            },
            ..Query::of(Kind::Approval)
        };
        let open = document::find::<Approval>(&*self.store, &query).await?;
        let same = |versioned: &Versioned<Approval>| {
            self.is_open(&versioned.value, submission)
                && versioned.value.is_about(&self.keyring, bound)
        };
        for versioned in open.into_iter().filter(same) {
            // Without a session and a run, a retry cannot be told from the same action once more,
            // unless a person has edited the action.
            let request = &versioned.value.request;
            let fits = session.is_some() || {
                let details = || versioned.value.open(&self.keyring);
                let is_same_run = run.is_some() && request.run == run;
                request.session.is_none()
                    && (is_same_run || details().is_ok_and(|d| d.replaces.is_some()))
            };
            // Another agent could not use the answer.
            if fits && self.is_theirs(submission.caller, &versioned.value.request).await? {
                return Ok(Some(versioned.value));
            }
        }
        Ok(None)
    }

    /// Reports whether a question can still be answered, or its approval still be used.
    fn is_open(&self, approval: &Approval, submission: &Submission<'_>) -> bool {
        match &approval.state {
            State::Pending { .. } => submission.now < approval.request.expires_at,
            State::Approved { decision, until } => {
                submission.now < *until
                    && submission.now < decision.at.after(self.config.spend_within())
            }
            _ => false,
        }
    }
}
