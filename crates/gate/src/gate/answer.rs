//! Answers of people: from any of their devices, once.
//!
//! These may answer: the person for whom the agent works, unless others must agree; members of the
//! workspace where others must; its admins once a question has escalated; super admins any
//! question. The agent itself may never: not with its key (a key never makes a [`Person`]), not
//! from its process tree, not as the user it runs as.

use countersign_core::Action;
use serde_json::json;

use crate::approval::{
    Answer, Approval, CheckedAnswer, Details, Quorum, Requester, Scope, State, Vote,
};
use crate::audit::{self, Draft, RecordOwner};
use crate::caller::Person;
use crate::clock::Timestamp;
use crate::document::Versioned;
use crate::event::{Event, What};
use crate::gate::control::failed;
use crate::gate::join::join;
use crate::gate::rights::{Counting, is_called};
use crate::gate::submit::{answers_key, pending_key};
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::ApprovalId;
use crate::process::{Descent, descends_from};
use crate::redacted;
use crate::secret::Secret;
use crate::session::Session;
use crate::store::{Batch, Count, CountStep, Unchanged};

mod edit;
mod error;

pub use error::AnswerError;

/// A person's answer to one question.
#[derive(Debug)]
pub struct PersonAnswer {
    /// The question.
    pub approval: ApprovalId,
    /// The answer.
    pub say: Answer,
    /// The reach of an approval.
    pub scope: Scope,
    /// A message to the agent.
    pub feedback: Option<String>,
    /// The token that was sent to the device, if it was sent there.
    pub token: Option<Secret>,
    /// The action as edited by the person.
    pub edited: Option<Action>,
}

impl PersonAnswer {
    /// An answer without further fields.
    #[must_use]
    pub const fn plain(approval: ApprovalId, say: Answer) -> Self {
        Self { approval, say, scope: Scope::Once, feedback: None, token: None, edited: None }
    }
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// The approval is settled, and now in this state.
    Settled(State),
    /// The answer counts, and more people must agree.
    Counted {
        /// The number of people who have agreed.
        have: usize,
        /// The number of people who must agree.
        need: u8,
    },
    /// The edited action is riskier, of another kind or needs other people: a new question was
    /// asked, with this id.
    AskedAgain(ApprovalId),
}

impl Gate {
    /// Records a person's answer.
    ///
    /// # Errors
    /// The answer is refused; the error says why. Every refusal is recorded.
    pub async fn answer(
        &self,
        person: &Person,
        reply: PersonAnswer,
    ) -> Result<Answered, AnswerError> {
        let answered = self.try_answer(person, &reply).await;
        if let Err(error) = &answered {
            self.record_refusal(person, &reply, error).await?;
        }
        answered
    }

    /// Records the answers to a group: each by its own token, each with its own result. An invalid
    /// answer does not affect the others.
    ///
    /// # Errors
    /// The group is empty: that approves nothing, rather than everything.
    pub async fn answer_all(
        &self,
        person: &Person,
        replies: Vec<PersonAnswer>,
    ) -> Result<Vec<(ApprovalId, Result<Answered, AnswerError>)>, AnswerError> {
        if replies.is_empty() {
            return Err(AnswerError::NoneNamed);
        }
        Ok(join(replies.into_iter().map(async |reply| {
            let id = reply.approval.clone();
            (id, self.answer(person, reply).await)
        }))
        .await)
    }

    async fn try_answer(
        &self,
        person: &Person,
        reply: &PersonAnswer,
    ) -> Result<Answered, AnswerError> {
        for _ in 0..TRIES {
            let control = self.control().await?;
            if control.value.halted {
                return Err(AnswerError::Halted);
            }
            // The person may have connected days ago: only their current rights count.
            let (person, mut rests_on) = self.person_now(person).await?;
            rests_on.push(control.unchanged());
            let person = &person;
            let versioned: Versioned<Approval> =
                self.get(reply.approval.as_str()).await?.ok_or(AnswerError::NotFound)?;
            self.may_answer(person, &versioned.value, reply).await?;
            let details = versioned.value.open(&self.keyring)?;
            // A rejection is always accepted, whatever its scope.
            if reply.say == Answer::Approve && !may_reach(reply.scope, &versioned.value, &details) {
                return Err(AnswerError::NotForAlways);
            }
            let answered = match (&reply.edited, reply.say) {
                (Some(edited), Answer::Approve) => {
                    self.edit(person, reply, &versioned, &details, edited, rests_on).await?
                }
                (_, Answer::Approve | Answer::Reject) => {
                    self.settle(person, reply, &versioned, &details, rests_on).await?
                }
            };
            if let Some(answered) = answered {
                return Ok(answered);
            }
        }
        Err(GateError::Busy.into())
    }

