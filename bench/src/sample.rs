//! Times, and what may be said about many of them.

use std::time::{Duration, Instant};

/// Many measurements of one thing.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Adds how long this takes.
    pub(crate) fn add<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        self.0.push(started.elapsed());
        result
    }

    /// The middle one, in microseconds.
    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// So many percent are as fast as this or faster, in microseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort();
        let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(at).map_or(f64::NAN, micros)
    }

    /// Takes in what others measured.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Adds one that was measured elsewhere.
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The best one, in microseconds.
    pub(crate) fn least(&self) -> f64 {
        self.0.iter().min().map_or(f64::NAN, micros)
    }
}

fn micros(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        let times = Times([5, 1, 9].map(Duration::from_micros).to_vec());
        assert!((times.median() - 5.0).abs() < 1e-9);
        assert!((times.least() - 1.0).abs() < 1e-9);
    }
}
