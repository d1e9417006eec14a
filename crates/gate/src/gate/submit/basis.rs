//! The basis on which an action may run without a question, and what is left to a person.

use countersign_core::fact::FactKind;
use countersign_core::{Judgement, Policy, Unasked, Verdict};

use crate::gate::submit::Submission;
use crate::id::ApprovalId;
use crate::permit::Basis;

/// The basis on which an action is allowed.
pub(super) struct Given {
    pub(super) by: Basis,
    /// The question that was answered, if one was.
    pub(super) approval: Option<ApprovalId>,
}

/// The name on record of an action that was allowed.
pub(super) const fn status_of(by: Basis) -> &'static str {
    match by {
        Basis::Rules => "allowed",
        Basis::Person => "approved",
        Basis::Remembered => "remembered",
        Basis::AutoConfirm | Basis::Autonomous | Basis::Program => "auto_confirmed",
        Basis::HandedOver => "handed_over",
    }
}

/// The basis of an action about which nobody is asked: its session may have left out the
/// confirmation, or an earlier answer may apply.
pub(super) fn basis(judgement: &Judgement) -> Basis {
    let mut before = Verdict::Allow;
    for step in &judgement.trace {
        if before == Verdict::Confirm
            && step.said < Verdict::Confirm
            && let Some(unasked) = step.unasked
        {
            return match unasked {
                Unasked::AutoConfirm => Basis::AutoConfirm,
                Unasked::Autonomous => Basis::Autonomous,
                Unasked::Program => Basis::Program,
                Unasked::Remembered => Basis::Remembered,
            };
        }
        before = step.said;
    }
    Basis::Rules
}

/// Reports whether an agent asks a person and nobody has answered: lowered rules and an earlier
/// approval do not answer this question. A person who started an `auto_confirm` session, or
/// switched on autonomous mode, has answered.
pub(super) fn is_left_open(submission: &Submission<'_>, policy: &Policy) -> bool {
    submission.proposal.action.is_question() && !policy.answers_questions()
}

/// Reports whether the strictest finding is about a server outside of the session's origins.
pub(super) fn is_outside_origins(judgement: &Judgement) -> bool {
    let strictest = judgement.findings.first();
    strictest.is_some_and(|finding| finding.fact == Some(FactKind::UrlForeign))
}
