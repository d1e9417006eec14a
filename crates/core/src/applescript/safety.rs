//! The safety of a script, in the format that callers of AppleScript servers know.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::context::Context;
use crate::judge::judge;
use crate::policy::Policy;
use crate::verdict::{Judgement, RiskLevel, Verdict};

/// The safety of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SafetyAnalysis {
    /// Nothing, or next to nothing, can go wrong.
    pub safe: bool,
    /// The severity of the risk.
    pub risk: RiskLevel,
    /// One line per finding, for a person.
    pub warnings: Vec<String>,
    /// A person must agree first.
    pub requires_confirmation: bool,
}

impl SafetyAnalysis {
    /// Judges a script by the profile for scripts.
    #[must_use]
    pub fn of(script: &str, context: &Context) -> Self {
        let profile = context.profile.clone().or_else(|| Some("applescript".to_owned()));
        let context = Context { profile, ..context.clone() };
        let action = Action::Applescript { script: script.to_owned() };
        Self::from(&judge(&action, &Policy::default(), &context))
    }

    /// Returns the message to a caller whose script may not run yet, with every warning.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        if !self.requires_confirmation {
            return None;
        }
        let mut text = format!(
            "BLOCKED: a person has to agree to this {}-risk script first.\n",
            self.risk.as_str()
        );
        for warning in &self.warnings {
            text.push_str("\n- ");
            text.push_str(warning);
        }
        Some(text)
    }
}

impl From<&Judgement> for SafetyAnalysis {
    fn from(judgement: &Judgement) -> Self {
        let level = judgement.risk.level;
        // A script that must be asked about is never called safe, whatever its own risk.
        let risk = match judgement.verdict {
            Verdict::Allow | Verdict::Warn => level,
            Verdict::Confirm | Verdict::Block => level.max(RiskLevel::High),
        };
        let mut warnings: Vec<String> = Vec::new();
        for finding in judgement.findings.iter().filter(|finding| finding.risk > RiskLevel::Low) {
            if !warnings.contains(&finding.reason) {
                warnings.push(finding.reason.clone());
            }
        }
        Self {
            safe: risk <= RiskLevel::Low,
            risk,
            warnings,
            requires_confirmation: risk >= RiskLevel::High,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str) -> SafetyAnalysis {
        SafetyAnalysis::of(script, &Context::default())
    }

    #[test]
    fn the_fields_are_named_as_callers_know_them() {
        let json = serde_json::to_value(of("beep")).unwrap();
        let expected = serde_json::json!({
            "safe": true, "risk": "none", "warnings": [], "requiresConfirmation": false
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn a_level_says_whether_it_is_safe_and_whether_to_ask() {
        for (script, risk, safe, asks) in [
            ("do shell script \"ls\"", RiskLevel::Low, true, false),
            ("tell application \"System Events\" to key code 36", RiskLevel::Medium, false, false),
            ("tell application \"Finder\" to restart", RiskLevel::High, false, true),
            ("tell application \"Finder\" to empty trash", RiskLevel::Critical, false, true),
            ("say \"unclosed", RiskLevel::High, false, true),
        ] {
            let analysis = of(script);
            assert_eq!(
                (analysis.risk, analysis.safe, analysis.requires_confirmation),
                (risk, safe, asks),
                "{script}"
            );
        }
    }

    #[test]
    fn a_refusal_lists_the_risk_and_every_warning() {
        let analysis = of("tell application \"Finder\"\nempty trash\nrestart\nend tell");
        let refusal = analysis.refusal().unwrap();
        assert!(refusal.contains("critical-risk"), "{refusal}");
        assert!(analysis.warnings.len() >= 2);
        assert!(analysis.warnings.iter().all(|warning| refusal.contains(warning.as_str())));
        assert_eq!(of("beep").refusal(), None);
    }
}
