//! Answers that reach further than once: a yes to this very action, for a session or some days; a
//! no that is not asked about again in the same session.
//!
//! Narrow on purpose: the same action in the same place, found to do the same things. What always
//! asks, and what is critical, is never remembered.

use countersign_core::policy;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval::{Approval, Decision, Details, OPEN, Scope, canonical, fingerprint};
use crate::audit::{self, Subject};
use crate::bytes::{Hash, Sign};
use crate::caller::Person;
use crate::clock::Timestamp;
use crate::config::days;
use crate::document::{self, Document, Held, Marks};
use crate::gate::control::failed;
use crate::gate::people::PeopleError;
use crate::gate::submit::Case;
use crate::gate::{Gate, GateError};
use crate::id::{ApprovalId, RememberedId, SessionId, UserId};
use crate::keyring::{Keyring, Purpose};
use crate::store::{Batch, Kind, Query, Write};

/// A yes that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remembered {
    /// Its id, which follows from whom and what it is about.
    pub id: RememberedId,
    /// Whose agent may do it again.
    pub user: UserId,
    /// Only in this session; in every one, if none is named.
    pub session: Option<SessionId>,
    /// What kind of action, or which skill or tool.
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

impl Remembered {
    fn signed(self, keyring: &Keyring) -> Self {
        let signature = Sign(keyring.sign(Purpose::Remembered, &self.to_bytes()));
        Self { signature, ..self }
    }

    /// Whether it holds at a moment, and is what the server signed.
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

    fn marks(&self) -> Marks<'_> {
        Marks {
            owner: Some(self.user.as_str()),
            session: self.session.as_ref().map(SessionId::as_str),
            state: "remembered",
            due: Some(self.expires_at),
            ..Marks::default()
        }
    }
}

/// A no to this very action in this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Declined {
    id: String,
    user: UserId,
    session: SessionId,
    feedback: Option<String>,
    expires_at: Timestamp,
}

impl Document for Declined {
    const KIND: Kind = Kind::Declined;

    fn id(&self) -> &str {
        &self.id
    }

    fn marks(&self) -> Marks<'_> {
        Marks {
            owner: Some(self.user.as_str()),
            session: Some(self.session.as_str()),
            state: "declined",
            due: Some(self.expires_at),
            ..Marks::default()
        }
    }
}

impl Gate {
    /// Takes a remembered yes back.
    ///
    /// # Errors
    /// There is no such answer of theirs, or the store failed.
    pub async fn forget_answer(
        &self,
        person: &Person,
        id: &RememberedId,
    ) -> Result<(), PeopleError> {
        let held: Held<Remembered> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if held.value.user != person.user().id && !person.user().super_admin {
            return Err(PeopleError::NotFound);
        }
        let subject = Subject { owner: Some(held.value.user.to_string()), ..Subject::default() };
        let payload = json!({"revoked": id, "by": person.user().id});
        let batch = Batch {
            writes: vec![held.delete()],
            records: vec![self.record(audit::Event::RememberedChanged, subject, &payload)?],
            ..Batch::default()
        };
        self.commit(batch).await.map_err(failed)?;
        Ok(())
    }

    /// Every remembered yes of a person.
    ///
    /// # Errors
    /// The store failed.
    pub async fn remembered_answers(&self, person: &Person) -> Result<Vec<Remembered>, GateError> {
        let owner = Some(person.user().id.to_string());
        let query = Query { owner, ..Query::of(Kind::Remembered) };
        let held = document::find::<Remembered>(&*self.store, &query).await?;
        let now = self.now();
        let answers = held.into_iter().map(|held| held.value);
        Ok(answers.filter(|answer| answer.holds(now, &self.keyring)).collect())
    }

    /// What is remembered about this very action, for the core to weigh.
    pub(super) async fn remembered(
        &self,
        case: &Case<'_>,
        digest: &str,
        bound: &str,
    ) -> Result<Vec<policy::Remembered>, GateError> {
        let print = fingerprint(&self.keyring, bound);
        let user = &case.caller.user;
        let session = case.proposal.session.as_ref();
        let mut answers = Vec::new();
        for session in [None, session].into_iter().take(1 + usize::from(session.is_some())) {
            let id = remembered_id(user, session, print);
            let held: Option<Held<Remembered>> = self.get(id.as_str()).await?;
            answers.extend(held.filter(|held| held.value.holds(case.now, &self.keyring)).map(
                |held| policy::Remembered { digest: digest.to_owned(), rules: held.value.rules },
            ));
        }
        Ok(answers)
    }

