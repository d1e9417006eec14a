//! The time that one lane may take for judging.

use std::time::Duration;

use crate::clock::Timestamp;

/// The time that a lane may use at once.
const BURST: Duration = Duration::from_secs(10);
/// The number of milliseconds in which a lane regains one.
const REGAINED_IN: u64 = 4;
/// The most time that one job counts for, in case the clock jumped ahead.
const MOST: Duration = Duration::from_mins(1);

/// The time that a lane has used and not regained.
#[derive(Debug, Default)]
pub(super) struct Budget {
    used: Duration,
    at: Timestamp,
}

impl Budget {
    /// Succeeds if there is time left.
    ///
    /// # Errors
    /// None is left; the value is the time to wait until there is.
    pub(super) fn check(&mut self, now: Timestamp) -> Result<(), Duration> {
        self.regain(now);
        match self.used.checked_sub(BURST) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(over) => Err(over.saturating_mul(u32::try_from(REGAINED_IN).unwrap_or(1))),
        }
    }

    /// Uses some of the time.
    pub(super) fn spend(&mut self, time: Duration, now: Timestamp) {
        self.regain(now);
        self.used = self.used.saturating_add(time.min(MOST));
    }

    /// Reports whether none of it is used.
    pub(super) fn is_whole(&self, now: Timestamp) -> bool {
        self.left_over(now).is_zero()
    }

    fn regain(&mut self, now: Timestamp) {
        self.used = self.left_over(now);
        self.at = now;
    }

    fn left_over(&self, now: Timestamp) -> Duration {
        let regained = now.since(self.at).as_millis() / u128::from(REGAINED_IN);
        self.used.saturating_sub(Duration::from_millis(regained.try_into().unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_used_up_comes_back_after_the_wait_that_was_told() {
        let mut budget = Budget::default();
        let begin = Timestamp(1_000_000);
        assert_eq!(budget.check(begin), Ok(()));
        budget.spend(Duration::from_secs(9), begin);
        assert_eq!(budget.check(begin), Ok(()));
        budget.spend(Duration::from_secs(9), begin);
        let wait = budget.check(begin).unwrap_err();
        assert_eq!(wait, Duration::from_secs(32));
        assert!(budget.check(begin.after(wait).before(Duration::from_millis(8))).is_err());
        assert_eq!(budget.check(begin.after(wait)), Ok(()));
        assert!(!budget.is_whole(begin.after(wait)));
        assert!(budget.is_whole(begin.after(wait + Duration::from_secs(40))));
    }

    #[test]
    fn a_clock_that_jumps_costs_no_more_than_a_minute() {
        let mut budget = Budget::default();
        budget.spend(Duration::from_hours(24), Timestamp(0));
        assert!(budget.check(Timestamp(0)).unwrap_err() <= Duration::from_mins(4));
    }
}
