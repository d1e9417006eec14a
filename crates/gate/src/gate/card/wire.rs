//! The card as it is sent: to people and devices, and to an agent that asks how its question stands.

use countersign_core::action::QUESTION;
use countersign_wire::{ApprovalCard, Confirmation, Token};
use serde_json::Value;

use crate::approval::{Cancel, State};
use crate::gate::card::Card;

/// The card as it is sent to people and agents.
impl From<Card> for ApprovalCard {
    fn from(card: Card) -> Self {
        let feedback = card.state.decision().and_then(|decision| decision.feedback.clone());
        let replaced_by = match &card.state {
            State::Cancelled { why: Cancel::Replaced { by }, .. } => Some(by.to_string()),
            _ => None,
        };
        let scripts = card.scripts.iter().map(countersign_wire::Script::from);
        Self {
            approval_id: card.approval.to_string(),
            user_id: card.user.to_string(),
            workspace_id: card.workspace.to_string(),
            session_id: card.session.map(|id| id.to_string()),
            key_id: card.key.map(|id| id.to_string()),
            action: card.action,
            description: card.description,
            details: card.details,
            proposed: card.action_json,
            cwd: card.cwd,
            reasoning: card.reasoning,
            scripts: scripts.collect(),
            risk_level: card.risk,
            reason: card.reason,
            instead: card.instead,
            rules: card.rules,
            findings: card.findings,
            effects: card.effects,
            may_remember: card.may_remember,
            created_at: card.created_at.to_string(),
            expires_at: card.expires_at.to_string(),
            state: card.state.name(),
            feedback,
            need: card.need,
            have: card.have,
            others_must_agree: card.requester_excluded,
            escalated: card.escalated,
            replaces: card.replaces.map(|id| id.to_string()),
            replaced_by,
            token: card.token.map(|token| Token::new(token.expose().to_owned())),
        }
    }
}

/// The card in the words of the browser agent.
impl From<&Card> for Confirmation {
    fn from(card: &Card) -> Self {
        // An agent that asks a question has a name of its own for its subject.
        let asked = card.action_json.pointer("/params/action").and_then(Value::as_str);
        let asked = asked.filter(|_| card.action == QUESTION);
        Self {
            confirmation_id: card.approval.to_string(),
            action: asked.unwrap_or(&card.action).to_owned(),
            description: card.description.clone(),
            details: card.details.clone(),
            risk_level: card.risk,
            timeout: card.expires_at.since(card.created_at).as_secs(),
        }
    }
}
