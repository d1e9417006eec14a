//! What an expression of awk can be: a few texts, each with its unknown parts marked.

use crate::analyze::UNKNOWN;
use crate::fact::Tags;

/// More possible texts than this are one unknown text.
const MOST_VALUES: usize = 8;
/// Longer texts are unknown.
const MOST_TEXT: usize = 64 * 1024;

/// One text an expression can be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct Text {
    /// What it says; [`UNKNOWN`] stands for what could not be worked out.
    pub(in super::super) text: String,
    /// Where its unknown parts come from.
    pub(in super::super) taint: Tags,
}

impl Text {
    /// Just this.
    pub(in super::super) fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), taint: Tags::NONE }
    }

    /// Something that cannot be told from here.
    pub(in super::super) fn unknown() -> Self {
        Self::known(UNKNOWN)
    }

    /// Whether every part is known.
    pub(in super::super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }
}

/// Every text an expression can be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Values(Vec<Text>);

impl Values {
    /// Just this.
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self(vec![Text::known(text)])
    }

    /// Something that cannot be told from here.
    pub(super) fn unknown() -> Self {
        Self(vec![Text::unknown()])
    }

    /// One text.
    pub(super) fn one(text: Text) -> Self {
        Self(vec![text])
    }

    /// Each of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Text> {
        self.0.iter()
    }

    /// The text, when there is just one and it is known.
    pub(super) fn only(&self) -> Option<&str> {
        match self.0.as_slice() {
            [text] if text.is_known() => Some(&text.text),
            _ => None,
        }
    }

    /// Either of the two.
    pub(super) fn or(mut self, other: Self) -> Self {
        for text in other.0 {
            if !self.0.contains(&text) {
                self.0.push(text);
            }
        }
        self.capped()
    }

    /// One after the other.
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

    /// Each changed; what has unknown parts is unknown afterwards.
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
