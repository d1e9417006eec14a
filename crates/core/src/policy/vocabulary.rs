//! The words a rule may use, for hints about one that does not exist.

use crate::fact::{FactKind, Tag};
use crate::policy::known::nearest;
use crate::verdict::{Category, Verdict};

const VERDICTS: [Verdict; 4] = [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block];

fn words(what: &str) -> Vec<&'static str> {
    match what {
        "fact" => FactKind::ALL.iter().map(|kind| kind.name()).collect(),
        "tag" => Tag::ALL.iter().map(|tag| tag.name()).collect(),
        "verdict" => VERDICTS.map(Verdict::as_str).to_vec(),
        "risk" => super::rule_target::LEVELS.iter().map(|level| level.as_str()).collect(),
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
    fn every_vocabulary_has_words() {
        for what in ["fact", "tag", "verdict", "risk", "category"] {
            assert!(words(what).len() > 3, "{what}");
        }
        assert_eq!(nearest_word("fact", "delte"), Some("delete".to_owned()));
    }
}
