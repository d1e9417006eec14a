//! The workers that are connected, the sessions that are bound to them, and the work that each was
//! given. Kept in memory: a worker's connection does not outlive the server, nor does its work.
//!
//! ```text
//! dispatch ──► Queued ──hand out──► Sent ──began──► Running ──ended──► over
//!                 └──not sent──► over      └─────────gone──────────► Unknown, for ever
//! ```
//!
//! Nothing here decides, reads the store or waits: [`crate::Gate`] does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_wire::ExecutionState;
use countersign_wire::work::{Element, ExecutorKind, ToWorker};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::caller::Caller;
use crate::clock::Timestamp;
use crate::id::{ActionId, SessionId, UserId, WorkerId, WorkspaceId};

pub(crate) mod job;
mod lines;

use job::Job;

/// The most messages that wait for one worker; one that reads no more of them is disconnected.
const MOST_WAITING: usize = 256;
/// The most actions that are over and can still be looked at.
const MOST_OVER: usize = 256;
/// The most of them whose results are kept as they came.
const MOST_PLAIN: usize = 64;

/// All workers and their work.
#[derive(Debug)]
pub(crate) struct Workers {
    inside: Mutex<Inside>,
    /// Wakes those who wait for a worker to come.
    arrived: watch::Sender<()>,
}

#[derive(Debug, Default)]
pub(crate) struct Inside {
    pub(crate) connected: BTreeMap<WorkerId, Connected>,
    /// The worker in whose browser and folder each session lives.
    pub(crate) bound: BTreeMap<SessionId, WorkerId>,
    /// The sessions that wait for a worker, and the time by which one must have come.
    pub(crate) awaited: BTreeMap<SessionId, Timestamp>,
    pub(crate) jobs: BTreeMap<ActionId, Job>,
    over: VecDeque<ActionId>,
    descriptions: BTreeMap<u64, Asked>,
    last_request: u64,
    last_connection: u64,
}

/// A worker that is connected.
#[derive(Debug)]
pub(crate) struct Connected {
    /// The holder of the key with which it has registered.
    pub(crate) caller: Caller,
    pub(crate) serves: Serves,
    pub(crate) executors: BTreeSet<ExecutorKind>,
    pub(crate) folder: Option<String>,
    pub(crate) outbox: mpsc::Sender<ToWorker>,
    /// The number of its connection, by which it is told from an earlier one of the same worker.
    pub(crate) connection: u64,
}

/// The people whose sessions a worker serves, in the workspace of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serves {
    /// Those of the key's own user.
    Own,
    /// Everybody's: the key is a bot's, or that of an administrator.
    Everybody,
}

/// A question to a worker about an element of a page.
#[derive(Debug)]
struct Asked {
    worker: WorkerId,
    answer: oneshot::Sender<Result<Element, String>>,
}

/// The answer to a question about an element of a page.
pub type Description = oneshot::Receiver<Result<Element, String>>;

/// A worker that cannot be reached any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the worker is gone")]
pub struct Gone;

/// A session, as far as the choice of a worker needs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForSession<'a> {
    pub(crate) id: &'a SessionId,
    pub(crate) user: &'a UserId,
    pub(crate) workspace: &'a WorkspaceId,
}

impl Default for Workers {
    fn default() -> Self {
        Self { inside: Mutex::default(), arrived: watch::channel(()).0 }
    }
}

impl Workers {
    pub(crate) fn inside(&self) -> MutexGuard<'_, Inside> {
        // The maps are consistent after every step, so a panic elsewhere has broken nothing.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A receiver that wakes when a worker has come.
    pub(crate) fn arrivals(&self) -> watch::Receiver<()> {
        self.arrived.subscribe()
    }

