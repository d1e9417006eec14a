//! Bytes, classes of bytes and runs of them: the basis of every detector.
//!
//! Reading past either end gives `0`, which is not in any class, so detectors need not check
//! bounds.

/// A set of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(u16);

impl Class {
    pub(super) const DIGIT: Self = Self(1);
    pub(super) const HEX: Self = Self(1 | 2);
    pub(super) const LOWER: Self = Self(2 | 4);
    pub(super) const LOWER_NUM: Self = Self(1 | 2 | 4);
    pub(super) const UPPER: Self = Self(8 | 16);
    pub(super) const UPPER_NUM: Self = Self(1 | 8 | 16);
    pub(super) const ANY_HEX: Self = Self(1 | 2 | 8);
    pub(super) const ALPHA: Self = Self(2 | 4 | 8 | 16);
    pub(super) const ALNUM: Self = Self(1 | 2 | 4 | 8 | 16);
    pub(super) const WORD: Self = Self(Self::ALNUM.0 | 32);
    pub(super) const UUID: Self = Self(1 | 2 | 8 | 64);
    /// The alphabet of base64url, which most tokens use.
    pub(super) const URL64: Self = Self(Self::ALNUM.0 | 32 | 64);
    pub(super) const DOTTED: Self = Self(Self::URL64.0 | 128);
    pub(super) const BASE64: Self = Self(Self::ALNUM.0 | 256 | 512);
    /// Both alphabets of base64, padding included.
    pub(super) const ANY64: Self = Self(Self::URL64.0 | 256 | 512);
    /// The alphabet of `crypt(3)` hashes.
    pub(super) const CRYPT: Self = Self(Self::ALNUM.0 | 128 | 256);
    /// The characters of a name: an identifier, a dotted path, a flag.
    pub(super) const NAME: Self = Self(Self::URL64.0 | 128);
    /// Letters and digits, some of them percent-encoded.
    pub(super) const ESCAPED: Self = Self(Self::ALNUM.0 | 4096);
    /// The alphabets of all tokens, without padding.
    pub(super) const TOKEN: Self = Self(Self::URL64.0 | 128 | 256);
    pub(super) const PADDING: Self = Self(512);
    pub(super) const DASH: Self = Self(64);
    /// Base64 broken into lines.
    pub(super) const LINES64: Self = Self(Self::BASE64.0 | 1024 | 2048);
    pub(super) const SPACE: Self = Self(1024);
    pub(super) const BLANK: Self = Self(1024 | 2048);

    /// Reports whether the byte is in the set.
    pub(super) fn has(self, byte: u8) -> bool {
        BITS.get(usize::from(byte)).is_some_and(|bits| self.0 & bits != 0)
    }
}

/// The classes of every byte.
static BITS: [u16; 256] = table();

#[expect(
    clippy::indexing_slicing,
    reason = "runs at compile time, where out of bounds is a build error"
)]
const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = bits(byte);
        if byte == u8::MAX {
            return table;
        }
        byte += 1;
    }
}

const fn bits(byte: u8) -> u16 {
    match byte {
        b'0'..=b'9' => 1,
        b'a'..=b'f' => 2,
        b'g'..=b'z' => 4,
        b'A'..=b'F' => 8,
        b'G'..=b'Z' => 16,
        b'_' => 32,
        b'-' => 64,
        b'.' => 128,
        b'+' | b'/' => 256,
        b'=' => 512,
        b' ' | b'\t' => 1024,
        b'\n' | b'\r' => 2048,
        b'%' => 4096,
        _ => 0,
    }
}

