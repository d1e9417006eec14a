//! The batches of one transaction of the writer.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, params};

use crate::clock::Timestamp;
use crate::keyring::Keyring;
use crate::record::{Head, Numbers};
use crate::store::sqlite::counters::Counters;
use crate::store::sqlite::{chain, signed};
use crate::store::{Batch, CommitError, Committed, Doc, Kind, Pace, StoreError, Unchanged, Write};

/// The batches of one transaction, one after another.
pub(super) struct Group<'c> {
    connection: &'c Connection,
    keyring: &'c Keyring,
    versions: Versions,
    counters: Counters,
    appending: CachedStatement<'c>,
    /// The end of the chain.
    head: Head,
}

impl<'c> Group<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        keyring: &'c Keyring,
        head: Head,
    ) -> rusqlite::Result<Self> {
        let (versions, counters) = (Versions::default(), Counters::default());
        let appending = chain::appending(connection)?;
        Ok(Self { connection, keyring, versions, counters, appending, head })
    }

    /// Applies one batch so that its failure leaves no trace. The outer error means that the whole
    /// transaction is lost.
    pub(super) fn add(
        &mut self,
        batch: &Batch,
    ) -> Result<Result<Committed, CommitError>, StoreError> {
        if !needs_savepoint(batch) {
            // A batch that fails halfway with a disk error cannot be undone alone.
            return match self.apply(batch) {
                Err(CommitError::Store(error)) => Err(error),
                outcome => Ok(self.settled(outcome)),
            };
        }
        self.execute("SAVEPOINT batch")?;
        let before = self.head;
        let outcome = self.apply(batch);
        if let Err(reason) = &outcome {
            self.head = before;
            // A full disk, for example, makes SQLite end the transaction by itself. Going on would
            // commit the next batches one by one, and then report all of them as failed.
            if self.connection.is_autocommit() {
                return Err(StoreError(format!("the transaction was lost: {reason}")));
            }
            self.execute("ROLLBACK TO batch")?;
        }
        self.execute("RELEASE batch")?;
        Ok(self.settled(outcome))
    }

    /// Ends the group: writes the counters, and returns the end of the chain.
    pub(super) fn finish(self) -> rusqlite::Result<Head> {
        self.counters.write(self.connection)?;
        Ok(self.head)
    }

    fn settled<T, E>(&mut self, outcome: Result<T, E>) -> Result<T, E> {
        match &outcome {
            Ok(_) => self.counters.keep(),
            Err(_) => self.counters.undo(),
        }
        outcome
    }

    /// Applies a batch, or fails somewhere in the middle: the caller rolls back.
    fn apply(&mut self, batch: &Batch) -> Result<Committed, CommitError> {
        let connection = self.connection;
        for Unchanged { kind, id, version } in &batch.unchanged {
            let found = self.versions.of(connection, *kind, id)?;
            met(*kind, id, found == signed(*version))?;
        }
        if !batch.writes.is_empty() {
            // The cached versions are dropped in either case.
            self.versions = Versions::default();
        }
        for write in &batch.writes {
            apply_write(connection, write)?;
        }
        for count in &batch.counts {
            self.counters.step(connection, count)?;
        }
        for pace in &batch.paces {
            apply_pace(connection, pace)?;
        }
        let mut committed = Committed::default();
        let mut erased = Numbers::default();
        if let Some(erase) = &batch.erase {
            erased = chain::erase(connection, erase)?;
            committed.erased = erased.count();
        }
        if let Some(moment) = batch.cut {
            committed.cut = chain::cut(connection, self.keyring, moment, &erased)?;
        }
        for draft in &batch.records {
            self.head =
                chain::append(connection, &mut self.appending, self.keyring, self.head, draft)?;
            committed.first_record.get_or_insert(self.head.number);
        }
        for draft in batch.erase.iter().flat_map(|erase| erase.records(&erased)) {
            self.head =
                chain::append(connection, &mut self.appending, self.keyring, self.head, &draft)?;
        }
        Ok(committed)
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }
}

