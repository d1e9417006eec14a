//! Records: the links of the audit chain, and positions in it.

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::clock::Timestamp;
use crate::keyring::{Keyring, PublicKey, Purpose};

mod damage;
mod event;
mod numbers;
mod verify;

pub use damage::Damage;
pub use event::Event;
pub use numbers::Numbers;
pub use verify::{Report, Verifier};

/// The number of records between two checkpoints.
pub const CHECKPOINT_EVERY: u64 = 1_024;

/// An event that is about to be recorded. Its digest is computed when the draft is made, so that
/// little work is left where records are linked one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The time of the event.
    pub at: Timestamp,
    /// The kind of the event.
    pub event: Event,
    pub(crate) content: Content,
    pub(crate) digest: [u8; 32],
}

impl Draft {
    /// Drafts a record of an event. The payload is JSON, and redacted; the salt prevents guessing
    /// it from its digest.
    #[must_use]
    pub fn new(
        at: Timestamp,
        event: Event,
        record_owner: RecordOwner,
        payload: String,
        salt: [u8; 16],
    ) -> Self {
        let content = Content { record_owner, payload, salt };
        Self { at, event, digest: content.digest(), content }
    }
}

/// The user, workspace and session that a record is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordOwner {
    /// The user.
    pub owner: Option<String>,
    /// The workspace.
    pub workspace: Option<String>,
    /// The session.
    pub session: Option<String>,
}

/// One link of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The number of the record; the first is 1.
    pub number: u64,
    /// The time of the event.
    pub at: Timestamp,
    /// The kind of the event.
    pub event: String,
    /// The digest of the part that may be erased.
    pub digest: [u8; 32],
    /// The hash of the previous record.
    pub previous: [u8; 32],
    /// The hash of this record.
    pub hash: [u8; 32],
    /// The part that may be erased; `None` once it was.
    pub content: Option<Content>,
}

/// The part of a record that may be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The user, workspace and session it is about.
    pub record_owner: RecordOwner,
    /// The event's details, as JSON.
    pub payload: String,
    /// The salt that prevents guessing the payload from its digest.
    pub salt: [u8; 16],
}

/// The end of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of the last record.
    pub number: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// Its time.
    pub at: Timestamp,
}

impl Head {
    /// The end of an empty chain: before record 1.
    #[must_use]
    pub const fn genesis() -> Self {
        Self { number: 0, hash: [0; 32], at: Timestamp(0) }
    }

    /// Links a draft to the end of the chain. Its record is the new end.
    #[must_use]
    pub fn link(&self, draft: Draft) -> Record {
        let Self { number, hash, at } = self.then(&draft);
        let Draft { event, content, digest, .. } = draft;
        let event = event.as_str().to_owned();
        Record { number, at, event, digest, previous: self.hash, hash, content: Some(content) }
    }

    /// The end of the chain once a draft is linked to this one.
    #[must_use]
    pub fn then(&self, draft: &Draft) -> Self {
        let (number, at) = (self.number.saturating_add(1), draft.at);
        let hash = link_hash(&self.hash, number, at, draft.event.as_str(), &draft.digest);
        Self { number, hash, at }
    }

    /// Signs this position for a purpose.
    #[must_use]
    pub fn sign(&self, purpose: Purpose, keyring: &Keyring) -> Checkpoint {
        let signature = keyring.sign(purpose, &self.to_bytes());
        Checkpoint { number: self.number, hash: self.hash, at: self.at, signature }
    }

    fn to_bytes(self) -> Vec<u8> {
        [&self.number.to_be_bytes()[..], &self.hash, &self.at.0.to_be_bytes()].concat()
    }
}

/// A position in the chain, signed by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The number of the record.
    pub number: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// Its time.
    pub at: Timestamp,
    /// The server's signature.
    pub signature: [u8; 64],
}

impl Checkpoint {
    /// The position.
    #[must_use]
    pub const fn head(&self) -> Head {
        Head { number: self.number, hash: self.hash, at: self.at }
    }

    /// Reports whether the server signed this position for a purpose.
    #[must_use]
    pub fn is_signed(&self, purpose: Purpose, by: &PublicKey) -> bool {
        by.verifies(purpose, &self.head().to_bytes(), &self.signature)
    }
}

/// The signed ends of the chain, and the checkpoints between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    /// The last record that retention cut off, if any: the first record left follows it.
    pub anchor: Option<Checkpoint>,
    /// Checkpoints signed as the chain grew, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// The last record; `None` before the first.
    pub head: Option<Checkpoint>,
    /// The number of records with a number below 1, which no record can have.
    pub stray: u64,
}

/// The server's note outside its store: a record that the chain has reached. An attacker who can
/// only write to the store cannot shorten the chain below it unnoticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Noted {
    /// Nobody else can access the store, and a note is not needed.
    NotKept,
    /// A note is expected, and missing.
    Missing,
    /// The file is not a note.
    Unreadable,
    /// The chain has reached this record; number 0 means that it had not begun.
    At(Checkpoint),
}

impl Chain {
    /// The position to which the next record is linked.
    #[must_use]
    pub fn end(&self) -> Head {
        self.head.as_ref().or(self.anchor.as_ref()).map_or_else(Head::genesis, Checkpoint::head)
    }
}

impl Record {
    /// The position of this record in the chain.
    #[must_use]
    pub const fn head(&self) -> Head {
        Head { number: self.number, hash: self.hash, at: self.at }
    }

    /// Reports whether the content matches its digest. Erased content always does.
    pub(crate) fn content_holds(&self) -> bool {
        self.content.as_ref().is_none_or(|content| content.digest() == self.digest)
    }

    pub(crate) fn computed_hash(&self) -> [u8; 32] {
        link_hash(&self.previous, self.number, self.at, &self.event, &self.digest)
    }
}

fn link_hash(
    previous: &[u8; 32],
    number: u64,
    at: Timestamp,
    event: &str,
    digest: &[u8; 32],
) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(b"countersign record v1\0");
    hash.update(previous);
    hash.update(number.to_be_bytes());
    hash.update(at.0.to_be_bytes());
    update_text(&mut hash, Some(event));
    hash.update(digest);
    hash.finalize().into()
}

impl Content {
    fn digest(&self) -> [u8; 32] {
        let RecordOwner { owner, workspace, session } = &self.record_owner;
        let mut hash = Sha256::new_with_prefix(b"countersign record content v1\0");
        hash.update(self.salt);
        for text in [owner, workspace, session] {
            update_text(&mut hash, text.as_deref());
        }
        update_text(&mut hash, Some(&self.payload));
        hash.finalize().into()
    }
}

/// Hashes a text with its length first, so that no two lists of texts are hashed alike.
fn update_text(hash: &mut Sha256, text: Option<&str>) {
    match text {
        Some(text) => {
            hash.update([1]);
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        None => hash.update([0]),
    }
}

/// The most ranges of numbers in one record.
const RANGES: usize = 2_000;

/// The records that a store makes of an erasure: the person who erased and the numbers of the
/// records that lost their content, but not their owner. Without these records the missing content
/// would be damage.
#[must_use]
pub fn erasure_records(by: &str, at: Timestamp, salt: [u8; 16], erased: &Numbers) -> Vec<Draft> {
    let draft = |numbers: &Numbers| {
        let payload = json!({"by": by, "records": numbers.to_string()}).to_string();
        Draft::new(at, Event::Erased, RecordOwner::default(), payload, salt)
    };
    erased.split(RANGES).iter().map(draft).collect()
}
