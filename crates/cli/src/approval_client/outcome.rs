//! The outcome of a question, and its wording.

use countersign_core::{Action, Judgement, Verdict};
use countersign_wire::{ApprovalCard, ApprovalState, Basis, Proposed, problem};
use serde_json::Value;

use super::{JudgedAction, waiting};
use crate::client::{ClientError, Refused};

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// The question was answered yes; `by` says by whom.
    Agreed(Permitted),
    /// Nobody had to be asked.
    Permitted(Permitted),
    /// It was refused, for this reason.
    Refused(String),
    /// Nobody could be asked, for this reason: the server cannot be reached, or no person is there.
    Nobody(String),
    /// A server is there, and why it gave no answer. An agent can bring that about: it may stop the
    /// server, or keep it busy.
    NoAnswer(String),
}

/// A permitted action, whose result can be reported.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Permitted {
    pub(super) action: String,
    pub(super) session: Option<String>,
    /// The basis on which the server permits it.
    by: Basis,
    /// The action as a person changed it, if they did: only that may run.
    pub(crate) edited: Option<Box<Action>>,
}

impl Permitted {
    /// The origin of the approval, in words for the host's user.
    pub(crate) fn told(&self) -> &'static str {
        waiting::told(self.by)
    }
}

pub(super) const OTHER_ACTION: &str =
    "Countersign: a person agreed to a different action, so this is refused.";

/// The outcome of an approval that was spent, on exactly the action that was named.
pub(super) fn agreed(spent: Proposed, edited: Option<Action>, session: Option<&str>) -> Outcome {
    match spent {
        Proposed::Permitted { action_id, by, edited: None, .. } => {
            let edited = edited.map(Box::new);
            Outcome::Agreed(Permitted { edited, ..Permitted::of(action_id, by, session) })
        }
        Proposed::Permitted { .. }
        | Proposed::Waiting { .. }
        | Proposed::Executing(_)
        | Proposed::Executed(_) => Outcome::Refused(OTHER_ACTION.to_owned()),
    }
}

impl Permitted {
    pub(super) fn of(action: String, by: Basis, session: Option<&str>) -> Self {
        Self { action, session: session.map(str::to_owned), by, edited: None }
    }
}

/// The action as a person wants it, if they changed the proposed one.
///
/// # Errors
/// It cannot be parsed.
pub(super) fn edited(
    card: &ApprovalCard,
    proposal: &Value,
) -> Result<Option<Action>, serde_json::Error> {
    if card.replaces.is_none() || Some(&card.proposed) == proposal.get("action") {
        return Ok(None);
    }
    serde_json::from_value(card.proposed.clone()).map(Some)
}

/// The outcome of an action that a server permits without asking anybody. It counts only if the
/// server knows the reason why we ask: it may not know the project's own rules.
pub(super) fn unasked(
    judged_action: &JudgedAction<'_>,
    theirs: Option<&Judgement>,
    permitted: Permitted,
) -> Outcome {
    if !judged_action.must_ask() {
        return Outcome::Permitted(permitted);
    }
    let knows = |rule: &str| {
        theirs.is_some_and(|theirs| theirs.findings.iter().any(|finding| finding.rule == rule))
    };
    let asking =
        judged_action.judgement.findings.iter().filter(|found| found.verdict >= Verdict::Confirm);
    let mut asking = asking.peekable();
    if asking.peek().is_some() && asking.all(|finding| knows(&finding.rule)) {
        return Outcome::Agreed(permitted);
    }
    Outcome::Nobody("the server does not know the rule that asks".to_owned())
}

pub(super) fn said_no(state: ApprovalState, feedback: Option<&str>) -> String {
    let feedback = feedback.filter(|feedback| !feedback.is_empty());
    match (state, feedback) {
        (ApprovalState::Rejected, None) => "Countersign: a person said no to this.".to_owned(),
        (ApprovalState::Rejected, Some(feedback)) => {
            format!("Countersign: a person said no to this: {feedback}")
        }
        (ApprovalState::Expired, _) => {
            "Countersign: nobody answered in time, which counts as a no.".to_owned()
        }
        (state, _) => format!("Countersign: this is not approved, the question is {state}."),
    }
}

pub(super) fn failed(error: &ClientError) -> Outcome {
    match error {
        ClientError::Refused(refused) if !error.is_unreachable() => said(refused),
        ClientError::NoServer { .. } => Outcome::Nobody(error.to_string()),
        ClientError::Unknown => Outcome::Refused(format!("Countersign: {error}.")),
        ClientError::Refused(_) | ClientError::Untrusted(_) | ClientError::Broken(_) => {
            Outcome::NoAnswer(error.to_string())
        }
    }
}

fn said(refused: &Refused) -> Outcome {
    match refused.kind.as_str() {
        problem::NOBODY_TO_ASK => Outcome::Nobody(refused.detail.clone()),
        problem::DECLINED => {
            let feedback = refused.problem.text("feedback");
            Outcome::Refused(said_no(ApprovalState::Rejected, Some(feedback)))
        }
        _ => Outcome::Refused(format!("Countersign: {refused}")),
    }
}
