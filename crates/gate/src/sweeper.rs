//! The gate's own hands on the clock: sweeps again and again, until the gate is gone.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pollster::block_on;

use crate::gate::Gate;

/// Between two looks at what retention asks for there are so many sweeps.
const RETAIN_EVERY: u32 = 3_600;

/// Sweeps until it is dropped.
#[derive(Debug)]
pub struct Sweeper {
    stopping: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    /// Begins to sweep, so often. What a sweep could not do, the next one does: `failed` is told
    /// why.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(
        gate: &Arc<Gate>,
        every: Duration,
        failed: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let stopping = Arc::new((Mutex::new(false), Condvar::new()));
        let (stop, gate) = (stopping.clone(), Arc::downgrade(gate));
        let run = move || {
            let mut sweeps = 0_u32;
            while !waited(&stop, every) {
                let Some(gate) = gate.upgrade() else { return };
                if let Err(error) = block_on(gate.sweep()) {
                    failed(&error.to_string());
                }
                if sweeps.is_multiple_of(RETAIN_EVERY)
                    && let Err(error) = block_on(gate.retain())
                {
                    failed(&error.to_string());
                }
                sweeps = sweeps.wrapping_add(1);
            }
        };
        let thread = thread::Builder::new().name("sweeper".to_owned()).spawn(run)?;
        Ok(Self { stopping, thread: Some(thread) })
    }
}

/// Waits, and says whether to stop.
fn waited(stopping: &(Mutex<bool>, Condvar), every: Duration) -> bool {
    let (stop, told) = stopping;
    let stop = stop.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = told.wait_timeout_while(stop, every, |stop| !*stop);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        *self.stopping.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stopping.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
