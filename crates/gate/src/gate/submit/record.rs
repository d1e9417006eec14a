//! What goes on record of a proposal.

use countersign_core::Judgement;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::approval::{describe, subject_of};
use crate::audit::{self, Draft};
use crate::gate::submit::Case;
use crate::gate::{Gate, GateError};
use crate::id::{ActionId, ApprovalId, KeyId};
use crate::proposal::Why;
use crate::redacted;
use crate::session::Violation;
use crate::settings::Logging;

/// What is always on record.
#[derive(Serialize)]
struct Planned<'a> {
    action: &'a str,
    #[serde(flatten)]
    enhanced: Option<Map<String, Value>>,
    id: Option<&'a ActionId>,
    key: Option<&'a KeyId>,
    status: &'a str,
}

impl Gate {
    /// What goes on record of a proposal, as much as the level of logging asks for.
    pub(super) fn planned(
        &self,
        case: &Case<'_>,
        status: &str,
        judgement: Option<&Judgement>,
        id: Option<&ActionId>,
    ) -> Result<Draft, GateError> {
        let action = &case.proposal.action;
        let enhanced = match self.logging(case) {
            Logging::Minimal => None,
            Logging::Enhanced => Some(enhanced(case, judgement)),
        };
        let key = case.caller.key_id();
        let payload = Planned { action: &subject_of(action), enhanced, id, key, status };
        self.record(audit::Event::ActionPlanned, case.subject(), &payload)
    }

    pub(super) fn critical_point(
        &self,
        case: &Case<'_>,
        judgement: &Judgement,
        approval: &ApprovalId,
    ) -> Result<Draft, GateError> {
        let category = judgement.findings.first().map(|finding| finding.category.as_str());
        let payload = json!({
            "approval": approval,
            "category": category,
            "risk": judgement.risk.level.as_str(),
        });
        self.record(audit::Event::CriticalPoint, case.subject(), &payload)
    }

    pub(super) fn violated(
        &self,
        case: &Case<'_>,
        violation: Violation,
    ) -> Result<Draft, GateError> {
        let action = subject_of(&case.proposal.action);
        let payload = json!({
            "type": violation.as_str(),
            "message": Why::Violation(violation).line(),
            "details": {"action": action},
        });
        self.record(audit::Event::Violation, case.subject(), &payload)
    }

    fn logging(&self, case: &Case<'_>) -> Logging {
        match (self.config.logging, case.settings.logging) {
            (Logging::Minimal, Logging::Minimal) => Logging::Minimal,
            (Logging::Enhanced, _) | (_, Logging::Enhanced) => Logging::Enhanced,
        }
    }
}

fn enhanced(case: &Case<'_>, judgement: Option<&Judgement>) -> Map<String, Value> {
    let action = &case.proposal.action;
    // What a person is shown has addresses in it; a record does not.
    let (description, details) = describe(action);
    let details: Vec<_> = details.iter().map(|line| redacted::text(line)).collect();
    let reasoning = case.proposal.reasoning.as_deref().map(redacted::text);
    let mut fields = Map::new();
    fields.insert("description".to_owned(), redacted::text(&description).into());
    fields.insert("details".to_owned(), details.into());
    fields.insert("target".to_owned(), redacted::action(action));
    fields.insert("reasoning".to_owned(), reasoning.into());
    if let Some(judgement) = judgement {
        fields.insert("verdict".to_owned(), judgement.verdict.as_str().into());
        fields.insert("risk".to_owned(), judgement.risk.level.as_str().into());
        fields.insert("reason".to_owned(), redacted::text(&judgement.reason).into());
        let rules: Vec<_> = judgement.findings.iter().map(|f| f.rule.clone()).collect();
        fields.insert("rules".to_owned(), rules.into());
    }
    fields
}
