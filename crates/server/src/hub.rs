//! The hub of live events: each event of the gate is numbered, serialised once, and handed to the
//! connections of the people it is for.
//!
//! ```text
//! gate ──event──► Hub: numbered, written down once ──► one channel per user ──► their devices
//! ```
//!
//! Connections are in `live`; the hub knows neither routes nor requests.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use countersign_gate::Gate;
use countersign_gate::event::Event;
use countersign_gate::id::UserId;
use countersign_wire::Event as Live;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};

use self::compose::{plain, write_down};
use self::event::{About, Then, To};

mod compose;
mod event;
mod message;
mod work;

pub(crate) use self::compose::waiting;
pub(crate) use self::event::LiveEvent;

/// The number of events that a connection may fall behind before it reads the store again.
const BEHIND: usize = 64;
/// The number of events that are kept for clients that reconnect.
const KEPT: usize = 4_096;

/// The broadcaster of live events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hub(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    last: u64,
    kept: VecDeque<Arc<LiveEvent>>,
    people: HashMap<UserId, Listeners>,
}

#[derive(Debug)]
struct Listeners {
    sender: Sender<Arc<LiveEvent>>,
    count: usize,
}

/// The subscription of one connection; ends on drop.
pub(crate) struct Listening {
    hub: Hub,
    pub(crate) user: UserId,
    /// The number of the last event before the subscription.
    pub(crate) from: u64,
    pub(crate) events: Receiver<Arc<LiveEvent>>,
}

impl Listening {
    /// The events after a number; `None` if they are no longer kept.
    pub(crate) fn since(&self, number: u64) -> Option<Vec<Arc<LiveEvent>>> {
        self.hub.since(&self.user, number)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut inside = self.hub.inside();
        if let Some(listeners) = inside.people.get_mut(&self.user) {
            listeners.count = listeners.count.saturating_sub(1);
            if listeners.count == 0 {
                inside.people.remove(&self.user);
            }
        }
    }
}

impl Hub {
    /// Starts to broadcast.
    pub(crate) fn start(gate: &Arc<Gate>) -> Self {
        let hub = Self::default();
        let events = gate.subscribe();
        tokio::spawn(pass_on(hub.clone(), Arc::downgrade(gate), events));
        hub
    }

    /// Subscribes for a user; `None` if they have reached their limit of connections.
    pub(crate) fn listen(&self, user: &UserId, most: usize) -> Option<Listening> {
        let mut inside = self.inside();
        let from = inside.last;
        let listeners = inside
            .people
            .entry(user.clone())
            .or_insert_with(|| Listeners { sender: Sender::new(BEHIND), count: 0 });
        if listeners.count >= most {
            return None;
        }
        listeners.count += 1;
        let events = listeners.sender.subscribe();
        Some(Listening { hub: self.clone(), user: user.clone(), from, events })
    }

    /// The events for a user after a number; `None` if they are no longer kept.
    pub(crate) fn since(&self, user: &UserId, number: u64) -> Option<Vec<Arc<LiveEvent>>> {
        let inside = self.inside();
        let first = inside
            .kept
            .front()
            .map_or(inside.last.saturating_add(1), |live_event| live_event.number);
        if number > inside.last || number.saturating_add(1) < first {
            return None;
        }
        let later = inside
            .kept
            .iter()
            .filter(|live_event| live_event.number > number && live_event.is_for(user));
        Some(later.cloned().collect())
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.inside().last
    }

    fn tell(&self, mut live_event: LiveEvent) {
        let mut inside = self.inside();
        inside.last = inside.last.saturating_add(1);
        live_event.number = inside.last;
        let live_event = Arc::new(live_event);
        if inside.kept.len() >= KEPT {
            inside.kept.pop_front();
        }
        inside.kept.push_back(Arc::clone(&live_event));
        // There may be no listeners.
        let send = |listeners: &Listeners| drop(listeners.sender.send(Arc::clone(&live_event)));
        match &live_event.to {
            To::These(users) => {
                users.iter().filter_map(|user| inside.people.get(user)).for_each(send);
            }
            To::Owner(event) if event.user.is_some() => {
                let owner = event.user.as_ref().and_then(|user| inside.people.get(user));
                owner.into_iter().for_each(send);
            }
            To::Owner(_) | To::Everybody => inside.people.values().for_each(send),
        }
    }

    fn connected(&self) -> Vec<UserId> {
        self.inside().people.keys().cloned().collect()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // The state is consistent after every step, so a poisoned lock is safe to use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn pass_on(hub: Hub, gate: Weak<Gate>, mut events: Receiver<Arc<Event>>) {
    loop {
        match events.recv().await {
            Ok(event) => {
                let Some(gate) = gate.upgrade() else { return };
                if let Some(live_event) = write_down(&hub, &gate, &event).await {
                    hub.tell(live_event);
                }
            }
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "events were missed: everybody looks again");
                let missed = plain(To::Everybody, About::Everybody, &Live::Resync {});
                hub.tell(LiveEvent { then: Then::Resync, ..missed });
            }
            Err(RecvError::Closed) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use countersign_gate::clock::{Fake, Timestamp};

    use super::*;

    fn user(clock: &Fake) -> UserId {
        UserId::draw(clock).unwrap()
    }

    fn only(user: &UserId) -> To {
        To::These(HashSet::from([user.clone()]))
    }

    fn began() -> Live {
        Live::SessionStarted { session_id: None }
    }

    #[test]
    fn nobody_is_told_what_is_not_theirs() {
        let clock = Fake::at(Timestamp(0));
        let (hub, one, other) = (Hub::default(), user(&clock), user(&clock));
        let mut mine = hub.listen(&one, 5).unwrap();
        let mut theirs = hub.listen(&other, 5).unwrap();
        hub.tell(plain(only(&one), About::Question(None), &began()));
        hub.tell(plain(To::Everybody, About::Everybody, &Live::Halted {}));
        assert_eq!(mine.events.try_recv().unwrap().name, "session_started");
        assert_eq!(mine.events.try_recv().unwrap().name, "halted");
        assert_eq!(theirs.events.try_recv().unwrap().name, "halted");
        assert_eq!(hub.since(&other, 0).unwrap().len(), 1);
    }

    #[test]
    fn who_comes_back_is_told_what_they_missed_unless_it_is_too_long_ago() {
        let clock = Fake::at(Timestamp(0));
        let (hub, one) = (Hub::default(), user(&clock));
        assert!(hub.since(&one, 0).unwrap().is_empty());
        assert!(hub.since(&one, 7).is_none(), "from another run");
        for _ in 0..KEPT + 10 {
            hub.tell(plain(only(&one), About::Question(None), &began()));
        }
        let last = hub.last();
        assert_eq!(hub.since(&one, last - 3).unwrap().len(), 3);
        assert!(hub.since(&one, 5).is_none());
    }

    #[test]
    fn connections_are_limited_and_given_back() {
        let clock = Fake::at(Timestamp(0));
        let (hub, one) = (Hub::default(), user(&clock));
        let first = hub.listen(&one, 1).unwrap();
        assert!(hub.listen(&one, 1).is_none());
        drop(first);
        assert!(hub.connected().is_empty());
        assert!(hub.listen(&one, 1).is_some());
    }
}
