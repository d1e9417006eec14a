//! Judges the actions that an AI agent proposes: action in, judgement out.
//!
//! ```
//! use countersign_core::{Action, Context, Policy, Verdict, judge};
//!
//! let action = Action::Shell { command: "rm -rf ~".into(), cwd: None };
//! let judgement = judge(&action, &Policy::default(), &Context::default());
//! assert!(judgement.verdict >= Verdict::Confirm);
//! ```
//!
//! Pure: no I/O, no clock, no randomness, no panic. [`judge()`] cannot fail: an action that it does
//! not understand leads to a finding with a verdict of at least [`Verdict::Confirm`].

pub mod action;
pub mod analysis;
pub mod analyze;
pub mod app;
pub mod applescript;
pub mod context;
pub mod digest;
pub mod effect;
pub mod example;
pub mod fact;
pub mod form;
mod guarded;
pub mod judge;
mod load;
pub mod location;
mod lookup;
pub mod policy;
pub mod redact;
pub mod row;
pub mod rule;
#[cfg(feature = "schema")]
pub mod schema;
mod span;
pub mod verdict;
pub mod visible;
mod words;

pub use action::Action;
pub use context::Context;
pub use effect::{Certainty, Effect, EffectKind, Effects};
pub use guarded::moved_settings;
pub use judge::{JudgementWithEffects, effects, judge, judge_with_effects};
pub use policy::Policy;
pub use verdict::{
    Category, Factor, Finding, Judgement, Risk, RiskLevel, Span, Step, Unasked, Verdict,
};
