//! How many people must agree, and who is asked when nobody answers.

use std::time::Duration;

use countersign_core::{Judgement, RiskLevel};
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// Who must agree to one approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quorum {
    /// How many different people.
    pub need: u8,
    /// Whether the person for whom the agent works may be one of them.
    pub requester: Requester,
}

/// Whether the person for whom the agent works may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Requester {
    /// Like everybody.
    Counts,
    /// Others must agree.
    Excluded,
}

impl Default for Quorum {
    /// The person for whom the agent works, alone.
    fn default() -> Self {
        Self { need: 1, requester: Requester::Counts }
    }
}

impl Quorum {
    /// What satisfies both.
    pub(crate) fn stricter(self, other: Self) -> Self {
        let excluded = [self.requester, other.requester].contains(&Requester::Excluded);
        let requester = if excluded { Requester::Excluded } else { Requester::Counts };
        Self { need: self.need.max(other.need), requester }
    }
}

/// When more people than one must agree, or others are asked after a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuorumRow {
    /// From this risk on.
    #[serde(default)]
    pub risk: Option<RiskLevel>,
    /// For these rules; a family ends in `.*`.
    #[serde(default)]
    pub rules: Vec<String>,
    /// So many different people besides the one for whom the agent works; nobody else, if left
    /// out.
    #[serde(default)]
    pub need: Option<u8>,
    /// Workspace admins may answer too after so many seconds.
    #[serde(default)]
    pub escalate_after: Option<u32>,
}

impl QuorumRow {
    fn is_about(&self, judgement: &Judgement) -> bool {
        let risky = self.risk.is_some_and(|risk| judgement.risk.level >= risk);
        let named = |rule: &str| {
            self.rules.iter().any(|words| match words.strip_suffix('*') {
                Some(family) => family.ends_with('.') && rule.starts_with(family),
                None => words == rule,
            })
        };
        risky || judgement.findings.iter().any(|finding| named(&finding.rule))
    }
}

/// Whether the rows ask for others than the person for whom the agent works.
#[must_use]
pub fn needs_others(rows: &[QuorumRow], judgement: &Judgement) -> bool {
    rows.iter().any(|row| row.need.is_some() && row.is_about(judgement))
}

/// What the rows together ask for: the most people, the soonest escalation.
pub(crate) fn quorum(
    rows: &[QuorumRow],
    judgement: &Judgement,
    now: Timestamp,
) -> (Quorum, Option<Timestamp>) {
    let rows: Vec<_> = rows.iter().filter(|row| row.is_about(judgement)).collect();
    let need = rows.iter().filter_map(|row| row.need).max();
    let quorum = need.map_or_else(Quorum::default, |need| Quorum {
        need: need.max(1),
        requester: Requester::Excluded,
    });
    let after = rows.iter().filter_map(|row| row.escalate_after).min();
    let escalate_at = after.map(|after| now.after(Duration::from_secs(after.into())));
    (quorum, escalate_at)
}
