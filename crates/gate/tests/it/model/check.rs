//! The invariants of the store, checked after every step.

use std::collections::{BTreeMap, BTreeSet};

use countersign_gate::approval::Approval;
use countersign_gate::id::ApprovalId;
use countersign_gate::session::Session;
use countersign_gate::store::{Kind, Query, RecordQuery, Store as _, Stored};
use pollster::block_on;
use serde_json::Value;

use crate::model::reference::PEOPLE;
use crate::model::stage::Stage;
use crate::model::trace::Trace;

/// The part of the audit trail that was read so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    after: u64,
    planned: usize,
    permitted: usize,
    started: BTreeSet<String>,
}

/// Every document of a kind.
fn all(stage: &Stage, kind: Kind) -> Vec<Stored> {
    let mut query = Query::of(kind);
    let mut found = Vec::new();
    loop {
        let page = block_on(stage.store.find(&query)).unwrap();
        let Some(last) = page.last() else { return found };
        query.after = Some(last.doc.id.clone());
        found.extend(page);
    }
}

/// Every approval in the store, with its state.
pub(super) fn approvals(stage: &Stage) -> BTreeMap<ApprovalId, String> {
    let stored = all(stage, Kind::Approval).into_iter();
    stored.map(|stored| (ApprovalId::parse(&stored.doc.id).unwrap(), stored.doc.state)).collect()
}

impl Trace {
    pub(super) fn check(&mut self) {
        self.model.now = self.stage.gate().now();
        self.check_approvals();
        self.check_people();
        self.check_sessions();
        self.check_record();
        assert_eq!(block_on(self.stage.gate().is_halted()).unwrap(), self.model.halted);
    }

    /// Checks that no approval is lost or extra, and that all are signed.
    fn check_approvals(&self) {
        let stored = all(&self.stage, Kind::Approval);
        assert_eq!(stored.len(), self.model.approvals.len(), "approvals");
        for Stored { doc, .. } in stored {
            let id = ApprovalId::parse(&doc.id).unwrap();
            let known = &self.model.approvals[&id];
            assert_eq!(doc.state, known.state, "{id}");
            assert!(known.permits <= 1, "{id} was spent twice");
            if known.is_open() {
                let approval: Approval = serde_json::from_str(&doc.body).unwrap();
                approval.check(&self.stage.gate().keyring().public()).unwrap();
                assert_eq!(approval.escalated, known.escalated, "{id}");
                assert_eq!(approval.request.expires_at, known.expires_at, "{id}");
            }
        }
    }

    /// Checks that the people who are asked see a question, and nobody else does.
    fn check_people(&self) {
        for person in 0..PEOPLE {
            let user = &self.stage.people[person].user().id;
            let key = format!("user:{user}:pending");
            let counter = block_on(self.stage.store.counter(&key)).unwrap();
            assert_eq!(counter, self.model.pending(person), "what waits for {person}");
            assert!(counter <= self.model.config.most_pending);
            let waiting = block_on(self.stage.gate().waiting(&self.stage.person(person))).unwrap();
            let waiting: BTreeSet<_> = waiting.into_iter().map(|card| card.approval).collect();
            for (id, approval) in &self.model.approvals {
                let open = approval.state == "pending" && self.model.now < approval.expires_at;
                let own = approval.agent.user == person;
                let sees = self.model.sees(person, approval);
                assert!(waiting.contains(id) || !(open && own), "{person} is not asked about {id}");
                assert!(!waiting.contains(id) || (open && sees), "{person} is asked about {id}");
            }
        }
    }

    fn check_sessions(&self) {
        let stored = all(&self.stage, Kind::Session);
        assert_eq!(stored.len(), self.model.sessions.len(), "sessions");
        for Stored { doc, .. } in stored {
            let session: Session = serde_json::from_str(&doc.body).unwrap();
            let known = &self.model.sessions[&session.id];
            assert_eq!(doc.state, known.state(), "{}", session.id);
            let counted = [
                ("steps", known.steps),
                ("errors", known.errors),
                ("screenshots", known.screenshots),
                ("files", known.files),
            ];
            for (what, count) in counted {
                let stored = block_on(self.stage.store.counter(&session.counter(what))).unwrap();
                assert_eq!(stored, u64::from(count), "{what} of {}", session.id);
            }
        }
    }

    /// Checks that everything proposed, allowed or started is recorded once, in a whole chain.
    fn check_record(&mut self) {
        let report = block_on(self.stage.gate().verify()).unwrap();
        assert_eq!(report.damage, []);
        loop {
            let query = RecordQuery { after: self.seen.after, ..RecordQuery::default() };
            let records = block_on(self.stage.store.records(&query)).unwrap();
            let Some(last) = records.last() else { break };
            self.seen.after = last.number;
            for record in &records {
                let payload = &record.content.as_ref().unwrap().payload;
                self.seen.read(&record.event, &serde_json::from_str(payload).unwrap());
            }
        }
        let model = &self.model;
        assert_eq!(self.seen.planned, model.planned, "proposals on record");
        assert_eq!(self.seen.permitted, model.permitted, "permits on record");
        assert_eq!(self.seen.started.len(), model.started, "starts on record");
    }
}

impl Seen {
    fn read(&mut self, event: &str, payload: &Value) {
        let word = |name| payload.get(name).and_then(Value::as_str).unwrap_or_default();
        match (event, word("status")) {
            ("action_planned", status) => {
                self.planned += 1;
                self.permitted +=
                    usize::from(["allowed", "auto_confirmed", "remembered"].contains(&status));
            }
            ("action_executed", "started") => {
                assert!(self.started.insert(word("id").to_owned()), "started twice: {payload}");
            }
            _ => {}
        }
    }
}
