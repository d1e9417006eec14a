//! Proves offline that the chain is whole.

use std::collections::BTreeMap;
use std::fmt;

use crate::audit::{Head, Mark, Record};
use crate::keyring::{PublicKey, Purpose};
use crate::store::{Chain, RecordQuery, Store, StoreError};

/// Walks the chain, record by record, and remembers what is wrong with it.
#[derive(Debug)]
pub struct Verifier {
    key: PublicKey,
    at: Head,
    head: Option<Mark>,
    /// Checkpoints that were not reached yet, by the number of their record.
    checkpoints: BTreeMap<u64, Mark>,
    /// What somebody wrote down earlier and wants to find again.
    expected: BTreeMap<u64, [u8; 32]>,
    report: Report,
}

/// How the chain is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// How many records there are.
    pub records: u64,
    /// How many of them were erased.
    pub erased: u64,
    /// How many signed checkpoints hold.
    pub checkpoints: u64,
    /// The number of the last record that retention cut off.
    pub cut: u64,
    /// Where the chain ends.
    pub end: u64,
    /// The hash of its last record.
    pub end_hash: [u8; 32],
    /// What is wrong, in the order it was found.
    pub damage: Vec<Damage>,
}

/// Something wrong with the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Records are missing before this one.
    Gap {
        /// The record that should have been next.
        missing: u64,
        /// The one that came.
        found: u64,
    },
    /// What this record says is not what was recorded.
    Changed(u64),
    /// This record does not follow from the one before.
    Unlinked(u64),
    /// A signature is not the server's, or signs something else.
    Forged(&'static str, u64),
    /// The chain ends before, or after, where the server signed its end.
    End {
        /// The last record.
        found: u64,
        /// Where the server signed the end.
        signed: u64,
    },
    /// There is no signed end.
    NoEnd,
    /// What was written down earlier is no longer in the chain.
    NotAsNoted(u64),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap { missing, found } => {
                write!(f, "record {missing} is missing: {found} comes in its place")
            }
            Self::Changed(number) => write!(f, "record {number} was changed"),
            Self::Unlinked(number) => {
                write!(f, "record {number} does not follow from the one before it")
            }
            Self::Forged(what, number) => {
                write!(f, "the {what} at record {number} is not signed by this server")
            }
            Self::End { found, signed } => {
                write!(f, "the chain ends at record {found}, and was signed to end at {signed}")
            }
            Self::NoEnd => f.write_str("the end of the chain is not signed"),
            Self::NotAsNoted(number) => {
                write!(f, "record {number} is not the one that was noted down")
            }
        }
    }
}

impl Verifier {
    /// Begins at the signed beginning of a chain.
    #[must_use]
    pub fn new(chain: Chain, key: PublicKey) -> Self {
        let mut report = Report::default();
        let at = match &chain.anchor {
            Some(anchor) => {
                if !anchor.is_signed(Purpose::Anchor, &key) {
                    report.damage.push(Damage::Forged("anchor", anchor.number));
                }
                report.cut = anchor.number;
                anchor.head()
            }
            None => Head::genesis(),
        };
        let mut checkpoints = BTreeMap::new();
        for mark in chain.marks {
            if !mark.is_signed(Purpose::Checkpoint, &key) {
                report.damage.push(Damage::Forged("checkpoint", mark.number));
            } else if mark.number > at.number {
                checkpoints.insert(mark.number, mark);
            }
        }
        Self { key, at, head: chain.head, checkpoints, expected: BTreeMap::new(), report }
    }

    /// Also expects a record that was noted down earlier, so that not even a whole older copy of
    /// the store passes.
    #[must_use]
    pub fn expecting(mut self, number: u64, hash: [u8; 32]) -> Self {
        self.expected.insert(number, hash);
        self
    }

