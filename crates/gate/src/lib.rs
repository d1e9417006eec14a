//! Approvals: who may approve an action, and until when.
//!
//! The control plane: an agent submits an action; an action that needs a person waits as an
//! approval; the answer yields a permit that runs that one action once; everything is recorded. It
//! does not serve HTTP, and takes time and randomness only from [`clock`].

pub mod announce;
pub mod approval;
pub mod audit;
pub mod bytes;
pub mod caller;
pub mod channel;
pub mod clock;
pub mod config;
mod document;
mod error;
pub mod event;
mod folder;
pub mod forward;
pub mod gate;
pub mod id;
pub mod judging;
pub mod key;
pub mod keyring;
pub mod machine;
pub mod offline;
pub mod permit;
pub mod preferences;
pub mod process;
pub mod proposal;
pub mod rate;
mod record;
mod redacted;
pub mod scope;
mod script;
pub mod secret;
pub mod session;
pub mod signed_policy;
pub mod store;
pub mod sweeper;
mod sync;
pub mod transfer;
pub mod user;
pub mod vault;
pub mod worker;

pub use caller::{Caller, Person};
pub use config::Config;
pub use error::GateError;
pub use gate::{Gate, Parts};
pub use permit::Permit;
pub use proposal::{Proposal, Submitted};

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod testing;
