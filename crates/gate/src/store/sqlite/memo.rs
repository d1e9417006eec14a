//! A cache of the small documents and counters that every decision reads.
//!
//! ```text
//! own commit       in the database ─► forgotten here ─► told to its waiter
//! another process  commits ─► the writer sees it when it next begins ─► all forgotten, a new epoch
//! ```
//!
//! So the cache is never older than a commit of this process whose waiter was told. Changes of
//! other processes are not seen at once, but this is safe: a batch that relies on cached values
//! names the epoch, and the writer, which then has exclusive access, refuses it in a later epoch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::{Batch, CachedDoc, Epoch, Kind, Write};

/// The most documents of one kind, and the most counters. When they are reached, all are dropped.
const MOST: usize = 4_096;

/// The longest document that is cached.
const LONGEST: usize = 16 * 1_024;

/// The cache, shared by readers and the writer.
#[derive(Default)]
pub(super) struct Memo(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    epoch: Epoch,
    /// The number of commits: a value that was read before a commit is not cached after it.
    commits: u64,
    /// The cached documents; `None` for one that does not exist, for some kinds.
    docs: HashMap<Kind, HashMap<String, Option<Arc<CachedDoc>>>>,
    counters: HashMap<String, u64>,
}

/// The start of a read. Its result is cached only if nothing was committed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun(u64);

/// Reports whether documents of a kind are worth caching: small, few, and read far more often than
/// written.
const fn is_hot(kind: Kind) -> bool {
    match kind {
        Kind::Session | Kind::User | Kind::Device | Kind::Key | Kind::Settings | Kind::Control => {
            true
        }
        Kind::Approval
        | Kind::Workspace
        | Kind::Remembered
        | Kind::Declined
        | Kind::Invitation
        | Kind::File
        | Kind::FileName
        | Kind::Idempotency
        | Kind::Running
        | Kind::Machine => false,
    }
}

impl Memo {
    /// The epoch, which changes whenever another process was seen to have written.
    pub(super) fn epoch(&self) -> Epoch {
        self.inside().epoch
    }

    /// A cached document, or the start of a read.
    pub(super) fn doc(&self, kind: Kind, id: &str) -> Result<Option<Arc<CachedDoc>>, Begun> {
        let inside = self.inside();
        let known = inside.docs.get(&kind).and_then(|docs| docs.get(id));
        known.cloned().ok_or(Begun(inside.commits))
    }

    /// A cached counter, or the start of a read.
    pub(super) fn counter(&self, key: &str) -> Result<u64, Begun> {
        let inside = self.inside();
        inside.counters.get(key).copied().ok_or(Begun(inside.commits))
    }

    /// Caches a document as it was read, or its absence.
    pub(super) fn keep_doc(
        &self,
        begun: Begun,
        kind: Kind,
        id: &str,
        kept: Option<&Arc<CachedDoc>>,
    ) {
        let worth = match kept {
            Some(kept) => is_hot(kind) && kept.stored().doc.body.len() <= LONGEST,
            // Most people have no preferences. Ids of keys that do not exist are chosen by
            // strangers, who must not fill our memory with them.
            None => kind == Kind::Settings,
        };
        if !worth {
            return;
        }
        let mut inside = self.inside();
        if inside.commits == begun.0 {
            let docs = inside.docs.entry(kind).or_default();
            make_room(docs);
            docs.insert(id.to_owned(), kept.cloned());
        }
    }

    /// Caches a counter as it was read.
    pub(super) fn keep_counter(&self, begun: Begun, key: &str, value: u64) {
        let mut inside = self.inside();
        if inside.commits == begun.0 {
            make_room(&mut inside.counters);
            inside.counters.insert(key.to_owned(), value);
        }
    }

