//! Parsing of an answer: its head, and its body up to a limit.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::{Request, Response};

const MOST_HEAD: usize = 16 * 1_024;
const MOST_HEADERS: usize = 64;

/// Sends a request and reads the answer.
pub(super) fn speak(
    mut stream: impl Read + Write,
    head: &str,
    request: &Request<'_>,
) -> io::Result<Response> {
    stream.write_all(head.as_bytes())?;
    stream.write_all(request.body)?;
    stream.flush()?;
    let mut reader = Reader { stream, bytes: Vec::new(), ended: false };
    loop {
        let head = reader.head()?;
        // A 1xx only announces the answer.
        if head.status >= 200 {
            let body = match head.framing {
                _ if matches!(head.status, 204 | 304) => Vec::new(),
                Framing::Length(length) => reader.plain(length.min(request.most_bytes))?,
                Framing::UntilClose => reader.plain(request.most_bytes)?,
                Framing::Chunked => reader.chunked(request.most_bytes)?,
            };
            return Ok(Response { status: head.status, retry_after: head.retry_after, body });
        }
    }
}

struct Head {
    status: u16,
    retry_after: Option<Duration>,
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
                    retry_after: header(&response, "retry-after").and_then(seconds),
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

    fn chunked(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        while body.len() < most && !self.ended {
            match httparse::parse_chunk_size(&self.bytes).map_err(|_| io::ErrorKind::Unsupported)? {
                httparse::Status::Partial if self.bytes.len() > MOST_HEAD => {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                httparse::Status::Partial => self.more()?,
                httparse::Status::Complete((_, 0)) => break,
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
        Ok(body)
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

fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().map(Duration::from_secs)
}
