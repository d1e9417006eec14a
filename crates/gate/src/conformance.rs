//! Tests that every store must pass. A new backend is one more line in the list of backends; no
//! other code here knows which one it tests.

use std::any::Any;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pollster::block_on;
use serde_json::json;

use crate::audit::{Report, Verifier};
use crate::clock::{Fake, Timestamp, random};
use crate::keyring::Keyring;
use crate::rate::Rate;
use crate::record::{CHECKPOINT_EVERY, Draft, Event, Record, RecordOwner};
use crate::store::{self, *};
use crate::testing::folder;

/// Generates the whole suite for each backend. A test that is missing here is dead code, which
/// fails the build.
macro_rules! conformance {
    ($($backend:ident => $make:expr;)+) => {
        $(mod $backend {
            conformance! { @tests $make;
                a_document_is_read_as_it_was_written
                an_insert_of_what_is_there_is_a_conflict
                a_replacement_needs_the_version_that_is_there
                a_deletion_needs_the_version_that_is_there
                of_many_writers_of_one_version_one_wins
                a_guard_holds_only_for_the_version_that_was_read
                writes_in_one_batch_see_each_other
                a_failing_batch_leaves_nothing_behind
                failing_batches_do_not_hurt_their_neighbours
                a_counter_goes_up_to_its_ceiling_and_no_further
                a_counter_never_passes_its_ceiling_however_many_count
                a_counter_goes_down_to_nothing_and_is_forgotten
                a_counter_takes_many_at_once_or_none
                many_at_once_never_pass_the_ceiling_together
                a_pace_lets_a_burst_through_and_says_how_long_to_wait
                a_refused_batch_uses_up_nothing
                what_was_committed_is_seen_by_every_later_read
                what_was_committed_is_recalled
                a_query_filters_by_everything_it_names
                a_query_pages_by_id_in_byte_order
                a_query_pages_backwards_from_the_newest
                a_query_finds_what_is_due
                a_count_has_no_limit
                records_are_numbered_in_the_order_of_their_batches
                records_are_found_by_whom_they_are_about
                records_are_found_by_event_and_time_from_either_end
                the_chain_verifies_after_work_from_many_sides
                the_chain_is_checkpointed_as_it_grows
                erasure_takes_content_and_leaves_the_chain
                erasure_comes_before_the_records_of_its_batch
                a_cut_takes_the_oldest_and_leaves_an_anchor
                a_cut_stops_at_the_first_record_that_is_young_enough
                a_cut_never_takes_the_last_record
                random_batches_end_as_in_a_plain_model
            }
        })+
    };
    (@tests $make:expr; $($test:ident)+) => {
        $(#[test]
        fn $test() {
            super::$test(&$make());
        })+
    };
}

conformance! {
    memory => super::memory;
    sqlite => super::sqlite;
}

fn memory() -> Made {
    Made { store: store::open(&StoreUrl::Memory, keyring()).unwrap(), _keep: Box::new(()) }
}

fn sqlite() -> Made {
    let folder = folder();
    let url = StoreUrl::Sqlite(folder.path().join("store.db"));
    let store = store::danger_open_or_begin(&url, keyring()).unwrap();
    Made { store, _keep: Box::new(folder) }
}

/// A store, and a value that must live as long.
struct Made {
    store: Arc<dyn Store>,
    _keep: Box<dyn Any>,
}

impl Made {
    fn get(&self, id: &str) -> Option<Stored> {
        block_on(self.store.get(Kind::Approval, id)).unwrap()
    }

    fn version(&self, id: &str) -> u64 {
        self.get(id).map_or(0, |stored| stored.version)
    }

    fn find(&self, query: &Query) -> Vec<String> {
        let found = block_on(self.store.find(query)).unwrap();
        found.into_iter().map(|stored| stored.doc.id).collect()
    }

    fn counter(&self, key: &str) -> u64 {
        block_on(self.store.counter(key)).unwrap()
    }

    fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        block_on(self.store.commit(batch))
    }

    fn write(&self, writes: Vec<Write>) -> Result<Committed, CommitError> {
        self.commit(Batch { writes, ..Batch::default() })
    }

    fn count(&self, key: &str, step: CountStep) -> Result<Committed, CommitError> {
        let counts = vec![Count { key: key.to_owned(), step }];
        self.commit(Batch { counts, ..Batch::default() })
    }

    fn record(&self, drafts: Vec<Draft>) -> Committed {
        self.commit(Batch { records: drafts, ..Batch::default() }).unwrap()
    }

    fn records(&self, query: &RecordQuery) -> Vec<Record> {
        block_on(self.store.records(query)).unwrap()
    }

    fn numbers(&self, query: &RecordQuery) -> Vec<u64> {
        self.records(query).iter().map(|record| record.number).collect()
    }

    fn chain(&self) -> Chain {
        block_on(self.store.chain()).unwrap()
    }

    /// Walks the whole chain, page by page.
    fn verify(&self) -> Report {
        let mut verifier = Verifier::new(self.chain(), keyring().public());
        let mut query = RecordQuery { limit: 97, ..RecordQuery::default() };
        loop {
            let page = self.records(&query);
            let Some(last) = page.last() else { return verifier.finish() };
            query.after = last.number;
            for record in &page {
                verifier.next(record);
            }
        }
    }

    /// Runs the same function on several threads at once.
    fn at_once<T: Send>(
        &self,
        threads: usize,
        work: impl Fn(usize, &dyn Store) -> T + Sync,
    ) -> Vec<T> {
        let (store, work) = (&*self.store, &work);
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..threads).map(|thread| scope.spawn(move || work(thread, store))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}

fn keyring() -> Arc<Keyring> {
    Arc::new(Keyring::from_seed(&[9; 32]))
}

fn doc(id: &str) -> Doc {
    Doc {
        kind: Kind::Approval,
        id: id.to_owned(),
        owner: None,
        workspace: None,
        session: None,
        fingerprint: None,
        state: "pending".to_owned(),
        due: None,
        body: "{}".to_owned(),
    }
}

fn doc_of(id: &str, owner: &str, workspace: &str, session: &str, state: &str) -> Doc {
    let some = |text: &str| Some(text.to_owned());
    Doc {
        owner: some(owner),
        workspace: some(workspace),
        session: some(session),
        state: state.to_owned(),
        ..doc(id)
    }
}

