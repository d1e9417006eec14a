//! Helpers shared by the tests of this module.

use crate::action::Action;
use crate::policy::profile::{Always, DEFAULT, Profile};
use crate::policy::{ConfigError, Policy, Source, Sources};
use crate::verdict::{Category, Finding, RiskLevel, Verdict};

pub(crate) fn finding(id: &str, verdict: Verdict) -> Finding {
    Finding {
        rule: id.to_owned(),
        category: Category::DestructiveActions,
        risk: RiskLevel::High,
        verdict,
        reason: format!("Found by {id}"),
        span: None,
        instead: None,
        hard: false,
        fact: None,
    }
}

/// A profile that changes nothing.
pub(crate) fn bare_profile() -> Profile {
    Profile {
        name: "bare",
        title: "Changes nothing",
        families: &["*"],
        always: Always { rules: &[], categories: &[], risk: None },
        verdicts: &[],
        explore: &[],
        task: &[],
        options: &[],
        approval_timeout: DEFAULT.approval_timeout,
        approval_timeout_away: DEFAULT.approval_timeout_away,
        limits: DEFAULT.limits,
    }
}

pub(crate) fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: None }
}

/// A policy from the texts of the organisation's, the user's and the project's file; an empty one
/// is left out.
pub(crate) fn load(texts: [&str; 3]) -> Result<Policy, ConfigError> {
    let [organisation, user, project] = texts;
    let source = |name: &str, text: &str| {
        (!text.is_empty()).then(|| Source { name: name.to_owned(), text: text.to_owned() })
    };
    Policy::load(&Sources {
        organisation: source("org.yaml", organisation),
        user: source("user.yaml", user),
        project: source(".countersign.yaml", project),
        ..Sources::default()
    })
}
