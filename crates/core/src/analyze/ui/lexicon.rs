//! The lexicon: the meaning of words in each language.
//!
//! Compiled from `lexicon/*.yaml`. One sorted table serves words, phrases and scripts without
//! spaces alike: the longest entry that starts a text is found by one binary search.

/// Declares the classes of words.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident,)+) => {
        /// The meaning of a word on a control or beside a field.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Class { $($(#[$doc])* $class,)+ }
    };
}

classes! {
    /// A command to remove something for good: delete, erase.
    Destroy,
    /// A command to remove something, from a list or for good: remove.
    Remove,
    /// A command to restore the initial state of something: reset, format.
    Wipe,
    /// A command to empty something: clear, discard.
    Clear,
    /// A command to end something that lasts: close, cancel, deactivate.
    End,
    /// A command that ends a bond without an object: unsubscribe, terminate.
    Leave,
    /// A command to buy or pay.
    Buy,
    /// The page or step where one pays, as a noun: checkout.
    Checkout,
    /// A refund.
    Refund,
    /// A command to finish something: confirm, place, complete.
    Conclude,
    /// Something that is concluded: an order, a payment, a booking.
    Deal,
    /// A statement of agreement.
    Agree,
    /// The object of an agreement.
    Terms,
    /// A command to hand something in: submit, publish, sign.
    Submit,
    /// A command to send.
    Send,
    /// Something that is sent to people.
    Message,
    /// A test run, or something that is sent to oneself.
    Trial,
    /// A command to change or move something.
    Change,
    /// Something that is hard to change back: an owner, an address to sign in with.
    HardToReverse,
    /// A command to revoke permissions.
    Revoke,
    /// A command to join or overwrite for good.
    Merge,
    /// A command to keep or change something that can be undone: save, rename.
    Keep,
    /// A command to give somebody permissions.
    Grant,
    /// Permissions that are given.
    Access,
    /// An act that is concluded by clicking its name.
    Act,
    /// A command to close or quit.
    Shut,
    /// Something that is closed.
    Window,
    /// Assent, in any words.
    Assent,
    /// Deletion, as a noun.
    Deletion,
    /// Confirmation, as a noun or a verb.
    Confirm,
    /// Everything.
    All,
    /// Something that is lost when it is emptied or reset.
    Data,
    /// Something that lasts until it is ended: an account, a subscription.
    Bond,
    /// Something that is emptied many times a day: a filter, a search.
    Harmless,
    /// Something that entries are harmlessly removed from: a menu, a list of tags.
    Light,
    /// A word that may be before or after a command: please, now.
    Lead,
    /// A word that makes the text a statement about a state, at any position.
    State,
    /// A word that makes the text an explanation or a link, at any position.
    Help,
    /// A negation, or a word that says that something is impossible.
    Not,
    /// A word directly before a verb that makes it something other than a command: can, to, allow.
    Aux,
    /// A word directly before a verb that makes it a state.
    Before,
    /// A word directly after a verb that makes it a state or a noun.
    After,
    /// A word that only identifies the language.
    Common,
    /// A password, code or answer that proves an identity.
    Password,
    /// Card, account and payment data.
    Finance,
    /// National identifiers and papers.
    Identity,
    /// A card of any kind.
    Card,
    /// A word that turns a card into its data: number, holder, code.
    Detail,
    /// The end of validity.
    Expiry,
    /// A code of any kind.
    Code,
    /// Ordinary fields: names, addresses, searches.
    Plain,
}

/// A set of [`Class`]es.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Classes(u64);

impl Classes {
    /// The empty set.
    pub(super) const NONE: Self = Self(0);

    /// Creates a set of these classes.
    #[must_use]
    pub(super) const fn of(classes: &[Class]) -> Self {
        let mut bits = 0;
        let mut rest = classes;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u8;
            rest = tail;
        }
        Self(bits)
    }

    /// Reports whether the set contains this class.
    #[must_use]
    pub(super) const fn has(self, class: Class) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Reports whether the sets have a class in common.
    #[must_use]
    pub(super) const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the union.
    #[must_use]
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Reports whether a script writes its words without spaces, or appends endings to them as Korean
/// does.
#[must_use]
pub(super) const fn is_joined(char: char) -> bool {
    matches!(char,
        '\u{E00}'..='\u{E7F}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}')
}