/// The text that is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl<'a> Text<'a> {
    /// The number of bytes.
    pub(super) const fn len(self) -> usize {
        self.0.len()
    }

    /// The byte there, or `0` beyond the end.
    pub(super) fn at(self, index: usize) -> u8 {
        self.0.as_bytes().get(index).copied().unwrap_or(0)
    }

    /// The byte before that position, or `0` at the start.
    pub(super) fn before(self, index: usize) -> u8 {
        index.checked_sub(1).map_or(0, |index| self.at(index))
    }

    /// The text between two positions, or an empty one if they are not on character boundaries.
    pub(super) fn cut(self, start: usize, end: usize) -> &'a str {
        self.0.get(start..end).unwrap_or("")
    }

    /// Up to `limit` bytes before that position, from a character boundary on.
    pub(super) fn back(self, end: usize, limit: usize) -> &'a str {
        let from = end.saturating_sub(limit);
        let start = (from..end).take(4).find(|at| self.0.is_char_boundary(*at)).unwrap_or(end);
        self.cut(start, end)
    }

    /// The end of the run of such bytes that starts there.
    pub(super) fn run(self, start: usize, class: Class) -> usize {
        self.run_within(start, class, self.len())
    }

    /// The same, reading at most `limit` bytes.
    pub(super) fn run_within(self, start: usize, class: Class, limit: usize) -> usize {
        let bytes = self.0.as_bytes().get(start..).unwrap_or(&[]);
        start + bytes.iter().take(limit).take_while(|byte| class.has(**byte)).count()
    }

    /// The start of the run of such bytes that ends there, at most `limit` bytes back.
    pub(super) fn run_back(self, end: usize, class: Class, limit: usize) -> usize {
        let bytes = self.0.as_bytes().get(..end).unwrap_or(&[]);
        end - bytes.iter().rev().take(limit).take_while(|byte| class.has(**byte)).count()
    }

    /// Reports whether the literal is at this position.
    pub(super) fn has(self, index: usize, literal: &str) -> bool {
        self.0.as_bytes().get(index..).is_some_and(|rest| rest.starts_with(literal.as_bytes()))
    }

    /// Reports whether the literal is at this position, in any case.
    pub(super) fn has_any_case(self, index: usize, literal: &str) -> bool {
        self.0
            .as_bytes()
            .get(index..index.saturating_add(literal.len()))
            .is_some_and(|found| found.eq_ignore_ascii_case(literal.as_bytes()))
    }

    /// The next position of one of these bytes, within `limit` bytes.
    pub(super) fn find(self, start: usize, limit: usize, wanted: &[u8]) -> Option<usize> {
        let bytes = self.0.as_bytes().get(start..).unwrap_or(&[]);
        let found = bytes.iter().take(limit).position(|byte| wanted.contains(byte))?;
        Some(start + found)
    }

    /// Reports whether a token may start there: no word character precedes it.
    ///
    /// An escaped `\n` of two characters, and `%3D`, do not count as word characters.
    pub(super) fn is_edge(self, index: usize) -> bool {
        let before = self.before(index);
        if !Class::WORD.has(before) {
            return true;
        }
        let second = index.checked_sub(2).map_or(0, |index| self.at(index));
        let third = index.checked_sub(3).map_or(0, |index| self.at(index));
        (second == b'\\' && matches!(before, b'n' | b't' | b'r'))
            || (third == b'%' && Class::ANY_HEX.has(second) && Class::ANY_HEX.has(before))
    }
}

/// Reports whether the word is one of these, in any case.
pub(super) fn is_any(word: &str, of: &[&str]) -> bool {
    of.iter().any(|candidate| candidate.eq_ignore_ascii_case(word))
}

/// Reports whether the needle, given in lower case, occurs in any case.
pub(super) fn contains(text: &str, needle: &str) -> bool {
    text.as_bytes()
        .windows(needle.len().max(1))
        .any(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

/// Reports whether the text ends with this, in any case.
pub(super) fn ends(text: &str, tail: &str) -> bool {
    text.len() >= tail.len()
        && text.get(text.len() - tail.len()..).is_some_and(|end| end.eq_ignore_ascii_case(tail))
}

/// Reports whether the text starts with this, in any case.
pub(super) fn starts(text: &str, head: &str) -> bool {
    text.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_ends_gives_nothing() {
        let text = Text("ab");
        assert_eq!((text.at(2), text.before(0), text.cut(1, 9)), (0, 0, ""));
        assert_eq!(text.run(5, Class::ALNUM), 5);
    }

    #[test]
    fn an_escaped_newline_is_an_edge() {
        assert!(Text("\\nghp").is_edge(2));
        assert!(Text("%3Dghp").is_edge(3));
        assert!(!Text("anghp").is_edge(2));
    }
}
