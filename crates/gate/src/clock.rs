//! The only module that reads the time or randomness.
//!
//! All other code takes both from here, so that a test controls the clock and a trace can be
//! replayed. Expiry follows a [`MonotonicClock`], whatever the system's clock is set to.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

mod monotonic;

pub use monotonic::{MonotonicClock, Step, TOLERANCE};

/// A point in time: milliseconds since 1970, UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time this much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(milliseconds(duration)))
    }

    /// The time this much earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(milliseconds(duration)))
    }

    /// The duration from an earlier time to this one; zero if that one is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Parses a time in RFC 3339, in UTC (`2026-11-16T06:00:00Z`, with or without a fraction), or
    /// the beginning of a day.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if !text.contains('T') {
            return Self::parse_day(text);
        }
        let (moment, fraction) = text.strip_suffix('Z')?.split_at_checked(19)?;
        let digits = if fraction.is_empty() { "0" } else { fraction.strip_prefix('.')? };
        let sound = has_shape(moment, "0000-00-00T00:00:00")
            && !moment.ends_with("60")
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        let milliseconds: i64 = format!("{digits:0<3}").get(..3)?.parse().ok()?;
        let seconds = Self::civil(moment.parse().ok().filter(|_| sound)?)?;
        Some(Self(seconds.0 + milliseconds))
    }

    /// The beginning of a day, in UTC, written as `2026-11-16`.
    #[must_use]
    pub fn parse_day(text: &str) -> Option<Self> {
        let day: Date = text.parse().ok().filter(|_| has_shape(text, "0000-00-00"))?;
        Self::civil(day.at(0, 0, 0, 0))
    }

    /// A date and time in UTC, from 1970 on.
    fn civil(at: DateTime) -> Option<Self> {
        let since = i64::try_from(at.duration_since(EPOCH).as_millis()).ok();
        since.filter(|since| *since >= 0).map(Self)
    }

    /// The date and time in UTC; the nearest one that the calendar has.
    pub(crate) fn date_time(self) -> DateTime {
        EPOCH.saturating_add(SignedDuration::from_millis(self.0))
    }
}

/// Reports whether a text has digits and signs where this one has them. The library reads more
/// spellings than those that are written here.
fn has_shape(text: &str, shape: &str) -> bool {
    let digits = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
    text.bytes().map(digits).eq(shape.bytes())
}

/// Writes the time in RFC 3339, in UTC: `2026-11-16T06:00:00.000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}Z", self.date_time())
    }
}

/// The beginning of 1970.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A source of time and random numbers.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The time that has passed since a fixed point, including the time the machine was asleep.
    /// Cannot be set.
    fn elapsed(&self) -> Duration;

    /// The time as the system's clock shows it, for people and other machines.
    fn wall(&self) -> Timestamp {
        self.now()
    }

    /// Fills a buffer with random bytes that cannot be guessed.
    ///
    /// # Errors
    /// The operating system provides none. An operation that needs them must stop.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), ChanceError>;
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn elapsed(&self) -> Duration {
        (**self).elapsed()
    }

    fn wall(&self) -> Timestamp {
        (**self).wall()
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ChanceError> {
        (**self).fill(bytes)
    }
}

/// The operating system's random number generator failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system provides no random numbers")]
pub struct ChanceError;

/// Returns `N` random bytes.
///
/// # Errors
/// The operating system provides none.
pub fn random<const N: usize>(clock: &dyn Clock) -> Result<[u8; N], ChanceError> {
    let mut bytes = [0; N];
    clock.fill(&mut bytes)?;
    Ok(bytes)
}

/// The machine's own clock and randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(milliseconds(since))
    }

    #[cfg(unix)]
    fn elapsed(&self) -> Duration {
        // The clock that cannot be set and that goes on while the machine is asleep.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
        Duration::try_from(rustix::time::clock_gettime(CLOCK)).unwrap_or_default()
    }

    #[cfg(not(unix))]
    fn elapsed(&self) -> Duration {
        static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        BEGAN.get_or_init(std::time::Instant::now).elapsed()
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ChanceError> {
        getrandom::fill(bytes).map_err(|_| ChanceError)
    }
}

