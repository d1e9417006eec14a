//! Facts: findings of an analyzer about an action, in words that rules can name.
//!
//! A fact is a [`FactKind`] (what happens), a set of [`Tag`]s (to what, where, how), its subject,
//! and its position in the text. Facts do not judge: rules turn them into findings.

use std::sync::Arc;

use crate::span::Span;

/// Declares an enum whose variants have a kebab-case name in rule files.
macro_rules! named {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type { $($(#[$doc])* $variant,)+ }

        impl $type {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name used in rule files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The one with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

mod kind;
mod tag;

pub use kind::FactKind;
pub use tag::{Tag, Tags};

/// Something an analyzer established about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The kind of event.
    pub kind: FactKind,
    /// The properties: to what, where, how.
    pub tags: Tags,
    /// The path, program or address, as shown to a person.
    pub subject: String,
    /// The position in the action's text.
    pub span: Option<Span>,
    /// The circumstances; known only where effects are shown.
    pub origin: Option<Arc<Origin>>,
}

/// The circumstances of a fact, which rules do not use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The folder that relative paths start from, when a script has left the first one.
    pub folder: Option<String>,
    /// True when it depends on a condition, a match or another event.
    pub is_conditional: bool,
}

impl Fact {
    /// A fact without tags or a position in the text.
    #[must_use]
    pub fn new(kind: FactKind, subject: impl Into<String>) -> Self {
        Self { kind, tags: Tags::NONE, subject: subject.into(), span: None, origin: None }
    }

    /// The same fact with more tags.
    #[must_use]
    pub fn tagged(mut self, tags: Tags) -> Self {
        self.tags = self.tags.and(tags);
        self
    }

    /// The same fact, at this position in the text.
    #[must_use]
    pub fn at(mut self, span: Option<Span>) -> Self {
        self.span = span;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_has_its_own_bit() {
        let all = Tags::of(Tag::ALL);
        assert_eq!(all.iter().count(), Tag::ALL.len());
        assert!(Tag::ALL.len() <= 64);
    }

    #[test]
    fn names_lead_back_to_their_variant() {
        assert!(FactKind::ALL.iter().all(|kind| FactKind::named(kind.name()) == Some(*kind)));
        assert!(Tag::ALL.iter().all(|tag| Tag::named(tag.name()) == Some(*tag)));
    }
}
