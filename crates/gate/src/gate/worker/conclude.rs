//! Work begins, tells how it goes, and is over: by its worker's word, or because that is gone.

use countersign_wire::work::{Ended, Output, Stream, WorkResult};
use countersign_wire::{ExecutionState, Outcome, Token};
use serde_json::{Value, json};

use crate::approval::{Approval, State};
use crate::audit::{self, Draft, RecordOwner};
use crate::clock::Timestamp;
use crate::document::Versioned;
use crate::event::{Event, What};
use crate::gate::answer::event_of;
use crate::gate::control::failed;
use crate::gate::running::Running;
use crate::gate::worker::GRACE;
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::{ActionId, SessionId, WorkerId};
use crate::redacted;
use crate::session::Session;
use crate::store::{Batch, Count, CountStep};
use crate::worker::job::Facts;

/// The most characters of a stack trace that are recorded.
const MOST_OF_STACK: usize = 8_000;

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

    fn end_records(
        &self,
        facts: &Facts,
        state: ExecutionState,
        shown: &WorkResult,
    ) -> Result<Vec<Draft>, GateError> {
        let record_owner = RecordOwner {
            owner: Some(facts.caller.user.to_string()),
            workspace: Some(facts.caller.workspace.to_string()),
            session: Some(facts.session.to_string()),
        };
        let stopped_for = facts.stopping.as_deref().map(redacted::text);
        let payload = json!({
            "id": facts.id,
            "status": state.as_str(),
            "key": facts.caller.key_id(),
            "worker": facts.worker,
            "code": shown.code,
            "took_ms": shown.took_ms,
            "stopped_for": stopped_for,
        });
        let owner = record_owner.clone();
        let mut records = vec![self.record(audit::Event::ActionExecuted, owner, &payload)?];
        if state == ExecutionState::TimedOut {
            let most = std::time::Duration::from_secs(facts.seconds.into());
            let times = (most, self.now().since(facts.given_at));
            let owner = record_owner.clone();
            let limit = if facts.kind == "download" { "download_seconds" } else { "step_seconds" };
            records.push(self.overdue(owner, &facts.id, &facts.action, limit, times)?);
        }
        if let Some(error) = &shown.error {
            let stack = error.stack.as_deref();
            let stack: Option<String> =
                stack.map(|stack| stack.chars().take(MOST_OF_STACK).collect());
            let payload = json!({
                "id": facts.id,
                "name": error.name,
                "message": error.message,
                "stack": stack,
            });
            records.push(self.record(audit::Event::Error, record_owner, &payload)?);
        }
        Ok(records)
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

/// The result with every text of it changed.
fn mapped(result: WorkResult, how: &dyn Fn(&str) -> String) -> WorkResult {
    let output = |output: Output| Output {
        head: how(&output.head),
        tail: how(&output.tail),
        left_out: output.left_out,
    };
    WorkResult {
        output: output(result.output),
        errors: output(result.errors),
        value: mapped_value(result.value, how),
        files: result
            .files
            .into_iter()
            .map(|file| countersign_wire::work::WorkFile { name: how(&file.name), ..file })
            .collect(),
        error: result.error.map(|error| countersign_wire::work::WorkError {
            name: how(&error.name),
            message: how(&error.message),
            stack: error.stack.map(|stack| how(&stack)),
        }),
        ..result
    }
}

fn mapped_value(value: Value, how: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(how(&text)),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| mapped_value(item, how)).collect())
        }
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (how(&name), mapped_value(value, how)))
                .collect(),
        ),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
    }
}

/// The result with secrets and personal data masked.
fn shown(plain: &WorkResult) -> WorkResult {
    let whole_lines = |output: &Output| {
        if output.left_out == 0 {
            return output.clone();
        }
        // A secret at the gap would be cut in two, and neither part looks like one.
        let head = output.head.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let tail = output.tail.split_once('\n').map_or("", |(_, lines)| lines);
        Output { head: head.to_owned(), tail: tail.to_owned(), left_out: output.left_out }
    };
    let result = WorkResult {
        output: whole_lines(&plain.output),
        errors: whole_lines(&plain.errors),
        value: redacted::value(&plain.value),
        ..plain.clone()
    };
    mapped(result, &redacted::text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_any_part_of_a_result_is_masked() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let text = || Output { head: format!("a {key}"), ..Output::EMPTY };
        let mut result = WorkResult::because(Ended::Failed, "Error", format!("it said {key}"));
        (result.output, result.errors) = (text(), text());
        result.value = json!({"list": [{"x": key}]});
        assert!(serde_json::to_string(&result).unwrap().contains(&key));
        assert!(!serde_json::to_string(&shown(&result)).unwrap().contains(&key));
    }

    #[test]
    fn a_secret_at_the_gap_of_an_output_is_left_out() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let (one, other) = key.split_at(9);
        let head = format!("first\n{one}");
        let tail = format!("{other}\nlast");
        let mut result = WorkResult::of(Ended::Done);
        result.output = Output { head, tail, left_out: 7 };
        let Output { head, tail, left_out } = shown(&result).output;
        assert_eq!((head.as_str(), tail.as_str(), left_out), ("first", "last", 7));
    }
}
