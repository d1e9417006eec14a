//! Requests of our own to the client or the server, and their answers.

use std::collections::HashMap;

use tokio::sync::oneshot;

use super::{Proxy, Side, lock};
use crate::mcp::json::Object;
use crate::mcp::message::{Id, Message};

/// Requests of our own that are not answered yet.
#[derive(Default)]
pub(super) struct Ours {
    last: u64,
    /// Keyed by the side that was asked: the other side cannot answer.
    pub(super) waiting: HashMap<(Side, Id), oneshot::Sender<Message>>,
}

impl Proxy {
    /// Sends a request of our own to one side.
    pub(super) async fn ask(
        &self,
        to: Side,
        method: &str,
        params: Object,
        like: Option<&Message>,
    ) -> Option<Message> {
        let (id, answer) = {
            let mut ours = lock(&self.ours);
            ours.last = ours.last.wrapping_add(1);
            // Neither side would choose this id by chance.
            let id = Id::new(format!("countersign/{}/{}", std::process::id(), ours.last));
            let (answered, answer) = oneshot::channel();
            ours.waiting.insert((to, id.clone()), answered);
            (id, answer)
        };
        let request = Message::request(&id, method, params, like);
        if self.wire.send(to, &request).is_err() {
            lock(&self.ours).waiting.remove(&(to, id));
        }
        answer.await.ok()
    }

    /// Reports whether this answers a request of our own.
    pub(super) fn answered_us(&self, by: Side, id: &Id, message: &Message) -> bool {
        let waiting = lock(&self.ours).waiting.remove(&(by, id.clone()));
        // The asker may have stopped waiting.
        waiting.is_some_and(|answered| {
            let _ = answered.send(message.clone());
            true
        })
    }
}
