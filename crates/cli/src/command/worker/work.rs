//! The work that runs, each item on a thread of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use countersign_wire::work::{FromWorker, WorkResult};
use countersign_worker::{Executors, Permit, Running, Stop};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::controller::{Link, Replies};
use super::say;
use crate::client::Client;

/// The work that runs.
#[derive(Clone)]
pub(super) struct Jobs {
    executors: Arc<Executors>,
    client: Client,
    out: mpsc::Sender<FromWorker>,
    replies: Replies,
    running: Arc<Mutex<HashMap<String, Job>>>,
}

/// One item of work that runs.
struct Job {
    session: String,
    stop: Stop,
}

impl Jobs {
    pub(super) fn new(
        executors: Arc<Executors>,
        client: Client,
        out: mpsc::Sender<FromWorker>,
        replies: Replies,
    ) -> Self {
        Self { executors, client, out, replies, running: Arc::default() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Job>> {
        // The map is consistent after every step, so a panic elsewhere has broken nothing.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins permitted work.
    pub(super) fn begin(&self, permit: Permit) {
        let item = permit.item();
        let (action, session) = (item.action_id.clone(), item.session_id.clone());
        say(&format!("{action} begins: {}", item.action.kind()));
        let stop = Stop::default();
        let job = Job { session: session.clone(), stop: stop.clone() };
        self.running().insert(action.clone(), job);
        let (jobs, handle) = (self.clone(), Handle::current());
        thread::spawn(move || jobs.run(permit, &action, session, &stop, handle));
    }

    fn run(self, permit: Permit, action: &str, session: String, stop: &Stop, handle: Handle) {
        let _ = self.out.blocking_send(FromWorker::Began { action_id: action.to_owned() });
        let link = Link {
            action: action.to_owned(),
            session,
            out: self.out.clone(),
            replies: self.replies.clone(),
            stop: stop.clone(),
            client: self.client.clone(),
            handle,
        };
        let result = self.executors.execute(permit, Running { stop, controller: &link });
        self.running().remove(action);
        say(&told(action, &result));
        let (action_id, result) = (action.to_owned(), Box::new(result));
        // Without a connection the server knows already that it is unknown.
        let _ = self.out.blocking_send(FromWorker::Ended { action_id, result });
    }

    /// Stops an action, those of a session, or all.
    pub(super) fn stop(&self, action: Option<&str>, session: Option<&str>, why: &str) {
        let running = self.running();
        let named = running.iter().filter(|(id, job)| {
            action.is_none_or(|action| action == *id)
                && session.is_none_or(|session| session == job.session)
        });
        for (id, job) in named {
            say(&format!("{id} is stopped: {why}"));
            job.stop.give(why);
        }
    }

    /// Ends what belongs to a session that is over.
    pub(super) fn end_session(&self, session: String) {
        self.stop(None, Some(&session), "the session is over");
        let executors = Arc::clone(&self.executors);
        thread::spawn(move || executors.end_session(&session));
    }

    /// Describes an element of a session's page.
    pub(super) fn describe(&self, request: u64, session: String, reference: Option<String>) {
        let jobs = self.clone();
        thread::spawn(move || {
            let described = jobs.executors.describe(&session, reference.as_deref());
            let (element, error) = match described {
                Ok(element) => (Some(Box::new(element)), None),
                Err(error) => (None, Some(error.to_string())),
            };
            let _ = jobs.out.blocking_send(FromWorker::Described { request, element, error });
        });
    }

    /// Reports whether anything runs.
    pub(super) fn is_busy(&self) -> bool {
        !self.running().is_empty()
    }
}

fn told(action: &str, result: &WorkResult) -> String {
    let ended = result.ended.as_str();
    match &result.error {
        Some(error) => format!("{action} {ended} after {} ms: {}", result.took_ms, error.name),
        None => format!("{action} {ended} after {} ms", result.took_ms),
    }
}
