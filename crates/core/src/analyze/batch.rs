//! Downloads and exports: how many and how much at once.

use crate::action::Action;
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind};
use crate::place::Scene;

/// What a download or an export would do.
#[must_use]
pub fn analyze(action: &Action, _scene: &Scene<'_>) -> Analysis {
    Analysis::of(vec![Fact::new(FactKind::Unparsed, action.kind())])
}
