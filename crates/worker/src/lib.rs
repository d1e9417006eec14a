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

#[cfg(unix)]
mod applescript;
mod browser;
#[cfg(unix)]
mod environment;
mod executor;
mod executors;
#[cfg(unix)]
mod file;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod order;
#[cfg(unix)]
mod output;
mod permit;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod sealed;
mod settings;
#[cfg(unix)]
mod shell;
#[cfg(unix)]
mod supervisor;
#[cfg(unix)]
mod workspace;

pub use browser::{BrowserSettings, Browsers, NotDescribed, Resolver, Sandbox};
#[cfg(unix)]
pub use environment::changes_the_words;
pub use executor::{Controller, Executor, NotPermitted, Running, Stop};
pub use executors::Executors;
pub use permit::{Acceptance, NotAccepted, Permit};
#[cfg(unix)]
pub use program::{Places, Program, ProgramError};
pub use settings::{Settings, Supervisor};
#[cfg(unix)]
pub use supervisor::supervise_if_asked;

/// Every executor of the given settings except the browser, which is added by [`Executors::with`].
///
/// The one for AppleScript is always there, because it says what is missing; it is announced to a
/// server only where it works ([`Executors::kinds`]).
///
/// # Errors
/// The workspace is not a folder that can be opened.
#[cfg(unix)]
pub fn executors(settings: &Settings) -> io::Result<Executors> {
    let workspace = std::sync::Arc::new(workspace::Workspace::open(&settings.workspace)?);
    let shared = || std::sync::Arc::clone(&workspace);
    let applescript = applescript::AppleScript::new(shared(), settings.clone());
    let executors = Executors::none()
        .with(Box::new(shell::Shell::new(shared(), settings.clone())))
        .with(Box::new(file::Files::new(shared())))
        .with(Box::new(http::Http::new(settings.clone())))
        .with(Box::new(applescript));
    Ok(executors)
}

/// Commands and files need Unix.
///
/// # Errors
/// Always, here.
#[cfg(not(unix))]
pub fn executors(_: &Settings) -> io::Result<Executors> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "a worker needs Unix"))
}

/// Nothing is supervised where there are no commands.
#[cfg(not(unix))]
#[must_use]
pub const fn supervise_if_asked() -> bool {
    false
}
