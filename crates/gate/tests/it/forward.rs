//! The record is sent on, whatever the receiver does.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_gate::audit::Record;
use countersign_gate::channel::{Feed, Records, Sink, SinkError};
use countersign_gate::forward::{End, Forwarder, Position, PositionError};
use pollster::block_on;

use crate::world::{World, shell, world};

/// What a receiver does with the next record, or when it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Takes,
    Refuses,
    IsAway,
    /// Takes it, and never says that it has arrived.
    Swallows,
    /// Takes it, and has broken off when it is looked at again.
    Breaks,
    Panics,
}

/// A receiver that does as it is told, and tells what it took.
#[derive(Debug)]
struct Scripted {
    script: Mutex<Vec<Does>>,
    took: Sender<u64>,
    lost: Vec<u64>,
    broken: bool,
}

impl Sink for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn send(&mut self, record: &Record) -> Result<(), SinkError> {
        let does = self.script.lock().unwrap().pop().unwrap_or(Does::Takes);
        match does {
            Does::IsAway => {
                return Err(SinkError::Later { why: "away".into(), wish: Some(Duration::ZERO) });
            }
            Does::Refuses => return Err(SinkError::Refused("no".into())),
            Does::Panics => panic!("as the test wants it"),
            Does::Swallows => self.lost.push(record.number),
            Does::Breaks => {
                self.lost.push(record.number);
                self.broken = true;
            }
            Does::Takes => {}
        }
        let _ = self.took.send(record.number);
        Ok(())
    }

    fn check(&mut self) -> Result<(), SinkError> {
        if !self.broken {
            return Ok(());
        }
        Err(SinkError::Later { why: "broken".into(), wish: Some(Duration::ZERO) })
    }

    fn first_unconfirmed(&mut self) -> Option<u64> {
        if !std::mem::take(&mut self.broken) {
            return None;
        }
        std::mem::take(&mut self.lost).first().copied()
    }
}

/// A folder of its own.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("cs-forward-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn feed(mut script: Vec<Does>, records: Records) -> (Feed, Receiver<u64>) {
    let (took, seen) = channel();
    script.reverse();
    let sink =
        Box::new(Scripted { script: Mutex::new(script), took, lost: Vec::new(), broken: false });
    (Feed { sink, records, destination: "there".to_owned() }, seen)
}

fn end(world: &World) -> u64 {
    block_on(End::of(world.gate.store())).unwrap().last
}

fn start(world: &World, feed: Feed, position: Position) -> Arc<Forwarder> {
    let report = Box::new(|_: &str, _: Option<&str>| {});
    Arc::new(Forwarder::start(&world.gate, feed, None, position, report).unwrap())
}

fn position(world: &World, feed: &Feed, folder: &std::path::Path, end: u64) -> Position {
    Position::open(folder, world.gate.keyring(), feed, end).unwrap()
}

fn next(seen: &Receiver<u64>) -> u64 {
    seen.recv_timeout(Duration::from_secs(30)).unwrap()
}

#[test]
fn a_record_waits_for_its_receiver_and_one_that_is_refused_holds_up_no_other() {
    let world = world();
    let folder = folder("waits");
    let first = end(&world) + 1;
    let script = vec![Does::IsAway, Does::Panics, Does::Takes, Does::Refuses, Does::Takes];
    let (feed, seen) = feed(script, Records::Every);
    let position = position(&world, &feed, &folder, first - 1);
    for number in 0..3 {
        world.ask(&shell(&format!("git push --force origin {number}")));
    }
    let last = end(&world);
    let forwarder = start(&world, feed, position);
    let mut numbers = vec![next(&seen)];
    while numbers.last() != Some(&last) {
        numbers.push(next(&seen));
    }
    let expected: Vec<_> = (first..=last).filter(|number| *number != first + 1).collect();
    assert_eq!(numbers, expected);
    forwarder.shutdown(Duration::from_secs(30));
    let stats = forwarder.stats();
    assert_eq!((stats.failed, stats.dropped, stats.retried), (1, 0, 2), "{stats:?}");
}

