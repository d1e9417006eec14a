//! A strict parser.

use super::{Json, Object, special_at};

/// Deeper than any schema, and far from a stack overflow.
const DEEPEST: usize = 128;

/// The reason why a text is not JSON, or is ambiguous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonError(String);

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for JsonError {}

/// Parses one value with nothing after it.
///
/// # Errors
/// It is not JSON, too deep, or ambiguous.
pub(crate) fn read(text: &str) -> Result<Json, JsonError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => reader.wrong("unexpected text after the value"),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Names only the position: the text there may be a secret.
    fn wrong<T>(&self, what: &str) -> Result<T, JsonError> {
        Err(JsonError(format!("{what}, at byte {}", self.at)))
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json, JsonError> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => self.wrong("the text ends too soon"),
        }
    }

    fn nested(
        &mut self,
        inner: fn(&mut Self) -> Result<Json, JsonError>,
    ) -> Result<Json, JsonError> {
        if self.depth == DEEPEST {
            return self.wrong("nested too deeply");
        }
        self.depth += 1;
        self.at += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Json, JsonError> {
        let mut fields = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(Object::default()));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return self.wrong("a name is missing");
            }
            let name = self.string()?;
            self.skip_space();
            if self.next() != Some(b':') {
                return self.wrong("a colon is missing");
            }
            fields.push((name, self.value()?));
            if self.ends(b'}')? {
                break;
            }
        }
        match Object::of(fields) {
            Ok(object) => Ok(Json::Object(object)),
            Err(_) => self.wrong("a name appears twice in one object"),
        }
    }

    fn array(&mut self) -> Result<Json, JsonError> {
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.ends(b']')? {
                return Ok(Json::Array(items));
            }
        }
    }

    /// Reports whether the list ends here; otherwise there was a comma.
    fn ends(&mut self, end: u8) -> Result<bool, JsonError> {
        self.skip_space();
        match self.next() {
            Some(b',') => Ok(false),
            Some(byte) if byte == end => Ok(true),
            _ => self.wrong("a comma or the end is missing"),
        }
    }

    fn word(&mut self) -> Result<Json, JsonError> {
        let words =
            [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.wrong("this is not a value")
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let begins_with_zero = self.peek() == Some(b'0');
        let whole = self.digits()?;
        if begins_with_zero && whole > 1 {
            return self.wrong("a number begins with a zero");
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Json::Number(self.text.get(start..self.at).unwrap_or_default().into()))
    }

    /// Skips at least one digit, and returns their number.
    fn digits(&mut self) -> Result<usize, JsonError> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        if count == 0 { self.wrong("a digit is missing") } else { Ok(count) }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = special_at(rest) else {
                return self.wrong("a string does not end");
            };
            text.push_str(rest.get(..end).unwrap_or_default());
            self.at += end;
            match self.next() {
                Some(b'"') => return Ok(text),
                Some(b'\\') => text.push(self.escaped()?),
                _ => return self.wrong("a control character is in a string"),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, JsonError> {
        match self.next() {
            Some(byte @ (b'"' | b'\\' | b'/')) => Ok(char::from(byte)),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => self.unicode(),
            _ => self.wrong("an escape is unknown"),
        }
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.unit()?;
        let half = (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u");
        let second = if half {
            self.at += 2;
            Some(self.unit()?)
        } else {
            None
        };
        let mut chars = char::decode_utf16([first].into_iter().chain(second));
        match (chars.next(), chars.next()) {
            (Some(Ok(char)), None) => Ok(char),
            _ => self.wrong("half a surrogate pair"),
        }
    }

    fn unit(&mut self) -> Result<u16, JsonError> {
        let digits = self.rest().get(..4).filter(|digits| {
            // `from_str_radix` accepts a sign, too.
            digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                self.at += 4;
                Ok(unit)
            }
            None => self.wrong("four hexadecimal digits are missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_json_is_refused() {
        let wrong = [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "01",
            "-",
            "1.",
            "1e",
            "+1",
            "nul",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"a\nb\"",
            "1 2",
            "{}}",
            "'a'",
            "NaN",
        ];
        for text in wrong {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn surrogates_come_in_pairs() {
        assert_eq!(read(r#""\ud83e\udd80""#), Ok(Json::String("🦀".to_owned())));
        for half in [r#""\ud83e""#, r#""\udd80""#, r#""\ud83e\u0041""#, r#""\ud83e\u0000""#] {
            assert!(read(half).is_err(), "{half}");
        }
        assert_eq!(read(r#""\u0000""#), Ok(Json::String("\0".to_owned())));
    }

    #[test]
    fn depth_and_length_are_bounded() {
        assert!(read(&"[".repeat(1_000_000)).is_err());
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&deep(DEEPEST)).is_ok() && read(&deep(DEEPEST + 1)).is_err());
        let many = format!(
            "{{{}}}",
            (0..50_000).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",")
        );
        assert!(read(&many).is_ok());
    }

    proptest! {
        #[test]
        fn whoever_reads_it_reads_the_same(text in "[\\[\\]{}\",:0-9eE.+\\-a-ftnrul\\\\ ]{0,40}") {
            let ours = read(&text);
            let theirs: Result<serde_json::Value, _> = serde_json::from_str(&text);
            if let Ok(ours) = &ours {
                // serde_json refuses numbers that are out of its range.
                prop_assert!(theirs.is_ok() || text.contains(['e', 'E']), "{text}");
                let again = read(&ours.to_string());
                prop_assert_eq!(again.as_ref(), Ok(ours));
            }
        }

        #[test]
        fn texts_come_back(text in any::<String>()) {
            let quoted = Json::String(text.clone()).to_string();
            prop_assert!(!quoted.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text.clone());
            prop_assert_eq!(read(&quoted), Ok(Json::String(text)));
        }
    }
}
