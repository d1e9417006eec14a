//! The schema of the database, and the setup of a connection.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::store::StoreError;
use crate::store::sqlite::signed;

/// The application id that marks a file as ours: "Csgn".
const APPLICATION: i32 = 0x4373_676e;

/// The time for which one process waits for another's lock.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The steps from an empty database to today's. What was released is never changed, only followed.
///
/// INVARIANT: the tables of the record are as they were in the first: [`check`] lets older layouts be
/// read.
const MIGRATIONS: &[&str] = &[FIRST, FINGERPRINTS];

/// INVARIANT: `find` in `read.rs` names these indexes, so that a search that would need a full scan
/// fails in a test instead of slowing a server down.
const FIRST: &str = "
CREATE TABLE docs (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    owner TEXT,
    workspace TEXT,
    session TEXT,
    state TEXT NOT NULL,
    due INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX docs_by_id ON docs (kind, id);
CREATE INDEX docs_by_state ON docs (kind, state, id);
CREATE INDEX docs_by_due ON docs (kind, state, due, id) WHERE due IS NOT NULL;
CREATE INDEX docs_by_owner ON docs (kind, owner, state, id) WHERE owner IS NOT NULL;
CREATE INDEX docs_by_workspace ON docs (kind, workspace, state, id) WHERE workspace IS NOT NULL;
CREATE INDEX docs_by_session ON docs (kind, session, state, id) WHERE session IS NOT NULL;

CREATE TABLE counters (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE paces (key TEXT PRIMARY KEY, empty_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX paces_by_empty_at ON paces (empty_at);

CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    digest BLOB NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL,
    owner TEXT,
    workspace TEXT,
    session TEXT,
    payload TEXT,
    salt BLOB
) STRICT;
CREATE INDEX records_by_owner ON records (owner) WHERE owner IS NOT NULL;
CREATE INDEX records_by_workspace ON records (workspace) WHERE workspace IS NOT NULL;
CREATE INDEX records_by_session ON records (session) WHERE session IS NOT NULL;

CREATE TABLE ends (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    hash BLOB NOT NULL,
    at INTEGER NOT NULL,
    signature BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoints (
    number INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    at INTEGER NOT NULL,
    signature BLOB NOT NULL
) STRICT;
";

/// What a question is about, so that asking once more finds it among all that wait. A row whose body
/// somebody else wrote may not be JSON.
const FINGERPRINTS: &str = "
ALTER TABLE docs ADD COLUMN fingerprint TEXT;
UPDATE docs SET fingerprint = json_extract(body, '$.request.fingerprint')
    WHERE kind = 'approval' AND state IN ('pending', 'approved') AND json_valid(body);
CREATE INDEX docs_by_fingerprint ON docs (kind, fingerprint, state, id)
    WHERE fingerprint IS NOT NULL;
";

/// Connects to write, and brings the layout up to date.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(path, flags)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get("journal_mode"))?;
    if mode != "wal" {
        return Err(StoreError(format!("the file system allows no write-ahead log, only {mode}")));
    }
    // FULL: a commit is flushed before it returns. On macOS a plain flush stops at the drive's
    // cache. Deleted content is overwritten: an erasure must not leave it in free pages. A page
    // that many batches touch is moved from the log (16 MB) to the database once for all of them.
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA secure_delete = ON;
         PRAGMA wal_autocheckpoint = 4096;
         PRAGMA cache_size = -16384;",
    )?;
    migrate(&mut connection, MIGRATIONS)?;
    Ok(connection)
}

/// Opens a read-only connection. Another process may be writing meanwhile.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    connect(path, flags)
}

/// Checks that the schema is current: a reader cannot migrate it.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    let missing = missing(connection, MIGRATIONS)?;
    if missing.len() < MIGRATIONS.len() {
        Ok(())
    } else {
        Err(StoreError("the database is empty: start the server once".to_owned()))
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(128);
    // Sort and rollback data stay in memory: no temporary file contains content.
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;")?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<(), StoreError> {
    // If two processes start at once, the second waits here and finds nothing missing.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let missing = missing(&transaction, migrations)?;
    if !missing.is_empty() {
        for migration in missing {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "user_version", signed(migrations.len() as u64))?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    transaction.commit()?;
    Ok(())
}

/// The migrations that a database lacks.
fn missing<'a>(
    connection: &Connection,
    migrations: &'a [&'a str],
) -> Result<&'a [&'a str], StoreError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (version, application) = (pragma("user_version")?, pragma("application_id")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (version != 0 || tables != 0) {
        return Err(StoreError("the file is a database, but not one of Countersign's".to_owned()));
    }
    usize::try_from(version).ok().and_then(|version| migrations.get(version..)).ok_or_else(|| {
        let known = migrations.len();
        StoreError(format!(
            "the database has layout {version} and this program knows only {known}: it was used by a newer version"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    #[test]
    fn migrations_run_once_each_and_in_order() {
        let mut connection = empty();
        migrate(&mut connection, &["CREATE TABLE a (x)"]).unwrap();
        migrate(&mut connection, &["CREATE TABLE a (x)", "ALTER TABLE a ADD y"]).unwrap();
        migrate(&mut connection, &["CREATE TABLE a (x)", "ALTER TABLE a ADD y"]).unwrap();
        connection.execute("INSERT INTO a (x, y) VALUES (1, 2)", []).unwrap();
    }

    #[test]
    fn a_failing_migration_leaves_the_database_as_it_was() {
        let mut connection = empty();
        migrate(&mut connection, &["CREATE TABLE a (x)"]).unwrap();
        let broken = ["CREATE TABLE a (x)", "CREATE TABLE b (x); CREATE TABLE a (x)"];
        migrate(&mut connection, &broken).unwrap_err();
        assert_eq!(missing(&connection, &["1", "2"]).unwrap(), ["2"]);
        connection.execute("CREATE TABLE b (x)", []).unwrap();
    }

    #[test]
    fn a_database_of_a_newer_version_is_refused() {
        let mut connection = empty();
        migrate(&mut connection, &["CREATE TABLE a (x)", "CREATE TABLE b (x)"]).unwrap();
        let error = migrate(&mut connection, &["CREATE TABLE a (x)"]).unwrap_err();
        assert!(error.0.contains("newer version"), "{error}");
    }

    #[test]
    fn an_older_layout_can_be_read_and_an_empty_one_cannot() {
        for known in 1..=MIGRATIONS.len() {
            let mut connection = empty();
            assert!(check(&connection).is_err());
            migrate(&mut connection, &MIGRATIONS[..known]).unwrap();
            check(&connection).unwrap();
            let chain = crate::store::sqlite::read::chain(&connection).unwrap();
            assert_eq!(chain.head, None);
        }
    }

    #[test]
    fn somebody_elses_database_is_refused() {
        let mut connection = empty();
        connection.execute("CREATE TABLE theirs (x)", []).unwrap();
        let error = migrate(&mut connection, MIGRATIONS).unwrap_err();
        assert!(error.0.contains("not one of"), "{error}");
    }
}
