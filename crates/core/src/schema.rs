//! JSON Schemas of everything that crosses the wire or is written by a user.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, schema_for};

use crate::policy::config::File;
use crate::{Action, Context, Judgement};

/// The schema of an action.
#[must_use]
pub fn action() -> Schema {
    schema_for!(Action)
}

/// The schema of a context.
#[must_use]
pub fn context() -> Schema {
    schema_for!(Context)
}

/// The schema of a judgement.
#[must_use]
pub fn judgement() -> Schema {
    schema_for!(Judgement)
}

/// The schema of a configuration file.
#[must_use]
pub fn config() -> Schema {
    schema_for!(File)
}

/// A rule as written in a configuration file. `row.rs` is shared with the build script, which
/// must not need schemars, so its shape is told here a second time; a test compares the two.
#[derive(JsonSchema)]
#[schemars(rename = "Rule", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct RuleRow {
    /// What the action does, as a sentence without a subject.
    title: String,
}

type _Unused = BTreeMap<String, String>;