/// One entry: its folded text and its meanings.
#[derive(Debug)]
struct Word {
    /// The start of its text in `TEXT`, and its length in bytes.
    start: u32,
    length: u8,
    /// The longest other entry that starts this one.
    shorter: Option<u16>,
    /// The start of its meanings in `SENSES`, and the number of languages that know it.
    first: u32,
    senses: u8,
}

impl Word {
    fn text(&self) -> &'static str {
        let start = self.start as usize;
        TEXT.get(start..start.saturating_add(usize::from(self.length))).unwrap_or_default()
    }

    fn senses(&self) -> &'static [Sense] {
        let first = self.first as usize;
        SENSES.get(first..first.saturating_add(usize::from(self.senses))).unwrap_or_default()
    }
}

/// The meaning of an entry in one language.
#[derive(Debug)]
struct Sense {
    language: Language,
    /// The meaning as a whole word.
    whole: Classes,
    /// The meaning as the start of a longer word.
    stem: Classes,
    /// The meaning as the later part of a compound.
    inner: Classes,
}

/// Texts in which a class of words must and must not be found.
#[cfg(test)]
struct Examples {
    language: Language,
    class: &'static str,
    hits: &'static [&'static str],
    misses: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));

/// The meaning of a word, language by language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    by_language: [Classes; Language::COUNT],
    /// The length in bytes.
    pub(super) length: usize,
}

impl Meaning {
    const UNKNOWN: Self = Self { by_language: [Classes::NONE; Language::COUNT], length: 0 };

    /// Returns the meaning in this language, or in all.
    #[must_use]
    pub(super) fn classes(&self, language: Language) -> Classes {
        let own = self.by_language.get(language as usize).copied().unwrap_or_default();
        let any = self.by_language.get(Language::International as usize).copied();
        own.and(any.unwrap_or_default())
    }

    /// Reports whether this language itself knows the word.
    #[must_use]
    pub(super) fn is_known(&self, language: Language) -> bool {
        self.by_language.get(language as usize).is_some_and(|classes| !classes.is_empty())
    }

    fn learn(&mut self, language: Language, classes: Classes, length: usize) {
        const SETTLED: Classes = Classes::of(&[Class::Plain, Class::Help, Class::State]);
        let Some(slot) = self.by_language.get_mut(language as usize) else { return };
        if classes.is_empty() || slot.any(SETTLED) {
            return;
        }
        *slot = slot.and(classes);
        self.length = self.length.max(length);
    }
}

/// Looks up the start of a folded text. In each language the longest entry counts.
#[must_use]
pub(super) fn look_up(text: &str) -> Option<Meaning> {
    let mut meaning = Meaning::UNKNOWN;
    let first_word = text.find(' ').unwrap_or(text.len());
    for word in entries(text) {
        let end = ends_word(text, word.text());
        for sense in word.senses() {
            // Besides a whole word, its stem counts too; besides a phrase, its first word does not.
            let known = meaning.is_known(sense.language);
            let classes = match (known, end) {
                (true, _) if meaning.length > first_word => Classes::NONE,
                (false, true) => sense.whole,
                _ => sense.stem,
            };
            meaning.learn(sense.language, classes, word.text().len());
        }
    }
    (meaning.length > 0).then_some(meaning)
}

/// Looks up the start of the rest of a compound.
#[must_use]
pub(super) fn look_inside(rest: &str) -> Option<Meaning> {
    let mut meaning = Meaning::UNKNOWN;
    for word in entries(rest) {
        for sense in word.senses() {
            meaning.learn(sense.language, sense.inner, word.text().len());
        }
    }
    (meaning.length > 0).then_some(meaning)
}

