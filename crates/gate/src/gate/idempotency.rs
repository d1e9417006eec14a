//! Writes that may be sent twice: the second time, what was answered the first time is said again.
//!
//! ```text
//! begin ──► First ──finish──► Replay, Shown
//!             ├────let go───► First again: nothing had happened
//!             └────dropped──► Lost: nobody knows how far it got
//! ```
//!
//! What is kept is found by a fingerprint, so that neither the key nor who sent it stands in the
//! store, and an answer is sealed. An answer that held a secret is not kept at all.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::Hash;
use crate::clock::{ChanceError, Timestamp, random};
use crate::document::{self, Document, Held, Marks};
use crate::gate::control::failed;
use crate::gate::session::not_running;
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::SessionId;
use crate::keyring::Purpose;
use crate::proposal::Why;
use crate::session::Session;
use crate::store::{Batch, Kind, StoreError, Write};

/// How long an answer is kept.
const KEPT_FOR: Duration = Duration::from_hours(24);
/// A key of more characters than this is refused.
const MOST_CHARACTERS: usize = 200;

/// What a write with an idempotency key meets.
#[derive(Debug)]
pub enum Begun {
    /// It is the first: do it, then finish the claim.
    First(Claim),
    /// It was done: say this again.
    Replay {
        /// The status that was answered.
        status: u16,
        /// The body that was answered.
        body: String,
    },
    /// It was done, and its answer held a secret that is shown only once.
    Shown {
        /// The status that was answered.
        status: u16,
    },
    /// It was done and let something run, which may not run any more.
    NoLonger(Why),
    /// It is being done right now.
    InProgress,
    /// The key was used for another request.
    Other,
    /// It was begun and never finished: nobody knows whether it was done.
    Lost,
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdempotencyError {
    /// It is empty or too long.
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

/// A write that was begun. Dropped unfinished, it is lost: nobody knows how far it got.
#[must_use = "finish it, or let it go if nothing happened"]
pub struct Claim {
    held: Held<Idempotency>,
    mark: Hash,
    open: Claims,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Claim").field(&self.held.value.id).finish()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.open.lock(|open| open.remove(&self.mark));
    }
}

/// The claims of this process that are being worked on. A claim that is in the store but not here
/// is one that nobody will finish: its process died, or whoever sent it went away halfway.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims(Arc<Mutex<HashSet<Hash>>>);

impl Claims {
    fn lock<T>(&self, then: impl FnOnce(&mut HashSet<Hash>) -> T) -> T {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is kept of a write.
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
    /// Somebody works on it: the one with this mark.
    Begun { mark: Hash },
    /// It was answered so; the body is sealed. Of answers from before it was noted, what they let
    /// run is not known: they are taken to let something run.
    Finished {
        status: u16,
        body: Option<String>,
        #[serde(default)]
        allows: Option<Allows>,
    },
}

/// What an answer lets run, so that saying it again can be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allows {
    /// Nothing.
    Nothing,
    /// Something, in these sessions or in none.
    Something {
        /// In which sessions.
        sessions: Vec<SessionId>,
    },
}

impl Document for Idempotency {
    const KIND: Kind = Kind::Idempotency;

    fn id(&self) -> &str {
        &self.id
    }

    fn marks(&self) -> Marks<'_> {
        let state = match self.progress {
            Progress::Begun { .. } => "begun",
            Progress::Finished { .. } => "finished",
        };
        Marks { state, due: Some(self.expires_at), ..Marks::default() }
    }
}

impl Gate {
    /// Begins a write that somebody may send twice. `who` tells apart those who use the same keys,
    /// and `request` requests that use the same key.
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
            let held: Option<Held<Idempotency>> = self.get(&id).await?;
            match held {
                Some(held) if now < held.value.expires_at => {
                    return self.seen_before(&held.value, request).await;
                }
                held => {
                    if let Some(claim) = self.claim(&id, request, now, held).await? {
                        return Ok(Begun::First(claim));
                    }
                }
            }
        }
        Err(GateError::Busy.into())
    }

    /// Says how a write was answered, and what that lets run. Without a body, because it held a
    /// secret, only that.
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
        let began = &claim.held.value;
        let seal = |body: &str| self.keyring.seal(&began.id, body.as_bytes(), &self.clock);
        let body = body.map(seal).transpose()?;
        let progress = Progress::Finished { status, body, allows: Some(allows) };
        let next = Idempotency { progress, ..began.clone() };
        self.settle_claim(claim.held.replace(&next)?).await
    }

    /// Lets go of a write before which nothing happened: it may be sent again.
    ///
    /// # Errors
    /// The store failed.
    pub async fn idempotent_let_go(&self, claim: Claim) -> Result<(), GateError> {
        self.settle_claim(claim.held.delete()).await
    }

    async fn settle_claim(&self, write: Write) -> Result<(), GateError> {
        match self.commit(Batch { writes: vec![write], ..Batch::default() }).await {
            Ok(_) => Ok(()),
            // It took so long that it was forgotten meanwhile.
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

    /// Why an answer that let something run is not said again: what would refuse it now.
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
            let held: Option<Held<Session>> = self.get(id.as_str()).await?;
            let Some(held) = held else { return Ok(Some(Why::NoSession)) };
            if let Some(why) = not_running(&held.value, self.now()) {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }

    /// Makes the claim; nothing when somebody else was faster.
    async fn claim(
        &self,
        id: &str,
        request: Hash,
        now: Timestamp,
        over: Option<Held<Idempotency>>,
    ) -> Result<Option<Claim>, IdempotencyError> {
        let mark = Hash(random(&self.clock)?);
        let value = Idempotency {
            id: id.to_owned(),
            request,
            progress: Progress::Begun { mark },
            expires_at: now.after(KEPT_FOR),
        };
        let (write, version) = match over {
            Some(held) => (held.replace(&value)?, held.version.saturating_add(1)),
            None => (document::insert(&value)?, 1),
        };
        // Known as open before anybody can read it: otherwise it would look lost for a moment.
        self.claims.lock(|open| open.insert(mark));
        let claim = Claim { held: Held { value, version }, mark, open: self.claims.clone() };
        match self.commit(Batch { writes: vec![write], ..Batch::default() }).await {
            Ok(_) => Ok(Some(claim)),
            Err(error) if is_conflict(&error) => Ok(None),
            Err(error) => Err(failed(error).into()),
        }
    }

    fn idempotency_id(&self, who: &str, key: &str) -> String {
        // With its length before it, so that no other pair runs together into the same bytes.
        let length = (who.len() as u64).to_be_bytes();
        let pair = [&length[..], who.as_bytes(), key.as_bytes()].concat();
        Hash(self.keyring.fingerprint(Purpose::IdempotencyKey, &pair)).to_string()
    }
}
