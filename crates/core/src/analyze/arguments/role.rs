//! What an argument is, by its name or its schema.

use serde_json::Value;

use crate::action::Language;
use crate::analyze::purpose;

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A command line.
    Command,
    /// Words for a program's command line.
    Words,
    /// Source text.
    Code(Language),
    /// A statement for a database.
    Sql,
    /// A search, or a statement for a database.
    Query,
    /// A file or folder.
    Path,
    /// An address.
    Url,
    /// A domain or a number to connect to.
    Host,
    /// Anything else.
    Other,
}

impl Role {
    /// This role, or another where this one says nothing.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Other { other } else { self }
    }
}

/// What the argument of this name is.
pub(super) fn of(name: &str, schema: Option<&Value>) -> Role {
    let words = purpose::split(name);
    let by_name = words.iter().rev().map(|word| of_word(word)).find(|role| *role != Role::Other);
    by_name.unwrap_or_else(|| schema.map_or(Role::Other, |schema| declared(name, schema)))
}

fn of_word(word: &str) -> Role {
    match word {
        "command" | "commands" | "cmd" | "cmds" | "cmdline" | "commandline" | "shell" | "bash"
        | "exec" => Role::Command,
        "program" | "executable" | "binary" | "argv" | "args" | "flags" => Role::Words,
        "python" => Role::Code(Language::Python),
        "javascript" | "js" => Role::Code(Language::Javascript),
        "sql" => Role::Sql,
        "query" | "queries" | "statement" | "statements" => Role::Query,
        "path" | "paths" | "file" | "files" | "filename" | "filepath" | "directory" | "dir"
        | "folder" | "cwd" => Role::Path,
        "url" | "urls" | "uri" | "href" | "link" | "endpoint" | "webhook" | "callback"
        | "website" => Role::Url,
        "host" | "hostname" | "ip" | "domain" => Role::Host,
        _ => Role::Other,
    }
}

/// What the schema says of an argument whose name says nothing.
fn declared(name: &str, schema: &Value) -> Role {
    let property = schema.get("properties").and_then(|all| all.get(name));
    let text = |key: &str| property.and_then(|it| it.get(key)).and_then(Value::as_str);
    match text("format") {
        Some("uri" | "url" | "iri" | "uri-reference") => return Role::Url,
        Some("hostname" | "ipv4" | "ipv6" | "idn-hostname") => return Role::Host,
        Some("path" | "file-path" | "directory-path") => return Role::Path,
        Some("command" | "shell") => return Role::Command,
        Some(_) | None => {}
    }
    let described = [text("title"), text("description")];
    let mentions = |phrase: &str| {
        described.iter().flatten().any(|text| {
            text.get(..text.floor_char_boundary(400))
                .unwrap_or_default()
                .to_ascii_lowercase()
                .contains(phrase)
        })
    };
    let command = ["shell command", "command line", "command to run", "command to execute"];
    if command.iter().any(|phrase| mentions(phrase)) { Role::Command } else { Role::Other }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_name_tells_what_an_argument_is() {
        assert_eq!(of("file_path", None), Role::Path);
        assert_eq!(of("baseUrl", None), Role::Url);
        assert_eq!(of("searchQuery", None), Role::Query);
        assert_eq!(of("command", None), Role::Command);
        assert_eq!(of("title", None), Role::Other);
    }

    #[test]
    fn the_schema_tells_where_the_name_does_not() {
        let schema = json!({"properties": {
            "what": {"type": "string", "description": "The shell command to be run"},
            "where": {"type": "string", "format": "uri"},
            "who": {"type": "string", "description": "a person"}
        }});
        assert_eq!(of("what", Some(&schema)), Role::Command);
        assert_eq!(of("where", Some(&schema)), Role::Url);
        assert_eq!(of("who", Some(&schema)), Role::Other);
    }
}
