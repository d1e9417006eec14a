//! Writes that may be sent twice: the second request gets the answer of the first.
//!
//! ```text
//! begin ──► First ──finish──► Replay, Shown
//!             ├────let go───► First again: nothing had happened
//!             └────dropped──► Lost: nobody knows how far it got
//! ```
//!
//! An answer is found by a fingerprint, so that neither the key nor the sender is in the store, and
//! it is sealed. An answer that contained a secret is not kept at all.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::Hash;
use crate::clock::{ChanceError, Timestamp, random};
use crate::document::{self, Document, IndexKeys, Versioned};
use crate::gate::control::failed;
use crate::gate::session::not_running;
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::SessionId;
use crate::keyring::Purpose;
use crate::proposal::Why;
use crate::session::Session;
use crate::store::{Batch, Kind, StoreError, Write};

/// The time for which an answer is kept.
const KEPT_FOR: Duration = Duration::from_hours(24);
/// The longest key.
const MOST_CHARACTERS: usize = 200;

/// The state of a write with an idempotency key.
#[derive(Debug)]
pub enum Begun {
    /// The request is the first: do it, then finish the claim.
    First(Claim),
    /// The write was done: repeat this answer.
    Replay {
        /// The status that was answered.
        status: u16,
        /// The body that was answered.
        body: String,
    },
    /// The write was done, and its answer contained a secret that is shown only once.
    Shown {
        /// The status that was answered.
        status: u16,
    },
    /// The write was done and allowed something that is not allowed any more.
    NoLonger(Why),
    /// The write is in progress.
    InProgress,
    /// The key was used for another request.
    Other,
    /// The write was begun and never finished: its outcome is unknown.
    Lost,
}

/// The reason for which a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdempotencyError {
    /// The key is empty or too long.
    #[error("an idempotency key has between 1 and {MOST_CHARACTERS} characters")]
    Key,
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for IdempotencyError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl From<ChanceError> for IdempotencyError {
    fn from(error: ChanceError) -> Self {
        Self::Gate(error.into())
    }
}

/// A write that was begun. If it is dropped unfinished, its outcome is unknown.
#[must_use = "finish it, or let it go if nothing happened"]
pub struct Claim {
    versioned: Versioned<Idempotency>,
    mark: Hash,
    open: Claims,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Claim").field(&self.versioned.value.id).finish()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.open.lock(|open| open.remove(&self.mark));
    }
}

/// The claims that this process works on. A claim that is in the store but not here will never be
/// finished: its process died, or its client disconnected halfway.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims(Arc<Mutex<HashSet<Hash>>>);

