//! The cursor that all lexers share.

use std::rc::Rc;

use super::{Kind, Part, Quote, Token, Tokens};

/// Reads a range of a source byte by byte and collects tokens.
pub(in super::super) struct Scan<'a> {
    source: &'a str,
    pub(super) at: usize,
    end: usize,
    tokens: Tokens,
    spaced: bool,
    indent: Option<u32>,
    /// For `'`, `"` and backticks: a quote before this position is unpaired.
    unpaired: [usize; 3],
    /// The number of bytes that may still be scanned in vain.
    patience: usize,
}

/// The number of bytes scanned in vain that any source may cost, and more for each of its own.
const PATIENCE: usize = 65_536;
const PATIENCE_PER_BYTE: usize = 8;

impl<'a> Scan<'a> {
    pub(super) fn new(source: &'a str, start: usize, end: usize) -> Self {
        let end = end.min(source.len());
        Self {
            source,
            at: start,
            end,
            tokens: Tokens::default(),
            spaced: true,
            indent: Some(0),
            unpaired: [0; 3],
            patience: PATIENCE + PATIENCE_PER_BYTE * end.saturating_sub(start),
        }
    }

    pub(super) fn finish(self) -> Tokens {
        self.tokens
    }

    /// Returns the byte here.
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    /// Returns the byte this many positions ahead.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.source.as_bytes().get(at).copied() } else { None }
    }

    /// Returns the byte before.
    pub(super) fn before(&self) -> Option<u8> {
        self.at.checked_sub(1).and_then(|at| self.source.as_bytes().get(at).copied())
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest().as_bytes().starts_with(text.as_bytes())
    }

    /// Returns everything from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.source.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.source.get(start..end).unwrap_or_default()
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    /// Advances by whole characters, never into the middle of one.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.end);
        while self.at < self.end && !self.source.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    /// Takes the character here.
    pub(super) fn take(&mut self) -> Option<char> {
        let char = self.rest().chars().next()?;
        self.at += char.len_utf8();
        Some(char)
    }

    /// Skips all bytes that the test accepts.
    pub(super) fn skip_while(&mut self, test: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&test) {
            self.at += 1;
        }
        self.slice(start, self.at)
    }

    /// Skips to the end of the line, not past it.
    pub(super) fn skip_line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    /// Skips past the next occurrence of this text, or to the end.
    pub(super) fn skip_past(&mut self, text: &str) {
        if let Some(found) = self.rest().find(text) {
            self.at += found + text.len();
        } else {
            self.at = self.end;
            self.tokens.broken = true;
        }
    }

    pub(super) fn mark_broken(&mut self) {
        self.tokens.broken = true;
    }

    /// Charges for bytes that were scanned in vain; reports whether the budget allows to do so
    /// again. Text that is not scanned may be misread, so the source then counts as broken.
    pub(super) const fn lose_patience(&mut self, bytes: usize) -> bool {
        self.patience = self.patience.saturating_sub(bytes);
        self.tokens.broken |= self.patience == 0;
        self.patience > 0
    }

    /// Records that a space precedes the next token.
    pub(super) fn note_space(&mut self) {
        self.spaced = true;
    }

    /// Records that the next token is the first of its line.
    pub(super) fn note_line(&mut self, indent: u32) {
        self.spaced = true;
        self.indent = Some(indent);
    }

    pub(super) fn push(&mut self, kind: Kind, start: usize) {
        let (spaced, indent) = (self.spaced, self.indent.take());
        self.spaced = false;
        self.tokens.list.push(Token { kind, start, end: self.at, spaced, indent });
    }

    pub(super) fn push_name(&mut self, start: usize) {
        let name: Rc<str> = self.slice(start, self.at).into();
        self.push(Kind::Name(name), start);
    }

    pub(super) fn push_text(&mut self, parts: Vec<Part>, quote: Quote, start: usize) {
        self.push(Kind::Text(parts, quote), start);
    }

    pub(super) fn last(&self) -> Option<&Kind> {
        self.tokens.list.last().map(|token| &token.kind)
    }

    /// Returns the last token but one, and the last.
    pub(super) fn last_two(&self) -> (Option<&Token>, Option<&Token>) {
        match &*self.tokens.list {
            [.., before, last] => (Some(before), Some(last)),
            [last] => (None, Some(last)),
            [] => (None, None),
        }
    }

    /// Returns the number of tokens.
    pub(super) fn count(&self) -> usize {
        self.tokens.list.len()
    }

    /// Fills in the text of a string whose token was pushed earlier.
    pub(super) fn fill(&mut self, token: usize, text: Vec<Part>) {
        if let Some(Token { kind: Kind::Text(parts, _), .. }) = self.tokens.list.get_mut(token) {
            *parts = text;
        }
    }

    /// Reads the longest of these marks that matches here, and reports whether one does; they are
    /// sorted longest first.
    pub(super) fn mark(&mut self, marks: &[&'static str]) -> bool {
        let rest = self.rest().as_bytes();
        let Some(mark) = marks.iter().find(|mark| rest.starts_with(mark.as_bytes())) else {
            return false;
        };
        let start = self.at;
        self.at += mark.len();
        self.push(Kind::Mark(mark), start);
        true
    }

    /// Reads a number in any base, with its value if that is a small integer.
    pub(super) fn number(&mut self) {
        let start = self.at;
        let digits: String = self
            .skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            .chars()
            .filter(|char| *char != '_')
            .collect();
        let lower = digits.to_ascii_lowercase();
        let mut value = match lower.get(..2) {
            Some("0x") => i64::from_str_radix(lower.get(2..).unwrap_or_default(), 16).ok(),
            Some("0o") => i64::from_str_radix(lower.get(2..).unwrap_or_default(), 8).ok(),
            Some("0b") => i64::from_str_radix(lower.get(2..).unwrap_or_default(), 2).ok(),
            _ if lower.starts_with('0') && lower.len() > 1 => i64::from_str_radix(&lower, 8).ok(),
            _ => lower.trim_end_matches(['l', 'n', 'j']).parse().ok(),
        };
        let fraction =
            self.peek() == Some(b'.') && self.peek_at(1).is_some_and(|b| b.is_ascii_digit());
        if fraction {
            value = None;
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        }
        self.push(Kind::Number(value), start);
    }

    /// Decodes a backslash escape as in C, from after the backslash, into the text.
    pub(super) fn escape(&mut self, text: &mut String) {
        let Some(char) = self.take() else { return };
        match char {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'a' => text.push('\u{7}'),
            'b' => text.push('\u{8}'),
            'e' => text.push('\u{1b}'),
            'f' => text.push('\u{c}'),
            'v' => text.push('\u{b}'),
            '\n' => {}
            'x' => self.code_point(2, 16, text),
            'u' => self.code_point(4, 16, text),
            'U' => self.code_point(8, 16, text),
            '0'..='7' => {
                self.at -= 1;
                self.code_point(3, 8, text);
            }
            other => text.push(other),
        }
    }

    /// Decodes the digits of a code point, plain or in braces.
    fn code_point(&mut self, most: usize, radix: u32, text: &mut String) {
        let braced = self.peek() == Some(b'{');
        let start = self.at + usize::from(braced);
        let most = if braced { 8 } else { most };
        let mut end = start;
        while end < start + most
            && self.source.as_bytes().get(end).is_some_and(|byte| char::from(*byte).is_digit(radix))
        {
            end += 1;
        }
        let number = u32::from_str_radix(self.slice(start, end), radix).ok();
        text.extend(number.and_then(char::from_u32));
        self.at = (end + usize::from(braced)).min(self.end);
    }

    /// Skips from after an opening brace past the brace that closes it; strings inside may contain
    /// braces of their own. Returns the end of the code.
    pub(super) fn skip_braces(&mut self) -> usize {
        let mut depth = 1_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b'"' | b'\'' | b'`' => self.skip_quoted(byte),
                b'\\' => self.advance(1),
                _ => {}
            }
            if depth == 0 {
                let end = self.at;
                self.at += 1;
                return end;
            }
            self.advance(1);
        }
        self.mark_broken();
        self.at
    }

    /// On a quote: skips to its partner, if that comes before the end.
    pub(super) fn skip_quoted(&mut self, quote: u8) {
        let start = self.at;
        let kind = usize::from(quote == b'"') + 2 * usize::from(quote == b'`');
        if self.unpaired.get(kind).is_some_and(|end| start < *end) {
            return;
        }
        let mut at = self.at + 1;
        while at < self.end {
            match self.source.as_bytes().get(at) {
                Some(b'\\') => at += 1,
                Some(byte) if *byte == quote => {
                    self.at = at;
                    return;
                }
                // An apostrophe in a comment is not a string.
                Some(b'\n') if quote != b'`' => break,
                _ => {}
            }
            at += 1;
        }
        if let Some(unpaired) = self.unpaired.get_mut(kind) {
            *unpaired = at;
        }
        self.at = start;
    }
}

/// Appends the collected text as a part, if there is any.
pub(super) fn push_part(parts: &mut Vec<Part>, text: &mut String) {
    if !text.is_empty() {
        parts.push(Part::Text(std::mem::take(text)));
    }
}

/// Reports whether a byte is a letter, a digit, `_` or not ASCII.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns the bracket that closes this one, or the delimiter itself.
pub(super) const fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    }
}
