//! Source text in Python, JavaScript, Perl, Ruby and SQL.

use crate::action::Language;
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind};
use crate::location::Scene;

mod script;
pub mod sql;

/// The length past which a source is not read and needs a confirmation: the caller must not wait
/// longer than a fraction of a second, and nobody reviews this much inline code anyway.
const MOST_SOURCE: usize = 512 * 1024;

/// Returns the facts of a source.
#[must_use]
pub fn analyze(
    language: Language,
    source: &str,
    dialect: Option<&str>,
    scene: &Scene<'_>,
) -> Analysis {
    if source.len() > MOST_SOURCE {
        let fact = Fact::new(FactKind::Bound, "longer source than is followed");
        return Analysis { commands: Vec::new(), facts: vec![fact] };
    }
    match language {
        Language::Sql => {
            Analysis { commands: Vec::new(), facts: sql::facts(source, dialect, scene) }
        }
        Language::Python | Language::Javascript | Language::Perl | Language::Ruby => {
            script::analyze(language, source, scene)
        }
    }
}
