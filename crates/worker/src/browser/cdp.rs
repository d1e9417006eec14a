//! The `DevTools` protocol over two pipes: JSON texts that end with a zero byte.
//!
//! Answers go to the thread that asked; everything else goes to one function, on the reading
//! thread, which must not wait for an answer. Messages that are not understood are left out.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::failed::Failed;

/// The most bytes of one message; a screenshot of a large page stays below.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// An event: the session of the target it is about, its name, its content.
pub(super) struct Event {
    pub(super) session: Option<String>,
    pub(super) method: String,
    pub(super) params: Value,
}

/// A connection to one browser.
pub(super) struct Cdp {
    to_browser: Mutex<Box<dyn Write + Send>>,
    last: AtomicU64,
    /// The askers; `None` when the browser is gone.
    waiting: Mutex<Option<BTreeMap<u64, SyncSender<Value>>>>,
}

impl Cdp {
    /// A connection over two pipes, before anything is read.
    pub(super) fn new(to_browser: impl Write + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            to_browser: Mutex::new(Box::new(to_browser)),
            last: AtomicU64::new(0),
            waiting: Mutex::new(Some(BTreeMap::new())),
        })
    }

    /// Starts the thread that reads, and hands each event to the function.
    pub(super) fn read(
        self: &Arc<Self>,
        from_browser: impl Read + Send + 'static,
        mut on_event: impl FnMut(Event) + Send + 'static,
    ) {
        let cdp = Arc::clone(self);
        thread::spawn(move || {
            let mut from_browser = BufReader::new(from_browser);
            while let Some(message) = next(&mut from_browser) {
                if let Some(event) = cdp.answered(message) {
                    on_event(event);
                }
            }
            // Every thread that waits for an answer sees the end of its channel.
            cdp.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        });
    }

    /// Reports whether the browser is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Asks without waiting for the answer.
    pub(super) fn tell(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.next_id();
        // A browser that is gone has nothing left to be told.
        let _ = self.write(request(id, session, method, params).to_string().as_bytes());
    }

    /// Asks, and waits for the answer.
    pub(super) fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
        most: Duration,
    ) -> Result<Value, Failed> {
        let id = self.next_id();
        let text = request(id, session, method, params).to_string();
        self.asked(id, text.as_bytes(), method, most)
    }

    /// Returns a number for a message.
    pub(super) fn next_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Sends a message that was written by hand, and waits for the answer to its number.
    pub(super) fn asked(
        &self,
        id: u64,
        message: &[u8],
        method: &str,
        most: Duration,
    ) -> Result<Value, Failed> {
        let (sender, receiver) = sync_channel(1);
        match self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(waiting) => drop(waiting.insert(id, sender)),
            None => return Err(gone()),
        }
        self.write(message).map_err(|_| gone())?;
        let answer = receiver.recv_timeout(most).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                Failed::because("TooSlow", format!("the browser does not answer {method}"))
            }
            RecvTimeoutError::Disconnected => gone(),
        })?;
        match answer.get("error") {
            None => Ok(answer.get("result").cloned().unwrap_or_default()),
            Some(error) => {
                let why = error.get("message").and_then(Value::as_str).unwrap_or("no reason");
                Err(Failed::because("BrowserError", format!("{method}: {why}")))
            }
        }
    }

    fn write(&self, message: &[u8]) -> io::Result<()> {
        let mut to_browser = self.to_browser.lock().unwrap_or_else(PoisonError::into_inner);
        to_browser.write_all(message)?;
        to_browser.write_all(&[0])?;
        to_browser.flush()
    }

    /// Hands an answer to the thread that asked; returns an event.
    fn answered(&self, mut message: Value) -> Option<Event> {
        if let Some(id) = message.get("id").and_then(Value::as_u64) {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sender) = waiting.as_mut().and_then(|waiting| waiting.remove(&id)) {
                // An asker that waits no longer has said so to its own caller.
                let _ = sender.try_send(message);
            }
            return None;
        }
        let text = |it: &Value| it.as_str().map(str::to_owned);
        Some(Event {
            session: message.get("sessionId").and_then(text),
            method: message.get("method").and_then(text)?,
            params: message.get_mut("params").map(Value::take).unwrap_or_default(),
        })
    }
}

fn gone() -> Failed {
    Failed::because("BrowserGone", "the browser has ended")
}

fn request(id: u64, session: Option<&str>, method: &str, params: &Value) -> Value {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let (Some(session), Some(fields)) = (session, message.as_object_mut()) {
        fields.insert("sessionId".to_owned(), Value::from(session));
    }
    message
}

/// Reads until a message is understood; `None` at the end.
fn next(from_browser: &mut impl io::BufRead) -> Option<Value> {
    loop {
        let mut bytes = Vec::new();
        let read = from_browser.by_ref().take(MOST_BYTES).read_until(0, &mut bytes).ok()?;
        if read == 0 || bytes.pop() != Some(0) {
            return None;
        }
        if let Ok(message) = serde_json::from_slice(&bytes) {
            return Some(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_are_not_understood_are_left_out() {
        let mut pipe: &[u8] = b"{not json}\0\xff\0{\"method\":\"New.event\"}\0{\"cut";
        assert_eq!(next(&mut pipe), Some(json!({"method": "New.event"})));
        assert_eq!(next(&mut pipe), None);
    }

    #[test]
    fn an_asker_is_told_when_the_browser_is_gone() {
        let cdp = Cdp::new(io::sink());
        cdp.read(io::empty(), |_| {});
        let answer = cdp.call(None, "Browser.getVersion", &json!({}), Duration::from_mins(1));
        assert_eq!(answer.unwrap_err().name, "BrowserGone");
    }
}
