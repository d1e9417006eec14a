//! Sends messages to every channel, each on a thread of its own.
//!
//! ```text
//! tell ──► queue of webhook  ──► thread: send, wait after a failure, send again …
//!     └──► queue of telegram ──► thread
//! ```
//!
//! [`Dispatcher::tell`] never waits for anything but a short lock, and a dead channel never delays
//! another. After a failure the whole channel pauses, longer each time; then the message with the
//! fewest attempts comes first, so that one that is never delivered does not block the others.
//! Messages about the same approval stay in order: a button never appears after its question is
//! settled. Undelivered messages are counted in [`Dispatcher::stats`].

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Channel, Message, SendError};
use crate::clock::{Clock, Timestamp, random};

mod stop;

pub use stop::{Sleep, Stop, Wait};

/// The most messages that wait for one channel.
pub const CAPACITY: usize = 1_024;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause. Short, because a question lives for minutes and may come during the pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The longest wait that the other side can ask for.
const LONGEST_WISH: Duration = Duration::from_mins(15);
/// The time after which the news of a settled approval is dropped.
const SETTLED_MATTERS: Duration = Duration::from_mins(15);
const TEST_MATTERS: Duration = Duration::from_mins(1);

/// Sends messages to every channel, each on a thread of its own.
#[derive(Debug)]
pub struct Dispatcher {
    lanes: Vec<Arc<Lane>>,
    clock: Arc<dyn Clock>,
}

/// The statistics of one channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// The channel's name.
    pub name: String,
    /// The number of messages that wait, including the one being sent.
    pub waiting: usize,
    /// The number of messages that were delivered.
    pub sent: u64,
    /// The number of attempts that failed and were repeated.
    pub retried: u64,
    /// The number of messages that were given up.
    pub failed: u64,
    /// The number of messages that were pushed out of a full queue, or left over at the end.
    pub dropped: u64,
    /// The reason of the last failure.
    pub last_failure: Option<String>,
}

impl Dispatcher {
    /// Starts a thread per channel.
    #[must_use]
    pub fn new(channels: Vec<Box<dyn Channel>>, clock: Arc<dyn Clock>) -> Self {
        Self::with(channels, clock, &(Arc::new(Sleep) as Arc<dyn Wait>), CAPACITY)
    }

    /// Starts a thread per channel, with another way to wait and another capacity.
    #[must_use]
    pub fn with(
        channels: Vec<Box<dyn Channel>>,
        clock: Arc<dyn Clock>,
        wait: &Arc<dyn Wait>,
        capacity: usize,
    ) -> Self {
        let lanes = channels
            .into_iter()
            .map(|channel| Lane::start(channel, Arc::clone(&clock), Arc::clone(wait), capacity))
            .collect();
        Self { lanes, clock }
    }

    /// Queues a message for every channel, and returns at once.
    pub fn tell(&self, message: Message) {
        let (message, now) = (Arc::new(message), self.clock.now());
        for lane in &self.lanes {
            lane.push(Arc::clone(&message), now);
        }
    }

    /// The statistics of each channel.
    #[must_use]
    pub fn stats(&self) -> Vec<Stats> {
        self.lanes.iter().map(|lane| lane.stats()).collect()
    }

