//! Reads, on read-only connections.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params_from_iter};

use crate::clock::Timestamp;
use crate::record::Record;
use crate::store::sqlite::chain::{self, End, RECORD};
use crate::store::sqlite::{lossy, schema, signed, unsigned};
use crate::store::{Chain, Doc, Kind, Order, Query, RecordQuery, StoreError, Stored};

/// The most concurrent reads.
const READERS: usize = 8;

/// A pool of read-only connections. It is small: opening one reads the whole schema, which costs
/// far more than waiting for another reader, which takes microseconds.
pub(super) struct Readers {
    path: PathBuf,
    pool: Mutex<Pool>,
    freed: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    /// The number of connections, used and idle.
    open: usize,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, pool: Mutex::default(), freed: Condvar::new() }
    }

    /// Reads on a connection of the pool. One that failed is not used again.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let connection = match self.take() {
            Some(connection) => Ok(connection),
            None => schema::reader(&self.path),
        };
        let done = connection.and_then(|connection| Ok((read(&connection)?, connection)));
        let mut pool = self.lock();
        let value = match done {
            Ok((value, connection)) => {
                pool.idle.push(connection);
                Ok(value)
            }
            Err(error) => {
                pool.open -= 1;
                Err(error)
            }
        };
        drop(pool);
        self.freed.notify_one();
        value
    }

    /// Closes the idle connections.
    pub(super) fn close(&self) {
        let mut pool = self.lock();
        pool.open -= pool.idle.len();
        pool.idle.clear();
    }

    /// A free connection, or `None` if another may be opened.
    fn take(&self) -> Option<Connection> {
        let mut pool = self.lock();
        loop {
            if let Some(connection) = pool.idle.pop() {
                return Some(connection);
            }
            if pool.open < READERS {
                pool.open += 1;
                return None;
            }
            pool = self.freed.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn get(
    connection: &Connection,
    kind: Kind,
    id: &str,
) -> rusqlite::Result<Option<Stored>> {
    connection
        .prepare_cached(
            "SELECT id, version, owner, workspace, session, fingerprint, state, due, body FROM docs
             WHERE kind = ?1 AND id = ?2",
        )?
        .query_row([kind.as_str(), id], |row| stored(kind, row))
        .optional()
}

pub(super) fn find(connection: &Connection, query: &Query) -> rusqlite::Result<Vec<Stored>> {
    let search = Search::of(query);
    let sql = format!(
        "SELECT id, version, owner, workspace, session, fingerprint, state, due, body FROM docs
         WHERE rowid IN (SELECT rowid {} ORDER BY id {} LIMIT ?9)",
        search.clause(query),
        direction(query.order)
    );
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    // One snapshot of the database, so that a document whose state changes meanwhile is found once.
    let view = connection.unchecked_transaction()?;
    let mut statement = view.prepare_cached(&sql)?;
    for state in search.states(&view, query)? {
        let rows = statement
            .query_map(parameters(query, state.as_deref(), limit), |row| stored(query.kind, row))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        found.extend(rows);
    }
    found.sort_unstable_by(|one, other| match query.order {
        Order::Oldest => one.doc.id.cmp(&other.doc.id),
        Order::Newest => other.doc.id.cmp(&one.doc.id),
    });
    found.truncate(query.limit);
    Ok(found)
}

pub(super) fn count(connection: &Connection, query: &Query) -> rusqlite::Result<u64> {
    let search = Search::of(query);
    let sql = format!("SELECT count(*) {} LIMIT ?9", search.clause(query));
    let view = connection.unchecked_transaction()?;
    let mut statement = view.prepare_cached(&sql)?;
    let mut count = 0_u64;
    for state in search.states(&view, query)? {
        let parameters = parameters(query, state.as_deref(), -1);
        let more = statement.query_row(parameters, |row| row.get(0))?;
        count = count.saturating_add(unsigned(more));
    }
    Ok(count)
}

pub(super) fn counter(connection: &Connection, key: &str) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT value FROM counters WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
        .map(|value| unsigned(value.unwrap_or(0)))
}

pub(super) fn records(
    connection: &Connection,
    query: &RecordQuery,
) -> rusqlite::Result<Vec<Record>> {
    let RecordQuery { owner, workspace, session, events, from, until, order, after, limit } = query;
    let index = match (session, owner, workspace) {
        (Some(_), _, _) => "INDEXED BY records_by_session",
        (None, Some(_), _) => "INDEXED BY records_by_owner",
        (None, None, Some(_)) => "INDEXED BY records_by_workspace",
        (None, None, None) => "",
    };
    let beyond = match (order, after) {
        (Order::Oldest, _) => "number > ?1",
        (Order::Newest, 0) => "?1 = 0",
        (Order::Newest, _) => "number < ?1",
    };
    let mut sql = format!("SELECT {RECORD} FROM records {index} WHERE {beyond}");
    for (wanted, condition) in [
        (owner.is_some(), " AND owner = ?2"),
        (workspace.is_some(), " AND workspace = ?3"),
        (session.is_some(), " AND session = ?4"),
        (from.is_some(), " AND at >= ?5"),
        (until.is_some(), " AND at < ?6"),
    ] {
        sql.push_str(if wanted { condition } else { "" });
    }
    if !events.is_empty() {
        let numbers = (8..).take(events.len()).map(|number| format!("?{number}"));
        let _ = write!(sql, " AND event IN ({})", numbers.collect::<Vec<_>>().join(", "));
    }
    let _ = write!(sql, " ORDER BY number {} LIMIT ?7", direction(*order));
    let mut parameters = vec![
        Value::Integer(signed(*after)),
        text(owner.as_deref()),
        text(workspace.as_deref()),
        text(session.as_deref()),
        moment(*from),
        moment(*until),
        Value::Integer(i64::try_from(*limit).unwrap_or(i64::MAX)),
    ];
    parameters.extend(events.iter().map(|event| text(Some(event))));
    connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(parameters), chain::record)?
        .collect()
}

