//! Commands and deletions in source text without a reader of its own: a build description, a
//! configuration, a compiled language.
//!
//! Such text cannot be followed as a whole. It is searched for command lines in its strings, values
//! and calls, and for calls whose names mean that files are deleted.

use crate::words::{self, has};

/// The number of possible command lines that are followed in one file.
pub(super) const MOST_LINES: usize = 256;

/// Returns every part of a text that may be a command line, with at least two words.
pub(super) fn command_lines(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        found.extend(strings(line).map(str::to_owned));
        found.extend(arguments(line).map(str::to_owned));
        found.extend(value(line).map(str::to_owned));
        if let Some((_, command)) = line.split_once("go:generate ") {
            found.push(command.to_owned());
        }
    }
    found.retain(|line| line.trim().contains(char::is_whitespace));
    found.dedup();
    found
}

/// Returns the texts between quotes.
fn strings(line: &str) -> impl Iterator<Item = &str> {
    let of = |mark: char| line.split(mark).skip(1).step_by(2);
    of('"').chain(of('\'')).chain(of('`'))
}

/// Returns the words in brackets, from the first that could be a program: `run(COMMAND rm -rf x)`.
fn arguments(line: &str) -> impl Iterator<Item = &str> {
    let inside = line.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
    let inside = inside.map_or("", |(inside, _)| inside);
    let is_keyword = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
    let keyword = inside.split_whitespace().take_while(|word| is_keyword(word)).last();
    let after = keyword.and_then(|word| inside.split_once(word)).map(|(_, rest)| rest.trim());
    after.into_iter()
}

/// Returns the value of a line: `- rm x`, `run: rm x`, `command = rm x`, ` rm x`.
fn value(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['-', '@', ' ', '\t']);
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.\"' ".contains(c))
    };
    let keyed = line.split_once([':', '=']).filter(|(key, _)| is_key(key.trim()));
    let value = keyed.map_or(line, |(_, value)| value);
    let value = value.trim_matches([' ', '[', ']', '"', '\'', ',', '|', '>']);
    (!value.is_empty()).then_some(value)
}

/// Returns the first call, or pair of words, whose name means that files are deleted.
pub(super) fn deletion(text: &str) -> Option<String> {
    for line in text.lines().map(str::trim) {
        if ["//", "#", "--", ";", "*", "/*", "<!--"].iter().any(|mark| line.starts_with(mark)) {
            continue;
        }
        let names: Vec<&str> = line
            .split(|char: char| !char.is_alphanumeric() && char != '_')
            .filter(|name| !name.is_empty())
            .collect();
        for (at, name) in names.iter().enumerate() {
            let next = names.get(at + 1).copied().unwrap_or_default();
            if deletes(name, next) {
                return Some((*name).to_owned());
            }
        }
    }
    None
}

/// Reports whether a name, by itself or with the next one, means that files are deleted.
fn deletes(name: &str, next: &str) -> bool {
    let parts = parts(name);
    let is_verb = |part: &String| has(words::PROJECT_DELETES, part);
    let is_object = |part: &String| has(words::PROJECT_DELETED, part);
    let whole = parts.first().is_some_and(is_verb) && parts.iter().skip(1).any(is_object);
    let pair = parts.len() == 1 && parts.iter().any(is_verb) && has(words::PROJECT_DELETED, next);
    whole || pair || (name == "state" && next == "absent")
}

/// Splits `remove_dir_all`, `RemoveAll` and `deleteRecursively` into lower-case words.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut was_lower = false;
    for char in name.chars() {
        let begins = char == '_' || (char.is_uppercase() && was_lower) || parts.is_empty();
        if begins {
            parts.push(String::new());
        }
        was_lower = char.is_lowercase();
        if char != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(char.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_strings_values_and_calls() {
        for (text, command) in [
            ("execute_process(COMMAND rm -rf x)", "rm -rf x"),
            ("  default: git push -f", "git push -f"),
            ("    - git push -f", "git push -f"),
            (".arg(\"cat a | sh\").status()", "cat a | sh"),
            ("//go:generate rm -rf ../x", "rm -rf ../x"),
            ("  rm -rf x", "rm -rf x"),
        ] {
            assert!(command_lines(text).iter().any(|line| line == command), "{text}");
        }
    }

    #[test]
    fn deletions_are_known_by_their_names() {
        for text in [
            "fs::remove_dir_all(\"src\")",
            "os.RemoveAll(path)",
            "dir.deleteRecursively()",
            "rm_rf 'src'",
            "delete file('src')",
            "  file: {path: x, state: absent}",
        ] {
            assert!(deletion(text).is_some(), "{text}");
        }
        for text in ["list.remove(0)", "// delete files", "delete_column(x)", "file = 3"] {
            assert_eq!(deletion(text), None, "{text}");
        }
    }
}
