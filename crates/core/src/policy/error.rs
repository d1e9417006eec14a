//! Errors in a configuration, and entries of it that were ignored.

use serde_saphyr::Error as YamlError;

use crate::policy::known::nearest;
use crate::policy::spot::Spot;
use crate::rule::RuleError;

/// A configuration that cannot be used. The gate stays closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct ConfigError {
    /// The name of the source.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// Counted from 1.
    pub column: u64,
    /// The error itself.
    pub problem: Box<Problem>,
    /// A remedy.
    pub hint: String,
}

/// The kinds of errors in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not YAML, or not of the expected shape.
    #[error("{0}")]
    Shape(String),
    /// A field that does not exist.
    #[error("unknown field `{0}`")]
    Field(String),
    /// A word that names nothing.
    #[error("unknown {what} `{word}`")]
    Unknown {
        /// The kind of name that was expected.
        what: &'static str,
        /// The word.
        word: String,
    },
    /// A value that makes no sense.
    #[error("`{field}` {problem}")]
    Value {
        /// The field.
        field: &'static str,
        /// The objection to it.
        problem: &'static str,
    },
    /// A pattern that does not compile.
    #[error("bad pattern `{pattern}`: {problem}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The compiler's message.
        problem: String,
    },
    /// A rule that cannot be used.
    #[error("rule `{key}`: {problem}")]
    Rule {
        /// Its key.
        key: String,
        /// The error in it.
        problem: RuleError,
    },
    /// A rule whose key cannot be part of an id.
    #[error("bad rule name `{0}`")]
    RuleName(String),
    /// A rule with a property that is reserved for built-in rules.
    #[error("rule `{0}` cannot be hard")]
    HardRule(String),
}

/// An entry of a configuration that was ignored, because that file may not contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The name of the source.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// Counted from 1.
    pub column: u64,
    /// The ignored entry, and the reason.
    pub text: String,
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.text)
    }
}

impl ConfigError {
    pub(crate) fn new(file: &str, spot: Spot, problem: Problem, hint: String) -> Self {
        let problem = Box::new(problem);
        Self { file: file.to_owned(), line: spot.line, column: spot.column, problem, hint }
    }

    /// Converts the YAML parser's own error into words for the author of the file.
    pub(crate) fn yaml(file: &str, error: &YamlError) -> Self {
        let error = error.without_snippet();
        let spot = error.location().map_or_else(Spot::default, |place| Spot {
            line: place.line(),
            column: place.column(),
        });
        let (problem, hint) = explain(error);
        Self::new(file, spot, problem, hint)
    }
}

/// "did you mean …", or another hint.
pub(crate) fn did_you_mean(near: Option<String>, otherwise: &str) -> String {
    near.map_or_else(|| otherwise.to_owned(), |near| format!("did you mean `{near}`?"))
}

fn explain(error: &YamlError) -> (Problem, String) {
    let shape = |text: &str, hint: &str| (Problem::Shape(text.to_owned()), hint.to_owned());
    match error {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            let near = nearest(field, expected.iter().copied()).map(str::to_owned);
            let hint = did_you_mean(near, &format!("known here: {}", expected.join(", ")));
            (Problem::Field(field.clone()), hint)
        }
        YamlError::SerdeUnknownVariant { variant, expected, .. } => {
            let word = Problem::Unknown { what: "word", word: variant.clone() };
            (word, format!("one of: {}", expected.join(", ")))
        }
        YamlError::Unexpected { expected: "mapping start", .. } => {
            shape("expected `key: value` lines here", "indent them below the key")
        }
        YamlError::Unexpected { expected: "sequence start", .. } => {
            shape("expected a list here", "write `[one, two]`, or a `- ` before each entry")
        }
        YamlError::Unexpected { expected: "string scalar", .. } => {
            shape("expected a text here", "put it in quotes if it has a `:`, `#`, `*` or bracket")
        }
        YamlError::ExternallyTaggedEnumExpectedScalarOrMapping { .. } => {
            shape("expected a single word here", "leave out the brackets")
        }
        YamlError::UnknownAnchor { .. } => {
            shape("a bare `*` means something else in yaml", "put names with a `*` in quotes")
        }
        YamlError::NullIntoString { .. } => {
            shape("expected a text here, found nothing", "write a value, or leave the line out")
        }
        YamlError::InvalidScalar { ty: "boolean", .. } => {
            shape("expected yes or no here", "write `true` or `false`")
        }
        YamlError::InvalidScalar { .. } | YamlError::SerdeInvalidType { .. } => {
            shape("expected a whole number here", "write digits only, without a unit")
        }
        YamlError::DuplicateMappingKey { key, .. } => {
            let key = key.clone().unwrap_or_default();
            let text = format!("`{key}` stands here a second time");
            (Problem::Shape(text), "keep one of the two".to_owned())
        }
        YamlError::MultipleDocuments { .. } => {
            shape("a second document starts here", "remove the `---` line")
        }
        YamlError::Message { msg, .. } if msg.contains("untagged") => {
            shape("expected a word or a list of words here", "write `rm`, or `[rm, rmdir]`")
        }
        other => explain_other(other),
    }
}

/// Returns the problem in the parser's own words.
fn explain_other(error: &YamlError) -> (Problem, String) {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    // The position is reported separately.
    let line = line.split_once(" at line ").map_or(line, |(problem, _)| problem);
    let hint = if line.contains("tab") {
        "indent with spaces"
    } else {
        "look at the indentation, brackets and quotes around this place"
    };
    (Problem::Shape(line.to_lowercase()), hint.to_owned())
}