    /// Looks at the next record.
    pub fn next(&mut self, record: &Record) {
        let damage = &mut self.report.damage;
        let missing = self.at.number.saturating_add(1);
        if record.number != missing {
            damage.push(Damage::Gap { missing, found: record.number });
        } else if record.previous != self.at.hash {
            damage.push(Damage::Unlinked(record.number));
        }
        let content_holds =
            record.content.as_ref().is_none_or(|content| content.digest() == record.digest);
        if !content_holds || record.computed_hash() != record.hash {
            damage.push(Damage::Changed(record.number));
        }
        if let Some(mark) = self.checkpoints.remove(&record.number) {
            if mark.head() == record.head() {
                self.report.checkpoints += 1;
            } else {
                damage.push(Damage::Forged("checkpoint", record.number));
            }
        }
        if self.expected.get(&record.number).is_some_and(|hash| *hash == record.hash) {
            self.expected.remove(&record.number);
        }
        self.report.records += 1;
        self.report.erased += u64::from(record.content.is_none());
        self.at = record.head();
    }

    /// Ends: was that all?
    #[must_use]
    pub fn finish(mut self) -> Report {
        let damage = &mut self.report.damage;
        match &self.head {
            Some(head) if !head.is_signed(Purpose::Head, &self.key) => {
                damage.push(Damage::Forged("end", head.number));
            }
            Some(head) if head.head() != self.at => {
                damage.push(Damage::End { found: self.at.number, signed: head.number });
            }
            None if self.at != Head::genesis() => damage.push(Damage::NoEnd),
            Some(_) | None => {}
        }
        for number in self.checkpoints.keys() {
            damage.push(Damage::End { found: self.at.number, signed: *number });
        }
        for number in self.expected.keys() {
            damage.push(Damage::NotAsNoted(*number));
        }
        (self.report.end, self.report.end_hash) = (self.at.number, self.at.hash);
        self.report
    }
}

