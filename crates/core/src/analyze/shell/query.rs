//! Statements in query languages without a reader here: graphs, documents, triples, series.
//!
//! A statement is recognised by its keywords in capitals, or at its beginning in any case, so that
//! a sentence about one is not recorded.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Program;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Kinds of objects that a statement drops or clears.
const THINGS: &[&str] = &[
    "ALL",
    "ALIAS",
    "BUCKET",
    "CACHE",
    "COLLECTION",
    "CONNECTOR",
    "CONSTRAINT",
    "DATABASE",
    "DEFAULT",
    "FUNCTION",
    "GRAPH",
    "INDEX",
    "KEYSPACE",
    "MEASUREMENT",
    "NAMED",
    "NAMESPACE",
    "PREFIX",
    "RETENTION",
    "ROLE",
    "SCHEMA",
    "SCOPE",
    "SERIES",
    "SHARD",
    "SILENT",
    "SPACE",
    "STREAM",
    "SUBSCRIPTION",
    "TABLE",
    "TAG",
    "TOPIC",
    "TYPE",
    "USER",
    "VERTEX",
    "VIEW",
];

/// First words of graph statements.
const GRAPH: &[&str] = &["MATCH", "OPTIONAL", "UNWIND", "CALL", "WITH", "PROFILE", "USE"];

/// Calls that destroy the object before them.
const CALLS: &[&str] = &[
    ".drop(",
    ".dropdatabase(",
    ".deletemany(",
    ".deleteone(",
    ".remove(",
    "._drop(",
    ".truncate(",
    "_dropdatabase(",
    "_truncatecollection(",
    ".dropcollection(",
    ".deleteall(",
];

/// The length past which a text is not examined.
const MOST_TEXT: usize = 16 * 1024;

impl Walker<'_> {
    /// Notes protected files that a query names: `COPY t FROM '/etc/shadow'`, `read_text('~/.netrc')`.
    pub(super) fn files_in_query(&mut self, query: &str, span: Option<Span>) {
        for path in query.split('\'').skip(1).step_by(2) {
            let is_path = path.starts_with(['/', '~']) && !path.contains(char::is_whitespace);
            if is_path && location::locate(path, &self.scene_now()).has(Tag::Secret) {
                let path = Arg { span, ..Arg::literal(path) };
                self.note_path(FactKind::Read, &path, Tags::NONE);
            }
        }
    }

    /// Notes a statement that a client of a database is given and that destroys something.
    pub(super) fn destroys_by_query(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let is_read = program.is_some_and(|program| !program.prompts);
        if is_read || super::floor::only_mentions(name) {
            return;
        }
        let fed = stdin.text.as_deref().filter(|_| !stdin.from_caller && program.is_none());
        let words = args.words().iter().map(|word| word.text.as_str());
        let found = words.chain(fed).find(|text| destroys(text));
        if let Some(text) = found {
            let subject = location::shown(text).into_owned();
            self.note(Fact::new(FactKind::DestructiveVerb, subject).at(span));
        }
    }
}

/// Returns a call with which an ORM or a client library deletes many rows or a whole table.
pub(super) fn destroying_call(text: &str) -> Option<&'static str> {
    const MODELS: &[&str] = &[
        ".delete_all",
        ".destroy_all",
        "::truncate(",
        "->truncate(",
        ".drop_table",
        ".drop_all(",
        "objects.all().delete(",
        ".deleteMany(",
        ".dropDatabase(",
        ".drop_database(",
        ".drop_collection(",
        ".delete_many({})",
        ".flushall(",
        ".flushdb(",
        ".flush_all(",
        "Repo.delete_all",
        ")->delete()",
        ".truncate_tables",
        "connection.truncate",
        ".deleteAll(",
        "::destroy(",
        "Schema::drop",
        ".sync({ force: true",
        ".sync({force:true",
        "dropSchema(",
    ];
    MODELS.iter().find(|call| text.contains(**call)).copied()
}

/// Reports whether a statement prints other statements that change something.
pub(super) fn generates(text: &str) -> bool {
    const STARTS: &[&str] = &[
        "drop ",
        "delete ",
        "truncate ",
        "alter ",
        "update ",
        "grant ",
        "revoke ",
        "kill ",
        "insert ",
        "create ",
        "call ",
        "vacuum ",
    ];
    text.split('\'').skip(1).step_by(2).any(|string| {
        let string = string.trim_start().to_ascii_lowercase();
        STARTS.iter().any(|start| string.starts_with(start))
    })
}

/// Reports whether a text is a destructive statement.
fn destroys(text: &str) -> bool {
    if text.len() > MOST_TEXT || !text.contains([' ', '(', '\n']) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let is_call = CALLS.iter().any(|call| lower.contains(call));
    let starts = lower.trim_start();
    let is_traversal = ["db.", "db[", "db_", "g.v", "g.e", "r.db", "r.table", ":> g.", "use "]
        .iter()
        .any(|start| starts.starts_with(start));
    (is_call && is_traversal) || text.split(';').any(statement_destroys)
}

fn statement_destroys(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let is = |at: usize, wanted: &str| {
        words
            .get(at)
            .is_some_and(|word| *word == wanted || (at < 2 && word.eq_ignore_ascii_case(wanted)))
    };
    let thing = |at: usize| {
        let word = words.get(at).copied().unwrap_or_default();
        let upper = word.to_ascii_uppercase();
        (at < 2 || upper == word) && THINGS.contains(&upper.as_str())
    };
    let graph = words.first().is_some_and(|first| {
        GRAPH.contains(&first.to_ascii_uppercase().as_str()) && text.contains(['(', '{'])
    });
    (0..words.len()).any(|at| {
        (is(at, "DETACH") && is(at + 1, "DELETE"))
            || (is(at, "DROP") && thing(at + 1))
            || (is(at, "CLEAR") && thing(at + 1))
            || (is(at, "DELETE")
                && (is(at + 1, "DATA") || is(at + 1, "WHERE") || is(at + 1, "VERTEX")))
            || (graph && words.get(at).is_some_and(|word| word.eq_ignore_ascii_case("delete")))
    }) || (is(0, "TRUNCATE") && words.len() > 1 && words.len() < 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_and_printed_statements_are_recognised() {
        assert!(destroying_call("Order.where(old: true).delete_all").is_some());
        assert!(destroying_call("print(order.total)").is_none());
        assert!(generates("select 'drop table ' || name from tables"));
        assert!(!generates("select 'dropped' from tables"));
    }

    #[test]
    fn statements_that_destroy_are_recognised() {
        for text in [
            "MATCH (n:Person) DETACH DELETE n",
            "match (a)-[r]->(b) delete r",
            "DROP MEASUREMENT cpu",
            "CLEAR GRAPH <http://example.com/g>",
            "PREFIX x: <y> DELETE WHERE { ?s ?p ?o }",
            "g.V().hasLabel('person').drop()",
            "db._drop('people')",
            "INSERT x; DROP SPACE people",
        ] {
            assert!(destroys(text), "{text}");
        }
        for text in [
            "MATCH (n) RETURN n",
            "Fix: drop index usage",
            "how to delete where possible",
            "g.V().count()",
            "explain the drop",
            "DELETE",
        ] {
            assert!(!destroys(text), "{text}");
        }
    }
}
