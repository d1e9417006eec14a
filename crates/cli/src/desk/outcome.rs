//! The outcome of a question, and its wording.

use countersign_core::{Action, Verdict};
use serde_json::Value;

use super::{Case, waiting};
use crate::client::{ClientError, Refused};
use crate::listing::field;

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
    /// The approver, in the server's word.
    by: String,
    /// The action as a person changed it, if they did: only that may run.
    pub(crate) edited: Option<Box<Action>>,
}

impl Permitted {
    /// The origin of the approval, in words for the host's user.
    pub(crate) fn told(&self) -> &'static str {
        waiting::told(&self.by)
    }
}

pub(super) const OTHER_ACTION: &str =
    "Countersign: a person agreed to a different action, so this is refused.";

/// The outcome of an approval that was spent, on exactly the action that was named.
pub(super) fn agreed(spent: &Value, edited: Option<Action>, session: Option<&str>) -> Outcome {
    if spent.get("edited").is_some_and(|other| !other.is_null()) {
        return Outcome::Refused(OTHER_ACTION.to_owned());
    }
    let edited = edited.map(Box::new);
    Outcome::Agreed(Permitted { edited, ..Permitted::of(spent, session) })
}

impl Permitted {
    pub(super) fn of(answer: &Value, session: Option<&str>) -> Self {
        Self {
            action: field(answer, "action_id").to_owned(),
            session: session.map(str::to_owned),
            by: field(answer, "by").to_owned(),
            edited: None,
        }
    }
}

/// The action as a person wants it, if they changed the proposed one.
///
/// # Errors
/// It cannot be parsed.
pub(super) fn edited(found: &Value, proposal: &Value) -> Result<Option<Action>, serde_json::Error> {
    let replaces = found.get("replaces").is_some_and(|replaced| !replaced.is_null());
    let wanted = found.get("proposed").unwrap_or(&Value::Null);
    if !replaces || Some(wanted) == proposal.get("action") {
        return Ok(None);
    }
    serde_json::from_value(wanted.clone()).map(Some)
}

/// The outcome of an action that a server permits without asking anybody. It counts only if the
/// server knows the reason why we ask: it may not know the project's own rules.
pub(super) fn unasked(case: &Case<'_>, answer: &Value, permitted: Permitted) -> Outcome {
    if !case.must_ask() {
        return Outcome::Permitted(permitted);
    }
    let theirs = answer.pointer("/judgement/findings").and_then(Value::as_array);
    let knows = |rule: &str| {
        theirs.is_some_and(|theirs| theirs.iter().any(|finding| field(finding, "rule") == rule))
    };
    let asking = case.judgement.findings.iter().filter(|found| found.verdict >= Verdict::Confirm);
    let mut asking = asking.peekable();
    if asking.peek().is_some() && asking.all(|finding| knows(&finding.rule)) {
        return Outcome::Agreed(permitted);
    }
    Outcome::Nobody("the server does not know the rule that asks".to_owned())
}

pub(super) fn said_no(state: &str, feedback: &str) -> String {
    match (state, feedback) {
        ("rejected", "") => "Countersign: a person said no to this.".to_owned(),
        ("rejected", feedback) => format!("Countersign: a person said no to this: {feedback}"),
        ("expired", _) => "Countersign: nobody answered in time, which counts as a no.".to_owned(),
        (state, _) => format!("Countersign: this is not approved, the question is {state}."),
    }
}

pub(super) fn failed(error: &ClientError) -> Outcome {
    match error {
        ClientError::Refused(refused) if !error.is_unreachable() => said(refused),
        ClientError::NoServer { .. } => Outcome::Nobody(error.to_string()),
        ClientError::Refused(_) | ClientError::Untrusted(_) | ClientError::Broken(_) => {
            Outcome::NoAnswer(error.to_string())
        }
    }
}

fn said(refused: &Refused) -> Outcome {
    let feedback = field(&refused.body, "feedback");
    match refused.kind.as_str() {
        "nobody-to-ask" => Outcome::Nobody(refused.detail.clone()),
        "declined" => Outcome::Refused(said_no("rejected", feedback)),
        _ => Outcome::Refused(format!("Countersign: {refused}")),
    }
}
