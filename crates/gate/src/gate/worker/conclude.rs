//! Work begins, tells how it goes, and is over: by its worker's word, or because that is gone.

use countersign_wire::work::{Ended, Stream, WorkResult};
use countersign_wire::{ExecutionState, Outcome, Token};

use crate::approval::{Approval, State};
use crate::clock::Timestamp;
use crate::document::Versioned;
use crate::event::{Event, What};
use crate::gate::answer::event_of;
use crate::gate::control::failed;
use crate::gate::running::Running;
use crate::gate::worker::GRACE;
use crate::gate::worker::masked::{mapped, shown};
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::{ActionId, SessionId, WorkerId};
use crate::session::Session;
use crate::store::{Batch, Count, CountStep};
use crate::worker::job::Facts;

/// The message of a worker about something that it was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this worker was not given such an action")]
pub struct NotGivenError;

impl Gate {
    /// Notes that a worker has begun an action.
    ///
    /// # Errors
    /// It was not given to this worker.
    pub fn work_began(&self, worker: &WorkerId, id: &ActionId) -> Result<(), NotGivenError> {
        let facts = {
            let mut inside = self.workers.inside();
            let job = inside.jobs.get_mut(id).filter(|job| job.worker == *worker);
            let job = job.ok_or(NotGivenError)?;
            if job.state != ExecutionState::Sent {
                return Ok(());
            }
            job.state = ExecutionState::Running;
            job.facts(id)
        };
        let (action, key) = (id.clone(), facts.caller.key_id().cloned());
        self.tell_work(&facts, What::ActionBegan { action, key });
        Ok(())
    }

    /// Passes a piece of output on: to the agent, and redacted to people.
    ///
    /// # Errors
    /// It belongs to nothing that was given to this worker.
    pub fn work_piece(
        &self,
        worker: &WorkerId,
        id: &ActionId,
        stream: Stream,
        text: &str,
    ) -> Result<(), NotGivenError> {
        let told = {
            let mut inside = self.workers.inside();
            let job = inside.jobs.get_mut(id).filter(|job| job.worker == *worker);
            let job = job.ok_or(NotGivenError)?;
            if !job.is_with_worker() {
                return Ok(());
            }
            let lines = job.lines.of(stream).add(text);
            lines.map(|lines| (job.facts(id), lines))
        };
        if let Some((facts, lines)) = told {
            self.tell_piece(&facts, stream, &lines);
        }
        Ok(())
    }

    fn tell_piece(&self, facts: &Facts, stream: Stream, lines: &str) {
        let plain = self.vault.masked(&facts.session, lines);
        let shown = {
            let mut inside = self.workers.inside();
            let Some(job) = inside.jobs.get_mut(&facts.id) else { return };
            job.lines.of(stream).masked(&plain)
        };
        let (action, key) = (facts.id.clone(), facts.caller.key_id().cloned());
        let plain = Token::new(plain);
        self.tell_work(facts, What::ActionPiece { action, key, stream, shown, plain });
    }

    /// Records that an action is over, as its worker says. A second word about it changes nothing.
    ///
    /// # Errors
    /// It was not given to this worker, or the store failed.
    pub async fn work_ended(
        &self,
        worker: &WorkerId,
        id: &ActionId,
        result: WorkResult,
    ) -> Result<(), EndError> {
        let rest = {
            let mut inside = self.workers.inside();
            let job = inside.jobs.get_mut(id).filter(|job| job.worker == *worker);
            let job = job.ok_or(NotGivenError)?;
            if !job.is_with_worker() {
                return Ok(());
            }
            let rest = [Stream::Output, Stream::Errors].map(|it| (it, job.lines.of(it).end()));
            (job.facts(id), rest)
        };
        let (facts, rest) = rest;
        for (stream, line) in rest {
            if let Some(line) = line {
                self.tell_piece(&facts, stream, &line);
            }
        }
        Ok(self.conclude(id, result.ended.into(), result).await?)
    }

    /// Ends work that was never handed out.
    pub(super) async fn not_begun(
        &self,
        id: &ActionId,
        name: &str,
        why: &str,
    ) -> Result<(), GateError> {
        let result = WorkResult::because(Ended::Failed, name, why);
        self.conclude(id, ExecutionState::Failed, result).await
    }

    /// Settles what a worker has left: what it was sent is unknown, for nobody can tell how far it
    /// came.
    pub(super) async fn leave_behind(&self, left: Vec<ActionId>) -> Result<(), GateError> {
        for id in left {
            let state = self.workers.inside().jobs.get(&id).map(|job| job.state);
            if state == Some(ExecutionState::Queued) {
                self.not_begun(&id, "NotSent", "the worker went before it was sent").await?;
            } else {
                self.lose(&id, "the worker is gone").await?;
            }
        }
        Ok(())
    }

    async fn lose(&self, id: &ActionId, why: &str) -> Result<(), GateError> {
        let result = WorkResult::because(Ended::Failed, "Unknown", why);
        self.conclude(id, ExecutionState::Unknown, result).await
    }

