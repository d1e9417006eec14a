//! The records of a proposal.

use countersign_core::Judgement;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::approval::{describe, subject_of};
use crate::audit::{self, Draft};
use crate::gate::submit::Submission;
use crate::gate::{Gate, GateError};
use crate::id::{ActionId, ApprovalId, KeyId};
use crate::preferences::Logging;
use crate::proposal::Why;
use crate::redacted;
use crate::session::{Hit, Violation};

/// The payload of a proposal's record.
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
    /// The record of a proposal, with as many fields as the logging level asks for.
    pub(super) fn planned(
        &self,
        submission: &Submission<'_>,
        status: &str,
        judgement: Option<&Judgement>,
        id: Option<&ActionId>,
    ) -> Result<Draft, GateError> {
        let action = &submission.proposal.action;
        let enhanced = match self.logging(submission) {
            Logging::Minimal => None,
            Logging::Enhanced => Some(enhanced(submission, judgement)),
        };
        let key = submission.caller.key_id();
        let payload = Planned { action: &subject_of(action), enhanced, id, key, status };
        self.record(audit::Event::ActionPlanned, submission.record_owner(), &payload)
    }

    pub(super) fn critical_point(
        &self,
        submission: &Submission<'_>,
        judgement: &Judgement,
        approval: &ApprovalId,
    ) -> Result<Draft, GateError> {
        let category = judgement.findings.first().map(|finding| finding.category.as_str());
        let mut context = surroundings(submission, judgement);
        if self.logging(submission) == Logging::Minimal {
            // The reason quotes the action's arguments.
            context.remove("reason");
        }
        let payload = json!({
            "approval": approval,
            "category": category,
            "risk": judgement.risk.level.as_str(),
            "context": context,
        });
        self.record(audit::Event::CriticalPoint, submission.record_owner(), &payload)
    }

    pub(super) fn violated(
        &self,
        submission: &Submission<'_>,
        violation: Violation,
        why: &Why,
        hit: Option<Hit>,
        judgement: Option<&Judgement>,
    ) -> Result<Draft, GateError> {
        let mut details = match serde_json::to_value(hit) {
            Ok(Value::Object(details)) => details,
            Ok(_) | Err(_) => Map::new(),
        };
        details.insert("action".to_owned(), subject_of(&submission.proposal.action).into());
        let reason = judgement.filter(|_| hit.is_none()).map(|judgement| &judgement.reason);
        if let Some(judgement) = judgement.filter(|_| hit.is_none()) {
            details.extend(found(judgement));
        }
        let told = hit.map(|hit| hit.to_string()).or_else(|| reason.cloned());
        let told = told.map_or_else(String::new, |told| format!(": {told}"));
        let payload = json!({
            "type": violation.as_str(),
            "message": format!("{}{told}", why.line()),
            "details": details,
        });
        self.record(audit::Event::Violation, submission.record_owner(), &payload)
    }

    fn logging(&self, submission: &Submission<'_>) -> Logging {
        match (self.config.logging, submission.settings.logging) {
            (Logging::Minimal, Logging::Minimal) => Logging::Minimal,
            (Logging::Enhanced, _) | (_, Logging::Enhanced) => Logging::Enhanced,
        }
    }
}

/// The findings, in words that were redacted when the action was judged.
fn found(judgement: &Judgement) -> Map<String, Value> {
    /// The most rules that are recorded; more would add no information.
    const MOST: usize = 20;
    let rules: Vec<_> = judgement.findings.iter().take(MOST).map(|f| f.rule.clone()).collect();
    let mut found = Map::new();
    found.insert("reason".to_owned(), judgement.reason.clone().into());
    found.insert("rules".to_owned(), rules.into());
    found
}

fn enhanced(submission: &Submission<'_>, judgement: Option<&Judgement>) -> Map<String, Value> {
    let action = &submission.proposal.action;
    // A person is shown addresses; a record does not contain them.
    let (description, details) = describe(action);
    let details: Vec<_> = details.iter().map(|line| redacted::text(line)).collect();
    let reasoning = submission.proposal.reasoning.as_deref().map(redacted::text);
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

/// The circumstances of a critical point, redacted.
fn surroundings(submission: &Submission<'_>, judgement: &Judgement) -> Map<String, Value> {
    let plan = submission.own_session().map(|session| &session.value.plan);
    let page = submission.proposal.context.base_url.as_deref().map(redacted::text);
    let folder = submission.proposal.context.cwd.as_deref().map(redacted::text);
    let mut context = found(judgement);
    context.insert("action".to_owned(), subject_of(&submission.proposal.action).into());
    context.insert("profile".to_owned(), json!(plan.and_then(|plan| plan.profile.as_ref())));
    context.insert("mode".to_owned(), json!(plan.and_then(|plan| plan.mode)));
    context.insert("page".to_owned(), page.into());
    context.insert("folder".to_owned(), folder.into());
    context
}
