//! The effect of a control by its label: the verb in the position of a command, and its object.
//!
//! Words alone are not enough: "Deleted", "How to delete a branch" and "Users who can delete" do
//! nothing when clicked. A verb counts in the position of a command, unless a word around it makes
//! it a statement, a prohibition or an explanation.

use super::lexicon::{Class, Classes, Language};
use super::read::{Reading, any};
use crate::fact::FactKind;

/// The number of items past which a text is a description, not a control.
const MOST_WORDS: usize = 24;

/// The number of items past which a sentence with a full stop is a description.
const MOST_IN_SENTENCE: usize = 8;

const VERBS: Classes = Classes::of(&[
    Class::Destroy,
    Class::Remove,
    Class::Wipe,
    Class::Clear,
    Class::End,
    Class::Leave,
    Class::Buy,
    Class::Conclude,
    Class::Agree,
    Class::Submit,
    Class::Send,
    Class::Change,
    Class::Revoke,
    Class::Merge,
    Class::Keep,
    Class::Grant,
    Class::Shut,
]);

/// Words that may be beside a verb without taking its position.
const LIGHT: Classes =
    Classes::of(&[Class::Lead, Class::All, Class::Assent, Class::Confirm, Class::Common]);

/// Verbs that Chinese also puts after their object: "from the history delete".
const ANYWHERE: Classes = Classes::of(&[
    Class::Destroy,
    Class::Remove,
    Class::Clear,
    Class::Wipe,
    Class::End,
    Class::Revoke,
    Class::Change,
    Class::Agree,
    Class::Conclude,
]);

