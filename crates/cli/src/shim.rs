//! Stand-ins for parts of the core that are being written: each has the shape of the real thing,
//! and goes away with the merge.

use countersign_core::rule::Rule;
use countersign_core::{Action, Context, Judgement, Policy, Verdict};
use serde_json::{Value, json};

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

/// What `Policy` will do itself.
pub(crate) trait Later: Sized {
    fn load(sources: &Sources) -> Result<Self, ConfigError>;
    fn notices(&self) -> &[Notice];
    fn settings(&self) -> Value;
    fn own_rules(&self) -> impl Iterator<Item = &Rule>;
    fn would_change(&self, action: &Action, context: &Context, is: &Judgement) -> Vec<String>;
}

impl Later for Policy {
    fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let wrong = |line: &str| {
            !line.is_empty() && !line.starts_with(['#', ' ', '-']) && !line.contains(':')
        };
        for source in [&sources.organisation, &sources.user, &sources.project] {
            let Some(source) = source else { continue };
            if let Some(at) = source.text.lines().position(wrong) {
                let text = format!("{}:{}:1: not a map", source.name, at + 1);
                return Err(ConfigError { text, hint: "write `name: value`".to_owned() });
            }
        }
        Ok(Self::default())
    }

    fn notices(&self) -> &[Notice] {
        &[]
    }

    fn settings(&self) -> Value {
        json!({"profile": "coding-agent", "enabled": true, "sensitive_paths": [], "options": []})
    }

    fn own_rules(&self) -> impl Iterator<Item = &Rule> {
        std::iter::empty()
    }

    fn would_change(&self, _: &Action, _: &Context, is: &Judgement) -> Vec<String> {
        match is.verdict {
            Verdict::Confirm => vec!["a person's yes".to_owned()],
            Verdict::Allow | Verdict::Warn | Verdict::Block => Vec::new(),
        }
    }
}

/// Something in a configuration that was passed over.
pub(crate) struct Notice;

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("passed over")
    }
}

/// The first configuration.
pub(crate) const STARTER: &str = "profile: coding-agent\n";

/// Why a configuration cannot be used.
#[derive(Debug)]
pub(crate) struct ConfigError {
    text: String,
    pub(crate) hint: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
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
    use schemars::{Schema, schema_for};

    use super::{Action, Context, Judgement};

    pub(crate) fn action() -> Schema {
        schema_for!(Action)
    }

    pub(crate) fn context() -> Schema {
        schema_for!(Context)
    }

    pub(crate) fn judgement() -> Schema {
        schema_for!(Judgement)
    }

    pub(crate) fn config() -> Schema {
        Schema::from(true)
    }
}
