//! Does what was approved: commands, files, requests, AppleScript, a browser.
//!
//! ```text
//! signed work ──► Acceptance: signature, worker, deadline, digest, not begun before ──► Permit
//! Permit ──► Executor ──► WorkResult
//! ```
//!
//! A worker makes no decision and keeps no secret. What it cannot do exactly as it was judged, it
//! does not do: a path that was swapped, a script that has changed, an element that is another one
//! now are [`Ended::Refused`](countersign_wire::work::Ended::Refused).
//!
//! INVARIANT: only [`Acceptance::accept`] makes a [`Permit`], and an [`Executor`] takes it by value.

mod browser;
mod executor;
mod permit;

pub use browser::{BrowserSettings, Browsers, NotDescribed, Resolver, Sandbox};
pub use executor::{Controller, Executor, NotPermitted, Running, Stop};
pub use permit::{Acceptance, NotAccepted, Permit};