/// Returns every entry that starts the text, the longest first.
///
/// All entries between the longest such entry and the text, in the order of the table, start with
/// that entry, so the last entry not after the text leads to all of them.
fn entries(text: &str) -> impl Iterator<Item = &'static Word> {
    let after = WORDS.partition_point(|word| word.text() <= text);
    let mut next = after.checked_sub(1).and_then(|at| WORDS.get(at));
    std::iter::from_fn(move || {
        let word = next?;
        next = word.shorter.and_then(|at| WORDS.get(usize::from(at)));
        Some(word)
    })
    .filter(move |word| text.starts_with(word.text()))
}

fn ends_word(text: &str, word: &str) -> bool {
    let next = text.get(word.len()..).and_then(|rest| rest.chars().next());
    let last = word.chars().next_back();
    last.is_some_and(is_joined) || next.is_none_or(|next| next == ' ' || is_joined(next))
}

#[cfg(test)]
mod tests {
    use super::super::click::says;
    use super::super::field::{self, Ask};
    use super::super::fold::fold;
    use super::super::read::Reading;
    use super::*;
    use crate::fact::FactKind;

    /// Reports whether a label would be stopped: as a control, or as a field of its class.
    fn is_found(class: &str, label: &str) -> bool {
        if matches!(class, "password" | "finance" | "identity" | "expiry" | "plain") {
            let ask = field::text(label);
            return ask.is_some_and(|ask| !matches!(ask, Ask::Plain | Ask::Code));
        }
        let sentence = label.ends_with(['.', '。']);
        says(&Reading::of(&fold(label, 4096)), sentence).iter().any(|kind| match kind {
            FactKind::UiClose => class == "shut",
            FactKind::UiChange => class == "keep",
            _ => true,
        })
    }

    #[test]
    fn hits_are_found_and_misses_are_not() {
        let mut wrong = Vec::new();
        for Examples { language, class, hits, misses } in EXAMPLES {
            let missed = hits.iter().filter(|label| !is_found(class, label));
            wrong.extend(missed.map(|label| format!("{language:?} {class}: not found: {label}")));
            let found = misses.iter().filter(|label| is_found(class, label));
            wrong.extend(found.map(|label| format!("{language:?} {class}: found: {label}")));
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn every_language_has_examples() {
        for language in Language::ALL {
            let own = || EXAMPLES.iter().filter(|examples| examples.language == *language);
            let hits: usize = own().map(|examples| examples.hits.len()).sum();
            let misses: usize = own().map(|examples| examples.misses.len()).sum();
            let shared = matches!(language, Language::International | Language::Names);
            assert!(shared || (hits > 10 && misses > 10), "{language:?} has few examples");
        }
    }

    #[test]
    fn every_word_for_a_secret_is_found_on_its_own() {
        let mut wrong = Vec::new();
        for word in WORDS {
            let secret = Classes::of(&[Class::Password, Class::Finance, Class::Identity]);
            let secret = word
                .senses()
                .iter()
                .any(|sense| sense.whole.any(secret) && sense.language != Language::Names);
            if secret && !is_found("password", word.text()) {
                wrong.push(word.text());
            }
        }
        assert!(wrong.is_empty(), "{} wrong: {wrong:?}", wrong.len());
    }

    #[test]
    fn every_word_that_deletes_is_found_on_its_own() {
        let mut wrong = Vec::new();
        for word in WORDS {
            let destroys = word
                .senses()
                .iter()
                .any(|sense| sense.whole.has(Class::Destroy) && sense.language != Language::Names);
            if destroys && !is_found("destroy", word.text()) {
                wrong.push(word.text());
            }
        }
        assert!(wrong.is_empty(), "{} wrong: {wrong:?}", wrong.len());
    }

    #[test]
    fn the_table_is_sorted_and_its_links_lead_to_shorter_entries() {
        assert!(WORDS.windows(2).all(|pair| pair[0].text() < pair[1].text()));
        for word in WORDS {
            let shorter = word.shorter.map(|at| WORDS[usize::from(at)].text());
            assert!(
                shorter.is_none_or(|shorter| word.text().starts_with(shorter)),
                "{}",
                word.text()
            );
        }
    }
}
