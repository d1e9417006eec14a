//! Sends the record on, as it grows, to those who keep it too: syslog servers, webhooks.
//!
//! ```text
//! store ──records after the last one that was sent──► thread of one receiver ──► Sink
//! ```
//!
//! The store is the queue: nothing waits in memory but one batch, nobody who decides waits for a
//! receiver, and what could not be sent before a restart is sent after it. Records go in their
//! order. A receiver that cannot be reached is tried again with growing pauses. One that falls too
//! far behind misses the oldest records; those, and what a receiver refuses, are counted.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use pollster::block_on;

use crate::audit::Record;
use crate::channel::dispatch::{Stats, pause};
use crate::channel::{Feed, Records, SinkError};
use crate::clock::Clock;
use crate::gate::Gate;
use crate::id::UserId;
use crate::store::{Order, RecordQuery, Store, StoreError};

mod position;

pub use position::{Position, PositionError};

/// How often the record is looked at.
const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// How many records are read at once.
const BATCH: usize = 128;
/// How many records a receiver may be behind before it misses the oldest.
pub const MOST_BEHIND: u64 = 100_000;

/// Told when a receiver no longer gets its records, with a reason, and when it does again.
pub type Report = Box<dyn Fn(&str, Option<&str>) + Send>;

/// Sends records to one receiver, on a thread of its own.
#[derive(Debug)]
pub struct Forwarder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stats: Stats,
    /// What waits is sent once more, and nothing is tried again.
    stopping: bool,
    ended: bool,
}

impl Forwarder {
    /// Begins behind the record that was sent last. Only records about `user` are sent, if one is
    /// named.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(
        gate: &Arc<Gate>,
        feed: Feed,
        user: Option<UserId>,
        position: Position,
        report: Report,
    ) -> io::Result<Self> {
        let state = State {
            stats: Stats { name: feed.sink.name().to_owned(), ..Stats::default() },
            ..State::default()
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let worker = Worker {
            gate: Arc::downgrade(gate),
            clock: gate.clock(),
            feed,
            owner: user.map(|user| user.to_string()),
            position,
            unproven: false,
            failures: 0,
            report,
            shared: Arc::clone(&shared),
        };
        let name = format!("forward {}", worker.feed.sink.name());
        thread::Builder::new().name(name).spawn(move || worker.run())?;
        Ok(Self { shared })
    }

    /// How it is doing.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.lock().stats.clone()
    }

    /// Sends what still waits, for at most so long, then ends. What is left is sent after the next
    /// start.
    pub fn shutdown(&self, patience: Duration) {
        let mut state = self.shared.lock();
        state.stopping = true;
        self.shared.changed.notify_all();
        drop(self.shared.changed.wait_timeout_while(state, patience, |state| !state.ended));
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long, or until it is time to stop, and says whether it is.
    fn waited(&self, duration: Duration) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, duration, |state| !state.stopping);
        waited.unwrap_or_else(PoisonError::into_inner).0.stopping
    }
}

/// Where the record begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The number of the last record.
    pub last: u64,
    /// The number of the last record that retention has cut off.
    pub cut: u64,
}

impl End {
    /// Where the record of a store begins and ends.
    ///
    /// # Errors
    /// The store failed.
    pub async fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let one = |order| RecordQuery { order, limit: 1, ..RecordQuery::default() };
        let newest = store.records(&one(Order::Newest)).await?;
        let oldest = store.records(&one(Order::Oldest)).await?;
        if let (Some(newest), Some(oldest)) = (newest.first(), oldest.first()) {
            return Ok(Self { last: newest.number, cut: oldest.number.saturating_sub(1) });
        }
        let last = store.chain().await?.end().number;
        Ok(Self { last, cut: last })
    }
}

/// What became of one look at the record.
enum Looked {
    /// Everything was sent.
    UpToDate,
    /// There may be more.
    More,
    /// The receiver, or the store, is not there; try again after this.
    Pause(Duration),
    /// The gate is gone.
    Over,
}

/// What runs on a receiver's thread.
struct Worker {
    gate: Weak<Gate>,
    clock: Arc<dyn Clock>,
    feed: Feed,
    owner: Option<String>,
    position: Position,
    /// Whether something was sent that nothing speaks for yet.
    unproven: bool,
    /// How often it failed since it last succeeded.
    failures: u32,
    report: Report,
    shared: Arc<Shared>,
}

impl Worker {
    fn run(mut self) {
        loop {
            let stopping = match self.look() {
                Looked::More => false,
                Looked::UpToDate => self.shared.waited(LOOKS_EVERY),
                Looked::Pause(pause) => self.shared.waited(pause),
                Looked::Over => true,
            };
            if stopping {
                break;
            }
        }
        // One more look, if the receiver is there: what happened last is worth sending.
        while self.failures == 0 && matches!(self.look(), Looked::More) {}
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }

