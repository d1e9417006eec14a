//! Refuses requests with two conflicting lengths (request smuggling).
//!
//! A proxy in between may go by a request's `Content-Length` where we go by its chunks, and take
//! for the next request what we take for the rest of this one. hyper silently drops the length, so
//! the heads are read here, as they come in. The head of such a request is corrupted before hyper
//! has seen its end, so that hyper refuses it like any other that it cannot parse.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream of requests whose heads are checked.
pub(crate) struct Watched<S> {
    stream: S,
    reader: Reader,
    heads: Heads,
}

/// A flag that is set when no more heads come: the connection uses another protocol from then on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heads(Arc<AtomicBool>);

impl Heads {
    /// Reports that no more heads come.
    pub(crate) fn end(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Checks the heads that come in over this stream.
pub(crate) fn watch<S>(stream: S) -> (Watched<S>, Heads) {
    let heads = Heads::default();
    (Watched { stream, reader: Reader::default(), heads: heads.clone() }, heads)
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if !self.heads.0.load(Ordering::Acquire) {
            let new = buffer.filled_mut().get_mut(before..).unwrap_or_default();
            self.reader.look(new);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// The position of the next byte in a stream of requests.
#[derive(Debug, Default)]
enum Reader {
    /// Before a head.
    #[default]
    Between,
    /// Within a head.
    Head(Head),
    /// Within a body, with this many bytes left.
    Body(u64),
    /// Within chunks. They are the last thing on their connection: the guard closes it.
    Chunks,
}

/// The part of a head that has been read.
#[derive(Debug, Default)]
struct Head {
    line: Line,
    length: Option<Length>,
    chunked: bool,
}

/// The length that a head declares.
#[derive(Debug, Clone, Copy)]
enum Length {
    Bytes(u64),
    /// Not a number; hyper refuses it.
    Unreadable,
}

/// The line that is being read: only its beginning is kept.
#[derive(Debug, Default)]
struct Line {
    start: Vec<u8>,
    bytes: usize,
}

/// The number of bytes kept of a line, which is longer than every line that matters here.
const LONGEST: usize = 128;

impl Reader {
    /// Reads these bytes, and corrupts the end of a head that declares two lengths.
    fn look(&mut self, mut bytes: &mut [u8]) {
        while let Some(first) = bytes.first_mut() {
            match self {
                Self::Chunks => return,
                Self::Body(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left = left.saturating_sub(u64::try_from(here).unwrap_or(u64::MAX));
                    if *left == 0 {
                        *self = Self::Between;
                    }
                    bytes = bytes.get_mut(here..).unwrap_or_default();
                    continue;
                }
                // Empty lines before a request are skipped.
                Self::Between if matches!(*first, b'\r' | b'\n') => {}
                Self::Between => {
                    let mut head = Head::default();
                    head.line.push(*first);
                    *self = Self::Head(head);
                }
                Self::Head(head) => {
                    if head.next(*first) == Next::Ends {
                        if head.chunked && head.length.is_some() {
                            *first = b'\0';
                        }
                        *self = head.body();
                    }
                }
            }
            bytes = bytes.get_mut(1..).unwrap_or_default();
        }
    }
}

/// The state after a byte of a head.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    GoesOn,
    Ends,
}

impl Head {
    fn next(&mut self, byte: u8) -> Next {
        if byte != b'\n' {
            self.line.push(byte);
            return Next::GoesOn;
        }
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Next::Ends;
        }
        self.chunked |= line.field("transfer-encoding").is_some();
        if let Some(value) = line.field("content-length") {
            self.length = Some(line.length(value));
        }
        Next::GoesOn
    }

    fn body(&self) -> Reader {
        match self.length {
            _ if self.chunked => Reader::Chunks,
            Some(Length::Bytes(left @ 1..)) => Reader::Body(left),
            Some(Length::Bytes(0)) | None => Reader::Between,
            // hyper answers and closes.
            Some(Length::Unreadable) => Reader::Chunks,
        }
    }
}

impl Line {
    fn push(&mut self, byte: u8) {
        self.bytes = self.bytes.saturating_add(1);
        if self.start.len() < LONGEST {
            self.start.push(byte);
        }
    }

    fn is_empty(&self) -> bool {
        self.start.is_empty() || (self.bytes == 1 && self.start == b"\r")
    }

    /// The value of the field of this name, if the line is that field.
    fn field(&self, name: &str) -> Option<&[u8]> {
        let (start, rest) = self.start.split_at_checked(name.len())?;
        let value = rest.strip_prefix(b":")?;
        start.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    }

    fn length(&self, value: &[u8]) -> Length {
        let whole = self.bytes <= LONGEST;
        let number =
            std::str::from_utf8(value.trim_ascii()).ok().and_then(|text| text.parse().ok());
        number.filter(|_| whole).map_or(Length::Unreadable, Length::Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports whether any head is corrupted when the text comes in pieces of this size.
    fn spoiled(text: &str, piece: usize) -> bool {
        let mut bytes = text.as_bytes().to_vec();
        let mut reader = Reader::default();
        bytes.chunks_mut(piece).for_each(|piece| reader.look(piece));
        bytes != text.as_bytes()
    }

    #[test]
    fn a_head_with_two_lengths_is_spoiled_wherever_it_stands_and_however_it_comes() {
        let both = "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
        let turned = "POST / HTTP/1.1\r\ntransfer-encoding: x\r\nCONTENT-LENGTH: 0\r\n\r\n";
        let bare = "POST / HTTP/1.1\nContent-Length: 3\nTransfer-Encoding: chunked\n\n";
        for text in [both, turned, bare] {
            for before in [
                "",
                "\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\na\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
            ] {
                for piece in [1, 2, 3, 7, 1000] {
                    assert!(spoiled(&format!("{before}{text}"), piece), "{before}{text}");
                }
            }
        }
    }

    #[test]
    fn what_is_sound_and_what_is_a_body_stay_as_they_are() {
        let body = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
        let long = format!("X-Long: {}\r\n", "y".repeat(1_000));
        for text in [
            format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
            format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n{body}"),
            format!("GET / HTTP/1.1\r\n{long}Host: x\r\n\r\n"),
            "GET / HTTP/1.1\r\nX-Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
        ] {
            for piece in [1, 5, 1000] {
                assert!(!spoiled(&text, piece), "{text}");
            }
        }
    }
}
