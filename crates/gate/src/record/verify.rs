//! Verification of a chain, record by record.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::keyring::{PublicKey, Purpose};
use crate::record::{
    CHECKPOINT_EVERY, Chain, Checkpoint, Damage, Event, Head, Noted, Numbers, Record,
};

/// Walks the chain, record by record, and collects the damage.
#[derive(Debug)]
pub struct Verifier {
    key: PublicKey,
    at: Head,
    head: Option<Checkpoint>,
    /// Checkpoints that were not reached yet, by the number of their record.
    checkpoints: BTreeMap<u64, Checkpoint>,
    /// Records that were noted down earlier and have to be found again.
    expected: BTreeMap<u64, [u8; 32]>,
    /// True when checkpoints are expected; not when only some records are verified.
    wants_checkpoints: bool,
    /// The number that the chain had reached at least.
    noted: u64,
    /// Records without content.
    empty: Numbers,
    /// Records with content.
    full: Numbers,
    /// Records that other records name as erased.
    erased: Numbers,
    report: Report,
}

/// The condition of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The number of records.
    pub records: u64,
    /// The number of records that were erased.
    pub erased: u64,
    /// The number of valid signed checkpoints.
    pub checkpoints: u64,
    /// The number of the last record that is no longer there: cut off by retention, or dropped when
    /// the chain was begun anew.
    pub cut: u64,
    /// The number of the last record.
    pub end: u64,
    /// The hash of its last record.
    pub end_hash: [u8; 32],
    /// Records that say that the chain was begun anew after damage.
    pub begun_anew: Vec<u64>,
    /// The damage, in the order in which it was found.
    pub damage: Vec<Damage>,
}

impl Verifier {
    /// Begins at the signed beginning of a chain.
    #[must_use]
    pub fn new(chain: Chain, key: PublicKey) -> Self {
        let mut report = Report::default();
        if chain.stray > 0 {
            report.damage.push(Damage::Stray(chain.stray));
        }
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
        for mark in chain.checkpoints {
            if !mark.is_signed(Purpose::Checkpoint, &key) {
                report.damage.push(Damage::Forged("checkpoint", mark.number));
            } else if mark.number > at.number {
                checkpoints.insert(mark.number, mark);
            }
        }
        Self {
            key,
            at,
            head: chain.head,
            checkpoints,
            expected: BTreeMap::new(),
            wants_checkpoints: true,
            noted: 0,
            empty: Numbers::default(),
            full: Numbers::default(),
            erased: Numbers::default(),
            report,
        }
    }

    /// Also expects a record that was noted down earlier, so that an older copy of the whole store
    /// is detected.
    #[must_use]
    pub fn expecting(mut self, number: u64, hash: [u8; 32]) -> Self {
        self.expected.insert(number, hash);
        self
    }

    /// Also expects the chain to reach the end that the server noted outside the store.
    #[must_use]
    pub fn with_note(mut self, noted: &Noted) -> Self {
        let damage = &mut self.report.damage;
        match noted {
            Noted::NotKept => {}
            Noted::Missing => damage.push(Damage::NoteMissing),
            Noted::Unreadable => damage.push(Damage::NoteUnreadable),
            Noted::At(mark) if !mark.is_signed(Purpose::Noted, &self.key) => {
                damage.push(Damage::Forged("noted end", mark.number));
            }
            Noted::At(mark) => {
                self.noted = mark.number;
                // A record that retention has cut off since cannot be found again.
                if mark.number > self.at.number {
                    self.expected.insert(mark.number, mark.hash);
                }
            }
        }
        self
    }

