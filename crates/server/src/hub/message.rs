//! The messages of the WebSocket, in the assistant's vocabulary.

use countersign_gate::gate::Card;
use countersign_gate::id::{ActionId, UserId};
use countersign_gate::secret::Secret;
use countersign_wire::{ApprovalState, Outcome};
use serde_json::{Value, json};

/// A question that waits.
pub(super) fn required(card: &Card) -> Value {
    let (app, kind) = names(&card.action);
    json!({
        "type": "app_skill_confirmation_required",
        "payload": {
            "app_skill_id": card.approval,
            "action_type": kind,
            "skill_id": card.action,
            "app_id": app,
            "description": card.description,
            "details": {
                "lines": card.details,
                "proposed": card.action_json,
                "reason": card.reason,
                "instead": card.instead,
                "risk_level": card.risk,
                "session_id": card.session,
            },
            "expires_at": card.expires_at.to_string(),
            "confirmation_token": card.token.as_ref().map(Secret::expose),
        },
    })
}

/// The app and the type of an action: `email.send` is `send_email` of `email`; a command is `shell`
/// of `shell`.
fn names(action: &str) -> (&str, String) {
    match action.split_once('.') {
        Some((app, verb)) => (app, format!("{verb}_{app}")),
        None => (action, action.to_owned()),
    }
}

/// The message that a question is settled, and how.
pub(super) fn settled(card: &Card, state: ApprovalState, by: Option<&UserId>) -> Value {
    let feedback = card.state.decision().and_then(|decision| decision.feedback.as_deref());
    let kind = match state {
        ApprovalState::Expired => "app_skill_confirmation_expired",
        ApprovalState::Done | ApprovalState::Failed | ApprovalState::Unknown => {
            "app_skill_completed"
        }
        ApprovalState::Pending
        | ApprovalState::Approved
        | ApprovalState::Rejected
        | ApprovalState::Cancelled
        | ApprovalState::Started => "app_skill_confirmation_resolved",
    };
    json!({
        "type": kind,
        "payload": {
            "app_skill_id": card.approval,
            "skill_id": card.action,
            "status": state,
            "resolved_by": by,
            "feedback": feedback,
        },
    })
}

/// The message that an action ran or failed.
pub(super) fn completed(action: &ActionId, state: Outcome) -> Value {
    json!({
        "type": "app_skill_completed",
        "payload": {
            "app_skill_id": action.approval(),
            "action_id": action,
            "status": state,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_named_by_its_app_and_what_it_does() {
        assert_eq!(names("email.send"), ("email", "send_email".to_owned()));
        assert_eq!(names("shell"), ("shell", "shell".to_owned()));
    }
}
