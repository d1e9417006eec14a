//! Policy: findings become a judgement.

use crate::action::Action;
use crate::analyze::Analysis;
use crate::context::Context;
use crate::verdict::{Finding, Judgement, Risk, RiskLevel, Step, Verdict};

/// What the layers together say.
#[derive(Debug, Clone, Default)]
pub struct Policy {}

impl Policy {
    /// Paths the user named as sensitive.
    #[must_use]
    pub fn sensitive_paths(&self) -> &[String] {
        &[]
    }

    /// Adds the findings of the user's own rules.
    pub fn apply_own_rules(&self, _action: &Action, _analysis: &Analysis, _to: &mut Vec<Finding>) {}

    /// Settles what the findings mean.
    #[must_use]
    pub fn settle(
        &self,
        _action: &Action,
        _context: &Context,
        findings: Vec<Finding>,
        digest: String,
    ) -> Judgement {
        let verdict = findings.iter().map(|f| f.verdict).max().unwrap_or(Verdict::Allow);
        let level = findings.iter().map(|f| f.risk).max().unwrap_or(RiskLevel::None);
        let reason =
            findings.first().map_or_else(|| "nothing risky found".to_owned(), |f| f.reason.clone());
        Judgement {
            verdict,
            risk: Risk { level, score: 0.0, factors: Vec::new() },
            findings,
            trace: vec![Step {
                layer: "profile:coding-agent".into(),
                said: verdict,
                because: reason.clone(),
            }],
            reason,
            digest,
        }
    }
}
