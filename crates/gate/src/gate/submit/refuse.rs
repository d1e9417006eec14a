//! An action is refused, and what a violation does to its session.

use std::time::Duration;

use countersign_core::Judgement;

use crate::gate::control::failed;
use crate::gate::submit::Case;
use crate::gate::{Gate, GateError};
use crate::key::ApiKey;
use crate::proposal::{Refusal, Submitted, Why};
use crate::session::{Response, Violation};
use crate::store::{Batch, CommitError, Count, CountStep};

impl Gate {
    pub(super) async fn refuse(
        &self,
        case: &Case<'_>,
        why: Why,
        judgement: Option<Judgement>,
    ) -> Result<Option<Submitted>, GateError> {
        self.refuse_for_now(case, why, judgement, None).await
    }

    /// Refuses, on record. What a violation does to the session is done here too.
    pub(super) async fn refuse_for_now(
        &self,
        case: &Case<'_>,
        why: Why,
        judgement: Option<Judgement>,
        retry_after: Option<Duration>,
    ) -> Result<Option<Submitted>, GateError> {
        let violation = match &why {
            Why::Violation(violation) => Some(*violation),
            Why::Blocked => Some(Violation::BlockedAction),
            Why::TooFast(_) => Some(Violation::RateLimit),
            Why::Halted
            | Why::NoSession
            | Why::Ended(_)
            | Why::Paused
            | Why::Scope(_)
            | Why::TooManyPending(_)
            | Why::NobodyToAsk
            | Why::Declined(_) => None,
        };
        let mut batch = Batch { epoch: Some(case.epoch), ..Batch::default() };
        batch.records.push(self.planned(case, status_of(&why), judgement.as_ref(), None)?);
        if let Some(violation) = violation {
            batch.records.push(self.violated(case, violation)?);
        }
        if let Some(key) = case.caller.key_id() {
            let step = CountStep::Up { most: u64::MAX };
            batch.counts.push(Count { key: ApiKey::counter(key, "refused"), step });
        }
        // A refused action is a step too, or an agent that is told no could try for ever. But
        // only of their own session, and of none that has ended and taken its counters along.
        let session = case.own_session().filter(|session| session.value.is_alive());
        if let (Some(session), false) = (session, violation == Some(Violation::MaxSteps)) {
            let most = session.value.most_steps().map_or(u64::MAX, u64::from);
            let step = CountStep::Up { most };
            batch.counts.push(Count { key: session.value.counter("steps"), step });
            batch.unchanged.push(session.unchanged());
        }
        match self.commit(batch).await {
            Ok(_) => {}
            Err(CommitError::Conflict { .. } | CommitError::Outdated) => return Ok(None),
            // Out of steps while being refused: that is what is told, and ends the session.
            Err(CommitError::Full { .. }) => {
                let why = Why::Violation(Violation::MaxSteps);
                return Box::pin(self.refuse(case, why, judgement)).await;
            }
            Err(error) => return Err(failed(error)),
        }
        if let Some(violation) = violation {
            self.respond(case, violation).await?;
        }
        Ok(Some(Submitted::Refused(Box::new(Refusal { why, judgement, retry_after }))))
    }

    async fn respond(&self, case: &Case<'_>, violation: Violation) -> Result<(), GateError> {
        let Some(session) = case.own_session() else { return Ok(()) };
        match violation.response() {
            Response::Wait | Response::Skip => Ok(()),
            Response::Pause => self.pause(&session.value.id).await,
            Response::End(reason) => self.end(&session.value.id, reason).await,
        }
    }
}

const fn status_of(why: &Why) -> &'static str {
    match why {
        Why::Halted => "refused_halted",
        Why::NoSession | Why::Ended(_) => "refused_no_session",
        Why::Paused => "refused_paused",
        Why::Violation(_) => "refused_limit",
        Why::Scope(_) => "refused_scope",
        Why::TooFast(_) => "refused_rate",
        Why::TooManyPending(_) => "refused_pending",
        Why::NobodyToAsk => "refused_nobody",
        Why::Declined(_) => "refused_declined",
        Why::Blocked => "blocked",
    }
}
