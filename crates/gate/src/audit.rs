//! The audit trail: records cannot be changed unnoticed, and their content can be erased.
//!
//! ```text
//! record n    hash = H(previous hash, n, time, event, payload digest)
//!             payload digest = H(salt, whose it is, payload)
//! ```
//!
//! - Change, drop, swap or insert a record, and the hashes no longer follow from each other.
//! - Drop the last ones, and the end that the server signs with every commit does not match. Only
//!   the latest end is kept, so an older one cannot be put in its place.
//! - Drop everything, or put an older copy back, and the chain is shorter than the server noted
//!   beside its key ([`Noted`](crate::store::Noted)).
//! - Erasure takes a record's payload, salt and owner away and leaves its digest: the chain still
//!   verifies, and nothing can be guessed back without the salt. A record names the numbers of
//!   those that were erased; content that is missing without that is damage.
//! - Retention cuts the oldest records off and leaves a signed anchor where the chain now begins.
//! - Neither erasure nor retention removes a record that fails verification: damage stays visible.
//!
//! Payloads have been through redaction before they get here, and hold only the fields that the
//! logging level asks for.

mod check;
mod erase;
mod export;

pub use check::check;
pub use erase::erase;
pub use export::export;

pub use crate::record::{
    CHECKPOINT_EVERY, Checkpoint, Content, Damage, Draft, Event, Head, Numbers, Record,
    RecordOwner, Report, Verifier, erasure_records,
};
