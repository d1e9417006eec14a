//! Checks whether a script names a file.

use super::plant::WORKSPACE;
use super::thing::is_under;

/// Returns the words of a script that contain the last part of a path as a word of its own.
pub(crate) fn occurrences<'s>(script: &'s str, path: &str) -> impl Iterator<Item = &'s str> {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let letter = |char: Option<char>| char.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let length = name.len();
    let places: Vec<usize> = if name.is_empty() {
        Vec::new()
    } else {
        script.match_indices(&name).map(|(at, _)| at).collect()
    };
    places.into_iter().filter_map(move |at| {
        let (before, rest) = script.split_at_checked(at)?;
        let after = rest.get(length..)?;
        let is_word = !letter(before.chars().next_back()) && !letter(after.chars().next());
        let between = |char: char| char.is_whitespace() || "'\"`();|&<>=,{}@:".contains(char);
        let start = before.rfind(between).map_or(0, |found| {
            found
                + before.get(found..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        script.get(start..at + length).filter(|_| is_word)
    })
}

/// Reports whether a word that ends like a path can lead to it.
pub(crate) fn leads_to(word: &str, path: &str, script: &str) -> bool {
    let known = |part: &&str| {
        !matches!(*part, "" | "." | ".." | "~") && !part.contains(['$', '*', '?', '['])
    };
    let parts: Vec<&str> = word.split('/').collect();
    let mut wanted = path.rsplit('/');
    let in_order =
        parts.iter().rev().take_while(|part| known(part)).all(|part| wanted.next() == Some(part));
    // A bare word is relative to the working folder, or to a folder that the script names.
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names_folder = || !folder.is_empty() && script.contains(folder);
    in_order && (parts.len() > 1 || is_under(path, WORKSPACE) || names_folder())
}