/// A clock that moves only when it is told to, and random numbers that are the same every time. For
/// tests: its random numbers can be guessed.
#[derive(Debug)]
pub struct Fake {
    now: AtomicI64,
    /// The elapsed time, in milliseconds.
    elapsed: AtomicU64,
    drawn: AtomicU64,
}

impl Fake {
    /// A clock set to a time.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { now: AtomicI64::new(now.0), elapsed: AtomicU64::new(0), drawn: AtomicU64::new(0) }
    }

    /// Lets time pass.
    pub fn pass(&self, duration: Duration) {
        self.advance(duration, duration);
    }

    /// Lets time pass while the system's clock runs `rate` times as fast.
    pub fn run(&self, duration: Duration, rate: f64) {
        self.advance(duration, duration.mul_f64(rate));
    }

    fn advance(&self, elapsed: Duration, shown: Duration) {
        let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.elapsed.fetch_add(elapsed, Ordering::AcqRel);
        self.now.fetch_add(milliseconds(shown), Ordering::AcqRel);
    }

    /// Sets the system's clock, forwards or back. No time passes.
    pub fn set(&self, now: Timestamp) {
        self.now.store(now.0, Ordering::Release);
    }
}

impl Clock for Fake {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::Acquire))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed.load(Ordering::Acquire))
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ChanceError> {
        // Splitmix: each number differs, each run is the same.
        for chunk in bytes.chunks_mut(8) {
            let drawn = self.drawn.fetch_add(1, Ordering::AcqRel);
            let mut mixed = drawn.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let bytes = (mixed ^ (mixed >> 31)).to_le_bytes();
            for (to, from) in chunk.iter_mut().zip(bytes) {
                *to = from;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_rfc_3339() {
        for (milliseconds, written) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp(milliseconds).to_string(), written);
        }
    }

    #[test]
    fn moments_are_read_as_they_are_written() {
        for at in [0, 951_782_399_999, 951_782_400_000, 1_795_003_323_007] {
            assert_eq!(Timestamp::parse(&Timestamp(at).to_string()), Some(Timestamp(at)));
        }
        let second = Some(Timestamp(1_000));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01Z"), second);
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01.0000Z"), second);
        assert_eq!(Timestamp::parse("1970-01-02"), Some(Timestamp(86_400_000)));
        for wrong in [
            "",
            "1795003323007",
            "1970-01-01T00:00:01",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T0:0:0Z",
            "1970-13-01T00:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.-1Z",
            "1970-01-01T00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T23:59:60Z",
            "1970-02-29T00:00:00Z",
            "1970-1-1",
            "+970-01-01",
            "1970-01-01 ",
            "1970-02-30",
            "19700101",
            "1970-01-01T00:00:00+01:00Z",
            "1970-01-01T00:00:00,5Z",
        ] {
            assert_eq!(Timestamp::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_day_is_read_as_it_is_written() {
        let last = Timestamp::parse_day("9999-12-31").unwrap();
        for day in (0..=last.0).step_by(86_400_000 * 11).chain([last.0]).map(Timestamp) {
            let text = day.to_string();
            assert_eq!(Timestamp::parse_day(text.get(..10).unwrap()), Some(day), "{text}");
        }
        assert_eq!(Timestamp(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp(i64::MIN).to_string(), "-009999-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_moment_later_and_earlier() {
        let moment = Timestamp(1_000);
        assert_eq!(moment.after(Duration::from_secs(1)), Timestamp(2_000));
        assert_eq!(moment.before(Duration::from_secs(2)), Timestamp(-1_000));
        assert_eq!(moment.since(Timestamp(400)), Duration::from_millis(600));
        assert_eq!(Timestamp(400).since(moment), Duration::ZERO);
        assert_eq!(moment.after(Duration::MAX), Timestamp(i64::MAX));
    }
}