    /// Drops the values that batches have changed.
    ///
    /// INVARIANT: called after their commit and before any waiter is told of it.
    pub(super) fn forget<'a>(&self, batches: impl Iterator<Item = &'a Batch>) {
        let mut inside = self.inside();
        inside.commits = inside.commits.wrapping_add(1);
        for batch in batches {
            for write in &batch.writes {
                let (kind, id) = match write {
                    Write::Insert(doc) | Write::Replace(doc, _) => (doc.kind, &doc.id),
                    Write::Delete(which) => (which.kind, &which.id),
                };
                if let Some(docs) = inside.docs.get_mut(&kind) {
                    docs.remove(id);
                }
            }
            for count in &batch.counts {
                inside.counters.remove(&count.key);
            }
        }
    }

    /// Drops everything: another process has written, or the result of a commit is unknown.
    pub(super) fn forget_all(&self) {
        let mut inside = self.inside();
        inside.commits = inside.commits.wrapping_add(1);
        inside.epoch = Epoch(inside.epoch.0.wrapping_add(1));
        inside.docs.clear();
        inside.counters.clear();
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // The state is consistent after every step, and a skipped step leaves too little in the
        // cache, never too much: `commits` grows first.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clears a map that is full: over years a store sees more ids than need to be cached.
fn make_room<T>(map: &mut HashMap<String, T>) {
    if map.len() >= MOST {
        map.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pollster::block_on;
    use rusqlite::Connection;

    use super::*;
    use crate::keyring::Keyring;
    use crate::store::sqlite::Sqlite;
    use crate::store::{CommitError, Committed, Count, CountStep, Doc, Store, Stored, Unchanged};
    use crate::testing::{Folder, folder};

    fn path(folder: &Folder) -> PathBuf {
        folder.path().join("store.db")
    }

    fn open(folder: &Folder) -> Sqlite {
        Sqlite::danger_open_or_begin(&path(folder), Arc::new(Keyring::from_seed(&[5; 32]))).unwrap()
    }

    fn doc(id: &str, body: &str) -> Doc {
        Doc {
            kind: Kind::Key,
            id: id.to_owned(),
            owner: None,
            workspace: None,
            session: None,
            fingerprint: None,
            state: "works".to_owned(),
            due: None,
            body: body.to_owned(),
        }
    }

    fn write(store: &Sqlite, write: Write) {
        block_on(store.commit(Batch { writes: vec![write], ..Batch::default() })).unwrap();
    }

    fn count(store: &Sqlite, step: CountStep) {
        let counts = vec![Count { key: "said".to_owned(), step }];
        block_on(store.commit(Batch { counts, ..Batch::default() })).unwrap();
    }

    fn recalled(store: &Sqlite, id: &str) -> Option<String> {
        let kept = block_on(store.get_cached(Kind::Key, id)).unwrap();
        kept.map(|kept| kept.stored().doc.body.clone())
    }

    fn counted(store: &Sqlite) -> u64 {
        block_on(store.get_cached_counter("said")).unwrap()
    }

    fn relying_on(store: &Sqlite, epoch: Epoch) -> Result<Committed, CommitError> {
        block_on(store.commit(Batch { epoch: Some(epoch), ..Batch::default() }))
    }

    #[test]
    fn own_changes_are_seen_at_once() {
        let folder = folder();
        let store = open(&folder);
        assert_eq!(recalled(&store, "a"), None);
        write(&store, Write::Insert(doc("a", "1")));
        assert_eq!(recalled(&store, "a").unwrap(), "1");
        write(&store, Write::Replace(doc("a", "2"), 1));
        assert_eq!(recalled(&store, "a").unwrap(), "2");
        let deleted = Unchanged { kind: Kind::Key, id: "a".to_owned(), version: 2 };
        write(&store, Write::Delete(deleted));
        assert_eq!(recalled(&store, "a"), None);
        for expected in 0..3 {
            assert_eq!((counted(&store), counted(&store)), (expected, expected));
            count(&store, CountStep::Up { most: 9 });
        }
        count(&store, CountStep::Forget);
        assert_eq!(counted(&store), 0);
        relying_on(&store, Epoch::default()).unwrap();
    }

    #[test]
    fn what_another_process_changed_fails_the_batch_that_relied_on_it() {
        let folder = folder();
        let (store, other) = (open(&folder), open(&folder));
        write(&store, Write::Insert(doc("a", "1")));
        let epoch = store.epoch();
        assert_eq!((recalled(&store, "a").unwrap().as_str(), counted(&store)), ("1", 0));
        write(&other, Write::Replace(doc("a", "2"), 1));
        assert_eq!(relying_on(&store, epoch), Err(CommitError::Outdated));
        assert_ne!(store.epoch(), epoch);
        assert_eq!(recalled(&store, "a").unwrap(), "2");
        count(&other, CountStep::Up { most: 9 });
        let epoch = store.epoch();
        assert_eq!(relying_on(&store, epoch), Err(CommitError::Outdated));
        assert_eq!(counted(&store), 1);
        relying_on(&store, store.epoch()).unwrap();
    }

    #[test]
    fn any_hand_in_the_file_is_noticed() {
        let folder = folder();
        let store = open(&folder);
        write(&store, Write::Insert(doc("a", "1")));
        let epoch = store.epoch();
        assert_eq!(recalled(&store, "a").unwrap(), "1");
        let meddler = Connection::open(path(&folder)).unwrap();
        meddler.execute_batch("UPDATE docs SET body = '2'").unwrap();
        assert_eq!(relying_on(&store, epoch), Err(CommitError::Outdated));
        assert_eq!(recalled(&store, "a").unwrap(), "2");
    }

    #[test]
    fn batches_of_one_group_are_told_alike() {
        let folder = folder();
        let (store, other) = (open(&folder), open(&folder));
        let epoch = store.epoch();
        write(&other, Write::Insert(doc("a", "1")));
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..16).map(|_| scope.spawn(|| relying_on(&store, epoch))).collect();
            for one in all {
                assert_eq!(one.join().unwrap(), Err(CommitError::Outdated));
            }
        });
    }

    #[test]
    fn whoever_only_reads_keeps_nothing() {
        let folder = folder();
        let store = open(&folder);
        let reader = Sqlite::read_only(&path(&folder)).unwrap();
        assert_eq!((recalled(&reader, "a"), counted(&reader)), (None, 0));
        write(&store, Write::Insert(doc("a", "1")));
        count(&store, CountStep::Up { most: 9 });
        assert_eq!((recalled(&reader, "a").unwrap().as_str(), counted(&reader)), ("1", 1));
    }

    #[test]
    fn what_was_read_before_a_commit_is_not_kept_after_it() {
        let memo = Memo::default();
        let begun = memo.doc(Kind::Key, "a").unwrap_err();
        let counting = memo.counter("said").unwrap_err();
        let inserted = Batch { writes: vec![Write::Insert(doc("a", "2"))], ..Batch::default() };
        memo.forget([&inserted].into_iter());
        let old = Arc::new(CachedDoc::new(Stored { doc: doc("a", "1"), version: 1 }));
        memo.keep_doc(begun, Kind::Key, "a", Some(&old));
        memo.keep_counter(counting, "said", 7);
        assert!(memo.doc(Kind::Key, "a").is_err());
        assert!(memo.counter("said").is_err());
    }

    #[test]
    fn a_commit_that_nobody_knows_the_end_of_is_forgotten_with_everything() {
        let folder = folder();
        let store = open(&folder);
        write(&store, Write::Insert(doc("a", "1")));
        let epoch = store.epoch();
        assert_eq!(recalled(&store, "a").unwrap(), "1");
        // The end of the chain is not the signed one: no group can be committed.
        let forged = "INSERT INTO ends VALUES ('head', 1, x'00', 0, x'00')";
        Connection::open(path(&folder)).unwrap().execute_batch(forged).unwrap();
        assert!(matches!(relying_on(&store, epoch), Err(CommitError::Store(_))));
        assert_ne!(store.epoch(), epoch);
    }

    #[test]
    fn what_was_told_is_recalled_however_many_change_it() {
        let folder = folder();
        let store = open(&folder);
        std::thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                let store = &store;
                scope.spawn(move || {
                    write(store, Write::Insert(doc(name, "0")));
                    for version in 1..200_u64 {
                        write(store, Write::Replace(doc(name, &version.to_string()), version));
                        assert_eq!(recalled(store, name).unwrap(), version.to_string());
                    }
                });
                // Others read all the while, and cache what they have read.
                scope.spawn(move || (0..2_000).for_each(|_| drop(recalled(store, name))));
            }
        });
    }

    #[test]
    fn memory_has_an_end() {
        let memo = Memo::default();
        for number in 0..=MOST {
            let id = number.to_string();
            let begun = memo.doc(Kind::Settings, &id).unwrap_err();
            memo.keep_doc(begun, Kind::Settings, &id, None);
        }
        assert!(memo.doc(Kind::Settings, "0").is_err());
        assert_eq!(memo.doc(Kind::Settings, &MOST.to_string()).unwrap().map(drop), None);
        let begun = memo.doc(Kind::Key, "made up").unwrap_err();
        memo.keep_doc(begun, Kind::Key, "made up", None);
        assert!(memo.doc(Kind::Key, "made up").is_err());
        let long = Arc::new(CachedDoc::new(Stored {
            doc: doc("a", &"x".repeat(LONGEST + 1)),
            version: 1,
        }));
        let begun = memo.doc(Kind::Key, "a").unwrap_err();
        memo.keep_doc(begun, Kind::Key, "a", Some(&long));
        assert!(memo.doc(Kind::Key, "a").is_err());
    }
}
