//! The only thread that writes.
//!
//! A flush to disk takes milliseconds and serves any number of batches: during a flush the next
//! batches queue up, and all of them go into the next transaction.
//!
//! ```text
//! wait for a batch, take all others that wait
//! BEGIN IMMEDIATE
//!   for each: SAVEPOINT, apply, RELEASE     one that fails is rolled back alone; without the
//!                                           savepoint where it can fail only before it writes
//!   write what was counted, sign the end of the chain
//! COMMIT                                    flushed
//! tell everybody
//! ```
//!
//! No waiter gets a result before the commit. If the thread ends, for any reason, its batches are
//! dropped, and their waiters get an error.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::keyring::Keyring;
use crate::record::{Checkpoint, Head};
use crate::store::sqlite::apply::Group;
use crate::store::sqlite::chain::{self, End};
use crate::store::sqlite::memo::Memo;
use crate::store::sqlite::noted::Note;
use crate::store::sqlite::schema::PATIENCE;
use crate::store::{Batch, CommitError, Committed, StoreError};

/// The most batches in one transaction.
const GROUP: usize = 1_024;

/// The time for which the next batch waits for a reader that keeps the log from being emptied.
const SCRUB_PATIENCE: Duration = Duration::from_millis(50);

/// The time until that is tried again when there is nothing else to do.
const SCRUB_AGAIN: Duration = Duration::from_millis(250);

type Outcome = Result<Committed, CommitError>;

/// A batch for the writer.
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) waiter: oneshot::Sender<Done>,
}

/// The result of a batch, with the batch itself, so that its memory is freed on the thread that
/// allocated it. If the writer freed it, the threads would contend for the allocator.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    _batch: Batch,
}

/// The state of the thread.
pub(super) struct Writer {
    connection: Connection,
    keyring: Arc<Keyring>,
    /// The end of the chain as this thread last signed or checked it.
    known: Option<Checkpoint>,
    /// True while erased content may still be in the write-ahead log.
    unscrubbed: bool,
    /// The cache of the readers.
    memo: Arc<Memo>,
    /// A number that changes when a connection of another process has committed.
    others: i64,
    /// The note beside the database.
    note: Note,
}

impl Writer {
    /// Takes over a connection, if the chain ends at the signed end.
    pub(super) fn new(
        connection: Connection,
        keyring: Arc<Keyring>,
        memo: Arc<Memo>,
        note: Note,
    ) -> Result<Self, StoreError> {
        let others = others(&connection)?;
        let known = chain::trusted_head(&connection, &keyring, None, note.number())?;
        // A process that was killed between an erasure and its scrub left the scrub to us.
        let mut writer = Self { connection, keyring, known, unscrubbed: true, memo, others, note };
        writer.scrub();
        writer.note_end()?;
        Ok(writer)
    }

    /// Works until all senders are dropped and every batch that was sent is done.
    pub(super) fn run(&mut self, jobs: &Receiver<Job>) {
        while let Some(job) = self.next(jobs) {
            let group = std::iter::once(job).chain(jobs.try_iter().take(GROUP - 1));
            let (batches, waiters): (Vec<_>, Vec<_>) =
                group.map(|Job { batch, waiter }| (batch, waiter)).unzip();
            let outcomes = match self.commit(&batches) {
                Ok(outcomes) => outcomes,
                Err(error) => batches.iter().map(|_| Err(error.clone().into())).collect(),
            };
            for ((waiter, outcome), batch) in waiters.into_iter().zip(outcomes).zip(batches) {
                // A waiter that is gone is ignored.
                let _ = waiter.send(Done { outcome, _batch: batch });
            }
        }
        // If this fails, the end is noted at the next start.
        let _ = self.note_end();
    }