    /// Verifies the next record.
    pub fn next(&mut self, record: &Record) {
        let damage = &mut self.report.damage;
        let missing = self.at.number.saturating_add(1);
        if record.number != missing {
            damage.push(Damage::Gap { missing, found: record.number });
        } else if record.previous != self.at.hash {
            damage.push(Damage::Unlinked(record.number));
        }
        let content_holds = record.content_holds();
        if !content_holds || record.computed_hash() != record.hash {
            damage.push(Damage::Changed(record.number));
        }
        if let Some(mark) = self.checkpoints.remove(&record.number) {
            if mark.head() == record.head() {
                self.report.checkpoints += 1;
            } else {
                damage.push(Damage::Forged("checkpoint", record.number));
            }
        } else if record.number.is_multiple_of(CHECKPOINT_EVERY) && self.wants_checkpoints {
            damage.push(Damage::NoCheckpoint(record.number));
        }
        if self.expected.get(&record.number).is_some_and(|hash| *hash == record.hash) {
            self.expected.remove(&record.number);
        }
        if record.content.is_none() {
            self.empty.add(record.number);
        } else {
            self.full.add(record.number);
        }
        self.heed(record);
        self.report.records += 1;
        self.report.erased += u64::from(record.content.is_none());
        self.at = record.head();
    }

    /// Reads a record's statements about others: that they were erased, or that the chain was begun
    /// anew.
    pub(crate) fn heed(&mut self, record: &Record) {
        let Some(content) = record.content.as_ref().filter(|_| record.content_holds()) else {
            return;
        };
        if record.event == Event::BegunAnew.as_str() {
            self.report.begun_anew.push(record.number);
        }
        if record.event != Event::Erased.as_str() {
            return;
        }
        let payload: Option<Value> = serde_json::from_str(&content.payload).ok();
        let named = payload.as_ref().and_then(|payload| payload.get("records")?.as_str());
        for (first, last) in named.and_then(Numbers::parse).unwrap_or_default().ranges() {
            // A record can only name records before it.
            self.erased.add_range(first, last.min(record.number.saturating_sub(1)));
        }
    }

    /// Walks only the beginning of a chain, without its checkpoints. The records in `erased` count
    /// as erased, although no record names them yet.
    pub(crate) fn for_beginning(mut self, erased: &Numbers) -> Self {
        self.wants_checkpoints = false;
        erased.ranges().for_each(|(first, last)| self.erased.add_range(first, last));
        self
    }

