//! The role of an argument, by its name or its schema.

use serde_json::Value;

use super::tongue::{self, Tongue};
use crate::action::Language;
use crate::analyze::purpose;

/// The role of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A command line.
    Command,
    /// Words for a program's command line.
    Words,
    /// Source text in a language that its name gives.
    Code(Tongue),
    /// Source text in a language that must be found elsewhere.
    Script,
    /// Text that is source where the tool runs it, and only displayed where it does not.
    Snippet,
    /// A search, or a statement for a database.
    Query,
    /// A file or folder.
    Path,
    /// An address.
    Url,
    /// A domain or an IP address to connect to.
    Host,
    Other,
}

impl Role {
    /// Returns this role, or another if this is [`Self::Other`].
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Other { other } else { self }
    }
}

/// Returns the role of the argument with this name.
pub(super) fn of(name: &str, schema: Option<&Value>) -> Role {
    let words = purpose::split(name);
    if let Some(role) = source(&words) {
        return role;
    }
    let by_name = words.iter().rev().map(|word| of_word(word)).find(|role| *role != Role::Other);
    by_name.unwrap_or_else(|| schema.map_or(Role::Other, |schema| declared(name, schema)))
}

/// Returns the role of a name that means source text: `script`, `python_code`. A `zip_code` does
/// not.
fn source(words: &[std::borrow::Cow<'_, str>]) -> Option<Role> {
    const TEXT: [&str; 6] = ["content", "text", "body", "source", "string", "to"];
    let named = |word: &str| matches!(word, "script" | "scripts" | "code" | "snippet" | "source");
    let other = |word: &str| !named(word) && !TEXT.contains(&word);
    let others: Vec<_> = words.iter().map(|word| &**word).filter(|word| other(word)).collect();
    if !words.iter().any(|word| named(word)) {
        return None;
    }
    match others.as_slice() {
        [] if words.iter().any(|word| word.starts_with("script")) => Some(Role::Script),
        [] => Some(Role::Snippet),
        [only] => tongue::named(only).map(Role::Code),
        _ => None,
    }
}

fn of_word(word: &str) -> Role {
    match word {
        "command" | "commands" | "cmd" | "cmds" | "cmdline" | "commandline" | "shell" | "bash"
        | "exec" => Role::Command,
        "program" | "executable" | "binary" | "argv" | "args" | "flags" => Role::Words,
        "applescript" | "osascript" | "jxa" => Role::Code(Tongue::Applescript),
        "python" => Role::Code(Tongue::Code(Language::Python)),
        "javascript" | "js" => Role::Code(Tongue::Code(Language::Javascript)),
        "perl" => Role::Code(Tongue::Code(Language::Perl)),
        "ruby" => Role::Code(Tongue::Code(Language::Ruby)),
        "sql" => Role::Code(Tongue::Code(Language::Sql)),
        "query" | "queries" | "statement" | "statements" => Role::Query,
        "path" | "paths" | "file" | "files" | "filename" | "filepath" | "directory" | "dir"
        | "folder" | "cwd" => Role::Path,
        "url" | "urls" | "uri" | "href" | "link" | "endpoint" | "webhook" | "callback"
        | "website" => Role::Url,
        "host" | "hostname" | "ip" | "domain" => Role::Host,
        _ => Role::Other,
    }
}

/// Reports whether an argument of this name contains prose, where a backtick is a quotation mark.
pub(super) fn is_prose(name: &str) -> bool {
    const PROSE: [&str; 34] = [
        "answer",
        "body",
        "caption",
        "comment",
        "content",
        "contents",
        "css",
        "data",
        "description",
        "expression",
        "filter",
        "html",
        "input",
        "instructions",
        "json",
        "markdown",
        "message",
        "messages",
        "new",
        "note",
        "notes",
        "old",
        "pattern",
        "prompt",
        "query",
        "question",
        "regex",
        "str",
        "string",
        "summary",
        "template",
        "text",
        "title",
        "value",
    ];
    purpose::split(name).iter().any(|word| PROSE.contains(&&**word))
}

/// Whether an argument of this name holds a text that is kept or shown: a statement or a path at its
/// start is a mention.
pub(super) fn is_document(name: &str) -> bool {
    const STAYS: [&str; 7] =
        ["expression", "filter", "input", "pattern", "query", "regex", "value"];
    let words = purpose::split(name);
    is_prose(name) && !words.iter().all(|word| STAYS.contains(&&**word))
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
        assert_eq!(of("script", None), Role::Script);
        assert_eq!(of("code", None), Role::Snippet);
        assert_eq!(of("source_code", None), Role::Snippet);
        assert_eq!(of("python_code", None), Role::Code(Tongue::Code(Language::Python)));
        assert_eq!(of("applescript", None), Role::Code(Tongue::Applescript));
        for other in ["zip_code", "verification_code", "country_code", "error_source"] {
            assert_eq!(of(other, None), Role::Other, "{other}");
        }
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
