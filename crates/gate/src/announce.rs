//! Passes the gate's events on to channels, and brings their answers to the gate.
//!
//! Listens to the gate's events on a thread of its own, so that nothing here can hold the gate up.
//! After falling behind it reads the store again, so that every pending question is sent, however
//! late.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use pollster::block_on;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::approval::Approval;
use crate::channel::{self, AnswerSink, ChannelAnswer, Dispatcher, Message, Sender};
use crate::document;
use crate::event::{Event, What};
use crate::gate::{self, Gate};
use crate::id::{ApprovalId, UserId};
use crate::store::{Kind, Query};

/// Channels, and the user whose questions they get.
#[derive(Debug)]
pub struct Audience {
    /// The user who is told of questions that concern them; everything is passed on, if `None`.
    pub user: Option<UserId>,
    /// The dispatcher of these channels.
    pub dispatcher: Arc<Dispatcher>,
}

/// Passes events on to channels until the gate is dropped.
#[derive(Debug)]
pub struct Announcer {
    thread: Option<JoinHandle<()>>,
}

impl Announcer {
    /// Begins to listen. `console` is the address at which a question can be read and answered.
    ///
    /// # Errors
    /// The operating system starts no further thread.
    pub fn start(
        gate: &Arc<Gate>,
        audiences: Vec<Audience>,
        console: Option<String>,
    ) -> io::Result<Self> {
        for _ in &audiences {
            gate.add_channel();
        }
        let (events, gate) = (gate.subscribe(), Arc::downgrade(gate));
        let passing = Passing { gate, audiences, console, told: HashSet::new() };
        let thread = thread::Builder::new().name("announcer".to_owned());
        Ok(Self { thread: Some(thread.spawn(move || passing.run(events))?) })
    }

    /// Waits until the gate is dropped and all events were passed on.
    pub fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Passing {
    gate: Weak<Gate>,
    audiences: Vec<Audience>,
    console: Option<String>,
    /// Questions that were sent and are not settled.
    told: HashSet<ApprovalId>,
}

impl Passing {
    fn run(mut self, mut events: Receiver<Arc<Event>>) {
        self.catch_up();
        loop {
            match events.blocking_recv() {
                Ok(event) => self.pass(&event),
                Err(RecvError::Lagged(_)) => self.catch_up(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn pass(&mut self, event: &Event) {
        match &event.what {
            What::ApprovalRequired { approval } => self.tell(approval),
            What::ApprovalEscalated { approval } => {
                self.told.remove(approval);
                self.tell(approval);
            }
            What::ApprovalSettled { approval, state, by } => {
                self.told.remove(approval);
                self.tell_settled(approval, state.as_str(), by.as_ref());
            }
            What::ApprovalVoted { .. }
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
            | What::SignedOut { .. }
            | What::RightsChanged
            | What::Halted
            | What::Resumed => {}
        }
    }

    /// Sends every pending question that was not sent yet.
    fn catch_up(&mut self) {
        let Some(gate) = self.gate.upgrade() else { return };
        let mut query = Query { states: vec!["pending"], ..Query::of(Kind::Approval) };
        // If this read fails, the next missed event tries again. A question that is never sent is
        // still shown by the console.
        while let Ok(pending) = block_on(document::find::<Approval>(gate.store(), &query)) {
            let Some(last) = pending.last() else { return };
            query.after = Some(last.value.request.id.to_string());
            for held in &pending {
                self.tell(&held.value.request.id);
            }
        }
    }

    fn tell(&mut self, approval: &ApprovalId) {
        let Some(gate) = self.gate.upgrade() else { return };
        if !self.told.insert(approval.clone()) {
            return;
        }
        let link = self.console.as_ref().map(|console| format!("{console}/approvals/{approval}"));
        let Ok(notice) = block_on(gate.notice(approval, link)) else { return };
        for audience in self.concerned(&gate, approval) {
            audience.dispatcher.tell(Message::Required(notice.clone()));
        }
    }

    fn tell_settled(&self, approval: &ApprovalId, state: &'static str, by: Option<&UserId>) {
        let Some(gate) = self.gate.upgrade() else { return };
        let name = by.and_then(|by| block_on(gate.by_channel(by)).ok());
        let by = name.map(|person| person.user().name.clone());
        for audience in self.concerned(&gate, approval) {
            let (approval, by) = (approval.clone(), by.clone());
            audience.dispatcher.tell(Message::Settled { approval, state, by, at: gate.now() });
        }
    }

    fn concerned<'a>(
        &'a self,
        gate: &'a Gate,
        approval: &'a ApprovalId,
    ) -> impl Iterator<Item = &'a Audience> {
        self.audiences.iter().filter(move |audience| match &audience.user {
            Some(user) => block_on(gate.concerns(user, approval)).unwrap_or(false),
            None => true,
        })
    }
}

/// Takes the answers that channels bring, and hands them to the gate.
#[derive(Debug)]
pub struct ChannelAnswers {
    gate: Weak<Gate>,
    /// The user at the terminal in which the gate runs.
    terminal: Option<UserId>,
}

impl ChannelAnswers {
    /// Takes answers for a gate; answers from its terminal are attributed to `terminal`.
    #[must_use]
    pub fn new(gate: &Arc<Gate>, terminal: Option<UserId>) -> Self {
        Self { gate: Arc::downgrade(gate), terminal }
    }
}

impl AnswerSink for ChannelAnswers {
    fn answer(&self, reply: ChannelAnswer) -> Result<channel::Answered, String> {
        let gate = self.gate.upgrade().ok_or("the gate is closed")?;
        let user = match &reply.from {
            Sender::User(user) => user,
            Sender::Terminal => self.terminal.as_ref().ok_or("nobody is known at this terminal")?,
        };
        let told = |error: &dyn std::error::Error| error.to_string();
        let person = block_on(gate.by_channel(user)).map_err(|error| told(&error))?;
        let reply = gate::PersonAnswer::plain(reply.approval, reply.say);
        match block_on(gate.answer(&person, reply)).map_err(|error| told(&error))? {
            gate::Answered::Settled(state) => Ok(channel::Answered::Settled(state.as_str())),
            gate::Answered::Counted { .. } => Ok(channel::Answered::Counted),
            gate::Answered::AskedAgain(_) => Err("it is asked about again".to_owned()),
        }
    }
}
