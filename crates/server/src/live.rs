//! Live events for the connections of people and agents, over WebSocket and SSE.
//!
//! People are told only about their own things. No important event is lost: a client that was away
//! or fell behind is told again about every question that still waits.

use std::sync::Arc;

use countersign_gate::id::UserId;
use countersign_gate::{Gate, Person};

use crate::route::Route;

mod incoming;
mod sse;
mod ws;

pub(crate) fn routes() -> Vec<Route> {
    [sse::routes(), ws::routes()].concat()
}

/// A guard: the person counts as present while it lives.
pub(crate) struct Present {
    gate: Arc<Gate>,
    user: UserId,
}

impl Present {
    pub(crate) fn new(gate: &Arc<Gate>, person: &Person) -> Self {
        let user = person.user().id.clone();
        gate.arrive(&user);
        Self { gate: Arc::clone(gate), user }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.gate.leave(&self.user);
    }
}
