//! One WebSocket to the browser: commands out, responses and events back.

use std::net::TcpStream;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use super::PATIENCE;

/// A connection to the browser.
pub(super) struct Wire {
    socket: WebSocket<TcpStream>,
    last: u64,
    /// Received events that have not been read yet.
    events: Vec<Value>,
}

impl Wire {
    pub(super) fn open(port: u16, path: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it takes connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("a stream");
        let url = format!("ws://127.0.0.1:{port}{path}");
        let (socket, _) = tungstenite::client(url, stream).expect("it speaks the protocol");
        Self { socket, last: 0, events: Vec::new() }
    }

    /// Sends a command to a page, or to the browser itself, and waits for the response.
    pub(super) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).expect("it reads");
        loop {
            let Message::Text(said) = self.socket.read().expect("it answers") else { continue };
            let mut said: Value = serde_json::from_str(&said).expect("JSON");
            if said["id"] == json!(self.last) {
                return match said["error"]["message"].as_str() {
                    Some(error) => Err(error.to_owned()),
                    None => Ok(said["result"].take()),
                };
            }
            self.events.push(said);
        }
    }

    /// Takes the events of a page so far.
    pub(super) fn told(&mut self, session: &str) -> Vec<Value> {
        let is_its = |event: &mut Value| event["sessionId"] == session;
        self.events.extract_if(.., is_its).collect()
    }
}
