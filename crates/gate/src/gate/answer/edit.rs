//! A person wants the action otherwise.

use countersign_core::{Action, Judgement, Policy, Verdict, judge};
use serde_json::json;

use crate::approval::{self, Approval, Cancel, Details, Question, Say, Scope, Shown};
use crate::audit::{self, Draft};
use crate::caller::Person;
use crate::document::{self, Held};
use crate::event::What;
use crate::gate::answer::{AnswerError, Answered, Reply, event_of, late, subject_of};
use crate::gate::control::failed;
use crate::gate::{Gate, GateError, is_conflict};
use crate::id::ApprovalId;
use crate::proposal::binding;
use crate::redacted;
use crate::store::{Batch, Unchanged};

impl Gate {
    /// The person wants it otherwise. The edited action is judged again. If it is no riskier and
    /// the same kind of thing, it is bound and approved in the old one's place; else it is asked
    /// about anew. Either way the old question is over.
    pub(super) async fn edit(
        &self,
        person: &Person,
        reply: &Reply,
        held: &Held<Approval>,
        details: &Details,
        edited: &Action,
        control: Unchanged,
    ) -> Result<Option<Answered>, AnswerError> {
        let old = &held.value;
        let now = self.now();
        if !old.state.is_pending() || now >= old.request.expires_at {
            return Err(late(old, now));
        }
        // The agent must get back exactly what the person wrote, and no secret is ever kept.
        let plain = serde_json::to_value(edited).map_err(|_| AnswerError::EditedHasSecrets)?;
        if redacted::shown_action(edited) != plain {
            return Err(AnswerError::EditedHasSecrets);
        }
        let policy = self.policy();
        let judgement = judge(edited, &policy, &details.context);
        if judgement.verdict == Verdict::Block {
            return Err(AnswerError::EditedIsBlocked(redacted::text(&judgement.reason)));
        }
        let new = self.ask_about(old, details, edited, &policy, &judgement)?;
        let same_thing = new.request.action == old.request.action;
        let fresh = !same_thing
            || new.request.risk > old.request.risk
            || new.request.quorum != old.request.quorum;
        let cancelled = old
            .state
            .clone()
            .cancel(Cancel::Replaced { by: new.request.id.clone() }, now)
            .map_err(|_| AnswerError::Settled(old.state.as_str()))?;
        let over = old.with(cancelled);
        // One question goes and one comes: as many wait as before.
        let batch = Batch {
            unchanged: vec![control],
            writes: vec![held.replace(&over)?, document::insert(&new)?],
            records: vec![self.edit_record(person, &over, &new)?],
            ..Batch::default()
        };
        match self.commit(batch).await {
            Ok(_) => {}
            Err(error) if is_conflict(&error) => return Ok(None),
            Err(error) => return Err(failed(error).into()),
        }
        let id = self.tell_edit(person, &over, &new);
        if fresh {
            return Ok(Some(Answered::AskedAgain(id)));
        }
        let reply = Reply {
            approval: id,
            say: Say::Approve,
            scope: Scope::Once,
            feedback: reply.feedback.clone(),
            token: None,
            edited: None,
        };
        Box::pin(self.try_answer(person, &reply)).await.map(Some)
    }

    /// The question about the edited action. It waits no longer than the old one would have.
    fn ask_about(
        &self,
        old: &Approval,
        details: &Details,
        edited: &Action,
        policy: &Policy,
        judgement: &Judgement,
    ) -> Result<Approval, AnswerError> {
        let (context, reasoning) = (details.context.clone(), details.reasoning.clone());
        let now = self.now();
        // Editing is no way around those who must agree to what it has become.
        let (needed, _) = approval::quorum(&self.config.quorum, judgement, now);
        let question = Question {
            id: ApprovalId::draw(&self.clock)?,
            user: old.request.user.clone(),
            workspace: old.request.workspace.clone(),
            session: old.request.session.clone(),
            key: old.request.key.clone(),
            action: edited,
            // The scripts are still the ones that were looked at.
            digest: &binding(&judgement.digest, &details.scripts),
            scripts: &details.scripts,
            replaces: Some(old.request.id.clone()),
            risk: judgement.risk.level,
            created_at: now,
            expires_at: old.request.expires_at,
            escalate_at: old.request.escalate_at,
            quorum: old.request.quorum.stricter(needed),
            shown: Shown::of(edited, judgement, policy, context, reasoning),
        };
        let new = Approval::ask(question, &self.keyring, &self.clock)?;
        Ok(if old.escalated { new.escalate() } else { new })
    }

    fn tell_edit(&self, person: &Person, over: &Approval, new: &Approval) -> ApprovalId {
        let replaced = What::ApprovalSettled {
            approval: over.request.id.clone(),
            state: over.state.as_str(),
            by: Some(person.user().id.clone()),
        };
        self.bus.tell(event_of(over, replaced));
        let id = new.request.id.clone();
        self.bus.tell(event_of(new, What::ApprovalRequired { approval: id.clone() }));
        id
    }

    fn edit_record(
        &self,
        person: &Person,
        old: &Approval,
        new: &Approval,
    ) -> Result<Draft, GateError> {
        let payload = json!({
            "approval": old.request.id,
            "response": "edit",
            "state": old.state.as_str(),
            "by": person.user().id,
            "replaced_by": new.request.id,
            "risk": new.request.risk,
        });
        self.record(audit::Event::Approval, subject_of(old), &payload)
    }
}