impl Claims {
    fn lock<T>(&self, then: impl FnOnce(&mut HashSet<Hash>) -> T) -> T {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The stored state of a write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Idempotency {
    id: String,
    request: Hash,
    progress: Progress,
    expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum Progress {
    /// The claim with this mark works on it.
    Begun { mark: Hash },
    /// The write was answered with this; the body is sealed. Older answers lack `allows`: they are
    /// assumed to allow something.
    Finished {
        status: u16,
        body: Option<String>,
        #[serde(default)]
        allows: Option<Allows>,
    },
}

/// The actions that an answer allows, so that repeating it can be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allows {
    /// Nothing.
    Nothing,
    /// Actions, in these sessions or in none.
    Something {
        /// The sessions.
        sessions: Vec<SessionId>,
    },
}

impl Document for Idempotency {
    const KIND: Kind = Kind::Idempotency;

    fn id(&self) -> &str {
        &self.id
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        let state = match self.progress {
            Progress::Begun { .. } => "begun",
            Progress::Finished { .. } => "finished",
        };
        IndexKeys { state, due: Some(self.expires_at), ..IndexKeys::default() }
    }
}

impl Gate {
    /// Begins a write that may be sent twice. `who` separates senders who use the same key, and
    /// `request` requests that use the same key.
    ///
    /// # Errors
    /// The key is empty or too long, or the store failed.
    pub async fn idempotent_begin(
        &self,
        who: &str,
        key: &str,
        request: Hash,
    ) -> Result<Begun, IdempotencyError> {
        if key.is_empty() || key.chars().count() > MOST_CHARACTERS {
            return Err(IdempotencyError::Key);
        }
        let id = self.idempotency_id(who, key);
        for _ in 0..TRIES {
            let now = self.now();
            let versioned: Option<Versioned<Idempotency>> = self.get(&id).await?;
            match versioned {
                Some(versioned) if now < versioned.value.expires_at => {
                    return self.seen_before(&versioned.value, request).await;
                }
                versioned => {
                    if let Some(claim) = self.claim(&id, request, now, versioned).await? {
                        return Ok(Begun::First(claim));
                    }
                }
            }
        }
        Err(GateError::Busy.into())
    }

    /// Records the answer of a write, and what that answer allows. `body` is `None` if it contained
    /// a secret.
    ///
    /// # Errors
    /// The store failed.
    pub async fn idempotent_finish(
        &self,
        claim: Claim,
        status: u16,
        body: Option<&str>,
        allows: Allows,
    ) -> Result<(), GateError> {
        let began = &claim.versioned.value;
        let seal = |body: &str| self.keyring.seal(&began.id, body.as_bytes(), &self.clock);
        let body = body.map(seal).transpose()?;
        let progress = Progress::Finished { status, body, allows: Some(allows) };
        let next = Idempotency { progress, ..began.clone() };
        self.settle_claim(claim.versioned.replace(&next)?).await
    }

    /// Releases a claim before anything happened: the write may be sent again.
    ///
    /// # Errors
    /// The store failed.
    pub async fn idempotent_let_go(&self, claim: Claim) -> Result<(), GateError> {
        self.settle_claim(claim.versioned.delete()).await
    }

    async fn settle_claim(&self, write: Write) -> Result<(), GateError> {
        match self.commit(Batch { writes: vec![write], ..Batch::default() }).await {
            Ok(_) => Ok(()),
            // It took so long that the claim expired meanwhile.
            Err(error) if is_conflict(&error) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    async fn seen_before(
        &self,
        kept: &Idempotency,
        request: Hash,
    ) -> Result<Begun, IdempotencyError> {
        if kept.request != request {
            return Ok(Begun::Other);
        }
        if let Some(why) = self.no_longer(&kept.progress).await? {
            return Ok(Begun::NoLonger(why));
        }
        Ok(match &kept.progress {
            Progress::Begun { mark } => {
                let open = self.claims.lock(|open| open.contains(mark));
                if open { Begun::InProgress } else { Begun::Lost }
            }
            Progress::Finished { status, body: None, .. } => Begun::Shown { status: *status },
            Progress::Finished { status, body: Some(sealed), .. } => {
                let body = self.keyring.unseal(&kept.id, sealed);
                let body = body.map_err(|error| StoreError(error.to_string()))?;
                let body = String::from_utf8_lossy(&body).into_owned();
                Begun::Replay { status: *status, body }
            }
        })
    }

    /// The reason for which an answer that allowed something is not repeated: it would be refused
    /// now.
    async fn no_longer(&self, progress: &Progress) -> Result<Option<Why>, GateError> {
        let sessions = match progress {
            Progress::Begun { .. } | Progress::Finished { allows: Some(Allows::Nothing), .. } => {
                return Ok(None);
            }
            Progress::Finished { allows: Some(Allows::Something { sessions }), .. } => sessions,
            Progress::Finished { allows: None, .. } => &Vec::new(),
        };
        if self.control().await?.value.halted {
            return Ok(Some(Why::Halted));
        }
        for id in sessions {
            let versioned: Option<Versioned<Session>> = self.get(id.as_str()).await?;
            let Some(versioned) = versioned else { return Ok(Some(Why::NoSession)) };
            if let Some(why) = not_running(&versioned.value, self.now()) {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }

    /// Makes the claim; returns `None` if another request was first.
    async fn claim(
        &self,
        id: &str,
        request: Hash,
        now: Timestamp,
        over: Option<Versioned<Idempotency>>,
    ) -> Result<Option<Claim>, IdempotencyError> {
        let mark = Hash(random(&self.clock)?);
        let value = Idempotency {
            id: id.to_owned(),
            request,
            progress: Progress::Begun { mark },
            expires_at: now.after(KEPT_FOR),
        };
        let (write, version) = match over {
            Some(versioned) => (versioned.replace(&value)?, versioned.version.saturating_add(1)),
            None => (document::insert(&value)?, 1),
        };
        // The mark is registered before anybody can read the claim, which would otherwise look lost
        // for a moment.
        self.claims.lock(|open| open.insert(mark));
        let claim =
            Claim { versioned: Versioned { value, version }, mark, open: self.claims.clone() };
        match self.commit(Batch { writes: vec![write], ..Batch::default() }).await {
            Ok(_) => Ok(Some(claim)),
            Err(error) if is_conflict(&error) => Ok(None),
            Err(error) => Err(failed(error).into()),
        }
    }

    fn idempotency_id(&self, who: &str, key: &str) -> String {
        // The length comes first, so that no other pair gives the same bytes.
        let length = (who.len() as u64).to_be_bytes();
        let pair = [&length[..], who.as_bytes(), key.as_bytes()].concat();
        Hash(self.keyring.fingerprint(Purpose::IdempotencyKey, &pair)).to_string()
    }
}
