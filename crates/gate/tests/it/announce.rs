//! Channels get the questions, and their answers count like any other.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_gate::announce::{Announcer, Audience, ChannelAnswers};
use countersign_gate::approval::Answer;
use countersign_gate::channel::{
    AnswerSink, Answered, Channel, ChannelAnswer, Dispatcher, Message, SendError, Sender as From,
};
use countersign_gate::id::UserId;
use countersign_gate::sweeper::Sweeper;
use countersign_gate::user::Membership;
use pollster::block_on;

use crate::world::{RISKY, World, shell, world};

/// A channel that hands its messages to the test.
#[derive(Debug)]
struct Seen(Mutex<Sender<Message>>);

impl Channel for Seen {
    fn name(&self) -> &'static str {
        "seen"
    }

    fn send(&mut self, message: &Message) -> Result<(), SendError> {
        self.0.lock().unwrap().send(message.clone()).unwrap();
        Ok(())
    }
}

fn audience(world: &World, user: Option<UserId>) -> (Audience, Receiver<Message>) {
    let (sent, seen) = channel();
    let channels: Vec<Box<dyn Channel>> = vec![Box::new(Seen(Mutex::new(sent)))];
    let dispatcher = Arc::new(Dispatcher::new(channels, world.clock.clone()));
    (Audience { user, dispatcher }, seen)
}

fn next(seen: &Receiver<Message>) -> Message {
    seen.recv_timeout(Duration::from_secs(10)).unwrap()
}

#[test]
fn a_question_is_told_with_its_link_and_so_is_its_end() {
    let world = world();
    let (everybody, seen) = audience(&world, None);
    let before = world.ask(&shell("git push --force origin early"));
    let gate = world.gate.clone();
    let announcer =
        Announcer::start(&gate, vec![everybody], Some("https://gate.example".into())).unwrap();
    // A question that was pending before anybody listened is sent too.
    let Message::Required(notice) = next(&seen) else { panic!() };
    assert_eq!(notice.approval, before);
    let link = format!("https://gate.example/approvals/{before}");
    assert_eq!(notice.link.as_deref(), Some(link.as_str()));
    let answers = ChannelAnswers::new(&gate, Some(world.user().clone()));
    let reply =
        ChannelAnswer { approval: before.clone(), say: Answer::Reject, from: From::Terminal };
    assert_eq!(answers.answer(reply.clone()), Ok(Answered::Settled("rejected")));
    let Message::Settled { state: "rejected", by, .. } = next(&seen) else { panic!() };
    assert_eq!(by.as_deref(), Some("Ann"));
    assert_eq!(answers.answer(reply), Err("already rejected".to_owned()));
    drop((gate, answers, world));
    announcer.join();
}

#[test]
fn a_channel_of_one_person_hears_nothing_of_others_and_cannot_answer_for_them() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let bobs = world.key(&bob, countersign_gate::key::Access::Agent, "*");
    let (for_bob, seen) = audience(&world, Some(bob.user().id.clone()));
    let annes = world.ask(&shell(RISKY));
    let gate = world.gate.clone();
    let announcer = Announcer::start(&gate, vec![for_bob], None).unwrap();
    block_on(gate.submit(&bobs, &shell("git push --force origin bob"))).map(drop).unwrap();
    let Message::Required(notice) = next(&seen) else { panic!() };
    assert_eq!(notice.user, bob.user().id);
    let answers = ChannelAnswers::new(&gate, None);
    let from = From::User(bob.user().id.clone());
    let reply = ChannelAnswer { approval: annes.clone(), say: Answer::Approve, from };
    assert_eq!(answers.answer(reply.clone()), Err("there is no such approval for you".to_owned()));
    let nobody = ChannelAnswer { from: From::Terminal, ..reply };
    assert_eq!(answers.answer(nobody), Err("nobody is known at this terminal".to_owned()));
    drop((gate, answers, world));
    announcer.join();
}

#[test]
fn a_sweeper_lets_silence_become_a_refusal_and_wakes_whoever_waits() {
    let world = world();
    let approval = world.ask(&shell(RISKY));
    let gate = world.gate.clone();
    let sweeper = Sweeper::start(&gate, Duration::from_millis(5), |error| panic!("{error}"));
    let (waiting, agent) = (gate.clone(), world.agent.clone());
    let waiter =
        std::thread::spawn(move || block_on(waiting.settled(&agent, &approval)).unwrap().as_str());
    world.pass(200);
    assert_eq!(waiter.join().unwrap(), "expired");
    drop(sweeper.unwrap());
}