/// Walks the chain of a store up to where it was signed to end when the verifier was made.
///
/// # Errors
/// The store failed.
pub async fn verify(store: &dyn Store, mut verifier: Verifier) -> Result<Report, StoreError> {
    // What is recorded while we walk is not part of what we verify.
    let end = verifier.head.as_ref().map_or(u64::MAX, |head| head.number);
    let mut query = RecordQuery::default();
    loop {
        let records = store.records(&query).await?;
        records.iter().filter(|record| record.number <= end).for_each(|it| verifier.next(it));
        match records.last() {
            Some(last) if last.number < end => query.after = last.number,
            Some(_) | None => break,
        }
    }
    let mut report = verifier.finish();
    // What came meanwhile is signed by now; a record past the signed end is none of ours.
    let after = RecordQuery { after: end, limit: 1, ..RecordQuery::default() };
    if let Some(record) = store.records(&after).await?.first() {
        let signed = store.chain().await?.end().number;
        if record.number > signed {
            report.damage.push(Damage::End { found: record.number, signed });
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::audit::{Draft, Event, Subject};
    use crate::clock::Timestamp;
    use crate::keyring::Keyring;

    fn keyring() -> Keyring {
        Keyring::from_seed(&[7; 32])
    }

    /// A chain of some length, with a checkpoint in the middle.
    fn chain(length: u64) -> (Vec<Record>, Chain) {
        let mut head = Head::genesis();
        let (mut records, mut marks) = (Vec::new(), Vec::new());
        for number in 1..=length {
            let owner = Some(format!("usr_{}", number % 3));
            let record = head.link(Draft::new(
                Timestamp(i64::try_from(number).unwrap()),
                Event::ActionPlanned,
                Subject { owner, ..Subject::default() },
                json!({"kind": "shell", "number": number}).to_string(),
                [u8::try_from(number % 250).unwrap(); 16],
            ));
            head = record.head();
            if number == length / 2 {
                marks.push(head.sign(Purpose::Checkpoint, &keyring()));
            }
            records.push(record);
        }
        let head = Some(head.sign(Purpose::Head, &keyring()));
        (records, Chain { anchor: None, marks, head })
    }

    fn verify(records: &[Record], chain: &Chain) -> Report {
        let mut verifier = Verifier::new(chain.clone(), keyring().public());
        for record in records {
            verifier.next(record);
        }
        verifier.finish()
    }

    #[test]
    fn a_whole_chain_verifies_also_when_parts_were_erased() {
        let (mut records, chain) = chain(20);
        assert_eq!(verify(&records, &chain).damage, []);
        for record in records.iter_mut().skip(3).step_by(4) {
            record.content = None;
        }
        let report = verify(&records, &chain);
        assert_eq!(report.damage, []);
        assert_eq!((report.records, report.erased, report.checkpoints), (20, 5, 1));
    }

    #[test]
    fn an_empty_chain_verifies() {
        assert_eq!(verify(&[], &Chain::default()).damage, []);
    }

    #[test]
    fn whatever_is_changed_in_a_record_is_found() {
        let (records, chain) = chain(20);
        let changes: [fn(&mut Record); 6] = [
            |record| record.at = Timestamp(99),
            |record| record.event = "approval".to_owned(),
            |record| record.digest[0] ^= 1,
            |record| record.content.as_mut().unwrap().payload.push(' '),
            |record| record.content.as_mut().unwrap().subject.owner = None,
            |record| record.content.as_mut().unwrap().salt[0] ^= 1,
        ];
        for change in changes {
            let mut tampered = records.clone();
            change(&mut tampered[7]);
            assert!(verify(&tampered, &chain).damage.contains(&Damage::Changed(8)));
        }
    }

    #[test]
    fn a_record_rewritten_with_its_hash_does_not_fit_the_next() {
        let (mut records, chain) = chain(20);
        records[7].event = "approval".to_owned();
        records[7].hash = records[7].computed_hash();
        assert_eq!(verify(&records, &chain).damage, [Damage::Unlinked(9)]);
    }

    #[test]
    fn a_day_in_the_middle_cannot_vanish() {
        let (mut records, chain) = chain(20);
        records.drain(5..8);
        assert_eq!(verify(&records, &chain).damage, [Damage::Gap { missing: 6, found: 9 }]);
    }

    #[test]
    fn the_last_records_cannot_vanish_not_even_back_to_a_checkpoint() {
        let (mut records, mut chain) = chain(20);
        records.truncate(10);
        let short = verify(&records, &chain).damage;
        assert_eq!(short, [Damage::End { found: 10, signed: 20 }]);
        // The checkpoint at 10 is signed too, but not as an end.
        chain.head = chain.marks.first().cloned();
        assert_eq!(verify(&records, &chain).damage, [Damage::Forged("end", 10)]);
        chain.head = None;
        assert_eq!(verify(&records, &chain).damage, [Damage::NoEnd]);
    }

    #[test]
    fn the_first_records_vanish_only_with_a_signed_anchor() {
        let (mut records, mut chain) = chain(20);
        let cut = records.get(4).unwrap().head();
        records.drain(..5);
        assert!(!verify(&records, &chain).damage.is_empty());
        chain.anchor = Some(cut.sign(Purpose::Anchor, &keyring()));
        let report = verify(&records, &chain);
        assert_eq!((report.damage, report.cut, report.end), (Vec::new(), 5, 20));
        chain.anchor = Some(cut.sign(Purpose::Anchor, &Keyring::from_seed(&[8; 32])));
        assert_eq!(verify(&records, &chain).damage, [Damage::Forged("anchor", 5)]);
    }

    #[test]
    fn an_older_copy_of_everything_fails_against_what_was_noted_down() {
        let (newer, _) = chain(20);
        let (older, chain) = chain(10);
        let noted = newer.last().unwrap();
        let mut verifier = Verifier::new(chain, keyring().public());
        verifier = verifier.expecting(noted.number, noted.hash).expecting(3, newer[2].hash);
        for record in &older {
            verifier.next(record);
        }
        assert_eq!(verifier.finish().damage, [Damage::NotAsNoted(20)]);
    }
}
