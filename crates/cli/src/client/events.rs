//! What happens at a server, as it happens: server-sent events, over as many connections as it
//! takes.
//!
//! ```text
//! connect ──► Connected ──► Event, Event, …
//!    ▲                        │ broke off
//!    └──── a pause ◄── Lost ◄─┘        a server that says no ends it
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

use super::{Client, ClientError, read};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// A server says something every fifteen seconds, if only that it is there.
const QUIET: Duration = Duration::from_secs(45);
const BEGINS_WITHIN: Duration = Duration::from_secs(15);
/// One event is never larger.
const MOST_BYTES: usize = 8 << 20;
const AHEAD: usize = 64;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// What it is called, such as `approval_required`.
    pub(crate) name: String,
    /// What it says.
    pub(crate) data: Value,
}

/// What is heard of a server.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It listens to us: what is asked now is not older than what it tells next.
    Connected,
    /// Something happened.
    Event(Event),
    /// The connection is gone, or there never was one; it is tried again.
    Lost(ClientError),
    /// It says no: there is nothing more to hear.
    Refused(ClientError),
}

/// Listens from now on, until nobody takes what is heard.
pub(crate) fn listen(client: Client) -> Receiver<Heard> {
    let (sender, receiver) = channel(AHEAD);
    tokio::spawn(keep_listening(client, sender));
    receiver
}

async fn keep_listening(client: Client, to: Sender<Heard>) {
    let mut last: Option<String> = None;
    let mut pause = FIRST_PAUSE;
    loop {
        let why = match begin(&client, last.as_deref()).await {
            Ok(body) => {
                pause = FIRST_PAUSE;
                if to.send(Heard::Connected).await.is_err() {
                    return;
                }
                match pass_on(body, &to, &mut last).await {
                    Some(why) => why,
                    None => return,
                }
            }
            // Too many at once passes; anything else will be said again.
            Err(error) if error.refused().is_some_and(|no| no.retry_after.is_none()) => {
                let _ = to.send(Heard::Refused(error)).await;
                return;
            }
            Err(error) => error,
        };
        if to.send(Heard::Lost(why)).await.is_err() {
            return;
        }
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

async fn begin(client: &Client, last: Option<&str>) -> Result<Incoming, ClientError> {
    let mut request = client.request(Method::GET, "/api/events", String::new())?;
    let media = HeaderValue::from_static("text/event-stream");
    request.headers_mut().insert(header::ACCEPT, media);
    if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
        request.headers_mut().insert("last-event-id", last);
    }
    let late = |_| ClientError::Broken("the server does not answer".to_owned());
    let response = timeout(BEGINS_WITHIN, client.send(request)).await.map_err(late)??;
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let status = response.status();
    Err(read(response).await.err().unwrap_or_else(|| ClientError::not_ours(status)))
}

/// Passes on what comes until it breaks off, and says why; nothing, if nobody listens any more.
async fn pass_on(
    mut body: Incoming,
    to: &Sender<Heard>,
    last: &mut Option<String>,
) -> Option<ClientError> {
    let broken = |why: &str| Some(ClientError::Broken(why.to_owned()));
    let mut parser = Parser::default();
    loop {
        let frame = tokio::select! {
            frame = timeout(QUIET, body.frame()) => frame,
            () = to.closed() => return None,
        };
        let bytes = match frame {
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            Ok(Some(Err(_)) | None) => return broken("the server ended the connection"),
            Err(_) => return broken("the server is silent"),
        };
        if parser.feed(&bytes).is_err() {
            return broken("the server sends what is no event");
        }
        while let Some((id, event)) = parser.ready.pop_front() {
            *last = id.or(last.take());
            if to.send(Heard::Event(event)).await.is_err() {
                return None;
            }
        }
    }
}

/// Lines become events.
#[derive(Debug, Default)]
struct Parser {
    line: Vec<u8>,
    id: Option<String>,
    name: String,
    data: String,
    ready: VecDeque<(Option<String>, Event)>,
}

#[derive(Debug)]
struct TooLarge;

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.take(String::from_utf8_lossy(&line).trim_end_matches('\r'));
            } else {
                self.line.push(*byte);
            }
            if self.line.len().saturating_add(self.data.len()) > MOST_BYTES {
                return Err(TooLarge);
            }
        }
        Ok(())
    }

    fn take(&mut self, line: &str) {
        if line.is_empty() {
            return self.end();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Comments, and fields of later servers.
            _ => {}
        }
    }

    fn end(&mut self) {
        let (id, name) = (self.id.take(), std::mem::take(&mut self.name));
        let data = std::mem::take(&mut self.data);
        // An event that cannot be read is none; the next one still is.
        if let Ok(data) = serde_json::from_str(&data) {
            self.ready.push_back((id, Event { name, data }));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = ": countersign\nretry: 2000\n\nid: b-1\nevent: halted\ndata: {}\n\n:\n\n\
                    id: b-2\r\nevent: x\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\nevent: y\ndata: no\n\n";
        for size in 1..40 {
            let mut parser = Parser::default();
            for part in text.as_bytes().chunks(size) {
                parser.feed(part).unwrap();
            }
            let ready: Vec<_> = parser.ready.into_iter().collect();
            assert_eq!(
                ready,
                [
                    (Some("b-1".to_owned()), Event { name: "halted".to_owned(), data: json!({}) }),
                    (
                        Some("b-2".to_owned()),
                        Event { name: "x".to_owned(), data: json!({"a": "ü"}) }
                    ),
                ]
            );
        }
    }

    #[test]
    fn an_event_without_an_end_fills_no_memory() {
        let mut parser = Parser::default();
        assert!((0..20).any(|_| parser.feed(&vec![b'x'; 1 << 20]).is_err()));
    }
}
