//! Judging of large inputs, away from the threads that poll futures.
//!
//! Most actions are judged on the thread that receives them: that takes microseconds. A large one
//! may take seconds, and is judged on a few separate threads, so that a stop, an answer or another
//! caller's small action never waits for it.
//!
//! ```text
//! up to INLINE bytes    judged at once
//! more                  one lane per key, one job of a lane at a time, lanes in turn
//! lane over its budget  refused, with the time to wait
//! no room in the queue  refused
//! ```
//!
//! INVARIANT: an action that is refused here was not judged, and is not allowed.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;

use crate::clock::{Clock, Timestamp};
use crate::id::{KeyId, UserId};

mod budget;
mod threads;

use budget::Budget;
pub use threads::Threads;

/// The most bytes of an action and its context that are judged at once.
pub const INLINE: usize = 2 * 1024;

/// The most jobs and bytes that wait in one lane: one request of many proposals always fits.
const LANE_JOBS: usize = 256;
const LANE_BYTES: usize = 4 << 20;
/// The most bytes that wait in all lanes of keys together.
const ALL_BYTES: usize = 64 << 20;
/// The time that a caller whose lane is full is told to wait.
const LANE_FULL: Duration = Duration::from_secs(1);

/// Runs work on other threads than those that poll futures.
pub trait Executor: fmt::Debug + Send + Sync {
    /// The number of jobs that may run at the same time.
    fn slots(&self) -> usize;

    /// Starts a job and does not wait for it. Never called for more jobs at a time than there are
    /// slots.
    ///
    /// # Errors
    /// No thread is available. The job is dropped, which refuses its action.
    fn start(&self, job: Job) -> io::Result<()>;
}

/// A piece of work.
pub type Job = Box<dyn FnOnce() + Send>;

/// The owner of work: jobs of one lane run one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lane {
    /// An agent's or a program's key.
    Key(KeyId),
    /// A person, or the assistant that works with them present.
    Person(UserId),
}

/// The reason for which something was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotJudged {
    /// The lane has used up its time, or has too much waiting already.
    #[error("too much to judge at once: wait {} s", .0.as_secs().max(1))]
    OverBudget(Duration),
    /// The queue is full, or no thread is available.
    #[error("too much is waiting to be judged: try again")]
    Full,
}

/// The queue of actions that are judged on other threads.
#[derive(Debug)]
pub(crate) struct Judging(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    executor: Arc<dyn Executor>,
    clock: Arc<dyn Clock>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    running: usize,
    /// The number of bytes that wait in the lanes of keys.
    bytes: usize,
    lanes: HashMap<Lane, Waiting>,
    /// Lanes with waiting jobs and none running, in the order of their turns.
    turns: VecDeque<Lane>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { running, bytes, lanes, .. } = self;
        write!(f, "Queue {{ running: {running}, bytes: {bytes}, lanes: {} }}", lanes.len())
    }
}

/// The jobs of one lane.
#[derive(Default)]
struct Waiting {
    running: bool,
    bytes: usize,
    jobs: VecDeque<Queued>,
    budget: Budget,
}

struct Queued {
    bytes: usize,
    /// Runs the job, or reports the refusal.
    run: Box<dyn FnOnce(Result<(), NotJudged>) + Send>,
}

