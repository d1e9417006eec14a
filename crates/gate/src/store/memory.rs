//! An in-memory store, for tests and for trying things out: its data is gone with the process, and
//! a search scans every document of its kind.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::keyring::{Keyring, Purpose};
use crate::record::{CHECKPOINT_EVERY, Draft, Event, Head, Numbers, Record};
use crate::store::{
    Batch, BoxFuture, Chain, CommitError, Committed, Count, CountStep, Doc, Erase, Kind, Order,
    Pace, Query, RecordQuery, Store, StoreError, Stored, Unchanged, Write,
};
use crate::sync::Mutex;

/// An in-memory store.
pub(crate) struct Memory {
    keyring: Arc<Keyring>,
    state: Mutex<State>,
}

impl Memory {
    /// An empty store, whose chain this keyring signs.
    #[must_use]
    pub(crate) fn new(keyring: Arc<Keyring>) -> Self {
        Self { keyring, state: Mutex::default() }
    }
}

/// Prints none of the content.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Store for Memory {
    fn get<'a>(
        &'a self,
        kind: Kind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        Box::pin(async move { Ok(self.state.lock().docs.get(&(kind, id.to_owned())).cloned()) })
    }

    fn find<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>> {
        Box::pin(async move {
            let state = self.state.lock();
            let found = in_order(query.order, state.matching(query));
            Ok(found.take(query.limit).cloned().collect())
        })
    }

    fn count<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.state.lock().matching(query).count() as u64) })
    }

    fn counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.state.lock().counters.get(key).copied().unwrap_or(0)) })
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        Box::pin(async move { self.state.lock().commit(batch) })
    }

    fn records<'a>(
        &'a self,
        query: &'a RecordQuery,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            let state = self.state.lock();
            let beyond = match (query.order, query.after) {
                (Order::Oldest, after) => (Bound::Excluded(after), Bound::Unbounded),
                (Order::Newest, 0) => (Bound::Unbounded, Bound::Unbounded),
                (Order::Newest, before) => (Bound::Unbounded, Bound::Excluded(before)),
            };
            let records = state.records.range(beyond).map(|(_, record)| record);
            let wanted = records.filter(|record| wants(query, record));
            Ok(in_order(query.order, wanted).take(query.limit).cloned().collect())
        })
    }

    /// The chain is signed when it is read: nobody else can access the memory before.
    fn chain(&self) -> BoxFuture<'_, Result<Chain, StoreError>> {
        Box::pin(async move {
            let State { anchor, checkpoints, head, .. } = &*self.state.lock();
            let sign = |head: &Head, purpose| head.sign(purpose, &self.keyring);
            Ok(Chain {
                anchor: anchor.as_ref().map(|head| sign(head, Purpose::Anchor)),
                checkpoints: checkpoints
                    .iter()
                    .map(|head| sign(head, Purpose::Checkpoint))
                    .collect(),
                head: head.as_ref().map(|head| sign(head, Purpose::Head)),
                stray: 0,
            })
        })
    }
}

#[derive(Default)]
struct State {
    docs: BTreeMap<(Kind, String), Stored>,
    counters: HashMap<String, u64>,
    paces: HashMap<String, Timestamp>,
    records: BTreeMap<u64, Record>,
    anchor: Option<Head>,
    checkpoints: Vec<Head>,
    head: Option<Head>,
}

/// The changes of a batch. A document that is `None` is deleted.
#[derive(Default)]
struct Changes {
    docs: BTreeMap<(Kind, String), Option<Stored>>,
    counters: HashMap<String, u64>,
    paces: HashMap<String, Timestamp>,
}

impl State {
    /// First computes everything that can fail, on the side; then applies everything that cannot.
    fn commit(&mut self, batch: Batch) -> Result<Committed, CommitError> {
        let changes = self.changes(&batch)?;
        for (key, stored) in changes.docs {
            match stored {
                Some(stored) => self.docs.insert(key, stored),
                None => self.docs.remove(&key),
            };
        }
        for (key, value) in changes.counters {
            match value {
                0 => self.counters.remove(&key),
                _ => self.counters.insert(key, value),
            };
        }
        self.paces.extend(changes.paces);
        let erased = batch.erase.as_ref().map_or_else(Numbers::default, |erase| self.erase(erase));
        let cut = batch.cut.map_or(0, |moment| self.cut(moment));
        let mut first_record = None;
        for draft in batch.records {
            let number = self.append(draft);
            first_record.get_or_insert(number);
        }
        for draft in batch.erase.iter().flat_map(|erase| erase.records(&erased)) {
            self.append(draft);
        }
        Ok(Committed { first_record, erased: erased.count(), cut })
    }