    /// Notes the end of the chain, in a transaction, so that no other process moves it meanwhile.
    fn note_end(&mut self) -> Result<(), StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        let least = self.note.number();
        let noted =
            chain::trusted_head(&self.connection, &self.keyring, self.known.as_ref(), least)
                .and_then(|end| match end {
                    Some(checkpoint) => self.note.note(&checkpoint.head(), &self.keyring),
                    None => Ok(()),
                });
        self.execute("ROLLBACK")?;
        noted
    }

    fn next(&mut self, jobs: &Receiver<Job>) -> Option<Job> {
        while self.unscrubbed {
            match jobs.recv_timeout(SCRUB_AGAIN) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) => self.scrub(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        jobs.recv().ok()
    }

    /// Commits a group. On an error, none of it may be relied on.
    fn commit(&mut self, batches: &[Batch]) -> Result<Vec<Outcome>, StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        let done = self.transact(batches).and_then(|done| {
            self.execute("COMMIT")?;
            Ok(done)
        });
        let (outcomes, known) = match done {
            Ok(done) => done,
            Err(error) => {
                // A failed transaction may be on disk all the same.
                self.memo.forget_all();
                if !self.connection.is_autocommit() {
                    self.execute("ROLLBACK")?;
                }
                return Err(error);
            }
        };
        let done = batches.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
        self.memo.forget(done.map(|(batch, _)| batch));
        self.known = known;
        let gone = |committed: &Committed| committed.erased > 0 || committed.cut > 0;
        self.unscrubbed |= outcomes.iter().flatten().any(gone);
        if self.unscrubbed {
            self.scrub();
        }
        Ok(outcomes)
    }

    fn transact(
        &mut self,
        batches: &[Batch],
    ) -> Result<(Vec<Outcome>, Option<Checkpoint>), StoreError> {
        self.notice_others()?;
        // Read again each time: another process may have written since.
        let (known, least) = (self.known.as_ref(), self.note.number());
        let checkpoint = chain::trusted_head(&self.connection, &self.keyring, known, least)?;
        let before = checkpoint.as_ref().map_or_else(Head::genesis, Checkpoint::head);
        self.note.keep_up(&before, &self.keyring)?;
        let mut group = Group::new(&self.connection, &self.keyring, before)?;
        let epoch = self.memo.epoch();
        let mut outcomes = Vec::with_capacity(batches.len());
        for batch in batches {
            outcomes.push(if batch.epoch.is_some_and(|relied_on| relied_on != epoch) {
                Err(CommitError::Outdated)
            } else {
                group.add(batch)?
            });
        }
        let head = group.finish()?;
        if head == before {
            return Ok((outcomes, checkpoint));
        }
        let checkpoint = chain::sign(&self.connection, &self.keyring, End::Head, head)?;
        Ok((outcomes, Some(checkpoint)))
    }

    /// Begins another epoch if another process has written since the last transaction. Until the
    /// end of this one no other process can write.
    fn notice_others(&mut self) -> Result<(), StoreError> {
        let others = others(&self.connection)?;
        if others != self.others {
            self.memo.forget_all();
            self.others = others;
        }
        Ok(())
    }

    /// Moves everything from the write-ahead log to the database, where erased content is
    /// overwritten, and empties the log. An active reader can prevent that; then it is tried again.
    fn scrub(&mut self) {
        let emptied = || -> rusqlite::Result<bool> {
            self.connection.busy_timeout(SCRUB_PATIENCE)?;
            let busy = self
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>("busy"));
            self.connection.busy_timeout(PATIENCE)?;
            Ok(busy? == 0)
        };
        self.unscrubbed = !emptied().unwrap_or(false);
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }
}

