//! Puts the proxy in front of the MCP servers that a host's file names, and removes it again.
//!
//! ```text
//! "command": "npx", "args": ["-y", "x"]
//! "command": "countersign", "args": ["mcp", "proxy", "--name", "x", "--", "npx", "-y", "x"]
//! ```
//!
//! Words are replaced in place and nothing else is touched, so that removing the proxy restores
//! every byte. The spelling records what the values cannot: `--name=x` instead of `--name x` says
//! that the entry did not have the usual fields (no `args`, or its URL in the second of the fields
//! that the host knows).
//!
//! No secret gets onto a command line: the values of headers become environment variables of the
//! entry, spelled as in the file.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::host::edit::{Document, Kind, Node};
use crate::host::servers::{Layout, Syntax};
use crate::host::toml;

mod entry;
mod http;

use entry::Entry;

/// The options of a change.
#[derive(Debug, Clone)]
pub(crate) struct How<'a> {
    /// The path of our binary.
    pub(crate) program: &'a str,
    /// The servers to change; all if empty.
    pub(crate) only: &'a [String],
}

/// The result for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Became {
    /// It was changed.
    Changed,
    /// It needs no change.
    Same,
    /// It was left unchanged, for this reason.
    Left(String),
}

/// The result for a file.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) servers: Vec<(String, Became)>,
}

/// A replacement: a range of the text, and its new content.
pub(super) type Edit = (Range<usize>, String);

/// The edits of an entry, or the result for an entry that stays.
pub(super) type Edits = Result<Vec<Edit>, Became>;

/// Puts the proxy in front of every server, or of those that are named.
///
/// # Errors
/// The file cannot be parsed.
pub(crate) fn wrap(text: &str, layout: &Layout, how: &How<'_>) -> Result<Outcome> {
    change(text, layout, how, Way::In)
}

/// Removes the proxy from every server, or from those that are named.
///
/// # Errors
/// The file cannot be parsed.
pub(crate) fn unwrap(text: &str, layout: &Layout, how: &How<'_>) -> Result<Outcome> {
    change(text, layout, how, Way::Out)
}

/// Returns the servers that could have the proxy in front of them and do not.
///
/// # Errors
/// The file cannot be parsed.
pub(crate) fn unguarded(text: &str, layout: &Layout) -> Result<Vec<String>> {
    let open = |(name, node): (String, Option<Node>)| {
        let entry = Entry::new(text, layout, &name, node.as_ref()?)?;
        (!entry.is_ours()).then_some(name)
    };
    Ok(servers(text, layout)?.into_iter().filter_map(open).collect())
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

fn change(text: &str, layout: &Layout, how: &How<'_>, way: Way) -> Result<Outcome> {
    let mut all = Vec::new();
    let mut became = Vec::new();
    for (name, node) in servers(text, layout)? {
        if !how.only.is_empty() && !how.only.contains(&name) {
            continue;
        }
        let entry = node.as_ref().and_then(|node| Entry::new(text, layout, &name, node));
        let edits = match entry {
            Some(entry) => match way {
                Way::In => entry.wrap(how),
                Way::Out => entry.unwrap(),
            },
            None => Err(Became::Left("it uses syntax that is not supported".to_owned())),
        };
        match edits {
            Ok(edits) => {
                all.extend(edits);
                became.push((name, Became::Changed));
            }
            Err(stays) => became.push((name, stays)),
        }
    }
    let text = rewritten(text, all);
    // The new text must be valid, or it is not written.
    servers(&text, layout).context("the change would leave a file that cannot be read")?;
    Ok(Outcome { text, servers: became })
}

/// Every server that a file names, with its entry.
fn servers(text: &str, layout: &Layout) -> Result<Vec<(String, Option<Node>)>> {
    match layout.syntax {
        Syntax::Toml => {
            let below = layout.places.first().and_then(|place| place.first());
            toml::tables(text, below.copied().unwrap_or_default())
        }
        Syntax::Json if text.trim().is_empty() => Ok(Vec::new()),
        Syntax::Json => {
            let document = Document::read(text)?;
            let mut found = Vec::new();
            for place in layout.places {
                below(document.root(), place, &mut found);
            }
            Ok(found)
        }
    }
}

fn below(node: &Node, place: &[&str], found: &mut Vec<(String, Option<Node>)>) {
    let Kind::Object(members) = &node.kind else { return };
    match place.split_first() {
        Some((&"*", rest)) => members.iter().for_each(|member| below(&member.value, rest, found)),
        Some((name, rest)) => {
            if let Some(member) = node.member(name) {
                below(&member.value, rest, found);
            }
        }
        None => {
            found.extend(
                members.iter().map(|member| (member.key.clone(), Some(member.value.clone()))),
            );
        }
    }
}

/// Applies replacements to a text.
fn rewritten(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut text = text.to_owned();
    for (place, new) in edits {
        if text.get(place.clone()).is_some() {
            text.replace_range(place, &new);
        }
    }
    text
}

/// Quotes a text so that it is valid as JSON and as TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Reports whether these words start our proxy, or a server of our own.
fn is_ours(words: &[&str]) -> bool {
    let stem = words.first().and_then(|program| Path::new(program).file_stem());
    stem.is_some_and(|stem| stem == "countersign") && words.get(1) == Some(&"mcp")
}

#[cfg(test)]
mod tests;
