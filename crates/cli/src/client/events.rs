//! The live events of a server: server-sent events, with reconnects.
//!
//! ```text
//! connect ──► Connected ──► Event, Event, …
//!    ▲                        │ broke off
//!    └──── a pause ◄── Lost ◄─┘        a server that says no ends it
//! ```

use std::time::Duration;

use countersign_wire::path;
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

use super::{Client, ClientError, read};
use crate::sse::{Parser, ServerSentEvent};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// A server sends something every fifteen seconds, if only a keep-alive.
const QUIET: Duration = Duration::from_secs(45);
const BEGINS_WITHIN: Duration = Duration::from_secs(15);
/// The largest event.
const MOST_BYTES: usize = 8 << 20;
const AHEAD: usize = 64;

/// An event of the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// Its name, such as `approval_required`.
    pub(crate) name: String,
    /// Its JSON data.
    pub(crate) data: Value,
}

impl Event {
    /// The event itself; `None` if this version does not know it.
    pub(crate) fn known(&self) -> Option<countersign_wire::Event> {
        countersign_wire::Event::read(&self.name, &self.data)
    }
}

/// An event, or a change of the connection.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The subscription is active: the state that is fetched now is not older than the next event.
    Connected,
    Event(Event),
    /// The connection broke or was never made; it is tried again.
    Lost(ClientError),
    /// The server refused: no events follow.
    Refused(ClientError),
}

/// Subscribes to events until the receiver is dropped.
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
            // A rate limit passes; any other refusal would be repeated.
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
    let mut request = client.request(Method::GET, path::EVENTS, String::new())?;
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

/// Forwards events until the connection breaks, and returns the reason; `None` if the receiver is
/// gone.
async fn pass_on(
    mut body: Incoming,
    to: &Sender<Heard>,
    last: &mut Option<String>,
) -> Option<ClientError> {
    let broken = |why: &str| Some(ClientError::Broken(why.to_owned()));
    let mut parser = Parser::new(MOST_BYTES);
    loop {
        let frame = tokio::select! {
            frame = timeout(QUIET, body.frame()) => frame,
            () = to.closed() => return None,
        };
        let bytes = match frame {
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            Ok(Some(Err(_)) | None) => return broken("the server ended the connection"),
            Err(_) => return broken("the server has gone silent"),
        };
        if parser.feed(&bytes).is_err() {
            return broken("the server sent something that is not an event");
        }
        while let Some(ServerSentEvent { id, name, data, .. }) = parser.next() {
            *last = id.or(last.take());
            // Skip an event that cannot be parsed; the next one may be readable.
            let Ok(data) = serde_json::from_str(&data) else { continue };
            if to.send(Heard::Event(Event { name, data })).await.is_err() {
                return None;
            }
        }
    }
}
