//! Parsing of an answer: its head, and its body up to a limit.

use std::io::{self, Read, Write};

use super::{Exchange, Expects, Response};

const MOST_HEAD: usize = 32 * 1_024;
const MOST_HEADERS: usize = 96;

/// Sends a request and reads the answer.
pub(super) fn speak(
    mut stream: impl Read + Write,
    exchange: &Exchange<'_>,
) -> io::Result<Response> {
    stream.write_all(exchange.head.as_bytes())?;
    stream.write_all(exchange.body)?;
    stream.flush()?;
    let mut reader = Reader { stream, bytes: Vec::new(), ended: false };
    loop {
        let head = reader.head()?;
        // A 1xx only announces the answer.
        if head.status >= 200 {
            let most = exchange.most_bytes;
            let (body, whole) = match head.framing {
                _ if matches!(head.status, 204 | 304) => (Vec::new(), true),
                _ if exchange.expects == Expects::HeadersOnly => (Vec::new(), true),
                Framing::Length(length) => {
                    let body = reader.plain(length.min(most))?;
                    let whole = body.len() == length;
                    (body, whole)
                }
                Framing::UntilClose => {
                    let body = reader.plain(most)?;
                    (body, reader.ended)
                }
                Framing::Chunked => reader.chunked(most)?,
            };
            return Ok(Response { status: head.status, headers: head.headers, body, whole });
        }
    }
}

struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    framing: Framing,
}

/// The way in which the end of a body is marked.
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

struct Reader<S> {
    stream: S,
    /// Bytes that were read and not yet used.
    bytes: Vec<u8>,
    ended: bool,
}

impl<S: Read> Reader<S> {
    /// Reads more bytes, or notes the end of the stream.
    fn more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4_096];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(read) => self.bytes.extend(buffer.iter().take(read)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Many servers close without a TLS close_notify. A truncated body is still detected:
            // its length or its last chunk is missing.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.ended = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn head(&mut self) -> io::Result<Head> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let parsed = response.parse(&self.bytes).map_err(|_| io::ErrorKind::Unsupported)?;
            if let httparse::Status::Complete(length) = parsed {
                let head = Head {
                    status: response.code.unwrap_or_default(),
                    headers: as_text(&response),
                    framing: framing(&response),
                };
                self.bytes.drain(..length.min(self.bytes.len()));
                return Ok(head);
            }
            if self.ended || self.bytes.len() > MOST_HEAD {
                return Err(io::ErrorKind::Unsupported.into());
            }
            self.more()?;
        }
    }

    fn plain(&mut self, most: usize) -> io::Result<Vec<u8>> {
        while self.bytes.len() < most && !self.ended {
            self.more()?;
        }
        self.bytes.truncate(most);
        Ok(std::mem::take(&mut self.bytes))
    }

    /// Reads a body in chunks, and whether it was read to its end.
    fn chunked(&mut self, most: usize) -> io::Result<(Vec<u8>, bool)> {
        let mut body = Vec::new();
        while body.len() < most && !self.ended {
            match httparse::parse_chunk_size(&self.bytes).map_err(|_| io::ErrorKind::Unsupported)? {
                httparse::Status::Partial if self.bytes.len() > MOST_HEAD => {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                httparse::Status::Partial => self.more()?,
                httparse::Status::Complete((_, 0)) => return Ok((body, true)),
                httparse::Status::Complete((start, size)) => {
                    self.bytes.drain(..start.min(self.bytes.len()));
                    let wanted = usize::try_from(size).unwrap_or(usize::MAX);
                    let wanted = wanted.min(most - body.len());
                    while self.bytes.len() < wanted.saturating_add(2) && !self.ended {
                        self.more()?;
                    }
                    body.extend(self.bytes.drain(..wanted.min(self.bytes.len())));
                    // The line break after the chunk.
                    self.bytes.drain(..2.min(self.bytes.len()));
                }
            }
        }
        Ok((body, false))
    }
}

fn framing(response: &httparse::Response<'_, '_>) -> Framing {
    if header(response, "transfer-encoding").is_some() {
        return Framing::Chunked;
    }
    match header(response, "content-length").and_then(|length| length.trim().parse().ok()) {
        Some(length) => Framing::Length(length),
        None => Framing::UntilClose,
    }
}

fn header<'a>(response: &'a httparse::Response<'_, '_>, name: &str) -> Option<&'a str> {
    let mut headers = response.headers.iter();
    let header = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(header.value).ok()
}

/// The headers that are text, with names in lower case.
fn as_text(response: &httparse::Response<'_, '_>) -> Vec<(String, String)> {
    let text = |header: &httparse::Header<'_>| {
        let value = std::str::from_utf8(header.value).ok()?;
        Some((header.name.to_ascii_lowercase(), value.to_owned()))
    };
    response.headers.iter().filter_map(text).collect()
}
