//! The possible values of an awk expression: a few texts, each with its unknown parts marked.

use crate::analyze::UNKNOWN;
use crate::fact::Tags;

/// The number of possible texts past which they become one unknown text.
const MOST_VALUES: usize = 8;
/// The length past which a text is unknown.
const MOST_TEXT: usize = 64 * 1024;

/// A possible text of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct Text {
    /// The text; [`UNKNOWN`] marks parts that could not be worked out.
    pub(in super::super) text: String,
    /// The origin of its unknown parts.
    pub(in super::super) taint: Tags,
}

impl Text {
    /// Creates a known text.
    pub(in super::super) fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), taint: Tags::NONE }
    }

    /// Creates an unknown text.
    pub(in super::super) fn unknown() -> Self {
        Self::known(UNKNOWN)
    }

    /// Reports whether every part is known.
    pub(in super::super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }
}

/// Every possible text of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Values(Vec<Text>);

impl Values {
    /// Creates a single known text.
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self(vec![Text::known(text)])
    }

    /// Creates a single unknown text.
    pub(super) fn unknown() -> Self {
        Self(vec![Text::unknown()])
    }

    /// Creates a single text.
    pub(super) fn one(text: Text) -> Self {
        Self(vec![text])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Text> {
        self.0.iter()
    }

    /// Returns the text, when there is just one and it is known.
    pub(super) fn only(&self) -> Option<&str> {
        match self.0.as_slice() {
            [text] if text.is_known() => Some(&text.text),
            _ => None,
        }
    }

    /// Combines the possible texts of both.
    pub(super) fn or(mut self, other: Self) -> Self {
        for text in other.0 {
            if !self.0.contains(&text) {
                self.0.push(text);
            }
        }
        self.capped()
    }

    /// Concatenates every pair of possible texts.
    pub(super) fn then(&self, next: &Self) -> Self {
        let mut out = Vec::new();
        for first in &self.0 {
            for second in &next.0 {
                let taint = first.taint.and(second.taint);
                if first.text.len() + second.text.len() > MOST_TEXT {
                    out.push(Text { taint, ..Text::unknown() });
                } else {
                    out.push(Text { text: format!("{}{}", first.text, second.text), taint });
                }
            }
        }
        Self(out).capped()
    }

    /// Maps each text; a text with unknown parts becomes unknown.
    pub(super) fn map(&self, change: impl Fn(&str) -> Option<String>) -> Self {
        let changed = self.0.iter().map(|text| {
            let known = Some(text).filter(|text| text.is_known());
            match known.and_then(|text| change(&text.text)) {
                Some(changed) => Text { text: changed, taint: text.taint },
                None => Text { taint: text.taint, ..Text::unknown() },
            }
        });
        Self(changed.collect())
    }

    fn capped(mut self) -> Self {
        if self.0.len() > MOST_VALUES {
            let taint = self.0.iter().fold(Tags::NONE, |tags, text| tags.and(text.taint));
            self.0.truncate(MOST_VALUES - 1);
            self.0.push(Text { taint, ..Text::unknown() });
        }
        self
    }
}
