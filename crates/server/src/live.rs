//! Live events: one stream of events, over WebSocket and SSE.
//!
//! ```text
//! gate ──event──► Hub: numbered, written down once ──► one channel per user ──► their devices
//! ```
//!
//! People are told only about their own things. No important event is lost: a client that was away
//! or fell behind is told again about every question that still waits.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use countersign_gate::event::{Event, What};
use countersign_gate::gate::Card;
use countersign_gate::id::{ActionId, DeviceId, KeyId, SessionId, UserId, WorkspaceId};
use countersign_gate::{Gate, Person};
use countersign_wire::{ApprovalCard, Event as Live};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};

use crate::route::Route;

mod incoming;
mod message;
mod sse;
mod work;
mod ws;

/// The number of events that a connection may fall behind before it reads the store again.
const BEHIND: usize = 64;
/// The number of events that are kept for clients that reconnect.
const KEPT: usize = 4_096;

pub(crate) fn routes() -> Vec<Route> {
    [sse::routes(), ws::routes()].concat()
}

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

/// One event, serialised once for all recipients.
#[derive(Debug)]
pub(crate) struct LiveEvent {
    pub(crate) number: u64,
    to: To,
    /// The name of the event.
    pub(crate) name: &'static str,
    words: Words,
    about: About,
    then: Then,
}

/// The consequence of an event for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Then {
    Nothing,
    /// Events were missed: the store is read again.
    Resync,
    /// Somebody's rights have changed: the listener is looked up again.
    Check,
    /// A device is signed out; every device of the user, if `None`.
    SignOut(Option<DeviceId>),
}

/// The serialised forms of an event.
#[derive(Debug)]
pub(crate) struct Written {
    /// For people, as JSON. May contain the token that answers a question.
    pub(crate) person: String,
    /// For devices on a WebSocket.
    pub(crate) socket: String,
    /// For agents, as JSON.
    pub(crate) agent: String,
}

/// The recipients of an event.
#[derive(Debug)]
enum To {
    Everybody,
    /// The owner of the event; everybody, if it has none.
    Owner(Arc<Event>),
    These(HashSet<UserId>),
}

/// The serialised event, now or on demand.
#[derive(Debug)]
enum Words {
    Written(Written),
    /// An action was allowed. That happens all the time and hardly anybody listens, so it is
    /// serialised when it is first needed.
    Allowed {
        event: Arc<Event>,
        written: OnceLock<Written>,
    },
}

/// The criterion by which an agent's own events are told from those of others.
#[derive(Debug)]
enum About {
    /// A question, asked with this key.
    Question(Option<KeyId>),
    /// An event of a workspace, or of everybody. Events of devices are for their owner only.
    Event(Arc<Event>),
    Everybody,
}

impl LiveEvent {
    /// The serialised forms, created on first use.
    pub(crate) fn written(&self) -> &Written {
        match &self.words {
            Words::Written(written) => written,
            Words::Allowed { event, written } => written.get_or_init(|| {
                let body = match &event.what {
                    What::ActionAllowed { action } => allowed(action, event.session.as_ref()),
                    _ => Live::Resync {},
                };
                Written::plain(&body)
            }),
        }
    }

    /// Reports whether events were missed before this one.
    pub(crate) fn is_gap(&self) -> bool {
        self.then == Then::Resync
    }

    /// Reports whether somebody's rights have changed, so that the listener must be looked up
    /// again.
    pub(crate) fn changes_rights(&self) -> bool {
        matches!(self.then, Then::Check | Then::SignOut(_))
    }

    /// Reports whether this signs a device out. A person without a device is signed out only with
    /// all of their devices.
    pub(crate) fn signs_out(&self, device: Option<&DeviceId>) -> bool {
        match &self.then {
            Then::SignOut(None) => true,
            Then::SignOut(Some(signed_out)) => device == Some(signed_out),
            Then::Nothing | Then::Resync | Then::Check => false,
        }
    }

    /// Reports whether it concerns users other than this one.
    pub(crate) fn is_others(&self, user: &UserId) -> bool {
        match &self.to {
            To::Everybody => false,
            To::Owner(event) => event.user.as_ref().is_some_and(|owner| owner != user),
            To::These(users) => users.iter().any(|other| other != user),
        }
    }

