//! Splits a folded text into items that the lexicon knows or does not know.

use super::lexicon::{Class, Classes, Language, Meaning, is_joined, look_inside, look_up};

/// The number of items read from one text. A longer text is prose.
const MOST_ITEMS: usize = 48;

/// The length from which a word can be a compound that is worth splitting.
const SHORTEST_COMPOUND: usize = 8;

/// A word, a phrase, or a run of text that the lexicon does not know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    meaning: Option<Meaning>,
    /// True for a single letter, which is a word in too many languages to identify one.
    is_letter: bool,
}

impl Item {
    /// Returns the meaning in this language.
    #[must_use]
    pub(super) fn classes(&self, language: Language) -> Classes {
        self.meaning.map_or(Classes::NONE, |meaning| meaning.classes(language))
    }

    fn is_known(&self, language: Language) -> bool {
        !self.is_letter && self.meaning.is_some_and(|meaning| meaning.is_known(language))
    }
}

/// A text as items.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) items: Vec<Item>,
    /// True when there was more than is read.
    pub(super) is_cut: bool,
    has_kana: bool,
    has_hangul: bool,
}

impl Reading {
    /// Reads a folded text.
    #[must_use]
    pub(super) fn of(text: &str) -> Self {
        let mut items = Vec::with_capacity(8);
        let mut rest = text;
        while !rest.is_empty() && items.len() < MOST_ITEMS {
            rest = step(rest, &mut items);
        }
        Self {
            items,
            is_cut: !rest.is_empty(),
            has_kana: text.chars().any(|char| matches!(char, '\u{3040}'..='\u{30FF}')),
            has_hangul: text.chars().any(|char| matches!(char, '\u{AC00}'..='\u{D7AF}')),
        }
    }

    /// Returns the languages it may be written in, which know most of its words.
    pub(super) fn languages(&self) -> impl Iterator<Item = Language> {
        let mut scores = [0_usize; Language::COUNT];
        for (score, language) in scores.iter_mut().zip(Language::ALL) {
            *score = self.score(*language);
        }
        let most = scores.into_iter().max().unwrap_or(0);
        Language::ALL.iter().copied().zip(scores).filter_map(move |(language, score)| {
            // For words that all languages know, one language is enough.
            let fits = if most == 0 { language == Language::English } else { score == most };
            fits.then_some(language)
        })
    }

    /// Returns the classes in one language, in order.
    #[must_use]
    pub(super) fn classes(&self, language: Language) -> Vec<Classes> {
        self.items.iter().map(|item| item.classes(language)).collect()
    }

    fn score(&self, language: Language) -> usize {
        let excluded = match language {
            Language::International | Language::Names => true,
            Language::ChineseSimplified | Language::ChineseTraditional => {
                self.has_kana || self.has_hangul
            }
            Language::Japanese => self.has_hangul,
            _ => false,
        };
        if excluded {
            return 0;
        }
        self.items.iter().filter(|item| item.is_known(language)).count()
    }
}

/// Reads one item and returns the rest of the text.
fn step<'a>(text: &'a str, items: &mut Vec<Item>) -> &'a str {
    let joined = text.chars().next().is_some_and(is_joined);
    let meaning = look_up(text);
    let known = meaning.map_or(0, |meaning| meaning.length);
    let end = match (known, joined) {
        (0, true) => stretch(text),
        (known, true) => known,
        (known, false) => known.saturating_add(word_rest(text, known)),
    };
    let (word, after) = text.split_at_checked(end).unwrap_or((text, ""));
    let left = after.strip_prefix(' ').unwrap_or(after);
    if known == 0 && word.bytes().all(|byte| byte.is_ascii_digit()) {
        return left;
    }
    let meaning = meaning.or_else(|| compound(word));
    items.push(Item { meaning, is_letter: word.len() < 2 });
    left
}

/// Returns the length of the rest of a word after its known start.
fn word_rest(text: &str, known: usize) -> usize {
    let (start, rest) = text.split_at_checked(known).unwrap_or(("", text));
    if start.chars().next_back().is_some_and(is_joined) {
        return 0;
    }
    rest.find(|char| char == ' ' || is_joined(char)).unwrap_or(rest.len())
}

/// Returns the length of unknown text in a script without spaces.
fn stretch(text: &str) -> usize {
    for (at, char) in text.char_indices().skip(1) {
        let unknown = is_joined(char) && text.get(at..).is_none_or(|rest| look_up(rest).is_none());
        if !unknown {
            return at;
        }
    }
    text.len()
}

/// Reports whether every letter is of a script that no language of the lexicon uses.
#[must_use]
pub(super) fn is_unreadable(label: &str) -> bool {
    let mut letters = label.chars().filter(|char| char.is_alphabetic()).take(64).peekable();
    letters.peek().is_some() && !letters.any(is_read)
}

/// Reports whether some language of the lexicon is written with this letter.
const fn is_read(char: char) -> bool {
    is_joined(char)
        || matches!(char,
            '\0'..='\u{52F}' | '\u{590}'..='\u{6FF}' | '\u{750}'..='\u{77F}'
            | '\u{900}'..='\u{97F}' | '\u{1100}'..='\u{11FF}' | '\u{1D00}'..='\u{1FFF}'
            | '\u{2000}'..='\u{2FFF}' | '\u{3000}'..='\u{30FF}' | '\u{FB00}'..='\u{FFFF}'
            | '\u{1D400}'..='\u{1D7FF}' | '\u{1F100}'..='\u{1F1FF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Returns the meaning of the later part of a compound: `Benutzerpasswort`, `creditcardnumber`.
fn compound(word: &str) -> Option<Meaning> {
    if word.len() < SHORTEST_COMPOUND || word.len() > 64 {
        return None;
    }
    word.char_indices()
        .filter_map(|(at, _)| word.get(at..))
        .take_while(|rest| rest.len() > 2)
        .find_map(look_inside)
}

/// Reports whether any of the items has that class.
#[must_use]
pub(super) fn any(classes: &[Classes], class: Class) -> bool {
    classes.iter().any(|item| item.has(class))
}
