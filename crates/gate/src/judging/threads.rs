//! A thread pool that only judges.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::{Executor, Job};

/// A thread pool that only judges: half as many threads as the machine has cores, so that large
/// actions leave room for small ones. Threads are started on demand, and end when this is dropped.
#[derive(Debug)]
pub struct Threads {
    slots: usize,
    send: Sender<Job>,
    jobs: Arc<Mutex<Receiver<Job>>>,
    started: Mutex<usize>,
}

impl Threads {
    /// A pool of this many threads, at least one.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let (send, jobs) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        Self { slots: slots.max(1), send, jobs, started: Mutex::new(0) }
    }

    /// Starts one more thread, until there is one per slot.
    fn grow(&self) -> io::Result<()> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if *started >= self.slots {
            return Ok(());
        }
        let jobs = Arc::clone(&self.jobs);
        thread::Builder::new().name("judging".to_owned()).spawn(move || work(&jobs)).map(drop)?;
        *started += 1;
        Ok(())
    }

    fn has_any(&self) -> bool {
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }
}

impl Default for Threads {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::new(cores / 2)
    }
}

impl Executor for Threads {
    fn slots(&self) -> usize {
        self.slots
    }

    fn start(&self, job: Job) -> io::Result<()> {
        match self.grow() {
            Err(error) if !self.has_any() => return Err(error),
            Ok(()) | Err(_) => {}
        }
        self.send.send(job).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Works until all senders are dropped.
fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // A job that panics refuses its action, and does not end the thread.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}
