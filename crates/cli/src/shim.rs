//! Stand-ins for parts of the core that are being written: each has the shape of the real thing,
//! and goes away with the merge.

use countersign_core::rule::Rule;
use countersign_core::{Action, Context, Judgement, Policy};
use serde_json::Value;

/// One configuration file.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The configuration files of every layer.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) organisation: Option<Source>,
    pub(crate) user: Option<Source>,
    pub(crate) project: Option<Source>,
}

/// Stands for `Policy::load`: refuses what is plainly not a map.
pub(crate) fn load(sources: Sources) -> Result<Policy, ConfigError> {
    for source in [sources.organisation, sources.user, sources.project].into_iter().flatten() {
        let wrong = |line: &str| {
            !line.is_empty() && !line.starts_with(['#', ' ', '-']) && !line.contains(':')
        };
        if let Some(at) = source.text.lines().position(wrong) {
            return Err(ConfigError(format!("{}:{}:1: not a map", source.name, at + 1)));
        }
    }
    Ok(Policy::default())
}

/// Why a configuration cannot be used.
#[derive(Debug)]
pub(crate) struct ConfigError(String);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Stands for `Policy::rules`: the user's own.
pub(crate) fn own_rules(_policy: &Policy) -> &[Rule] {
    &[]
}

/// Stands for `redact::Redacted`.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Redacted {
    pub(crate) text: String,
    pub(crate) found: Vec<Value>,
}

/// Stands for `redact::redact`.
pub(crate) fn redact(text: &str) -> Redacted {
    Redacted { text: text.to_owned(), found: Vec::new() }
}

/// Stands for `schema::*`.
pub(crate) mod schema {
    use super::{Action, Context, Judgement, Value};

    pub(crate) fn action() -> Value {
        schemars::schema_for!(Action).to_value()
    }

    pub(crate) fn context() -> Value {
        schemars::schema_for!(Context).to_value()
    }

    pub(crate) fn judgement() -> Value {
        schemars::schema_for!(Judgement).to_value()
    }

    pub(crate) fn config() -> Value {
        Value::Bool(true)
    }
}
