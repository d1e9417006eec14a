//! The store in one SQLite file: the default, which needs no setup.
//!
//! One thread writes (`writer.rs`). Reads run on the calling thread, on read-only connections
//! (`read.rs`), and see everything that was committed before. Another process may read and even
//! write the same file meanwhile.
//!
//! A batch is on disk when [`Store::commit`] returns. Dropping its future does not undo the batch.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::keyring::Keyring;
use crate::record::Record;
use crate::store::{
    Batch, BoxFuture, CachedDoc, Chain, CommitError, Committed, Epoch, Kind, Noted, Query,
    RecordQuery, Store, StoreError, Stored,
};

mod anew;
mod apply;
mod chain;
mod copy;
mod counters;
mod memo;
mod noted;
mod read;
mod schema;
mod writer;

use memo::Memo;
use noted::Note;
use read::Readers;
use writer::{Done, Job, Writer};

/// A store in one file.
pub(crate) struct Sqlite {
    path: PathBuf,
    readers: Readers,
    memo: Arc<Memo>,
    /// The writing thread; `None` for a read-only store.
    writer: Option<Thread>,
}

struct Thread {
    jobs: Sender<Job>,
    handle: JoinHandle<()>,
}

impl Sqlite {
    /// The name of the file in a data folder.
    pub(crate) const FILE: &'static str = "gate.db";

    /// Notes, signed, that the database in a file is yet to be created. Called once, with a new
    /// key: without this note a missing database is taken for a deleted one.
    ///
    /// # Errors
    /// The note or its folder cannot be written.
    pub(crate) fn begin(path: &Path, keyring: &Keyring) -> Result<(), StoreError> {
        make_folder(path).map_err(|cause| unusable(path, &cause))?;
        Note::begin(noted::path(path), keyring).map(drop)
    }

    /// Opens the store in a file, or begins one, without asking whether the key is new: an emptied
    /// folder is taken for a new one. For keys that are not kept in a data folder, as in tests.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub(crate) fn danger_open_or_begin(
        path: &Path,
        keyring: Arc<Keyring>,
    ) -> Result<Self, StoreError> {
        if !Self::was_used(path).map_err(|cause| unusable(path, &cause))? {
            Self::begin(path, &keyring)?;
        }
        Self::open(path, keyring)
    }

    /// Opens the store in a file, or creates one that only its owner may read if it was begun.
    ///
    /// # Errors
    /// The file cannot be created or used, is not ours, was written by a newer version, is gone, or
    /// its audit chain does not end at the signed end, or is shorter than the note.
    pub(crate) fn open(path: &Path, keyring: Arc<Keyring>) -> Result<Self, StoreError> {
        let unusable = |cause: &dyn fmt::Display| unusable(path, cause);
        make_folder(path).map_err(|cause| unusable(&cause))?;
        // Before the database is created: an existing database without a note has lost it.
        let note = Note::open(path, &keyring)?;
        make_private(path).map_err(|cause| unusable(&cause))?;
        let memo = Arc::new(Memo::default());
        let mut writer = schema::writer(path)
            .and_then(|connection| Writer::new(connection, keyring, Arc::clone(&memo), note))
            .map_err(|error| unusable(&error.0))?;
        let (jobs, queue) = channel();
        let handle = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(|cause| StoreError(format!("cannot start a thread: {cause}")))?;
        let writer = Some(Thread { jobs, handle });
        let readers = Readers::new(path.to_owned());
        Ok(Self { path: path.to_owned(), readers, memo, writer })
    }

    /// Opens a store that another process may be using, for reading only.
    ///
    /// # Errors
    /// It does not exist, or has another version.
    pub(crate) fn read_only(path: &Path) -> Result<Self, StoreError> {
        let readers = Readers::new(path.to_owned());
        readers
            .read(|connection| Ok(schema::check(connection)))
            .flatten()
            .map_err(|error| unusable(path, &error.0))?;
        Ok(Self { path: path.to_owned(), readers, memo: Arc::default(), writer: None })
    }

    /// The file with the note of the minimum length of a database's chain.
    #[must_use]
    pub(crate) fn note_of(path: &Path) -> PathBuf {
        noted::path(path)
    }

    /// Reports whether a database exists or once had records, as far as its note says.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn was_used(path: &Path) -> io::Result<bool> {
        Ok(path.try_exists()?
            || match noted::read(path) {
                Noted::Missing | Noted::NotKept => false,
                Noted::At(checkpoint) => checkpoint.number > 0,
                Noted::Unreadable => true,
            })
    }

    async fn submit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let Some(Thread { jobs, .. }) = &self.writer else {
            return Err(StoreError("it was opened for reading only".to_owned()).into());
        };
        let (waiter, answer) = oneshot::channel();
        jobs.send(Job { batch, waiter }).map_err(|_| gone())?;
        let Done { outcome, .. } = answer.await.map_err(|_| gone())?;
        outcome
    }

    fn recalled_doc(&self, kind: Kind, id: &str) -> Result<Option<Arc<CachedDoc>>, StoreError> {
        let begun = match self.memo.doc(kind, id) {
            Ok(known) => return Ok(known),
            Err(begun) => begun,
        };
        let stored = self.readers.read(|connection| read::get(connection, kind, id))?;
        let kept = stored.map(|stored| Arc::new(CachedDoc::new(stored)));
        // Without a writer, changes of other processes would not be noticed.
        if self.writer.is_some() {
            self.memo.keep_doc(begun, kind, id, kept.as_ref());
        }
        Ok(kept)
    }

    fn recalled_count(&self, key: &str) -> Result<u64, StoreError> {
        let begun = match self.memo.counter(key) {
            Ok(known) => return Ok(known),
            Err(begun) => begun,
        };
        let value = self.readers.read(|connection| read::counter(connection, key))?;
        if self.writer.is_some() {
            self.memo.keep_counter(begun, key, value);
        }
        Ok(value)
    }
}