    /// Connects a worker. Returns its messages, the number of its connection, and the work that an
    /// earlier connection of it has left.
    pub(crate) fn connect(
        &self,
        id: &WorkerId,
        of: impl FnOnce(mpsc::Sender<ToWorker>, u64) -> Connected,
    ) -> (mpsc::Receiver<ToWorker>, u64, Vec<ActionId>) {
        let (outbox, inbox) = mpsc::channel(MOST_WAITING);
        let mut inside = self.inside();
        inside.last_connection = inside.last_connection.saturating_add(1);
        let connection = inside.last_connection;
        let left = inside.disconnect(id);
        inside.connected.insert(id.clone(), of(outbox, connection));
        drop(inside);
        self.arrived.send_replace(());
        (inbox, connection, left)
    }

    /// Disconnects a worker, unless it has connected again. Returns the work that it has left.
    pub(crate) fn disconnect(&self, id: &WorkerId, connection: u64) -> Vec<ActionId> {
        let mut inside = self.inside();
        let current = inside.connected.get(id).is_some_and(|it| it.connection == connection);
        if current { inside.disconnect(id) } else { Vec::new() }
    }

    /// Tells the workers of a session that it is over: its work is stopped, what belongs to it is
    /// dropped. What its agent has not fetched is kept redacted alone.
    pub(crate) fn end_session(&self, id: &SessionId, why: &str) {
        let mut inside = self.inside();
        inside.awaited.remove(id);
        inside.stop(why, |job| job.session == *id);
        for job in inside.jobs.values_mut().filter(|job| job.session == *id) {
            job.forget_plain();
        }
        if let Some(worker) = inside.bound.remove(id) {
            let over = ToWorker::EndSession { session_id: id.to_string() };
            inside.tell(&worker, over);
        }
    }

    /// Stops everything that runs.
    pub(crate) fn stop_all(&self, why: &str) {
        self.inside().stop(why, |_| true);
    }
}

impl Inside {
    /// The worker of a session that can do this, if it is connected. The first that does something
    /// for a session keeps it.
    pub(crate) fn choose(&mut self, of: ForSession<'_>, kind: ExecutorKind) -> Option<WorkerId> {
        let does = |worker: &Connected| worker.serves(of) && worker.executors.contains(&kind);
        if let Some(bound) = self.bound.get(of.id) {
            return self.connected.get(bound).filter(|worker| does(worker)).map(|_| bound.clone());
        }
        let load = |id: &WorkerId| self.bound.values().filter(|bound| *bound == id).count();
        let able = self.connected.iter().filter(|(_, worker)| does(worker));
        let chosen = able.map(|(id, _)| id).min_by_key(|id| load(id))?.clone();
        self.bound.insert(of.id.clone(), chosen.clone());
        Some(chosen)
    }

