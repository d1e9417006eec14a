//! The check of an audit trail, used when a server starts and by commands that verify it.

use crate::audit::{Damage, Report, Verifier};
use crate::keyring::PublicKey;
use crate::store::{RecordQuery, Store, StoreError};

/// The number of walks over a chain that seemed damaged and changed during the walk.
const TRIES: u32 = 4;

/// Walks the whole chain of a store and reports the damage. `expected` are records that were noted
/// down earlier, by number and hash; `progress` is called with the number of each record.
///
/// Others may write meanwhile: records made during the walk are not part of it.
///
/// # Errors
/// The store failed.
pub async fn check(
    store: &dyn Store,
    key: &PublicKey,
    expected: &[(u64, [u8; 32])],
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Report, StoreError> {
    let mut report = Report::default();
    for _ in 0..TRIES {
        let before;
        (report, before) = walk(store, key, expected, progress).await?;
        // An erasure or a cut during a walk looks like damage.
        if report.damage.is_empty() || store.chain().await?.end().number == before {
            break;
        }
    }
    Ok(report)
}

/// Walks once. Also returns the number at which the chain was signed to end when the walk began.
async fn walk(
    store: &dyn Store,
    key: &PublicKey,
    expected: &[(u64, [u8; 32])],
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<(Report, u64), StoreError> {
    // The note is read first: the chain read after it is never shorter.
    let noted = store.noted();
    let chain = store.chain().await?;
    let signed = chain.end().number;
    // Without a signed end, all records are read.
    let end = chain.head.as_ref().map_or(u64::MAX, |head| head.number);
    let mut verifier = Verifier::new(chain, key.clone()).with_note(&noted);
    for (number, hash) in expected {
        verifier = verifier.expecting(*number, *hash);
    }
    let mut query = RecordQuery::default();
    loop {
        let records = store.records(&query).await?;
        for record in records.iter().filter(|record| record.number <= end) {
            progress(record.number);
            verifier.next(record);
        }
        match records.last() {
            Some(last) if last.number < end => query.after = last.number,
            Some(_) | None => break,
        }
    }
    let mut report = verifier.finish();
    report.damage.extend(past_the_end(store, end).await?);
    Ok((report, signed))
}

/// Finds a record past the signed end. A record made during the walk is signed by now; any other is
/// damage.
async fn past_the_end(store: &dyn Store, end: u64) -> Result<Option<Damage>, StoreError> {
    let last = RecordQuery { order: crate::store::Order::Newest, limit: 1, ..Default::default() };
    let last = store.records(&last).await?.first().map_or(0, |record| record.number);
    if last <= end {
        return Ok(None);
    }
    let signed = store.chain().await?.end().number;
    Ok((last > signed).then_some(Damage::End { found: last, signed }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pollster::block_on;

    use super::*;
    use crate::audit::{Draft, Event, RecordOwner, erase};
    use crate::clock::{Fake, Timestamp};
    use crate::id::UserId;
    use crate::keyring::Keyring;
    use crate::store::{self, Batch, StoreUrl};

    /// More records about one user than are read at once.
    const RECORDS: u64 = 1_100;

    fn store(user: &UserId) -> (Arc<dyn Store>, PublicKey) {
        let keyring = Arc::new(Keyring::from_seed(&[7; 32]));
        let key = keyring.public();
        let store = store::open(&StoreUrl::Memory, keyring).unwrap();
        let record_owner = RecordOwner { owner: Some(user.to_string()), ..RecordOwner::default() };
        let draft = |_| {
            let (record_owner, payload) = (record_owner.clone(), "{}".to_owned());
            Draft::new(Timestamp(1), Event::ActionPlanned, record_owner, payload, [1; 16])
        };
        let records = (0..RECORDS).map(draft).collect();
        block_on(store.commit(Batch { records, ..Batch::default() })).unwrap();
        (store, key)
    }

    #[test]
    fn what_is_erased_while_somebody_checks_is_no_damage() {
        let user = UserId::from_bytes([1; 16]);
        let (store, key) = store(&user);
        let mut first = true;
        let mut erase_meanwhile = |_| {
            if std::mem::take(&mut first) {
                block_on(erase(&*store, &Fake::at(Timestamp(2)), &user, "test")).unwrap();
            }
        };
        let report = block_on(check(&*store, &key, &[], &mut erase_meanwhile)).unwrap();
        assert_eq!((report.damage, report.erased), (Vec::new(), RECORDS));
    }

    #[test]
    fn what_is_recorded_while_somebody_checks_is_no_damage() {
        let user = UserId::from_bytes([1; 16]);
        let (store, key) = store(&user);
        let mut walks = 0;
        let mut record_meanwhile = |number| {
            // During every walk, as on a busy server.
            if number == 1 {
                walks += 1;
                let record_owner = RecordOwner::default();
                let payload = "{}".to_owned();
                let draft = Draft::new(Timestamp(2), Event::Halted, record_owner, payload, [2; 16]);
                let batch = Batch { records: vec![draft], ..Batch::default() };
                block_on(store.commit(batch)).unwrap();
            }
        };
        let report = block_on(check(&*store, &key, &[], &mut record_meanwhile)).unwrap();
        assert_eq!((report.damage, report.end, walks), (Vec::new(), RECORDS, 1));
    }

    #[test]
    fn a_chain_that_is_damaged_and_does_not_change_is_walked_once() {
        let (store, key) = store(&UserId::from_bytes([1; 16]));
        let mut walked = 0;
        let mut count = |_| walked += 1;
        let report = block_on(check(&*store, &key, &[(5, [0; 32])], &mut count)).unwrap();
        assert_eq!((report.damage, walked), (vec![Damage::NotAsNoted(5)], RECORDS));
    }
}
