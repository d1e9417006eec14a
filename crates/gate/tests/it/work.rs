//! How much is read to find what an agent asks about once more, however many questions wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign_core::Policy;
use countersign_gate::approval::Answer;
use countersign_gate::audit::Record;
use countersign_gate::rate::Rate;
use countersign_gate::session::Plan;
use countersign_gate::store::{
    Batch, BoxFuture, Chain, CommitError, Committed, Kind, Query, RecordQuery, Store, StoreError,
    Stored,
};
use countersign_gate::{Config, Gate, Parts, Proposal, Submitted};
use pollster::block_on;

use crate::world::{RISKY, Setup, World, keyring, shell};

/// A store that counts the approvals that its searches find.
#[derive(Debug)]
struct Counting {
    store: Arc<dyn Store>,
    found: AtomicUsize,
}

impl Store for Counting {
    fn get<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        self.store.get(kind, id)
    }

    fn find<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>> {
        Box::pin(async move {
            let found = self.store.find(query).await?;
            if query.kind == Kind::Approval {
                self.found.fetch_add(found.len(), Ordering::SeqCst);
            }
            Ok(found)
        })
    }

    fn count<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.store.count(query)
    }

    fn counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.store.counter(key)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        self.store.commit(batch)
    }

    fn records<'a>(
        &'a self,
        query: &'a RecordQuery,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.store.records(query)
    }

    fn chain(&self) -> BoxFuture<'_, Result<Chain, StoreError>> {
        self.store.chain()
    }
}

fn crowded() -> Config {
    let unhurried = Rate { uses: u32::MAX, seconds: 1 };
    Config { most_pending: 100_000, prompts: unhurried, ..Config::default() }
}

fn on_disk() -> Setup {
    Setup { config: crowded(), on_disk: true, ..Setup::default() }
}

fn push(branch: usize) -> Proposal {
    shell(&format!("git push --force origin b{branch}"))
}

fn in_run(proposal: Proposal) -> Proposal {
    Proposal { run: Some("one".to_owned()), ..proposal }
}

#[test]
fn asking_reads_only_questions_about_the_same_action() {
    let world = World::new(on_disk());
    let session = world.session(Plan::default());
    let ways: [&dyn Fn(Proposal) -> Proposal; 3] =
        [&|plain| plain, &in_run, &|plain| plain.within(&session)];
    for way in ways {
        for branch in 0..20 {
            let asked = world.ask(&way(push(branch)));
            if branch % 2 == 0 {
                world.say(&asked, Answer::Approve);
            }
        }
    }
    let store = Arc::new(Counting { store: world.store(), found: AtomicUsize::new(0) });
    let gate = block_on(Gate::open(Parts {
        store: store.clone(),
        keyring: Arc::new(keyring()),
        clock: world.clock.clone(),
        processes: world.processes.clone(),
        policy: Policy::default(),
        config: crowded(),
    }))
    .unwrap();
    let read_by = |proposal: &Proposal| {
        store.found.store(0, Ordering::SeqCst);
        let submitted = block_on(gate.submit(&world.agent, proposal)).unwrap();
        assert!(matches!(submitted, Submitted::Waiting(_)), "{submitted:?}");
        store.found.load(Ordering::SeqCst)
    };
    for (branch, way) in (1_000..).zip(ways) {
        assert_eq!(read_by(&way(push(branch))), 0, "nobody has asked about it");
    }
    // All three are agreed to, and the first is asked about once more; a session has its own.
    let [plain, run, within] = ways.map(|way| read_by(&way(push(2))));
    assert_eq!([plain, run, within], [3, 4, 1]);
}

#[test]
fn a_question_is_found_again_among_thousands() {
    let world = World::new(Setup { config: crowded(), ..Setup::default() });
    for branch in 0..1_001 {
        world.ask(&in_run(push(branch)));
        if branch % 500 == 0 {
            world.pass(60);
        }
    }
    let last = in_run(shell(RISKY));
    let asked = world.ask(&last);
    assert_eq!(world.ask(&last), asked, "it waits already");
}

#[test]
fn a_question_from_before_there_were_fingerprints_is_found_again() {
    let world = World::new(on_disk());
    let (waits, agreed) = (in_run(push(1)), in_run(push(2)));
    let asked = [world.ask(&waits), world.ask(&agreed)];
    world.say(&asked[1], Answer::Approve);
    world.sql(
        "DROP INDEX docs_by_fingerprint;
         ALTER TABLE docs DROP COLUMN fingerprint;
         INSERT INTO docs (kind, id, version, state, body)
             VALUES ('approval', 'x', 1, 'pending', 'not JSON');
         PRAGMA user_version = 1;",
    );
    let world = world.restart(on_disk());
    assert_eq!([world.ask(&waits), world.ask(&agreed)], asked);
}