impl Store for Sqlite {
    #[cfg(unix)]
    fn room(&self) -> Result<Option<u64>, StoreError> {
        use rustix::fs::{StatVfsMountFlags, statvfs};
        let disk = statvfs(&self.path).map_err(|cause| unusable(&self.path, &cause))?;
        if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(unusable(&self.path, &"the disk may only be read"));
        }
        Ok(Some(disk.f_bavail.saturating_mul(disk.f_frsize)))
    }

    fn size(&self) -> Option<u64> {
        let length = |path: &Path| fs::metadata(path).map(|file| file.len());
        let log = length(&self.path.with_extension("db-wal")).unwrap_or_default();
        Some(length(&self.path).ok()?.saturating_add(log))
    }

    fn get<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        Box::pin(async move { self.readers.read(|connection| read::get(connection, kind, id)) })
    }

    fn find<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>> {
        Box::pin(async move { self.readers.read(|connection| read::find(connection, query)) })
    }

    fn count<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { self.readers.read(|connection| read::count(connection, query)) })
    }

    fn counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { self.readers.read(|connection| read::counter(connection, key)) })
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        Box::pin(self.submit(batch))
    }

    fn records<'a>(
        &'a self,
        query: &'a RecordQuery,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move { self.readers.read(|connection| read::records(connection, query)) })
    }

    fn chain(&self) -> BoxFuture<'_, Result<Chain, StoreError>> {
        Box::pin(async move { self.readers.read(read::chain) })
    }

    fn noted(&self) -> Noted {
        noted::read(&self.path)
    }

    fn get_cached<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<CachedDoc>>, StoreError>> {
        Box::pin(async move { self.recalled_doc(kind, id) })
    }

    fn get_cached_counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { self.recalled_count(key) })
    }

    fn cached(&self, kind: Kind, id: &str) -> Option<Option<Arc<CachedDoc>>> {
        self.memo.doc(kind, id).ok()
    }

    fn cached_counter(&self, key: &str) -> Option<u64> {
        self.memo.counter(key).ok()
    }

    fn epoch(&self) -> Epoch {
        self.memo.epoch()
    }
}