    /// The writes that go with a yes that reaches further than once.
    pub(super) async fn remember(
        &self,
        approval: &Approval,
        details: &Details,
        decision: &Decision,
    ) -> Result<Option<Write>, GateError> {
        let request = &approval.request;
        let (session, expires_at) = match (decision.scope, &request.session) {
            (Scope::Once, _) | (Scope::Session, None) => return Ok(None),
            (Scope::Session, Some(session)) => (Some(session.clone()), decision.at.after(days(1))),
            (Scope::Always, _) => (None, decision.at.after(self.config.remember_for())),
        };
        let id = remembered_id(&request.user, session.as_ref(), request.fingerprint);
        let answer = Remembered {
            id,
            user: request.user.clone(),
            session,
            action: request.action.clone(),
            fingerprint: request.fingerprint,
            rules: details.rules.clone(),
            approval: request.id.clone(),
            created_at: decision.at,
            expires_at,
            signature: Sign([0; 64]),
        }
        .signed(&self.keyring);
        let before: Option<Held<Remembered>> = self.get(answer.id.as_str()).await?;
        Ok(Some(match before {
            Some(held) => held.replace(&answer)?,
            None => document::insert(&answer)?,
        }))
    }

    /// The write that keeps a no from being asked about again.
    pub(super) async fn decline(
        &self,
        approval: &Approval,
        decision: &Decision,
    ) -> Result<Option<Write>, GateError> {
        let Some(session) = &approval.request.session else { return Ok(None) };
        let declined = Declined {
            id: declined_id(session, approval.request.fingerprint),
            user: approval.request.user.clone(),
            session: session.clone(),
            feedback: decision.feedback.clone(),
            expires_at: decision.at.after(days(1)),
        };
        let before: Option<Held<Declined>> = self.get(&declined.id).await?;
        Ok(Some(match before {
            Some(held) => held.replace(&declined)?,
            None => document::insert(&declined)?,
        }))
    }

    /// What a person said when they declined this very action in this session, if they did.
    pub(super) async fn declined(
        &self,
        case: &Case<'_>,
        bound: &str,
    ) -> Result<Option<Option<String>>, GateError> {
        let Some(session) = &case.proposal.session else { return Ok(None) };
        let id = declined_id(session, fingerprint(&self.keyring, bound));
        let held: Option<Held<Declined>> = self.get(&id).await?;
        let valid = held.filter(|held| case.now < held.value.expires_at);
        Ok(valid.map(|held| held.value.feedback))
    }

    /// The question about this very action that waits already, so that an agent which lost its
    /// thread does not ask twice.
    pub(super) async fn already_asked(
        &self,
        case: &Case<'_>,
        bound: &str,
    ) -> Result<Option<Approval>, GateError> {
        let Some(session) = &case.proposal.session else { return Ok(None) };
        let query = Query {
            session: Some(session.to_string()),
            states: OPEN.to_vec(),
            ..Query::of(Kind::Approval)
        };
        let open = document::find::<Approval>(&*self.store, &query).await?;
        let same = |held: &Held<Approval>| {
            held.value.state.is_pending()
                && case.now < held.value.request.expires_at
                && held.value.is_about(&self.keyring, bound)
        };
        for held in open.into_iter().filter(same) {
            // Another agent could not use the answer.
            if self.is_theirs(case.caller, &held.value.request).await? {
                return Ok(Some(held.value));
            }
        }
        Ok(None)
    }
}

fn remembered_id(user: &UserId, session: Option<&SessionId>, print: Hash) -> RememberedId {
    use sha2::{Digest as _, Sha256};
    let session = session.map_or("", SessionId::as_str);
    let hash: [u8; 32] = Sha256::digest(format!("{user}\0{session}\0{print}")).into();
    let mut short = [0; 16];
    short.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    RememberedId::from_bytes(short)
}

fn declined_id(session: &SessionId, print: Hash) -> String {
    format!("{session}:{print}")
}