/// Reports whether a condition can fail after something was written. A savepoint keeps a copy of
/// every page that is touched, which costs more than all the rest; most batches change one counter
/// and append one record, and counters are not written before the end.
fn needs_savepoint(batch: &Batch) -> bool {
    let (writes, paces) = (batch.writes.len(), batch.paces.len());
    let takes_away = batch.erase.is_some() || batch.cut.is_some();
    takes_away || writes > 1 || paces > 1 || writes == 1 && (paces == 1 || !batch.counts.is_empty())
}

/// The versions that batches of one transaction asked for and none of them has changed. Nearly all
/// batches of a group rely on the same few documents.
#[derive(Default)]
struct Versions(HashMap<Kind, HashMap<String, i64>>);

impl Versions {
    fn of(&mut self, connection: &Connection, kind: Kind, id: &str) -> rusqlite::Result<i64> {
        let known = self.0.entry(kind).or_default();
        if let Some(version) = known.get(id) {
            return Ok(*version);
        }
        let version = version_of(connection, kind, id)?;
        known.insert(id.to_owned(), version);
        Ok(version)
    }
}

fn met(kind: Kind, id: &str, met: bool) -> Result<(), CommitError> {
    if met { Ok(()) } else { Err(CommitError::Conflict { kind, id: id.to_owned() }) }
}

/// The version of a document; 0 if it does not exist.
fn version_of(connection: &Connection, kind: Kind, id: &str) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT version FROM docs WHERE kind = ?1 AND id = ?2")?
        .query_row([kind.as_str(), id], |row| row.get(0))
        .optional()
        .map(Option::unwrap_or_default)
}

fn apply_write(connection: &Connection, write: &Write) -> Result<(), CommitError> {
    match write {
        Write::Insert(doc) => {
            let sql = "INSERT INTO docs (kind, id, owner, workspace, session, state, due, body,
                                         version, fingerprint)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 + 1, ?10)
                       ON CONFLICT (kind, id) DO NOTHING";
            met(doc.kind, &doc.id, put(connection, sql, doc, 0)? == 1)
        }
        Write::Replace(doc, version) => {
            let sql = "UPDATE docs SET owner = ?3, workspace = ?4, session = ?5, state = ?6,
                                       due = ?7, body = ?8, version = ?9 + 1,
                                       fingerprint = ?10
                       WHERE kind = ?1 AND id = ?2 AND version = ?9";
            met(doc.kind, &doc.id, put(connection, sql, doc, signed(*version))? == 1)
        }
        Write::Delete(Unchanged { kind, id, version }) => {
            let deleted = connection
                .prepare_cached("DELETE FROM docs WHERE kind = ?1 AND id = ?2 AND version = ?3")?
                .execute(params![kind.as_str(), id, signed(*version)])?;
            met(*kind, id, deleted == 1)
        }
    }
}

fn put(connection: &Connection, sql: &str, doc: &Doc, version: i64) -> rusqlite::Result<usize> {
    let Doc { kind, id, owner, workspace, session, fingerprint, state, due, body } = doc;
    let (kind, due) = (kind.as_str(), due.map(|due| due.0));
    connection.prepare_cached(sql)?.execute(params![
        kind,
        id,
        owner,
        workspace,
        session,
        state,
        due,
        body,
        version,
        fingerprint
    ])
}

fn apply_pace(connection: &Connection, pace: &Pace) -> Result<(), CommitError> {
    let Pace { key, rate, now } = pace;
    let empty_at = connection
        .prepare_cached("SELECT empty_at FROM paces WHERE key = ?1")?
        .query_row([key], |row| row.get(0).map(Timestamp))
        .optional()?;
    let next = rate
        .take(empty_at, *now)
        .map_err(|wait| CommitError::TooFast { key: key.clone(), wait })?;
    if empty_at.is_none() {
        sweep(connection, *now)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO paces (key, empty_at) VALUES (?1, ?2)
             ON CONFLICT (key) DO UPDATE SET empty_at = excluded.empty_at",
        )?
        .execute(params![key, next.0])?;
    Ok(())
}

/// Deletes a few empty buckets, which equal missing ones. Called with every new one, so that old
/// buckets do not accumulate.
fn sweep(connection: &Connection, now: Timestamp) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "DELETE FROM paces WHERE key IN
                (SELECT key FROM paces WHERE empty_at < ?1 ORDER BY empty_at LIMIT 4)",
        )?
        .execute([now.0])
}
