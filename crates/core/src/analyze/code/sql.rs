//! SQL, by a real grammar where it applies and by its tokens where it does not.
//!
//! A statement that only reads gives no facts. One that the dialect's grammar does not accept is
//! classified by its tokens and is at least [`FactKind::Unparsed`]. The schema is not known here: a
//! user-defined function that writes looks like one that reads.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::fact::{Fact, FactKind};
use crate::location::Scene;
use crate::verdict::Span;

mod client;
mod flavour;
pub(crate) mod form;
mod guess;
mod hashes;
mod hint;
mod lexeme;
mod plain;
mod reach;
mod tree;
mod truth;

use flavour::Flavour;
use lexeme::Lexeme;

/// The length past which a text is not judged.
const LONGEST: usize = 1 << 20;
/// Bounds past which the grammar is not used: its trees nest as deep as the text does.
const MOST_TOKENS: usize = 4_000;
const MOST_OPERATORS: usize = 250;
/// The number of facts that are enough to judge by.
const MOST_FACTS: usize = 200;
/// The depth past which the grammar is not used: each level costs it up to 60 kB of stack in a
/// debug build.
const DEEPEST: usize = 21;

/// Returns the effects of statements on the database, in this dialect (`postgres`, `mysql`…).
///
/// For SQL on a shell's command line the caller may drop [`FactKind::SqlWrite`]: the remaining
/// facts are about dropping, emptying, deleting, and reaching out of the database.
#[must_use]
pub fn facts(sql: &str, dialect: Option<&str>, scene: &Scene<'_>) -> Vec<Fact> {
    if sql.len() > LONGEST {
        return vec![Fact::new(FactKind::Bound, "SQL text longer than 1 MiB")];
    }
    let flavour = Flavour::named(dialect);
    let mut reader = Reader { flavour, scene, facts: Vec::new(), text: sql };
    let (rest, told) = client::commands(sql, flavour, &mut reader.facts);
    let (text, hints) = hint::uncover(&rest, flavour);
    let mut seen = told || !hints.is_empty();
    for span in hints {
        reader.facts.push(Fact::new(FactKind::SqlWrite, "executable comment").at(Some(span)));
    }
    let Some(lexemes) = lexeme::read(&text, flavour) else {
        reader.facts.push(Fact::new(FactKind::Unparsed, lexeme::shorten(sql)));
        return reader.facts;
    };
    for statement in lexemes.split(|lexeme| flavour.separates(lexeme)) {
        seen |= !statement.is_empty();
        if reader.facts.len() > MOST_FACTS {
            reader.facts.push(Fact::new(FactKind::Bound, "too many statements that write"));
            break;
        }
        reader.statement(statement);
    }
    if !seen {
        reader.facts.push(Fact::new(FactKind::Unparsed, "no statement"));
    }
    reader.facts
}

/// Reports whether this text is SQL rather than something else.
#[must_use]
pub fn is_statement(text: &str) -> bool {
    guess::looks_like_sql(text)
}

/// Reads one statement after the other.
struct Reader<'a> {
    flavour: Flavour,
    scene: &'a Scene<'a>,
    facts: Vec<Fact>,
    text: &'a str,
}

impl Reader<'_> {
    fn statement(&mut self, statement: &[Lexeme]) {
        let Some(run) = self.without_explain(statement) else { return };
        let Some(first) = run.first() else { return };
        let from = self.facts.len();
        reach::facts(run, self.flavour, self.scene, &mut self.facts);
        if hashes::shows(run) {
            self.facts.push(Fact::new(FactKind::SecretShow, ""));
        }
        match self.flavour.reads(&first.word()) {
            Some(true) => {}
            Some(false) => self.facts.push(Fact::new(FactKind::Unparsed, "")),
            // SQL Server does not need a separator between two statements, so there the grammar
            // decides.
            None if self.flavour != Flavour::SqlServer && plain::only_reads(run) => {}
            None => self.changes(run, from),
        }
        self.inner(run);
        let span = lexeme::span(run);
        let subject = lexeme::shorten(lexeme::slice(self.text, span));
        for fact in self.facts.iter_mut().skip(from) {
            fact.span = span;
            if fact.subject.is_empty() {
                subject.clone_into(&mut fact.subject);
            }
        }
    }

    /// Records the effects by the grammar, or by the tokens where it fails.
    fn changes(&mut self, run: &[Lexeme], from: usize) {
        let kinds = match self.parse(run) {
            _ if run.first().is_some_and(|first| first.is("PRAGMA")) => {
                guess::pragma(run).into_iter().collect()
            }
            Some(statement) => tree::kinds(&statement, run, self.flavour),
            None => guess::kinds(run, self.flavour),
        };
        for kind in kinds {
            if !self.facts.iter().skip(from).any(|fact| fact.kind == kind) {
                self.facts.push(Fact::new(kind, ""));
            }
        }
    }

    fn parse(&self, run: &[Lexeme]) -> Option<sqlparser::ast::Statement> {
        if !fits(run) {
            return None;
        }
        let dialect = self.flavour.dialect();
        let tokens = guess::without_options(run, self.flavour)
            .iter()
            .map(|lexeme| lexeme.token.clone())
            .collect();
        let mut parser =
            Parser::new(&*dialect).with_recursion_limit(DEEPEST * 2).with_tokens(tokens);
        let statement = parser.parse_statement().ok()?;
        (parser.peek_token_ref().token == Token::EOF).then_some(statement)
    }

    /// Returns the statement that really runs: `EXPLAIN` alone runs nothing, `EXPLAIN ANALYZE`
    /// does.
    fn without_explain<'t>(&mut self, statement: &'t [Lexeme]) -> Option<&'t [Lexeme]> {
        let mut run = statement;
        while let Some((rest, executes)) = guess::explained(run, self.flavour) {
            if !executes {
                return None;
            }
            run = rest;
        }
        Some(run)
    }

    /// Follows statements inside the strings of a statement that executes text.
    fn inner(&mut self, run: &[Lexeme]) {
        if !guess::executes_text(run) {
            return;
        }
        if self.scene.too_deep() {
            self.facts.push(Fact::new(FactKind::Bound, "SQL in SQL"));
            return;
        }
        let deeper = self.scene.deeper();
        for text in run.iter().filter_map(Lexeme::text) {
            if guess::looks_like_sql(text) {
                self.facts.extend(facts(text, Some(self.flavour.name()), &deeper));
            }
        }
    }
}

