//! The number of people who must agree, and the people who are asked when nobody answers.

use std::time::Duration;

use countersign_core::{Judgement, RiskLevel};
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// The people who must agree to one approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quorum {
    /// The number of different people.
    pub need: u8,
    /// The part of the person for whom the agent works: they may be one of them, or not.
    pub requester: Requester,
}

/// The part of the person for whom the agent works in a quorum.
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
    /// One person, who may be the one for whom the agent works.
    fn default() -> Self {
        Self { need: 1, requester: Requester::Counts }
    }
}

impl Quorum {
    /// The quorum that satisfies both.
    pub(crate) fn stricter(self, other: Self) -> Self {
        let excluded = [self.requester, other.requester].contains(&Requester::Excluded);
        let requester = if excluded { Requester::Excluded } else { Requester::Counts };
        Self { need: self.need.max(other.need), requester }
    }
}

/// A condition under which more than one person must agree, or others are asked after a while.
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
    /// The number of different people who must agree besides the one for whom the agent works; if
    /// left out, nobody else must.
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

/// Reports whether the rows require others than the person for whom the agent works.
#[must_use]
pub fn needs_others(rows: &[QuorumRow], judgement: &Judgement) -> bool {
    rows.iter().any(|row| row.need.is_some() && row.is_about(judgement))
}

/// The quorum and escalation that the rows ask for together: the most people, the earliest
/// escalation.
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
