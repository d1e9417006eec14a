//! The risk score: the severity of the harm, and the factors of the score.
//!
//! Counted in hundredths, so that the same action always has the same score:
//!
//! | factor | adds |
//! |---|---|
//! | `category` | where the band of the worst finding begins (10, 30, 60, 80), and 5 when the harm cannot be taken back by undoing: money, identity, secrets, leaked data, the guard |
//! | `action` | 10 when something is destroyed or made final, 5 when the action runs code |
//! | `confidence` | up to 20, the less sure the caller is |
//! | `history` | up to 20, the more often a person said no to this agent; left out where it adds nothing |
//!
//! Earlier yeses do not lower it: a habit of saying yes is not evidence. Without `confidence` and
//! `history` the level is that of the worst finding.

use crate::action::Action;
use crate::context::{Context, History};
use crate::verdict::{Category, Factor, Finding, Risk, RiskLevel};

/// The score of an action with these findings.
pub(crate) fn assess(action: &Action, context: &Context, findings: &[Finding]) -> Risk {
    let Some(worst) = findings.iter().max_by_key(|finding| finding.risk) else {
        return Risk::default();
    };
    let mut sum = Sum { hundredths: 0, factors: Vec::with_capacity(4) };
    let grave = findings.iter().find(|finding| is_grave(finding.category));
    sum.add(
        "category",
        begin(worst.risk).saturating_add(if grave.is_some() { 5 } else { 0 }),
        format!("{} risk: {}", worst.risk.as_str(), grave.unwrap_or(worst).category.as_str()),
    );
    sum.add_action(action, findings);
    if let Some(confidence) = context.confidence {
        sum.add_confidence(confidence);
    }
    if let Some(history) = context.history {
        sum.add_history(history, worst.risk);
    }
    let score = f64::from(sum.hundredths) / 100.0;
    Risk { level: RiskLevel::of(score).max(worst.risk), score, factors: sum.factors }
}

struct Sum {
    hundredths: u8,
    factors: Vec<Factor>,
}

impl Sum {
    /// Adds as much as still fits below 1, so that the factors always add up to the score.
    fn add(&mut self, name: &str, hundredths: u8, why: String) {
        let added = hundredths.min(100_u8.saturating_sub(self.hundredths));
        self.hundredths = self.hundredths.saturating_add(added);
        self.factors.push(Factor { name: name.to_owned(), value: f64::from(added) / 100.0, why });
    }

    fn add_action(&mut self, action: &Action, findings: &[Finding]) {
        let destroys = matches!(action, Action::FileDelete { .. })
            || findings.iter().any(|finding| is_final(finding.category));
        let runs = matches!(
            action,
            Action::Shell { .. } | Action::Code { .. } | Action::Applescript { .. }
        );
        let (hundredths, what) = match (destroys, runs) {
            (true, _) => (10, "cannot be undone"),
            (false, true) => (5, "runs code"),
            (false, false) => (0, "runs nothing"),
        };
        self.add("action", hundredths, format!("{}: {what}", action.kind()));
    }

    fn add_confidence(&mut self, confidence: f64) {
        // NaN counts as no confidence at all.
        let sure = if confidence.is_nan() { 0.0 } else { confidence.clamp(0.0, 1.0) };
        let doubt = hundredths(0.2 * (1.0 - sure));
        self.add("confidence", doubt, format!("the caller is {:.0} % sure", sure * 100.0));
    }

    fn add_history(&mut self, history: History, worst: RiskLevel) {
        let History { approved, rejected } = history;
        let (yes, no) = (f64::from(approved), f64::from(rejected));
        // The 2 keeps a single no from weighing as much as a habit.
        let weight = hundredths(0.2 * no / (yes + no + 2.0));
        if weight == 0 {
            return;
        }
        let before = RiskLevel::of(f64::from(self.hundredths) / 100.0).max(worst);
        self.add("history", weight, String::new());
        let after = RiskLevel::of(f64::from(self.hundredths) / 100.0).max(worst);
        let raised = if after > before {
            format!(", which raises the risk from {} to {}", before.as_str(), after.as_str())
        } else {
            String::new()
        };
        if let Some(factor) = self.factors.last_mut() {
            factor.why =
                format!("this agent was told no {rejected} times and yes {approved} times{raised}");
        }
    }
}

