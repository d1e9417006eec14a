//! Source text in Python, JavaScript, Perl, Ruby and SQL.

use crate::action::Language;
use crate::analyze::Analysis;
use crate::place::Scene;

/// What this source would do.
#[must_use]
pub fn analyze(
    _language: Language,
    _source: &str,
    _dialect: Option<&str>,
    _scene: &Scene<'_>,
) -> Analysis {
    Analysis::default()
}