pub(super) fn chain(connection: &Connection) -> rusqlite::Result<Chain> {
    let view = connection.unchecked_transaction()?;
    Ok(Chain {
        anchor: chain::end(&view, End::Anchor)?,
        checkpoints: chain::checkpoints(&view)?,
        head: chain::end(&view, End::Head)?,
        stray: chain::stray(&view)?,
    })
}

/// The index for a query.
///
/// Every index but the first begins with the column that is searched, then the state, then the id.
/// So one search per state is ordered by id, and reads no more rows than it returns. The index of
/// due documents has the time before the id, so only that search sorts.
#[derive(Debug, Clone, Copy)]
enum Search {
    Id,
    State,
    Due,
    Owner,
    Workspace,
    Session,
    Fingerprint,
}

impl Search {
    /// The most selective index: a session has few documents, a user more.
    const fn of(query: &Query) -> Self {
        match query {
            Query { fingerprint: Some(_), .. } => Self::Fingerprint,
            Query { session: Some(_), .. } => Self::Session,
            Query { owner: Some(_), .. } => Self::Owner,
            Query { workspace: Some(_), .. } => Self::Workspace,
            Query { due_by: Some(_), .. } => Self::Due,
            Query { states, .. } if !states.is_empty() => Self::State,
            Query { .. } => Self::Id,
        }
    }

    const fn index(self) -> &'static str {
        match self {
            Self::Id => "docs_by_id",
            Self::State => "docs_by_state",
            Self::Due => "docs_by_due",
            Self::Owner => "docs_by_owner",
            Self::Workspace => "docs_by_workspace",
            Self::Session => "docs_by_session",
            Self::Fingerprint => "docs_by_fingerprint",
        }
    }

    fn clause(self, query: &Query) -> String {
        let mut sql = format!("FROM docs INDEXED BY {} WHERE kind = ?1", self.index());
        for (wanted, condition) in [
            (!matches!(self, Self::Id), " AND state = ?2"),
            (query.owner.is_some(), " AND owner = ?3"),
            (query.workspace.is_some(), " AND workspace = ?4"),
            (query.session.is_some(), " AND session = ?5"),
            (query.due_by.is_some(), " AND due <= ?6"),
            (query.fingerprint.is_some(), " AND fingerprint = ?8"),
        ] {
            sql.push_str(if wanted { condition } else { "" });
        }
        sql.push_str(match (&query.after, query.order) {
            (None, Order::Oldest | Order::Newest) => "",
            (Some(_), Order::Oldest) => " AND id > ?7",
            (Some(_), Order::Newest) => " AND id < ?7",
        });
        sql
    }

    /// The states to search one after the other; a single `None` for a search without states.
    fn states(
        self,
        connection: &Connection,
        query: &Query,
    ) -> rusqlite::Result<Vec<Option<String>>> {
        if matches!(self, Self::Id) {
            return Ok(vec![None]);
        }
        let mut states: Vec<_> = query.states.iter().map(|state| (*state).to_owned()).collect();
        if states.is_empty() {
            states = self.all_states(connection, query)?;
        }
        states.sort_unstable();
        states.dedup();
        Ok(states.into_iter().map(Some).collect())
    }

    /// Jumps through the index from one state to the next; there are a dozen at most.
    fn all_states(self, connection: &Connection, query: &Query) -> rusqlite::Result<Vec<String>> {
        let (index, condition) = match self {
            Self::Id | Self::State | Self::Due => (Self::State, ""),
            Self::Owner => (self, "AND owner = ?3"),
            Self::Workspace => (self, "AND workspace = ?4"),
            Self::Session => (self, "AND session = ?5"),
            Self::Fingerprint => (self, "AND fingerprint = ?8"),
        };
        let next = |after: Option<&str>| -> rusqlite::Result<Option<String>> {
            let later = if after.is_some() { "state > ?2" } else { "?2 IS NULL" };
            let sql = format!(
                "SELECT state FROM docs INDEXED BY {} WHERE kind = ?1 {condition} AND {later}
                 ORDER BY state LIMIT ?9",
                index.index()
            );
            connection
                .prepare_cached(&sql)?
                .query_row(parameters(query, after, 1), |row| row.get(0))
                .optional()
        };
        let mut states = Vec::new();
        while let Some(state) = next(states.last().map(String::as_str))? {
            states.push(state);
        }
        Ok(states)
    }
}

