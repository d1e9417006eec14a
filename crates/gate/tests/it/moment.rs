//! A right that is revoked after it was looked up and before it is used.

use std::fmt;
use std::sync::{Arc, Mutex};

use countersign_core::Policy;
use countersign_gate::approval::Answer;
use countersign_gate::audit::Record;
use countersign_gate::gate::{AnswerError, Lost, PersonAnswer, SpendError};
use countersign_gate::store::{
    Batch, BoxFuture, Chain, CommitError, Committed, Kind, Query, RecordQuery, Store, StoreError,
    Stored,
};
use countersign_gate::{Config, Gate, GateError, Parts};
use pollster::block_on;

use crate::world::{RISKY, World, keyring, shell, world};

type Meanwhile = Box<dyn FnOnce() + Send>;

/// A store that runs a function just before the next commit.
struct Meddling {
    inner: Arc<dyn Store>,
    meanwhile: Mutex<Option<Meanwhile>>,
}

impl fmt::Debug for Meddling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Store for Meddling {
    fn get<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        self.inner.get(kind, id)
    }

    fn find<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>> {
        self.inner.find(query)
    }

    fn count<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.inner.count(query)
    }

    fn counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.inner.counter(key)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(happens) = meanwhile {
            happens();
        }
        self.inner.commit(batch)
    }

    fn records<'a>(
        &'a self,
        query: &'a RecordQuery,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.inner.records(query)
    }

    fn chain(&self) -> BoxFuture<'_, Result<Chain, StoreError>> {
        self.inner.chain()
    }
}

/// A second gate on the store of a world, which runs this function before its next commit.
fn gate_with(world: &World, meanwhile: impl FnOnce() + Send + 'static) -> Gate {
    let store = Arc::new(Meddling { inner: world.store(), meanwhile: Mutex::new(None) });
    let gate = block_on(Gate::open(Parts {
        store: store.clone(),
        keyring: Arc::new(keyring()),
        clock: world.clock.clone(),
        processes: world.processes.clone(),
        policy: Policy::default(),
        config: Config::default(),
    }))
    .unwrap();
    *store.meanwhile.lock().unwrap() = Some(Box::new(meanwhile));
    gate
}

#[test]
fn a_key_that_is_revoked_at_the_last_moment_spends_nothing() {
    let world = world();
    let asked = world.ask(&shell(RISKY));
    world.say(&asked, Answer::Approve);
    let (other, owner) = (world.gate.clone(), world.owner.clone());
    let key = world.agent.key_id().unwrap().clone();
    let gate = gate_with(&world, move || block_on(other.revoke_key(&owner, &key)).unwrap());
    let spent = block_on(gate.spend(&world.agent, &asked, &shell(RISKY)));
    let revoked = matches!(spent, Err(SpendError::Gate(GateError::Revoked(Lost::Key))));
    assert!(revoked, "{spent:?}");
    assert!(world.approvals("started").is_empty());
    world.verify();
}

#[test]
fn a_device_that_is_signed_out_at_the_last_moment_answers_nothing() {
    for edited in [None, Some(shell("git push --force origin other").action)] {
        let world = world();
        let asked = world.ask(&shell(RISKY));
        let (other, owner) = (world.gate.clone(), world.owner.clone());
        let gate = gate_with(&world, move || block_on(other.sign_out(&owner)).unwrap());
        let reply = PersonAnswer { edited, ..PersonAnswer::plain(asked.clone(), Answer::Approve) };
        let answered = block_on(gate.answer(&world.owner, reply));
        let revoked = matches!(answered, Err(AnswerError::Gate(GateError::Revoked(Lost::Device))));
        assert!(revoked, "{answered:?}");
        assert_eq!(world.approvals("pending"), [asked]);
        world.verify();
    }
}
