//! The state of the screen of `countersign watch`: keys and events in, requests out.
//!
//! Pure: no clock, no terminal, no server.
//!
//! ```text
//! Looking ──r──► Feedback ──Enter──► Request::Answer(no)
//!    │──h──► Halting ──"yes", Enter──► Request::Halt
//!    │──?──► Help
//!    └──a, s──► Request::Answer(yes)      not within 400 ms after the card changed
//! ```
//!
//! An approval is meant for the card that the person has read. When the card under the cursor
//! changes by itself (the one before was answered elsewhere, or its time was up), a key that was
//! already pressed must not answer the next one.

use std::collections::BTreeSet;
use std::time::Duration;

use countersign_gate::clock::Timestamp;
use countersign_wire::{ApprovalCard, Event as Live};

use crate::card::Shown as _;
use crate::client::Event;
use crate::show::one_line;

/// Nobody reads a card in less time.
const QUICKEST: Duration = Duration::from_millis(400);
/// The time for which a note is shown.
const NOTED: Duration = Duration::from_secs(8);
const MOST_TYPED: usize = 500;

/// A pressed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Escape,
    Backspace,
    Interrupt,
}

/// An input of the model.
#[derive(Debug)]
pub(super) enum Input {
    Key(Key),
    /// The connection is open.
    Connected,
    /// The connection is lost; it is tried again.
    Lost(String),
    Event(Event),
    /// The pending questions, as the server lists them.
    Waiting(Vec<ApprovalCard>),
    /// True when everything is halted.
    Halted(bool),
    /// The result of a request about one question, or about everything.
    Replied {
        id: Option<String>,
        said: Result<String, String>,
    },
    Tick,
}

/// A request that the model makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Answer {
        id: String,
        say: Choice,
    },
    Halt,
    /// Fetch the pending questions, and whether everything is halted.
    Look,
    Quit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    Once,
    Session,
    No { feedback: String },
}

/// The meaning of the keys at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Looking,
    /// The reason for a rejection, for the agent. Belongs to one question even if the cursor moves.
    Feedback {
        id: String,
        text: String,
    },
    /// Typing `yes` halts everything.
    Halting {
        text: String,
    },
    Help,
}

/// The state of the connection to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    Connecting,
    Online,
    Offline(String),
}

/// The whole state of the screen.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) server: String,
    /// Oldest first, so that a new card comes last and moves no other.
    pub(super) cards: Vec<ApprovalCard>,
    pub(super) selected: usize,
    pub(super) scroll: u16,
    pub(super) mode: Mode,
    pub(super) link: Link,
    pub(super) halted: bool,
    pub(super) answering: BTreeSet<String>,
    note: Option<(String, Timestamp)>,
    changed_at: Timestamp,
}

impl Model {
    /// Returns the state before anything is known.
    pub(super) fn new(server: String, now: Timestamp) -> Self {
        Self {
            server,
            cards: Vec::new(),
            selected: 0,
            scroll: 0,
            mode: Mode::Looking,
            link: Link::Connecting,
            halted: false,
            answering: BTreeSet::new(),
            note: None,
            changed_at: now,
        }
    }

    /// Returns the card under the cursor.
    pub(super) fn current(&self) -> Option<&ApprovalCard> {
        self.cards.get(self.selected)
    }

