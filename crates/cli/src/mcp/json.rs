//! JSON that preserves its spelling: the order of fields, and every digit of a number.
//!
//! The judged text is the text that is forwarded, so one that two parsers could understand
//! differently (a duplicate name, half a surrogate pair) is refused. `serde_json` would sort
//! fields, round large numbers and keep the last of two names; its features against that apply to
//! the whole program, and would change the input of every digest.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use serde_json::Value;

mod read;

pub(crate) use read::{JsonError, read};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As it is spelled.
    Number(Box<str>),
    String(String),
    Array(Vec<Json>),
    Object(Object),
}

/// Fields in their original order, each name once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Object(Vec<(String, Json)>);

impl Json {
    /// Returns the fields of an object.
    pub(crate) const fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the fields of an object, to be changed.
    pub(crate) const fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub(crate) const fn as_array(&self) -> Option<&Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the items of a list, to be changed.
    pub(crate) const fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a field of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// Returns the value for judging. A number that `serde_json` would spell differently is judged
    /// by its spelling: rounded, two different calls would look the same.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(is) => Value::Bool(*is),
            Self::Number(spelled) => {
                let number: Option<serde_json::Number> = serde_json::from_str(spelled).ok();
                let same = number.filter(|number| number.to_string() == **spelled);
                same.map_or_else(|| Value::String(spelled.to_string()), Value::Number)
            }
            Self::String(text) => Value::String(text.clone()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(object) => Value::Object(
                object.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect(),
            ),
        }
    }

    /// Changes every string in the value.
    pub(crate) fn each_text(&mut self, change: &impl Fn(&str) -> String) {
        match self {
            Self::String(text) => *text = change(text),
            Self::Array(items) => items.iter_mut().for_each(|item| item.each_text(change)),
            Self::Object(object) => {
                object.0.iter_mut().for_each(|(_, value)| value.each_text(change));
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }
}

impl Object {
    /// Returns the fields in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Sets a field: in its position, or as the last one.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Json>) {
        let value = value.into();
        match self.get_mut(name) {
            Some(old) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Adds a field, for building an object.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.set(name, value);
        self
    }

    /// Removes a field.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Json> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Builds an object whose names are checked: none occurs twice.
    fn of(fields: Vec<(String, Json)>) -> Result<Self, String> {
        // A set only where comparing all pairs would be slow.
        let twice = if fields.len() <= 16 {
            let mut seen = fields.iter().enumerate();
            seen.find(|(at, (name, _))| fields.iter().take(*at).any(|(known, _)| known == name))
                .map(|(_, (name, _))| name)
        } else {
            let mut seen = HashSet::with_capacity(fields.len());
            fields.iter().map(|(name, _)| name).find(|name| !seen.insert(name.as_str()))
        };
        match twice {
            Some(name) => Err(name.clone()),
            None => Ok(Self(fields)),
        }
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json {
    fn from(is: bool) -> Self {
        Self::Bool(is)
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Self::Number(number.to_string().into())
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(items)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(is) => Self::Bool(*is),
            Value::Number(number) => Self::Number(number.to_string().into()),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(fields) => Self::Object(Object(
                fields.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect(),
            )),
        }
    }
}

/// Formats on one line, as it is sent.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(is) => write!(f, "{is}"),
            Self::Number(spelled) => f.write_str(spelled),
            Self::String(text) => quoted(text, f),
            Self::Array(items) => {
                f.write_char('[')?;
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        f.write_char(',')?;
                    }
                    fmt::Display::fmt(item, f)?;
                }
                f.write_char(']')
            }
            Self::Object(object) => fmt::Display::fmt(object, f),
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_char(',')?;
            }
            quoted(name, f)?;
            f.write_char(':')?;
            fmt::Display::fmt(value, f)?;
        }
        f.write_char('}')
    }
}

fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    let mut rest = text;
    while let Some(at) = special_at(rest) {
        let (plain, special) = rest.split_at(at);
        f.write_str(plain)?;
        let mut chars = special.chars();
        match chars.next() {
            Some('\n') => f.write_str("\\n")?,
            Some('\r') => f.write_str("\\r")?,
            Some('\t') => f.write_str("\\t")?,
            Some(char @ ('"' | '\\')) => write!(f, "\\{char}")?,
            Some(char) => write!(f, "\\u{:04x}", u32::from(char))?,
            None => {}
        }
        rest = chars.as_str();
    }
    f.write_str(rest)?;
    f.write_char('"')
}

/// The position of the first byte that must be escaped in a string.
fn special_at(text: &str) -> Option<usize> {
    let is_special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    // The whole chunk is checked without a branch, so that the compiler can vectorize it.
    let is_plain = |step: &&[u8; 16]| !step.iter().fold(false, |any, byte| any | is_special(*byte));
    let (steps, _) = text.as_bytes().as_chunks();
    let plain = 16 * steps.iter().take_while(is_plain).count();
    let at = text.bytes().skip(plain).position(is_special)?;
    Some(plain + at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(text: &str) {
        assert_eq!(read(text).unwrap().to_string(), text);
    }

    #[test]
    fn nothing_is_lost_rounded_or_moved() {
        same(r#"{"z":1,"a":1.0,"m":123456789012345678901234567890,"":-0,"e":1E+2}"#);
        same(r#"{"deep":[[],{},[null,true,false,{"é":"\"\\\n\u0001 / 🦀"}]]}"#);
    }

    #[test]
    fn a_number_is_judged_as_itself_or_as_its_spelling() {
        let judged = |text: &str| read(text).unwrap().to_value();
        assert_eq!(judged("7"), json!(7));
        assert_eq!(judged("-1.5"), json!(-1.5));
        assert_eq!(judged("1e400"), json!("1e400"));
        assert_eq!(judged("12345678901234567890123"), json!("12345678901234567890123"));
        assert_ne!(judged("100000000000000000000001"), judged("100000000000000000000002"));
    }

    #[test]
    fn a_name_that_stands_twice_is_refused() {
        assert!(read(r#"{"a":1,"b":{"c":1,"\u0063":2}}"#).is_err());
        let many: Vec<String> = (0..100).map(|number| format!("\"n{number}\":0")).collect();
        assert!(read(&format!("{{{}}}", many.join(","))).is_ok());
        assert!(read(&format!("{{{},\"n7\":1}}", many.join(","))).is_err());
    }

    #[test]
    fn a_field_is_set_in_its_place_or_last() {
        let mut object = Object::default().with("a", 1).with("b", 2);
        object.set("a", "x");
        object.set("c", true);
        assert_eq!(object.to_string(), r#"{"a":"x","b":2,"c":true}"#);
        assert_eq!(object.remove("b"), Some(Json::from(2)));
        assert_eq!(object.remove("b"), None);
    }

    #[test]
    fn what_is_special_is_found_wherever_it_stands() {
        for special in ['"', '\\', '\n', '\0', '\u{1f}'] {
            for at in 0..100 {
                let text = format!("{}{special}{}\"", "x".repeat(at), "é".repeat(50));
                assert_eq!(special_at(&text), Some(at), "{text:?}");
            }
        }
        assert_eq!(special_at(&"ü\u{7f} ".repeat(99)), None);
    }

    #[test]
    fn every_text_can_be_changed() {
        let mut value = read(r#"{"a":["x",{"b":"y"}],"n":1}"#).unwrap();
        value.each_text(&str::to_uppercase);
        assert_eq!(value.to_string(), r#"{"a":["X",{"b":"Y"}],"n":1}"#);
    }
}
