//! The YAML schema of one rule, shared by our own rules (read by `build.rs`) and the user's (read
//! when a policy is loaded). Plain strings: `rule.rs` or the compiler interprets them.

use serde::Deserialize;

/// One rule as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// The effect of the action, as a sentence without a subject: "Overwrites history on a remote".
    pub title: String,
    /// The danger, when the title does not name it.
    pub why: Option<String>,
    /// `low`, `medium`, `high` or `critical`.
    pub risk: String,
    /// `allow`, `warn`, `confirm` or `block`.
    pub verdict: String,
    /// One of the categories.
    pub category: String,
    /// An alternative.
    pub instead: Option<String>,
    /// True when nothing can lift it: not an approval, a mode or a configuration.
    pub hard: bool,

    /// Programs, any of which matches.
    pub program: OneOrMany,
    /// The first words that are not options, in order; `a|b` and `*` are understood.
    pub args: Vec<String>,
    /// At least one of these options or words.
    pub any: Vec<String>,
    /// All of these options or words.
    pub all: Vec<String>,
    /// None of these options or words.
    pub none: Vec<String>,
    /// In a rule that allows: the words that are accepted besides. It does not match any other
    /// word.
    pub optional: Vec<String>,

    /// The kind of fact.
    pub fact: OneOrMany,
    /// At least one of these tags.
    #[serde(rename = "where")]
    pub locations: Vec<String>,
    /// All of these tags.
    pub with: Vec<String>,
    /// None of these tags.
    pub without: Vec<String>,

    /// Examples that must match: a shell command, or `python: …`, `sql: …`, `write: PATH`…
    pub hits: Vec<String>,
    /// Examples that must not match.
    pub misses: Vec<String>,
}

/// A word or a list of words.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// Just one.
    One(String),
    /// Any of these.
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl OneOrMany {
    /// All the words.
    #[must_use]
    pub fn words(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Many(words) => words,
        }
    }
}
