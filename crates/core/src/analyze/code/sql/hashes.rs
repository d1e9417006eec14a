//! Tables and columns in which a server stores the passwords of its own users.

use super::lexeme::Lexeme;

/// Names that have no other meaning.
const NAMES: &[&str] = &[
    "pg_shadow",
    "pg_authid",
    "rolpassword",
    "authentication_string",
    "sql_logins",
    "syslogins",
    "global_priv",
    "user$",
    "password_hash_value",
    "pg_user_mapping",
];

/// Reports whether a statement reads such a table or column.
pub(super) fn shows(run: &[Lexeme]) -> bool {
    let reads = run.first().is_some_and(|first| first.is_any(&["SELECT", "TABLE", "WITH", "COPY"]));
    reads
        && run.iter().any(|lexeme| {
            lexeme.name().is_some_and(|name| NAMES.contains(&name.to_ascii_lowercase().as_str()))
        })
}

#[cfg(test)]
mod tests {
    use crate::context::Context;
    use crate::fact::FactKind;
    use crate::location::Scene;

    fn shows(sql: &str) -> bool {
        let context = Context::default();
        let facts = super::super::facts(sql, Some("postgres"), &Scene::new(&context, &[]));
        facts.iter().any(|fact| fact.kind == FactKind::SecretShow)
    }

    #[test]
    fn passwords_of_the_server_are_secrets() {
        assert!(shows("SELECT rolname, rolpassword FROM pg_authid"));
        assert!(shows("TABLE pg_shadow"));
        assert!(!shows("SELECT rolname FROM pg_roles"));
        assert!(!shows("SELECT 'pg_shadow'"));
    }
}