impl Judging {
    pub(crate) fn new(executor: Arc<dyn Executor>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared { executor, clock, queue: Mutex::default() }))
    }

    /// A shared handle to the clock.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.0.clock)
    }

    /// A new queue with the same clock, on another executor.
    pub(crate) fn on(&self, executor: Arc<dyn Executor>) -> Self {
        Self::new(executor, Arc::clone(&self.0.clock))
    }

    /// Runs work on an input of `bytes` bytes: here if it is small, else in its lane's turn.
    ///
    /// # Errors
    /// It was not run.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        lane: &Lane,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotJudged> {
        if bytes <= INLINE {
            return Ok(work());
        }
        let (send, receive) = oneshot::channel();
        let run = Box::new(move |may: Result<(), NotJudged>| {
            // If the caller is gone, the work is skipped.
            if !send.is_closed() {
                let _ = send.send(may.map(|()| work()));
            }
        });
        self.0.enqueue(lane, Queued { bytes, run })?;
        Shared::start(&self.0);
        // Dropped without an answer: no thread was available, or the work panicked.
        receive.await.unwrap_or(Err(NotJudged::Full))
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(&self, lane: &Lane, job: Queued) -> Result<(), NotJudged> {
        let now = self.clock.now();
        let mut queue = self.queue();
        queue.forget_idle(now);
        let all = queue.bytes.saturating_add(job.bytes);
        let waiting = queue.lanes.entry(lane.clone()).or_default();
        waiting.budget.check(now).map_err(NotJudged::OverBudget)?;
        let own = waiting.bytes.saturating_add(job.bytes);
        if waiting.jobs.len() >= LANE_JOBS || own > LANE_BYTES {
            return Err(NotJudged::OverBudget(LANE_FULL));
        }
        // People's actions always find room, however many jobs of keys wait.
        if lane.is_key() && all > ALL_BYTES {
            return Err(NotJudged::Full);
        }
        let waits = waiting.running || !waiting.jobs.is_empty();
        waiting.bytes = own;
        waiting.jobs.push_back(job);
        if lane.is_key() {
            queue.bytes = all;
        }
        if !waits {
            queue.turns.push_back(lane.clone());
        }
        Ok(())
    }

    /// Starts as many jobs as there are free slots.
    fn start(shared: &Arc<Self>) {
        while let Some((lane, job)) = shared.take() {
            let slot = Slot { shared: Arc::clone(shared), lane, began: shared.clock.now() };
            let now = slot.began;
            let may = shared.queue().budget_of(&slot.lane).check(now);
            let run = move || {
                // Dropped last, also if the work panics: the slot is free again.
                let _slot = slot;
                (job.run)(may.map_err(NotJudged::OverBudget));
            };
            // A refused job is dropped, which frees the slot.
            let _ = shared.executor.start(Box::new(run));
        }
    }

    /// The next job of the lane whose turn it is.
    fn take(&self) -> Option<(Lane, Queued)> {
        let mut queue = self.queue();
        if queue.running >= self.executor.slots().max(1) {
            return None;
        }
        let lane = queue.turns.pop_front()?;
        let waiting = queue.lanes.get_mut(&lane)?;
        let job = waiting.jobs.pop_front()?;
        waiting.bytes = waiting.bytes.saturating_sub(job.bytes);
        waiting.running = true;
        if lane.is_key() {
            queue.bytes = queue.bytes.saturating_sub(job.bytes);
        }
        queue.running += 1;
        Some((lane, job))
    }

    fn free(&self, lane: &Lane, began: Timestamp) {
        let now = self.clock.now();
        let mut queue = self.queue();
        queue.running = queue.running.saturating_sub(1);
        let Some(waiting) = queue.lanes.get_mut(lane) else { return };
        waiting.running = false;
        waiting.budget.spend(now.since(began), now);
        if !waiting.jobs.is_empty() {
            queue.turns.push_back(lane.clone());
        }
    }
}

impl Queue {
    fn budget_of(&mut self, lane: &Lane) -> &mut Budget {
        &mut self.lanes.entry(lane.clone()).or_default().budget
    }

    /// Drops lanes without work and without debt, which equal new ones.
    fn forget_idle(&mut self, now: Timestamp) {
        const MANY: usize = 1_024;
        if self.lanes.len() >= MANY {
            self.lanes.retain(|_, lane| {
                lane.running || !lane.jobs.is_empty() || !lane.budget.is_whole(now)
            });
        }
    }
}

impl Lane {
    const fn is_key(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}

/// An occupied slot, until this is dropped.
struct Slot {
    shared: Arc<Shared>,
    lane: Lane,
    began: Timestamp,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.free(&self.lane, self.began);
        Shared::start(&self.shared);
    }
}

/// The size of a value as JSON, counted without keeping the text.
pub(crate) fn size(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        // A value that cannot be serialised counts as large.
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests;
