//! Edits a JSON file that other people write too, and leaves every byte of theirs unchanged:
//! comments, trailing commas, order, indentation.
//!
//! Removing is the exact inverse of adding. Spacing records what the values cannot: an item that
//! touches the opening bracket was added to a container that was already there and empty; any other
//! lone item came with a container of our own.

use anyhow::{Result, bail};
use serde_json::{Map, Value};

mod reader;

use reader::{Reader, is_space};

/// A text and its parsed content.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    text: String,
    root: Node,
}

/// A value and its span.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
}

/// The kind of a value.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Plain(Value),
}

/// A member of an object, and the span of its key.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) start: usize,
    pub(crate) key_end: usize,
    pub(crate) value: Node,
}

/// A step of a path to a value: a key of an object or an index of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To<'a> {
    /// The member of this name; the last of several, as every JSON parser takes it.
    Key(&'a str),
    /// The item at this index.
    At(usize),
}

impl Document {
    /// Parses JSON with comments and trailing commas.
    ///
    /// # Errors
    /// It is not that, or not an object.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut reader = Reader { text, at: 0 };
        if text.starts_with('\u{feff}') {
            reader.at = 3;
        }
        reader.skip()?;
        let root = reader.value(0)?;
        reader.skip()?;
        if reader.at < text.len() {
            bail!("unexpected text after the end, at byte {}", reader.at);
        }
        if !matches!(root.kind, Kind::Object(_)) {
            bail!("it is not an object");
        }
        Ok(Self { text: text.to_owned(), root })
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the root node.
    pub(crate) const fn root(&self) -> &Node {
        &self.root
    }