fn in_state(id: &str, state: &str) -> Doc {
    Doc { state: state.to_owned(), ..doc(id) }
}

fn unchanged(id: &str, version: u64) -> Unchanged {
    Unchanged { kind: Kind::Approval, id: id.to_owned(), version }
}

fn conflict<T>(id: &str) -> Result<T, CommitError> {
    Err(CommitError::Conflict { kind: Kind::Approval, id: id.to_owned() })
}

fn draft(at: i64, owner: &str) -> Draft {
    about(at, RecordOwner { owner: Some(owner.to_owned()), ..RecordOwner::default() })
}

fn about(at: i64, record_owner: RecordOwner) -> Draft {
    let payload = json!({"at": at, "note": "of "}).to_string();
    Draft::new(Timestamp(at), Event::Approval, record_owner, payload, [3; 16])
}

fn drafts(times: impl IntoIterator<Item = i64>) -> Vec<Draft> {
    times.into_iter().map(|at| draft(at, "ann")).collect()
}

fn a_document_is_read_as_it_was_written(made: &Made) {
    assert_eq!(made.get("a"), None);
    let whole = Doc {
        due: Some(Timestamp(-5)),
        fingerprint: Some("f".to_owned()),
        body: r#"{"text":"it's \"quoted\", ünïcode 🦀\n"}"#.to_owned(),
        ..doc_of("a", "ann", "", "s'1", "pending")
    };
    made.write(vec![Write::Insert(whole.clone()), Write::Insert(in_state("b", ""))]).unwrap();
    assert_eq!(made.get("a"), Some(Stored { doc: whole.clone(), version: 1 }));
    assert_eq!(made.get("b"), Some(Stored { doc: in_state("b", ""), version: 1 }));
    // The same id in another kind is another document.
    assert_eq!(block_on(made.store.get(Kind::Session, "a")).unwrap(), None);
    made.write(vec![Write::Insert(Doc { kind: Kind::Session, ..doc("a") })]).unwrap();
    assert_eq!(made.get("a"), Some(Stored { doc: whole, version: 1 }));
    for (number, kind) in (0..).zip(Kind::ALL) {
        let doc = Doc { kind: *kind, ..doc(&format!("each{number}")) };
        made.write(vec![Write::Insert(doc.clone())]).unwrap();
        assert_eq!(block_on(made.store.get(*kind, &doc.id)).unwrap().unwrap().doc, doc);
    }
}

fn an_insert_of_what_is_there_is_a_conflict(made: &Made) {
    made.write(vec![Write::Insert(doc("a"))]).unwrap();
    assert_eq!(made.write(vec![Write::Insert(in_state("a", "other"))]), conflict("a"));
    assert_eq!(made.get("a"), Some(Stored { doc: doc("a"), version: 1 }));
}

fn a_replacement_needs_the_version_that_is_there(made: &Made) {
    assert_eq!(made.write(vec![Write::Replace(doc("a"), 0)]), conflict("a"));
    assert_eq!(made.write(vec![Write::Replace(doc("a"), 1)]), conflict("a"));
    made.write(vec![Write::Insert(doc("a"))]).unwrap();
    made.write(vec![Write::Replace(in_state("a", "approved"), 1)]).unwrap();
    for wrong in [0, 1, 3, u64::MAX] {
        assert_eq!(made.write(vec![Write::Replace(in_state("a", "late"), wrong)]), conflict("a"));
    }
    assert_eq!(made.get("a"), Some(Stored { doc: in_state("a", "approved"), version: 2 }));
}

fn a_deletion_needs_the_version_that_is_there(made: &Made) {
    assert_eq!(made.write(vec![Write::Delete(unchanged("a", 0))]), conflict("a"));
    made.write(vec![Write::Insert(doc("a"))]).unwrap();
    made.write(vec![Write::Replace(doc("a"), 1)]).unwrap();
    assert_eq!(made.write(vec![Write::Delete(unchanged("a", 1))]), conflict("a"));
    made.write(vec![Write::Delete(unchanged("a", 2))]).unwrap();
    assert_eq!(made.get("a"), None);
    assert_eq!(made.write(vec![Write::Delete(unchanged("a", 2))]), conflict("a"));
    made.write(vec![Write::Insert(doc("a"))]).unwrap();
    assert_eq!(made.version("a"), 1);
}

