//! The counters that the batches of one transaction change: read once, written once at its end.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::sqlite::{signed, unsigned};
use crate::store::{CommitError, Count, CountStep};

/// The largest value of a row.
const MOST: u64 = i64::MAX as u64;

/// The counters of one transaction.
#[derive(Default)]
pub(super) struct Counters {
    places: HashMap<String, usize>,
    all: Vec<Counter>,
    /// The counters that the current batch has changed, with their values before.
    moved: Vec<(usize, u64)>,
}

struct Counter {
    stored: u64,
    value: u64,
}

impl Counters {
    /// Changes a counter.
    pub(super) fn step(
        &mut self,
        connection: &Connection,
        Count { key, step }: &Count,
    ) -> Result<(), CommitError> {
        let place = self.place(connection, key)?;
        let Some(counter) = self.all.get_mut(place) else { return Ok(()) };
        let before = counter.value;
        counter.value = match *step {
            CountStep::Up { most } => added(before, 1, most, key)?,
            CountStep::Add { by: 0, .. } => before,
            CountStep::Add { by, most } => added(before, by, most, key)?,
            CountStep::Down => before.saturating_sub(1),
            CountStep::Sub { by } => before.saturating_sub(by),
            CountStep::Forget => 0,
        };
        self.moved.push((place, before));
        Ok(())
    }

    /// Keeps the changes of the current batch.
    pub(super) fn keep(&mut self) {
        self.moved.clear();
    }

    /// Undoes the changes of the current batch.
    pub(super) fn undo(&mut self) {
        for (place, before) in self.moved.drain(..).rev() {
            if let Some(counter) = self.all.get_mut(place) {
                counter.value = before;
            }
        }
    }

    /// Writes the counters that have changed. A counter at 0 is not stored.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let moved = |counter: &Counter| counter.value != counter.stored;
        for (key, place) in &self.places {
            match self.all.get(*place).filter(|counter| moved(counter)) {
                None => {}
                Some(Counter { value: 0, .. }) => {
                    connection
                        .prepare_cached("DELETE FROM counters WHERE key = ?1")?
                        .execute([key])?;
                }
                Some(Counter { value, .. }) => {
                    connection
                        .prepare_cached(
                            "INSERT INTO counters (key, value) VALUES (?1, ?2)
                             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                        )?
                        .execute(params![key, signed(*value)])?;
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, connection: &Connection, key: &str) -> rusqlite::Result<usize> {
        if let Some(place) = self.places.get(key) {
            return Ok(*place);
        }
        let stored = connection
            .prepare_cached("SELECT value FROM counters WHERE key = ?1")?
            .query_row([key], |row| row.get(0).map(unsigned))
            .optional()?
            .unwrap_or_default();
        let place = self.all.len();
        self.all.push(Counter { stored, value: stored });
        self.places.insert(key.to_owned(), place);
        Ok(place)
    }
}

fn added(before: u64, by: u64, most: u64, key: &str) -> Result<u64, CommitError> {
    let full = || CommitError::Full { key: key.to_owned(), most };
    before.checked_add(by).filter(|sum| *sum <= most.min(MOST)).ok_or_else(full)
}
