//! The one thread that writes.
//!
//! A flush to disk takes milliseconds and serves any number of batches: while one is under way the
//! next ones queue up, and all of them go into the next transaction.
//!
//! ```text
//! wait for a batch, take all others that wait
//! BEGIN IMMEDIATE
//!   for each: SAVEPOINT, apply, RELEASE     one that fails is rolled back alone; without the
//!                                           savepoint where it can fail only before it writes
//!   sign the end of the chain
//! COMMIT                                    flushed
//! tell everybody
//! ```
//!
//! Nobody is told anything before the commit. When the thread is gone, for whatever reason, the
//! batches it had are dropped, and whoever waits for one learns that.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::audit::{Head, Mark};
use crate::keyring::Keyring;
use crate::store::sqlite::apply::{Versions, apply};
use crate::store::sqlite::chain::{self, End};
use crate::store::sqlite::memo::Memo;
use crate::store::sqlite::schema::PATIENCE;
use crate::store::{Batch, CommitError, Committed, StoreError};

/// The most batches in one transaction.
const GROUP: usize = 1_024;

/// How long the next batch waits for a reader that keeps the log from being emptied.
const SCRUB_PATIENCE: Duration = Duration::from_millis(50);

/// How long until that is tried again when there is nothing else to do.
const SCRUB_AGAIN: Duration = Duration::from_millis(250);

type Outcome = Result<Committed, CommitError>;

/// Something for the writer to do.
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) waiter: oneshot::Sender<Outcome>,
}

/// What the thread owns.
pub(super) struct Writer {
    connection: Connection,
    keyring: Arc<Keyring>,
    /// The end of the chain as this thread last signed or checked it.
    known: Option<Mark>,
    /// Whether erased content may still be in the write-ahead log.
    unscrubbed: bool,
    /// What readers have in mind.
    memo: Arc<Memo>,
    /// Changes when another connection has committed, which none of this process does.
    others: i64,
}

impl Writer {
    /// Takes over a connection, if the chain ends as it should.
    pub(super) fn new(
        connection: Connection,
        keyring: Arc<Keyring>,
        memo: Arc<Memo>,
    ) -> Result<Self, StoreError> {
        let others = others(&connection)?;
        let known = chain::trusted_head(&connection, &keyring, None)?;
        // Whoever was killed between an erasure and its scrub left that to us.
        let mut writer = Self { connection, keyring, known, unscrubbed: true, memo, others };
        writer.scrub();
        Ok(writer)
    }

