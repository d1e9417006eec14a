//! One batch, inside a transaction of the writer.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::audit::Head;
use crate::clock::Timestamp;
use crate::keyring::Keyring;
use crate::store::sqlite::{chain, signed};
use crate::store::{
    Batch, CommitError, Committed, Count, CountStep, Doc, Kind, Pace, Unchanged, Write,
};

/// The versions that batches of one transaction asked for and none of them has changed. Nearly all of
/// a group rely on the same few documents.
#[derive(Default)]
pub(super) struct Versions(HashMap<Kind, HashMap<String, i64>>);

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

/// Does all of a batch, or fails somewhere in the middle: the caller rolls back. Its records are
/// taken out of it.
///
/// `head` is where the chain ends, before and after.
pub(super) fn apply(
    connection: &Connection,
    keyring: &Keyring,
    batch: &mut Batch,
    versions: &mut Versions,
    head: &mut Head,
) -> Result<Committed, CommitError> {
    for Unchanged { kind, id, version } in &batch.unchanged {
        let found = versions.of(connection, *kind, id)?;
        met(*kind, id, found == signed(*version))?;
    }
    if !batch.writes.is_empty() {
        // Whether it succeeds or is undone.
        *versions = Versions::default();
    }
    for write in &batch.writes {
        apply_write(connection, write)?;
    }
    for count in &batch.counts {
        apply_count(connection, count)?;
    }
    for pace in &batch.paces {
        apply_pace(connection, pace)?;
    }
    let mut committed = Committed::default();
    if let Some(erase) = &batch.erase {
        committed.erased = chain::erase(connection, erase)?;
    }
    if let Some(moment) = batch.cut {
        committed.cut = chain::cut(connection, keyring, moment)?;
    }
    for draft in std::mem::take(&mut batch.records) {
        *head = chain::append(connection, keyring, *head, draft)?;
        committed.first_record.get_or_insert(head.number);
    }
    Ok(committed)
}

fn met(kind: Kind, id: &str, met: bool) -> Result<(), CommitError> {
    if met { Ok(()) } else { Err(CommitError::Conflict { kind, id: id.to_owned() }) }
}

/// 0 when there is no such document.
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
                                         version)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 + 1)
                       ON CONFLICT (kind, id) DO NOTHING";
            met(doc.kind, &doc.id, put(connection, sql, doc, 0)? == 1)
        }
        Write::Replace(doc, version) => {
            let sql = "UPDATE docs SET owner = ?3, workspace = ?4, session = ?5, state = ?6,
                                       due = ?7, body = ?8, version = ?9 + 1
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
    let Doc { kind, id, owner, workspace, session, state, due, body } = doc;
    let (kind, due) = (kind.as_str(), due.map(|due| due.0));
    connection
        .prepare_cached(sql)?
        .execute(params![kind, id, owner, workspace, session, state, due, body, version])
}

/// A counter that stands at 0 has no row.
fn apply_count(connection: &Connection, count: &Count) -> Result<(), CommitError> {
    let Count { key, step } = count;
    match step {
        CountStep::Up { most } => add(connection, key, 1, *most),
        CountStep::Add { by: 0, .. } => Ok(()),
        CountStep::Add { by, most } => add(connection, key, *by, *most),
        CountStep::Down => subtract(connection, key, 1),
        CountStep::Sub { by } => subtract(connection, key, *by),
        CountStep::Forget => forget(connection, key),
    }
}

fn add(connection: &Connection, key: &str, by: u64, most: u64) -> Result<(), CommitError> {
    let counted = connection
        .prepare_cached(
            "INSERT INTO counters (key, value) SELECT ?1, ?3 WHERE ?3 <= ?2
             ON CONFLICT (key) DO UPDATE SET value = value + ?3 WHERE value <= ?2 - ?3",
        )?
        .execute(params![key, signed(most), signed(by)])?;
    if counted == 0 { Err(CommitError::Full { key: key.to_owned(), most }) } else { Ok(()) }
}

fn subtract(connection: &Connection, key: &str, by: u64) -> Result<(), CommitError> {
    let counted = connection
        .prepare_cached("UPDATE counters SET value = value - ?2 WHERE key = ?1 AND value > ?2")?
        .execute(params![key, signed(by)])?;
    if counted == 0 { forget(connection, key) } else { Ok(()) }
}

fn forget(connection: &Connection, key: &str) -> Result<(), CommitError> {
    connection.prepare_cached("DELETE FROM counters WHERE key = ?1")?.execute([key])?;
    Ok(())
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

/// A bucket that is empty is as good as none. With every new one a few of those go, so that the
/// sessions of years do not pile up.
fn sweep(connection: &Connection, now: Timestamp) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "DELETE FROM paces WHERE key IN
                (SELECT key FROM paces WHERE empty_at < ?1 ORDER BY empty_at LIMIT 4)",
        )?
        .execute([now.0])
}