fn of_many_writers_of_one_version_one_wins(made: &Made) {
    made.write(vec![Write::Insert(doc("a"))]).unwrap();
    for version in 1..=10 {
        let won = made.at_once(8, |thread, store| {
            let doc = in_state("a", &format!("by {thread}"));
            let writes = vec![Write::Replace(doc, version)];
            let records = drafts([1]);
            block_on(store.commit(Batch { writes, records, ..Batch::default() }))
        });
        let winners: Vec<_> = (0..8).filter(|thread| won[*thread].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{won:?}");
        assert_eq!(won.iter().filter(|outcome| **outcome == conflict("a")).count(), 7, "{won:?}");
        assert_eq!(made.get("a").unwrap().doc.state, format!("by {}", winners[0]));
    }
    assert_eq!(made.version("a"), 11);
    assert_eq!(made.records(&RecordQuery::default()).len(), 10);
}

fn a_guard_holds_only_for_the_version_that_was_read(made: &Made) {
    let guarded = |guard: Unchanged, id: &str| {
        let writes = vec![Write::Insert(doc(id))];
        made.commit(Batch { unchanged: vec![guard], writes, ..Batch::default() }).map(|_| ())
    };
    assert_eq!(guarded(unchanged("none", 0), "a"), Ok(()));
    assert_eq!(guarded(unchanged("none", 1), "b"), conflict("none"));
    assert_eq!(guarded(unchanged("a", 1), "c"), Ok(()));
    assert_eq!(guarded(unchanged("a", 0), "d"), conflict("a"));
    made.write(vec![Write::Replace(doc("a"), 1)]).unwrap();
    assert_eq!(guarded(unchanged("a", 1), "d"), conflict("a"));
    // The guard is checked against the state before the batch.
    assert_eq!(guarded(unchanged("e", 0), "e"), Ok(()));
    assert_eq!(made.find(&Query::of(Kind::Approval)), ["a", "c", "e"]);
}

fn writes_in_one_batch_see_each_other(made: &Made) {
    let writes = vec![
        Write::Insert(doc("a")),
        Write::Replace(in_state("a", "second"), 1),
        Write::Insert(doc("b")),
        Write::Delete(unchanged("b", 1)),
        Write::Insert(in_state("b", "again")),
    ];
    made.write(writes).unwrap();
    assert_eq!((made.version("a"), made.version("b")), (2, 1));
    assert_eq!(made.get("b").unwrap().doc.state, "again");
    assert_eq!(made.write(vec![Write::Insert(doc("c")), Write::Insert(doc("c"))]), conflict("c"));
    assert_eq!(made.get("c"), None);
}

fn a_failing_batch_leaves_nothing_behind(made: &Made) {
    made.write(vec![Write::Insert(doc("there"))]).unwrap();
    made.record(drafts([1, 2]));
    let whole = || Batch {
        writes: vec![Write::Insert(doc("new")), Write::Replace(in_state("there", "x"), 1)],
        counts: vec![Count { key: "n".to_owned(), step: CountStep::Up { most: 5 } }],
        paces: vec![Pace { key: "p".to_owned(), rate: Rate::per_hour(1), now: Timestamp(9) }],
        records: drafts([3]),
        erase: Some(Erase::default()),
        cut: Some(Timestamp(2)),
        ..Batch::default()
    };
    let mut conflicting = whole();
    conflicting.writes.push(Write::Insert(doc("there")));
    let mut full = whole();
    full.counts.push(Count { key: "n".to_owned(), step: CountStep::Up { most: 1 } });
    let mut too_fast = whole();
    too_fast.paces.extend(whole().paces);
    let mut unguarded = whole();
    unguarded.unchanged.push(unchanged("there", 7));
    let before = (made.chain(), made.records(&RecordQuery::default()));
    assert_eq!(made.commit(conflicting), conflict("there"));
    assert_eq!(made.commit(full), Err(CommitError::Full { key: "n".to_owned(), most: 1 }));
    let wait = Duration::from_hours(1);
    assert_eq!(made.commit(too_fast), Err(CommitError::TooFast { key: "p".to_owned(), wait }));
    assert_eq!(made.commit(unguarded), conflict("there"));
    assert_eq!((made.get("new"), made.version("there"), made.counter("n")), (None, 1, 0));
    assert_eq!((made.chain(), made.records(&RecordQuery::default())), before);
    let done = made.commit(whole()).unwrap();
    assert_eq!(done, Committed { first_record: Some(3), erased: 2, cut: 1 });
    assert_eq!((made.version("new"), made.version("there"), made.counter("n")), (1, 2, 1));
    assert_eq!(made.verify().damage, []);
}

fn failing_batches_do_not_hurt_their_neighbours(made: &Made) {
    made.write(vec![Write::Insert(doc("taken"))]).unwrap();
    let outcomes = made.at_once(8, |thread, store| {
        (0..20)
            .filter(|round| {
                let id =
                    if round % 2 == 0 { "taken".to_owned() } else { format!("{thread}-{round}") };
                let batch = Batch {
                    writes: vec![Write::Insert(doc(&id))],
                    records: drafts([*round]),
                    counts: vec![Count {
                        key: "n".to_owned(),
                        step: CountStep::Up { most: 1_000 },
                    }],
                    ..Batch::default()
                };
                block_on(store.commit(batch)).is_ok()
            })
            .count()
    });
    assert_eq!(outcomes, [10; 8]);
    assert_eq!(block_on(made.store.count(&Query::of(Kind::Approval))), Ok(81));
    assert_eq!(made.counter("n"), 80);
    let report = made.verify();
    assert_eq!((report.damage, report.records), (Vec::new(), 80));
}

fn a_counter_goes_up_to_its_ceiling_and_no_further(made: &Made) {
    let full = |most| Err(CommitError::Full { key: "n".to_owned(), most });
    assert_eq!(made.counter("n"), 0);
    assert_eq!(made.count("n", CountStep::Up { most: 0 }), full(0));
    made.count("n", CountStep::Up { most: 2 }).unwrap();
    made.count("n", CountStep::Up { most: 2 }).unwrap();
    assert_eq!(made.count("n", CountStep::Up { most: 2 }), full(2));
    assert_eq!(made.counter("n"), 2);
    // Lowering a ceiling does not lower the counter.
    assert_eq!(made.count("n", CountStep::Up { most: 1 }), full(1));
    assert_eq!(made.counter("n"), 2);
    made.count("n", CountStep::Up { most: u64::MAX }).unwrap();
    assert_eq!((made.counter("n"), made.counter("other")), (3, 0));
}

fn a_counter_never_passes_its_ceiling_however_many_count(made: &Made) {
    let counted = made.at_once(8, |_, store| {
        let up = || Count { key: "n".to_owned(), step: CountStep::Up { most: 50 } };
        let batch = || Batch { counts: vec![up()], ..Batch::default() };
        (0..20).filter(|_| block_on(store.commit(batch())).is_ok()).count()
    });
    assert_eq!(counted.iter().sum::<usize>(), 50);
    assert_eq!(made.counter("n"), 50);
}

fn a_counter_goes_down_to_nothing_and_is_forgotten(made: &Made) {
    made.count("n", CountStep::Down).unwrap();
    assert_eq!(made.counter("n"), 0);
    for _ in 0..3 {
        made.count("n", CountStep::Up { most: 9 }).unwrap();
    }
    made.count("n", CountStep::Down).unwrap();
    assert_eq!(made.counter("n"), 2);
    for _ in 0..5 {
        made.count("n", CountStep::Down).unwrap();
    }
    assert_eq!(made.counter("n"), 0);
    made.count("n", CountStep::Up { most: 1 }).unwrap();
    made.count("n", CountStep::Forget).unwrap();
    made.count("n", CountStep::Forget).unwrap();
    assert_eq!(made.counter("n"), 0);
    made.count("n", CountStep::Up { most: 1 }).unwrap();
    // In one batch, one after the other.
    let counts = [CountStep::Down, CountStep::Up { most: 1 }, CountStep::Down, CountStep::Down]
        .map(|step| Count { key: "n".to_owned(), step });
    made.commit(Batch { counts: counts.to_vec(), ..Batch::default() }).unwrap();
    assert_eq!(made.counter("n"), 0);
}

fn a_counter_takes_many_at_once_or_none(made: &Made) {
    let full = |most| Err(CommitError::Full { key: "n".to_owned(), most });
    let add = |by, most| made.count("n", CountStep::Add { by, most }).map(|_| ());
    assert_eq!(add(11, 10), full(10));
    assert_eq!((made.counter("n"), add(0, 0), made.counter("n")), (0, Ok(()), 0));
    assert_eq!((add(6, 10), add(5, 10), made.counter("n")), (Ok(()), full(10), 6));
    assert_eq!((add(4, 10), add(1, 10), made.counter("n")), (Ok(()), full(10), 10));
    // Lowering a ceiling does not lower the counter, and adding 0 still works.
    assert_eq!((add(1, 5), add(0, 5), made.counter("n")), (full(5), Ok(()), 10));
    assert_eq!(made.count("n", CountStep::Up { most: 10 }).map(|_| ()), full(10));
    // Sizes of files do not fit into 32 bits.
    assert_eq!((add(5_000_000_000, u64::MAX), made.counter("n")), (Ok(()), 5_000_000_010));
    assert_eq!(add(i64::MAX as u64, i64::MAX as u64), full(i64::MAX as u64));
    for (by, left) in [(0, 5_000_000_010), (10, 5_000_000_000), (4_999_999_999, 1), (9, 0), (1, 0)]
    {
        made.count("n", CountStep::Sub { by }).unwrap();
        assert_eq!(made.counter("n"), left);
    }
    assert_eq!((add(3, 3), made.counter("n")), (Ok(()), 3));
}

fn many_at_once_never_pass_the_ceiling_together(made: &Made) {
    let taken = made.at_once(8, |thread, store| {
        let by = thread as u64 + 1;
        let commit = |step| {
            let counts = vec![Count { key: "n".to_owned(), step }];
            block_on(store.commit(Batch { counts, ..Batch::default() })).is_ok()
        };
        let mut taken = 0;
        for round in 0..20 {
            if commit(CountStep::Add { by, most: 100 }) {
                taken += by;
            }
            if round % 5 == 4 && taken >= by {
                assert!(commit(CountStep::Sub { by }));
                taken -= by;
            }
        }
        taken
    });
    let taken = taken.iter().sum::<u64>();
    assert_eq!((made.counter("n"), taken <= 100), (taken, true));
}

fn pace(made: &Made, key: &str, now: i64) -> Result<(), CommitError> {
    let pace = Pace { key: key.to_owned(), rate: Rate::per_minute(3), now: Timestamp(now) };
    made.commit(Batch { paces: vec![pace], ..Batch::default() }).map(|_| ())
}

fn a_pace_lets_a_burst_through_and_says_how_long_to_wait(made: &Made) {
    let too_fast = |milliseconds| {
        let wait = Duration::from_millis(milliseconds);
        Err(CommitError::TooFast { key: "p".to_owned(), wait })
    };
    for _ in 0..3 {
        assert_eq!(pace(made, "p", 1_000), Ok(()));
    }
    assert_eq!(pace(made, "p", 1_000), too_fast(20_000));
    assert_eq!(pace(made, "p", 20_999), too_fast(1));
    assert_eq!(pace(made, "other", 1_000), Ok(()));
    assert_eq!(pace(made, "p", 21_000), Ok(()));
    assert_eq!(pace(made, "p", 21_000), too_fast(20_000));
    // Buckets that have been empty for long equal new ones, and do not affect others.
    for key in ["q", "r", "s", "t", "u"] {
        assert_eq!(pace(made, key, 40_000), Ok(()));
    }
    assert_eq!(pace(made, "p", 40_000), too_fast(1_000));
    for _ in 0..3 {
        assert_eq!(pace(made, "p", 1_000_000), Ok(()));
    }
    assert_eq!(pace(made, "p", 1_000_000), too_fast(20_000));
}

fn a_refused_batch_uses_up_nothing(made: &Made) {
    let refused = |made: &Made| {
        let pace =
            |key: &str| Pace { key: key.to_owned(), rate: Rate::per_minute(1), now: Timestamp(0) };
        made.commit(Batch {
            counts: vec![Count { key: "n".to_owned(), step: CountStep::Up { most: 9 } }],
            paces: vec![pace("free"), pace("taken")],
            ..Batch::default()
        })
    };
    assert!(refused(made).is_ok());
    assert_eq!(pace(made, "later", 0), Ok(()));
    for _ in 0..4 {
        let error = refused(made).unwrap_err();
        assert!(matches!(error, CommitError::TooFast { key, .. } if key == "free"));
    }
    assert_eq!(made.counter("n"), 1);
}

fn what_was_committed_is_seen_by_every_later_read(made: &Made) {
    made.at_once(4, |thread, store| {
        for round in 0_u64..15 {
            let id = format!("{thread}-{round}");
            let (owner, key) = (format!("owner {thread}"), format!("n{thread}"));
            let doc = Doc { owner: Some(owner.clone()), ..doc(&id) };
            let batch = Batch {
                writes: vec![Write::Insert(doc)],
                counts: vec![Count { key: key.clone(), step: CountStep::Up { most: 99 } }],
                records: vec![draft(0, &owner)],
                ..Batch::default()
            };
            let first = block_on(store.commit(batch)).unwrap().first_record.unwrap();
            let query = Query { owner: Some(owner.clone()), ..Query::of(Kind::Approval) };
            assert!(block_on(store.get(Kind::Approval, &id)).unwrap().is_some());
            assert_eq!(block_on(store.count(&query)).unwrap(), round + 1);
            assert_eq!(block_on(store.find(&query)).unwrap().len() as u64, round + 1);
            assert_eq!(block_on(store.counter(&key)).unwrap(), round + 1);
            let query =
                RecordQuery { owner: Some(owner), after: first - 1, ..RecordQuery::default() };
            assert_eq!(block_on(store.records(&query)).unwrap().len(), 1);
            assert!(block_on(store.chain()).unwrap().end().number >= first);
        }
    });
}

fn what_was_committed_is_recalled(made: &Made) {
    for kind in Kind::ALL {
        let write = |write| {
            let epoch = Some(made.store.epoch());
            let writes = vec![write];
            made.commit(Batch { writes, epoch, ..Batch::default() }).unwrap();
        };
        let recalled = || {
            let kept = block_on(made.store.get_cached(*kind, "a")).unwrap();
            kept.map(|kept| (kept.stored().doc.body.clone(), kept.stored().version))
        };
        let doc = |body: &str| Doc { kind: *kind, body: body.to_owned(), ..doc("a") };
        assert_eq!((recalled(), recalled()), (None, None));
        write(Write::Insert(doc("1")));
        assert_eq!(recalled().unwrap(), ("1".to_owned(), 1));
        write(Write::Replace(doc("2"), 1));
        assert_eq!(recalled().unwrap(), ("2".to_owned(), 2));
        // A failed batch does not change the cache either.
        let writes = vec![Write::Replace(doc("3"), 2), Write::Insert(doc("4"))];
        made.commit(Batch { writes, ..Batch::default() }).unwrap_err();
        assert_eq!(recalled().unwrap(), ("2".to_owned(), 2));
        write(Write::Delete(Unchanged { kind: *kind, id: "a".to_owned(), version: 2 }));
        assert_eq!(recalled(), None);
    }
    for expected in 0..3 {
        assert_eq!(block_on(made.store.get_cached_counter("n")).unwrap(), expected);
        made.count("n", CountStep::Up { most: 9 }).unwrap();
    }
}

fn a_query_filters_by_everything_it_names(made: &Made) {
    let mut docs = Vec::new();
    for owner in ["ann", "bob"] {
        for workspace in ["w1", "w2"] {
            for session in ["s1", "s2"] {
                for state in ["pending", "approved", ""] {
                    let id = format!("{:02}", docs.len());
                    let doc = doc_of(&id, owner, workspace, session, state);
                    let due = Some(Timestamp(i64::try_from(docs.len()).unwrap()));
                    let fingerprint = Some(format!("f{}", docs.len() % 5));
                    docs.push(Doc { fingerprint, due, ..doc });
                }
            }
        }
    }
    docs.push(doc("nobody's"));
    docs.push(Doc { kind: Kind::Session, ..doc_of("00", "ann", "w1", "s1", "pending") });
    made.write(docs.iter().cloned().map(Write::Insert).collect()).unwrap();
    let choices = |choices: [&str; 2]| {
        [None, Some(choices[0].to_owned()), Some(choices[1].to_owned()), Some("x".to_owned())]
    };
    let states: [&[&'static str]; 5] =
        [&[], &["pending"], &[""], &["pending", "approved", "pending"], &["gone"]];
    for owner in choices(["ann", "bob"]) {
        for workspace in choices(["w1", "w2"]) {
            for session in choices(["s1", "s2"]) {
                for states in states {
                    for (due_by, fingerprint) in [
                        (None, None),
                        (Some(Timestamp(11)), None),
                        (Some(Timestamp(-1)), None),
                        (None, Some("f1")),
                        (Some(Timestamp(11)), Some("f2")),
                        (None, Some("x")),
                    ] {
                        let query = Query {
                            fingerprint: fingerprint.map(str::to_owned),
                            owner: owner.clone(),
                            workspace: workspace.clone(),
                            session: session.clone(),
                            states: states.to_vec(),
                            due_by,
                            ..Query::of(Kind::Approval)
                        };
                        let wanted: Vec<_> = docs.iter().filter(|doc| fits(&query, doc)).collect();
                        let found = block_on(made.store.find(&query)).unwrap();
                        let found_docs: Vec<_> = found.iter().map(|stored| &stored.doc).collect();
                        assert_eq!(found_docs, wanted, "{query:?}");
                        let count = block_on(made.store.count(&query)).unwrap();
                        assert_eq!(count, wanted.len() as u64, "{query:?}");
                    }
                }
            }
        }
    }
}

/// A second, independent implementation of a query.
fn fits(query: &Query, doc: &Doc) -> bool {
    let same = |wanted: &Option<String>, is: &Option<String>| match (wanted, is) {
        (Some(wanted), Some(is)) => wanted == is,
        (Some(_), None) => false,
        (None, _) => true,
    };
    let due = match (query.due_by, doc.due) {
        (Some(by), Some(due)) => due <= by,
        (Some(_), None) => false,
        (None, _) => true,
    };
    query.kind == doc.kind
        && same(&query.owner, &doc.owner)
        && same(&query.workspace, &doc.workspace)
        && same(&query.session, &doc.session)
        && same(&query.fingerprint, &doc.fingerprint)
        && (query.states.is_empty() || query.states.iter().any(|state| *state == doc.state))
        && due
        && query.after.as_ref().is_none_or(|after| match query.order {
            Order::Oldest => doc.id > *after,
            Order::Newest => doc.id < *after,
        })
}

fn a_query_pages_by_id_in_byte_order(made: &Made) {
    let mut ids = ["B", "a", "C", "ä", "b1", "b10", "b2", "_", "zz"].map(str::to_owned).to_vec();
    let docs = ids.iter().enumerate().map(|(number, id)| {
        let state = if number % 2 == 0 { "pending" } else { "approved" };
        Doc { fingerprint: Some("f".to_owned()), ..doc_of(id, "ann", "w", "s", state) }
    });
    made.write(docs.map(Write::Insert).collect()).unwrap();
    ids.sort_unstable();
    let all = Query::of(Kind::Approval);
    let some = |text: &str| Some(text.to_owned());
    for query in [
        Query { states: vec!["approved", "pending"], ..all.clone() },
        Query { owner: some("ann"), ..all.clone() },
        Query { fingerprint: some("f"), ..all.clone() },
        Query { workspace: some("w"), session: some("s"), ..all.clone() },
        all,
    ] {
        for limit in [1, 2, 4, 100] {
            let (mut paged, mut query) = (Vec::new(), Query { limit, ..query.clone() });
            loop {
                let page = made.find(&query);
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                query.after = Some(last.clone());
                paged.extend(page);
            }
            assert_eq!(paged, ids, "{query:?}");
        }
        assert_eq!(made.find(&Query { limit: 0, ..query }), [""; 0]);
    }
}

fn a_query_pages_backwards_from_the_newest(made: &Made) {
    let mut docs: Vec<_> = (0..23)
        .map(|number: u32| {
            let state = ["pending", "approved", "expired"][number as usize % 3];
            let due = Some(Timestamp(number.into()));
            Doc { due, ..doc_of(&format!("{number:02}"), "ann", "w", "s", state) }
        })
        .collect();
    // Documents of neighbouring kinds on either side: a search from the end must not begin with
    // these.
    let others = [Kind::Session, Kind::Control].map(|kind| Doc { kind, ..doc("11") });
    made.write(docs.iter().cloned().chain(others).map(Write::Insert).collect()).unwrap();
    docs.reverse();
    let all = Query { order: Order::Newest, ..Query::of(Kind::Approval) };
    let some = |text: &str| Some(text.to_owned());
    for query in [
        Query { states: vec!["approved", "pending"], ..all.clone() },
        Query { owner: some("ann"), ..all.clone() },
        Query { fingerprint: some("f"), ..all.clone() },
        Query { workspace: some("w"), states: vec!["expired"], ..all.clone() },
        Query { session: some("s"), after: some("17"), ..all.clone() },
        Query { due_by: Some(Timestamp(9)), ..all.clone() },
        Query { after: some("00"), ..all.clone() },
        all,
    ] {
        let wanted = docs.iter().filter(|doc| fits(&query, doc)).map(|doc| doc.id.clone());
        let wanted: Vec<_> = wanted.collect();
        assert_eq!(block_on(made.store.count(&query)), Ok(wanted.len() as u64));
        for limit in [1, 2, 5, 100] {
            let (mut paged, mut query) = (Vec::new(), Query { limit, ..query.clone() });
            loop {
                let page = made.find(&query);
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                query.after = Some(last.clone());
                paged.extend(page);
            }
            assert_eq!(paged, wanted, "{query:?}");
        }
    }
}

fn a_query_finds_what_is_due(made: &Made) {
    let due = |id: &str, state: &str, due: Option<i64>| {
        Write::Insert(Doc { due: due.map(Timestamp), ..in_state(id, state) })
    };
    made.write(vec![
        due("a", "pending", Some(30)),
        due("b", "pending", Some(10)),
        due("c", "pending", None),
        due("d", "approved", Some(10)),
        due("e", "pending", Some(20)),
    ])
    .unwrap();
    let by = |by: i64| Query { due_by: Some(Timestamp(by)), ..Query::of(Kind::Approval) };
    let pending = |query: Query| Query { states: vec!["pending"], ..query };
    assert_eq!(made.find(&by(9)), [""; 0]);
    assert_eq!(made.find(&by(10)), ["b", "d"]);
    assert_eq!(made.find(&pending(by(20))), ["b", "e"]);
    assert_eq!(made.find(&pending(by(99))), ["a", "b", "e"]);
    assert_eq!(made.find(&pending(Query { limit: 2, ..by(99) })), ["a", "b"]);
    assert_eq!(made.find(&pending(Query { after: Some("a".to_owned()), ..by(99) })), ["b", "e"]);
    // A document that is no longer due is no longer found.
    let Stored { doc, version } = made.get("b").unwrap();
    made.write(vec![Write::Replace(Doc { due: None, ..doc }, version)]).unwrap();
    assert_eq!(made.find(&by(10)), ["d"]);
}

fn a_count_has_no_limit(made: &Made) {
    made.write((0..9).map(|id| Write::Insert(doc(&id.to_string()))).collect()).unwrap();
    let query = Query { limit: 2, ..Query::of(Kind::Approval) };
    assert_eq!(block_on(made.store.count(&query)), Ok(9));
    let query = Query { after: Some("5".to_owned()), states: vec!["pending"], ..query };
    assert_eq!(block_on(made.store.count(&query)), Ok(3));
    assert_eq!(block_on(made.store.count(&Query::of(Kind::Key))), Ok(0));
}

fn records_are_numbered_in_the_order_of_their_batches(made: &Made) {
    assert_eq!(made.chain(), Chain::default());
    assert_eq!(made.write(vec![Write::Insert(doc("a"))]).unwrap(), Committed::default());
    assert_eq!(made.chain(), Chain::default());
    assert_eq!(made.record(drafts([10, 20])).first_record, Some(1));
    assert_eq!(made.record(drafts([30])).first_record, Some(3));
    let records = made.records(&RecordQuery::default());
    let times: Vec<_> = records.iter().map(|record| (record.number, record.at.0)).collect();
    assert_eq!(times, [(1, 10), (2, 20), (3, 30)]);
    let last = &records[2];
    let content = last.content.as_ref().unwrap();
    assert_eq!((last.event.as_str(), content.salt), ("approval", [3; 16]));
    assert_eq!(content.record_owner, draft(0, "ann").content.record_owner);
    assert_eq!(content.payload, draft(30, "").content.payload);
    assert_eq!(made.chain().end(), last.head());
    assert_eq!(made.verify().damage, []);
}

fn records_are_found_by_whom_they_are_about(made: &Made) {
    let some = |text: &str| Some(text.to_owned());
    let drafts = (0..12).map(|number| {
        let record_owner = RecordOwner {
            owner: (number != 11).then(|| format!("o{}", number % 2)),
            workspace: some(&format!("w{}", number % 3)),
            session: (number % 4 != 3).then(|| format!("s{}", number % 4)),
        };
        about(number, record_owner)
    });
    made.record(drafts.collect());
    let all = RecordQuery::default();
    assert_eq!(made.numbers(&all), (1..=12).collect::<Vec<_>>());
    assert_eq!(made.numbers(&RecordQuery { after: 10, ..all.clone() }), [11, 12]);
    assert_eq!(made.numbers(&RecordQuery { after: 3, limit: 2, ..all.clone() }), [4, 5]);
    assert_eq!(made.numbers(&RecordQuery { limit: 0, ..all.clone() }), [0; 0]);
    assert_eq!(made.numbers(&RecordQuery { after: u64::MAX, ..all.clone() }), [0; 0]);
    let owner = RecordQuery { owner: some("o1"), ..all.clone() };
    assert_eq!(made.numbers(&owner), [2, 4, 6, 8, 10]);
    assert_eq!(made.numbers(&RecordQuery { after: 4, limit: 2, ..owner.clone() }), [6, 8]);
    let workspace = RecordQuery { workspace: some("w2"), ..all.clone() };
    assert_eq!(made.numbers(&workspace), [3, 6, 9, 12]);
    assert_eq!(made.numbers(&RecordQuery { session: some("s1"), ..all }), [2, 6, 10]);
    let both = RecordQuery { session: some("s1"), owner: some("o1"), ..workspace };
    assert_eq!(made.numbers(&both), [6]);
}

fn records_are_found_by_event_and_time_from_either_end(made: &Made) {
    let events = [Event::Approval, Event::Halted, Event::Violation];
    let drafts = events.into_iter().cycle().zip(1..=12);
    let drafts = drafts.map(|(event, at)| Draft { event, ..draft(at * 10, "ann") });
    made.record(drafts.collect());
    let all = RecordQuery { order: Order::Newest, ..RecordQuery::default() };
    assert_eq!(made.numbers(&all), (1..=12).rev().collect::<Vec<_>>());
    assert_eq!(made.numbers(&RecordQuery { after: 3, ..all.clone() }), [2, 1]);
    assert_eq!(made.numbers(&RecordQuery { after: 1, ..all.clone() }), [0; 0]);
    assert_eq!(made.numbers(&RecordQuery { after: u64::MAX, limit: 2, ..all.clone() }), [12, 11]);
    let ann = RecordQuery { owner: Some("ann".to_owned()), ..all.clone() };
    assert_eq!(made.numbers(&RecordQuery { after: 9, limit: 3, ..ann.clone() }), [8, 7, 6]);
    let (from, until) = (Some(Timestamp(40)), Some(Timestamp(70)));
    assert_eq!(made.numbers(&RecordQuery { from, until, ..all.clone() }), [6, 5, 4]);
    let oldest = RecordQuery { order: Order::Oldest, ..ann.clone() };
    assert_eq!(made.numbers(&RecordQuery { from, until, ..oldest.clone() }), [4, 5, 6]);
    let halted = RecordQuery { events: vec!["halted"], ..ann };
    assert_eq!(made.numbers(&halted), [11, 8, 5, 2]);
    let some = RecordQuery { events: vec!["violation", "approval", "approval"], ..oldest };
    assert_eq!(made.numbers(&RecordQuery { from, ..some.clone() }), [4, 6, 7, 9, 10, 12]);
    assert_eq!(made.numbers(&RecordQuery { events: vec!["cut"], ..some }), [0; 0]);
    // An erased record still shows its event and time, but no longer its owner.
    erase(made, Some("ann"), None);
    assert_eq!(made.numbers(&halted), [0; 0]);
    let erased = RecordQuery { events: vec!["halted"], until, ..all };
    assert_eq!(made.numbers(&erased), [5, 2]);
}

fn the_chain_verifies_after_work_from_many_sides(made: &Made) {
    let written = made.at_once(6, |thread, store| {
        let clock = Fake::at(Timestamp(0));
        let mut written = 0;
        for _ in 0..=thread {
            random::<8>(&clock).unwrap();
        }
        for round in 0..25 {
            let [id, records, guard, ..] = random::<8>(&clock).unwrap();
            let id = format!("{}", id % 8);
            let version = block_on(store.get(Kind::Approval, &id))
                .unwrap()
                .map_or(0, |stored| stored.version);
            let write = match version {
                0 => Write::Insert(doc(&id)),
                _ if guard % 5 == 0 => Write::Delete(unchanged(&id, version)),
                _ => Write::Replace(doc(&id), version),
            };
            let records = drafts(std::iter::repeat_n(round, usize::from(records % 4)));
            let more = records.len() as u64;
            let batch = Batch { writes: vec![write], records, ..Batch::default() };
            match block_on(store.commit(batch)) {
                Ok(committed) => {
                    assert_eq!(committed.first_record.is_some(), more > 0);
                    written += more;
                }
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        written
    });
    let report = made.verify();
    assert_eq!((report.damage, report.records), (Vec::new(), written.iter().sum()));
}

fn the_chain_is_checkpointed_as_it_grows(made: &Made) {
    for _ in 0..5 {
        made.record(drafts(0..500));
    }
    let marks: Vec<_> = made.chain().checkpoints.iter().map(|mark| mark.number).collect();
    assert_eq!(marks, [CHECKPOINT_EVERY, 2 * CHECKPOINT_EVERY]);
    let report = made.verify();
    assert_eq!((report.damage, report.records, report.checkpoints), (Vec::new(), 2_500, 2));
    // A checkpoint at or before the anchor is removed.
    made.record(drafts([900]));
    assert_eq!(
        made.commit(Batch { cut: Some(Timestamp(600)), ..Batch::default() }).unwrap().cut,
        2_500
    );
    assert_eq!(made.chain().checkpoints, []);
    assert_eq!(made.verify().damage, []);
}

fn erase(made: &Made, owner: Option<&str>, before: Option<i64>) -> u64 {
    let owner = owner.map(str::to_owned);
    let erase =
        Erase { owner, before: before.map(Timestamp), by: "test".to_owned(), ..Erase::default() };
    made.commit(Batch { erase: Some(erase), ..Batch::default() }).unwrap().erased
}

fn erasure_takes_content_and_leaves_the_chain(made: &Made) {
    let owners = ["ann", "bob", "ann", "bob", "ann"];
    made.record((0..).zip(owners).map(|(at, owner)| draft(at, owner)).collect());
    let left = |made: &Made| -> Vec<_> {
        let records = made.records(&RecordQuery::default());
        records
            .iter()
            .filter(|record| record.content.is_some())
            .map(|record| record.number)
            .collect()
    };
    assert_eq!(erase(made, Some("ann"), Some(2)), 1);
    // Record 6 names the erased one.
    assert_eq!(left(made), [2, 3, 4, 5, 6]);
    assert_eq!(erase(made, Some("ann"), Some(2)), 0);
    assert_eq!(erase(made, Some("nobody"), None), 0);
    assert_eq!(erase(made, Some("ann"), None), 2);
    assert_eq!(left(made), [2, 4, 6, 7]);
    let anns = RecordQuery { owner: Some("ann".to_owned()), ..RecordQuery::default() };
    assert_eq!(made.numbers(&anns), [0; 0]);
    assert_eq!(erase(made, None, Some(2)), 1);
    assert_eq!(left(made), [4, 6, 7, 8]);
    made.record(drafts([9]));
    assert_eq!(erase(made, None, None), 2);
    let report = made.verify();
    // Content was erased three times, and four records say so: those keep theirs.
    assert_eq!((report.damage, report.records, report.erased), (Vec::new(), 10, 6));
    assert_eq!(left(made), [6, 7, 8, 10]);
}

fn erasure_comes_before_the_records_of_its_batch(made: &Made) {
    made.record(drafts([1, 2]));
    let owner = Some("ann".to_owned());
    let erase = Some(Erase { owner, ..Erase::default() });
    let batch = Batch { erase, cut: Some(Timestamp(9)), records: drafts([3]), ..Batch::default() };
    let done = made.commit(batch).unwrap();
    assert_eq!(done, Committed { first_record: Some(3), erased: 2, cut: 1 });
    let erased: Vec<_> = made
        .records(&RecordQuery::default())
        .iter()
        .map(|record| record.content.is_none())
        .collect();
    assert_eq!(erased, [true, false, false], "the last one says what was erased");
    assert_eq!(made.verify().damage, []);
}

fn cut(made: &Made, moment: i64) -> u64 {
    made.commit(Batch { cut: Some(Timestamp(moment)), ..Batch::default() }).unwrap().cut
}

fn a_cut_takes_the_oldest_and_leaves_an_anchor(made: &Made) {
    assert_eq!(cut(made, 99), 0);
    made.record(drafts([10, 20, 30, 40]));
    let third = made.records(&RecordQuery::default())[2].head();
    assert_eq!(cut(made, 10), 0);
    assert_eq!(made.chain().anchor, None);
    assert_eq!(cut(made, 20), 1);
    assert_eq!(cut(made, 35), 2);
    assert_eq!(made.chain().anchor.unwrap().head(), third);
    assert_eq!(made.numbers(&RecordQuery::default()), [4]);
    assert_eq!(made.record(drafts([50])).first_record, Some(5));
    let report = made.verify();
    assert_eq!((report.damage, report.cut, report.end), (Vec::new(), 3, 5));
}

fn a_cut_stops_at_the_first_record_that_is_young_enough(made: &Made) {
    made.record(drafts([10, 50, 20, 60]));
    assert_eq!(cut(made, 40), 1);
    assert_eq!(made.numbers(&RecordQuery::default()), [2, 3, 4]);
    assert_eq!(made.verify().damage, []);
}

fn a_cut_never_takes_the_last_record(made: &Made) {
    made.record(drafts([10, 20]));
    assert_eq!(cut(made, 99), 1);
    assert_eq!(cut(made, 99), 0);
    assert_eq!(made.numbers(&RecordQuery::default()), [2]);
    assert_eq!(made.verify().damage, []);
}

fn random_batches_end_as_in_a_plain_model(made: &Made) {
    let model = memory();
    let clock = Fake::at(Timestamp(0));
    for round in 0..400 {
        let batch = random_batch(&clock, round);
        assert_eq!(made.commit(batch.clone()), model.commit(batch.clone()), "{batch:?}");
    }
    for states in [vec![], vec!["s0"], vec!["s1", "s2"]] {
        let query = Query { states, ..Query::of(Kind::Approval) };
        assert_eq!(block_on(made.store.find(&query)), block_on(model.store.find(&query)));
    }
    for key in 0..3 {
        assert_eq!(made.counter(&format!("k{key}")), model.counter(&format!("k{key}")));
    }
    assert_eq!(made.records(&RecordQuery::default()), model.records(&RecordQuery::default()));
    assert_eq!(made.chain(), model.chain());
    assert_eq!(made.verify().damage, []);
}

fn random_batch(clock: &Fake, round: i64) -> Batch {
    let dice: [u8; 16] = random(clock).unwrap();
    let id = format!("{}", dice[0] % 6);
    let version = u64::from(dice[1] % 4);
    let doc = in_state(&id, &format!("s{}", dice[2] % 3));
    let some = |chance: u8, of: u8| chance.is_multiple_of(of);
    let mut batch = Batch::default();
    match dice[3] % 5 {
        0 => batch.writes.push(Write::Delete(unchanged(&id, version))),
        1 | 2 => batch.writes.push(Write::Replace(doc, version)),
        3 => batch.writes.push(Write::Insert(doc)),
        _ => batch.unchanged.push(unchanged(&id, version)),
    }
    let key = format!("k{}", dice[4] % 3);
    let steps = [
        CountStep::Up { most: 3 },
        CountStep::Up { most: 5 },
        CountStep::Down,
        CountStep::Add { by: u64::from(dice[15] % 4), most: 6 },
        CountStep::Sub { by: u64::from(dice[15] % 4) },
    ];
    if some(dice[5], 2) {
        let step = steps.get(usize::from(dice[6] % 6)).copied().unwrap_or(CountStep::Forget);
        batch.counts.push(Count { key: key.clone(), step });
    }
    let now = Timestamp(round * 1_000);
    if some(dice[7], 3) {
        batch.paces.push(Pace { key, rate: Rate::per_minute(10), now });
    }
    let owner = format!("o{}", dice[8] % 3);
    batch.records.extend((0..dice[9] % 4).map(|_| draft(now.0, &owner)));
    if some(dice[10], 16) {
        let before = some(dice[11], 2).then_some(now);
        let owner = some(dice[12], 2).then_some(owner);
        batch.erase = Some(Erase { owner, before, at: now, ..Erase::default() });
    }
    if some(dice[13], 24) {
        batch.cut = Some(Timestamp(now.0 - i64::from(dice[14]) * 200));
    }
    batch
}
