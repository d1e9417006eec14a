//! The gate's time, which never runs backwards and never stops.
//!
//! The system's clock may be wrong, set or slewed. Its time is shown to people; expiry follows a
//! monotonic clock. The gate's time begins at the system's time, but not before the latest time on
//! record, and goes on from there at the speed of the monotonic clock:
//!
//! - The system's clock is set back: the gate's time goes on. Nothing expires later than it should.
//! - The system's clock is set forward by more than [`TOLERANCE`]: the gate's time follows, so that
//!   a clock that was wrong at the start and is corrected does not stay wrong. Pending questions
//!   may expire early, which is the safe side. Only retention, which deletes for good, does not
//!   follow before the next start.
//!
//! Both are a [`Step`], which is recorded.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{ChanceError, Clock, Timestamp, milliseconds};

/// The difference by which the system's clock may deviate without counting as set.
pub const TOLERANCE: Duration = Duration::from_secs(5);

/// The least time between two recorded steps, so that a clock that runs at the wrong speed does not
/// fill the audit trail.
const BETWEEN_STEPS: Duration = Duration::from_mins(1);

/// A monotonic clock: it never runs backwards, and follows the system's clock only when that is set
/// forward.
#[derive(Debug)]
pub struct MonotonicClock {
    clock: Arc<dyn Clock>,
    /// The difference between the gate's time and the elapsed milliseconds. It only grows.
    offset: AtomicI64,
    /// The offset at the start.
    first_offset: i64,
    seen: Mutex<Seen>,
}

/// The system's clock at the last recorded step.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The difference between the system's time and the elapsed milliseconds.
    offset: i64,
    /// The elapsed time of that step; `None` if no step was recorded yet.
    at: Option<Duration>,
}

/// A change of the system's clock: it was set, or runs at the wrong speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The change in milliseconds; negative if the clock was set back.
    pub by: i64,
    /// The system's time now.
    pub wall: Timestamp,
    /// The gate's time now.
    pub gate: Timestamp,
    elapsed: Duration,
}

