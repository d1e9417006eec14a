//! Functions and statements with which a database accesses files, programs and other servers, or
//! changes something even in a `SELECT`.

use sqlparser::tokenizer::Token;

use super::flavour::Flavour;
use super::lexeme::Lexeme;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::{Scene, locate};

/// Functions that reach out of the database, by dialect.
const POSTGRES: &[&str] = &[
    "pg_read_file",
    "pg_read_binary_file",
    "pg_ls_dir",
    "pg_ls_logdir",
    "pg_ls_waldir",
    "pg_ls_tmpdir",
    "pg_ls_archive_statusdir",
    "pg_stat_file",
    "pg_current_logfile",
    "lo_import",
    "lo_export",
    "dblink",
    "dblink_exec",
    "dblink_connect",
    "dblink_connect_u",
    "dblink_open",
    "dblink_send_query",
    "pg_file_write",
    "pg_file_read",
    "pg_file_rename",
    "pg_file_unlink",
    "pg_logdir_ls",
    "pg_execute_server_program",
    "http_get",
    "http_post",
    "http",
];
const MYSQL: &[&str] = &["load_file", "sys_exec", "sys_eval", "sys_get", "sys_set", "http_get"];
const SQLITE: &[&str] =
    &["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fsdir", "lsdir"];
const SQL_SERVER: &[&str] = &["openrowset", "openquery", "opendatasource", "openxml"];
const ORACLE: &[&str] = &[
    "utl_http",
    "utl_file",
    "utl_tcp",
    "utl_smtp",
    "utl_inaddr",
    "utl_mail",
    "httpuritype",
    "dbms_scheduler",
    "dbms_job",
    "dbms_java",
    "dbms_java_test",
    "dbms_xslprocessor",
    "dbms_ldap",
    "dbms_advisor",
    "dbms_lob",
    "dbms_cloud",
    "bfilename",
    "extproc",
];
const CLICK_HOUSE: &[&str] = &[
    "url",
    "file",
    "remote",
    "remotesecure",
    "executable",
    "s3",
    "hdfs",
    "mysql",
    "postgresql",
    "mongodb",
    "jdbc",
    "odbc",
    "urlcluster",
    "s3cluster",
    "azureblobstorage",
    "sqlite",
    "redis",
];
const OTHERS: &[&str] = &["external_query", "system$send_email"];

/// Functions that change the server, a sequence or another session.
const CHANGING: &[&str] = &[
    "setval",
    "nextval",
    "set_config",
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_reload_conf",
    "pg_rotate_logfile",
    "pg_switch_wal",
    "pg_promote",
    "pg_notify",
    "pg_create_restore_point",
    "pg_advisory_lock",
    "pg_advisory_xact_lock",
    "pg_try_advisory_lock",
    "pg_advisory_unlock",
    "pg_advisory_unlock_all",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_drop_replication_slot",
    "pg_create_logical_replication_slot",
    "pg_create_physical_replication_slot",
    "pg_logical_emit_message",
    "pg_replication_origin_create",
    "pg_stat_reset",
    "pg_stat_statements_reset",
    "lo_create",
    "lo_creat",
    "lo_unlink",
    "lo_put",
    "lo_from_bytea",
    "lowrite",
    "lo_truncate",
    "query_to_xml",
    "cursor_to_xml",
    "table_to_xml",
    "database_to_xml",
    "schema_to_xml",
    "query_to_xml_and_xmlschema",
    "pg_import_system_collations",
    "pg_backup_start",
    "get_lock",
    "release_lock",
    "release_all_locks",
    "sleep",
    "benchmark",
    "master_pos_wait",
    "source_pos_wait",
    "wait_for_executed_gtid_set",
    "last_insert_id",
    "sp_executesql",
    "drop_all_caches",
];
/// Functions that write only with an argument.
const CHANGING_WITH_ARGUMENT: &[&str] = &["last_insert_id"];

/// Functions of `DuckDB` that read the file they are given.
const FILE_READERS: &[&str] = &[
    "read_text",
    "read_blob",
    "read_csv",
    "read_csv_auto",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_parquet",
    "parquet_scan",
    "sniff_csv",
    "glob",
];

