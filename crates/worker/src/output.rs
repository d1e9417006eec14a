//! Output of which the start and the end are kept, and the middle is counted.

use std::collections::VecDeque;

use countersign_wire::work::Output;

/// Output that is being read.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
    most_head: usize,
    most_tail: usize,
    /// The start of a character whose end was not read yet.
    unfinished: Vec<u8>,
    /// The bytes that may still be sent while it is read.
    to_send: usize,
}

impl Capture {
    /// Keeps this many bytes in all, half from the start and half from the end.
    pub(crate) fn new(most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let most_tail = most / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
            most_head: most - most_tail,
            most_tail,
            unfinished: Vec::new(),
            to_send: most,
        }
    }

    /// Takes bytes, and returns the text to send at once: no more of it than is kept in all.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let space = self.most_head - self.head.len();
        let (head, rest) = bytes.split_at_checked(space).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        // Only the last of the rest can stay.
        let (passed, kept) = rest.split_at(rest.len().saturating_sub(self.most_tail));
        self.left_out = self.left_out.saturating_add(passed.len() as u64);
        self.tail.extend(kept);
        let over = self.tail.len().saturating_sub(self.most_tail);
        self.tail.drain(..over);
        self.left_out = self.left_out.saturating_add(over as u64);
        self.piece(bytes)
    }

    fn piece(&mut self, bytes: &[u8]) -> String {
        let bytes = bytes.get(..self.to_send.min(bytes.len())).unwrap_or_default();
        self.to_send -= bytes.len();
        self.unfinished.extend_from_slice(bytes);
        let ready = self.unfinished.len() - unfinished(&self.unfinished);
        let rest = self.unfinished.split_off(ready);
        let ready = std::mem::replace(&mut self.unfinished, rest);
        String::from_utf8_lossy(&ready).into_owned()
    }

    /// Notes bytes between head and tail that were not read at all.
    pub(crate) const fn skip(&mut self, bytes: u64) {
        self.left_out = self.left_out.saturating_add(bytes);
    }

    /// The kept output.
    pub(crate) fn finish(self) -> Output {
        let mut head = self.head;
        let mut tail: Vec<u8> = self.tail.into();
        if self.left_out == 0 {
            head.append(&mut tail);
        }
        Output { head: text(&head), tail: text(&tail), left_out: self.left_out }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number of bytes at the end that begin a character and do not end it.
fn unfinished(bytes: &[u8]) -> usize {
    let Some((at, first)) = bytes.iter().rev().take(4).enumerate().find(|(_, byte)| {
        // Every byte of a character but its first is `10xxxxxx`.
        **byte & 0b1100_0000 != 0b1000_0000
    }) else {
        return 0;
    };
    let length = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    if at + 1 < length { at + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_start_and_the_end_are_kept_and_the_middle_is_counted() {
        let mut capture = Capture::new(6);
        for piece in ["ab", "cdefgh", "i", "jk"] {
            capture.push(piece.as_bytes());
        }
        let output = capture.finish();
        assert_eq!((&*output.head, &*output.tail, output.left_out), ("abc", "ijk", 5));
    }

    #[test]
    fn pieces_do_not_divide_a_character() {
        let mut capture = Capture::new(100);
        let pieces: Vec<_> = "aé€🦀".as_bytes().chunks(1).map(|it| capture.push(it)).collect();
        assert_eq!(pieces.concat(), "aé€🦀");
        assert!(pieces.iter().all(|piece| !piece.contains('\u{FFFD}')));
    }

    #[test]
    fn output_without_an_end_is_sent_up_to_a_limit() {
        let mut capture = Capture::new(10);
        let sent: usize = (0..1_000).map(|_| capture.push(b"xxxxx").len()).sum();
        assert_eq!(sent, 10);
        assert_eq!(capture.finish().left_out, 4_990);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_is_lost_without_being_counted(
            pieces in prop::collection::vec(prop::collection::vec(b'a'..=b'z', 0..40), 0..12),
            most in 0u32..50,
        ) {
            let mut capture = Capture::new(most);
            for piece in &pieces {
                capture.push(piece);
            }
            let all = String::from_utf8(pieces.concat()).unwrap();
            let output = capture.finish();
            prop_assert!(all.starts_with(&output.head) && all.ends_with(&output.tail));
            let kept = (output.head.len() + output.tail.len()) as u64;
            prop_assert_eq!(kept + output.left_out, all.len() as u64);
            prop_assert!(kept <= u64::from(most));
        }
    }
}
