//! Dialects: their grammars, reading statements and separators.

use sqlparser::dialect::{
    BigQueryDialect, ClickHouseDialect, DatabricksDialect, Dialect, DuckDbDialect, GenericDialect,
    HiveDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect, RedshiftSqlDialect,
    SQLiteDialect, SnowflakeDialect,
};
use sqlparser::tokenizer::Token;

use super::lexeme::Lexeme;

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    Generic,
    Postgres,
    Redshift,
    MySql,
    Sqlite,
    SqlServer,
    Oracle,
    BigQuery,
    Snowflake,
    DuckDb,
    ClickHouse,
    Databricks,
    Hive,
}

impl Flavour {
    /// Returns the dialect of this name; an unknown name means the generic one.
    pub(super) fn named(name: Option<&str>) -> Self {
        match name.unwrap_or_default().to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" | "psql" | "pg" | "cockroach" | "cockroachdb"
            | "timescaledb" | "yugabyte" => Self::Postgres,
            "redshift" => Self::Redshift,
            "mysql" | "mariadb" | "tidb" | "percona" => Self::MySql,
            "sqlite" | "sqlite3" | "libsql" | "turso" => Self::Sqlite,
            "sqlserver" | "mssql" | "tsql" | "sql_server" | "azuresql" => Self::SqlServer,
            "oracle" | "plsql" => Self::Oracle,
            "bigquery" => Self::BigQuery,
            "snowflake" => Self::Snowflake,
            "duckdb" => Self::DuckDb,
            "clickhouse" => Self::ClickHouse,
            "databricks" | "spark" | "sparksql" => Self::Databricks,
            "hive" => Self::Hive,
            _ => Self::Generic,
        }
    }

    /// Returns a name that [`Self::named`] maps back to this dialect.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Postgres => "postgres",
            Self::Redshift => "redshift",
            Self::MySql => "mysql",
            Self::Sqlite => "sqlite",
            Self::SqlServer => "sqlserver",
            Self::Oracle => "oracle",
            Self::BigQuery => "bigquery",
            Self::Snowflake => "snowflake",
            Self::DuckDb => "duckdb",
            Self::ClickHouse => "clickhouse",
            Self::Databricks => "databricks",
            Self::Hive => "hive",
        }
    }

    pub(super) fn dialect(self) -> Box<dyn Dialect> {
        match self {
            Self::Generic => Box::new(GenericDialect),
            Self::Postgres => Box::new(PostgreSqlDialect {}),
            Self::Redshift => Box::new(RedshiftSqlDialect {}),
            Self::MySql => Box::new(MySqlDialect {}),
            Self::Sqlite => Box::new(SQLiteDialect {}),
            Self::SqlServer => Box::new(MsSqlDialect {}),
            Self::Oracle => Box::new(OracleDialect {}),
            Self::BigQuery => Box::new(BigQueryDialect),
            Self::Snowflake => Box::new(SnowflakeDialect),
            Self::DuckDb => Box::new(DuckDbDialect {}),
            Self::ClickHouse => Box::new(ClickHouseDialect {}),
            Self::Databricks => Box::new(DatabricksDialect {}),
            Self::Hive => Box::new(HiveDialect {}),
        }
    }

    /// Returns whether a statement with this first word only reads in this dialect; `None` if it
    /// depends.
    pub(super) fn reads(self, first: &str) -> Option<bool> {
        match first {
            "SHOW" => Some(!matches!(self, Self::Sqlite | Self::SqlServer | Self::Oracle)),
            "DESCRIBE" | "DESC" => {
                Some(!matches!(self, Self::Sqlite | Self::SqlServer | Self::Postgres))
            }
            "SUMMARIZE" if self == Self::DuckDb => Some(true),
            "TABLE" => match self {
                Self::Postgres | Self::MySql | Self::DuckDb => Some(true),
                _ => None,
            },
            "PRAGMA" => match self {
                Self::Sqlite | Self::DuckDb | Self::Generic => None,
                _ => Some(false),
            },
            _ => None,
        }
    }

    /// Reports whether a lexeme separates statements: `;`, and `GO` between the batches of SQL
    /// Server.
    pub(super) fn separates(self, lexeme: &Lexeme) -> bool {
        lexeme.token == Token::SemiColon || (self == Self::SqlServer && lexeme.is("GO"))
    }

    /// Reports whether `/*! … */` runs.
    pub(super) const fn runs_comments(self) -> bool {
        matches!(self, Self::MySql | Self::Generic)
    }
}
