//! The result of analyzing an action: the programs it would run, and facts about it.

use std::sync::Arc;

use crate::fact::{Fact, Origin};
use crate::verdict::Span;

/// The result of one analyzer.
#[derive(Debug, Clone, Default)]
pub struct Analysis {
    /// Every program that would run, with its words.
    pub commands: Vec<Invocation>,
    /// Every other fact.
    pub facts: Vec<Fact>,
}

/// One program that would run, with its words after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program's name without its folder.
    pub program: String,
    /// The program's arguments; the part of a word that could not be worked out is [`UNKNOWN`].
    pub words: Vec<String>,
    /// The positions of the words that are neither options nor their values.
    pub operands: Vec<usize>,
    /// The position in the action's text.
    pub span: Option<Span>,
    /// The circumstances in which it runs; known only where effects are shown.
    pub origin: Option<Arc<Origin>>,
}

/// The placeholder for the part of a word that could not be worked out.
pub const UNKNOWN: char = '\u{E000}';

impl Invocation {
    /// Reports whether the first operands match. `a|b` means either, `*` means anything.
    #[must_use]
    pub fn starts_with(&self, patterns: &[std::borrow::Cow<'static, str>]) -> bool {
        patterns.len() <= self.operands.len()
            && patterns.iter().zip(self.operands()).all(|(pattern, word)| matches(pattern, word))
    }

    /// Returns the words that are neither options nor their values.
    pub fn operands(&self) -> impl Iterator<Item = &str> {
        self.operands.iter().filter_map(|at| self.words.get(*at)).map(String::as_str)
    }

    /// Reports whether an option or word is present. `-f` is also found in `-rf`, `--force` also in
    /// `--force=x`; anything else is compared with the operands. `a|b` means either, `*` means
    /// anything.
    #[must_use]
    pub fn has(&self, wanted: &str) -> bool {
        wanted.split('|').any(|wanted| self.has_one(wanted))
    }

    /// Reports whether a single alternative, without `|`, is present: see [`Self::has`].
    pub(crate) fn has_one(&self, wanted: &str) -> bool {
        if wanted.starts_with("--") && wanted.contains('*') {
            return self.words.iter().any(|word| matches_one(wanted, word));
        }
        if let Some(long) = wanted.strip_prefix("--") {
            return self.words.iter().any(|word| has_long(word, long));
        }
        if let Some(letters) = wanted.strip_prefix('-')
            && !letters.is_empty()
        {
            if let Some(start) = wanted.strip_suffix('*') {
                return self.words.iter().any(|word| word.starts_with(start));
            }
            return self.words.iter().any(|word| has_letter(word, wanted, letters));
        }
        // A piece of a word is searched for in all words, because it may be in an option's value.
        let everywhere = wanted.starts_with('*') && wanted.len() > 4;
        if everywhere {
            return self.words.iter().any(|word| matches_one(wanted, word));
        }
        self.operands().any(|word| matches_one(wanted, word))
    }

    /// Reports whether every word is known and is either among the first `first` operands or
    /// matches one of `named`.
    pub(crate) fn has_only(&self, first: usize, named: &[&str]) -> bool {
        let first = self.operands.get(..first).unwrap_or_default();
        self.words.iter().enumerate().all(|(at, word)| {
            !word.contains(UNKNOWN)
                && (first.contains(&at) || named.iter().any(|pattern| matches(pattern, word)))
        })
    }

    /// Returns the command as shown to a person.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut shown = self.program.clone();
        for word in &self.words {
            shown.push(' ');
            shown.push_str(word);
        }
        shown.replace(UNKNOWN, "…")
    }
}

/// Reports whether a word has an option: `-f` in `-f` and `-rf`, `-exec` only as a whole word.
fn has_letter(word: &str, wanted: &str, letters: &str) -> bool {
    if word == wanted {
        return true;
    }
    let mut chars = letters.chars();
    match (chars.next(), chars.next(), word.strip_prefix('-')) {
        (Some(letter), None, Some(cluster)) => {
            !cluster.starts_with('-')
                && cluster.chars().all(|char| char.is_ascii_alphabetic())
                && cluster.contains(letter)
        }
        _ => false,
    }
}

/// Reports whether a word is a long option: `--force` in `--force` and `--force=x`, but not one
/// that is switched off.
fn has_long(word: &str, long: &str) -> bool {
    let Some(rest) = word.strip_prefix("--").and_then(|word| word.strip_prefix(long)) else {
        return false;
    };
    match rest.strip_prefix('=') {
        Some(value) => !long.contains('=') && !matches!(value, "false" | "none" | "no" | "off"),
        None => rest.is_empty(),
    }
}

/// Reports whether a word matches one of the alternatives separated by `|`; `*` means anything, at
/// any position.
fn matches(pattern: &str, word: &str) -> bool {
    let mut patterns = pattern.as_bytes().split(|byte| *byte == b'|');
    patterns.any(|pattern| matches_bytes(pattern, word.as_bytes()))
}

fn matches_one(pattern: &str, word: &str) -> bool {
    matches_bytes(pattern.as_bytes(), word.as_bytes())
}

/// Reports whether a word matches one alternative. Compares bytes, not characters: every rule of a
/// program calls this for every word, and setting up a search for characters costs more than the
/// short words justify.
fn matches_bytes(pattern: &[u8], word: &[u8]) -> bool {
    let differs = |first: &u8| *first != b'*' && word.first() != Some(first);
    if pattern.first().is_some_and(differs) {
        return false;
    }
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let start = pieces.next().unwrap_or_default();
    let Some(end) = pieces.next_back() else { return pattern == word };
    let Some(mut word) = word.strip_prefix(start) else { return false };
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let Some(at) = word.windows(piece.len()).position(|window| window == piece) else {
            return false;
        };
        word = word.get(at + piece.len()..).unwrap_or_default();
    }
    word.ends_with(end)
}

impl Analysis {
    /// Creates an analysis with facts and without commands.
    #[must_use]
    pub const fn of(facts: Vec<Fact>) -> Self {
        Self { commands: Vec::new(), facts }
    }

    /// Adds the commands and facts of another analysis.
    pub fn extend(&mut self, other: Self) {
        self.commands.extend(other.commands);
        self.facts.extend(other.facts);
    }
}
