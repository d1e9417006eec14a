//! A wait that can be ended.

use std::fmt;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::lock;

/// A way to wait, replaced in tests.
pub trait Wait: Send + Sync + fmt::Debug {
    /// Waits for a duration, or until `stop` is set.
    fn wait(&self, stop: &Stop, duration: Duration);
}

/// Waits in real time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sleep;

impl Wait for Sleep {
    fn wait(&self, stop: &Stop, duration: Duration) {
        let stopped = lock(&stop.stopped);
        drop(stop.changed.wait_timeout_while(stopped, duration, |stopped| !*stopped));
    }
}

/// A flag that ends waits.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Sets the flag and ends every wait.
    pub fn stop(&self) {
        *lock(&self.stopped) = true;
        self.changed.notify_all();
    }

    /// Reports whether the flag is set.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *lock(&self.stopped)
    }
}