    fn changes(&self, batch: &Batch) -> Result<Changes, CommitError> {
        let mut changes = Changes::default();
        for Unchanged { kind, id, version } in &batch.unchanged {
            self.expect(&changes, *kind, id, *version)?;
        }
        for write in &batch.writes {
            self.write(&mut changes, write)?;
        }
        for count in &batch.counts {
            self.step(&mut changes, count)?;
        }
        for Pace { key, rate, now } in &batch.paces {
            let empty_at = changes.paces.get(key).or_else(|| self.paces.get(key)).copied();
            let next = rate
                .take(empty_at, *now)
                .map_err(|wait| CommitError::TooFast { key: key.clone(), wait })?;
            changes.paces.insert(key.clone(), next);
        }
        Ok(changes)
    }

    /// Checks that a document has this version; 0 means that it must not exist.
    fn expect(
        &self,
        changes: &Changes,
        kind: Kind,
        id: &str,
        version: u64,
    ) -> Result<(), CommitError> {
        let key = (kind, id.to_owned());
        let stored = match changes.docs.get(&key) {
            Some(written) => written.as_ref(),
            None => self.docs.get(&key),
        };
        if stored.map_or(0, |stored| stored.version) == version {
            Ok(())
        } else {
            Err(CommitError::Conflict { kind, id: key.1 })
        }
    }

    fn write(&self, changes: &mut Changes, write: &Write) -> Result<(), CommitError> {
        let (kind, id, version) = match write {
            Write::Insert(doc) => (doc.kind, &doc.id, 0),
            Write::Replace(doc, version) => (doc.kind, &doc.id, *version),
            Write::Delete(Unchanged { kind, id, version }) => (*kind, id, *version),
        };
        if version == 0 && !matches!(write, Write::Insert(_)) {
            return Err(CommitError::Conflict { kind, id: id.clone() });
        }
        self.expect(changes, kind, id, version)?;
        let stored = match write {
            Write::Insert(doc) | Write::Replace(doc, _) => {
                Some(Stored { doc: doc.clone(), version: version.saturating_add(1) })
            }
            Write::Delete(_) => None,
        };
        changes.docs.insert((kind, id.clone()), stored);
        Ok(())
    }

    fn step(&self, changes: &mut Changes, count: &Count) -> Result<(), CommitError> {
        let Count { key, step } = count;
        let value = changes.counters.get(key).or_else(|| self.counters.get(key)).copied();
        let value = value.unwrap_or(0);
        let next = match step {
            CountStep::Up { most } if value >= *most => {
                return Err(CommitError::Full { key: key.clone(), most: *most });
            }
            CountStep::Up { .. } => value.saturating_add(1),
            CountStep::Down => value.saturating_sub(1),
            CountStep::Add { by, most } => match value.checked_add(*by) {
                Some(next) if next <= *most || *by == 0 => next,
                Some(_) | None => return Err(CommitError::Full { key: key.clone(), most: *most }),
            },
            CountStep::Sub { by } => value.saturating_sub(*by),
            CountStep::Forget => 0,
        };
        changes.counters.insert(key.clone(), next);
        Ok(())
    }

    fn erase(&mut self, erase: &Erase) -> Numbers {
        let mut erased = Numbers::default();
        for record in self.records.values_mut() {
            let Some(content) = &record.content else { continue };
            if record.event == Event::Erased.as_str() {
                continue;
            }
            let theirs = erase.owner.is_none() || erase.owner == content.record_owner.owner;
            if theirs && erase.before.is_none_or(|before| record.at < before) {
                record.content = None;
                erased.add(record.number);
            }
        }
        erased
    }