    /// Sends a message, if the worker takes messages. One that does not is disconnected: its end of
    /// the channel sees that.
    pub(crate) fn tell(&mut self, worker: &WorkerId, message: ToWorker) -> bool {
        let Some(connected) = self.connected.get(worker) else { return false };
        match connected.outbox.try_send(message) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {
                self.connected.remove(worker);
                false
            }
        }
    }

    /// Asks a worker about an element of a page.
    pub(crate) fn describe(
        &mut self,
        worker: &WorkerId,
        session: &SessionId,
        reference: Option<String>,
    ) -> Result<Description, Gone> {
        self.last_request = self.last_request.saturating_add(1);
        let request = self.last_request;
        let (answer, description) = oneshot::channel();
        self.descriptions.retain(|_, asked| !asked.answer.is_closed());
        self.descriptions.insert(request, Asked { worker: worker.clone(), answer });
        let session_id = session.to_string();
        let told = self.tell(worker, ToWorker::Describe { request, session_id, reference });
        if told { Ok(description) } else { Err(Gone) }
    }

    /// Takes an answer about an element; one that this worker was not asked for is dropped.
    pub(crate) fn described(
        &mut self,
        worker: &WorkerId,
        request: u64,
        element: Result<Element, String>,
    ) {
        if self.descriptions.get(&request).is_none_or(|asked| asked.worker != *worker) {
            return;
        }
        if let Some(asked) = self.descriptions.remove(&request) {
            // The one who asked may have gone.
            let _ = asked.answer.send(element);
        }
    }

    /// Notes that an action is over, and forgets the oldest ones.
    pub(crate) fn note_over(&mut self, action: &ActionId) {
        self.over.push_back(action.clone());
        let plain = self.over.len().checked_sub(MOST_PLAIN.saturating_add(1));
        if let Some(job) = plain.and_then(|at| self.jobs.get_mut(self.over.get(at)?)) {
            job.forget_plain();
        }
        while self.over.len() > MOST_OVER {
            if let Some(oldest) = self.over.pop_front() {
                self.jobs.remove(&oldest);
            }
        }
    }

    /// Tells the workers to stop some of what they do, each action by its id.
    pub(crate) fn stop(&mut self, why: &str, which: impl Fn(&Job) -> bool) {
        let mut messages = Vec::new();
        for (id, job) in &mut self.jobs {
            if !job.is_over() && which(job) {
                job.stopping.get_or_insert_with(|| why.to_owned());
                messages.push((job.worker.clone(), id.to_string(), job.session.to_string()));
            }
        }
        for (worker, action, session) in messages {
            let (action_id, session_id) = (Some(action), Some(session));
            self.tell(&worker, ToWorker::Stop { action_id, session_id, why: why.to_owned() });
        }
    }

    /// Marks an action as sent, unless it is to stop already; then it returns the reason.
    pub(crate) fn hand_out(&mut self, id: &ActionId) -> Option<String> {
        let Some(job) = self.jobs.get_mut(id).filter(|job| job.state == ExecutionState::Queued)
        else {
            return Some("it was handed out before".to_owned());
        };
        if job.stopping.is_none() {
            job.state = ExecutionState::Sent;
        }
        job.stopping.clone()
    }

    fn disconnect(&mut self, id: &WorkerId) -> Vec<ActionId> {
        self.connected.remove(id);
        self.descriptions.retain(|_, asked| asked.worker != *id);
        let left = self.jobs.iter().filter(|(_, job)| job.worker == *id && !job.is_over());
        left.map(|(action, _)| action.clone()).collect()
    }
}

impl Connected {
    fn serves(&self, session: ForSession<'_>) -> bool {
        let own = match self.serves {
            Serves::Own => self.caller.user == *session.user,
            Serves::Everybody => true,
        };
        own && self.caller.workspace == *session.workspace
    }
}

#[cfg(test)]
mod tests {
    use countersign_core::Context;

    use super::*;
    use crate::caller::Origin;
    use crate::clock::Fake;
    use crate::worker::job::NewJob;

    struct World {
        workers: Workers,
        clock: Fake,
        user: UserId,
        workspace: WorkspaceId,
    }

    impl World {
        fn new() -> Self {
            let clock = Fake::at(Timestamp(0));
            let (user, workspace) =
                (UserId::draw(&clock).unwrap(), WorkspaceId::draw(&clock).unwrap());
            Self { workers: Workers::default(), clock, user, workspace }
        }

        fn caller(&self) -> Caller {
            let (user, workspace) = (self.user.clone(), self.workspace.clone());
            Caller { user, workspace, key: None, device: None, epoch: None, origin: Origin::Known }
        }

        fn connect(&self, id: &WorkerId, serves: Serves) -> (mpsc::Receiver<ToWorker>, u64) {
            let executors = [ExecutorKind::Shell].into();
            let of = |outbox, connection| {
                let caller = self.caller();
                Connected { caller, serves, executors, folder: None, outbox, connection }
            };
            let (inbox, connection, _) = self.workers.connect(id, of);
            (inbox, connection)
        }

        fn id(&self) -> WorkerId {
            WorkerId::draw(&self.clock).unwrap()
        }

        fn session(&self) -> SessionId {
            SessionId::draw(&self.clock).unwrap()
        }

        fn choose(&self, session: &SessionId, user: &UserId) -> Option<WorkerId> {
            let of = ForSession { id: session, user, workspace: &self.workspace };
            self.workers.inside().choose(of, ExecutorKind::Shell)
        }

