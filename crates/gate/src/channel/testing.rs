//! Servers on loopback, and a desk that records the replies it gets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use countersign_core::RiskLevel;

use super::dispatch::{Stop, Wait};
use super::{AnswerSink, Answered, ChannelAnswer, Message, Notice};
use crate::clock::{Fake, Timestamp};
use crate::id::{ApprovalId, UserId};

/// 16 November 2026.
pub(crate) const NOW: Timestamp = Timestamp(1_794_808_800_000);

pub(crate) fn clock() -> Arc<Fake> {
    Arc::new(Fake::at(NOW))
}

pub(crate) fn notice() -> Notice {
    let clock = Fake::at(NOW);
    Notice {
        approval: ApprovalId::draw(&clock).unwrap(),
        user: UserId::draw(&clock).unwrap(),
        session: None,
        action: "shell".to_owned(),
        description: "git push --force".to_owned(),
        details: vec!["in /repo".to_owned()],
        risk: RiskLevel::High,
        created_at: NOW,
        expires_at: NOW.after(Duration::from_mins(5)),
        link: None,
    }
}

pub(crate) fn required() -> Message {
    Message::Required(notice())
}

pub(crate) fn settled() -> Message {
    let approval = notice().approval;
    Message::Settled { approval, state: "approved", by: Some("Ann".to_owned()), at: NOW }
}

/// A request as a server received it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A server on loopback, whose answers are whole HTTP responses.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) seen: Receiver<Seen>,
}

pub(crate) fn serve(mut answer: impl FnMut(&Seen) -> String + Send + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, seen) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = read(&mut stream) else { continue };
            let answer = answer(&request);
            if sender.send(request).is_err() {
                return;
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    Server { url, seen }
}

impl Server {
    pub(crate) fn next(&self) -> Seen {
        self.seen.recv_timeout(Duration::from_secs(10)).unwrap()
    }
}

/// A complete response.
pub(crate) fn response(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

pub(crate) fn ok() -> String {
    response(200, "", "{}")
}

pub(crate) fn read(stream: &mut (impl Read + ?Sized)) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let mut lines = head.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut seen = Seen { path, headers, body: String::new() };
    let mut body = vec![0; seen.header("content-length").parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    seen.body = String::from_utf8(body).unwrap();
    Some(seen)
}

/// An address at which no server listens.
pub(crate) fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A stream to a test's own server.
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().unwrap().0
}

/// A desk that records every reply and always answers the same.
pub(crate) struct Noting {
    pub(crate) replies: Mutex<Vec<ChannelAnswer>>,
    pub(crate) says: Result<Answered, String>,
}

impl Noting {
    pub(crate) fn new(says: Result<Answered, String>) -> Arc<Self> {
        Arc::new(Self { replies: Mutex::new(Vec::new()), says })
    }

    pub(crate) fn replies(&self) -> Vec<ChannelAnswer> {
        self.replies.lock().unwrap().clone()
    }
}

impl AnswerSink for Noting {
    fn answer(&self, reply: ChannelAnswer) -> Result<Answered, String> {
        self.replies.lock().unwrap().push(reply);
        self.says.clone()
    }
}

/// Waits by moving the clock, and records for how long.
#[derive(Debug)]
pub(crate) struct Leaping {
    pub(crate) clock: Arc<Fake>,
    pub(crate) waits: Mutex<Vec<Duration>>,
}

impl Leaping {
    pub(crate) fn new(clock: &Arc<Fake>) -> Arc<Self> {
        Arc::new(Self { clock: Arc::clone(clock), waits: Mutex::new(Vec::new()) })
    }
}

impl Wait for Leaping {
    fn wait(&self, _: &Stop, duration: Duration) {
        self.waits.lock().unwrap().push(duration);
        self.clock.pass(duration);
        thread::yield_now();
    }
}