    /// Ends the walk and reports.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.check_erasures();
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
        if self.noted > self.at.number {
            damage.push(Damage::Shortened { found: self.at.number, noted: self.noted });
            self.expected.remove(&self.noted);
        }
        for number in self.expected.keys() {
            damage.push(Damage::NotAsNoted(*number));
        }
        (self.report.end, self.report.end_hash) = (self.at.number, self.at.hash);
        self.report
    }

    /// The damage among the records verified so far, when more of them follow.
    pub(crate) fn so_far(mut self) -> Vec<Damage> {
        self.check_erasures();
        self.report.damage
    }

    fn check_erasures(&mut self) {
        let emptied = self.empty.without(&self.erased);
        let restored = self.full.common(&self.erased);
        let damage = &mut self.report.damage;
        damage.extend(emptied.ranges().map(|(first, last)| Damage::Emptied { first, last }));
        damage.extend(restored.ranges().map(|(first, last)| Damage::Restored { first, last }));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::Timestamp;
    use crate::keyring::Keyring;
    use crate::record::{Draft, RecordOwner, erasure_records};

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
                RecordOwner { owner, ..RecordOwner::default() },
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
        (records, Chain { checkpoints: marks, head, ..Chain::default() })
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
        let emptied = |number| Damage::Emptied { first: number, last: number };
        let unnamed: Vec<_> = [4, 8, 12, 16, 20].map(emptied).into();
        assert_eq!(verify(&records, &chain).damage, unnamed);
        let chain = name_erased(&mut records, "4,8,12,16,20");
        let report = verify(&records, &chain);
        assert_eq!(report.damage, []);
        assert_eq!((report.records, report.erased, report.checkpoints), (21, 5, 0));
        assert!(report.begun_anew.is_empty());
    }

    #[test]
    fn a_chain_that_was_begun_anew_says_where() {
        let (mut records, _) = chain(3);
        let (record_owner, payload) = (RecordOwner::default(), "{}".to_owned());
        let draft = Draft::new(Timestamp(9), Event::BegunAnew, record_owner, payload, [1; 16]);
        let record = records.last().unwrap().head().link(draft);
        let head = Some(record.head().sign(Purpose::Head, &keyring()));
        records.push(record);
        let report = verify(&records, &Chain { head, ..Chain::default() });
        assert_eq!((report.damage, report.begun_anew), (Vec::new(), vec![4]));
    }

    /// Appends a record that names others as erased, and signs the new end.
    fn name_erased(records: &mut Vec<Record>, numbers: &str) -> Chain {
        let head = records.last().unwrap().head();
        let numbers = Numbers::parse(numbers).unwrap();
        let draft = erasure_records("request", Timestamp(99), [1; 16], &numbers).remove(0);
        let record = head.link(draft);
        let head = Some(record.head().sign(Purpose::Head, &keyring()));
        records.push(record);
        Chain { head, ..Chain::default() }
    }

    #[test]
    fn erasure_is_believed_only_from_a_record_that_holds_and_comes_later() {
        let (mut records, _) = chain(5);
        records[1].content = None;
        let whole = name_erased(&mut records, "2,6-9");
        assert_eq!(verify(&records, &whole).damage, []);
        // Erased content that is present again.
        let (untouched, _) = chain(5);
        let mut restored = records.clone();
        restored[1].content = untouched[1].content.clone();
        let damage = verify(&restored, &whole).damage;
        assert_eq!(damage, [Damage::Restored { first: 2, last: 2 }]);
        // The record that names them, with its list widened, or itself emptied.
        let mut widened = records.clone();
        widened[2].content = None;
        let content = widened[5].content.as_mut().unwrap();
        content.payload = content.payload.replace('2', "2-3");
        let damage = verify(&widened, &whole).damage;
        assert!(damage.contains(&Damage::Emptied { first: 2, last: 3 }), "{damage:?}");
        records[5].content = None;
        let damage = verify(&records, &whole).damage;
        let emptied = |number| Damage::Emptied { first: number, last: number };
        assert_eq!(damage, [emptied(2), emptied(6)]);
    }

    #[test]
    fn what_was_noted_beside_the_key_is_the_least_there_is() {
        let (records, whole) = chain(20);
        let note = |number: u64, purpose| {
            let head = match number {
                0 => Head::genesis(),
                _ => records[usize::try_from(number).unwrap() - 1].head(),
            };
            Noted::At(head.sign(purpose, &keyring()))
        };
        let damage = |records: &[Record], chain: &Chain, noted: &Noted| {
            let verifier = Verifier::new(chain.clone(), keyring().public());
            let mut verifier = verifier.with_note(noted);
            for record in records {
                verifier.next(record);
            }
            verifier.finish().damage
        };
        for number in [0, 1, 10, 20] {
            assert_eq!(damage(&records, &whole, &note(number, Purpose::Noted)), []);
        }
        assert_eq!(damage(&[], &Chain::default(), &note(0, Purpose::Noted)), []);
        let gone = damage(&[], &Chain::default(), &note(7, Purpose::Noted));
        assert_eq!(gone, [Damage::Shortened { found: 0, noted: 7 }]);
        assert_eq!(damage(&records, &whole, &Noted::Missing), [Damage::NoteMissing]);
        assert_eq!(damage(&records, &whole, &Noted::Unreadable), [Damage::NoteUnreadable]);
        let forged = damage(&records, &whole, &note(20, Purpose::Head));
        assert_eq!(forged, [Damage::Forged("noted end", 20)]);
        let other = Head { hash: [9; 32], ..records[4].head() };
        let other = Noted::At(other.sign(Purpose::Noted, &keyring()));
        assert_eq!(damage(&records, &whole, &other), [Damage::NotAsNoted(5)]);
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
            |record| record.content.as_mut().unwrap().record_owner.owner = None,
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
        chain.head = chain.checkpoints.first().cloned();
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
