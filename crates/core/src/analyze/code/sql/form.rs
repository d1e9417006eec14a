//! SQL in a text that nobody calls SQL, told by the form of its statements.
//!
//! `delete button` is a search and `DELETE FROM users` a statement: a verb counts only with what
//! the grammar demands beside it. Comments and statements before it hide nothing.

/// Longer texts are looked at only at their start.
const MOST_BYTES: usize = 64 * 1024;

/// How much of one statement is looked at.
const MOST_STATEMENT: usize = 4 * 1024;

/// Words of one statement that are looked at.
const MOST_WORDS: usize = 64;

/// Where a text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// In a call of a database: there a short order is a statement as well.
    Database,
    /// Anywhere else.
    Elsewhere,
}

/// What can be created, altered and dropped.
const OBJECTS: &[&str] = &[
    "aggregate",
    "collection",
    "column",
    "constraint",
    "database",
    "domain",
    "event",
    "extension",
    "function",
    "if",
    "index",
    "keyspace",
    "login",
    "materialized",
    "owned",
    "policy",
    "procedure",
    "publication",
    "role",
    "schema",
    "sequence",
    "server",
    "subscription",
    "system",
    "table",
    "tablespace",
    "trigger",
    "type",
    "user",
    "view",
];

/// Words between `create` and what is created.
const MODIFIERS: &[&str] = &[
    "definer",
    "external",
    "foreign",
    "global",
    "local",
    "or",
    "recursive",
    "replace",
    "temp",
    "temporary",
    "unique",
    "unlogged",
    "virtual",
];

/// Verbs that nothing but a database takes by themselves.
const SHORT: &[&str] = &[
    "attach",
    "call",
    "checkpoint",
    "detach",
    "discard",
    "exec",
    "execute",
    "flush",
    "handler",
    "kill",
    "purge",
    "reindex",
    "rename",
    "reset",
    "shutdown",
    "truncate",
    "vacuum",
];

/// The text from its first statement on, if there is one.
pub(crate) fn statements(text: &str, setting: Setting) -> Option<&str> {
    let short = text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or_default();
    starts(short)
        .into_iter()
        .find(|at| short.get(*at..).is_some_and(|rest| is_statement(rest, setting)))
        .and_then(|at| text.get(at..))
}

/// Where statements could begin: at the start and after each `;`, past blanks, brackets and
/// comments. What stands in quotes is data.
fn starts(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut fresh = true;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let comment = comment(rest);
        if comment > 0 {
            at += comment;
            continue;
        }
        let Some(char) = rest.chars().next() else { break };
        at += match char {
            ';' => {
                fresh = true;
                1
            }
            '\'' | '"' => {
                fresh = false;
                let close = rest.get(1..).and_then(|inner| inner.find(char));
                close.map_or(1, |close| close + 2)
            }
            '(' | '\u{FEFF}' => char.len_utf8(),
            char if char.is_whitespace() => char.len_utf8(),
            char => {
                if fresh {
                    found.push(at);
                }
                fresh = false;
                char.len_utf8()
            }
        };
    }
    found
}

/// How long the comment at the start of this text is.
fn comment(text: &str) -> usize {
    let line = |text: &str| text.find('\n').unwrap_or(text.len());
    // MySQL runs what stands in `/*! … */`: the text in it is looked at.
    if let Some(inner) = text.strip_prefix("/*!").or_else(|| text.strip_prefix("/*+")) {
        // The version that it is meant for is part of the sign.
        return 3 + inner.bytes().take_while(u8::is_ascii_digit).count();
    }
    if text.starts_with("--") {
        line(text)
    } else if let Some(inner) = text.strip_prefix("/*") {
        inner.find("*/").map_or(2, |end| end + 4)
    } else {
        0
    }
}

