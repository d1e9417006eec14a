//! The only module that reads the time or randomness.
//!
//! All other code takes both from here, so that a test controls the clock and a trace can be
//! replayed. Expiry follows a [`MonotonicClock`], whatever the system's clock is set to.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
        let Some((day, time)) = text.split_once('T') else { return Self::parse_day(text) };
        let time = time.strip_suffix('Z')?;
        let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let mut parts = clock.split(':').map(|part| {
            let sound = part.len() == 2 && digits(part);
            part.parse::<i64>().ok().filter(|_| sound)
        });
        let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
        let sound = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
        let sound = sound && !fraction.is_empty() && digits(fraction);
        let milliseconds: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        let seconds = (hour * 60 + minute) * 60 + second;
        let day = Self::parse_day(day).filter(|_| sound)?;
        Some(Self(day.0 + seconds * 1_000 + milliseconds))
    }

    /// The beginning of a day, in UTC, written as `2026-11-16`.
    #[must_use]
    pub fn parse_day(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
        let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
        let sound = (1970..=9999).contains(&year) && (1..=12).contains(&month);
        // Found by search: `date`, the opposite direction, is the one that is tested.
        let first = (year - 1970) * 365;
        let days = sound.then_some(first..=first + 3_000)?;
        let days = days.into_iter().find(|days| date(*days) == (year, month, day))?;
        Some(Self(days * DAY))
    }
}

/// Writes the time in RFC 3339, in UTC: `2026-11-16T06:00:00.000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = date(days);
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, millisecond) = (rest / 1_000 % 60, rest % 1_000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        write!(f, ".{millisecond:03}Z")
    }
}

const DAY: i64 = 86_400_000;

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Year, month and day of a number of days since 1970. Years are counted from March, so that the
/// leap day is the last of its year.
pub(crate) const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
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
        assert_eq!(Timestamp::parse("1970-01-02"), Some(Timestamp(DAY)));
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
        ] {
            assert_eq!(Timestamp::parse(wrong), None, "{wrong}");
        }
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
