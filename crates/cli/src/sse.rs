//! Parses server-sent events from chunks of any size.

use std::collections::VecDeque;

/// One event as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServerSentEvent {
    /// The id from which a client can resume after it.
    pub(crate) id: Option<String>,
    /// Its name, which most events lack.
    pub(crate) name: String,
    pub(crate) data: String,
    /// The delay before a reconnect in milliseconds, if it sets one.
    pub(crate) retry: Option<u64>,
}

/// Assembles events.
#[derive(Debug)]
pub(crate) struct Parser {
    most: usize,
    line: Vec<u8>,
    event: ServerSentEvent,
    has_data: bool,
    ready: VecDeque<ServerSentEvent>,
}

/// An event exceeds the limit.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl Parser {
    /// Returns a parser for events of no more than so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        let (line, event, ready) = (Vec::new(), ServerSentEvent::default(), VecDeque::new());
        Self { most, line, event, has_data: false, ready }
    }

    /// Takes received bytes.
    ///
    /// # Errors
    /// An event exceeds the limit.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len().saturating_add(self.event.data.len()) > self.most {
                return Err(TooLarge);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
            }
        }
        Ok(())
    }

    /// Returns the next complete event.
    pub(crate) fn next(&mut self) -> Option<ServerSentEvent> {
        self.ready.pop_front()
    }

    fn take(&mut self, line: &str) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let is_event = std::mem::take(&mut self.has_data) || event.id.is_some();
            if is_event || event.retry.is_some() {
                self.ready.push_back(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.event.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.event.name),
            "retry" => self.event.retry = value.parse().ok(),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments, and fields that are not known.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: Option<&str>, name: &str, data: &str, retry: Option<u64>) -> ServerSentEvent {
        ServerSentEvent {
            id: id.map(str::to_owned),
            name: name.to_owned(),
            data: data.to_owned(),
            retry,
        }
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = ": countersign\nretry: 2000\n\nid: b-1\nevent: halted\ndata: {}\n\n:\n\n\
                    id: b-2\r\nevent: x\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\nid: 7\n\ndata: cut";
        for size in 1..40 {
            let mut parser = Parser::new(1 << 20);
            for part in text.as_bytes().chunks(size) {
                parser.feed(part).unwrap();
            }
            let ready: Vec<_> = std::iter::from_fn(|| parser.next()).collect();
            assert_eq!(
                ready,
                [
                    told(None, "", "", Some(2000)),
                    told(Some("b-1"), "halted", "{}", None),
                    told(Some("b-2"), "x", "{\"a\":\n\"ü\"}", None),
                    told(Some("7"), "", "", None),
                ]
            );
        }
    }

    #[test]
    fn an_event_without_an_end_fills_no_memory() {
        let mut parser = Parser::new(8 << 20);
        assert!((0..20).any(|_| parser.feed(&vec![b'x'; 1 << 20]).is_err()));
        let mut parser = Parser::new(8 << 20);
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        assert!((0..20).any(|_| parser.feed(line.as_bytes()).is_err()));
    }
}