/// Reports whether the grammar can parse this without nesting too deep.
fn fits(run: &[Lexeme]) -> bool {
    let mut open: Vec<(usize, Token)> = Vec::new();
    let (mut depth, mut operators, mut prefixes) = (0_usize, 0_usize, 0_usize);
    for (at, lexeme) in run.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| run.get(at));
        let weight = lexeme.weight(before, run.get(at + 1));
        if weight > 0 {
            open.push((weight, lexeme.token.clone()));
            depth += weight;
        } else if let Some((weight, _)) = open.pop_if(|(_, token)| lexeme.closes(token)) {
            depth -= weight;
        } else if lexeme.is_operator() {
            operators += 1;
        }
        prefixes = if lexeme.is_prefix() { prefixes + 1 } else { 0 };
        if depth > DEEPEST || prefixes > DEEPEST || operators > MOST_OPERATORS {
            return false;
        }
    }
    run.len() <= MOST_TOKENS
}

/// Returns a span, if the offsets fit.
fn span_of(start: usize, end: usize) -> Option<Span> {
    Some([u32::try_from(start).ok()?, u32::try_from(end).ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn kinds(dialect: &str, sql: &str) -> Vec<FactKind> {
        let context = Context::default();
        let facts = facts(sql, Some(dialect), &Scene::new(&context, &[]));
        facts.into_iter().map(|fact| fact.kind).collect()
    }

    #[test]
    fn reading_statements_give_no_facts() {
        for (dialect, sql) in [
            ("postgres", "SELECT DISTINCT ON (a) a FROM t ORDER BY a DESC NULLS LAST LIMIT 5"),
            ("postgres", "SELECT u.update, d.delete FROM x u, y d WHERE note = 'DROP TABLE t'"),
            ("postgres", "BEGIN; SELECT 1; COMMIT;"),
            ("postgres", "TABLE users"),
            ("postgres", "\\d users"),
            ("postgres", "/*! DROP TABLE t */ SELECT 1"),
            ("mysql", "SELECT REPLACE(a, 'x', 'y'), INSERT('abc', 1, 1, 'z') FROM t # DROP"),
            ("mysql", "SHOW FULL PROCESSLIST"),
            ("sqlite", ".headers on\nSELECT * FROM t;"),
            ("sqlite", "PRAGMA main.index_list('t')"),
            ("sqlserver", "SELECT TOP 5 * FROM [dbo].[Drop] WITH (NOLOCK) OPTION (MAXDOP 1)"),
            ("duckdb", "SUMMARIZE t"),
        ] {
            assert_eq!(kinds(dialect, sql), [], "{dialect}: {sql}");
        }
    }

    #[test]
    fn a_condition_that_is_always_true_is_none() {
        for condition in [
            "1=1",
            "true",
            "NOT false",
            "'a' = 'a'",
            "id = id",
            "x = 1 OR 1",
            "2 > 1",
            "(1)",
            "name LIKE '%'",
            "1 BETWEEN 0 AND 2",
            "3 IN (1, 3)",
            "EXISTS (SELECT 1)",
            "1 <> 2",
        ] {
            let sql = format!("DELETE FROM t WHERE {condition}");
            assert_eq!(kinds("generic", &sql), [FactKind::SqlEveryRow], "{sql}");
        }
        for condition in ["id = 1", "x = 1 AND 1", "1 = 0", "name LIKE 'a%'", "a > b", "id IN (1)"]
        {
            let sql = format!("DELETE FROM t WHERE {condition}");
            assert_eq!(kinds("generic", &sql), [FactKind::SqlDelete], "{sql}");
        }
    }

    #[test]
    fn writes_are_seen_wherever_they_hide() {
        for (dialect, sql, kind) in [
            ("postgres", "DO $$ BEGIN DROP TABLE x; END $$", FactKind::SqlDrop),
            ("postgres", "WITH d AS (DELETE FROM t RETURNING 1) SELECT 1", FactKind::SqlEveryRow),
            ("postgres", "EXPLAIN (ANALYZE, VERBOSE) INSERT INTO t VALUES (1)", FactKind::SqlWrite),
            ("postgres", "SELECT \"pg_read_file\" /* x */ ('x')", FactKind::SqlEscape),
            ("postgres", "\\! rm -rf x", FactKind::SqlEscape),
            ("mysql", "SELECT 1 /*!50000 UNION SELECT LOAD_FILE('x') */", FactKind::SqlEscape),
            ("mariadb", "/*M!100100 DROP TABLE t */", FactKind::SqlDrop),
            ("mysql", "ANALYZE FORMAT=JSON DELETE FROM t", FactKind::SqlEveryRow),
            ("sqlite", ".shell ls", FactKind::SqlEscape),
            ("sqlserver", "SELECT 1 DROP TABLE users", FactKind::SqlDrop),
            ("sqlserver", "SELECT 1\nGO\nDROP TABLE x", FactKind::SqlDrop),
            ("sqlserver", "IF 1=1 DELETE FROM t", FactKind::SqlEveryRow),
            ("sqlserver", "EXEC master..xp_cmdshell @c", FactKind::SqlEscape),
            ("oracle", "BEGIN EXECUTE IMMEDIATE 'DROP TABLE x'; END;", FactKind::SqlDrop),
        ] {
            assert!(kinds(dialect, sql).contains(&kind), "{sql}: {:?}", kinds(dialect, sql));
        }
    }

    #[test]
    fn what_the_grammar_refuses_is_never_quiet() {
        for sql in
            ["", "-- nothing", "foo bar", "SELECT * FROM", "SELECT 'open", "SHOWPLAN SELECT 1"]
        {
            assert_eq!(kinds("sqlserver", sql), [FactKind::Unparsed], "{sql}");
        }
    }

    #[test]
    fn facts_point_at_their_statement() {
        let sql = "SELECT 'ä';\n DROP TABLE t ;";
        let context = Context::default();
        let facts = facts(sql, None, &Scene::new(&context, &[]));
        let [fact] = &*facts else { panic!("{facts:?}") };
        let [start, end] = fact.span.unwrap();
        assert_eq!(sql.get(start as usize..end as usize), Some("DROP TABLE t"));
        assert_eq!(fact.subject, "DROP TABLE t");
    }

    #[test]
    fn hostile_text_ends_in_time() {
        let many = |unit: &str, count: usize| unit.repeat(count);
        for dialect in ["generic", "postgres", "mysql", "sqlserver", "clickhouse", "bigquery"] {
            for sql in [
                format!("SELECT {}1{}", many("(", 20_000), many(")", 20_000)),
                format!("SELECT {}1{}", many("(", 23), many(")", 23)),
                format!("SELECT * FROM {}a{}", many("(", 23), many(")", 23)),
                format!("SELECT {}1", many("NOT ", 20_000)),
                format!("SELECT {}1", many("- ", 24)),
                format!("SELECT 1{}", many(" + 1", 50_000)),
                format!("SELECT 1{}", many(" UNION SELECT 1", 20_000)),
                format!("SELECT {}", many("CASE WHEN ", 20)),
                format!("SELECT {}", many("a(", 23)),
                format!("SELECT a{}", many("::int", 20_000)),
                format!("SELECT a{}", many("[1]", 20_000)),
                format!("SELECT CAST(a AS {}", many("ARRAY<", 24)),
                format!("CREATE TABLE t (a {}", many("STRUCT<a ", 24)),
                format!("SELECT {}", many("(SELECT ", 23)),
                format!("SELECT 1 FROM {}", many("a JOIN (", 23)),
                format!("INSERT INTO t VALUES {}", many("(1),", 100_000)),
                many("/*!", 100_000),
                many("EXPLAIN ", 50_000),
                many("SELECT 1;", 20_000),
                many("DROP TABLE t;", 20_000),
                many("(DELETE ", 50_000),
                many("'", 100_001),
                many("EXEC('", 10_000),
                many("BEGIN ", 20_000),
            ] {
                let start = std::time::Instant::now();
                drop(kinds(dialect, &sql));
                let head: String = sql.chars().take(40).collect();
                let took = start.elapsed();
                assert!(took.as_secs() < 10, "{dialect}: {head} took {took:?}");
            }
        }
    }
}
