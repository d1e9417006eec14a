//! Answers in which a person edits the action.

use countersign_core::{Action, Context, Judgement, Verdict};
use serde_json::json;

use crate::approval::{Answer, Approval, Cancel, Details, Question, Quorum, Scope, Shown};
use crate::audit::{self, Draft};
use crate::caller::Person;
use crate::document::{self, Versioned};
use crate::event::What;
use crate::gate::answer::{AnswerError, Answered, PersonAnswer, event_of, late, owner_of};
use crate::gate::control::failed;
use crate::gate::{Gate, GateError, is_conflict};
use crate::id::ApprovalId;
use crate::judging::Lane;
use crate::proposal::binding;
use crate::redacted;
use crate::store::{Batch, Unchanged};

impl Gate {
    /// Applies an edit. The edited action is judged again. If it is not riskier, of the same kind
    /// and needs the same people, it is bound and approved in place of the old one; otherwise a new
    /// question is asked. Either way the old question is settled.
    pub(super) async fn edit(
        &self,
        person: &Person,
        reply: &PersonAnswer,
        versioned: &Versioned<Approval>,
        details: &Details,
        edited: &Action,
        rests_on: Vec<Unchanged>,
    ) -> Result<Option<Answered>, AnswerError> {
        let old = &versioned.value;
        let now = self.now();
        if !old.state.is_pending() || now >= old.request.expires_at {
            return Err(late(old, now));
        }
        // The agent must get back exactly the person's text, and a secret is never stored.
        let plain = serde_json::to_value(edited).map_err(|_| AnswerError::EditedHasSecrets)?;
        if redacted::shown_action(edited) != plain {
            return Err(AnswerError::EditedHasSecrets);
        }
        let (judgement, shown) = self.judged_edit(person, old, details, edited).await?;
        let new = self.ask_about(old, details, edited, shown, &judgement).await?;
        let fresh = new.request.action != old.request.action
            || new.request.risk > old.request.risk
            || new.request.quorum != old.request.quorum;
        let cancelled = old
            .state
            .clone()
            .cancel(Cancel::Replaced { by: new.request.id.clone() }, now)
            .map_err(|_| AnswerError::Settled(old.state.as_str()))?;
        let over = old.with(cancelled);
        // One question goes and one comes: the number of pending ones stays the same.
        let batch = Batch {
            unchanged: rests_on,
            writes: vec![versioned.replace(&over)?, document::insert(&new)?],
            records: vec![self.edit_record(person, &over, &new)?],
            ..Batch::default()
        };
        match self.commit(batch).await {
            Ok(_) => {}
            Err(error) if is_conflict(&error) => return Ok(None),
            Err(error) => return Err(failed(error).into()),
        }
        self.expect_asker(&new);
        let id = self.tell_edit(person, &over, &new);
        if fresh {
            return Ok(Some(Answered::AskedAgain(id)));
        }
        let reply = PersonAnswer {
            approval: id,
            say: Answer::Approve,
            scope: Scope::Once,
            feedback: reply.feedback.clone(),
            token: None,
            edited: None,
        };
        Box::pin(self.try_answer(person, &reply)).await.map(Some)
    }

    /// Judges the edited action, and says how it is shown.
    async fn judged_edit(
        &self,
        person: &Person,
        old: &Approval,
        details: &Details,
        edited: &Action,
    ) -> Result<(Judgement, Shown), AnswerError> {
        let policy = self.policy_in(&old.request.workspace);
        let lane = Lane::of_person(person);
        let context = &details.context;
        let judgement =
            self.judge(&lane, edited, &policy, context).await.map_err(GateError::from)?;
        if judgement.verdict == Verdict::Block {
            return Err(AnswerError::EditedIsBlocked(redacted::text(&judgement.reason)));
        }
        let (told, reasoning) = (judgement.clone(), details.reasoning.clone());
        let shown = move |edited: &_, policy: &_, context: &Context| {
            Shown::of(edited, &told, policy, context.clone(), reasoning)
        };
        let shown =
            self.apart(&lane, edited, &policy, context, shown).await.map_err(GateError::from)?;
        Ok((judgement, shown))
    }

    /// The question about the edited action. It expires no later than the old one.
    async fn ask_about(
        &self,
        old: &Approval,
        details: &Details,
        edited: &Action,
        mut shown: Shown,
        judgement: &Judgement,
    ) -> Result<Approval, AnswerError> {
        let now = self.now();
        // Editing must not bypass the people who must agree to the edited action.
        let lane = Lane::Person(old.request.user.clone());
        let needed = self.quorum_for(&lane, edited, &details.context, judgement, now).await;
        let (needed, _) = needed.map_err(GateError::from)?;
        let quorum = old.request.quorum.stricter(needed);
        shown.may_remember &= quorum == Quorum::default();
        let question = Question {
            id: ApprovalId::draw(&self.clock)?,
            user: old.request.user.clone(),
            workspace: old.request.workspace.clone(),
            session: old.request.session.clone(),
            key: old.request.key.clone(),
            action: edited,
            // The scripts are the ones that were read for the old question.
            digest: &binding(&judgement.digest, &details.scripts),
            scripts: &details.scripts,
            replaces: Some(old.request.id.clone()),
            risk: judgement.risk.level,
            created_at: now,
            expires_at: old.request.expires_at,
            escalate_at: old.request.escalate_at,
            quorum,
            attended: old.request.attended,
            run: old.request.run,
            shown,
        };
        let new = Approval::ask(question, &self.keyring, &self.clock)?;
        Ok(if old.escalated { new.escalate() } else { new })
    }

    fn tell_edit(&self, person: &Person, over: &Approval, new: &Approval) -> ApprovalId {
        let replaced = What::ApprovalSettled {
            approval: over.request.id.clone(),
            state: over.state.name(),
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
        self.record(audit::Event::Approval, owner_of(old), &payload)
    }
}
