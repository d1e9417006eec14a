//! A rejection that is not asked about again in the same session.

use serde::{Deserialize, Serialize};

use crate::approval::{Approval, Decision, fingerprint};
use crate::bytes::Hash;
use crate::clock::Timestamp;
use crate::config::days;
use crate::document::{self, Document, IndexKeys, Versioned};
use crate::gate::submit::Submission;
use crate::gate::{Gate, GateError};
use crate::id::{SessionId, UserId};
use crate::store::{Kind, Write};

/// A rejection of this action in this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::gate) struct Declined {
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

    fn index_keys(&self) -> IndexKeys<'_> {
        IndexKeys {
            owner: Some(self.user.as_str()),
            session: Some(self.session.as_str()),
            state: "declined",
            due: Some(self.expires_at),
            ..IndexKeys::default()
        }
    }
}

impl Gate {
    /// The write that keeps a rejected action from being asked about again in its session, for a
    /// day.
    pub(in crate::gate) async fn decline(
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
        let before: Option<Versioned<Declined>> = self.get(&declined.id).await?;
        Ok(Some(match before {
            Some(versioned) => versioned.replace(&declined)?,
            None => document::insert(&declined)?,
        }))
    }

    /// The feedback of the person who rejected exactly this action in this session, if one did.
    pub(in crate::gate) async fn declined(
        &self,
        submission: &Submission<'_>,
        bound: &str,
    ) -> Result<Option<Option<String>>, GateError> {
        let Some(session) = &submission.proposal.session else { return Ok(None) };
        let id = declined_id(session, fingerprint(&self.keyring, bound));
        let versioned: Option<Versioned<Declined>> = self.get(&id).await?;
        let valid = versioned.filter(|versioned| submission.now < versioned.value.expires_at);
        Ok(valid.map(|versioned| versioned.value.feedback))
    }
}

fn declined_id(session: &SessionId, print: Hash) -> String {
    format!("{session}:{print}")
}
