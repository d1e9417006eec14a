//! MCP tools, by name, description, schema, hints and arguments.

use crate::action::Action;
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind};
use crate::place::Scene;

/// What a tool call would do.
#[must_use]
pub fn analyze(action: &Action, _scene: &Scene<'_>) -> Analysis {
    Analysis::of(vec![Fact::new(FactKind::Unparsed, action.kind())])
}
