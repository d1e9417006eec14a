//! Counts how questions are answered, and measures how long that takes.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use countersign_gate::Gate;
use countersign_gate::event::{Event, What};
use countersign_wire::ApprovalState;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::metrics::Metrics;

/// Starts counting. Ends when the gate is dropped.
pub(crate) fn count(gate: &Arc<Gate>, metrics: &Arc<Metrics>) {
    tokio::spawn(run(Arc::downgrade(gate), Arc::clone(metrics), gate.subscribe()));
}

/// The number of approved questions that are remembered, to tell a yes that expired unused from a
/// question that nobody answered.
const REMEMBERED: usize = 1_024;

async fn run(gate: Weak<Gate>, metrics: Arc<Metrics>, mut events: Receiver<Arc<Event>>) {
    let mut approved = VecDeque::with_capacity(REMEMBERED);
    loop {
        match events.recv().await {
            Ok(event) => {
                if let What::ApprovalSettled { approval, state, .. } = &event.what {
                    let Some(gate) = gate.upgrade() else { return };
                    let asked = gate.announced(approval).await.map(|card| card.created_at).ok();
                    let now = gate.shown(gate.now());
                    let outcome = match *state {
                        ApprovalState::Expired if approved.contains(approval) => "unused",
                        state => state.as_str(),
                    };
                    if *state == ApprovalState::Approved {
                        approved.truncate(REMEMBERED - 1);
                        approved.push_front(approval.clone());
                    }
                    metrics.answered_question(outcome, asked.map(|asked| now.since(asked)));
                }
            }
            // Missed events are not counted; the log says so.
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "answers may be missing from the numbers");
            }
            Err(RecvError::Closed) => return,
        }
    }
}
