//! Classifies a statement by its tokens alone, where the grammar does not help.

use sqlparser::tokenizer::Token;

use super::flavour::Flavour;
use super::lexeme::Lexeme;
use crate::fact::FactKind;

/// First words of statements that change something.
const WRITES: &[&str] = &[
    "INSERT",
    "REPLACE",
    "MERGE",
    "UPSERT",
    "CREATE",
    "ALTER",
    "GRANT",
    "REVOKE",
    "DENY",
    "CALL",
    "EXEC",
    "EXECUTE",
    "DO",
    "COPY",
    "LOAD",
    "IMPORT",
    "EXPORT",
    "UNLOAD",
    "SET",
    "RESET",
    "DISCARD",
    "ANALYZE",
    "ANALYSE",
    "VACUUM",
    "REINDEX",
    "CLUSTER",
    "REFRESH",
    "OPTIMIZE",
    "REPAIR",
    "CHECK",
    "FLUSH",
    "KILL",
    "LOCK",
    "UNLOCK",
    "RENAME",
    "COMMENT",
    "NOTIFY",
    "LISTEN",
    "UNLISTEN",
    "PREPARE",
    "DEALLOCATE",
    "HANDLER",
    "INSTALL",
    "UNINSTALL",
    "BULK",
    "BACKUP",
    "RESTORE",
    "RECONFIGURE",
    "SHUTDOWN",
    "CHANGE",
    "START",
    "STOP",
    "PURGE",
    "DECLARE",
    "SECURITY",
    "REASSIGN",
    "CHECKPOINT",
    "PUT",
    "GET",
    "REMOVE",
    "RM",
    "UNDROP",
    "DETACH",
    "SYSTEM",
    "DBCC",
    "SIGNAL",
    "CACHE",
    "UNCACHE",
    "MSCK",
    "ENABLE",
    "DISABLE",
    "RAISERROR",
    "WRITETEXT",
];

/// Words that start a statement inside another one, or after one without a semicolon.
const VERBS: &[&str] = &[
    "INSERT", "UPDATE", "DELETE", "MERGE", "DROP", "TRUNCATE", "ALTER", "CREATE", "EXEC",
    "EXECUTE", "GRANT", "REVOKE", "REPLACE", "CALL",
];

/// The number of verbs that are examined, since each is read to its end.
const MOST_VERBS: usize = 64;

/// Reserved words of SQL Server: unquoted they are never a column or an alias.
const RESERVED: &[&str] = &[
    "DROP",
    "DELETE",
    "TRUNCATE",
    "INSERT",
    "UPDATE",
    "MERGE",
    "ALTER",
    "CREATE",
    "EXEC",
    "EXECUTE",
    "SHUTDOWN",
    "KILL",
    "GRANT",
    "REVOKE",
    "DENY",
    "BACKUP",
    "RESTORE",
    "RECONFIGURE",
    "DBCC",
    "BULK",
];

/// Returns the effects of a statement that the grammar did not accept.
pub(super) fn kinds(run: &[Lexeme], flavour: Flavour) -> Vec<FactKind> {
    let Some(first) = run.first() else { return Vec::new() };
    let mut kinds = nested(run, flavour);
    match first.word().as_str() {
        "DROP" => kinds.push(FactKind::SqlDrop),
        "TRUNCATE" => kinds.push(FactKind::SqlTruncate),
        "DELETE" => {
            kinds.push(if narrowed(run) { FactKind::SqlDelete } else { FactKind::SqlEveryRow });
        }
        "UPDATE" => {
            kinds.push(if narrowed(run) { FactKind::SqlWrite } else { FactKind::SqlEveryRow });
        }
        "ALTER" if run.iter().any(|lexeme| lexeme.is("DROP")) => kinds.push(FactKind::SqlDrop),
        "ALTER" if run.iter().any(|lexeme| lexeme.is("TRUNCATE")) => {
            kinds.push(FactKind::SqlTruncate);
        }
        "ATTACH" => kinds.push(FactKind::SqlEscape),
        word if WRITES.contains(&word) => kinds.push(FactKind::SqlWrite),
        "END" | "BEGIN" | "COMMIT" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE" | "USE"
            if run.len() <= 3 => {}
        "BEGIN" => kinds.extend(branches(run)),
        _ => kinds.push(FactKind::Unparsed),
    }
    kinds
}