    /// Works until nobody can send any more and everything that was sent is done.
    pub(super) fn run(&mut self, jobs: &Receiver<Job>) {
        while let Some(job) = self.next(jobs) {
            let group = std::iter::once(job).chain(jobs.try_iter().take(GROUP - 1));
            let (batches, waiters): (Vec<_>, Vec<_>) =
                group.map(|Job { batch, waiter }| (batch, waiter)).unzip();
            match self.commit(batches) {
                Ok(outcomes) => {
                    for (waiter, outcome) in waiters.into_iter().zip(outcomes) {
                        // Whoever no longer waits does not need to know.
                        let _ = waiter.send(outcome);
                    }
                }
                Err(error) => {
                    for waiter in waiters {
                        let _ = waiter.send(Err(error.clone().into()));
                    }
                }
            }
        }
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

    /// Commits a group. An error means that none of it may be relied on.
    fn commit(&mut self, mut batches: Vec<Batch>) -> Result<Vec<Outcome>, StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        let done = self.transact(&mut batches).and_then(|done| {
            self.execute("COMMIT")?;
            Ok(done)
        });
        let (outcomes, known) = match done {
            Ok(done) => done,
            Err(error) => {
                // What failed may be on disk all the same.
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
        batches: &mut [Batch],
    ) -> Result<(Vec<Outcome>, Option<Mark>), StoreError> {
        self.notice_others()?;
        // Read again each time: another process may have written since.
        let mark = chain::trusted_head(&self.connection, &self.keyring, self.known.as_ref())?;
        let before = mark.as_ref().map_or_else(Head::genesis, Mark::head);
        let mut head = before;
        let mut outcomes = Vec::with_capacity(batches.len());
        let mut versions = Versions::default();
        for batch in batches {
            outcomes.push(self.apply_alone(batch, &mut versions, &mut head)?);
        }
        if head == before {
            return Ok((outcomes, mark));
        }
        let mark = chain::sign(&self.connection, &self.keyring, End::Head, head)?;
        Ok((outcomes, Some(mark)))
    }

    /// Begins another epoch if another process has written since the last transaction. From here to
    /// the end of this one nobody else can.
    fn notice_others(&mut self) -> Result<(), StoreError> {
        let others = others(&self.connection)?;
        if others != self.others {
            self.memo.forget_all();
            self.others = others;
        }
        Ok(())
    }

    /// Applies one batch so that its failure leaves no trace. The outer error means that the whole
    /// transaction is lost.
    fn apply_alone(
        &self,
        batch: &mut Batch,
        versions: &mut Versions,
        head: &mut Head,
    ) -> Result<Outcome, StoreError> {
        if batch.epoch.is_some_and(|epoch| epoch != self.memo.epoch()) {
            return Ok(Err(CommitError::Outdated));
        }
        if !needs_savepoint(batch) {
            let outcome = apply(&self.connection, &self.keyring, batch, versions, head);
            // What the disk refused halfway cannot be undone alone.
            return match outcome {
                Err(CommitError::Store(error)) => Err(error),
                outcome => Ok(outcome),
            };
        }
        self.execute("SAVEPOINT batch")?;
        let mut moved = *head;
        let outcome = apply(&self.connection, &self.keyring, batch, versions, &mut moved);
        if outcome.is_ok() {
            *head = moved;
        } else {
            // A full disk, say, ends the transaction by itself. To go on would be to commit the
            // next batches one by one, and then to call all of them failed.
            if self.connection.is_autocommit() {
                let reason = outcome.err().map_or_else(String::new, |error| error.to_string());
                return Err(StoreError(format!("the transaction was lost: {reason}")));
            }
            self.execute("ROLLBACK TO batch")?;
        }
        self.execute("RELEASE batch")?;
        Ok(outcome)
    }

    /// Moves everything from the write-ahead log to the database, where erased content is
    /// overwritten, and empties the log. A reader in the middle of something can prevent that;
    /// then it is tried again.
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

/// Whether a condition can fail after something was written. A savepoint keeps a copy of every page
/// that is touched, which costs more than all the rest; most batches count one thing and record one.
fn needs_savepoint(batch: &Batch) -> bool {
    let steps = batch.writes.len() + batch.counts.len() + batch.paces.len();
    steps > 1
}

/// A number that changes with the commits of other connections, and not with our own.
fn others(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use serde_json::json;

    use super::*;
    use crate::audit::{Draft, Event, Subject};
    use crate::clock::Timestamp;
    use crate::store::sqlite::schema;
    use crate::store::{Doc, Kind, Sqlite, Write};
    use crate::testing::{Folder, folder};

    fn keyring() -> Arc<Keyring> {
        Arc::new(Keyring::from_seed(&[5; 32]))
    }

    /// A writer whose connection a test has tampered with.
    fn writer(folder: &Folder, tamper: &str) -> Writer {
        let path = folder.path().join("store.db");
        drop(Sqlite::open(&path, keyring()).unwrap());
        let connection = schema::writer(&path).unwrap();
        connection.execute_batch(tamper).unwrap();
        Writer::new(connection, keyring(), Arc::default()).unwrap()
    }

    fn batch(id: &str, body: &str) -> Batch {
        let doc = Doc {
            kind: Kind::Approval,
            id: id.to_owned(),
            owner: None,
            workspace: None,
            session: None,
            state: "pending".to_owned(),
            due: None,
            body: body.to_owned(),
        };
        let draft = Draft {
            at: Timestamp(1),
            event: Event::Approval,
            subject: Subject::default(),
            payload: json!({}),
            salt: [1; 16],
        };
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
            // Every third one fails, and costs no number.
            let id = if number % 3 == 2 { "0".to_owned() } else { number.to_string() };
            jobs.send(Job { batch: batch(&id, "{}"), waiter }).unwrap();
            answers.push(answer);
        }
        drop(jobs);
        writer.run(&queue);
        let done: Vec<_> = answers
            .into_iter()
            .filter_map(|answer| answer.blocking_recv().unwrap().ok())
            .filter_map(|committed| committed.first_record)
            .collect();
        assert_eq!(done, (1..=687).collect::<Vec<_>>());
        assert_eq!(numbers(&writer.connection, "SELECT number FROM flushes"), [683, 687]);
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
        writer.commit(vec![batch("a", "{}"), batch("bad", "{}"), batch("b", "{}")]).unwrap_err();
        assert_eq!(numbers(&writer.connection, "SELECT count(*) FROM docs"), [0]);
        let done = writer.commit(vec![batch("a", "{}"), batch("b", "{}")]).unwrap();
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        assert_eq!(numbers(&writer.connection, "SELECT number FROM records"), [1, 2]);
    }

    #[test]
    fn a_full_disk_fails_what_does_not_fit() {
        let folder = folder();
        let mut writer = writer(&folder, "");
        writer.commit(vec![batch("a", "{}")]).unwrap();
        let pages = numbers(&writer.connection, "PRAGMA page_count")[0] + 20;
        writer.connection.execute_batch(&format!("PRAGMA max_page_count = {pages}")).unwrap();
        let huge = "x".repeat(1_000_000);
        // Whether the others go with it is up to SQLite. They are told the truth either way.
        let done = writer.commit(vec![batch("b", "{}"), batch("c", &huge), batch("d", "{}")]);
        let there = numbers(&writer.connection, "SELECT count(*) FROM docs")[0];
        match done {
            Ok(done) => {
                assert_eq!(done.iter().filter(|outcome| outcome.is_ok()).count(), 2, "{done:?}");
                assert_eq!(there, 3);
            }
            Err(_) => assert_eq!(there, 1),
        }
        let done = writer.commit(vec![batch("e", "{}")]).unwrap();
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    }
}
