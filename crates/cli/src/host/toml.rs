//! Servers in a TOML file, with the position of each value.
//!
//! The file is parsed by `toml_edit` and only its spans are used: a change replaces exactly those
//! bytes, so comments, line ends and the order of everything else stay as they are. A file that
//! cannot be parsed is an error, and is left unchanged.

use std::ops::Range;

use anyhow::Result;
use serde_json::Value;
use toml_edit::{Document, InlineTable, Item, Key, Table, TableLike, Value as Toml};

use super::edit::{Kind, Member, Node};

/// Returns the tables below a key, each with its members. For a table that is written with dotted
/// keys, or whose position is not known, only the name is returned.
///
/// # Errors
/// It is not valid TOML.
pub(crate) fn tables(text: &str, below: &str) -> Result<Vec<(String, Option<Node>)>> {
    let document = parsed(text)?;
    let Some(servers) = document.get(below).and_then(Item::as_table_like) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (name, item) in servers.iter().filter(|(_, item)| !item.is_array_of_tables()) {
        let is_dotted = item.as_table_like().is_some_and(TableLike::is_dotted);
        let node = if is_dotted { None } else { server(item) };
        found.push((name.to_owned(), node));
    }
    Ok(found)
}

/// Returns every value of a file with the keys that lead to it; inline tables are followed, entries
/// of `[[lists]]` are below an empty key.
///
/// # Errors
/// It is not valid TOML.
pub(crate) fn values(text: &str) -> Result<Vec<(Vec<String>, Value)>> {
    let document = parsed(text)?;
    let mut found = Vec::new();
    flatten(&[], document.as_table(), &mut found);
    Ok(found)
}

fn parsed(text: &str) -> Result<Document<&str>> {
    Ok(Document::parse(text)?)
}

fn flatten(above: &[String], table: &dyn TableLike, found: &mut Vec<(Vec<String>, Value)>) {
    for (key, item) in table.iter() {
        let keys = [above, &[key.to_owned()]].concat();
        match item {
            Item::None => {}
            Item::Value(Toml::InlineTable(inline)) => flatten(&keys, inline, found),
            Item::Value(value) => found.push((keys, plain(value))),
            Item::Table(table) => flatten(&keys, table, found),
            Item::ArrayOfTables(tables) => {
                let keys = [&[String::new()], keys.as_slice()].concat();
                tables.iter().for_each(|table| flatten(&keys, table, found));
            }
        }
    }
}

/// The entry of a server, as an object whose members have positions.
fn server(item: &Item) -> Option<Node> {
    match item {
        // No single range: its parts may be anywhere in the file.
        Item::Table(table) => Some(Node { start: 0, end: 0, kind: Kind::Object(members(table)) }),
        Item::Value(value @ Toml::InlineTable(_)) => node(value),
        Item::None | Item::Value(_) | Item::ArrayOfTables(_) => None,
    }
}

/// The members of a table. A table within it has no members: only its existence matters.
fn members(table: &Table) -> Vec<Member> {
    let member = |(key, item): (&str, &Item)| {
        let spans = table.key(key).and_then(Key::span);
        let value = match item {
            Item::Value(value) => node(value)?,
            Item::Table(_) | Item::ArrayOfTables(_) => {
                let Range { start, end } = item.span().unwrap_or_default();
                Node { start, end, kind: Kind::Object(Vec::new()) }
            }
            Item::None => return None,
        };
        let Range { start, end } = spans.unwrap_or(value.start..value.start);
        Some(Member { key: key.to_owned(), start, key_end: end, value })
    };
    table.iter().filter_map(member).collect()
}

fn inline_members(table: &InlineTable) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    for (key, value) in table {
        // A dotted key has no value of its own to replace.
        if value.as_inline_table().is_some_and(InlineTable::is_dotted) {
            continue;
        }
        let Range { start, end } = table.key(key)?.span()?;
        members.push(Member { key: key.to_owned(), start, key_end: end, value: node(value)? });
    }
    Some(members)
}