    fn look(&mut self) -> Looked {
        if let Err(error) = self.feed.sink.check() {
            self.go_back();
            return self.failed(&error.to_string(), None);
        }
        if std::mem::take(&mut self.unproven) && std::mem::take(&mut self.failures) > 0 {
            (self.report)(self.feed.sink.name(), None);
        }
        let Some(gate) = self.gate.upgrade() else { return Looked::Over };
        let read = self.read(&gate);
        drop(gate);
        let (records, end) = match read {
            Ok(read) => read,
            Err(error) => return self.failed(&error.to_string(), None),
        };
        for record in &records {
            if let Some(pause) = self.send(record) {
                return pause;
            }
        }
        let more = records.len() == BATCH;
        // Records of other kinds or users need not be looked at again.
        let reached = if more { self.position.number() } else { end.max(self.position.number()) };
        if let Err(error) = self.position.keep(reached) {
            return self.failed(&error.to_string(), None);
        }
        self.shared.lock().stats.waiting = 0;
        if more { Looked::More } else { Looked::UpToDate }
    }

    /// The next records to send, and the number of the last record there is.
    fn read(&mut self, gate: &Gate) -> Result<(Vec<Record>, u64), StoreError> {
        // The end first: what is added meanwhile is for the next look.
        let end = block_on(End::of(gate.store()))?;
        let after = self.position.number();
        if end.last < after {
            // Another record was put in the place of the one that was sent.
            self.position.set(end.last);
        }
        let missed = missed(end.cut, end.last, self.position.number());
        if missed > 0 {
            self.shared.lock().stats.dropped += missed;
            self.position.set(self.position.number().saturating_add(missed));
        }
        let waiting = usize::try_from(end.last - self.position.number().min(end.last));
        self.shared.lock().stats.waiting = waiting.unwrap_or(usize::MAX);
        if end.last == self.position.number() {
            return Ok((Vec::new(), end.last));
        }
        let events = match &self.feed.records {
            Records::Every => Vec::new(),
            Records::Of(events) => events.clone(),
        };
        let query = RecordQuery {
            owner: self.owner.clone(),
            events,
            after: self.position.number(),
            limit: BATCH,
            ..RecordQuery::default()
        };
        Ok((block_on(gate.store().records(&query))?, end.last))
    }

    /// Sends one record; says what to do if that failed.
    fn send(&mut self, record: &Record) -> Option<Looked> {
        let sink = &mut self.feed.sink;
        let sent = catch_unwind(AssertUnwindSafe(|| sink.send(record)));
        let broken = |_| Err(SinkError::Later { why: "it broke down".to_owned(), wish: None });
        match sent.unwrap_or_else(broken) {
            Ok(()) => {
                self.unproven = true;
                self.shared.lock().stats.sent += 1;
            }
            Err(SinkError::Refused(why)) => {
                let mut state = self.shared.lock();
                state.stats.failed += 1;
                state.stats.last_failure = Some(why.clone());
                drop(state);
                (self.report)(self.feed.sink.name(), Some(&why));
            }
            Err(SinkError::Later { why, wish }) => {
                self.go_back();
                return Some(self.failed(&why, wish));
            }
        }
        self.position.set(record.number);
        let mut state = self.shared.lock();
        state.stats.waiting = state.stats.waiting.saturating_sub(1);
        None
    }

    /// Goes back to the first record that may be lost.
    fn go_back(&mut self) {
        self.unproven = false;
        // By its number, and not by counting: records of other users lie between.
        if let Some(first) = self.feed.sink.first_unconfirmed() {
            let before = first.saturating_sub(1);
            self.position.set(before.min(self.position.number()));
        }
    }

    fn failed(&mut self, why: &str, wish: Option<Duration>) -> Looked {
        if self.failures == 0 {
            (self.report)(self.feed.sink.name(), Some(why));
        }
        self.failures = self.failures.saturating_add(1);
        let mut state = self.shared.lock();
        state.stats.retried += 1;
        state.stats.last_failure = Some(why.to_owned());
        drop(state);
        // Kept as far as it came; should that fail too, some records come twice after a restart.
        let _ = self.position.keep(self.position.number());
        Looked::Pause(pause(self.failures, wish, &*self.clock))
    }
}

/// The number of records that a receiver misses: those that retention has cut off, and the oldest
/// where it is too far behind.
fn missed(cut: u64, last: u64, position: u64) -> u64 {
    cut.max(last.saturating_sub(MOST_BEHIND)).saturating_sub(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_is_too_far_behind_misses_the_oldest_and_no_more() {
        for last in [0, 1, MOST_BEHIND - 1, MOST_BEHIND, MOST_BEHIND + 1, 3 * MOST_BEHIND] {
            for cut in [0, last / 2, last] {
                for position in [0, last / 3, last] {
                    let next = position + missed(cut, last, position);
                    let (bound, kept) = (last - next.min(last), next.max(cut) == next);
                    assert!(bound <= MOST_BEHIND && kept, "{cut} {last} {position}: {next}");
                    let needless = next > position && next > cut && last - next != MOST_BEHIND;
                    assert!(!needless, "{cut} {last} {position}: {next}");
                }
            }
        }
        assert_eq!(missed(0, MOST_BEHIND + 7, 3), 4, "numbers of a receiver that was away");
        assert_eq!(missed(9, 20, 12), 0, "one that is ahead of retention");
    }
}
