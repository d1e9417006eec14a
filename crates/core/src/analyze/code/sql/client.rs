//! Commands of the database's own client: `\d` in psql, `.tables` in sqlite3.

use std::borrow::Cow;

use super::flavour::Flavour;
use super::lexeme;
use super::span_of;
use crate::fact::{Fact, FactKind};

/// Commands that only show something or change the display.
const QUIET: &[&str] = &[
    "tables",
    "schema",
    "headers",
    "header",
    "mode",
    "databases",
    "indexes",
    "indices",
    "help",
    "quit",
    "exit",
    "width",
    "timer",
    "show",
    "dump",
    "stats",
    "echo",
    "nullvalue",
    "separator",
    "fullschema",
    "explain",
    "eqp",
    "print",
    "prompt",
    "version",
    "limit",
    "changes",
    "bail",
    "conninfo",
    "timing",
    "pset",
    "encoding",
    "q",
    "x",
    "h",
    "?",
    "c",
    "connect",
    "l",
    "list",
    "a",
    "t",
    "s",
    "u",
    "use",
    "status",
    "warnings",
    "nowarning",
    "g",
    "G",
    "p",
    "qecho",
    "set",
];

/// Commands that read or write files or run programs on this machine.
const REACHING: &[&str] = &[
    "!",
    "shell",
    "system",
    "copy",
    "i",
    "ir",
    "include",
    "o",
    "out",
    "w",
    "write",
    "import",
    "output",
    "once",
    "load",
    "read",
    "restore",
    "save",
    "backup",
    "open",
    "clone",
    "archive",
    "ar",
    "excel",
    "log",
    "trace",
    "source",
    "tee",
    "lo_import",
    "lo_export",
    "edit",
    "e",
];

/// Returns the text with the client's commands at its start blanked out, and whether there were
/// any.
pub(super) fn commands<'a>(
    text: &'a str,
    flavour: Flavour,
    facts: &mut Vec<Fact>,
) -> (Cow<'a, str>, bool) {
    let mut rest = text.trim_start();
    let whole = rest.len();
    while let Some(name) = command(rest, flavour) {
        let line = rest.lines().next().unwrap_or_default();
        let start = text.len() - rest.len();
        let kind = if REACHING.contains(&name) {
            Some(FactKind::SqlEscape)
        } else if QUIET.contains(&name) || (name.starts_with('d') && flavour != Flavour::Sqlite) {
            None
        } else {
            Some(FactKind::Unparsed)
        };
        if let Some(kind) = kind {
            let fact = Fact::new(kind, lexeme::shorten(line));
            facts.push(fact.at(span_of(start, start + line.len())));
        }
        rest = rest.get(line.len()..).unwrap_or_default().trim_start();
    }
    if rest.len() == whole {
        return (Cow::Borrowed(text), false);
    }
    // Blanks instead of the commands keep every offset in the text valid.
    (Cow::Owned(" ".repeat(text.len() - rest.len()) + rest), true)
}

/// Returns the name of the command that this text starts with.
fn command(text: &str, flavour: Flavour) -> Option<&str> {
    let after = match flavour {
        Flavour::Sqlite | Flavour::DuckDb => text.strip_prefix('.'),
        Flavour::Generic => text.strip_prefix(['.', '\\']),
        _ => text.strip_prefix('\\'),
    }?;
    if after.starts_with('!') {
        return Some("!");
    }
    let end =
        after.find(|char: char| !(char.is_ascii_alphanumeric() || char == '_' || char == '?'));
    after.get(..end.unwrap_or(after.len())).filter(|name| !name.is_empty())
}
