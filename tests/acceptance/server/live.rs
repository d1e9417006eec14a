//! A device on its WebSocket, and a page that listens to server-sent events.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::{Message, WebSocket};

use super::PATIENCE;
use super::client::{Chunked, Client, read_head};

/// A device on its WebSocket.
pub(super) struct Socket {
    socket: WebSocket<TcpStream>,
    /// Received messages that have not been read yet.
    unseen: VecDeque<Value>,
}

impl Socket {
    pub(super) fn open(client: &Client) -> Self {
        let url = format!("ws://{}/api/ws", client.address);
        let mut request = url.into_client_request().expect("a request");
        if let Some(secret) = &client.secret {
            let value = format!("Bearer {secret}").parse().expect("a header");
            request.headers_mut().insert("authorization", value);
        }
        let stream = TcpStream::connect(client.address).expect("it takes connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (socket, _) = tungstenite::client(request, stream).expect("it lets devices in");
        let mut socket = Self { socket, unseen: VecDeque::new() };
        // Its pending messages come first.
        socket.unseen = socket.so_far().into();
        socket
    }

    pub(super) fn say(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).expect("it reads");
    }

    /// Returns the next message, or the frame that closed the connection.
    fn next(&mut self) -> Result<Value, Message> {
        if let Some(message) = self.unseen.pop_front() {
            return Ok(message);
        }
        loop {
            match self.socket.read().expect("a message") {
                Message::Text(text) => {
                    return Ok(serde_json::from_str(&text).expect("JSON"));
                }
                close @ Message::Close(_) => return Err(close),
                _ => {}
            }
        }
    }

    /// Returns the payload of the next message of this kind.
    pub(super) fn until(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next().expect("it stays open");
            if message["type"] == kind {
                return message["payload"].clone();
            }
        }
    }

    /// Returns all messages received so far.
    pub(super) fn so_far(&mut self) -> Vec<Value> {
        self.say(&json!({"type": "ping"}));
        let mut all = Vec::new();
        loop {
            let message = self.next().expect("it stays open");
            if message["type"] == "pong" {
                return all;
            }
            all.push(message);
        }
    }

    /// Returns the code and the reason with which the other end closes the connection.
    pub(super) fn closed(&mut self) -> (u16, String) {
        loop {
            if let Err(Message::Close(frame)) = self.next() {
                let frame = frame.expect("a reason");
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }
}

/// Returns the answer to one question, or many.
pub(super) fn response(ids: &Value, tokens: &Value, decision: &str) -> Value {
    json!({
        "type": "app_skill_confirmation_response",
        "payload": {
            "app_skill_id": ids,
            "confirmation_token": tokens,
            "decision": decision,
            "group_mode": ids.is_array(),
        },
    })
}

/// A page that listens to server-sent events.
pub(super) struct Events(BufReader<Chunked<BufReader<TcpStream>>>);

#[derive(Debug)]
pub(super) struct LiveEvent {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) data: Value,
}

impl Events {
    pub(super) fn open(client: &Client) -> Self {
        Self::after(client, None)
    }

    /// Opens the stream after this event.
    pub(super) fn after(client: &Client, last: Option<&str>) -> Self {
        let last = last.map(|last| ("Last-Event-ID", last));
        let stream = client.begin("GET", "/api/events", last.as_slice(), 0);
        let mut reader = BufReader::new(stream);
        let (status, head) = read_head(&mut reader);
        assert_eq!(status, 200, "{head}");
        assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        let mut events = Self(BufReader::new(Chunked::new(reader)));
        // Once it sends the retry interval, it listens.
        while !events.line().starts_with("retry:") {}
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).expect("an event");
        assert!(read > 0, "it ended");
        line.trim_end().to_owned()
    }

    /// Returns the next event of this name.
    pub(super) fn until(&mut self, name: &str) -> LiveEvent {
        loop {
            let told = self.next();
            if told.name == name {
                return told;
            }
        }
    }

    pub(super) fn next(&mut self) -> LiveEvent {
        let mut told = LiveEvent { id: String::new(), name: String::new(), data: Value::Null };
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some(("id", id)) => id.clone_into(&mut told.id),
                Some(("event", name)) => name.clone_into(&mut told.name),
                Some(("data", data)) => told.data = serde_json::from_str(data).expect("JSON"),
                _ if line.is_empty() && !told.name.is_empty() => return told,
                _ => {}
            }
        }
    }
}
