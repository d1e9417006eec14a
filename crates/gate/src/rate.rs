//! Rate limits by the generic cell rate algorithm.
//!
//! One number is kept per key: the time at which the bucket would be empty again. Each use moves it
//! one interval later; a use that would move it beyond the burst must wait.
//!
//! ```text
//! rate 3 per minute: interval 20 s, burst 3
//! now 0  use  -> empty at 20   use -> 40   use -> 60   use -> wait 20 s
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// A number of uses in a time, all at once if need be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The number of uses.
    pub uses: u32,
    /// In how many seconds.
    pub seconds: u32,
}

impl Rate {
    /// This many uses in a minute.
    #[must_use]
    pub const fn per_minute(uses: u32) -> Self {
        Self { uses, seconds: 60 }
    }

    /// This many uses in an hour.
    #[must_use]
    pub const fn per_hour(uses: u32) -> Self {
        Self { uses, seconds: 3_600 }
    }

    /// Uses once: returns the time at which the bucket will be empty.
    ///
    /// `empty_at` is the result of the last use, `None` before the first. If the clock was set
    /// back, the wait is still never longer than a whole period.
    ///
    /// # Errors
    /// The rate is exceeded; the value is the time to wait before another attempt.
    pub fn take(self, empty_at: Option<Timestamp>, now: Timestamp) -> Result<Timestamp, Duration> {
        let period = i64::from(self.seconds).saturating_mul(1_000);
        if self.uses == 0 {
            return Err(Duration::from_millis(u64::try_from(period.max(1_000)).unwrap_or(1_000)));
        }
        let interval = period / i64::from(self.uses);
        let latest = now.0.saturating_add(period);
        let from = empty_at.map_or(now.0, |at| at.0.clamp(now.0, latest));
        let next = from.saturating_add(interval);
        // Division rounds the interval down, so a whole burst always fits into the period.
        let over = next.saturating_sub(latest);
        match u64::try_from(over) {
            Ok(over) if over > 0 => Err(Duration::from_millis(over)),
            _ => Ok(Timestamp(next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_burst_goes_through_and_the_next_waits_for_one_interval() {
        let rate = Rate::per_minute(3);
        let mut empty_at = None;
        for _ in 0..3 {
            empty_at = Some(rate.take(empty_at, Timestamp(0)).unwrap());
        }
        assert_eq!(rate.take(empty_at, Timestamp(0)), Err(Duration::from_secs(20)));
        assert_eq!(rate.take(empty_at, Timestamp(19_999)), Err(Duration::from_millis(1)));
        assert!(rate.take(empty_at, Timestamp(20_000)).is_ok());
    }

    #[test]
    fn nothing_may_be_used_at_a_rate_of_none() {
        assert!(Rate { uses: 0, seconds: 60 }.take(None, Timestamp(0)).is_err());
        assert!(Rate { uses: 0, seconds: 0 }.take(None, Timestamp(0)).is_err());
    }

    #[test]
    fn a_clock_set_back_makes_nobody_wait_for_days() {
        let rate = Rate::per_minute(1);
        let empty_at = rate.take(None, Timestamp(86_400_000_000)).unwrap();
        assert!(rate.take(Some(empty_at), Timestamp(0)).unwrap_err() <= Duration::from_mins(1));
    }

    proptest! {
        /// In any window of one period there are never more than twice the uses, and over a long
        /// time never more than the rate and one burst.
        #[test]
        fn the_rate_holds(uses in 1_u32..50, gaps in proptest::collection::vec(0_i64..5_000, 1..300)) {
            let rate = Rate::per_minute(uses);
            let (mut now, mut empty_at, mut used) = (Timestamp(0), None, 0_i64);
            for gap in gaps {
                now = Timestamp(now.0 + gap);
                if let Ok(next) = rate.take(empty_at, now) {
                    empty_at = Some(next);
                    used += 1;
                }
            }
            let interval = 60_000 / i64::from(uses);
            prop_assert!(used <= 60_000 / interval + now.0 / interval + 1);
        }

        /// A caller that waits as long as it was told may go on.
        #[test]
        fn the_wait_is_enough(uses in 1_u32..50, burst in 1_u32..100) {
            let rate = Rate::per_minute(uses);
            let (mut now, mut empty_at) = (Timestamp(7), None);
            for _ in 0..burst {
                match rate.take(empty_at, now) {
                    Ok(next) => empty_at = Some(next),
                    Err(wait) => now = now.after(wait),
                }
            }
            if let Err(wait) = rate.take(empty_at, now) {
                prop_assert!(rate.take(empty_at, now.after(wait)).is_ok());
            }
        }
    }
}