#[test]
fn what_may_be_lost_with_a_connection_is_sent_again() {
    let world = world();
    let folder = folder("again");
    let before = end(&world);
    world.ask(&shell("git push --force origin one"));
    let last = end(&world);
    let count = usize::try_from(last - before).unwrap();
    let script = [vec![Does::Takes; count - 1], vec![Does::Breaks]].concat();
    let (feed, seen) = feed(script, Records::Every);
    let position = position(&world, &feed, &folder, before);
    let forwarder = start(&world, feed, position);
    for number in before + 1..=last {
        assert_eq!(next(&seen), number);
    }
    assert_eq!(next(&seen), last, "the last one once more");
    forwarder.shutdown(Duration::from_secs(30));
}

#[test]
fn what_may_be_lost_is_sent_again_when_records_that_are_not_sent_lie_between() {
    let world = world();
    let folder = folder("gaps");
    let before = end(&world);
    for number in 0..3 {
        world.ask(&shell(&format!("git push --force origin {number}")));
    }
    let script = vec![Does::Swallows, Does::Swallows, Does::Breaks];
    let (feed, seen) = feed(script, Records::Of(vec!["critical_point"]));
    let position = position(&world, &feed, &folder, before);
    let forwarder = start(&world, feed, position);
    let first: Vec<_> = (0..3).map(|_| next(&seen)).collect();
    assert!(first.windows(2).all(|pair| pair[0] + 1 < pair[1]), "{first:?}");
    let again: Vec<_> = (0..3).map(|_| next(&seen)).collect();
    assert_eq!(again, first);
    forwarder.shutdown(Duration::from_secs(30));
}

#[test]
fn a_position_outlives_its_process_and_one_that_cannot_be_read_is_an_error() {
    let world = world();
    let folder = folder("position");
    let before = end(&world);
    let (first, seen) = feed(Vec::new(), Records::Every);
    let start_at = position(&world, &first, &folder, before);
    world.ask(&shell("git push --force origin one"));
    let last = end(&world);
    let forwarder = start(&world, first, start_at);
    while next(&seen) != last {}
    forwarder.shutdown(Duration::from_secs(30));
    drop(forwarder);
    // It goes on behind that, whatever the end is by now.
    world.ask(&shell("git push --force origin two"));
    let (second, seen) = feed(Vec::new(), Records::Every);
    let goes_on = position(&world, &second, &folder, end(&world));
    let forwarder = start(&world, second, goes_on);
    assert_eq!(next(&seen), last + 1);
    forwarder.shutdown(Duration::from_secs(30));
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    std::fs::write(file, "somewhere").unwrap();
    let (third, _) = feed(Vec::new(), Records::Every);
    let opened = Position::open(&folder, world.gate.keyring(), &third, 0);
    assert!(matches!(opened, Err(PositionError::Unreadable { .. })), "{opened:?}");
}

#[test]
fn only_the_kinds_of_record_that_were_asked_for_are_sent() {
    let world = world();
    let folder = folder("kinds");
    let before = end(&world);
    world.ask(&shell("git push --force origin one"));
    let records = Records::Of(vec!["critical_point"]);
    let (feed, seen) = feed(Vec::new(), records);
    let position = position(&world, &feed, &folder, before);
    let forwarder = start(&world, feed, position);
    let number = next(&seen);
    forwarder.shutdown(Duration::from_secs(30));
    assert!(seen.try_recv().is_err());
    let query = countersign_gate::store::RecordQuery { after: before, ..Default::default() };
    let records = block_on(world.gate.store().records(&query)).unwrap();
    assert!(records.len() > 1);
    assert!(records.iter().any(|it| it.number == number && it.event == "critical_point"));
}
