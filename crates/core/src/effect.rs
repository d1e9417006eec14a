//! The effects of an action on files, programs, other machines and processes. For a person or a
//! program that wants to know more than the verdict.
//!
//! Nothing here decides anything. [`mod@crate::judge`] gathers the effects; the parts that could
//! not be followed are listed beside them.

use serde::{Deserialize, Serialize};

pub(crate) mod direct;
pub(crate) mod from_fact;

/// A way of touching something, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// It is gone afterwards.
    Delete,
    /// It is somewhere else afterwards.
    Move,
    /// It is made or changed; also its rights and owner.
    Write,
    /// Data leave the machine.
    Send,
    /// Another machine is spoken to.
    Connect,
    /// A program is run.
    Execute,
    /// A process, a service or a job is told to end or to do something else.
    Signal,
    /// Its content is looked at.
    Read,
}

impl EffectKind {
    /// Every one, in order.
    pub const ALL: &'static [Self] = &[
        Self::Delete,
        Self::Move,
        Self::Write,
        Self::Send,
        Self::Connect,
        Self::Execute,
        Self::Signal,
        Self::Read,
    ];

    /// The word used in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Write => "write",
            Self::Send => "send",
            Self::Connect => "connect",
            Self::Execute => "execute",
            Self::Signal => "signal",
            Self::Read => "read",
        }
    }
}

/// The certainty of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It depends on a condition, on what a pattern finds, or on a program nobody described.
    Possible,
    /// It happens when the action runs to its end.
    Certain,
}

/// One thing that an action would touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// The kind of effect.
    pub effect: EffectKind,
    /// The path, host, program or process, with secrets masked.
    pub target: String,
    /// The certainty of it.
    pub certainty: Certainty,
}

impl Effect {
    pub(crate) fn new(effect: EffectKind, target: impl Into<String>, certainty: Certainty) -> Self {
        Self { effect, target: target.into(), certainty }
    }

    pub(crate) fn certain(effect: EffectKind, target: impl Into<String>) -> Self {
        Self::new(effect, target, Certainty::Certain)
    }

    pub(crate) fn possible(effect: EffectKind, target: impl Into<String>) -> Self {
        Self::new(effect, target, Certainty::Possible)
    }
}

/// Everything that an action would touch, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    /// The effects, the gravest first; each target once for each kind.
    pub effects: Vec<Effect>,
    /// The parts that could not be followed; empty when everything could.
    pub opaque: Vec<String>,
    /// The number of further effects that the list does not hold.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_effects: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