    /// Returns the note that is shown for a while.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_ref().map(|(text, _)| text.as_str())
    }

    /// Processes an input, and returns the requests that follow from it.
    pub(super) fn take(&mut self, input: Input, now: Timestamp) -> Vec<Request> {
        let before = self.current().map(|card| card.approval_id.clone());
        let requests = match input {
            Input::Key(key) => self.press(key, now),
            Input::Event(event) => self.hear(&event, now),
            Input::Connected => {
                self.link = Link::Online;
                vec![Request::Look]
            }
            Input::Lost(why) => {
                self.link = Link::Offline(one_line(&why).into_owned());
                Vec::new()
            }
            Input::Waiting(cards) => {
                self.replace(cards);
                Vec::new()
            }
            Input::Halted(halted) => {
                self.halted = halted;
                Vec::new()
            }
            Input::Replied { id, said } => {
                self.replied(id.as_deref(), said, now);
                Vec::new()
            }
            Input::Tick => {
                self.pass(now);
                Vec::new()
            }
        };
        if self.current().map(|card| &card.approval_id) != before.as_ref() {
            (self.changed_at, self.scroll) = (now, 0);
        }
        requests
    }

    fn press(&mut self, key: Key, now: Timestamp) -> Vec<Request> {
        if key == Key::Interrupt {
            return vec![Request::Quit];
        }
        match std::mem::replace(&mut self.mode, Mode::Looking) {
            Mode::Looking => self.look(key, now),
            Mode::Feedback { id, text } => match edited(text, key) {
                Typed::More(text) => {
                    self.mode = Mode::Feedback { id, text };
                    Vec::new()
                }
                Typed::Sent(feedback) => self.answer(id, Choice::No { feedback }),
                Typed::Cancelled => Vec::new(),
            },
            Mode::Halting { text } => match edited(text, key) {
                Typed::More(text) => {
                    self.mode = Mode::Halting { text };
                    Vec::new()
                }
                Typed::Sent(text) if text.trim() == "yes" => vec![Request::Halt],
                Typed::Sent(_) | Typed::Cancelled => {
                    self.say("nothing was halted", now);
                    Vec::new()
                }
            },
            Mode::Help => Vec::new(),
        }
    }

    fn look(&mut self, key: Key, now: Timestamp) -> Vec<Request> {
        match key {
            Key::Char('q') | Key::Escape => return vec![Request::Quit],
            Key::Char('j') | Key::Down => {
                self.selected = self.selected.saturating_add(1).min(self.last());
            }
            Key::Char('k') | Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::PageDown | Key::Char(' ') => self.scroll = self.scroll.saturating_add(5),
            Key::PageUp => self.scroll = self.scroll.saturating_sub(5),
            Key::Char('?') => self.mode = Mode::Help,
            Key::Char('h') => self.mode = Mode::Halting { text: String::new() },
            Key::Char('a') => return self.decide(Choice::Once, now),
            Key::Char('s') => return self.decide(Choice::Session, now),
            Key::Char('r') => {
                if let Some(id) = self.ready(now) {
                    self.mode = Mode::Feedback { id, text: String::new() };
                }
            }
            Key::Char(_) | Key::Enter | Key::Backspace | Key::Interrupt => {}
        }
        Vec::new()
    }

    fn decide(&mut self, say: Choice, now: Timestamp) -> Vec<Request> {
        match self.ready(now) {
            Some(id) => self.answer(id, say),
            None => Vec::new(),
        }
    }

    /// The question under the cursor, if the user can have read it.
    fn ready(&mut self, now: Timestamp) -> Option<String> {
        let id = self.current()?.approval_id.clone();
        if self.answering.contains(&id) {
            return None;
        }
        if now.since(self.changed_at) < QUICKEST {
            self.say("not answered: the card had just changed; read it and press again", now);
            return None;
        }
        Some(id)
    }

    fn answer(&mut self, id: String, say: Choice) -> Vec<Request> {
        // It was settled while the feedback was typed.
        if !self.cards.iter().any(|card| card.approval_id == id) {
            return Vec::new();
        }
        self.answering.insert(id.clone());
        vec![Request::Answer { id, say }]
    }

    fn hear(&mut self, event: &Event, now: Timestamp) -> Vec<Request> {
        let Some(event) = event.known() else { return Vec::new() };
        match event {
            Live::ApprovalRequired(card) => self.add(*card),
            Live::ApprovalVoted { approval_id, have, .. } => {
                let mut cards = self.cards.iter_mut();
                if let Some(card) = cards.find(|card| card.approval_id == approval_id) {
                    card.have = have;
                }
            }
            Live::ApprovalSettled { approval_id, state, .. } => {
                if self.remove(&approval_id) {
                    self.say(&format!("{approval_id}: {state}"), now);
                }
            }
            Live::Halted {} => self.halted = true,
            Live::Resumed {} => self.halted = false,
            Live::Resync {} => return vec![Request::Look],
            Live::SignedOut { .. } => self.say("a device was signed out", now),
            Live::ActionAllowed { .. }
            | Live::ActionReported { .. }
            | Live::ActionBegan { .. }
            | Live::ActionPiece { .. }
            | Live::ActionEnded { .. }
            | Live::SessionStarted { .. }
            | Live::SessionPaused { .. }
            | Live::SessionResumed { .. }
            | Live::SessionMode { .. }
            | Live::SessionEnded { .. }
            | Live::DeviceWaiting { .. }
            | Live::RightsChanged {} => {}
        }
        Vec::new()
    }

    fn add(&mut self, card: ApprovalCard) {
        if !card.state.is_pending() {
            return;
        }
        match self.cards.iter_mut().find(|known| known.approval_id == card.approval_id) {
            Some(known) => *known = card,
            None => self.cards.push(card),
        }
    }

    fn replace(&mut self, cards: Vec<ApprovalCard>) {
        let current = self.current().map(|card| card.approval_id.clone());
        self.cards = cards;
        let at = self.cards.iter().position(|card| Some(&card.approval_id) == current.as_ref());
        self.selected = at.unwrap_or(self.selected).min(self.last());
    }

    fn remove(&mut self, id: &str) -> bool {
        self.answering.remove(id);
        let Some(at) = self.cards.iter().position(|card| card.approval_id == id) else {
            return false;
        };
        self.cards.remove(at);
        // Keep the cursor on the same card.
        if at < self.selected {
            self.selected = self.selected.saturating_sub(1);
        }
        self.selected = self.selected.min(self.last());
        if matches!(&self.mode, Mode::Feedback { id: about, .. } if about == id) {
            self.mode = Mode::Looking;
        }
        true
    }

    fn replied(&mut self, id: Option<&str>, said: Result<String, String>, now: Timestamp) {
        if let Some(id) = id {
            self.answering.remove(id);
        }
        match said {
            Ok(said) => self.say(&said, now),
            Err(why) => self.say(&format!("not accepted: {why}"), now),
        }
    }

    /// Removes outdated notes and expired questions.
    fn pass(&mut self, now: Timestamp) {
        if self.note.as_ref().is_some_and(|(_, since)| now.since(*since) >= NOTED) {
            self.note = None;
        }
        // The server decides whether it has expired; but it can no longer be answered in time.
        let over = |card: &ApprovalCard| card.expiry().is_some_and(|at| at <= now);
        let over: Vec<_> = self
            .cards
            .iter()
            .filter(|card| over(card))
            .map(|card| card.approval_id.clone())
            .collect();
        for id in over {
            self.remove(&id);
            self.say(&format!("{id}: nobody answered in time"), now);
        }
    }

    fn say(&mut self, text: &str, now: Timestamp) {
        self.note = Some((one_line(text).into_owned(), now));
    }

    fn last(&self) -> usize {
        self.cards.len().saturating_sub(1)
    }
}

