//! A request that failed, as problem details (RFC 9457).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of a problem for an action that rules block.
pub const BLOCKED: &str = "blocked";
/// The kind of a problem while everything is halted.
pub const HALTED: &str = "halted";
/// The kind of a problem where nobody can be asked.
pub const NOBODY_TO_ASK: &str = "nobody-to-ask";
/// The kind of a problem for an action that a person has refused before.
pub const DECLINED: &str = "declined";
/// The kind of a problem for an answer that takes a signed-in device.
pub const NEEDS_DEVICE: &str = "needs-device";

/// The beginning of every type of problem.
const PREFIX: &str = "urn:countersign:problem:";

/// A request that failed. Nothing was allowed because of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// What kind of problem, for programs.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text that HTTP has for the status.
    #[serde(default)]
    pub title: Option<String>,
    /// The status of the response.
    #[serde(default)]
    pub status: u16,
    /// For a person: what, and what to do.
    pub detail: String,
    /// Further members, by the kind of problem.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Problem {
    /// The type of a problem of this kind.
    #[must_use]
    pub fn type_of(slug: &str) -> String {
        format!("{PREFIX}{slug}")
    }

    /// The kind of problem in a word, such as `not-found`.
    #[must_use]
    pub fn slug(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }

    /// A further member that is a text; empty if there is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.more.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}