    /// Tries every waiting message once more, for at most `patience` in all, then ends.
    pub fn shutdown(&self, patience: Duration) {
        for lane in &self.lanes {
            lane.set(Phase::Draining);
        }
        let until = Instant::now() + patience;
        for lane in &self.lanes {
            lane.ends_within(until.saturating_duration_since(Instant::now()));
            lane.set(Phase::Stopped);
        }
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        for lane in &self.lanes {
            lane.set(Phase::Stopped);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// Every message is tried once more, and never again.
    Draining,
    Stopped,
}

/// One channel's queue.
#[derive(Debug)]
struct Lane {
    name: String,
    capacity: usize,
    state: Mutex<State>,
    changed: Condvar,
    stop: Stop,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Queued>,
    phase: Phase,
    busy: bool,
    ended: bool,
    stats: Stats,
}

#[derive(Debug)]
struct Queued {
    message: Arc<Message>,
    attempts: u32,
    /// The time after which the message is dropped.
    until: Timestamp,
}

impl Lane {
    fn start(
        channel: Box<dyn Channel>,
        clock: Arc<dyn Clock>,
        wait: Arc<dyn Wait>,
        capacity: usize,
    ) -> Arc<Self> {
        let state = State {
            queue: VecDeque::new(),
            phase: Phase::Running,
            busy: false,
            ended: false,
            stats: Stats::default(),
        };
        let lane = Arc::new(Self {
            name: channel.name().to_owned(),
            capacity: capacity.max(1),
            state: Mutex::new(state),
            changed: Condvar::new(),
            stop: Stop::default(),
        });
        let worker = Worker { lane: Arc::clone(&lane), channel, clock, wait, failures: 0 };
        let thread = thread::Builder::new().name(format!("channel {}", lane.name));
        if thread.spawn(move || worker.run()).is_err() {
            let mut state = lock(&lane.state);
            state.ended = true;
            state.phase = Phase::Stopped;
            state.stats.last_failure = Some("the machine gives no more threads".to_owned());
        }
        lane
    }

    fn push(&self, message: Arc<Message>, now: Timestamp) {
        let mut state = lock(&self.state);
        if state.phase != Phase::Running {
            state.stats.dropped += 1;
            return;
        }
        if state.queue.len() >= self.capacity && !state.make_room(now) {
            // The queue is full of pending questions: this channel drops the newest.
            state.stats.dropped += 1;
            return;
        }
        let until = match &*message {
            Message::Required(notice) => notice.expires_at,
            Message::Settled { .. } => now.after(SETTLED_MATTERS),
            Message::Test => now.after(TEST_MATTERS),
        };
        state.queue.push_back(Queued { message, attempts: 0, until });
        self.changed.notify_all();
    }

    fn stats(&self) -> Stats {
        let state = lock(&self.state);
        let waiting = state.queue.len() + usize::from(state.busy);
        Stats { name: self.name.clone(), waiting, ..state.stats.clone() }
    }

    fn set(&self, phase: Phase) {
        let mut state = lock(&self.state);
        state.phase = state.phase.max(phase);
        self.changed.notify_all();
        drop(state);
        self.stop.stop();
    }

    fn ends_within(&self, patience: Duration) {
        let state = lock(&self.state);
        drop(self.changed.wait_timeout_while(state, patience, |state| !state.ended));
    }
}

impl State {
    /// Drops the least important message: the oldest that is only news, or a question that nobody
    /// can answer any more.
    fn make_room(&mut self, now: Timestamp) -> bool {
        let stale = |queued: &Queued| match *queued.message {
            Message::Settled { .. } | Message::Test => true,
            Message::Required(_) => queued.until <= now,
        };
        let Some(index) = self.queue.iter().position(stale) else { return false };
        self.queue.remove(index);
        self.stats.dropped += 1;
        true
    }

    /// Takes the message with the fewest attempts, among those that are the first about their
    /// approval.
    fn next(&mut self) -> Option<Queued> {
        let mut seen = BTreeSet::new();
        let mut best: Option<(u32, usize)> = None;
        for (index, queued) in self.queue.iter().enumerate() {
            let first = queued.message.approval().is_none_or(|approval| seen.insert(approval));
            if first && best.is_none_or(|(attempts, _)| queued.attempts < attempts) {
                best = Some((queued.attempts, index));
            }
            if matches!(best, Some((0, _))) {
                break;
            }
        }
        self.queue.remove(best?.1)
    }
}

/// The state of a channel's thread.
struct Worker {
    lane: Arc<Lane>,
    channel: Box<dyn Channel>,
    clock: Arc<dyn Clock>,
    wait: Arc<dyn Wait>,
    /// The number of failures since the last success.
    failures: u32,
}

impl Worker {
    fn run(mut self) {
        while let Some(queued) = self.take() {
            if let Some(pause) = self.attempt(queued) {
                self.wait.wait(&self.lane.stop, pause);
            }
        }
        let mut state = lock(&self.lane.state);
        state.stats.dropped += u64::try_from(state.queue.len()).unwrap_or(u64::MAX);
        state.queue.clear();
        state.ended = true;
        self.lane.changed.notify_all();
    }

    fn take(&self) -> Option<Queued> {
        let mut state = lock(&self.lane.state);
        loop {
            if state.phase == Phase::Stopped {
                return None;
            }
            if let Some(queued) = state.next() {
                state.busy = true;
                return Some(queued);
            }
            if state.phase == Phase::Draining {
                return None;
            }
            state = self.lane.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Tries once, and returns the time to pause.
    fn attempt(&mut self, mut queued: Queued) -> Option<Duration> {
        if queued.until <= self.clock.now() {
            self.give_up("it no longer matters".to_owned());
            return None;
        }
        let message = &queued.message;
        if !self.channel.wants(message) {
            lock(&self.lane.state).busy = false;
            return None;
        }
        let sent = catch_unwind(AssertUnwindSafe(|| self.channel.send(message)))
            .unwrap_or_else(|_| Err(SendError::Never("the channel broke down".to_owned())));
        match sent {
            Ok(()) => {
                self.failures = 0;
                let mut state = lock(&self.lane.state);
                state.busy = false;
                state.stats.sent += 1;
                None
            }
            Err(SendError::Never(reason)) => {
                self.give_up(reason);
                None
            }
            Err(SendError::Later(wish)) => {
                self.failures = self.failures.saturating_add(1);
                queued.attempts = queued.attempts.saturating_add(1);
                let pause = pause(self.failures, wish, &*self.clock);
                self.put_back(queued);
                Some(pause)
            }
        }
    }

    fn give_up(&self, reason: String) {
        let mut state = lock(&self.lane.state);
        state.busy = false;
        state.stats.failed += 1;
        state.stats.last_failure = Some(reason);
    }

    /// Puts a message back in front, so that it stays before later ones about the same approval.
    fn put_back(&self, queued: Queued) {
        let mut state = lock(&self.lane.state);
        state.busy = false;
        if state.phase == Phase::Running {
            state.stats.retried += 1;
            state.queue.push_front(queued);
        } else {
            state.stats.failed += 1;
            state.stats.last_failure = Some("there was no time to try again".to_owned());
        }
    }
}

/// How long to wait after so many failures: what the other side wants, or twice as long as last
/// time; and up to a half more by lot, so that many gates do not come back all at once.
pub(crate) fn pause(failures: u32, wish: Option<Duration>, clock: &dyn Clock) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let pause = wish.map_or(doubled.min(LONGEST_PAUSE), |wish| wish.min(LONGEST_WISH));
    let [lot] = random::<1>(clock).unwrap_or([128]);
    pause + pause.saturating_mul(u32::from(lot)) / 512
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::channel::testing::{Leaping, NOW, clock, notice, required, settled};
    use crate::id::ApprovalId;

    /// A channel with scripted answers that reports what it was sent.
    #[derive(Debug)]
    struct Scripted {
        answers: Vec<Result<(), SendError>>,
        sent: Sender<Message>,
        /// Every send waits for one of these.
        gate: Option<Receiver<()>>,
    }

    impl Channel for Scripted {
        fn name(&self) -> &'static str {
            "scripted"
        }

        fn send(&mut self, message: &Message) -> Result<(), SendError> {
            self.sent.send(message.clone()).unwrap();
            if let Some(gate) = &self.gate {
                let _ = gate.recv();
            }
            if self.answers.is_empty() { Ok(()) } else { self.answers.remove(0) }
        }
    }

    fn scripted(answers: Vec<Result<(), SendError>>) -> (Box<dyn Channel>, Receiver<Message>) {
        let (sent, seen) = channel();
        (Box::new(Scripted { answers, sent, gate: None }), seen)
    }

    fn later() -> Result<(), SendError> {
        Err(SendError::Later(None))
    }

    fn next(seen: &Receiver<Message>) -> Message {
        seen.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    struct Bench {
        dispatcher: Dispatcher,
        waiting: Arc<Leaping>,
    }

    fn bench(channels: Vec<Box<dyn Channel>>, capacity: usize) -> Bench {
        let clock = clock();
        let waiting = Leaping::new(&clock);
        let wait: Arc<dyn Wait> = waiting.clone();
        Bench { dispatcher: Dispatcher::with(channels, clock, &wait, capacity), waiting }
    }

    /// A question with a number of its own.
    fn question(number: u8) -> Message {
        let clock = crate::clock::Fake::at(NOW);
        let mut notice = notice();
        for _ in 0..=number {
            notice.approval = ApprovalId::draw(&clock).unwrap();
        }
        Message::Required(notice)
    }

    #[test]
    fn what_fails_is_tried_again_after_a_longer_pause_each_time() {
        let (channel, seen) = scripted(vec![later(), later(), later()]);
        let bench = bench(vec![channel], CAPACITY);
        bench.dispatcher.tell(required());
        for _ in 0..4 {
            assert_eq!(next(&seen), required());
        }
        bench.dispatcher.shutdown(Duration::from_secs(10));
        let stats = bench.dispatcher.stats().remove(0);
        assert_eq!((stats.sent, stats.retried, stats.failed), (1, 3, 0));
        let waits = bench.waiting.waits.lock().unwrap().clone();
        for (wait, base) in waits.iter().zip([1, 2, 4]) {
            let base = Duration::from_secs(base);
            assert!(*wait >= base && *wait <= base + base / 2, "{waits:?}");
        }
    }

    #[test]
    fn the_wish_of_the_other_side_is_honoured_within_reason() {
        let wish = |seconds| Err(SendError::Later(Some(Duration::from_secs(seconds))));
        let (channel, seen) = scripted(vec![wish(30), wish(u64::MAX)]);
        let bench = bench(vec![channel], CAPACITY);
        bench.dispatcher.tell(required());
        assert_eq!((next(&seen), next(&seen)), (required(), required()));
        // The second requested wait ends after the question expires.
        bench.dispatcher.shutdown(Duration::from_secs(10));
        let waits = bench.waiting.waits.lock().unwrap().clone();
        assert!(waits[0] >= Duration::from_secs(30) && waits[0] <= Duration::from_secs(45));
    }

    #[test]
    fn a_question_is_given_up_when_it_has_expired() {
        let (channel, seen) = scripted(vec![later(); 1_000]);
        let bench = bench(vec![channel], CAPACITY);
        bench.dispatcher.tell(required());
        while bench.dispatcher.stats()[0].failed == 0 {
            thread::yield_now();
        }
        assert!(seen.try_iter().count() < 20);
        let stats = bench.dispatcher.stats().remove(0);
        assert_eq!((stats.sent, stats.failed, stats.waiting), (0, 1, 0));
    }

    #[test]
    fn what_can_never_be_delivered_is_not_tried_again_and_the_reason_is_kept() {
        let (channel, seen) = scripted(vec![Err(SendError::Never("gone".to_owned()))]);
        let bench = bench(vec![channel], CAPACITY);
        bench.dispatcher.tell(required());
        bench.dispatcher.tell(settled());
        assert_eq!((next(&seen), next(&seen)), (required(), settled()));
        bench.dispatcher.shutdown(Duration::from_secs(10));
        let stats = bench.dispatcher.stats().remove(0);
        assert_eq!((stats.sent, stats.failed), (1, 1));
        assert_eq!(stats.last_failure.as_deref(), Some("gone"));
    }

    #[test]
    fn one_dead_channel_delays_neither_the_gate_nor_another() {
        let (sent, stuck) = channel();
        let (release, gate) = channel();
        let dead = Box::new(Scripted { answers: vec![], sent, gate: Some(gate) });
        let (alive, seen) = scripted(vec![]);
        let bench = bench(vec![dead, alive], CAPACITY);
        for number in 0..10 {
            bench.dispatcher.tell(question(number));
        }
        for number in 0..10 {
            assert_eq!(next(&seen), question(number));
        }
        assert_eq!(next(&stuck), question(0));
        assert_eq!(bench.dispatcher.stats()[0].waiting, 10);
        drop(release);
    }

    #[test]
    fn a_message_that_never_gets_through_holds_up_no_other_and_order_holds_per_approval() {
        let mut state = State {
            queue: VecDeque::new(),
            phase: Phase::Running,
            busy: false,
            ended: false,
            stats: Stats::default(),
        };
        let queued =
            |message, attempts| Queued { message: Arc::new(message), attempts, until: NOW };
        state.queue.push_back(queued(required(), 3));
        state.queue.push_back(queued(settled(), 0));
        state.queue.push_back(queued(question(9), 1));
        assert_eq!(*state.next().unwrap().message, question(9));
        assert_eq!(*state.next().unwrap().message, required());
        assert_eq!(*state.next().unwrap().message, settled());
        assert!(state.next().is_none());
    }

    #[test]
    fn a_full_queue_drops_the_oldest_news_and_counts_it() {
        let (sent, seen) = channel();
        let (release, gate) = channel();
        let slow = Box::new(Scripted { answers: vec![], sent, gate: Some(gate) });
        let bench = bench(vec![slow], 2);
        bench.dispatcher.tell(question(0));
        assert_eq!(next(&seen), question(0));
        for message in [settled(), question(1), question(2), question(3)] {
            bench.dispatcher.tell(message);
        }
        let stats = bench.dispatcher.stats().remove(0);
        assert_eq!((stats.waiting, stats.dropped), (3, 2));
        drop(release);
        assert_eq!((next(&seen), next(&seen)), (question(1), question(2)));
    }

    #[test]
    fn a_channel_that_breaks_down_goes_on() {
        #[derive(Debug)]
        struct Broken(Sender<()>);
        impl Channel for Broken {
            fn name(&self) -> &'static str {
                "broken"
            }

            fn send(&mut self, message: &Message) -> Result<(), SendError> {
                assert!(matches!(message, Message::Test), "as the test wants it");
                self.0.send(()).unwrap();
                Ok(())
            }
        }
        let (sent, seen) = channel();
        let bench = bench(vec![Box::new(Broken(sent))], CAPACITY);
        bench.dispatcher.tell(required());
        bench.dispatcher.tell(Message::Test);
        seen.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(bench.dispatcher.stats()[0].failed, 1);
    }

    #[test]
    fn an_end_tries_what_waits_once_and_waits_for_nobody_stuck() {
        let (sent, seen) = channel();
        let (release, gate) = channel();
        let stuck = Box::new(Scripted { answers: vec![], sent, gate: Some(gate) });
        let (alive, told) = scripted(vec![]);
        let bench = bench(vec![alive, stuck], CAPACITY);
        bench.dispatcher.tell(required());
        bench.dispatcher.tell(settled());
        next(&seen);
        bench.dispatcher.shutdown(Duration::from_millis(20));
        assert_eq!(told.try_iter().count(), 2);
        bench.dispatcher.tell(Message::Test);
        assert_eq!(bench.dispatcher.stats()[0].dropped, 1);
        drop(release);
    }
}