/// The result of one key in a text field.
enum Typed {
    More(String),
    Sent(String),
    Cancelled,
}

fn edited(mut text: String, key: Key) -> Typed {
    match key {
        Key::Enter => return Typed::Sent(text),
        Key::Escape => return Typed::Cancelled,
        Key::Backspace => {
            text.pop();
        }
        Key::Char(char) if text.chars().count() < MOST_TYPED && !char.is_control() => {
            text.push(char);
        }
        Key::Char(_) | Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Interrupt => {}
    }
    Typed::More(text)
}

#[cfg(test)]
mod tests {
    use countersign_wire::ApprovalState;

    use super::*;
    use crate::card::testing::card;

    const START: Timestamp = Timestamp(1_000_000);

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp(START.0 + milliseconds)
    }

    fn model(ids: &[&str]) -> Model {
        let mut model = Model::new("here".to_owned(), START);
        let cards = ids.iter().map(|id| card(id, "git push --force", at(60_000))).collect();
        model.take(Input::Connected, START);
        model.take(Input::Waiting(cards), START);
        model
    }

    fn press(model: &mut Model, key: char, now: i64) -> Vec<Request> {
        model.take(Input::Key(Key::Char(key)), at(now))
    }

    fn event(event: &Live) -> Input {
        Input::Event(Event { name: event.name().to_owned(), data: event.data() })
    }

    fn settled(id: &str, state: ApprovalState) -> Input {
        event(&Live::ApprovalSettled {
            approval_id: id.to_owned(),
            session_id: None,
            state,
            by: None,
            feedback: None,
        })
    }

    fn answer(id: &str, say: Choice) -> Vec<Request> {
        vec![Request::Answer { id: id.to_owned(), say }]
    }

    #[test]
    fn a_key_that_was_meant_for_the_card_before_answers_nothing() {
        let mut model = model(&["one", "two"]);
        model.take(settled("one", ApprovalState::Expired), at(5_000));
        assert_eq!(model.current().unwrap().approval_id, "two");
        assert!(press(&mut model, 'a', 5_399).is_empty());
        assert!(model.note().unwrap().contains("just changed"));
        assert!(press(&mut model, 's', 5_399).is_empty());
        assert!(press(&mut model, 'r', 5_399).is_empty());
        assert_eq!(model.mode, Mode::Looking);
        assert_eq!(press(&mut model, 'a', 5_400), answer("two", Choice::Once));
    }

    #[test]
    fn a_new_question_comes_last_and_moves_nothing() {
        let mut model = model(&["one"]);
        let required = Live::ApprovalRequired(Box::new(card("two", "ls", at(60_000))));
        model.take(event(&required), at(900));
        assert_eq!((model.cards.len(), model.selected), (2, 0));
        // Received twice, as after a reconnect.
        model.take(event(&required), at(901));
        assert_eq!(model.cards.len(), 2);
        assert_eq!(press(&mut model, 'a', 902), answer("one", Choice::Once));
    }

    #[test]
    fn a_question_is_answered_once_however_often_a_key_is_pressed() {
        let mut model = model(&["one"]);
        assert_eq!(press(&mut model, 's', 1_000), answer("one", Choice::Session));
        assert!(press(&mut model, 'a', 1_001).is_empty());
        let said = Err("others must agree".to_owned());
        model.take(Input::Replied { id: Some("one".to_owned()), said }, at(1_100));
        assert_eq!(model.note(), Some("not accepted: others must agree"));
        assert_eq!(press(&mut model, 'a', 2_000), answer("one", Choice::Once));
    }

    #[test]
    fn a_no_asks_for_a_line_and_goes_to_the_question_it_was_begun_for() {
        let mut model = model(&["one", "two"]);
        press(&mut model, 'r', 1_000);
        for char in "not todayX".chars() {
            press(&mut model, char, 1_001);
        }
        model.take(Input::Key(Key::Backspace), at(1_002));
        let sent = model.take(Input::Key(Key::Enter), at(1_003));
        assert_eq!(sent, answer("one", Choice::No { feedback: "not today".to_owned() }));

        press(&mut model, 'j', 1_100);
        press(&mut model, 'r', 2_000);
        model.take(settled("two", ApprovalState::Approved), at(2_100));
        assert_eq!(model.mode, Mode::Looking, "it was answered elsewhere");
        assert!(model.take(Input::Key(Key::Enter), at(2_101)).is_empty());
    }

    #[test]
    fn escape_sends_nothing() {
        let mut model = model(&["one"]);
        press(&mut model, 'r', 1_000);
        assert!(model.take(Input::Key(Key::Escape), at(1_001)).is_empty());
        assert_eq!(model.mode, Mode::Looking);
        assert_eq!(model.take(Input::Key(Key::Escape), at(1_002)), [Request::Quit]);
    }

    #[test]
    fn only_a_typed_yes_halts() {
        let mut model = model(&[]);
        press(&mut model, 'h', 1);
        press(&mut model, 'y', 2);
        assert!(model.take(Input::Key(Key::Enter), at(3)).is_empty());
        press(&mut model, 'h', 4);
        for char in "yes".chars() {
            press(&mut model, char, 5);
        }
        assert_eq!(model.take(Input::Key(Key::Enter), at(6)), [Request::Halt]);
    }

    #[test]
    fn what_was_answered_elsewhere_goes_with_a_note() {
        let mut model = model(&["one", "two"]);
        press(&mut model, 'j', 100);
        model.take(settled("one", ApprovalState::Approved), at(200));
        assert_eq!(model.current().unwrap().approval_id, "two");
        assert_eq!(model.note(), Some("one: approved"));
        model.take(Input::Tick, at(20_000));
        assert_eq!(model.note(), None);
        // The cursor stayed on its card, so it can be answered at once.
        assert_eq!(press(&mut model, 'a', 20_001), answer("two", Choice::Once));
    }

    #[test]
    fn offline_is_told_and_a_new_connection_looks_again() {
        let mut model = model(&["one"]);
        model.take(Input::Lost("gone\x1b[2J".to_owned()), at(1));
        assert_eq!(model.link, Link::Offline("gone\\u{1b}[2J".to_owned()));
        assert_eq!(model.take(Input::Connected, at(2)), [Request::Look]);
        model.take(Input::Waiting(Vec::new()), at(3));
        assert!(model.cards.is_empty() && model.current().is_none());
        assert!(press(&mut model, 'a', 9_000).is_empty());
    }

    #[test]
    fn a_question_whose_time_is_up_goes() {
        let mut model = model(&["one"]);
        model.take(Input::Tick, at(60_000));
        assert!(model.cards.is_empty());
        assert!(model.note().unwrap().contains("in time"));
    }
}
