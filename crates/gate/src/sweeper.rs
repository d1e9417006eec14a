//! The thread that sweeps at intervals, until the gate is dropped.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pollster::block_on;

use crate::gate::Gate;

/// The number of sweeps between two runs of retention.
const RETAIN_EVERY: u32 = 3_600;

/// Sweeps until it is dropped.
#[derive(Debug)]
pub struct Sweeper {
    stopping: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    /// Starts to sweep at this interval. Work that fails is repeated by the next sweep; `failed` is
    /// called with the error.
    ///
    /// # Errors
    /// The operating system starts no further thread.
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

/// Waits, and reports whether to stop.
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
