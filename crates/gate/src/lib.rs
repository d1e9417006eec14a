//! Who may say yes, to what, until when.
//!
//! The control plane: an agent submits an action; what needs a person waits as an approval; the
//! answer yields a permit that runs that one action once; everything leaves a record. It knows no
//! HTTP, and time and randomness come in from [`clock`] alone.

pub mod audit;
pub mod channel;
pub mod clock;
pub mod id;
pub mod keyring;
pub mod rate;
pub mod store;

#[cfg(test)]
mod testing;
