//! Examples in rules: a line of text becomes an action, judged in a fixed place.

use crate::action::{Action, Language};
use crate::context::Context;
use crate::fact::{FactKind, Tag};
use crate::policy::known::nearest;
use crate::verdict::{Category, Verdict};

/// The action an example stands for: a shell command, or what its first word says (`python:`,
/// `javascript:`, `perl:`, `ruby:`, `sql:`, `read:`, `write:`, `delete:`, `list:`).
#[must_use]
pub fn action(example: &str) -> Action {
    let path = |path: &str| path.trim().to_owned();
    let code = |language, source: &str| Action::Code {
        language,
        source: source.trim_start().to_owned(),
        dialect: None,
    };
    match example.split_once(':') {
        Some(("python", source)) => code(Language::Python, source),
        Some(("javascript", source)) => code(Language::Javascript, source),
        Some(("perl", source)) => code(Language::Perl, source),
        Some(("ruby", source)) => code(Language::Ruby, source),
        Some(("sql", source)) => code(Language::Sql, source),
        Some(("read", rest)) => Action::FileRead { path: path(rest) },
        Some(("write", rest)) => Action::FileWrite { path: path(rest), content: None },
        Some(("delete", rest)) => Action::FileDelete { path: path(rest) },
        Some(("list", rest)) => Action::FileList { path: path(rest) },
        _ => Action::Shell { command: example.to_owned(), cwd: None },
    }
}

/// Where examples are judged: in a project in a home folder.
#[must_use]
pub fn context() -> Context {
    Context {
        cwd: Some("/home/user/project".to_owned()),
        home: Some("/home/user".to_owned()),
        workspace: Some("/home/user/project".to_owned()),
        ..Context::default()
    }
}

const VERDICTS: [Verdict; 4] = [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block];

fn words(what: &str) -> Vec<&'static str> {
    match what {
        "fact" => FactKind::ALL.iter().map(|kind| kind.name()).collect(),
        "tag" => Tag::ALL.iter().map(|tag| tag.name()).collect(),
        "verdict" => VERDICTS.map(Verdict::as_str).to_vec(),
        "risk" => super::subject::LEVELS.iter().map(|level| level.as_str()).collect(),
        "category" => Category::ALL.iter().map(|category| category.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// The word of a vocabulary that this one was probably meant to be.
pub(crate) fn nearest_word(what: &str, word: &str) -> Option<String> {
    nearest(word, words(what).into_iter()).map(str::to_owned)
}

/// All words of a vocabulary, for a hint.
pub(crate) fn words_of(what: &str) -> String {
    format!("one of: {}", words(what).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_says_what_an_example_is() {
        for (example, kind) in [
            ("rm -rf build", "shell"),
            ("echo python: yes", "shell"),
            ("python: print(1)", "code"),
            ("sql: drop table a", "code"),
            ("write: ~/.env", "file_write"),
            ("delete: a", "file_delete"),
            ("read: a", "file_read"),
            ("list: a", "file_list"),
        ] {
            assert_eq!(action(example).kind(), kind, "{example}");
        }
    }

    #[test]
    fn every_vocabulary_has_words() {
        for what in ["fact", "tag", "verdict", "risk", "category"] {
            assert!(words(what).len() > 3, "{what}");
        }
        assert_eq!(nearest_word("fact", "delte"), Some("delete".to_owned()));
    }
}
