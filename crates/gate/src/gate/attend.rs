//! Askers that wait for their answer. A question whose asker is gone is withdrawn: nobody would
//! use a yes to it.
//!
//! An asker says with its proposal that it waits. From then on one of its requests must be waiting
//! at every moment, but for a few seconds between two of them, and some more for one that comes over
//! the network: a connection that broke is made again by then. Who waits is known in memory only;
//! after a restart each asker has the longer time to come back.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::approval::{Approval, Cancel};
use crate::clock::Timestamp;
use crate::document::Held;
use crate::gate::{Gate, GateError};
use crate::id::ApprovalId;

/// How long an asker on this machine may be away between two of its requests.
const AWAY: Duration = Duration::from_secs(3);
/// The same for one that comes with a key, and for everybody after a restart.
const RECONNECTS_WITHIN: Duration = Duration::from_secs(15);

/// The questions whose askers have said that they wait.
#[derive(Debug, Default)]
pub(super) struct Attendance(Mutex<HashMap<ApprovalId, Asker>>);

/// One asker.
#[derive(Debug)]
struct Asker {
    /// Its requests that wait right now.
    waiting: usize,
    /// How long it may be away.
    may_be_away: Duration,
    /// From when on it is gone, unless a request of its waits.
    gone_at: Timestamp,
}

/// One request that waits. The asker counts as away from when it is dropped.
pub(super) struct Attending<'a> {
    gate: &'a Gate,
    approval: ApprovalId,
}

impl Attendance {
    fn all(&self) -> MutexGuard<'_, HashMap<ApprovalId, Asker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions nobody waits for any more.
    fn left(&self, now: Timestamp) -> Vec<ApprovalId> {
        let all = self.all();
        let gone = |asker: &Asker| asker.waiting == 0 && now >= asker.gone_at;
        all.iter().filter(|(_, asker)| gone(asker)).map(|(id, _)| id.clone()).collect()
    }
}

impl Gate {
    /// Expects the asker of a question to wait, from now on.
    pub(super) fn expect_asker(&self, approval: &Approval) {
        let may_be_away = away(approval);
        self.expect_within(approval, may_be_away, may_be_away);
    }

    /// Expects the asker of a question that was put before a restart to come back.
    pub(super) fn expect_asker_again(&self, approval: &Approval) {
        self.expect_within(approval, away(approval), RECONNECTS_WITHIN);
    }

    fn expect_within(&self, approval: &Approval, may_be_away: Duration, first: Duration) {
        if approval.request.attended && approval.state.is_pending() {
            let asker = Asker { waiting: 0, may_be_away, gone_at: self.now().after(first) };
            self.attendance.all().entry(approval.request.id.clone()).or_insert(asker);
        }
    }

    /// Counts a request that waits, until what is returned is dropped.
    pub(super) fn attend(&self, approval: &ApprovalId) -> Attending<'_> {
        if let Some(asker) = self.attendance.all().get_mut(approval) {
            asker.waiting = asker.waiting.saturating_add(1);
        }
        Attending { gate: self, approval: approval.clone() }
    }

    /// Withdraws the questions whose askers are gone.
    pub(super) async fn withdraw_unattended(&self) -> Result<(), GateError> {
        for id in self.attendance.left(self.now()) {
            let held: Option<Held<Approval>> = self.get(id.as_str()).await?;
            if let Some(held) = held.filter(|held| held.value.state.is_pending()) {
                self.cancel(&held, Cancel::Withdrawn).await?;
            } else {
                self.attendance.all().remove(&id);
            }
        }
        Ok(())
    }
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        let now = self.gate.now();
        if let Some(asker) = self.gate.attendance.all().get_mut(&self.approval) {
            asker.waiting = asker.waiting.saturating_sub(1);
            asker.gone_at = now.after(asker.may_be_away);
        }
    }
}

/// How long the asker of a question may be away.
const fn away(approval: &Approval) -> Duration {
    if approval.request.key.is_some() { RECONNECTS_WITHIN } else { AWAY }
}
