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
        let mut sorted = self.0.clone();
        sorted.sort();
        sorted.get(sorted.len() / 2).map_or(f64::NAN, micros)
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
