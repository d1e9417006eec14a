//! Askers that wait for their answer. A question whose asker is gone is withdrawn, because an
//! approval would not be used.
//!
//! An asker announces in its proposal that it waits. From then on one of its requests must be
//! waiting at all times, except for a few seconds between two of them, and some more for one that
//! comes over the network: by then a broken connection is restored. The waiting requests are kept
//! in memory only; after a restart each asker has the longer time to come back.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::approval::{Approval, Cancel};
use crate::clock::Timestamp;
use crate::document::Versioned;
use crate::gate::{Gate, GateError};
use crate::id::ApprovalId;

/// The time that an asker on this machine may take between two requests.
const AWAY: Duration = Duration::from_secs(3);
/// The same for an asker with a key, and for all askers after a restart.
const RECONNECTS_WITHIN: Duration = Duration::from_secs(15);

/// The questions whose askers have announced that they wait.
#[derive(Debug, Default)]
pub(super) struct Attendance(Mutex<HashMap<ApprovalId, Asker>>);

#[derive(Debug)]
struct Asker {
    /// The number of its requests that wait right now.
    waiting: usize,
    /// The time for which it may be away.
    may_be_away: Duration,
    /// The time at which it counts as gone, unless one of its requests waits.
    gone_at: Timestamp,
}

/// One waiting request. The asker counts as away once it is dropped.
pub(super) struct Attending<'a> {
    gate: &'a Gate,
    approval: ApprovalId,
}

impl Attendance {
    fn all(&self) -> MutexGuard<'_, HashMap<ApprovalId, Asker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions whose askers are gone.
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

    /// Expects the asker of a question from before a restart to come back.
    pub(super) fn expect_asker_again(&self, approval: &Approval) {
        self.expect_within(approval, away(approval), RECONNECTS_WITHIN);
    }

    fn expect_within(&self, approval: &Approval, may_be_away: Duration, first: Duration) {
        if approval.request.attended && approval.state.is_pending() {
            let asker = Asker { waiting: 0, may_be_away, gone_at: self.now().after(first) };
            self.attendance.all().entry(approval.request.id.clone()).or_insert(asker);
        }
    }

    /// Counts a waiting request, until the returned guard is dropped.
    pub(super) fn attend(&self, approval: &ApprovalId) -> Attending<'_> {
        if let Some(asker) = self.attendance.all().get_mut(approval) {
            asker.waiting = asker.waiting.saturating_add(1);
        }
        Attending { gate: self, approval: approval.clone() }
    }

    /// Withdraws the questions whose askers are gone.
    pub(super) async fn withdraw_unattended(&self) -> Result<(), GateError> {
        for id in self.attendance.left(self.now()) {
            let versioned: Option<Versioned<Approval>> = self.get(id.as_str()).await?;
            if let Some(versioned) =
                versioned.filter(|versioned| versioned.value.state.is_pending())
            {
                self.cancel(&versioned, Cancel::Withdrawn).await?;
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

/// The time for which the asker of a question may be away.
const fn away(approval: &Approval) -> Duration {
    if approval.request.key.is_some() { RECONNECTS_WITHIN } else { AWAY }
}
