//! File actions: one path, one operation.

use crate::action::Action;
use crate::analyze::Analysis;
use crate::place::Scene;

/// What this file action would do.
#[must_use]
pub fn analyze(_action: &Action, _scene: &Scene<'_>) -> Analysis {
    Analysis::default()
}