    /// Returns the value at a path.
    pub(crate) fn get(&self, path: &[To<'_>]) -> Option<Value> {
        self.root.find(path).map(Node::to_value)
    }

    /// Adds an item to the end of a list, which is created where there is none.
    ///
    /// # Errors
    /// Something on the path is not an object, or its end is not a list.
    pub(crate) fn push(&self, keys: &[&str], item: &Value) -> Result<Self> {
        let (mut node, mut rest) = (&self.root, keys);
        while let [key, further @ ..] = rest {
            let Kind::Object(members) = &node.kind else {
                bail!("what is around `{key}` is not an object");
            };
            let Some(found) = members.iter().rev().find(|member| member.key == *key) else { break };
            (node, rest) = (&found.value, further);
        }
        let Some((first, further)) = rest.split_first() else {
            if !matches!(node.kind, Kind::Array(_)) {
                bail!("`{}` is not a list", keys.join("."));
            }
            return self.insert(node, None, item);
        };
        if !matches!(node.kind, Kind::Object(_)) {
            bail!("what is around `{first}` is not an object");
        }
        let mut value = Value::Array(vec![item.clone()]);
        for key in further.iter().rev() {
            value = Value::Object(Map::from_iter([((*key).to_owned(), value)]));
        }
        self.insert(node, Some(first), &value)
    }

    /// Removes an item or a member, and with it the container that was created for it. Returns
    /// `None` when nothing else is left.
    ///
    /// # Errors
    /// The remaining text cannot be parsed any more.
    pub(crate) fn remove(&self, path: &[To<'_>]) -> Result<Option<Self>> {
        let Some((_, around)) = path.split_last() else { return Ok(None) };
        let Some(container) = self.root.find(around) else { return Ok(Some(self.clone())) };
        let Some((start, end)) = self.root.span(path) else { return Ok(Some(self.clone())) };
        let items = container.items();
        let place = items.iter().position(|item| item.0 == start).unwrap_or_default();
        let around_it = [container.start..start, end..container.end];
        let commented = around_it.into_iter().filter_map(|part| self.text.get(part));
        let commented =
            commented.into_iter().any(|text| text.contains("//") || text.contains("/*"));
        if items.len() == 1 && start != container.start + 1 && !commented {
            return self.remove(around);
        }
        let after_comma = self.comma_after(end);
        let mut text = self.text.clone();
        match (place.checked_sub(1).and_then(|before| items.get(before)), items.get(place + 1)) {
            // Directly after the bracket of a container that existed before us.
            (None, None) => text.replace_range(start..end, ""),
            (_, Some(_)) => {
                text.replace_range(self.before(start)..after_comma.unwrap_or(end), "");
            }
            (Some(_), None) if after_comma.is_some() => {
                text.replace_range(self.before(start)..after_comma.unwrap_or(end), "");
            }
            (Some(previous), None) => {
                text.replace_range(self.before(start)..end, "");
                if let Some(comma) = self.comma_after(previous.1) {
                    text.replace_range(comma - 1..comma, "");
                }
            }
        }
        Self::read(&text).map(Some)
    }

    /// Adds an item at the end of a container.
    fn insert(&self, into: &Node, key: Option<&str>, value: &Value) -> Result<Self> {
        let mut text = self.text.clone();
        let items = into.items();
        let Some((last_start, last_end)) = items.last().copied() else {
            let item = self.shown(key, value, &self.indent_of(into.start));
            text.insert_str(into.start + 1, &item);
            return Self::read(&text);
        };
        let lines = |from: usize, to: usize| {
            self.text.get(from..to).is_some_and(|between| between.contains('\n'))
        };
        let several_lines = lines(into.start, last_start);
        let indent = self.indent_of(if several_lines { last_start } else { into.start });
        // Only a line break ends a line comment, so the item goes on a new line.
        let gap = if several_lines || lines(last_end, into.end) {
            format!("{}{indent}", self.line_break())
        } else {
            " ".to_owned()
        };
        let item = self.shown(key, value, &indent);
        if let Some(comma) = self.comma_after(last_end) {
            text.insert_str(self.after_comment(comma), &format!("{gap}{item},"));
        } else {
            text.insert_str(self.after_comment(last_end), &format!("{gap}{item}"));
            text.insert(last_end, ',');
        }
        Self::read(&text)
    }

    /// Formats an item in the file's own style.
    fn shown(&self, key: Option<&str>, value: &Value, indent: &str) -> String {
        let shown = pretty(value, &self.unit(), &format!("{}{indent}", self.line_break()));
        match key {
            Some(key) => format!("{}: {shown}", Value::from(key)),
            None => shown,
        }
    }

    fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The file's unit of indentation.
    fn unit(&self) -> String {
        let lines = self.text.lines().map(|line| line.len() - line.trim_start().len());
        let unit =
            self.text.lines().zip(lines).find(|(line, deep)| *deep > 0 && *deep < line.len());
        unit.and_then(|(line, deep)| line.get(..deep)).unwrap_or("  ").to_owned()
    }

    /// The indentation of the line that contains a position.
    fn indent_of(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars().take_while(|char| *char == ' ' || *char == '\t').collect()
    }

    /// The start of the spacing before a position.
    fn before(&self, at: usize) -> usize {
        self.text.get(..at).map_or(at, |text| text.trim_end_matches(is_space).len())
    }

    /// The position after the comma that follows, if there is one.
    fn comma_after(&self, at: usize) -> Option<usize> {
        let mut reader = Reader { text: &self.text, at };
        reader.skip().ok()?;
        (reader.peek() == Some(b',')).then_some(reader.at + 1)
    }

    /// The position after a comment on the same line.
    fn after_comment(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let comment = rest.get(spaces..).unwrap_or_default();
        if comment.starts_with("//") {
            let line = comment.split('\n').next().unwrap_or_default();
            return at + spaces + line.trim_end_matches('\r').trim_end_matches(is_space).len();
        }
        let length = comment.strip_prefix("/*").and_then(|comment| comment.find("*/"));
        length.map_or(at, |length| at + spaces + length + 4)
    }
}

/// Formats JSON over several lines; the first line is not indented.
fn pretty(value: &Value, unit: &str, line: &str) -> String {
    let inner = format!("{line}{unit}");
    let join = |items: Vec<String>, open: char, close: char| {
        let items = items.join(&format!(",{inner}"));
        format!("{open}{inner}{items}{line}{close}")
    };
    match value {
        // A short list of words is written on one line, unless others may add to it.
        Value::Array(items) if !(2..=MOST_WORDS).contains(&items.len()) || !is_words(items) => {
            join(items.iter().map(|item| pretty(item, unit, &inner)).collect(), '[', ']')
        }
        Value::Object(members) if !members.is_empty() => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), pretty(value, unit, &inner))
            };
            join(members.iter().map(member).collect(), '{', '}')
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(Value::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        plain => plain.to_string(),
    }
}

const MOST_WORDS: usize = 5;

fn is_words(items: &[Value]) -> bool {
    items.iter().all(Value::is_string)
}

/// Formats a whole file of our own.
pub(crate) fn file(value: &Value) -> String {
    format!("{}\n", pretty(value, "  ", "\n"))
}

