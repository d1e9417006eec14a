//! The cursor all lexers share.

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
    /// For `'`, `"` and backticks: a quote before this place has no partner.
    unpaired: [usize; 3],
    /// Bytes that may still be looked at in vain.
    patience: usize,
}

/// Bytes looked at in vain that any source may cost, and more for each of its own.
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

    /// The byte here.
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    /// The byte so many further.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.source.as_bytes().get(at).copied() } else { None }
    }

    /// The byte before.
    pub(super) fn before(&self) -> Option<u8> {
        self.at.checked_sub(1).and_then(|at| self.source.as_bytes().get(at).copied())
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest().as_bytes().starts_with(text.as_bytes())
    }

    /// Everything from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.source.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.source.get(start..end).unwrap_or_default()
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    /// Whole characters further, never into the middle of one.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.end);
        while self.at < self.end && !self.source.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    /// The character here, and past it.
    pub(super) fn take(&mut self) -> Option<char> {
        let char = self.rest().chars().next()?;
        self.at += char.len_utf8();
        Some(char)
    }

    /// Past everything the test accepts.
    pub(super) fn skip_while(&mut self, test: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&test) {
            self.at += 1;
        }
        self.slice(start, self.at)
    }

    /// Up to, not past, the end of the line.
    pub(super) fn skip_line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    /// Past the next occurrence of this text, or to the end.
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

    /// Pays for bytes that were looked at in vain; whether there was enough left to do so again.
    /// What is not looked at may be read wrongly, so the source counts as broken then.
    pub(super) const fn lose_patience(&mut self, bytes: usize) -> bool {
        self.patience = self.patience.saturating_sub(bytes);
        self.tokens.broken |= self.patience == 0;
        self.patience > 0
    }

    /// There was space before what comes next.
    pub(super) fn note_space(&mut self) {
        self.spaced = true;
    }

    /// What comes next is the first of its line.
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

    /// The last token but one, and the last.
    pub(super) fn last_two(&self) -> (Option<&Token>, Option<&Token>) {
        match &*self.tokens.list {
            [.., before, last] => (Some(before), Some(last)),
            [last] => (None, Some(last)),
            [] => (None, None),
        }
    }

    /// How many tokens there are.
    pub(super) fn count(&self) -> usize {
        self.tokens.list.len()
    }

    /// Gives a string that was announced earlier its text.
    pub(super) fn fill(&mut self, token: usize, text: Vec<Part>) {
        if let Some(Token { kind: Kind::Text(parts, _), .. }) = self.tokens.list.get_mut(token) {
            *parts = text;
        }
    }

    /// The longest of these marks that stands here; they are sorted longest first.
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

    /// A number in any base, its value where it is small and whole.
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

    /// A backslash escape as C has it, from behind the backslash, into the text.
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

    /// Digits of a character's number, plain or in braces.
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

    /// From behind an opening brace to the brace that closes it, past it; strings inside may hold
    /// braces of their own. Where the code ends.
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

    /// On a quote: to its partner, if that comes before the end.
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
                // An apostrophe in a comment is no string.
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

/// Adds text to the last part where that is text too.
pub(super) fn push_part(parts: &mut Vec<Part>, text: &mut String) {
    if !text.is_empty() {
        parts.push(Part::Text(std::mem::take(text)));
    }
}

/// Letters, digits, `_` and everything beyond ASCII.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The bracket that closes this one, or the mark itself.
pub(super) const fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    }
}
