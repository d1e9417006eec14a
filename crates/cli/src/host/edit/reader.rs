//! The parser of JSON with comments and trailing commas, which notes the position of every value.

use anyhow::{Result, bail};
use serde_json::Value;

use super::{Kind, Member, Node};

/// Deeper than any settings file.
const DEEPEST: usize = 100;

/// A parser at a position.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Reader<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips spacing and comments.
    pub(super) fn skip(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let spaces = rest.len() - rest.trim_start_matches(is_space).len();
            let comment = rest.get(spaces..).unwrap_or_default();
            let length = if comment.starts_with("//") {
                comment.find('\n').unwrap_or(comment.len())
            } else if let Some(inside) = comment.strip_prefix("/*") {
                let Some(length) = inside.find("*/") else { bail!("a comment does not end") };
                length + 4
            } else {
                self.at += spaces;
                return Ok(());
            };
            self.at += spaces + length;
        }
    }

    pub(super) fn value(&mut self, depth: usize) -> Result<Node> {
        if depth > DEEPEST {
            bail!("it is nested too deep");
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.members(depth)?),
            Some(b'[') => Kind::Array(self.items(depth)?),
            Some(_) => Kind::Plain(self.plain()?),
            None => bail!("it ends too early"),
        };
        Ok(Node { start, end: self.at, kind })
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        self.at += 1;
        while self.more(b'}')? {
            let start = self.at;
            let Value::String(key) = self.plain()? else {
                bail!("a key is not a string, at byte {start}");
            };
            let key_end = self.at;
            self.skip()?;
            if self.peek() != Some(b':') {
                bail!("a `:` is missing, at byte {}", self.at);
            }
            self.at += 1;
            self.skip()?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, start, key_end, value });
            self.comma(b'}')?;
        }
        Ok(members)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>> {
        let mut items = Vec::new();
        self.at += 1;
        while self.more(b']')? {
            items.push(self.value(depth + 1)?);
            self.comma(b']')?;
        }
        Ok(items)
    }

    /// Reports whether another item follows; skips the closing bracket if not.
    fn more(&mut self, close: u8) -> Result<bool> {
        self.skip()?;
        let ends = self.peek() == Some(close);
        self.at += usize::from(ends);
        Ok(!ends)
    }

    fn comma(&mut self, close: u8) -> Result<()> {
        self.skip()?;
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(found) if found == close => {}
            Some(_) | None => bail!("a `,` is missing, at byte {}", self.at),
        }
        Ok(())
    }

    fn plain(&mut self) -> Result<Value> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Value>();
        let value = values.next().and_then(Result::ok);
        let length = values.byte_offset();
        let Some(value) = value.filter(|value| !value.is_object() && !value.is_array()) else {
            bail!("it cannot be read, at byte {}", self.at);
        };
        self.at += length;
        Ok(value)
    }
}

/// Reports whether a character is spacing in JSON.
pub(super) fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n')
}
