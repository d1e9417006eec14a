//! The interface of everything that does something.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::Action;
use countersign_wire::work::{Element, ExecutorKind, Stream, WorkFile, WorkResult};

use crate::permit::Permit;

/// Does one kind of work.
///
/// An executor runs on a thread of its own for each permit; it may block.
pub trait Executor: Send + Sync {
    /// The kind of work that it does.
    fn kind(&self) -> ExecutorKind;

    /// Reports whether this machine has what the work needs.
    fn works_here(&self) -> bool {
        true
    }

    /// Does what was permitted, and returns how it ended. Never runs anything else in its place.
    fn execute(&self, permit: Permit, running: Running<'_>) -> WorkResult;

    /// Describes an element of a session's page, or the page itself where none is named.
    ///
    /// # Errors
    /// There is no page, or no such element on it.
    fn describe(&self, session_id: &str, reference: Option<&str>) -> Result<Element, NotPermitted> {
        let _ = (session_id, reference);
        Err(NotPermitted("there is no page".to_owned()))
    }

    /// Drops everything that belongs to a session, which is over.
    fn end_session(&self, session_id: &str) {
        let _ = session_id;
    }
}

/// What work that runs can reach: its stop signal, and the server.
#[derive(Clone, Copy)]
pub struct Running<'a> {
    /// The signal to end.
    pub stop: &'a Stop,
    /// The server.
    pub controller: &'a dyn Controller,
}

/// The way back to the server that permitted the work.
pub trait Controller: Sync {
    /// Sends a piece of output.
    fn piece(&self, stream: Stream, text: &str);

    /// Lends one field of a credential to a function, if the session has a credential for exactly
    /// this origin and the work is a sign-in. The function must not keep it.
    ///
    /// # Errors
    /// There is no such field, or the server does not lend it.
    fn fill(
        &self,
        origin: &str,
        field: &str,
        using: &mut dyn FnMut(&str),
    ) -> Result<(), NotPermitted>;

    /// Asks whether something may happen that the work has caused, and waits for the answer.
    ///
    /// # Errors
    /// It may not happen.
    fn propose(&self, action: &Action, details: &[String]) -> Result<(), NotPermitted>;

    /// Hands a file in to the session's transfers.
    ///
    /// # Errors
    /// It is too large, the session has too many, or the server cannot be reached.
    fn hand_in(
        &self,
        name: &str,
        content: &mut dyn std::io::Read,
    ) -> Result<WorkFile, NotPermitted>;
}

/// A refusal by the server, or a server that cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotPermitted(pub String);

/// A signal to end, which is given once and stays.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Signal>);

#[derive(Debug, Default)]
struct Signal {
    given: AtomicBool,
    why: Mutex<String>,
    changed: Condvar,
}

impl Stop {
    /// Gives the signal.
    pub fn give(&self, why: &str) {
        let mut reason = self.0.why.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.given.swap(true, Ordering::SeqCst) {
            why.clone_into(&mut reason);
        }
        drop(reason);
        self.0.changed.notify_all();
    }

    /// Reports whether the signal was given.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.0.given.load(Ordering::SeqCst)
    }

    /// The reason that it was given for.
    #[must_use]
    pub fn why(&self) -> String {
        self.0.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the signal, at most this long, and reports whether it was given.
    #[must_use]
    pub fn wait(&self, most: Duration) -> bool {
        let reason = self.0.why.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.changed.wait_timeout_while(reason, most, |_| !self.is_given());
        drop(waited);
        self.is_given()
    }
}