    fn is_for(&self, user: &UserId) -> bool {
        match &self.to {
            To::Everybody => true,
            To::Owner(event) => event.user.as_ref().is_none_or(|owner| owner == user),
            To::These(users) => users.contains(user),
        }
    }

    /// Reports whether an agent with this key, in this workspace, may be told.
    pub(crate) fn is_for_agent(&self, key: Option<&KeyId>, workspace: &WorkspaceId) -> bool {
        match &self.about {
            About::Question(asked_with) => asked_with.as_ref() == key,
            About::Event(event) => match &event.workspace {
                Some(of) => of == workspace,
                None => event.user.is_none(),
            },
            About::Everybody => true,
        }
    }
}

impl Written {
    fn plain(event: &Live) -> Self {
        let body = event.data();
        Self::of(&body, &json!({"type": event.name(), "payload": body}))
    }

    /// The same JSON for people and agents, another for devices.
    fn of(body: &Value, socket: &Value) -> Self {
        let (person, socket) = (body.to_string(), socket.to_string());
        let agent = person.clone();
        Self { person, socket, agent }
    }
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

/// Serialises one event for everybody it concerns. Returns `None` if nobody could be told.
async fn write_down(hub: &Hub, gate: &Gate, event: &Arc<Event>) -> Option<LiveEvent> {
    match &event.what {
        What::ApprovalRequired { approval } | What::ApprovalEscalated { approval } => {
            let card = gate.announced(approval).await.ok()?;
            let to = concerned(hub, gate, &card).await;
            Some(question(card, to))
        }
        What::ApprovalVoted { approval } => {
            let card = gate.announced(approval).await.ok()?;
            let to = concerned(hub, gate, &card).await;
            let voted = Live::ApprovalVoted {
                approval_id: card.approval.to_string(),
                session_id: text(card.session.as_ref()),
                have: card.have,
                need: card.need,
            };
            Some(plain(To::These(to), About::Question(card.key), &voted))
        }
        What::ApprovalSettled { approval, state, by } => {
            let card = gate.announced(approval).await.ok()?;
            let to = concerned(hub, gate, &card).await;
            let decision = card.state.decision();
            let settled = Live::ApprovalSettled {
                approval_id: card.approval.to_string(),
                session_id: text(card.session.as_ref()),
                state: *state,
                by: text(by.as_ref()),
                feedback: decision.and_then(|decision| decision.feedback.clone()),
            };
            let socket = message::settled(&card, *state, by.as_ref());
            let written = Written::of(&settled.data(), &socket);
            Some(told(To::These(to), About::Question(card.key), settled.name(), written))
        }
        _ => Some(work::work(event).unwrap_or_else(|| other(event))),
    }
}

/// Returns the users that a question concerns: its owner, and the connected users who are asked to
/// answer it.
async fn concerned(hub: &Hub, gate: &Gate, card: &Card) -> HashSet<UserId> {
    let mut users = HashSet::from([card.user.clone()]);
    if card.requester_excluded || card.escalated {
        for user in hub.connected() {
            if gate.concerns(&user, &card.approval).await.unwrap_or(false) {
                users.insert(user);
            }
        }
    }
    users
}

/// A question that waits, for people and for the agent that asks it.
pub(crate) fn question(card: Card, to: HashSet<UserId>) -> LiveEvent {
    let socket = message::required(&card).to_string();
    let about = About::Question(card.key.clone());
    let card = ApprovalCard::from(card);
    let person = json!(card).to_string();
    // An agent never learns the token that answers its question.
    let required = Live::ApprovalRequired(Box::new(card.without_token()));
    let agent = required.data().to_string();
    told(To::These(to), about, required.name(), Written { person, socket, agent })
}

fn plain(to: To, about: About, event: &Live) -> LiveEvent {
    told(to, about, event.name(), Written::plain(event))
}

fn told(to: To, about: About, name: &'static str, written: Written) -> LiveEvent {
    LiveEvent { number: 0, to, name, words: Words::Written(written), about, then: Then::Nothing }
}

fn other(event: &Arc<Event>) -> LiveEvent {
    let (to, about) = (To::Owner(Arc::clone(event)), About::Event(Arc::clone(event)));
    let session = event.session.as_ref();
    let live = live(&event.what, session);
    match &event.what {
        What::ActionAllowed { .. } => {
            let words = Words::Allowed { event: Arc::clone(event), written: OnceLock::new() };
            LiveEvent { number: 0, to, name: live.name(), words, about, then: Then::Nothing }
        }
        What::ActionReported { action, state } => {
            let written = Written::of(&live.data(), &message::completed(action, *state));
            told(to, about, live.name(), written)
        }
        what => LiveEvent { then: then(what), ..plain(to, about, &live) },
    }
}

fn then(what: &What) -> Then {
    match what {
        What::SignedOut { device } => Then::SignOut(device.clone()),
        What::RightsChanged => Then::Check,
        What::ApprovalRequired { .. }
        | What::ApprovalEscalated { .. }
        | What::ApprovalVoted { .. }
        | What::ApprovalSettled { .. }
        | What::ActionAllowed { .. }
        | What::ActionReported { .. }
        | What::ActionBegan { .. }
        | What::ActionPiece { .. }
        | What::ActionEnded { .. }
        | What::SessionStarted
        | What::SessionPaused
        | What::SessionResumed
        | What::SessionMode
        | What::SessionEnded { .. }
        | What::DeviceWaiting { .. }
        | What::Halted
        | What::Resumed => Then::Nothing,
    }
}

/// The event as it is sent to those whom it concerns.
fn live(what: &What, session: Option<&SessionId>) -> Live {
    let session_id = text(session);
    match what {
        What::SessionStarted => Live::SessionStarted { session_id },
        What::SessionPaused => Live::SessionPaused { session_id },
        What::SessionResumed => Live::SessionResumed { session_id },
        What::SessionMode => Live::SessionMode { session_id },
        What::SessionEnded { reason } => {
            Live::SessionEnded { session_id, reason: (*reason).to_owned() }
        }
        What::DeviceWaiting { device } => Live::DeviceWaiting { device_id: device.to_string() },
        What::SignedOut { device } => Live::SignedOut { device_id: text(device.as_ref()) },
        What::RightsChanged => Live::RightsChanged {},
        What::Halted => Live::Halted {},
        What::Resumed => Live::Resumed {},
        What::ActionAllowed { action } => allowed(action, session),
        What::ActionReported { action, state } => {
            Live::ActionReported { action_id: action.to_string(), session_id, state: *state }
        }
        // These are written with the card of their question, above, or in `work`.
        What::ApprovalRequired { .. }
        | What::ApprovalEscalated { .. }
        | What::ApprovalVoted { .. }
        | What::ApprovalSettled { .. }
        | What::ActionBegan { .. }
        | What::ActionPiece { .. }
        | What::ActionEnded { .. } => Live::Resync {},
    }
}

fn allowed(action: &ActionId, session: Option<&SessionId>) -> Live {
    Live::ActionAllowed { action_id: action.to_string(), session_id: text(session) }
}

fn text(id: Option<&impl ToString>) -> Option<String> {
    id.map(ToString::to_string)
}

/// Returns the questions that wait for a person, for a device that connects.
pub(crate) async fn waiting(gate: &Gate, person: &Person, last: u64) -> Vec<Arc<LiveEvent>> {
    // An error is reported when the questions are requested: the device shows it then.
    let cards = gate.waiting(person).await.unwrap_or_default();
    let user = &person.user().id;
    // An admin of a workspace may see all its questions, but is told only about the ones they are
    // asked to answer.
    let live_event = cards.into_iter().filter(|card| card.asks(user)).map(|card| {
        let whose = HashSet::from([card.user.clone(), user.clone()]);
        Arc::new(LiveEvent { number: last, ..question(card, whose) })
    });
    live_event.collect()
}

#[cfg(test)]
mod tests {
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
    fn a_sign_out_concerns_the_device_that_it_names() {
        let event = |device: Option<&DeviceId>| {
            let what = What::SignedOut { device: device.cloned() };
            let (user, workspace, session) = (None, None, None);
            other(&Arc::new(Event { user, workspace, session, what }))
        };
        let named = DeviceId::parse("dev_11111111111111111111111111").unwrap();
        let another = DeviceId::parse("dev_00000000000000000000000000").unwrap();
        let one = event(Some(&named));
        assert!(one.signs_out(Some(&named)));
        assert!(!one.signs_out(Some(&another)) && !one.signs_out(None));
        let all = event(None);
        assert!(all.signs_out(Some(&another)) && all.signs_out(None));
        assert!(one.changes_rights() && all.changes_rights() && !one.is_gap());
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
