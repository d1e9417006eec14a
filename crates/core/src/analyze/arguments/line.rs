//! Command lines that a call passes in pieces: a list of words, or a program and its arguments side
//! by side.
//!
//! A program that is started from a list gets each word literally, so the words are joined with
//! quotes that keep the shell grammar from interpreting them.

use serde_json::Value;

use crate::analyze::purpose;

/// The number of words of one list that are joined; a longer list is cut, and its words are judged
/// alone.
const MOST_WORDS: usize = 256;

/// Returns the words of a list as one command line.
pub(super) fn of_list(items: &[Value]) -> Option<String> {
    let words: Option<Vec<String>> = items.iter().take(MOST_WORDS).map(word).collect();
    words.filter(|words| words.len() > 1).map(|words| words.join(" "))
}

/// Returns the command line in the fields of one object: the field that names the program, followed
/// by the field with its arguments.
pub(super) fn of_fields<'a>(
    fields: &(impl Iterator<Item = (&'a str, &'a Value)> + Clone),
) -> Option<String> {
    let program = fields.clone().find_map(|(name, value)| piece(name, value, is_program))?;
    let words = fields.clone().find_map(|(name, value)| piece(name, value, is_words))?;
    Some(format!("{program} {words}"))
}

/// The command lines that the fields make up where the program is only named by the server or the
/// tool: server `git`, tool `run`, `{"args": ["reset", "--hard"]}`.
pub(super) fn of_the_called<'a>(
    fields: &(impl Iterator<Item = (&'a str, &'a Value)> + Clone),
    owner: &str,
    tool: &str,
) -> Vec<String> {
    let find = |wanted| fields.clone().find_map(|(name, value)| piece(name, value, wanted));
    let words: Vec<String> = [find(is_program), find(is_words)].into_iter().flatten().collect();
    if words.is_empty() {
        return Vec::new();
    }
    let words = words.join(" ");
    let first = words.split(' ').next().unwrap_or_default();
    let mut programs: Vec<&str> = [owner, tool].into_iter().filter_map(program_of).collect();
    programs.dedup();
    programs.retain(|program| *program != first);
    programs.into_iter().map(|program| format!("{program} {words}")).collect()
}

/// The program that a server or a tool of this name stands for. A verb that any server has is
/// none.
fn program_of(name: &str) -> Option<&str> {
    const VERBS: [&str; 14] = [
        "bash", "call", "cli", "cmd", "command", "exec", "execute", "invoke", "run", "script",
        "sh", "shell", "start", "tool",
    ];
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match name {
        "redis" | "valkey" => Some("redis-cli"),
        "postgres" | "postgresql" => Some("psql"),
        "mongo" | "mongodb" => Some("mongosh"),
        "k8s" | "kubernetes" => Some("kubectl"),
        "github" => Some("gh"),
        "gcp" => Some("gcloud"),
        "azure" => Some("az"),
        _ if VERBS.binary_search(&name).is_ok() => None,
        _ => Some(name).filter(|name| (2..=32).contains(&name.len()) && name.bytes().all(plain)),
    }
}

/// The text of a field whose name says what we look for.
fn piece(name: &str, value: &Value, is_wanted: fn(&str) -> bool) -> Option<String> {
    let wanted = purpose::split(name).last().is_some_and(|word| is_wanted(word));
    match value {
        _ if !wanted => None,
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) if items.len() == 1 => items.first().and_then(word),
        Value::Array(items) => of_list(items),
        _ => None,
    }
}

fn is_program(word: &str) -> bool {
    matches!(
        word,
        "command" | "cmd" | "program" | "executable" | "binary" | "bin" | "exec" | "tool" | "shell"
    )
}

fn is_words(word: &str) -> bool {
    matches!(
        word,
        "args" | "argv" | "arguments" | "params" | "parameters" | "flags" | "options" | "opts"
    )
}

/// Returns one word, quoted where necessary.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quoted(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(what) => Some(what.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Quotes a text so that a shell reads it as one word.
pub(super) fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(object: &Value) -> Option<String> {
        let map = object.as_object().unwrap();
        of_fields(&map.iter().map(|(name, value)| (name.as_str(), value)))
    }

    #[test]
    fn words_stay_words() {
        let list = json!(["git", "commit", "-m", "a 'b' $(c)", 3]);
        let line = of_list(list.as_array().unwrap()).unwrap();
        assert_eq!(line, r"git commit -m 'a '\''b'\'' $(c)' 3");
        assert_eq!(of_list(&[]), None);
        assert_eq!(of_list(json!([["rm"], "-rf"]).as_array().unwrap()), None);
    }

    #[test]
    fn a_program_and_its_arguments_are_put_together() {
        let line = Some("rm -rf /".to_owned());
        for call in [
            json!({"command": "rm", "args": ["-rf", "/"]}),
            json!({"program": "rm", "argv": ["-rf", "/"]}),
            json!({"cmd": ["rm"], "arguments": "-rf /"}),
            json!({"cmd": "rm -rf", "params": ["/"]}),
        ] {
            assert_eq!(fields(&call), line, "{call}");
        }
        assert_eq!(fields(&json!({"command": "ls"})), None);
        assert_eq!(fields(&json!({"args": ["x"]})), None);
    }

    #[test]
    fn a_program_may_be_named_by_who_is_called() {
        let lines = |owner: &str, tool: &str, object: &Value| {
            let map = object.as_object().unwrap();
            of_the_called(&map.iter().map(|(name, value)| (name.as_str(), value)), owner, tool)
        };
        let args = json!({"args": ["reset", "--hard"]});
        assert_eq!(lines("git", "run", &args), ["git reset --hard"]);
        assert_eq!(lines("vcs", "git", &args), ["vcs reset --hard", "git reset --hard"]);
        let one = json!({"cmd": ["FLUSHALL"]});
        assert_eq!(lines("redis", "command", &one), ["redis-cli FLUSHALL"]);
        let both = json!({"command": "destroy", "args": ["-auto-approve"]});
        assert_eq!(lines("terraform", "exec", &both), ["terraform destroy -auto-approve"]);
        assert!(lines("git", "run", &json!({"args": ["git", "status"]})).is_empty());
        assert!(lines("git", "run", &json!({"path": "x"})).is_empty());
    }
}
