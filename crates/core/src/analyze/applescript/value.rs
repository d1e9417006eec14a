//! The value of a variable: a few texts, or something unknown.

use std::collections::HashMap;

use super::app::App;
use super::noun::Objects;
use crate::analyze::UNKNOWN;

/// The number of possible texts past which a value is unknown.
const MOST_TEXTS: usize = 8;
/// The number of bytes past which a joined text is unknown.
const MOST_BYTES: usize = 64 * 1024;

/// The possible values of an expression or a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// Every possible text; [`UNKNOWN`] marks parts that could not be worked out.
    pub(super) texts: Vec<String>,
    /// The app it refers to.
    pub(super) app: Option<App>,
    /// The objects it refers to.
    pub(super) objects: Objects,
}

impl Value {
    pub(super) fn unknown() -> Self {
        Self::text(UNKNOWN.to_string())
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { texts: vec![text.into()], app: None, objects: Objects::default() }
    }

    pub(super) fn of(objects: Objects) -> Self {
        Self { objects, ..Self::unknown() }
    }

    pub(super) fn app(app: App, name: &str) -> Self {
        Self { app: Some(app), ..Self::text(name) }
    }

    /// Returns the only possible text.
    pub(super) fn only(&self) -> Option<&str> {
        match self.texts.as_slice() {
            [text] if !text.contains(UNKNOWN) => Some(text),
            _ => None,
        }
    }

    /// Returns the cost of a copy.
    pub(super) fn work(&self) -> usize {
        self.texts.iter().map(|text| text.len() / 64 + 1).sum()
    }

    /// Maps each text.
    pub(super) fn map(mut self, change: impl Fn(&str) -> String) -> Self {
        for text in &mut self.texts {
            *text = change(text);
        }
        self
    }

    /// Concatenates two values.
    pub(super) fn join(self, other: &Self) -> Self {
        if self.texts.len().saturating_mul(other.texts.len()) > MOST_TEXTS {
            return Self::unknown();
        }
        let joined = self.texts.iter().flat_map(|a| other.texts.iter().map(move |b| (a, b)));
        let texts = joined
            .map(|(a, b)| match a.len() + b.len() {
                0..=MOST_BYTES => [a.as_str(), b.as_str()].concat(),
                _ => UNKNOWN.to_string(),
            })
            .collect();
        Self { texts, app: None, objects: self.objects }
    }

    /// Combines the possible texts of both.
    pub(super) fn or(mut self, other: &Self) -> Self {
        for text in &other.texts {
            if self.texts.contains(text) {
                continue;
            }
            if self.texts.len() >= MOST_TEXTS {
                return Self { objects: self.objects, ..Self::unknown() };
            }
            self.texts.push(text.clone());
        }
        self.app = self.app.or(other.app);
        self.objects.noun = self.objects.noun.or(other.objects.noun);
        self.objects.many |= other.objects.many;
        self
    }
}

pub(super) type Variables = HashMap<String, Value>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_multiplies_and_is_bounded() {
        let two = Value::text("a").or(&Value::text("b"));
        assert_eq!(two.clone().join(&two).texts, ["aa", "ab", "ba", "bb"]);
        let four = two.clone().join(&two);
        assert_eq!(four.clone().join(&four), Value::unknown());
        let long = Value::text("x".repeat(MOST_BYTES));
        assert_eq!(long.clone().join(&long), Value::unknown());
    }
}
