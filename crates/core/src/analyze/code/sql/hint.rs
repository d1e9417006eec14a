//! Executable comments: `MySQL` and `MariaDB` run the text in `/*! … */` and `/*M! … */`.

use std::borrow::Cow;

use super::flavour::Flavour;
use super::span_of;
use crate::verdict::Span;

/// Returns the text with the markers of executable comments blanked out, and the spans of those
/// comments. The length stays the same, so offsets in the result are offsets in the text.
pub(super) fn uncover(text: &str, flavour: Flavour) -> (Cow<'_, str>, Vec<Span>) {
    if !flavour.runs_comments() || !(text.contains("/*!") || text.contains("/*M!")) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut scan = Scan { bytes: text.as_bytes().to_vec(), at: 0, open: None, spans: Vec::new() };
    while scan.step() {}
    if let Some(start) = scan.open {
        scan.spans.extend(span_of(start, text.len()));
    }
    // Only ASCII bytes were overwritten, by ASCII bytes.
    let uncovered = String::from_utf8(scan.bytes).unwrap_or_else(|_| text.to_owned());
    (Cow::Owned(uncovered), scan.spans)
}

struct Scan {
    bytes: Vec<u8>,
    at: usize,
    open: Option<usize>,
    spans: Vec<Span>,
}

impl Scan {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Advances by one item: a quote, a comment, a marker or a byte. Returns false at the end.
    fn step(&mut self) -> bool {
        match self.rest() {
            [] => return false,
            [b'/', b'*', b'!', ..] => self.mark(3),
            [b'/', b'*', b'M', b'!', ..] => self.mark(4),
            [b'/', b'*', ..] => self.skip_past(b"*/"),
            [b'*', b'/', ..] => self.close(),
            [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n', ..] => self.skip_past(b"\n"),
            [quote @ (b'\'' | b'"' | b'`'), ..] => self.quoted(*quote),
            [_, ..] => self.at += 1,
        }
        true
    }

    fn mark(&mut self, length: usize) {
        self.open.get_or_insert(self.at);
        let version = self.rest().iter().skip(length).take_while(|b| b.is_ascii_digit()).count();
        self.blank(length + version);
    }

    fn close(&mut self) {
        match self.open.take() {
            Some(start) => {
                self.spans.extend(span_of(start, self.at + 2));
                self.blank(2);
            }
            None => self.at += 2,
        }
    }

    fn blank(&mut self, length: usize) {
        for byte in self.bytes.iter_mut().skip(self.at).take(length) {
            *byte = b' ';
        }
        self.at += length;
    }

    fn skip_past(&mut self, end: &[u8]) {
        let found = self.rest().windows(end.len()).position(|window| window == end);
        self.at = found.map_or(self.bytes.len(), |found| self.at + found + end.len());
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += if *byte == b'\\' && quote != b'`' { 2 } else { 1 };
            if *byte == quote {
                return;
            }
        }
    }
}
