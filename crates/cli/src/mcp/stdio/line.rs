//! Bytes become lines, however they come in.

use std::io::{self, BufRead};

/// The longest message. Pictures come as text.
pub(super) const MOST_BYTES: usize = 64 << 20;
/// What is kept of the room that a long line took.
const KEPT: usize = 64 << 10;

/// Cuts lines out of what it is fed.
#[derive(Debug)]
pub(super) struct Lines {
    most: usize,
    /// What came since the last line.
    begun: Vec<u8>,
    /// Whether what comes belongs to a line that was too long.
    is_skipping: bool,
}

impl Lines {
    pub(super) const fn new() -> Self {
        Self::of_at_most(MOST_BYTES)
    }

    const fn of_at_most(most: usize) -> Self {
        Self { most, begun: Vec::new(), is_skipping: false }
    }

    /// Takes in what came, and gives each line that is whole by then, or what is wrong with it.
    pub(super) fn feed(
        &mut self,
        mut came: &[u8],
        mut each: impl FnMut(Result<&str, &'static str>),
    ) {
        // Reading from memory does not fail. It looks at every byte once, and at many in a step.
        while came.read_until(b'\n', &mut self.begun).is_ok_and(|read| read > 0) {
            let is_whole = self.begun.last() == Some(&b'\n');
            let is_too_long = self.begun.len() - usize::from(is_whole) >= self.most;
            if self.is_skipping || is_too_long {
                if !self.is_skipping {
                    each(Err("a message is too long"));
                }
                self.is_skipping = !is_whole;
                self.forget();
            } else if is_whole {
                self.give(&mut each);
            }
        }
    }

    /// Gives what came after the last line.
    pub(super) fn end(&mut self, mut each: impl FnMut(Result<&str, &'static str>)) {
        self.give(&mut each);
    }

    fn give(&mut self, each: &mut impl FnMut(Result<&str, &'static str>)) {
        match str::from_utf8(&self.begun) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => each(Ok(text)),
            Err(_) => each(Err("a message is not UTF-8")),
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.begun.clear();
        self.begun.shrink_to(KEPT);
    }
}

/// Reads lines to the end, and gives each, or what is wrong with it.
pub(super) fn each_line(mut input: impl BufRead, mut each: impl FnMut(Result<&str, &'static str>)) {
    let mut lines = Lines::new();
    loop {
        let read = match input.fill_buf() {
            Ok([]) => return lines.end(each),
            Ok(came) => {
                lines.feed(came, &mut each);
                came.len()
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(_) => return,
        };
        input.consume(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen = Vec<Result<String, &'static str>>;

    /// What comes of these pieces, where eight bytes are too many.
    fn seen<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
        let (mut lines, mut seen) = (Lines::of_at_most(8), Seen::new());
        let mut each = |line: Result<&str, _>| seen.push(line.map(str::to_owned));
        pieces.into_iter().for_each(|piece| lines.feed(piece, &mut each));
        lines.end(each);
        seen
    }

    #[test]
    fn every_line_is_given_and_empty_ones_are_not() {
        let mut seen = Seen::new();
        let input: &[u8] = b"a\n\n  \r\nb\r\n\xff\nc";
        each_line(input, |line| seen.push(line.map(str::to_owned)));
        assert_eq!(
            seen,
            [
                Ok("a\n".to_owned()),
                Ok("b\r\n".to_owned()),
                Err("a message is not UTF-8"),
                Ok("c".to_owned())
            ]
        );
    }

    #[test]
    fn what_is_too_long_is_skipped_to_its_end() {
        let mut input = vec![b'x'; MOST_BYTES + 10];
        input.extend(b"\nnext\n");
        let mut seen = Seen::new();
        each_line(input.as_slice(), |line| seen.push(line.map(str::to_owned)));
        assert_eq!(seen, [Err("a message is too long"), Ok("next\n".to_owned())]);
    }

    #[test]
    fn the_last_byte_of_the_longest_line_is_its_end() {
        let too_long = Err("a message is too long");
        assert_eq!(seen([b"1234567\n".as_slice()]), [Ok("1234567\n".to_owned())]);
        assert_eq!(seen([b"12345678\n".as_slice()]), std::slice::from_ref(&too_long));
        assert_eq!(seen([b"1234567".as_slice()]), [Ok("1234567".to_owned())]);
        // Whether more of it comes or not.
        assert_eq!(seen([b"12345678".as_slice()]), std::slice::from_ref(&too_long));
        assert_eq!(seen([b"12345678".as_slice(), b"9", b"\na"]), [too_long, Ok("a".to_owned())]);
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let texts: [&[u8]; 6] = [
            b"one\n\ntwo\r\n three\n",
            "ü\n🦀🦀\n\u{feff}\n".as_bytes(),
            b"\xff\n\xf0\x9f\n\x80ok\nok",
            b"1234567\n12345678\n123456789\nok\n",
            b"far too long, and then some more\n\nok",
            b"the end is too long",
        ];
        for text in texts {
            let whole = seen([text]);
            for size in 1..=text.len() {
                assert_eq!(seen(text.chunks(size)), whole, "{size} at a time: {text:?}");
            }
            for at in 0..=text.len() {
                let (one, other) = text.split_at(at);
                assert_eq!(seen([one, other]), whole, "cut at {at}: {text:?}");
            }
        }
    }

    #[test]
    fn a_long_line_does_not_keep_its_room() {
        let mut lines = Lines::new();
        lines.feed(&vec![b' '; 1 << 20], |_| {});
        lines.feed(b"\n", |_| {});
        assert!(lines.begun.capacity() <= KEPT);
    }
}
