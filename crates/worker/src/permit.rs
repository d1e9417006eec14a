//! Signed work becomes a permit, once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_wire::PublicKey;
use countersign_wire::work::{PURPOSE, SignedWork, WorkItem, binding};

/// Proof that a server let one action run once, on this worker.
///
/// INVARIANT: only [`Acceptance::accept`] makes one, and it cannot be copied.
#[derive(Debug)]
#[must_use = "a permit that is not used is an action that was approved for nothing"]
pub struct Permit {
    item: WorkItem,
}

impl Permit {
    /// The permitted work.
    #[must_use]
    pub const fn item(&self) -> &WorkItem {
        &self.item
    }

    /// The permitted work; the permit is used.
    #[must_use]
    pub fn into_item(self) -> WorkItem {
        self.item
    }
}

/// The reason for which signed work is not begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    /// The signature is not the server's.
    #[error("the work is not signed by the server")]
    Forged,
    /// The item cannot be read.
    #[error("the work cannot be read: {0}")]
    Unreadable(String),
    /// The item is for another worker.
    #[error("the work is for another worker")]
    Elsewhere,
    /// The time in which it could begin is over.
    #[error("the time in which the work could begin is over")]
    Late,
    /// The digest is not the action's.
    #[error("the work is not the action that was judged")]
    OtherAction,
    /// It has begun before.
    #[error("the work has begun before")]
    Again,
}

/// The check of signed work: the server's key, this worker's id, and what has begun already.
#[derive(Debug)]
pub struct Acceptance {
    key: PublicKey,
    worker_id: String,
    /// The action ids that have begun, with the time from which on they are late anyway.
    begun: Mutex<BTreeMap<String, i64>>,
}

impl Acceptance {
    /// The check for one worker of one server.
    #[must_use]
    pub const fn new(key: PublicKey, worker_id: String) -> Self {
        Self { key, worker_id, begun: Mutex::new(BTreeMap::new()) }
    }

    /// Turns signed work into a permit, at the given time in milliseconds since 1970.
    ///
    /// # Errors
    /// It is forged, for another worker, late, not what was judged, or has begun before.
    pub fn accept(&self, signed: &SignedWork, now: i64) -> Result<Permit, NotAccepted> {
        if !self.is_signed(signed) {
            return Err(NotAccepted::Forged);
        }
        let item: WorkItem = serde_json::from_str(&signed.item)
            .map_err(|error| NotAccepted::Unreadable(error.to_string()))?;
        if item.worker_id != self.worker_id {
            return Err(NotAccepted::Elsewhere);
        }
        if now >= item.begin_by {
            return Err(NotAccepted::Late);
        }
        if !is_bound(&item) {
            return Err(NotAccepted::OtherAction);
        }
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, until| now < *until);
        if begun.insert(item.action_id.clone(), item.begin_by).is_some() {
            return Err(NotAccepted::Again);
        }
        Ok(Permit { item })
    }

    fn is_signed(&self, signed: &SignedWork) -> bool {
        let signature = URL_SAFE_NO_PAD.decode(&signed.signature).ok();
        let signature: Option<[u8; 64]> = signature.and_then(|bytes| bytes.try_into().ok());
        signature.is_some_and(|it| self.key.verifies(PURPOSE, signed.item.as_bytes(), &it))
    }
}

/// Reports whether the digest of an item is that of its action, in its circumstances.
fn is_bound(item: &WorkItem) -> bool {
    let digest = countersign_core::digest::digest(&item.action, &item.context);
    binding(&digest, &item.scripts) == item.digest
}

#[cfg(test)]
mod tests {
    use countersign_core::{Action, Context, Verdict};
    use countersign_wire::work::WorkLimits;
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;

    fn server() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    fn item() -> WorkItem {
        let action = Action::Shell { command: "ls".to_owned(), cwd: None };
        let context = Context { cwd: Some("/repo".to_owned()), ..Context::default() };
        WorkItem {
            action_id: "act_1".to_owned(),
            worker_id: "wrk_1".to_owned(),
            session_id: "ses_1".to_owned(),
            approval_id: None,
            digest: countersign_core::digest::digest(&action, &context),
            action,
            element: None,
            context,
            scripts: Vec::new(),
            agreed: Verdict::Warn,
            limits: WorkLimits::default(),
            begin_by: 1_000,
        }
    }

    fn signed(item: &WorkItem) -> SignedWork {
        let item = serde_json::to_string(item).unwrap();
        let signature = server().sign(&[PURPOSE.as_bytes(), item.as_bytes()].concat());
        SignedWork { item, signature: URL_SAFE_NO_PAD.encode(signature.to_bytes()) }
    }

    fn acceptance() -> Acceptance {
        Acceptance::new(PublicKey::new(server().verifying_key()), "wrk_1".to_owned())
    }

    #[test]
    fn signed_work_is_accepted_once() {
        let (acceptance, signed) = (acceptance(), signed(&item()));
        assert_eq!(acceptance.accept(&signed, 0).unwrap().item().action_id, "act_1");
        assert_eq!(acceptance.accept(&signed, 1).unwrap_err(), NotAccepted::Again);
    }

    #[test]
    fn work_that_is_not_exactly_what_was_signed_and_judged_is_refused() {
        let late = acceptance().accept(&signed(&item()), 1_000).unwrap_err();
        assert_eq!(late, NotAccepted::Late);
        let elsewhere = WorkItem { worker_id: "wrk_2".to_owned(), ..item() };
        let refused = acceptance().accept(&signed(&elsewhere), 0).unwrap_err();
        assert_eq!(refused, NotAccepted::Elsewhere);
        let action = Action::Shell { command: "rm -rf x".to_owned(), cwd: None };
        let refused = acceptance().accept(&signed(&WorkItem { action, ..item() }), 0).unwrap_err();
        assert_eq!(refused, NotAccepted::OtherAction);
        let mut changed = signed(&item());
        changed.item = changed.item.replace("ls", "id");
        assert_eq!(acceptance().accept(&changed, 0).unwrap_err(), NotAccepted::Forged);
    }
}