/// Returns the effects of a click on something with this text.
#[must_use]
pub(super) fn says(reading: &Reading, sentence: bool) -> Vec<FactKind> {
    let words = reading.items.len();
    if reading.is_cut || words > MOST_WORDS || (sentence && words > MOST_IN_SENTENCE) {
        return Vec::new();
    }
    let mut kinds = Vec::new();
    for language in reading.languages() {
        let label = Label { language, items: reading.classes(language) };
        for kind in label.kinds() {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    kinds
}

/// Reports whether the text only says yes to something that is written elsewhere.
#[must_use]
pub(super) fn only_assents(reading: &Reading) -> bool {
    !reading.items.is_empty()
        && reading.items.len() <= 4
        && reading.languages().any(|language| {
            let items = reading.classes(language);
            let yes = Classes::of(&[Class::Assent, Class::Confirm]);
            items.iter().any(|item| item.any(yes))
                && items.iter().all(|item| item.any(yes.and(LIGHT)))
        })
}

struct Label {
    language: Language,
    items: Vec<Classes>,
}

impl Label {
    fn kinds(&self) -> Vec<FactKind> {
        let mut kinds: Vec<_> = (0..self.items.len())
            .filter(|at| self.at(*at).any(VERBS) && self.commands(*at))
            .filter_map(|at| self.verb(self.at(at)))
            .collect();
        kinds.extend(self.noun());
        kinds
    }

    /// Returns the effect of this verb with the other words of the label.
    fn verb(&self, verb: Classes) -> Option<FactKind> {
        let harmless = self.has(Class::Harmless);
        let light = harmless || self.has(Class::Light);
        let hard_to_reverse = self.has(Class::Data) || self.has(Class::Bond);
        let alone = self.is_alone();
        let destroys = (verb.has(Class::Destroy) && (hard_to_reverse || !harmless))
            || (verb.has(Class::Remove) && (hard_to_reverse || !light))
            || (verb.has(Class::Wipe)
                && !light
                && (alone || hard_to_reverse || self.has(Class::All)))
            || (verb.has(Class::Clear)
                && !light
                && (self.has(Class::Data) || self.has(Class::All)))
            || (verb.has(Class::End) && self.has(Class::Bond))
            || (verb.has(Class::Leave) && !light);
        if destroys {
            return Some(FactKind::UiDestructive);
        }
        let secret = self.has(Class::Password);
        let alters = Classes::of(&[Class::Change, Class::Wipe, Class::End, Class::Revoke]);
        if secret && verb.any(alters) {
            return Some(FactKind::UiPassword);
        }
        let irreversible = (verb.has(Class::Change) && self.has(Class::HardToReverse))
            || verb.has(Class::Revoke)
            || (verb.has(Class::Merge) && !light);
        if irreversible {
            return Some(FactKind::UiIrreversible);
        }
        if self.concludes(verb) {
            return Some(FactKind::UiFinal);
        }
        let shuts = verb.has(Class::Shut) && (alone || self.has(Class::Window));
        let keeps = verb.has(Class::Keep) && !harmless;
        let kind = if shuts { FactKind::UiClose } else { FactKind::UiChange };
        (shuts || keeps).then_some(kind)
    }

    fn concludes(&self, verb: Classes) -> bool {
        let short = self.items.len() <= 3;
        (verb.has(Class::Buy) && !self.has(Class::Harmless))
            || (verb.has(Class::Conclude) && self.has(Class::Deal))
            || (verb.has(Class::Agree)
                && !self.has(Class::Harmless)
                && (short || self.has(Class::Terms)))
            || (verb.has(Class::Grant)
                && !self.has(Class::Harmless)
                && (self.is_alone() || (short && self.has(Class::Access))))
            || (verb.has(Class::Submit)
                && self.items.len() <= 6
                && !self.has(Class::Harmless)
                && !self.has(Class::Trial))
            || (verb.has(Class::Send)
                && !self.has(Class::Trial)
                && (self.is_alone() || self.has(Class::Message) || self.has(Class::Deal)))
    }

    /// Returns the effect of a label without a verb: "Checkout", "Refund", "Confirmation of account
    /// deletion".
    fn noun(&self) -> Option<FactKind> {
        let silent =
            Classes::of(&[Class::Not, Class::Harmless, Class::State, Class::Help, Class::Terms]);
        if self.items.iter().any(|item| item.any(silent)) {
            return None;
        }
        let alone = self.items.len() == 1;
        if self.has(Class::Deletion) && (self.has(Class::Confirm) || self.names_a_loss()) {
            return Some(FactKind::UiDestructive);
        }
        if alone && self.has(Class::Act) {
            return Some(FactKind::UiFinal);
        }
        let pays = Classes::of(&[Class::Checkout, Class::Refund]);
        let small = self.items.len() <= 4
            && self.items.iter().enumerate().any(|(at, item)| item.any(pays) && self.free(at));
        small.then_some(FactKind::UiFinal)
    }

    /// Reports whether a noun such as "deletion" is alone or beside its object. In languages where
    /// the noun is also the verb, the lexicon lists those that are commands.
    fn names_a_loss(&self) -> bool {
        let verb_too = matches!(
            self.language,
            Language::Korean
                | Language::Japanese
                | Language::ChineseSimplified
                | Language::ChineseTraditional
        );
        let what = Classes::of(&[Class::Data, Class::Bond, Class::Lead, Class::All, Class::Common]);
        let is_head = |item: &Classes| item.has(Class::Deletion);
        let beside = match (self.items.split_first(), self.items.split_last()) {
            (_, Some((last, before))) if self.puts_heads_last() && is_head(last) => before,
            (Some((first, after)), _) if !self.puts_heads_last() && is_head(first) => after,
            _ => return false,
        };
        !verb_too && beside.len() <= 2 && beside.iter().all(|item| item.any(what))
    }

    /// Reports whether the modifier of a noun precedes it: "account deletion".
    const fn puts_heads_last(&self) -> bool {
        matches!(
            self.language,
            Language::English | Language::Danish | Language::Norwegian | Language::Swedish
        ) || matches!(order(self.language), Order::Last)
    }

    /// Reports whether the item is in the position of a command in this language.
    fn commands(&self, at: usize) -> bool {
        let before = self.items.get(..at).unwrap_or_default();
        let after = self.items.get(at.saturating_add(1)..).unwrap_or_default();
        if !self.free(at) || self.tells(before, after) {
            return false;
        }
        let leads = |items: &[Classes]| items.iter().all(|item| item.any(LIGHT));
        let led = before.last().is_some_and(|item| item.has(Class::Lead) || item.any(VERBS));
        leads(before)
            || led
            || match order(self.language) {
                Order::First => leads(after) && self.items.len() <= 3,
                Order::Last => leads(after),
                Order::Any => self.at(at).any(ANYWHERE),
            }
    }

    /// Reports whether the words around a verb make it a statement instead of a command. Where
    /// verbs come first, their objects follow; where they come last, their objects precede.
    fn tells(&self, before: &[Classes], after: &[Classes]) -> bool {
        let told = Classes::of(&[Class::State, Class::Help, Class::Not]);
        let any = |items: &[Classes], classes| items.iter().any(|item| item.any(classes));
        match order(self.language) {
            Order::First => any(before, told) || any(after, Classes::of(&[Class::State])),
            Order::Last | Order::Any => {
                let first = before.first().is_some_and(|item| item.any(told));
                let adjacent = before.last().is_some_and(|item| item.has(Class::Not));
                first || adjacent || any(after, told)
            }
        }
    }

    /// Reports whether no adjacent word makes the item something other than a command.
    fn free(&self, at: usize) -> bool {
        let takes = Classes::of(&[Class::Aux, Class::Before]);
        let before = at.checked_sub(1).map_or(Classes::NONE, |at| self.at(at));
        let weakened = before.any(takes) && !before.has(Class::Lead);
        !weakened && !self.is_compound(at)
    }

    /// Reports whether the next word makes a noun of the verb: "delete key" is one, "delete key
    /// provider" is not.
    fn is_compound(&self, at: usize) -> bool {
        let last = at.saturating_add(2) >= self.items.len();
        let goes_on = matches!(order(self.language), Order::First)
            && !last
            && self.at(at).any(Classes::of(&[Class::Destroy, Class::Remove, Class::Wipe]));
        self.at(at.saturating_add(1)).has(Class::After) && !goes_on
    }

    /// Reports whether the verb lacks an object.
    fn is_alone(&self) -> bool {
        self.items.iter().all(|item| item.any(VERBS.and(LIGHT)))
    }

    fn has(&self, class: Class) -> bool {
        any(&self.items, class)
    }

    fn at(&self, at: usize) -> Classes {
        self.items.get(at).copied().unwrap_or_default()
    }
}

/// The position of the verb of a command in a language.
enum Order {
    First,
    Last,
    Any,
}

const fn order(language: Language) -> Order {
    match language {
        Language::German
        | Language::Dutch
        | Language::Japanese
        | Language::Korean
        | Language::Turkish
        | Language::Hungarian
        | Language::Hindi => Order::Last,
        Language::ChineseSimplified | Language::ChineseTraditional | Language::Persian => {
            Order::Any
        }
        _ => Order::First,
    }
}