        fn give(&self, worker: &WorkerId, session: &SessionId) -> ActionId {
            let id = ActionId::draw(&self.clock).unwrap();
            let job = Job::new(NewJob {
                worker: worker.clone(),
                session: session.clone(),
                caller: self.caller(),
                approval: None,
                action: "shell".to_owned(),
                kind: "shell",
                site: None,
                context: Context::default(),
                seconds: 60,
                given_at: Timestamp(0),
                end_by: Timestamp(70_000),
            });
            self.workers.inside().jobs.insert(id.clone(), job);
            id
        }
    }

    #[test]
    fn a_session_stays_with_its_worker_also_while_that_is_away() {
        let world = World::new();
        let (one, other) = (world.id(), world.id());
        let (_inbox, connection) = world.connect(&one, Serves::Own);
        let session = world.session();
        assert_eq!(world.choose(&session, &world.user), Some(one.clone()));
        let (_other, _) = world.connect(&other, Serves::Own);
        world.workers.disconnect(&one, connection);
        assert_eq!(world.choose(&session, &world.user), None);
        assert_eq!(world.choose(&world.session(), &world.user), Some(other));
        let (_again, _) = world.connect(&one, Serves::Own);
        assert_eq!(world.choose(&session, &world.user), Some(one));
    }

    #[test]
    fn a_worker_serves_others_only_where_it_may() {
        let world = World::new();
        let somebody = UserId::draw(&world.clock).unwrap();
        let (own, shared) = (world.id(), world.id());
        let (_own, _) = world.connect(&own, Serves::Own);
        assert_eq!(world.choose(&world.session(), &somebody), None);
        let (_shared, _) = world.connect(&shared, Serves::Everybody);
        assert_eq!(world.choose(&world.session(), &somebody), Some(shared));
    }

    #[test]
    fn an_item_is_handed_out_once_and_not_after_a_stop() {
        let world = World::new();
        let (worker, session) = (world.id(), world.session());
        let (mut inbox, _) = world.connect(&worker, Serves::Own);
        let (once, stopped) = (world.give(&worker, &session), world.give(&worker, &session));
        assert_eq!(world.workers.inside().hand_out(&once), None);
        assert!(world.workers.inside().hand_out(&once).is_some(), "it was handed out before");
        world.workers.end_session(&session, "over");
        assert_eq!(world.workers.inside().hand_out(&stopped).as_deref(), Some("over"));
        let told: Vec<_> = std::iter::from_fn(|| inbox.try_recv().ok()).collect();
        assert!(matches!(told[..], [ToWorker::Stop { .. }, ToWorker::Stop { .. }]), "{told:?}");
    }

    #[test]
    fn a_later_connection_takes_the_place_of_an_earlier_one() {
        let world = World::new();
        let (worker, session) = (world.id(), world.session());
        let (mut first, connection) = world.connect(&worker, Serves::Own);
        let left = world.give(&worker, &session);
        let executors = [ExecutorKind::Shell].into();
        let of = |outbox, connection| {
            let (caller, serves) = (world.caller(), Serves::Own);
            Connected { caller, serves, executors, folder: None, outbox, connection }
        };
        let (_second, _, found) = world.workers.connect(&worker, of);
        assert_eq!(found, [left]);
        assert!(matches!(first.try_recv(), Err(mpsc::error::TryRecvError::Disconnected)));
        assert!(world.workers.disconnect(&worker, connection).is_empty(), "it is not that one");
        assert!(world.workers.inside().connected.contains_key(&worker));
    }

    #[test]
    fn time_stands_still_while_a_person_is_asked_about_what_work_has_caused() {
        let world = World::new();
        let id = world.give(&world.id(), &world.session());
        let mut inside = world.workers.inside();
        inside.hand_out(&id);
        let job = inside.jobs.get_mut(&id).unwrap();
        assert!(job.is_overdue(Timestamp(70_000)));
        job.ask(Timestamp(60_000));
        assert!(!job.is_overdue(Timestamp(500_000)));
        job.answered(Timestamp(500_000));
        assert!(!job.is_overdue(Timestamp(509_000)) && job.is_overdue(Timestamp(510_000)));
    }
}
