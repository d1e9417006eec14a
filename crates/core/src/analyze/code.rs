//! Source text in Python, JavaScript, Perl, Ruby and SQL.

use crate::action::Language;
use crate::analyze::Analysis;
use crate::place::Scene;

mod script;
pub mod sql;

/// What this source would do.
#[must_use]
pub fn analyze(
    language: Language,
    source: &str,
    dialect: Option<&str>,
    scene: &Scene<'_>,
) -> Analysis {
    match language {
        Language::Sql => {
            Analysis { commands: Vec::new(), facts: sql::facts(source, dialect, scene) }
        }
        Language::Python | Language::Javascript | Language::Perl | Language::Ruby => {
            script::analyze(language, source, scene)
        }
    }
}
