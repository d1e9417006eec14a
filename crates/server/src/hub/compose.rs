//! Live events from the events of the gate, with the card of the question where there is one.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use countersign_gate::event::{Event, What};
use countersign_gate::gate::Card;
use countersign_gate::id::{SessionId, UserId};
use countersign_gate::{Gate, Person};
use countersign_wire::{ApprovalCard, Event as Live};
use serde_json::json;

use super::event::{About, LiveEvent, Then, To, Words, Written, allowed, text};
use super::work::work;
use super::{Hub, message};

/// Serialises one event for everybody it concerns. Returns `None` if nobody could be told.
pub(super) async fn write_down(hub: &Hub, gate: &Gate, event: &Arc<Event>) -> Option<LiveEvent> {
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
        _ => Some(work(event).unwrap_or_else(|| other(event))),
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
fn question(card: Card, to: HashSet<UserId>) -> LiveEvent {
    let socket = message::required(&card).to_string();
    let about = About::Question(card.key.clone());
    let card = ApprovalCard::from(card);
    let person = json!(card).to_string();
    // An agent never learns the token that answers its question.
    let required = Live::ApprovalRequired(Box::new(card.without_token()));
    let agent = required.data().to_string();
    told(To::These(to), about, required.name(), Written { person, socket, agent })
}

pub(super) fn plain(to: To, about: About, event: &Live) -> LiveEvent {
    told(to, about, event.name(), Written::plain(event))
}

pub(super) fn told(to: To, about: About, name: &'static str, written: Written) -> LiveEvent {
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
    use countersign_gate::id::DeviceId;

    use super::*;

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
}