/// The lowest score of a level.
const fn begin(level: RiskLevel) -> u8 {
    match level {
        RiskLevel::None => 1,
        RiskLevel::Low => 10,
        RiskLevel::Medium => 30,
        RiskLevel::High => 60,
        RiskLevel::Critical => 80,
    }
}

/// Reports whether the harm remains even if the action is undone.
const fn is_grave(category: Category) -> bool {
    match category {
        Category::FinancialInformation
        | Category::IdentityDocuments
        | Category::PasswordsAndSecurityAnswers
        | Category::DataExfiltration
        | Category::GuardTampering => true,
        Category::FinalSubmissionOrPurchase
        | Category::IrreversibleChanges
        | Category::DestructiveActions
        | Category::CodeExecution
        | Category::PrivilegeEscalation
        | Category::Persistence
        | Category::SystemChange
        | Category::NotUnderstood => false,
    }
}

/// Reports whether the action itself makes something final.
const fn is_final(category: Category) -> bool {
    matches!(
        category,
        Category::DestructiveActions
            | Category::IrreversibleChanges
            | Category::FinalSubmissionOrPurchase
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "callers stay between 0 and 0.2"
)]
fn hundredths(share: f64) -> u8 {
    (share.clamp(0.0, 1.0) * 100.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{finding, shell};
    use crate::verdict::Verdict;

    fn found(risk: RiskLevel, category: Category) -> Finding {
        Finding { category, risk, ..finding("a.b.c", Verdict::Confirm) }
    }

    fn names(risk: &Risk) -> Vec<&str> {
        risk.factors.iter().map(|factor| factor.name.as_str()).collect()
    }

    #[test]
    fn nothing_found_is_no_risk() {
        let context = Context { confidence: Some(0.0), ..Context::default() };
        assert_eq!(assess(&shell("ls"), &context, &[]), Risk::default());
    }

    #[test]
    fn without_doubt_or_history_the_level_is_that_of_the_worst_finding() {
        for level in [RiskLevel::Low, RiskLevel::Medium, RiskLevel::High, RiskLevel::Critical] {
            for category in [
                Category::DestructiveActions,
                Category::DataExfiltration,
                Category::FinancialInformation,
                Category::SystemChange,
            ] {
                let findings = [found(RiskLevel::Low, category), found(level, category)];
                let risk = assess(&shell("x"), &Context::default(), &findings);
                assert_eq!(risk.level, level);
                assert_eq!(RiskLevel::of(risk.score), level);
                assert_eq!(names(&risk), ["category", "action"]);
            }
        }
    }

    #[test]
    fn every_factor_raises_and_they_add_up_to_the_score() {
        let findings = [found(RiskLevel::Critical, Category::DataExfiltration)];
        let plain = assess(&shell("x"), &Context::default(), &findings);
        let context = Context {
            confidence: Some(0.1),
            history: Some(History { approved: 1, rejected: 9 }),
            ..Context::default()
        };
        let doubted = assess(&shell("x"), &context, &findings);
        assert!(doubted.score > plain.score && doubted.score <= 1.0);
        assert_eq!(names(&doubted), ["category", "action", "confidence", "history"]);
        for risk in [plain, doubted] {
            let sum: f64 = risk.factors.iter().map(|factor| factor.value).sum();
            assert!((sum - risk.score).abs() < 1e-9);
            assert!((risk.score * 100.0 - (risk.score * 100.0).round()).abs() < 1e-9);
        }
    }

    #[test]
    fn low_confidence_can_lift_a_warning_over_a_threshold() {
        let findings = [found(RiskLevel::Low, Category::SystemChange)];
        let level = |confidence| {
            let context = Context { confidence: Some(confidence), ..Context::default() };
            assess(&shell("x"), &context, &findings).level
        };
        assert_eq!(level(1.0), RiskLevel::Low);
        assert_eq!(level(0.0), RiskLevel::Medium);
        assert_eq!(level(f64::NAN), RiskLevel::Medium);
        assert_eq!(level(f64::NEG_INFINITY), RiskLevel::Medium);
    }

    #[test]
    fn many_yeses_take_nothing_away() {
        let findings = [found(RiskLevel::Medium, Category::SystemChange)];
        let history = Some(History { approved: u32::MAX, rejected: 0 });
        let used_to_it = Context { history, ..Context::default() };
        let risk = assess(&shell("x"), &used_to_it, &findings);
        assert!(
            (risk.score - assess(&shell("x"), &Context::default(), &findings).score).abs() < 1e-9
        );
    }
}
