//! What came of asking, and how it is told.

use countersign_core::{Action, Verdict};
use serde_json::Value;

use super::{Case, waiting};
use crate::client::{ClientError, Refused};
use crate::listing::field;

/// What came of asking.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// What must be asked about is agreed to; by whom, it says itself.
    Agreed(Permitted),
    /// Nothing had to be asked.
    Permitted(Permitted),
    /// No, and why.
    Refused(String),
    /// There was nobody to ask, and why: no server is there, or nobody is there to answer it.
    Nobody(String),
    /// A server is there, and why it gave no answer. An agent can bring that about: it may stop the
    /// server, or keep it busy.
    NoAnswer(String),
}

/// What was let through, for whoever can say how it went.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Permitted {
    pub(super) action: String,
    pub(super) session: Option<String>,
    /// Who or what has agreed, in the server's word.
    by: String,
    /// The action as a person wants it, where they have changed it: only that may run.
    pub(crate) edited: Option<Box<Action>>,
}

impl Permitted {
    /// How the yes came about, for the host's user.
    pub(crate) fn told(&self) -> &'static str {
        waiting::told(&self.by)
    }
}

pub(super) const OTHER_ACTION: &str =
    "Countersign: a person agreed to another action than this one, so this is refused.";

/// A yes that was used, on exactly the action that was named.
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

/// The action as a person wants it, where that is another one than was proposed.
///
/// # Errors
/// It cannot be read.
pub(super) fn edited(found: &Value, proposal: &Value) -> Result<Option<Action>, serde_json::Error> {
    let replaces = found.get("replaces").is_some_and(|replaced| !replaced.is_null());
    let wanted = found.get("proposed").unwrap_or(&Value::Null);
    if !replaces || Some(wanted) == proposal.get("action") {
        return Ok(None);
    }
    serde_json::from_value(wanted.clone()).map(Some)
}

/// What a server lets through without asking anybody. That is an answer only if it knows why we
/// ask: it may not know the project's own rules.
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
        ("expired", _) => "Countersign: nobody answered in time, and silence is a no.".to_owned(),
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
