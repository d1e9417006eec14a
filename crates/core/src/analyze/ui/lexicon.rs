//! The lexicon: which words of which language mean what.
//!
//! Compiled from `lexicon/*.yaml`. One sorted table serves words, phrases and scripts without
//! spaces alike: the longest entry that starts a text is found by one binary search.

use super::fold::is_joined;

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

/// One entry: its folded text and what it means where.
#[derive(Debug)]
struct Word {
    text: &'static str,
    /// The longest other entry that starts this one.
    shorter: Option<u16>,
    senses: &'static [Sense],
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
        if let Some(slot) = self.by_language.get_mut(language as usize)
            && slot.is_empty()
            && !classes.is_empty()
        {
            *slot = classes;
            self.length = self.length.max(length);
        }
    }
}

/// What stands at the start of a folded text, if the lexicon knows it. In each language the
/// longest entry counts.
#[must_use]
pub(super) fn look_up(text: &str) -> Option<Meaning> {
    let mut meaning = Meaning::UNKNOWN;
    for word in entries(text) {
        let end = ends_word(text, word.text);
        for sense in word.senses {
            let classes = if end { sense.whole } else { sense.stem };
            meaning.learn(sense.language, classes, word.text.len());
        }
    }
    (meaning.length > 0).then_some(meaning)
}

/// What stands inside a compound at the start of this rest of it.
#[must_use]
pub(super) fn look_inside(rest: &str) -> Option<Meaning> {
    let mut meaning = Meaning::UNKNOWN;
    for word in entries(rest) {
        for sense in word.senses {
            meaning.learn(sense.language, sense.inner, word.text.len());
        }
    }
    (meaning.length > 0).then_some(meaning)
}

/// Every entry that starts the text, the longest first.
///
/// Whatever lies in the table between the longest such entry and the text starts with that entry,
/// so the last entry not after the text leads to all of them.
fn entries(text: &str) -> impl Iterator<Item = &'static Word> {
    let after = WORDS.partition_point(|word| word.text <= text);
    let mut next = after.checked_sub(1).and_then(|at| WORDS.get(at));
    std::iter::from_fn(move || {
        let word = next?;
        next = word.shorter.and_then(|at| WORDS.get(usize::from(at)));
        Some(word)
    })
    .filter(move |word| text.starts_with(word.text))
}

fn ends_word(text: &str, word: &str) -> bool {
    let next = text.get(word.len()..).and_then(|rest| rest.chars().next());
    let last = word.chars().next_back();
    last.is_some_and(is_joined) || next.is_none_or(|next| next == ' ' || is_joined(next))
}
