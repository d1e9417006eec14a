//! Puts the proxy in front of the MCP servers that a host's file names, and takes it away again.
//!
//! ```text
//! "command": "npx", "args": ["-y", "x"]
//! "command": "countersign", "args": ["mcp", "proxy", "--name", "x", "--", "npx", "-y", "x"]
//! ```
//!
//! Words are exchanged where they stand and nothing else is touched, so that taking the proxy away
//! gives back every byte. What the values cannot tell is in the spelling: `--name=x` instead of
//! `--name x` says that the entry did not have the usual fields (no `args`, or its URL in the
//! second of the fields the host knows).
//!
//! No secret gets onto a command line: the values of headers become variables of the entry, as
//! they stand in the file.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::host::edit::{Document, Kind, Node};
use crate::host::servers::{Layout, Syntax};

mod entry;
mod http;
pub(crate) mod toml;

use entry::Entry;

/// What is to be put in front of which servers.
#[derive(Debug, Clone)]
pub(crate) struct How<'a> {
    /// The binary.
    pub(crate) program: &'a str,
    /// Only these; all, if empty.
    pub(crate) only: &'a [String],
}

/// What became of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Became {
    /// It was changed.
    Changed,
    /// It is as it should be.
    Same,
    /// It was left alone, and why.
    Left(String),
}

/// What became of a file.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) servers: Vec<(String, Became)>,
}

/// What is written elsewhere: a part of the text, and what takes its place.
pub(super) type Edit = (Range<usize>, String);

/// What an entry becomes, or why it stays.
pub(super) type Edits = Result<Vec<Edit>, Became>;

/// Puts the proxy in front of every server, or of those that are named.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn wrap(text: &str, layout: &Layout, how: &How<'_>) -> Result<Outcome> {
    change(text, layout, how, Way::In)
}

/// Takes the proxy away from every server, or from those that are named.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn unwrap(text: &str, layout: &Layout, how: &How<'_>) -> Result<Outcome> {
    change(text, layout, how, Way::Out)
}

/// The servers that the proxy could stand in front of and does not.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn unguarded(text: &str, layout: &Layout) -> Result<Vec<String>> {
    let open = |(name, node): (String, Option<Node>)| {
        let entry = Entry::new(text, layout, &name, node.as_ref()?)?;
        (!entry.is_ours()).then_some(name)
    };
    Ok(servers(text, layout)?.into_iter().filter_map(open).collect())
}

/// Whether the proxy comes or goes.
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
            None => Err(Became::Left("it is written in a way that is not followed".to_owned())),
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
    // What we made must be readable, or it is not made.
    servers(&text, layout).context("the change would leave a file that cannot be read")?;
    Ok(Outcome { text, servers: became })
}

/// Every server a file names, and what stands there.
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

/// A text with some parts written otherwise.
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

/// A text as both JSON and TOML write it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether words start us between a client and a server, or as a server of our own.
fn is_ours(words: &[&str]) -> bool {
    let stem = words.first().and_then(|program| Path::new(program).file_stem());
    stem.is_some_and(|stem| stem == "countersign") && words.get(1) == Some(&"mcp")
}

#[cfg(test)]
mod tests;