impl MonotonicClock {
    /// Goes on from the latest time already seen, such as that of the last record.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, seen: Timestamp) -> Self {
        let elapsed = milliseconds(clock.elapsed());
        let offset = clock.now().max(seen).0.saturating_sub(elapsed);
        Self {
            clock,
            offset: AtomicI64::new(offset),
            first_offset: offset,
            seen: Mutex::new(Seen { offset, at: None }),
        }
    }

    /// The gate's time without the forward steps of the system's clock since the start: for
    /// operations that must not happen early.
    #[must_use]
    pub fn without_steps(&self) -> Timestamp {
        Timestamp(milliseconds(self.clock.elapsed()).saturating_add(self.first_offset))
    }

    /// A gate's time as the system's clock would show it.
    #[must_use]
    pub fn shown(&self, at: Timestamp) -> Timestamp {
        let difference = self.wall().0.saturating_sub(self.now().0);
        if difference.abs() <= milliseconds(TOLERANCE) {
            return at;
        }
        Timestamp(at.0.saturating_add(difference))
    }

    /// The step that has to be recorded, if there is one.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        let (gate, wall, elapsed) = (self.now(), self.wall(), self.clock.elapsed());
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let by = wall.0.saturating_sub(milliseconds(elapsed)).saturating_sub(seen.offset);
        let recent = seen.at.is_some_and(|at| elapsed.saturating_sub(at) < BETWEEN_STEPS);
        (by.abs() > milliseconds(TOLERANCE) && !recent).then_some(Step { by, wall, gate, elapsed })
    }

    /// Notes that a step was recorded.
    pub fn recorded(&self, step: &Step) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = seen.offset.saturating_add(step.by);
        *seen = Seen { offset, at: Some(step.elapsed) };
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Timestamp {
        let (wall, elapsed) = (self.clock.now(), milliseconds(self.clock.elapsed()));
        let offset = self.offset.load(Ordering::Acquire);
        let ahead = wall.0.saturating_sub(elapsed.saturating_add(offset));
        if ahead <= milliseconds(TOLERANCE) {
            return Timestamp(elapsed.saturating_add(offset));
        }
        let wanted = wall.0.saturating_sub(elapsed);
        let before = self.offset.fetch_max(wanted, Ordering::AcqRel);
        Timestamp(elapsed.saturating_add(before.max(wanted)))
    }

    fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ChanceError> {
        self.clock.fill(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Fake;

    const BEGIN: Timestamp = Timestamp(1_000_000_000);
    const DAY: Duration = Duration::from_hours(24);

    fn clocks() -> (Arc<Fake>, MonotonicClock) {
        let fake = Arc::new(Fake::at(BEGIN));
        (fake.clone(), MonotonicClock::new(fake, Timestamp(0)))
    }

    #[test]
    fn a_clock_set_back_does_not_stop_time() {
        let (fake, clock) = clocks();
        for back in [Duration::from_mins(10), DAY] {
            let before = clock.now();
            fake.set(fake.now().before(back));
            assert_eq!(clock.now(), before);
            fake.pass(Duration::from_secs(30));
            assert_eq!(clock.now(), before.after(Duration::from_secs(30)));
        }
    }

    #[test]
    fn a_clock_set_forward_is_followed_and_not_back_again() {
        let (fake, clock) = clocks();
        fake.set(BEGIN.after(TOLERANCE));
        assert_eq!(clock.now(), BEGIN, "that much it may differ");
        fake.set(BEGIN.after(DAY));
        assert_eq!(clock.now(), BEGIN.after(DAY));
        assert_eq!(clock.without_steps(), BEGIN);
        fake.set(BEGIN);
        fake.pass(Duration::from_secs(1));
        assert_eq!(clock.now(), BEGIN.after(DAY + Duration::from_secs(1)));
        assert_eq!(clock.without_steps(), BEGIN.after(Duration::from_secs(1)));
    }

    #[test]
    fn after_a_restart_time_goes_on_from_what_was_seen() {
        let fake = Arc::new(Fake::at(BEGIN));
        let clock = MonotonicClock::new(fake.clone(), BEGIN.after(DAY));
        assert_eq!(clock.now(), BEGIN.after(DAY));
        fake.pass(Duration::from_mins(5));
        assert_eq!(clock.now(), BEGIN.after(DAY + Duration::from_mins(5)));
        let step = clock.step().unwrap();
        assert_eq!((step.by, step.wall), (-milliseconds(DAY), fake.now()));
    }

    #[test]
    fn a_step_is_told_until_it_is_on_record_and_the_next_one_a_minute_later() {
        let (fake, clock) = clocks();
        assert_eq!(clock.step(), None);
        fake.set(BEGIN.before(DAY));
        let step = clock.step().unwrap();
        assert_eq!((step.by, step.gate), (-milliseconds(DAY), BEGIN));
        assert_eq!(clock.step(), Some(step));
        clock.recorded(&step);
        assert_eq!(clock.step(), None);
        fake.set(BEGIN);
        assert_eq!(clock.step(), None);
        fake.pass(BETWEEN_STEPS);
        assert_eq!(clock.step().unwrap().by, milliseconds(DAY));
    }

    #[test]
    fn what_is_shown_is_what_the_system_would_show() {
        let (fake, clock) = clocks();
        let until = BEGIN.after(Duration::from_mins(2));
        assert_eq!(clock.shown(until), until);
        fake.set(BEGIN.before(DAY));
        assert_eq!(clock.shown(until), until.before(DAY));
    }

    #[test]
    fn a_slow_clock_and_a_fast_one() {
        for (rate, least) in [(0.5, 600), (0.99, 600), (1.01, 600), (2.0, 600)] {
            let (fake, clock) = clocks();
            let mut before = clock.now();
            for _ in 0..600 {
                fake.run(Duration::from_secs(1), rate);
                let now = clock.now();
                assert!(now > before, "time goes on");
                before = now;
            }
            let passed = before.since(BEGIN);
            let fastest = Duration::from_secs_f64(600.0 * f64::max(rate, 1.0));
            assert!(passed >= Duration::from_secs(least), "never slower than time: {passed:?}");
            assert!(passed <= fastest, "never faster than the faster of both: {passed:?}");
        }
    }
}