impl Node {
    /// Returns the member of this name; the last of several, as every JSON parser takes it.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().rev().find(|member| member.key == name),
            Kind::Array(_) | Kind::Plain(_) => None,
        }
    }

    /// Returns the text, if it is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Plain(value) => value.as_str(),
            Kind::Object(_) | Kind::Array(_) => None,
        }
    }

    /// Returns the texts, if it is a list of nothing else.
    pub(crate) fn as_words(&self) -> Option<Vec<&str>> {
        match &self.kind {
            Kind::Array(items) => items.iter().map(Self::as_str).collect(),
            Kind::Object(_) | Kind::Plain(_) => None,
        }
    }

    fn find(&self, path: &[To<'_>]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        match (first, &self.kind) {
            (To::Key(key), Kind::Object(members)) => {
                members.iter().rev().find(|member| member.key == *key)?.value.find(rest)
            }
            (To::At(at), Kind::Array(items)) => items.get(*at)?.find(rest),
            _ => None,
        }
    }

    /// The span of an item or member, its key included.
    fn span(&self, path: &[To<'_>]) -> Option<(usize, usize)> {
        let (last, around) = path.split_last()?;
        match (last, &self.find(around)?.kind) {
            (To::Key(key), Kind::Object(members)) => {
                let member = members.iter().rev().find(|member| member.key == *key)?;
                Some((member.start, member.value.end))
            }
            (To::At(at), Kind::Array(items)) => items.get(*at).map(|item| (item.start, item.end)),
            _ => None,
        }
    }

    /// The span of each item.
    fn items(&self) -> Vec<(usize, usize)> {
        match &self.kind {
            Kind::Object(members) => {
                members.iter().map(|member| (member.start, member.value.end)).collect()
            }
            Kind::Array(items) => items.iter().map(|item| (item.start, item.end)).collect(),
            Kind::Plain(_) => Vec::new(),
        }
    }

    /// Converts the node to a plain value.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let members = members.iter();
                members.map(|member| (member.key.clone(), member.value.to_value())).collect()
            }
            Kind::Array(items) => items.iter().map(Self::to_value).collect(),
            Kind::Plain(value) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ITEM: &str = r#"{"command": "countersign hook x", "timeout": 3}"#;

    /// Adds an item, and removes it again.
    fn there_and_back(text: &str, keys: &[&str]) -> String {
        let item: Value = serde_json::from_str(ITEM).unwrap();
        let with = Document::read(text).unwrap().push(keys, &item).unwrap();
        let path: Vec<_> = keys.iter().map(|key| To::Key(key)).collect();
        let list = with.get(&path).unwrap();
        let at = list.as_array().unwrap().len() - 1;
        assert_eq!(list[at], item, "{}", with.text());
        let mut path = path;
        path.push(To::At(at));
        let left = with.remove(&path).unwrap();
        assert_eq!(left.map_or(String::new(), |left| left.text), text, "through {}", with.text());
        with.text
    }

    #[test]
    fn what_was_added_is_taken_away_to_the_byte() {
        for text in [
            "{}",
            "{ }",
            "{\n}",
            "{\n  // nothing yet\n}\n",
            "{\"hooks\": {}}",
            "{\"hooks\": {\"E\": []}}",
            "{\"hooks\": {\"E\": [ ]}}",
            "{\n  \"hooks\": {\n    \"E\": [\n    ]\n  }\n}",
            "{\n\t\"a\": 1, // one\n\t\"hooks\": {\n\t\t\"E\": [\n\t\t\t{\"x\": 1} // theirs\n\t\t]\n\t}\n}\n",
            "{\"hooks\": {\"E\": [1, 2,]},}",
            "{\"hooks\":{\"E\":[1,2]},\"z\":3}",
            "{\r\n  \"hooks\": {\r\n    \"F\": [1], // c\r\n  },\r\n}\r\n",
            "{\n  \"hooks\": {\n    \"E\": [\n      1, /* one */\n      2 /* two */\n    ]\n  }\n}",
            "\u{feff}{\"a\": \"\\u00e9 // no comment\"}",
        ] {
            there_and_back(text, &["hooks", "E"]);
        }
    }

    #[test]
    fn a_new_item_is_written_as_the_file_is() {
        let text = "{\n    \"hooks\": {\n        \"E\": [\n            \"theirs\" // keep\n        ]\n    }\n}\n";
        let with = there_and_back(text, &["hooks", "E"]);
        let expected = "\"theirs\", // keep\n            {\n                \"command\"";
        assert!(with.contains(expected), "{with}");
    }

    #[test]
    fn an_item_that_others_came_after_leaves_them_as_they_are() {
        let text = "{\n  \"E\": [\n    1,\n    \"ours\",\n    2 // two\n  ]\n}\n";
        let document = Document::read(text).unwrap();
        let left = document.remove(&[To::Key("E"), To::At(1)]).unwrap().unwrap();
        assert_eq!(left.text, "{\n  \"E\": [\n    1,\n    2 // two\n  ]\n}\n");
    }

    #[test]
    fn what_is_not_json_is_not_changed() {
        for text in ["", "[]", "{", "{\"a\" 1}", "{\"a\": 1} x", "{a: 1}", "{/*", "{\"a\": [1 2]}"]
        {
            assert!(Document::read(text).is_err(), "{text}");
        }
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(Document::read(&deep).is_err());
        let document = Document::read("{\"hooks\": [], \"x\": {\"E\": 1}}").unwrap();
        assert!(document.push(&["hooks", "E"], &json!(1)).is_err());
        assert!(document.push(&["x", "E"], &json!(1)).is_err());
    }
}