    /// Stops work whose time is over, and gives up on a worker that does not end it.
    pub(super) async fn sweep_work(&self, now: Timestamp) -> Result<(), GateError> {
        let overdue: Vec<_> = {
            let mut inside = self.workers.inside();
            inside.stop("its time is over", |job| job.is_overdue(now) && job.stopping.is_none());
            let lost = inside
                .jobs
                .iter()
                .filter(|(_, job)| job.is_with_worker() && job.is_overdue(now.before(GRACE)));
            lost.map(|(id, _)| id.clone()).collect()
        };
        for id in overdue {
            self.lose(&id, "the worker did not end it in time").await?;
        }
        Ok(())
    }

    /// Keeps the end of an action, with its record; the first end counts.
    pub(super) async fn conclude(
        &self,
        id: &ActionId,
        state: ExecutionState,
        result: WorkResult,
    ) -> Result<(), GateError> {
        let plain = {
            let inside = self.workers.inside();
            let Some(job) = inside.jobs.get(id).filter(|job| !job.is_over()) else {
                return Ok(());
            };
            mapped(result, &|text| self.vault.masked(&job.session, text))
        };
        let shown = shown(&plain);
        let facts = {
            let mut inside = self.workers.inside();
            let Some(job) = inside.jobs.get_mut(id).filter(|job| !job.is_over()) else {
                return Ok(());
            };
            let facts = job.facts(id);
            job.keep(state, plain, shown.clone());
            inside.note_over(id);
            facts
        };
        let recorded = self.record_end(&facts, state, &shown).await;
        let (action, key) = (id.clone(), facts.caller.key_id().cloned());
        self.tell_work(&facts, What::ActionEnded { action, key, state });
        recorded
    }

    async fn record_end(
        &self,
        facts: &Facts,
        state: ExecutionState,
        shown: &WorkResult,
    ) -> Result<(), GateError> {
        let outcome = outcome_of(state);
        for _ in 0..TRIES {
            let mut batch =
                Batch { records: self.end_records(facts, state, shown)?, ..Batch::default() };
            let approval = facts.id.approval();
            let approval: Option<Versioned<Approval>> = self.get(approval.as_str()).await?;
            let mut settled = None;
            if let Some(versioned) = &approval {
                if let Some(next) = self.settled_by(&versioned.value, outcome) {
                    let next = versioned.value.with(next);
                    batch.writes.push(versioned.replace(&next)?);
                    settled = Some(next);
                }
            } else if let Some(running) = self.get::<Running>(facts.id.as_str()).await? {
                batch.writes.push(running.delete());
            }
            let session: Option<Versioned<Session>> = self.get(facts.session.as_str()).await?;
            let session = session.map(|versioned| versioned.value);
            let alive = session.as_ref().filter(|session| session.is_alive());
            if let (Some(Outcome::Failed), Some(session)) = (outcome, alive) {
                let step = CountStep::Up { most: u64::MAX };
                batch.counts.push(Count { key: session.counter("errors"), step });
            }
            match self.commit(batch).await {
                Ok(_) => {
                    match outcome {
                        Some(outcome) => self.tell_report(&facts.caller, &facts.id, outcome),
                        None => self.tell_unknown(settled.as_ref()),
                    }
                    return Box::pin(self.end_after_errors(session)).await;
                }
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(GateError::Busy)
    }

    /// The next state of the approval that was spent, if its state is not settled otherwise.
    fn settled_by(&self, approval: &Approval, outcome: Option<Outcome>) -> Option<State> {
        let (state, now) = (approval.state.clone(), self.now());
        match outcome {
            Some(outcome) => state.report(outcome, now),
            None => state.lose(now),
        }
        .ok()
    }

    fn tell_unknown(&self, settled: Option<&Approval>) {
        if let Some(approval) = settled {
            let (id, state) = (approval.request.id.clone(), approval.state.name());
            let what = What::ApprovalSettled { approval: id, state, by: None };
            self.bus.tell(event_of(approval, what));
        }
    }

    fn tell_work(&self, facts: &Facts, what: What) {
        self.bus.tell(Event {
            user: Some(facts.caller.user.clone()),
            workspace: Some(facts.caller.workspace.clone()),
            session: Some(facts.session.clone()),
            what,
        });
    }

    /// Ends the work of a session.
    pub(in crate::gate) fn end_work(&self, id: &SessionId, why: &str) {
        self.workers.end_session(id, why);
    }
}

/// The reason for which the end of an action is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// It was not given to this worker.
    #[error(transparent)]
    NotGiven(#[from] NotGivenError),
    /// The gate failed.
    #[error(transparent)]
    Gate(#[from] GateError),
}

/// The outcome by which an end is reported; none where nobody knows.
const fn outcome_of(state: ExecutionState) -> Option<Outcome> {
    match state {
        ExecutionState::Done => Some(Outcome::Done),
        ExecutionState::Failed
        | ExecutionState::TimedOut
        | ExecutionState::Stopped
        | ExecutionState::Refused => Some(Outcome::Failed),
        ExecutionState::Queued
        | ExecutionState::Sent
        | ExecutionState::Running
        | ExecutionState::Unknown => None,
    }
}
