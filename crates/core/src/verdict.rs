//! The parts of a judgement: verdict, risk, findings.
//!
//! The order of [`Verdict`] and [`RiskLevel`] is the merge rule: the strictest wins, by `max`.
//! Nothing here decides anything.

use serde::{Deserialize, Serialize};

use crate::fact::FactKind;
pub use crate::span::Span;

/// The decision about an action. The order is the merge rule: the strictest wins.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    #[default]
    Allow,
    /// It may run, and the person is told.
    Warn,
    /// A person must say yes first.
    Confirm,
    /// It never runs.
    Block,
}

impl Verdict {
    /// The word used in JSON, on the command line and in rule files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Confirm => "confirm",
            Self::Block => "block",
        }
    }
}

/// The severity of the harm, in five steps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// Nothing to see.
    #[default]
    None,
    /// Below 0.3.
    Low,
    /// From 0.3.
    Medium,
    /// From 0.6.
    High,
    /// From 0.8.
    Critical,
}

impl RiskLevel {
    /// The level a score belongs to.
    #[must_use]
    pub fn of(score: f64) -> Self {
        match score {
            score if score >= 0.8 => Self::Critical,
            score if score >= 0.6 => Self::High,
            score if score >= 0.3 => Self::Medium,
            score if score > 0.0 => Self::Low,
            _ => Self::None,
        }
    }

    /// The word used in JSON, on the command line and in rule files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// One reason why the score is what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// `category`, `confidence`, `action` or `history`.
    pub name: String,
    /// The amount it adds to the score.
    pub value: f64,
    /// One line for a person.
    pub why: String,
}

/// The score from 0 to 1, its level, and what it is made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Risk {
    /// The level the score belongs to.
    pub level: RiskLevel,
    /// From 0 to 1, two decimals.
    pub score: f64,
    /// The factors of the score; empty when it is 0.
    pub factors: Vec<Factor>,
}

/// The kind of harm that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Cards, accounts, payments.
    FinancialInformation,
    /// National ids, passports, licences.
    IdentityDocuments,
    /// Passwords, keys, tokens, security answers.
    PasswordsAndSecurityAnswers,
    /// The step that sends, orders or pays.
    FinalSubmissionOrPurchase,
    /// Cannot be undone.
    IrreversibleChanges,
    /// Deletes or destroys.
    DestructiveActions,
    /// Local data leaves the machine.
    DataExfiltration,
    /// Runs code nobody has seen.
    CodeExecution,
    /// Gains rights or weakens a protection.
    PrivilegeEscalation,
    /// Survives a restart or the session.
    Persistence,
    /// Changes the machine or a service.
    SystemChange,
    /// Could not be understood.
    NotUnderstood,
    /// Touches Countersign or the hooks that call it.
    GuardTampering,
}

impl Category {
    /// Every one, in order.
    pub const ALL: &'static [Self] = &[
        Self::FinancialInformation,
        Self::IdentityDocuments,
        Self::PasswordsAndSecurityAnswers,
        Self::FinalSubmissionOrPurchase,
        Self::IrreversibleChanges,
        Self::DestructiveActions,
        Self::DataExfiltration,
        Self::CodeExecution,
        Self::PrivilegeEscalation,
        Self::Persistence,
        Self::SystemChange,
        Self::NotUnderstood,
        Self::GuardTampering,
    ];

    /// The word used in JSON and in rule files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FinancialInformation => "financial_information",
            Self::IdentityDocuments => "identity_documents",
            Self::PasswordsAndSecurityAnswers => "passwords_and_security_answers",
            Self::FinalSubmissionOrPurchase => "final_submission_or_purchase",
            Self::IrreversibleChanges => "irreversible_changes",
            Self::DestructiveActions => "destructive_actions",
            Self::DataExfiltration => "data_exfiltration",
            Self::CodeExecution => "code_execution",
            Self::PrivilegeEscalation => "privilege_escalation",
            Self::Persistence => "persistence",
            Self::SystemChange => "system_change",
            Self::NotUnderstood => "not_understood",
            Self::GuardTampering => "guard_tampering",
        }
    }
}

/// A rule that matched, with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule's id, for example `shell.git.force-push`.
    pub rule: String,
    /// The kind of harm.
    pub category: Category,
    /// The severity.
    pub risk: RiskLevel,
    /// The verdict of the rule itself, before policy.
    pub verdict: Verdict,
    /// One line for a person: what would happen to what.
    pub reason: String,
    /// The range in the action's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// An alternative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// Nobody can lift it. Not on the wire: only the rule table says so, never a message.
    #[serde(skip)]
    pub hard: bool,
    /// The kind of the fact that the rule matched, for decisions that depend on it. Not on the
    /// wire.
    #[serde(skip)]
    pub fact: Option<FactKind>,
}

/// The verdict after one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// `hard-block`, `profile:coding-agent`, `user`, `project`…
    pub layer: String,
    /// The verdict after this layer.
    pub said: Verdict,
    /// One line for a person.
    pub because: String,
    /// The reason that nobody is asked, if this layer lowered a question to that. Not on the wire.
    #[serde(skip)]
    pub unasked: Option<Unasked>,
}

/// The reason that nobody is asked about something that rules ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unasked {
    /// The session has `auto_confirm`.
    AutoConfirm,
    /// The user is in autonomous mode.
    Autonomous,
    /// The caller is a program.
    Program,
    /// The answer to an earlier question applies.
    Remembered,
}

/// Verdict, risk and findings for one action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The decision about the action.
    pub verdict: Verdict,
    /// The severity of the harm.
    pub risk: Risk,
    /// Every rule that matched, strictest first.
    pub findings: Vec<Finding>,
    /// One line for a person.
    pub reason: String,
    /// SHA-256 of the canonical action, in hex.
    pub digest: String,
    /// The verdict after each layer, in order.
    pub trace: Vec<Step>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_verdict_wins_by_max() {
        assert_eq!(Verdict::Confirm.max(Verdict::Warn), Verdict::Confirm);
        assert!(Verdict::Block > Verdict::Confirm);
    }

    #[test]
    fn thresholds_are_inclusive() {
        let levels = [0.0, 0.1, 0.3, 0.6, 0.8, 1.0].map(RiskLevel::of);
        assert_eq!(
            levels,
            [
                RiskLevel::None,
                RiskLevel::Low,
                RiskLevel::Medium,
                RiskLevel::High,
                RiskLevel::Critical,
                RiskLevel::Critical
            ]
        );
    }
}
