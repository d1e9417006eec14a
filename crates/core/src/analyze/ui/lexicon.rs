//! The lexicon: which words of which language mean what.
//!
//! Compiled from `lexicon/*.yaml`. One sorted table serves words, phrases and scripts without
//! spaces alike: the longest entry that starts a text is found by one binary search.

/// Declares the classes of words.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident,)+) => {
        /// What a word stands for on a control or beside a field.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Class { $($(#[$doc])* $class,)+ }
    };
}

classes! {
    /// Tells to take something away for good: delete, erase.
    Destroy,
    /// Tells to take something away, from a list or for good: remove.
    Remove,
    /// Tells to bring something back to how it began: reset, format.
    Wipe,
    /// Tells to empty something: clear, discard.
    Clear,
    /// Tells to end something that lasts: close, cancel, deactivate.
    End,
    /// Ends a bond with no object needed: unsubscribe, terminate.
    Leave,
    /// Tells to buy or pay.
    Buy,
    /// The place or step where one pays, as a noun: checkout.
    Till,
    /// Money back.
    Payback,
    /// Tells to bring something to its end: confirm, place, complete.
    Conclude,
    /// Something one concludes: an order, a payment, a booking.
    Deal,
    /// Tells that one agrees.
    Agree,
    /// What one agrees to.
    Terms,
    /// Tells to hand something in: submit, publish, sign.
    Submit,
    /// Tells to send.
    Send,
    /// What one sends to people.
    Message,
    /// A rehearsal, or a thing one sends to oneself.
    Trial,
    /// Tells to change or move something.
    Change,
    /// What is hard to change back: an owner, an address to sign in with.
    Weighty,
    /// Tells to take rights back.
    Revoke,
    /// Tells to join or overwrite for good.
    Merge,
    /// Tells to keep or change something that can be set back: save, rename.
    Keep,
    /// Tells to give somebody rights.
    Grant,
    /// Rights that one gives.
    Access,
    /// An act that is concluded by clicking its name.
    Act,
    /// Tells to close or quit.
    Shut,
    /// What one closes.
    Window,
    /// Yes, in whatever words.
    Assent,
    /// Deletion, as a noun.
    Deletion,
    /// Confirmation, as a noun or a verb.
    Confirm,
    /// Everything.
    All,
    /// What is lost when it is emptied or reset.
    Data,
    /// What lasts until one ends it: an account, a subscription.
    Bond,
    /// What is emptied many times a day: a filter, a search.
    Harmless,
    /// What things are taken out of without harm: a menu, a list of tags.
    Light,
    /// May stand before or after what one tells: please, now.
    Lead,
    /// Says how something is or went, anywhere.
    State,
    /// Says that this explains or leads elsewhere, anywhere.
    Help,
    /// Says not to, or that it cannot be.
    Not,
    /// Right before a verb it takes its force: can, to, allow.
    Aux,
    /// Right before it the verb is a state.
    Before,
    /// Right after it the verb is a state or a noun.
    After,
    /// Tells the language, and nothing else.
    Common,
    /// A password, code or answer that proves who one is.
    Password,
    /// Card, account and payment data.
    Finance,
    /// National identifiers and papers.
    Identity,
    /// A card, of whatever kind.
    Card,
    /// What turns a card into its data: number, holder, code.
    Detail,
    /// The end of validity.
    Expiry,
    /// A code, of whatever kind.
    Code,
    /// Fields that everybody fills in: names, addresses, searches.
    Plain,
}

/// A set of [`Class`]es.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Classes(u64);

impl Classes {
    /// None.
    pub(super) const NONE: Self = Self(0);

    /// Just these.
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

    /// Whether this one is in.
    #[must_use]
    pub(super) const fn has(self, class: Class) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Whether any of these is in.
    #[must_use]
    pub(super) const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both together.
    #[must_use]
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there are none.
    #[must_use]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Whether a script writes its words without spaces, or glues endings to them as Korean does.
#[must_use]
pub(super) const fn is_joined(char: char) -> bool {
    matches!(char,
        '\u{E00}'..='\u{E7F}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}')
}

/// One entry: its folded text and what it means where.
#[derive(Debug)]
struct Word {
    /// Where in `TEXT` its text starts, and how many bytes it has.
    start: u32,
    length: u8,
    /// The longest other entry that starts this one.
    shorter: Option<u16>,
    /// Where in `SENSES` what it means starts, and how many languages know it.
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

/// What an entry means in one language.
#[derive(Debug)]
struct Sense {
    language: Language,
    /// As a whole word.
    whole: Classes,
    /// As the start of a longer word.
    stem: Classes,
    /// As the later part of a compound.
    inner: Classes,
}

/// What a class of words must and must not be found in.
#[cfg(test)]
struct Examples {
    language: Language,
    class: &'static str,
    hits: &'static [&'static str],
    misses: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));

/// What a word means, language by language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    by_language: [Classes; Language::COUNT],
    /// How many bytes it takes.
    pub(super) length: usize,
}

impl Meaning {
    const UNKNOWN: Self = Self { by_language: [Classes::NONE; Language::COUNT], length: 0 };

    /// What it means in this language, or in all.
    #[must_use]
    pub(super) fn classes(&self, language: Language) -> Classes {
        let own = self.by_language.get(language as usize).copied().unwrap_or_default();
        let any = self.by_language.get(Language::International as usize).copied();
        own.and(any.unwrap_or_default())
    }

    /// Whether this language itself knows the word.
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

/// What stands at the start of a folded text, if the lexicon knows it. In each language the
/// longest entry counts.
#[must_use]
pub(super) fn look_up(text: &str) -> Option<Meaning> {
    let mut meaning = Meaning::UNKNOWN;
    let first_word = text.find(' ').unwrap_or(text.len());
    for word in entries(text) {
        let end = ends_word(text, word.text());
        for sense in word.senses() {
            // Beside a whole word its stem counts too; beside a phrase its first word does not.
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

/// What stands inside a compound at the start of this rest of it.
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

/// Every entry that starts the text, the longest first.
///
/// Whatever lies in the table between the longest such entry and the text starts with that entry,
/// so the last entry not after the text leads to all of them.
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

    /// Whether a label would be stopped: as a control, or as a field for what its class names.
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