    /// Checks that this person may answer this question, from their connection and with their
    /// token.
    async fn may_answer(
        &self,
        person: &Person,
        approval: &Approval,
        reply: &PersonAnswer,
    ) -> Result<(), AnswerError> {
        let request = &approval.request;
        let mine = request.user == person.user().id;
        let others = request.quorum.requester == Requester::Excluded;
        if !is_called(person.user(), approval) {
            return Err(AnswerError::NotFound);
        }
        if reply.token.as_ref().is_some_and(|token| !token.matches(&request.token)) {
            return Err(AnswerError::Token);
        }
        // A rejection is always accepted, also from the person the agent works for.
        if mine && others && reply.say == Answer::Approve {
            return Err(AnswerError::OthersMustAgree);
        }
        if reply.say == Answer::Approve && self.needs_device(person).await? {
            return Err(AnswerError::NeedsDevice);
        }
        self.not_from_the_agent(person, approval).await
    }

    async fn not_from_the_agent(
        &self,
        person: &Person,
        approval: &Approval,
    ) -> Result<(), AnswerError> {
        if self.is_an_agents(person.peer) {
            return Err(AnswerError::FromTheAgent);
        }
        let (Some(peer), Some(session)) = (&person.peer, &approval.request.session) else {
            return Ok(());
        };
        let session: Option<Versioned<Session>> = self.get(session.as_str()).await?;
        let Some(agent) = session.and_then(|session| session.value.plan.process) else {
            return Ok(());
        };
        let processes = &*self.processes;
        let own = processes.owner(std::process::id());
        let runs_as = processes.owner(agent.pid);
        // If agents run as a user of their own, no process of that user can answer.
        let as_agent = runs_as.is_some_and(|uid| uid == peer.uid) && runs_as != own;
        // A process whose ancestors cannot be determined may be the agent's child.
        if as_agent || descends_from(peer.pid, &agent, processes) != Descent::Outside {
            return Err(AnswerError::FromTheAgent);
        }
        Ok(())
    }

    /// Settles the approval, or counts one more vote. Returns `None` if something else changed it
    /// first: read again.
    async fn settle(
        &self,
        person: &Person,
        reply: &PersonAnswer,
        versioned: &Versioned<Approval>,
        details: &Details,
        rests_on: Vec<Unchanged>,
    ) -> Result<Option<Answered>, AnswerError> {
        let approval = &versioned.value;
        let now = self.now();
        let mut batch = Batch { unchanged: rests_on, ..Batch::default() };
        let standing = self.with_counting_votes(approval, &mut batch).await?;
        let answer = CheckedAnswer {
            say: reply.say,
            vote: Vote::sign(
                person.user().id.clone(),
                person.device.clone(),
                now,
                approval.signature(),
                &self.keyring,
            ),
            scope: reply.scope,
            feedback: reply.feedback.as_deref().map(redacted::text),
            until: now.after(self.config.spend_within()),
        };
        let state = standing
            .answer(&approval.request, approval.signature(), answer, &self.keyring)
            .map_err(|_| late(approval, now))?;
        let next = approval.with(state);
        batch.writes.push(versioned.replace(&next)?);
        batch.records.push(self.answer_record(person, &next, reply)?);
        if let Some(decision) = next.state.decision() {
            batch.counts.push(settled_count(&next));
            let what = match decision.say {
                Answer::Approve => "approved",
                Answer::Reject => "rejected",
            };
            let agent = self.line_of(next.request.key.as_ref()).await?;
            let key = answers_key(&next.request.user, agent.as_ref(), what);
            batch.counts.push(Count { key, step: CountStep::Up { most: u64::MAX } });
            batch.writes.extend(match decision.say {
                Answer::Approve => self.remember(&next, details, decision).await?,
                Answer::Reject => self.decline(&next, decision).await?,
            });
        }
        match self.commit(batch).await {
            Ok(_) => Ok(Some(self.tell_answer(person, &next))),
            Err(error) if is_conflict(&error) => Ok(None),
            Err(error) => Err(failed(error).into()),
        }
    }

