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

use std::io;

mod browser;
mod executor;
mod executors;
mod permit;
mod settings;

pub use browser::{BrowserSettings, Browsers, NotDescribed, Resolver, Sandbox};
pub use executor::{Controller, Executor, NotPermitted, Running, Stop};
pub use executors::Executors;
pub use permit::{Acceptance, NotAccepted, Permit};
pub use settings::{Settings, Supervisor};

/// Every executor that works here except the browser, which is added by
/// [`Executors::with`].
///
/// # Errors
/// The workspace is not a folder that can be opened.
pub fn executors(settings: &Settings) -> io::Result<Executors> {
    std::fs::read_dir(&settings.workspace)?;
    Ok(Executors::none())
}

/// Supervises one command and returns true, where this process was started for that by an executor.
///
/// The program that [`Settings::supervisor`] names calls it first of all, before it has threads or
/// reads its arguments.
#[must_use]
pub fn supervise_if_asked() -> bool {
    false
}
