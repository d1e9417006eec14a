//! File actions: one path, one operation.
//!
//! Names that leave their folder are detected as written, and after up to four rounds of
//! percent-decoding: some layer between us and the disk may decode, and a name that only makes
//! sense decoded serves no other purpose.

use crate::action::Action;
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::{self, Scene};

/// The number of rounds of decoding that are followed.
const MOST_ROUNDS: usize = 4;

/// Returns the facts of a file action.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    let (kind, path) = match action {
        Action::FileRead { path } => (FactKind::Read, path),
        Action::FileWrite { path, .. } => (FactKind::Write, path),
        Action::FileDelete { path } => (FactKind::Delete, path),
        Action::FileList { path } => (FactKind::List, path),
        _ => return Analysis::default(),
    };
    let mut facts = Vec::new();
    let file = Tags::of(&[Tag::File]);
    let tags = location::locate(path, scene).and(file);
    facts.push(Fact::new(kind, path.as_str()).tagged(tags));
    if steps_out(path, scene) {
        let tags = Tags::of(&[Tag::Escapes]).and(file);
        facts.push(Fact::new(FactKind::Traversal, path.as_str()).tagged(tags));
    } else if let Some(decoded) = hidden_traversal(path) {
        facts.push(Fact::new(FactKind::Traversal, decoded).tagged(file));
    }
    Analysis { commands: Vec::new(), facts }
}

/// Reports whether `..` leads out of the workspace.
fn steps_out(path: &str, scene: &Scene<'_>) -> bool {
    if !path.split('/').any(|part| part == "..") {
        return false;
    }
    let landed = location::absolute(path, scene);
    match scene.workspace() {
        Some(workspace) => !location::is_below(&landed, &location::normalize(workspace)),
        None => !path.starts_with('/'),
    }
}

/// Returns a traversal that appears only after decoding, or with backslashes read as slashes.
fn hidden_traversal(path: &str) -> Option<String> {
    let mut text = path.to_owned();
    for round in 0..=MOST_ROUNDS {
        let slashed = text.replace('\\', "/");
        if (round > 0 || slashed != text) && climbs(&slashed) {
            return Some(text);
        }
        if round > 0 && text.contains('\0') {
            return Some(text.replace('\0', "\\0"));
        }
        let decoded = percent_decode(&text);
        if decoded == text {
            return None;
        }
        if hides_a_step(&text) {
            return Some(text);
        }
        text = decoded;
    }
    // Encoded again and again: no file is named like that.
    Some(path.to_owned())
}

/// Reports whether a text contains an encoded dot, or a byte that only a lenient decoder accepts: a
/// name does not need either.
fn hides_a_step(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["%2e", "%c0%", "%c1%", "%e0%80", "%f0%80", "%f8%80", "%fc%80", "%u002e", "%uff0e"]
        .iter()
        .any(|code| lower.contains(code))
}

/// Reports whether a path contains `..` between separators, also with characters around it that
/// some decoder drops.
fn climbs(path: &str) -> bool {
    path.split('/').any(|part| {
        let dots =
            part.trim_matches(|char: char| !char.is_alphanumeric() && char != '.' && char != '…');
        (dots.len() >= 2 && dots.chars().all(|char| matches!(char, '.' | '…')))
            || (dots.starts_with("..") && !dots.contains(|char: char| char.is_ascii_alphabetic()))
    })
}

/// One round of percent-decoding, overlong and `%u` forms included. Bytes that are not text become
/// a mark, so that a decoded name never looks cleaner than it is.
pub(crate) fn percent_decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let (decoded, used) = decode_one(after);
        match decoded {
            Some(char) => out.push(char),
            None => out.push('%'),
        }
        rest = after.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Decodes the text after a `%`; returns the character and the number of bytes it took.
fn decode_one(after: &str) -> (Option<char>, usize) {
    let hex = |text: Option<&str>| text.and_then(|text| u32::from_str_radix(text, 16).ok());
    if let Some(code) = after.strip_prefix(['u', 'U']).and_then(|rest| hex(rest.get(..4))) {
        return (Some(fold(code)), 5);
    }
    let Some(first) = hex(after.get(..2)) else { return (None, 0) };
    // Overlong forms: `%c0%ae` is a dot to a lenient decoder.
    if matches!(first, 0xC0 | 0xC1)
        && let Some(second) = after
            .get(2..)
            .and_then(|rest| rest.strip_prefix('%'))
            .and_then(|rest| hex(rest.get(..2)))
    {
        return (Some(fold((first & 0x1F) << 6 | second & 0x3F)), 5);
    }
    if first == 0xE0
        && let (Some(second), Some(third)) = (hex(after.get(3..5)), hex(after.get(6..8)))
        && after.get(2..3) == Some("%")
        && after.get(5..6) == Some("%")
    {
        return (Some(fold((second & 0x3F) << 6 | third & 0x3F)), 8);
    }
    (Some(char::from_u32(first).unwrap_or('\u{FFFD}')), 2)
}

/// Maps characters that some file systems take for a dot or a slash.
fn fold(code: u32) -> char {
    match char::from_u32(code).unwrap_or('\u{FFFD}') {
        '\u{2215}' | '\u{2044}' | '\u{FF0F}' | '\u{EFC8}' | '\u{F025}' => '/',
        '\u{2216}' | '\u{FF3C}' => '\\',
        '\u{FF0E}' | '\u{2024}' | '\u{3E}' => '.',
        char => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn facts(path: &str) -> Vec<FactKind> {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            ..Context::default()
        };
        let action = Action::FileRead { path: path.into() };
        let analysis = analyze(&action, &Scene::new(&context, &[]));
        analysis.facts.iter().map(|fact| fact.kind).collect()
    }

    #[test]
    fn steps_out_of_the_workspace_are_seen_in_every_spelling() {
        for path in [
            "../x",
            "a/../../x",
            "..%2fx",
            "%2e%2e/x",
            "%252e%252e%252fx",
            "..\\x",
            "%c0%ae%c0%ae/x",
            "%u002e%u002e/x",
            "a/..%00/x",
            "....\\/x",
        ] {
            assert!(facts(path).contains(&FactKind::Traversal), "{path}");
        }
    }

    #[test]
    fn names_with_dots_and_percents_are_just_names() {
        for path in
            ["a..b", "src/../src/main.rs", "100%.txt", "a%20b.txt", "..gitignore", "50%-off"]
        {
            assert!(!facts(path).contains(&FactKind::Traversal), "{path}");
        }
    }
}