impl Drop for Sqlite {
    /// Finishes the batches that were sent. The writer closes last, because only a connection that
    /// can write removes the write-ahead log.
    fn drop(&mut self) {
        self.readers.close();
        if let Some(Thread { jobs, handle }) = self.writer.take() {
            drop(jobs);
            // If the thread panicked, the waiters learned it from their dropped batches.
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

/// SQLite's messages name tables and files, never their content.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<rusqlite::Error> for CommitError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

fn unusable(path: &Path, cause: &dyn fmt::Display) -> StoreError {
    StoreError(format!("cannot use `{}`: {cause}", path.display()))
}

fn gone() -> StoreError {
    StoreError("its writer has stopped".to_owned())
}

/// Converts to SQLite's signed integers. No version, number or counter gets that large.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A text in a row. Somebody else may have written bytes there that are not valid UTF-8.
fn lossy(row: &rusqlite::Row<'_>, name: &str) -> rusqlite::Result<Option<String>> {
    let bytes = row.get_ref(name)?.as_bytes_or_null()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// Creates the folder of a file, for its owner alone.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folder_of(path).map_or(Ok(()), |folder| folders.create(folder))
}

fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

/// Creates the file before SQLite does, so that nobody else can ever read it. SQLite gives its log
/// the same mode.
fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // The directory entry has to survive a power failure too.
        Ok(file) => {
            file.sync_all()?;
            sync_folder(folder_of(path).unwrap_or(Path::new(".")))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close_to_others(path),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn close_to_others(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path)?.permissions().mode() & 0o777;
    let private = mode & 0o700;
    if mode == private {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(private))
}

#[cfg(not(unix))]
fn close_to_others(path: &Path) -> io::Result<()> {
    fs::metadata(path).map(|_| ())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use pollster::block_on;
    use rusqlite::Connection;
    use serde_json::json;

    use super::*;
    use crate::audit::{self, Verifier};
    use crate::clock::Timestamp;
    use crate::record::{Draft, Event, RecordOwner};
    use crate::store::{Doc, Erase, Write};
    use crate::testing::{Folder, folder};

    const NAME: &str = "store.db";
    const NOTE: &str = "store.noted";

    fn keyring() -> Arc<Keyring> {
        Arc::new(Keyring::from_seed(&[5; 32]))
    }

    fn open(folder: &Folder) -> Sqlite {
        Sqlite::danger_open_or_begin(&folder.path().join(NAME), keyring()).unwrap()
    }

    /// Runs SQL on a connection of its own, bypassing the store.
    fn meddle(folder: &Folder, sql: &str) {
        Connection::open(folder.path().join(NAME)).unwrap().execute_batch(sql).unwrap();
    }

    fn doc(id: &str) -> Doc {
        Doc {
            kind: Kind::Approval,
            id: id.to_owned(),
            owner: Some("ann".to_owned()),
            workspace: None,
            session: None,
            fingerprint: None,
            state: "pending".to_owned(),
            due: None,
            body: "{}".to_owned(),
        }
    }

    fn batch(id: &str, note: &str) -> Batch {
        batch_about(
            id,
            note,
            RecordOwner { owner: Some("ann".to_owned()), ..RecordOwner::default() },
        )
    }

    fn batch_about(id: &str, note: &str, record_owner: RecordOwner) -> Batch {
        let payload = json!({ "note": note }).to_string();
        let draft = Draft::new(Timestamp(1), Event::Approval, record_owner, payload, [1; 16]);
        Batch { writes: vec![Write::Insert(doc(id))], records: vec![draft], ..Batch::default() }
    }

    fn commit(store: &Sqlite, batch: Batch) -> Result<Committed, CommitError> {
        block_on(store.commit(batch))
    }

    fn verify(store: &Sqlite) -> u64 {
        let mut verifier = Verifier::new(block_on(store.chain()).unwrap(), keyring().public());
        let query = RecordQuery { limit: 10_000, ..RecordQuery::default() };
        for record in block_on(store.records(&query)).unwrap() {
            verifier.next(&record);
        }
        let report = verifier.finish();
        assert_eq!(report.damage, []);
        report.end
    }

    fn files(folder: &Folder) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_was_committed_is_there_when_it_is_opened_again() {
        let folder = folder();
        for round in 0..3_u64 {
            let store = open(&folder);
            assert_eq!(block_on(store.count(&Query::of(Kind::Approval))), Ok(round));
            let committed = commit(&store, batch(&round.to_string(), "")).unwrap();
            assert_eq!(committed.first_record, Some(round + 1));
            assert_eq!(verify(&store), round + 1);
            drop(store);
            assert_eq!(files(&folder), [NAME, NOTE]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_its_files() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = folder();
        let path = folder.path().join("new").join(NAME);
        let store = Sqlite::danger_open_or_begin(&path, keyring()).unwrap();
        commit(&store, batch("a", "")).unwrap();
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        for suffix in ["", "-wal", "-shm"] {
            let path = path.with_file_name(format!("{NAME}{suffix}"));
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
        drop(store);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        drop(Sqlite::danger_open_or_begin(&path, keyring()).unwrap());
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn another_process_reads_while_it_runs_and_after_but_never_writes() {
        let folder = folder();
        let path = folder.path().join(NAME);
        assert!(Sqlite::read_only(&path).is_err());
        assert_eq!(files(&folder), [""; 0]);
        let store = open(&folder);
        let reader = Sqlite::read_only(&path).unwrap();
        commit(&store, batch("a", "")).unwrap();
        assert!(block_on(reader.get(Kind::Approval, "a")).unwrap().is_some());
        assert_eq!(verify(&reader), 1);
        assert!(matches!(commit(&reader, batch("b", "")), Err(CommitError::Store(_))));
        commit(&store, batch("b", "")).unwrap();
        assert_eq!(block_on(reader.count(&Query::of(Kind::Approval))), Ok(2));
        drop((reader, store));
        let reader = Sqlite::read_only(&path).unwrap();
        assert_eq!(verify(&reader), 2);
    }

    #[test]
    fn two_that_write_the_same_file_extend_one_chain() {
        let folder = folder();
        let stores = [open(&folder), open(&folder)];
        thread::scope(|scope| {
            for (number, store) in stores.iter().enumerate() {
                scope.spawn(move || {
                    for round in 0..20 {
                        commit(store, batch(&format!("{number}-{round}"), "")).unwrap();
                    }
                });
            }
        });
        assert_eq!(stores.each_ref().map(verify), [40, 40]);
    }

    #[test]
    fn whoever_waits_for_a_writer_that_dies_is_told() {
        let folder = folder();
        let mut store = open(&folder);
        let (jobs, queue) = channel::<Job>();
        let handle = thread::spawn(move || {
            let _job = queue.recv();
            panic!("on purpose");
        });
        store.writer = Some(Thread { jobs, handle });
        for _ in 0..3 {
            let gone = commit(&store, batch("a", ""));
            assert_eq!(gone, Err(CommitError::Store(super::gone())));
        }
        assert_eq!(block_on(store.get(Kind::Approval, "a")), Ok(None));
    }

    #[test]
    fn what_was_sent_is_finished_before_it_closes() {
        let folder = folder();
        let store = open(&folder);
        for number in 0..50 {
            let mut soon = store.commit(batch(&number.to_string(), ""));
            let _: Poll<_> = soon.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        drop(store);
        let store = open(&folder);
        assert_eq!(block_on(store.count(&Query::of(Kind::Approval))), Ok(50));
        assert_eq!(verify(&store), 50);
    }

    #[test]
    fn erased_content_is_in_no_file() {
        let folder = folder();
        let store = open(&folder);
        let canary =
            |number: usize| format!("canary{number:04}{}", "x".repeat(number * 37 % 9_000));
        let about = |number: usize| {
            let name = |what| Some(format!("canary {what} {}", number % 40));
            let [owner, workspace, session] = ["owner", "workspace", "session"].map(name);
            let record_owner = RecordOwner { owner, workspace, session };
            batch_about(&number.to_string(), &canary(number), record_owner)
        };
        for number in 0..400 {
            commit(&store, about(number)).unwrap();
        }
        let found = || {
            let holds = |name: &String| {
                let bytes = fs::read(folder.path().join(name)).unwrap();
                bytes.windows(6).filter(|window| *window == b"canary").count()
            };
            files(&folder).iter().map(holds).sum::<usize>()
        };
        assert!(found() >= 400);
        for number in 0..40 {
            let owner = Some(format!("canary owner {number}"));
            let erase = Some(Erase { owner, by: "test".to_owned(), ..Erase::default() });
            let done = commit(&store, Batch { erase, ..Batch::default() }).unwrap();
            assert_eq!(done.erased, 10);
        }
        assert_eq!(found(), 0);
        for number in 400..800 {
            commit(&store, about(number)).unwrap();
        }
        let records = batch("last", "").records.into_iter();
        let records = records.map(|draft| Draft { at: Timestamp(9), ..draft }).collect();
        commit(&store, Batch { records, ..Batch::default() }).unwrap();
        let cut = Some(Timestamp(9));
        // Including the records of forty erasures.
        assert_eq!(commit(&store, Batch { cut, ..Batch::default() }).unwrap().cut, 840);
        assert_eq!(found(), 0);
        assert_eq!(verify(&store), 841);
    }

    #[test]
    fn neither_erasure_nor_a_cut_takes_damage_away() {
        for damage in [
            "UPDATE records SET payload = payload || ' ' WHERE number = 2",
            "UPDATE records SET workspace = 'x' WHERE number = 2",
            "UPDATE records SET salt = x'00' WHERE number = 2",
            "UPDATE records SET salt = NULL WHERE number = 2",
            "UPDATE records SET owner = NULL, payload = NULL, salt = NULL WHERE number = 2",
            "DELETE FROM records WHERE number = 2",
        ] {
            let folder = folder();
            let store = open(&folder);
            for number in 0..5 {
                commit(&store, batch(&number.to_string(), "")).unwrap();
            }
            meddle(&folder, damage);
            let owner = Some("ann".to_owned());
            let erase = Some(Erase { owner, by: "test".to_owned(), ..Erase::default() });
            let erased = commit(&store, Batch { erase, ..Batch::default() });
            let cut = commit(&store, Batch { cut: Some(Timestamp(9)), ..Batch::default() });
            assert!(matches!(cut, Err(CommitError::Store(_))), "{damage}: {cut:?}");
            let key = keyring().public();
            let report = block_on(audit::check(&store, &key, &[], &mut |_| {})).unwrap();
            assert!(!report.damage.is_empty(), "{damage}: {erased:?}");
        }
    }

    #[test]
    fn an_older_copy_is_refused_also_while_it_runs() {
        let folder = folder();
        let store = open(&folder);
        commit(&store, batch("a", "")).unwrap();
        let older = folder.path().join("older.db");
        meddle(&folder, &format!("VACUUM INTO '{}'", older.display()));
        commit(&store, batch("b", "")).unwrap();
        let restore = format!(
            "ATTACH '{}' AS older;
             DELETE FROM main.records; INSERT INTO main.records SELECT * FROM older.records;
             DELETE FROM main.ends; INSERT INTO main.ends SELECT * FROM older.ends;",
            older.display()
        );
        meddle(&folder, &restore);
        assert!(matches!(commit(&store, batch("c", "")), Err(CommitError::Store(_))));
    }

    #[test]
    fn a_chain_that_was_shortened_is_not_signed_again() {
        let folder = folder();
        let store = open(&folder);
        for number in 0..5 {
            commit(&store, batch(&number.to_string(), "")).unwrap();
        }
        let shorten = "DELETE FROM records WHERE number > 3;
            UPDATE ends SET (number, hash, at) =
                (SELECT number, hash, at FROM records WHERE number = 3) WHERE name = 'head';";
        meddle(&folder, shorten);
        assert!(matches!(commit(&store, batch("a", "")), Err(CommitError::Store(_))));
        drop(store);
        let error = Sqlite::open(&folder.path().join(NAME), keyring()).unwrap_err();
        assert!(error.0.contains("audit chain"), "{error}");
        meddle(&folder, "DELETE FROM ends");
        assert!(Sqlite::open(&folder.path().join(NAME), keyring()).is_err());
    }

    #[test]
    fn a_store_signed_with_another_key_is_refused() {
        let folder = folder();
        commit(&open(&folder), batch("a", "")).unwrap();
        let other = Arc::new(Keyring::from_seed(&[6; 32]));
        assert!(Sqlite::open(&folder.path().join(NAME), other).is_err());
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let folder = folder();
        fs::write(folder.path().join(NAME), "not a database, but long enough ".repeat(99)).unwrap();
        assert!(Sqlite::open(&folder.path().join(NAME), keyring()).is_err());
        assert!(Sqlite::read_only(&folder.path().join(NAME)).is_err());
    }
}