/// The values of the numbered parameters in the searches above.
fn parameters(query: &Query, state: Option<&str>, limit: i64) -> impl Params {
    let Query { kind, owner, workspace, session, fingerprint, due_by, after, .. } = query;
    params_from_iter([
        text(Some(kind.as_str())),
        text(state),
        text(owner.as_deref()),
        text(workspace.as_deref()),
        text(session.as_deref()),
        moment(*due_by),
        text(after.as_deref()),
        text(fingerprint.as_deref()),
        Value::Integer(limit),
    ])
}

const fn direction(order: Order) -> &'static str {
    match order {
        Order::Oldest => "ASC",
        Order::Newest => "DESC",
    }
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

fn moment(moment: Option<Timestamp>) -> Value {
    moment.map_or(Value::Null, |moment| Value::Integer(moment.0))
}

fn stored(kind: Kind, row: &Row<'_>) -> rusqlite::Result<Stored> {
    let doc = Doc {
        kind,
        id: lossy(row, "id")?.unwrap_or_default(),
        owner: lossy(row, "owner")?,
        workspace: lossy(row, "workspace")?,
        session: lossy(row, "session")?,
        fingerprint: lossy(row, "fingerprint")?,
        state: lossy(row, "state")?.unwrap_or_default(),
        due: row.get::<_, Option<i64>>("due")?.map(Timestamp),
        body: lossy(row, "body")?.unwrap_or_default(),
    };
    Ok(Stored { doc, version: unsigned(row.get("version")?) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::keyring::Keyring;
    use crate::store::sqlite::Sqlite;
    use crate::testing::folder;

    /// SQLite's query plan.
    fn plan(connection: &Connection, sql: &str, query: &Query) -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement
            .query_map(parameters(query, Some("pending"), 5), |row| row.get::<_, String>("detail"));
        steps.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn no_search_scans() {
        let folder = folder();
        let path = folder.path().join("store.db");
        let _store =
            Sqlite::danger_open_or_begin(&path, Arc::new(Keyring::from_seed(&[5; 32]))).unwrap();
        let connection = schema::reader(&path).unwrap();
        for bits in 0_u32..256 {
            let some = |bit: u32| (bits >> bit & 1 == 1).then(|| "x".to_owned());
            let query = Query {
                owner: some(0),
                workspace: some(1),
                session: some(2),
                states: some(3).map_or(Vec::new(), |_| vec!["pending"]),
                due_by: some(4).map(|_| Timestamp(1)),
                after: some(5),
                fingerprint: some(6),
                order: if bits < 128 { Order::Oldest } else { Order::Newest },
                ..Query::of(Kind::Approval)
            };
            let search = Search::of(&query);
            let sql = format!(
                "SELECT rowid {} ORDER BY id {} LIMIT ?9",
                search.clause(&query),
                direction(query.order)
            );
            let plan = plan(&connection, &sql, &query);
            let expected = format!("SEARCH docs USING COVERING INDEX {} (kind=?", search.index());
            let filtered = expected.replace("COVERING ", "");
            assert!(plan.starts_with(&expected) || plan.starts_with(&filtered), "{sql}: {plan}");
            // Only due documents have to be sorted: their index is ordered by time.
            let sorted = plan.contains("TEMP B-TREE");
            assert_eq!(sorted, matches!(search, Search::Due), "{sql}: {plan}");
            if (bits % 128).count_ones() <= 1 {
                assert!(plan.starts_with(&expected), "{sql}: {plan}");
            }
        }
    }
}