/// Whether a statement starts here.
fn is_statement(text: &str, setting: Setting) -> bool {
    let text = text.get(..text.floor_char_boundary(MOST_STATEMENT)).unwrap_or_default();
    let text = text.split(';').next().unwrap_or_default();
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower
        .split(|char: char| !char.is_alphanumeric() && char != '_')
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let after = lower.trim_start().strip_prefix(first).unwrap_or_default().trim_start();
    let form = Form { rest, after, text: &lower, loud: is_loud(text) };
    match *first {
        "explain" | "analyze" | "describe" => {
            setting == Setting::Database && rest.len() > 1 && is_statement(after, setting)
        }
        first => form.fits(first) || (setting == Setting::Database && form.is_order(first)),
    }
}

/// Whether its first words are in capitals, as many write statements and nobody writes prose.
fn is_loud(text: &str) -> bool {
    let mut words = text.split(|char: char| !char.is_ascii_alphabetic()).filter(|w| w.len() > 1);
    let loud = |word: Option<&str>| {
        word.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    loud(words.next()) && loud(words.next())
}

/// A statement in pieces.
struct Form<'a> {
    /// The words after the first.
    rest: &'a [&'a str],
    /// The text after the first word.
    after: &'a str,
    text: &'a str,
    loud: bool,
}

