//! The outcome of a proposal, for logs, metrics and traces. It never contains the action or its
//! user: those are in the audit record.

use countersign_core::{Judgement, Verdict};
use countersign_gate::proposal::{Proposal, Submitted, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The level at which every decision is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionLog {
    /// Not at all.
    Off,
    /// With the details of the server.
    #[default]
    Debug,
    /// With the ordinary messages of the server.
    Info,
}

/// The outcome of one proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The kind of action.
    kind: &'static str,
    /// `permitted`, `waiting` or `refused`.
    pub(crate) became: &'static str,
    pub(crate) verdict: Option<Verdict>,
    /// The rules that matched.
    rules: Vec<String>,
    /// The rules that blocked it, where they did.
    pub(crate) blocked_by: Vec<String>,
    /// The question to a person, if there is one.
    pub(crate) approval: Option<String>,
}

impl Decision {
    pub(crate) fn of(proposal: &Proposal, submitted: &Submitted) -> Self {
        let (became, judgement, approval) = match submitted {
            Submitted::Permitted(permit, judgement) => {
                ("permitted", Some(&**judgement), permit.approval().map(ToString::to_string))
            }
            Submitted::Waiting(waiting) => {
                ("waiting", Some(&waiting.judgement), Some(waiting.approval.to_string()))
            }
            Submitted::Refused(refusal) => ("refused", refusal.judgement.as_ref(), None),
        };
        let blocked =
            matches!(submitted, Submitted::Refused(refusal) if refusal.why == Why::Blocked);
        let named = |wanted: fn(Verdict) -> bool| {
            let findings =
                judgement.into_iter().flat_map(|judgement: &Judgement| &judgement.findings);
            let rules = findings.filter(|finding| wanted(finding.verdict));
            rules.map(|finding| finding.rule.clone()).collect::<Vec<_>>()
        };
        Self {
            kind: proposal.action.kind(),
            became,
            verdict: judgement.map(|judgement| judgement.verdict),
            rules: named(|_| true),
            blocked_by: if blocked {
                named(|verdict| verdict == Verdict::Block)
            } else {
                Vec::new()
            },
            approval,
        }
    }

    /// Writes a line to the log.
    pub(crate) fn log(&self, at: DecisionLog) {
        let Self { kind, became, verdict, rules, approval, .. } = self;
        let verdict = verdict.map(Verdict::as_str);
        let (rules, approval) = (rules.join(" "), approval.as_deref());
        match at {
            DecisionLog::Off => {}
            DecisionLog::Debug => {
                tracing::debug!(kind, became, verdict, rules, approval, "decided");
            }
            DecisionLog::Info => tracing::info!(kind, became, verdict, rules, approval, "decided"),
        }
    }
}
