//! A mutex at which a test can switch threads.
//!
//! In a test that `shuttle` runs, every [`Mutex::lock`] is a point at which any other thread may be
//! scheduled, so that shuttle tries the interleavings between two calls of a store. Everywhere
//! else, ordinary tests included, it is the standard library's mutex.

use std::sync::{MutexGuard, PoisonError};

/// A mutex without poisoning.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    #[cfg(test)]
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks the value.
    ///
    /// A thread that panicked while it held the lock leaves the value as it was then. So code that
    /// holds the lock must change the value by steps that cannot panic halfway.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(test)]
        if shuttle::current::try_get_current_task().is_some() {
            return self.lock_exploring();
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks without blocking: shuttle runs all its threads on one.
    #[cfg(test)]
    fn lock_exploring(&self) -> MutexGuard<'_, T> {
        use std::sync::TryLockError;
        shuttle::thread::sleep(std::time::Duration::ZERO);
        loop {
            match self.0.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(error)) => return error.into_inner(),
                Err(TryLockError::WouldBlock) => shuttle::thread::yield_now(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_panic_with_the_lock_held_does_not_close_it() {
        let mutex = Arc::new(Mutex::new(1));
        let held = Arc::clone(&mutex);
        let panicked = std::thread::spawn(move || {
            let _guard = held.lock();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert_eq!(*mutex.lock(), 1);
    }

    #[test]
    #[should_panic(expected = "both counted from 0")]
    fn shuttle_finds_the_race_between_two_locks() {
        shuttle::check_dfs(
            || {
                let counter = Arc::new(Mutex::new(0));
                let other = Arc::clone(&counter);
                let count = |counter: &Mutex<i32>| {
                    let seen = *counter.lock();
                    *counter.lock() = seen + 1;
                };
                let thread = shuttle::thread::spawn(move || count(&other));
                count(&counter);
                thread.join().unwrap();
                assert_eq!(*counter.lock(), 2, "both counted from 0");
            },
            None,
        );
    }
}