impl Form<'_> {
    /// Whether the rest has what the grammar demands of this verb.
    fn fits(&self, verb: &str) -> bool {
        let marked = self.text.contains(['=', '(', '*', '\'', '"', '`']);
        match verb {
            "select" => {
                self.calls() || (self.has("from") && (self.loud || marked || self.is_short()))
            }
            "with" => self.has("as") && self.text.contains('('),
            "insert" | "merge" | "upsert" | "replace" => {
                self.next_is(&["into", "ignore", "or", "overwrite", "low_priority", "delayed"])
                    && (self.has("into") || self.has("overwrite"))
            }
            "update" => self.has("set") && self.text.contains('='),
            "delete" => {
                self.rest.iter().take(2).any(|word| *word == "from")
                    && (self.loud || marked || self.is_short())
            }
            "drop" | "alter" => self.names_an_object() && (self.loud || marked || self.is_short()),
            "create" => self.names_an_object() && (self.loud || self.text.contains(['(', '='])),
            "truncate" => self.next_is(&["table"]) && (self.loud || self.is_short()),
            "grant" | "revoke" => {
                let to = if verb == "grant" { "to" } else { "from" };
                self.has(to) && (self.loud || self.has("on"))
            }
            "rename" => self.next_is(&["table"]) && self.has("to"),
            "copy" => {
                (self.has("from") || self.has("to"))
                    && (self.text.contains(['\'', '(']) || self.has("stdin") || self.has("stdout"))
            }
            "load" => self.next_is(&["data", "xml"]) && self.has("into"),
            "prepare" => self.rest.get(1).is_some_and(|word| matches!(*word, "as" | "from")),
            "do" => self.after.starts_with(['$', '\'']),
            "exec" | "execute" | "call" => self.is_procedure(),
            "attach" | "detach" => self.next_is(&["database"]) || self.after.starts_with('\''),
            "set" => {
                self.next_is(&["global", "session", "role", "password", "persist"])
                    && self.text.contains(['=', '\''])
            }
            "pragma" => self.text.contains(['=', '(']),
            "declare" => self.after.starts_with('@'),
            "reassign" => self.next_is(&["owned"]),
            _ => false,
        }
    }

    /// Whether a database takes this verb with hardly anything beside it.
    fn is_order(&self, verb: &str) -> bool {
        let short = self.rest.len() <= 4;
        SHORT.contains(&verb) && short && !self.next_is(&["me", "the", "a", "my"])
            || verb == "select" && !self.rest.is_empty() && self.text.contains(['(', '@', '*'])
            || verb == "set" && self.text.contains('=')
    }

    fn has(&self, word: &str) -> bool {
        self.rest.contains(&word)
    }

    fn next_is(&self, words: &[&str]) -> bool {
        self.rest.first().is_some_and(|next| words.contains(next))
    }

    /// Prose goes on; an order to a database is over soon.
    const fn is_short(&self) -> bool {
        self.rest.len() <= 5
    }

    fn names_an_object(&self) -> bool {
        let named = self.rest.iter().take(5).find(|word| !MODIFIERS.contains(*word));
        named.is_some_and(|word| OBJECTS.contains(word))
    }

    /// `select pg_read_file('x')`: a function's name with its bracket right behind it.
    fn calls(&self) -> bool {
        let name = |char: char| char.is_ascii_alphanumeric() || "_.\"".contains(char);
        let rest = self.after.trim_start_matches(name);
        rest.len() < self.after.len() && rest.starts_with('(') && self.text.contains(')')
    }

    /// `exec sp_who`, `call dbo.wipe('x')`, `exec @c`.
    fn is_procedure(&self) -> bool {
        let name = self.after.split([' ', '\n', '(']).next().unwrap_or_default();
        self.after.starts_with(['@', '(']) && self.text.contains(['\'', '@'])
            || self.next_is(&["immediate"])
            || self.calls()
            || (name.contains(['_', '.']) && self.rest.len() <= 12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_found_behind_what_precedes_it() {
        for (text, from) in [
            ("DROP TABLE t", "DROP TABLE t"),
            ("-- note\nDROP TABLE t", "DROP TABLE t"),
            ("/* note; */ drop table t", "drop table t"),
            ("/*!50000 DROP TABLE t */", "DROP TABLE t */"),
            ("1=1; DELETE FROM t", "DELETE FROM t"),
            ("BEGIN; UPDATE t SET a = 1; COMMIT", "UPDATE t SET a = 1; COMMIT"),
            (";;(SELECT pg_read_file('x'))", "SELECT pg_read_file('x'))"),
        ] {
            let found = statements(text, Setting::Elsewhere);
            assert!(found.is_some_and(|found| found.ends_with(from)), "{text}: {found:?}");
        }
    }

    #[test]
    fn every_verb_is_known_by_what_it_needs() {
        for text in [
            "select * from t",
            "WITH d AS (SELECT 1) SELECT * FROM d",
            "insert into t values (1)",
            "REPLACE INTO t VALUES (1)",
            "update t set a = 1",
            "delete from t",
            "ALTER SYSTEM SET x = 1",
            "CREATE OR REPLACE FUNCTION f() RETURNS int",
            "GRANT ALL ON t TO u",
            "REVOKE ALL ON t FROM u",
            "RENAME TABLE a TO b",
            "COPY t TO '/tmp/x'",
            "LOAD DATA INFILE 'x' INTO TABLE t",
            "PREPARE s FROM 'DROP TABLE t'",
            "DO $$ BEGIN END $$",
            "EXEC sp_who",
            "CALL wipe('x')",
            "ATTACH DATABASE 'x' AS y",
            "SET GLOBAL x = 1",
            "DECLARE @c varchar(9)",
        ] {
            assert!(statements(text, Setting::Elsewhere).is_some(), "{text}");
        }
    }

    #[test]
    fn prose_that_begins_like_a_statement_is_prose() {
        for text in [
            "delete button",
            "Select a colour from the list of all the colours we have here",
            "update the readme and set a date",
            "drop table tennis balls into the box on the left side",
            "create user guide",
            "call me later",
            "set up the project",
            "copy text from one page to another",
            "truncate long text with css",
            "show me 'DROP TABLE t'",
            "a comment -- DROP TABLE t",
            "with love",
            "",
        ] {
            assert_eq!(statements(text, Setting::Elsewhere), None, "{text}");
        }
    }

    #[test]
    fn a_database_takes_short_orders() {
        for text in ["TRUNCATE t", "SHUTDOWN", "EXEC wipe", "SELECT 1; VACUUM", "KILL 5"] {
            assert!(statements(text, Setting::Database).is_some(), "{text}");
            assert_eq!(statements(text, Setting::Elsewhere), None, "{text}");
        }
    }
}