    /// The state with the votes of the people who may still answer. A person who was disabled, or
    /// has left the workspace, no longer counts.
    async fn with_counting_votes(
        &self,
        approval: &Approval,
        batch: &mut Batch,
    ) -> Result<State, AnswerError> {
        let State::Pending { votes } = &approval.state else { return Ok(approval.state.clone()) };
        let Counting { votes, unchanged } = self.counting(approval, votes).await?;
        batch.unchanged.extend(unchanged);
        Ok(State::Pending { votes })
    }

    fn tell_answer(&self, person: &Person, approval: &Approval) -> Answered {
        let request = &approval.request;
        let (what, answered) = match &approval.state {
            State::Pending { votes } => (
                What::ApprovalVoted { approval: request.id.clone() },
                Answered::Counted { have: votes.len(), need: request.quorum.need },
            ),
            state => (
                What::ApprovalSettled {
                    approval: request.id.clone(),
                    state: state.name(),
                    by: Some(person.user().id.clone()),
                },
                Answered::Settled(state.clone()),
            ),
        };
        self.bus.tell(event_of(approval, what));
        answered
    }

    fn answer_record(
        &self,
        person: &Person,
        approval: &Approval,
        reply: &PersonAnswer,
    ) -> Result<Draft, GateError> {
        let payload = json!({
            "approval": approval.request.id,
            "response": reply.say,
            "state": approval.state.as_str(),
            "by": person.user().id,
            "device": person.device,
            "scope": reply.scope,
            "note": reply.feedback.as_deref().map(redacted::text),
        });
        self.record(audit::Event::Approval, owner_of(approval), &payload)
    }

    async fn record_refusal(
        &self,
        person: &Person,
        reply: &PersonAnswer,
        error: &AnswerError,
    ) -> Result<(), GateError> {
        let payload = json!({
            "approval": reply.approval,
            "by": person.user().id,
            "why": error.to_string(),
        });
        let record_owner =
            RecordOwner { owner: Some(person.user().id.to_string()), ..RecordOwner::default() };
        let record = self.record(audit::Event::AnswerRefused, record_owner, &payload)?;
        let batch = Batch { records: vec![record], ..Batch::default() };
        self.commit(batch).await.map_err(failed)?;
        Ok(())
    }
}

/// Reports whether an approval may have this scope. An action that takes several people, or others
/// than the one for whom the agent works, takes them each time: the last of them cannot speak for
/// all. A critical action, or one that always asks, is asked each time too.
fn may_reach(scope: Scope, approval: &Approval, details: &Details) -> bool {
    match scope {
        Scope::Once => true,
        Scope::Session | Scope::Always | Scope::Everywhere => {
            approval.request.quorum == Quorum::default() && details.may_remember
        }
    }
}

/// The error for an answer that comes too late.
fn late(approval: &Approval, now: Timestamp) -> AnswerError {
    let over = approval.state.is_pending() && now >= approval.request.expires_at;
    AnswerError::Settled(if over { "expired" } else { approval.state.as_str() })
}

/// The write that counts one pending question less for the person.
pub(super) fn settled_count(approval: &Approval) -> Count {
    Count { key: pending_key(&approval.request.user), step: CountStep::Down }
}

pub(super) fn owner_of(approval: &Approval) -> RecordOwner {
    RecordOwner {
        owner: Some(approval.request.user.to_string()),
        workspace: Some(approval.request.workspace.to_string()),
        session: approval.request.session.as_ref().map(ToString::to_string),
    }
}

pub(super) fn event_of(approval: &Approval, what: What) -> Event {
    Event {
        user: Some(approval.request.user.clone()),
        workspace: Some(approval.request.workspace.clone()),
        session: approval.request.session.clone(),
        what,
    }
}