    fn cut(&mut self, moment: Timestamp) -> u64 {
        let mut cut = 0;
        while self.records.len() > 1 {
            let Some(oldest) = self.records.first_entry() else { break };
            if oldest.get().at >= moment {
                break;
            }
            self.anchor = Some(oldest.remove().head());
            cut += 1;
        }
        let begin = self.anchor.map_or(0, |anchor| anchor.number);
        self.checkpoints.retain(|checkpoint| checkpoint.number > begin);
        cut
    }

    fn append(&mut self, draft: Draft) -> u64 {
        let record = self.head.unwrap_or_else(Head::genesis).link(draft);
        let head = record.head();
        if head.number.is_multiple_of(CHECKPOINT_EVERY) {
            self.checkpoints.push(head);
        }
        self.head = Some(head);
        self.records.insert(head.number, record);
        head.number
    }

    fn matching<'a>(&'a self, query: &'a Query) -> impl DoubleEndedIterator<Item = &'a Stored> {
        let next = Kind::ALL.iter().find(|kind| **kind > query.kind);
        let end = next.map_or(Bound::Unbounded, |kind| Bound::Excluded((*kind, String::new())));
        let of_kind = self.docs.range((Bound::Included((query.kind, String::new())), end));
        of_kind.map(|(_, stored)| stored).filter(|stored| matches(query, &stored.doc))
    }
}

fn in_order<'a, T>(
    order: Order,
    found: impl DoubleEndedIterator<Item = &'a T> + 'a,
) -> Box<dyn Iterator<Item = &'a T> + 'a> {
    match order {
        Order::Oldest => Box::new(found),
        Order::Newest => Box::new(found.rev()),
    }
}

fn matches(query: &Query, doc: &Doc) -> bool {
    let beyond = query.after.as_ref().is_none_or(|after| match query.order {
        Order::Oldest => doc.id > *after,
        Order::Newest => doc.id < *after,
    });
    beyond
        && (query.owner.is_none() || query.owner == doc.owner)
        && (query.workspace.is_none() || query.workspace == doc.workspace)
        && (query.session.is_none() || query.session == doc.session)
        && (query.fingerprint.is_none() || query.fingerprint == doc.fingerprint)
        && (query.states.is_empty() || query.states.contains(&doc.state.as_str()))
        && query.due_by.is_none_or(|by| doc.due.is_some_and(|due| due <= by))
}

/// Matches a record. An erased record lacks an owner: only a query for all records finds it.
fn wants(query: &RecordQuery, record: &Record) -> bool {
    let RecordQuery { owner, workspace, session, events, from, until, .. } = query;
    let in_time =
        from.is_none_or(|from| record.at >= from) && until.is_none_or(|until| record.at < until);
    if !in_time || !(events.is_empty() || events.contains(&record.event.as_str())) {
        return false;
    }
    match &record.content {
        Some(content) => {
            (owner.is_none() || *owner == content.record_owner.owner)
                && (workspace.is_none() || *workspace == content.record_owner.workspace)
                && (session.is_none() || *session == content.record_owner.session)
        }
        None => owner.is_none() && workspace.is_none() && session.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;

    fn claim(store: &Memory, by: &str) -> bool {
        let Stored { mut doc, version } =
            block_on(store.get(Kind::Approval, "a")).unwrap().unwrap();
        if doc.state != "approved" {
            return false;
        }
        doc.state = by.to_owned();
        let writes = vec![Write::Replace(doc, version)];
        block_on(store.commit(Batch { writes, ..Batch::default() })).is_ok()
    }

    #[test]
    fn one_of_two_claims_wins_in_every_interleaving() {
        let scenario = || {
            let store = Arc::new(Memory::new(Arc::new(Keyring::from_seed(&[2; 32]))));
            let doc = Doc {
                kind: Kind::Approval,
                id: "a".to_owned(),
                owner: None,
                workspace: None,
                session: None,
                fingerprint: None,
                state: "approved".to_owned(),
                due: None,
                body: "{}".to_owned(),
            };
            let writes = vec![Write::Insert(doc)];
            block_on(store.commit(Batch { writes, ..Batch::default() })).unwrap();
            let other = Arc::clone(&store);
            let thread = shuttle::thread::spawn(move || claim(&other, "one"));
            let claims = [claim(&store, "two"), thread.join().unwrap()];
            assert_eq!(claims.iter().filter(|won| **won).count(), 1, "{claims:?}");
        };
        shuttle::check_dfs(scenario, None);
    }
}