/// A number that changes with the commits of other connections, and not with our own.
fn others(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::clock::Timestamp;
    use crate::record::{Draft, Event, RecordOwner};
    use crate::store::sqlite::{Sqlite, schema};
    use crate::store::{Count, CountStep, Doc, Kind, Write};
    use crate::testing::{Folder, folder};

    fn keyring() -> Arc<Keyring> {
        Arc::new(Keyring::from_seed(&[5; 32]))
    }

    /// A writer whose connection a test has tampered with.
    fn writer(folder: &Folder, tamper: &str) -> Writer {
        let path = folder.path().join("store.db");
        drop(Sqlite::danger_open_or_begin(&path, keyring()).unwrap());
        let connection = schema::writer(&path).unwrap();
        connection.execute_batch(tamper).unwrap();
        let note = Note::open(&path, &keyring()).unwrap();
        Writer::new(connection, keyring(), Arc::default(), note).unwrap()
    }

    fn batch(id: &str, body: &str) -> Batch {
        let doc = Doc {
            kind: Kind::Approval,
            id: id.to_owned(),
            owner: None,
            workspace: None,
            session: None,
            fingerprint: None,
            state: "pending".to_owned(),
            due: None,
            body: body.to_owned(),
        };
        let (record_owner, payload) = (RecordOwner::default(), "{}".to_owned());
        let draft = Draft::new(Timestamp(1), Event::Approval, record_owner, payload, [1; 16]);
        Batch { writes: vec![Write::Insert(doc)], records: vec![draft], ..Batch::default() }
    }

    fn numbers(connection: &Connection, sql: &str) -> Vec<i64> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn all_that_wait_share_one_transaction() {
        let folder = folder();
        let mut writer = writer(
            &folder,
            "CREATE TEMP TABLE flushes (number INTEGER);
             CREATE TEMP TRIGGER flush_first AFTER INSERT ON main.ends
                 BEGIN INSERT INTO flushes VALUES (NEW.number); END;
             CREATE TEMP TRIGGER flush_next AFTER UPDATE ON main.ends
                 BEGIN INSERT INTO flushes VALUES (NEW.number); END;",
        );
        let (jobs, queue) = channel();
        let mut answers = Vec::new();
        for number in 0..GROUP + 6 {
            let (waiter, answer) = oneshot::channel();
            // Every third one fails, and does not use up a number.
            let id = if number % 3 == 2 { "0".to_owned() } else { number.to_string() };
            jobs.send(Job { batch: batch(&id, "{}"), waiter }).unwrap();
            answers.push(answer);
        }
        drop(jobs);
        writer.run(&queue);
        let done: Vec<_> = answers
            .into_iter()
            .filter_map(|answer| answer.blocking_recv().unwrap().outcome.ok())
            .filter_map(|committed| committed.first_record)
            .collect();
        assert_eq!(done, (1..=687).collect::<Vec<_>>());
        assert_eq!(numbers(&writer.connection, "SELECT number FROM flushes"), [683, 687]);
    }

    #[test]
    fn what_a_failing_batch_has_counted_is_counted_by_no_other() {
        let folder = folder();
        let mut writer = writer(&folder, "INSERT INTO counters VALUES ('gone', 1)");
        let count = |key: &str, step| Count { key: key.to_owned(), step };
        let up = |key| count(key, CountStep::Up { most: 2 });
        let inserting = |id: &str| batch(id, "{}");
        let batch = |counts: &[Count]| Batch { counts: counts.to_vec(), ..Batch::default() };
        let full = count("full", CountStep::Add { by: 3, most: 2 });
        let done = writer.commit(&[
            batch(&[up("a")]),
            batch(&[up("a"), count("gone", CountStep::Forget), full.clone()]),
            batch(&[up("a"), count("gone", CountStep::Down), up("b"), count("b", CountStep::Down)]),
            batch(&[up("a")]),
            Batch { writes: inserting("d").writes, ..batch(&[up("c"), full]) },
        ]);
        let done: Vec<_> = done.unwrap().iter().map(Result::is_ok).collect();
        assert_eq!(done, [true, false, true, false, false]);
        let keys = "SELECT count(*) FROM counters WHERE key <> 'a'";
        assert_eq!(numbers(&writer.connection, keys), [0], "who stands at 0 has no row");
        assert_eq!(numbers(&writer.connection, "SELECT value FROM counters"), [2]);
        assert_eq!(numbers(&writer.connection, "SELECT count(*) FROM docs"), [0]);
    }

    #[test]
    fn a_failing_commit_fails_all_of_its_group_and_none_of_the_next() {
        let folder = folder();
        let mut writer = writer(
            &folder,
            "PRAGMA foreign_keys = ON;
             CREATE TABLE parents (id INTEGER PRIMARY KEY);
             CREATE TABLE orphans (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER orphan AFTER INSERT ON docs WHEN NEW.id = 'bad'
                 BEGIN INSERT INTO orphans VALUES (1); END;",
        );
        writer.commit(&[batch("a", "{}"), batch("bad", "{}"), batch("b", "{}")]).unwrap_err();
        assert_eq!(numbers(&writer.connection, "SELECT count(*) FROM docs"), [0]);
        let done = writer.commit(&[batch("a", "{}"), batch("b", "{}")]).unwrap();
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        assert_eq!(numbers(&writer.connection, "SELECT number FROM records"), [1, 2]);
    }

    #[test]
    fn a_full_disk_fails_what_does_not_fit() {
        let folder = folder();
        let mut writer = writer(&folder, "");
        writer.commit(&[batch("a", "{}")]).unwrap();
        let pages = numbers(&writer.connection, "PRAGMA page_count")[0] + 20;
        writer.connection.execute_batch(&format!("PRAGMA max_page_count = {pages}")).unwrap();
        let huge = "x".repeat(1_000_000);
        // SQLite decides if the others fail with it. They get the true result either way.
        let done = writer.commit(&[batch("b", "{}"), batch("c", &huge), batch("d", "{}")]);
        let there = numbers(&writer.connection, "SELECT count(*) FROM docs")[0];
        match done {
            Ok(done) => {
                assert_eq!(done.iter().filter(|outcome| outcome.is_ok()).count(), 2, "{done:?}");
                assert_eq!(there, 3);
            }
            Err(_) => assert_eq!(there, 1),
        }
        let done = writer.commit(&[batch("e", "{}")]).unwrap();
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    }
}
