//! Servers in a TOML file, with the position of each value.
//!
//! Parses as much of TOML as needed to find tables, keys and values. Only strings and lists of
//! strings are interpreted; anything that cannot be parsed is an error, and the file is left
//! unchanged.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::host::edit::{Kind, Member, Node};

/// Deeper than any configuration.
const DEEPEST: usize = 50;

/// Returns the tables below a key, each with its members. For a table that is written with dotted
/// keys only the name is returned.
///
/// # Errors
/// It is not valid TOML.
pub(super) fn tables(text: &str, below: &str) -> Result<Vec<(String, Option<Node>)>> {
    let mut found: Vec<(String, Option<Node>)> = Vec::new();
    for statement in (Reader { text, at: 0 }).statements()? {
        let Statement { table, dotted, member } = statement;
        let path: Vec<&str> = table.iter().chain(&dotted).map(String::as_str).collect();
        match path.as_slice() {
            // `[below]`, and a name with an inline table.
            [first] if *first == below => {
                let inline = matches!(member.value.kind, Kind::Object(_));
                found.push((member.key, inline.then_some(member.value)));
            }
            [first, name, rest @ ..] if *first == below => {
                let member = match rest.first() {
                    // A table of its own, or a dotted key: we only need to know that it exists.
                    Some(inner) => Some(Member { key: (*inner).to_owned(), ..member }),
                    None => dotted.is_empty().then_some(member),
                };
                put(&mut found, name, member);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns every value of a file with the keys that lead to it; inline tables are followed, entries
/// of `[[lists]]` are below an empty key.
///
/// # Errors
/// It is not valid TOML.
pub(crate) fn values(text: &str) -> Result<Vec<(Vec<String>, Value)>> {
    let mut found = Vec::new();
    for Statement { mut table, dotted, member } in (Reader { text, at: 0 }).statements()? {
        table.extend(dotted);
        flatten(table, member, &mut found);
    }
    Ok(found)
}

fn flatten(mut keys: Vec<String>, member: Member, found: &mut Vec<(Vec<String>, Value)>) {
    keys.push(member.key);
    match member.value.kind {
        Kind::Object(members) => {
            for member in members {
                flatten(keys.clone(), member, found);
            }
        }
        Kind::Array(_) => found.push((keys, Value::Null)),
        Kind::Plain(value) => found.push((keys, value)),
    }
}

/// Adds a member to the table of this name; without a member, the table cannot be edited.
fn put(found: &mut Vec<(String, Option<Node>)>, name: &str, member: Option<Member>) {
    if !found.iter().any(|(known, _)| known == name) {
        let empty = Node { start: 0, end: 0, kind: Kind::Object(Vec::new()) };
        found.push((name.to_owned(), Some(empty)));
    }
    let Some((_, node)) = found.iter_mut().find(|(known, _)| known == name) else { return };
    match (&mut *node, member) {
        (Some(Node { kind: Kind::Object(members), .. }), Some(member)) => members.push(member),
        (_, None) => *node = None,
        (_, Some(_)) => {}
    }
}

/// One line of the form `key = value`, and its table.
struct Statement {
    table: Vec<String>,
    /// The parts of the key before the last one.
    dotted: Vec<String>,
    member: Member,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wrong<T>(&self, what: &str) -> Result<T> {
        bail!("{what}, at byte {}", self.at)
    }

    /// Skips spaces, line breaks and comments.
    fn skip_lines(&mut self) {
        loop {
            let rest = self.rest();
            let spaces = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            let comment = rest.get(spaces..).unwrap_or_default();
            self.at += spaces;
            if !comment.starts_with('#') {
                return;
            }
            self.at += comment.find('\n').unwrap_or(comment.len());
        }
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn statements(mut self) -> Result<Vec<Statement>> {
        let (mut all, mut table) = (Vec::new(), Vec::new());
        if self.text.starts_with('\u{feff}') {
            self.at = 3;
        }
        loop {
            self.skip_lines();
            match self.peek() {
                None => return Ok(all),
                Some(b'[') => table = self.header()?,
                Some(_) => {
                    let (dotted, member) = self.member(0)?;
                    all.push(Statement { table: table.clone(), dotted, member });
                }
            }
            self.skip_spaces();
            if !matches!(self.peek(), None | Some(b'#' | b'\r' | b'\n')) {
                return self.wrong("unexpected text on the same line");
            }
        }
    }

    /// Parses `[a.b]`, or `[[a.b]]`, which is never ours.
    fn header(&mut self) -> Result<Vec<String>> {
        let many = self.rest().starts_with("[[");
        self.at += 1 + usize::from(many);
        let mut path = self.key()?.0;
        let close = if many { "]]" } else { "]" };
        if !self.rest().starts_with(close) {
            return self.wrong("a `]` is missing");
        }
        self.at += close.len();
        if many {
            path.insert(0, String::new());
        }
        Ok(path)
    }

    /// Parses a key of one or more parts, and returns the span of its last part.
    fn key(&mut self) -> Result<(Vec<String>, usize, usize)> {
        let mut parts = Vec::new();
        loop {
            self.skip_spaces();
            let start = self.at;
            let part =
                if let Some(b'"' | b'\'') = self.peek() { self.string()? } else { self.word() };
            if self.at == start {
                return self.wrong("a key is missing");
            }
            let end = self.at;
            parts.push(part);
            self.skip_spaces();
            if self.peek() != Some(b'.') {
                return Ok((parts, start, end));
            }
            self.at += 1;
        }
    }

    /// Parses a bare key.
    fn word(&mut self) -> String {
        let bare = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
        let rest = self.rest();
        let length = rest.len() - rest.trim_start_matches(bare).len();
        self.at += length;
        rest.get(..length).unwrap_or_default().to_owned()
    }

    fn member(&mut self, depth: usize) -> Result<(Vec<String>, Member)> {
        let (mut parts, start, key_end) = self.key()?;
        if self.peek() != Some(b'=') {
            return self.wrong("a `=` is missing");
        }
        self.at += 1;
        self.skip_spaces();
        let value = self.value(depth)?;
        let key = parts.pop().unwrap_or_default();
        Ok((parts, Member { key, start, key_end, value }))
    }

    fn value(&mut self, depth: usize) -> Result<Node> {
        if depth > DEEPEST {
            return self.wrong("it is nested too deep");
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'"' | b'\'') => Kind::Plain(Value::String(self.string()?)),
            Some(b'[') => Kind::Array(self.items(depth)?),
            Some(b'{') => Kind::Object(self.inline(depth)?),
            _ => Kind::Plain(self.bare()?),
        };
        Ok(Node { start, end: self.at, kind })
    }

    /// Parses a number, a date or a keyword.
    fn bare(&mut self) -> Result<Value> {
        let rest = self.rest();
        let length = rest.find([',', ']', '}', '#', '\r', '\n']).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default().trim_end();
        if word.is_empty() || word.contains(['=', '"', '\'']) {
            return self.wrong("a value is missing");
        }
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::Null,
        };
        self.at += word.len();
        Ok(value)
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

    fn inline(&mut self, depth: usize) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        self.at += 1;
        while self.more(b'}')? {
            let (dotted, member) = self.member(depth + 1)?;
            if dotted.is_empty() {
                members.push(member);
            }
            self.comma(b'}')?;
        }
        Ok(members)
    }

    fn more(&mut self, close: u8) -> Result<bool> {
        self.skip_lines();
        match self.peek() {
            None => self.wrong("it ends too early"),
            Some(found) => {
                self.at += usize::from(found == close);
                Ok(found != close)
            }
        }
    }

    fn comma(&mut self, close: u8) -> Result<()> {
        self.skip_lines();
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(found) if found == close => {}
            Some(_) | None => return self.wrong("a `,` is missing"),
        }
        Ok(())
    }

    /// Parses a string of any of the four kinds.
    fn string(&mut self) -> Result<String> {
        let quote = if self.peek() == Some(b'"') { "\"" } else { "'" };
        let three = quote.repeat(3);
        let (open, lines) =
            if self.rest().starts_with(&three) { (three.as_str(), true) } else { (quote, false) };
        let start = self.at;
        self.at += open.len();
        let inside = self.at;
        loop {
            if self.rest().starts_with(open) {
                break;
            }
            let Some(char) = self.rest().chars().next() else {
                return self.wrong("a string does not end");
            };
            if char == '\n' && !lines {
                return self.wrong("a string does not end on its line");
            }
            let escape = char == '\\' && quote == "\"";
            self.at += char.len_utf8();
            if escape && let Some(next) = self.rest().chars().next() {
                self.at += next.len_utf8();
            }
        }
        let text = self.text.get(inside..self.at).unwrap_or_default().to_owned();
        self.at += open.len();
        // Up to two more quotes may belong to the text.
        while lines && self.rest().starts_with(quote) {
            self.at += 1;
        }
        let whole = self.text.get(start..self.at).unwrap_or_default();
        let plain = quote == "\"" && !lines;
        // Its escapes are those of JSON, apart from rare ones.
        Ok(plain.then(|| serde_json::from_str(whole).ok()).flatten().unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, Vec<String>)> {
        let keys = |node: Option<Node>| match node.map(|node| node.kind) {
            Some(Kind::Object(members)) => members.into_iter().map(|member| member.key).collect(),
            _ => Vec::new(),
        };
        let found = tables(text, "mcp_servers").unwrap();
        found.into_iter().map(|(name, node)| (name, keys(node))).collect()
    }

    #[test]
    fn tables_are_found_however_they_are_written() {
        let text = "model = 'x'\n[mcp_servers.a]\ncommand = \"n\" # c\nargs = [\n 'x', # y\n]\n\
                    [mcp_servers.a.env]\nK = 'v'\n[other]\ncommand = 1\n\
                    [mcp_servers.\"b c\"]\nurl = \"https://x\"\nenabled = true\n\
                    [mcp_servers]\nd = { command = 'z', args = [] }\n";
        let expected = [
            ("a", vec!["command", "args", "env"]),
            ("b c", vec!["url", "enabled"]),
            ("d", vec!["command", "args"]),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(name, keys)| {
                (name.to_owned(), keys.into_iter().map(str::to_owned).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(names(text), expected);
    }

    #[test]
    fn texts_that_look_like_tables_are_texts() {
        let text = "a = \"\"\"\n[mcp_servers.x]\n\"\"\"\nb = '''\n[mcp_servers.y]'''\n\
                    c = \"\\\"[mcp_servers.z]\"\nd = [[1], [\n2]]\n";
        assert_eq!(names(text), []);
        assert_eq!(names("[[mcp_servers.x]]\ncommand = 'a'\n"), []);
    }

    #[test]
    fn every_value_is_found_with_its_keys() {
        let text = "a.b = true\n[c.\"d:0\"]\ne = 'x'\nf = {g = \"y\"}\n[[h]]\ni = 'z'\n";
        let found = values(text).unwrap();
        let found: Vec<_> = found.iter().map(|(keys, value)| (keys.join("|"), value)).collect();
        let texts = ["x", "y", "z"].map(Value::from);
        let [x, y, z] = &texts;
        let expected = [
            ("a|b".to_owned(), &Value::Bool(true)),
            ("c|d:0|e".to_owned(), x),
            ("c|d:0|f|g".to_owned(), y),
            ("|h|i".to_owned(), z),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_toml_is_an_error() {
        for text in ["a", "a =", "a = [", "a = {", "a = \"", "a = 1 b = 2", "[a", "= 1", "a = '\n'"]
        {
            assert!(tables(text, "x").is_err(), "{text}");
        }
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(tables(&deep, "x").is_err());
    }
}