/// A value with its position; `None` if that is not known.
fn node(value: &Toml) -> Option<Node> {
    let Range { start, end } = value.span()?;
    let kind = match value {
        Toml::Array(items) => Kind::Array(items.iter().map(node).collect::<Option<_>>()?),
        Toml::InlineTable(table) => Kind::Object(inline_members(table)?),
        Toml::String(_)
        | Toml::Boolean(_)
        | Toml::Integer(_)
        | Toml::Float(_)
        | Toml::Datetime(_) => Kind::Plain(plain(value)),
    };
    Some(Node { start, end, kind })
}

/// A text or a truth value; nothing else is compared with anything.
fn plain(value: &Toml) -> Value {
    match value {
        Toml::String(text) => Value::from(text.value().as_str()),
        Toml::Boolean(flag) => Value::Bool(*flag.value()),
        Toml::Integer(_)
        | Toml::Float(_)
        | Toml::Datetime(_)
        | Toml::Array(_)
        | Toml::InlineTable(_) => Value::Null,
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

    fn value(text: &str) -> Value {
        values(text).unwrap().into_iter().map(|(_, value)| value).next().unwrap()
    }

    #[test]
    fn dotted_keys_are_found_and_have_no_position() {
        let dotted = |text: &str| {
            let found = tables(text, "mcp_servers").unwrap();
            found.into_iter().map(|(name, node)| (name, node.is_some())).collect::<Vec<_>>()
        };
        let a = |is_known| vec![("a".to_owned(), is_known)];
        assert_eq!(dotted("mcp_servers.a.command = 'x'\nmcp_servers.a.args = []\n"), a(false));
        assert_eq!(dotted("[mcp_servers]\na.command = 'x'\na.args = []\n"), a(false));
        assert_eq!(dotted("mcp_servers.a = { command = 'x' }\n"), a(true));
        assert_eq!(dotted("mcp_servers = { a = { command = 'x' } }\n"), a(true));
        assert_eq!(dotted("\"mcp_servers\" . 'a' . command = 'x'\n"), a(false));
    }

    #[test]
    fn positions_are_those_of_the_bytes_in_the_file() {
        for text in [
            "\u{feff}# é\r\n[mcp_servers.a] # one\r\ncommand\t=  'n' # two\r\n\r\n[b]\r\nc = 1\r\n",
            "[[list]]\nx = 1\n[[list]] # again\n[mcp_servers.a]\n# above\ncommand = 'n'\n",
            "mcp_servers = { a = { command = 'n' } }\n",
        ] {
            let (_, node) = tables(text, "mcp_servers").unwrap().remove(0);
            let node = node.unwrap();
            let command = node.member("command").unwrap();
            assert_eq!(text.get(command.start..command.key_end), Some("command"), "{text}");
            assert_eq!(text.get(command.value.start..command.value.end), Some("'n'"), "{text}");
        }
    }

    #[test]
    fn texts_are_read_with_their_escapes() {
        for (text, expected) in [
            (r#"a = "\U0001F600""#, "😀"),
            ("a = \"\"\"\n one\\\n   two\\t\"\"\"", " onetwo\t"),
            ("a = '''\nc:\\x'''", "c:\\x"),
            ("a = \"\"\"say \"no\"\"\"\"", "say \"no\""),
        ] {
            assert_eq!(value(text), Value::from(expected), "{text}");
        }
    }

    #[test]
    fn a_file_that_the_host_would_refuse_is_an_error() {
        for text in [
            "[mcp_servers.a]\n[mcp_servers.a]\n",
            "a = 1\na = 2\n",
            "a = 1\n[a.b]\n",
            "a = 'x' 'y'\n",
            "a = 2026-13-99\n",
            "a = yes\n",
            "a = \"\\q\"\n",
        ] {
            assert!(tables(text, "x").is_err(), "{text}");
            assert!(values(text).is_err(), "{text}");
        }
    }
}