/// Records what the functions and special words of this statement reach.
pub(super) fn facts(run: &[Lexeme], flavour: Flavour, scene: &Scene<'_>, facts: &mut Vec<Fact>) {
    for (at, lexeme) in run.iter().enumerate() {
        let Some(name) = lexeme.name() else { continue };
        let next = run.get(at + 1);
        let called = next.is_some_and(|next| next.token == Token::LParen);
        if reaches(&name, called, next, flavour) || reaches_by_word(lexeme, run, at, flavour) {
            facts.push(Fact::new(FactKind::SqlEscape, name));
        } else if called && changes(&name, run.get(at + 2)) {
            facts.push(Fact::new(FactKind::SqlWrite, name));
        } else if called && flavour == Flavour::DuckDb && FILE_READERS.contains(&&*name) {
            let path = run.get(at + 2).and_then(Lexeme::text);
            let tags = path.map_or(Tags::of(&[Tag::Unknown]), |path| locate(path, scene));
            facts.push(Fact::new(FactKind::Read, path.unwrap_or(&name)).tagged(tags));
        }
    }
}

/// Reports whether this name reaches out of the database when it is called.
fn reaches(name: &str, called: bool, next: Option<&Lexeme>, flavour: Flavour) -> bool {
    let oracle = ORACLE.contains(&name)
        && next.is_some_and(|next| matches!(next.token, Token::LParen | Token::Period));
    let extended = (name.starts_with("xp_") || name.starts_with("sp_oa"))
        && next.is_some_and(|next| {
            next.text().is_some()
                || matches!(next.token, Token::LParen | Token::AtSign)
                || next.name().is_some_and(|name| name.starts_with('@'))
        });
    match flavour {
        Flavour::Postgres | Flavour::Redshift => called && POSTGRES.contains(&name),
        Flavour::MySql => called && MYSQL.contains(&name),
        Flavour::Sqlite => called && SQLITE.contains(&name),
        Flavour::SqlServer => called && SQL_SERVER.contains(&name) || extended,
        Flavour::Oracle => oracle,
        Flavour::ClickHouse => called && CLICK_HOUSE.contains(&name),
        Flavour::DuckDb | Flavour::BigQuery | Flavour::Snowflake => {
            called && OTHERS.contains(&name)
        }
        Flavour::Databricks | Flavour::Hive => called && ["reflect", "java_method"].contains(&name),
        Flavour::Generic => {
            oracle
                || extended
                || called
                    && [POSTGRES, MYSQL, SQLITE, SQL_SERVER, OTHERS]
                        .iter()
                        .any(|names| names.contains(&name))
        }
    }
}

/// Reports whether a clause reaches out of the database: `INTO OUTFILE`, `COPY … PROGRAM`,
/// `SONAME`, untrusted languages.
fn reaches_by_word(lexeme: &Lexeme, run: &[Lexeme], at: usize, flavour: Flavour) -> bool {
    let before = at.checked_sub(1).and_then(|at| run.get(at));
    let next = run.get(at + 1);
    let first = run.first();
    let starts = |words: &[&str]| first.is_some_and(|first| first.is_any(words));
    let text_follows = next.is_some_and(|next| next.text().is_some());
    match lexeme.word().as_str() {
        "OUTFILE" | "DUMPFILE" => before.is_some_and(|before| before.is("INTO")),
        "PROGRAM" => starts(&["COPY", "IMPORT"]) && text_follows,
        "TO" => starts(&["COPY"]) && text_follows && flavour != Flavour::Snowflake,
        "SONAME" => text_follows,
        "LANGUAGE" => starts(&["CREATE"]) && next.is_some_and(is_untrusted),
        "ASSEMBLY" => before.is_some_and(|before| before.is_any(&["CREATE", "ALTER"])),
        "ATTACH" => at == 0 && flavour != Flavour::ClickHouse,
        "INSTALL" => at == 0 && matches!(flavour, Flavour::DuckDb | Flavour::MySql),
        "LOAD" => at == 0 && matches!(flavour, Flavour::DuckDb | Flavour::Postgres),
        "ARCHIVE_COMMAND" | "RESTORE_COMMAND" | "SSL_PASSPHRASE_COMMAND" => {
            starts(&["ALTER", "SET"])
        }
        "VACUUM" => at == 0 && next.is_some_and(|next| next.is("INTO")),
        "EXPORT" => at == 0,
        _ => false,
    }
}

/// Reports whether a language runs outside the database's sandbox: `LANGUAGE plpython3u`, `LANGUAGE
/// C`.
fn is_untrusted(language: &Lexeme) -> bool {
    let name = language.name().or_else(|| language.text().map(str::to_ascii_lowercase));
    name.is_some_and(|name| {
        name == "c" || name == "java" || (name.starts_with("pl") && name.ends_with('u'))
    })
}

fn changes(name: &str, argument: Option<&Lexeme>) -> bool {
    CHANGING.contains(&name)
        && !(CHANGING_WITH_ARGUMENT.contains(&name)
            && argument.is_none_or(|argument| argument.token == Token::RParen))
}