/// Returns writes inside a statement that starts as a reading one: `( DELETE …`, `WITH … INSERT`,
/// `INTO`.
pub(super) fn nested(run: &[Lexeme], flavour: Flavour) -> Vec<FactKind> {
    let mut kinds = Vec::new();
    let queries = run.first().is_some_and(|first| {
        first.token == Token::LParen || first.is_any(&["SELECT", "WITH", "VALUES", "TABLE", "FROM"])
    });
    for (at, pair) in run.windows(2).enumerate() {
        let [before, lexeme] = pair else { continue };
        let after = run.get(at + 2);
        let starts = matches!(before.token, Token::LParen | Token::RParen);
        let reserved = flavour == Flavour::SqlServer && lexeme.is_any(RESERVED);
        if (starts && lexeme.is_any(VERBS) || reserved && !before.is("FOR"))
            && !is_function(lexeme, after)
            && kinds.len() < MOST_VERBS
        {
            kinds.push(verb(run.get(at + 1..).unwrap_or_default()));
        }
        if queries && lexeme.is("INTO") && !before.is_any(&["INSERT", "REPLACE", "MERGE", "IGNORE"])
        {
            kinds.push(FactKind::SqlWrite);
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Reports whether a word is a function: `REPLACE(name, 'a', 'b')` and `INSERT('abc', 1, 1, 'x')`
/// are; `EXEC('…')` is not.
fn is_function(lexeme: &Lexeme, after: Option<&Lexeme>) -> bool {
    after.is_some_and(|after| after.token == Token::LParen)
        && lexeme.is_any(&["REPLACE", "INSERT", "TRUNCATE"])
        || after.is_none_or(|after| {
            matches!(after.token, Token::RParen | Token::Comma | Token::Period | Token::Eq)
        }) && !lexeme.is("SHUTDOWN")
}

/// Returns the effect of a statement with this verb, up to the bracket that closes it.
fn verb(run: &[Lexeme]) -> FactKind {
    match run.first().map(Lexeme::word).unwrap_or_default().as_str() {
        "DROP" => FactKind::SqlDrop,
        "TRUNCATE" => FactKind::SqlTruncate,
        "DELETE" if narrowed(run) => FactKind::SqlDelete,
        "DELETE" => FactKind::SqlEveryRow,
        "UPDATE" if !narrowed(run) => FactKind::SqlEveryRow,
        _ => FactKind::SqlWrite,
    }
}

/// Reports whether a `WHERE` or `LIMIT` narrows the statement that starts here.
fn narrowed(run: &[Lexeme]) -> bool {
    let mut depth = 0_i32;
    for lexeme in run {
        match lexeme.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
        if depth == 0 && lexeme.is_any(&["WHERE", "LIMIT", "TOP"]) {
            return true;
        }
    }
    false
}

/// For `EXPLAIN …`: returns the explained statement, and whether it is executed as well.
pub(super) fn explained(run: &[Lexeme], flavour: Flavour) -> Option<(&[Lexeme], bool)> {
    let (first, rest) = run.split_first()?;
    let mut executes = match first.word().as_str() {
        "EXPLAIN" => false,
        // In MySQL, the words that describe a table also explain a statement.
        "DESCRIBE" | "DESC" if flavour == Flavour::MySql => false,
        // MariaDB: `ANALYZE DELETE …` deletes.
        "ANALYZE" if flavour == Flavour::MySql && starts_statement(rest) => true,
        _ => return None,
    };
    let mut at = 0;
    while let Some(lexeme) = rest.get(at) {
        if lexeme.is_any(&["ANALYZE", "ANALYSE"]) {
            executes |= !rest.get(at + 1).is_some_and(is_off);
        } else if is_start(lexeme) && !(lexeme.token == Token::LParen && at == 0) {
            return Some((rest.get(at..).unwrap_or_default(), executes));
        }
        at += 1;
    }
    Some((&[], executes))
}

fn starts_statement(run: &[Lexeme]) -> bool {
    run.iter().take(4).any(is_start)
}

fn is_start(lexeme: &Lexeme) -> bool {
    lexeme.is_any(VERBS) || lexeme.is_any(&["SELECT", "WITH", "VALUES", "TABLE", "DECLARE"])
}

fn is_off(lexeme: &Lexeme) -> bool {
    lexeme.is_any(&["FALSE", "OFF"])
        || matches!(&lexeme.token, Token::Number(number, _) if number == "0")
        || lexeme.text().is_some_and(|text| ["false", "off", "0"].contains(&text))
}

/// Reports whether the strings of this statement are run as statements.
pub(super) fn executes_text(run: &[Lexeme]) -> bool {
    run.iter().any(|lexeme| {
        lexeme.is_any(&["EXEC", "EXECUTE", "DO", "PREPARE", "SP_EXECUTESQL", "OPENQUERY", "BEGIN"])
    })
}

/// Reports whether this string is a statement rather than data.
pub(super) fn looks_like_sql(text: &str) -> bool {
    let first: String =
        text.trim_start().chars().take_while(char::is_ascii_alphabetic).take(16).collect();
    let first = first.to_ascii_uppercase();
    VERBS.contains(&&*first)
        || ["BEGIN", "DECLARE", "SET", "SELECT", "WITH", "TRUNCATE", "COPY"].contains(&&*first)
}

/// Removes the `OPTION (…)` at the end that SQL Server allows and the grammar does not.
pub(super) fn without_options(run: &[Lexeme], flavour: Flavour) -> &[Lexeme] {
    let end = run.windows(2).rposition(|pair| {
        matches!(pair, [option, bracket] if option.is("OPTION") && bracket.token == Token::LParen)
    });
    match end {
        Some(end) if flavour == Flavour::SqlServer => run.get(..end).unwrap_or(run),
        _ => run,
    }
}

/// Returns the effects of the statements between `BEGIN`, `THEN`, `ELSE` and `END`.
pub(super) fn branches(run: &[Lexeme]) -> Vec<FactKind> {
    let starts = |at: usize| {
        run.get(at).is_some_and(|before| {
            before.is_any(&["BEGIN", "THEN", "ELSE", "DO", "LOOP"])
                || before.token == Token::SemiColon
                || before.token == Token::RParen
        })
    };
    let mut kinds: Vec<_> = (0..run.len())
        .filter(|at| starts(*at))
        .filter_map(|at| run.get(at + 1..))
        .filter(|rest| rest.first().is_some_and(|first| first.is_any(VERBS)))
        .take(MOST_VERBS)
        .map(verb)
        .collect();
    kinds.push(FactKind::SqlWrite);
    kinds
}

/// Pragmas that only read although they take an argument in brackets.
const READING_PRAGMAS: &[&str] = &[
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "integrity_check",
    "quick_check",
    "database_list",
    "collation_list",
    "function_list",
    "module_list",
    "pragma_list",
    "compile_options",
    "show_tables",
    "storage_info",
    "database_size",
    "version",
];

/// Pragmas that have effects even without an argument.
const WORKING_PRAGMAS: &[&str] =
    &["incremental_vacuum", "optimize", "wal_checkpoint", "shrink_memory"];

/// Returns the effect of `PRAGMA name`, `PRAGMA name = value` or `PRAGMA name(value)`: the last two
/// assign, with a few exceptions.
pub(super) fn pragma(run: &[Lexeme]) -> Option<FactKind> {
    let name = run
        .iter()
        .skip(1)
        .take_while(|lexeme| lexeme.name().is_some() || lexeme.token == Token::Period)
        .filter_map(Lexeme::name)
        .last()
        .unwrap_or_default();
    let assigns = run.iter().any(|lexeme| matches!(lexeme.token, Token::Eq | Token::Assignment));
    let argument = run.iter().any(|lexeme| lexeme.token == Token::LParen);
    let writes = assigns
        || (argument && !READING_PRAGMAS.contains(&&*name))
        || WORKING_PRAGMAS.contains(&&*name)
        || name.is_empty();
    writes.then_some(FactKind::SqlWrite)
}
