//! JSON Schemas of everything that is sent over the network or written by a user.

pub use schemars::Schema;
use schemars::{JsonSchema, SchemaGenerator, json_schema, schema_for};
use serde_json::{Value, json};

use crate::fact::{FactKind, Tag};
use crate::policy::config::File;
use crate::verdict::{Category, RiskLevel, Verdict};
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

/// The schema of a configuration file, with the schemas of the sections that belong to other
/// crates.
#[must_use]
pub fn config(sections: &[Section<'_>]) -> Schema {
    let mut generator = SchemaGenerator::default();
    let known: Vec<_> = sections.iter().map(|(name, of)| (*name, of(&mut generator))).collect();
    let mut schema = generator.into_root_schema_for::<File>();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    let Some(fields) = fields else { return schema };
    for (name, value) in known {
        if let Some(field) = fields.get_mut(name) {
            let description = field.get("description").cloned().unwrap_or_default();
            *field = json!({"description": description, "anyOf": [value, {"type": "null"}]});
        }
    }
    schema
}

/// The name of a section, and the function that makes its schema.
pub type Section<'a> = (&'a str, fn(&mut SchemaGenerator) -> Schema);

/// One rule. Names either programs or facts, and shows by examples what it finds and what not.
// `row.rs` is shared with the build script, which must not need schemars, so its fields are
// declared here a second time; a test compares the two.
#[derive(JsonSchema)]
#[schemars(rename = "Rule", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct RuleRow {
    /// The effect of the action, as a sentence without a subject: "Deploys to production".
    title: String,
    /// The danger, when the title does not name it.
    why: Option<String>,
    /// The severity.
    risk: RiskLevel,
    /// The verdict on the action.
    verdict: Verdict,
    /// The kind of harm.
    category: Category,
    /// An alternative.
    instead: Option<String>,
    /// Only for built-in rules: a configured rule cannot be hard.
    #[schemars(default)]
    hard: bool,
    /// Programs, any of which matches.
    #[schemars(schema_with = "words", default)]
    program: (),
    /// The first words that are not options, in order; `a|b` and `*` are understood.
    #[schemars(default)]
    args: Vec<String>,
    /// At least one of these options or words.
    #[schemars(default)]
    any: Vec<String>,
    /// All of these options or words.
    #[schemars(default)]
    all: Vec<String>,
    /// None of these options or words.
    #[schemars(default)]
    none: Vec<String>,
    /// In a rule that allows: the words that are accepted besides. It does not match any other
    /// word.
    #[schemars(default)]
    optional: Vec<String>,
    /// Facts, any of which matches.
    #[schemars(schema_with = "facts", default)]
    fact: (),
    /// At least one of these tags.
    #[schemars(rename = "where", schema_with = "tags", default)]
    locations: (),
    /// All of these tags.
    #[schemars(schema_with = "tags", default)]
    with: (),
    /// None of these tags.
    #[schemars(schema_with = "tags", default)]
    without: (),
    /// Examples that must match: a shell command, or `python: …`, `sql: …`, `write: PATH`…
    #[schemars(length(min = 1))]
    hits: Vec<String>,
    /// Examples that must not match.
    #[schemars(length(min = 1))]
    misses: Vec<String>,
}

fn words(_: &mut SchemaGenerator) -> Schema {
    one_or_many(&json_schema!({ "type": "string" }))
}

fn facts(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = FactKind::ALL.iter().map(|kind| kind.name()).collect();
    one_or_many(&json_schema!({ "type": "string", "enum": names }))
}

fn tags(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = Tag::ALL.iter().map(|tag| tag.name()).collect();
    json_schema!({ "type": "array", "items": { "type": "string", "enum": names } })
}

fn one_or_many(one: &Schema) -> Schema {
    json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;
    use std::collections::BTreeSet;

    #[test]
    fn the_rule_here_has_the_fields_of_a_row() {
        let error = serde_saphyr::from_str::<Row>("zzz: 1").unwrap_err();
        let serde_saphyr::Error::SerdeUnknownField { expected, .. } = error.without_snippet()
        else {
            panic!("{error}");
        };
        let row: BTreeSet<_> = expected.iter().copied().collect();
        let schema = schema_for!(RuleRow);
        let fields = schema.get("properties").and_then(|fields| fields.as_object()).unwrap();
        let here: BTreeSet<_> = fields.keys().map(String::as_str).collect();
        assert_eq!(here, row);
    }

    #[test]
    fn a_section_is_what_its_reader_says_it_is() {
        let schema = config(&[("gate", |generator| generator.subschema_for::<Context>())]);
        let gate = schema.pointer("/properties/gate").unwrap();
        assert_eq!(gate["anyOf"][0]["$ref"], "#/$defs/Context");
        assert!(gate["description"].as_str().unwrap().contains("gate"));
        assert!(schema.pointer("/$defs/Context/properties/cwd").is_some());
        assert!(schema.pointer("/$defs/AppRow").is_some());
    }

    #[test]
    fn every_schema_names_its_fields_and_closes_them() {
        let text = |schema: Schema| serde_json::to_string(&schema).unwrap();
        let config = text(config(&[]));
        for word in ["custom_patterns", "sensitive_paths", "guard_tampering", "approval_timeout"] {
            assert!(config.contains(word), "{word}");
        }
        assert!(config.contains("\"additionalProperties\":false"));
        assert!(text(action()).contains("file_write"));
        assert!(text(context()).contains("allowed_origins"));
        let judgement = text(judgement());
        assert!(judgement.contains("factors") && !judgement.contains("\"hard\""));
    }
}
