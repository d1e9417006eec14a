//! Refusal of an action, and the effect of a violation on its session.

use std::time::Duration;

use countersign_core::Judgement;

use crate::clock::Timestamp;
use crate::gate::control::failed;
use crate::gate::submit::{Submission, pending_key};
use crate::gate::{Gate, GateError};
use crate::key::ApiKey;
use crate::proposal::{Refusal, Submitted, Why};
use crate::rate::Rate;
use crate::session::{Hit, Response, Session, Violation};
use crate::store::{Batch, CommitError, Count, CountStep};

impl Gate {
    pub(super) async fn refuse(
        &self,
        submission: &Submission<'_>,
        why: Why,
        judgement: Option<Judgement>,
    ) -> Result<Option<Submitted>, GateError> {
        self.refuse_for_now(submission, why, judgement, None).await
    }

    /// Refuses an action and records it. Also applies the effect of a violation to the session.
    pub(super) async fn refuse_for_now(
        &self,
        submission: &Submission<'_>,
        why: Why,
        judgement: Option<Judgement>,
        retry_after: Option<Duration>,
    ) -> Result<Option<Submitted>, GateError> {
        let violation = violation_of(&why);
        let hit = self.hit(submission, &why).await?;
        let mut batch = Batch { epoch: Some(submission.epoch), ..Batch::default() };
        batch.records.push(self.planned(submission, status_of(&why), judgement.as_ref(), None)?);
        // A session that has reached its time limit records its violation when it ends, once.
        if let Some(violation) = violation.filter(|violation| *violation != Violation::Timeout) {
            batch.records.push(self.violated(
                submission,
                violation,
                &why,
                hit,
                judgement.as_ref(),
            )?);
        }
        if let Some(key) = submission.caller.key_id() {
            let step = CountStep::Up { most: u64::MAX };
            batch.counts.push(Count { key: ApiKey::counter(key, "refused"), step });
        }
        // A refused action is a step too; otherwise a refused agent could try for ever. But it
        // counts only in the caller's own session, and not in an ended one, whose counters are
        // released.
        let session = submission.own_session().filter(|session| session.value.is_alive());
        if let (Some(session), false) = (session, violation == Some(Violation::MaxSteps)) {
            let most = session.value.most_steps().map_or(u64::MAX, u64::from);
            let step = CountStep::Up { most };
            batch.counts.push(Count { key: session.value.counter("steps"), step });
            batch.unchanged.push(session.unchanged());
        }
        match self.commit(batch).await {
            Ok(_) => {}
            Err(CommitError::Conflict { .. } | CommitError::Outdated) => return Ok(None),
            // The steps ran out during the refusal: that is the reason given, and it ends the
            // session.
            Err(CommitError::Full { .. }) => {
                let why = Why::Violation(Violation::MaxSteps);
                return Box::pin(self.refuse(submission, why, judgement)).await;
            }
            Err(error) => return Err(failed(error)),
        }
        if let Some(violation) = violation {
            self.respond(submission, violation).await?;
        }
        Ok(Some(Submitted::Refused(Box::new(Refusal { why, judgement, retry_after, hit }))))
    }

    /// The limit that was hit, and its use so far.
    async fn hit(&self, submission: &Submission<'_>, why: &Why) -> Result<Option<Hit>, GateError> {
        let session = submission.own_session().map(|session| &session.value);
        Ok(match (why, session) {
            (Why::Violation(violation), Some(session)) => {
                self.session_hit(session, *violation, submission.now).await?
            }
            (Why::TooFast(what), _) => self.rate_hit(submission, what),
            (Why::TooManyPending(most), _) => {
                let used = self.store.counter(&pending_key(&submission.caller.user)).await?;
                Some(Hit::used("most_pending", *most, used))
            }
            _ => None,
        })
    }

    async fn session_hit(
        &self,
        session: &Session,
        violation: Violation,
        now: Timestamp,
    ) -> Result<Option<Hit>, GateError> {
        let limits = &session.limits;
        let (limit, value, counter) = match violation {
            Violation::MaxSteps => (session.steps_limit(), session.most_steps(), "steps"),
            Violation::MaxScreenshots => ("screenshots", limits.screenshots, "screenshots"),
            Violation::MaxFiles => ("files", limits.files, "files"),
            Violation::Timeout => return Ok(session.time_used(now)),
            Violation::PromptFlood => return Ok(Some(Hit::rate("prompts", self.config.prompts))),
            Violation::RateLimit => {
                let rate = limits.actions_per_minute.map(Rate::per_minute);
                return Ok(rate.map(|rate| Hit::rate("actions_per_minute", rate)));
            }
            Violation::BlockedAction | Violation::BlockedOrigin | Violation::StepTimeout => {
                return Ok(None);
            }
        };
        let Some(value) = value else { return Ok(None) };
        let used = self.store.counter(&session.counter(counter)).await?;
        Ok(Some(Hit::used(limit, value.into(), used)))
    }

    fn rate_hit(&self, submission: &Submission<'_>, what: &str) -> Option<Hit> {
        let rates = &self.config.rates;
        let (limit, rate) = match what {
            "skill" => ("rates.skill", rates.skill?),
            "provider" => ("rates.provider", rates.provider?),
            "model" => ("rates.model", rates.model?),
            "questions" => ("prompts", self.config.prompts),
            "changes with this key" => ("writes", submission.caller.key.as_ref()?.writes),
            _ => return None,
        };
        Some(Hit::rate(limit, rate))
    }

    async fn respond(
        &self,
        submission: &Submission<'_>,
        violation: Violation,
    ) -> Result<(), GateError> {
        let Some(session) = submission.own_session() else { return Ok(()) };
        match violation.response() {
            Response::Wait | Response::Skip => Ok(()),
            Response::Pause => self.pause(&session.value.id).await,
            Response::End(reason) => self.end(&session.value.id, reason).await,
        }
    }
}

/// The violation that a refusal for this reason is.
const fn violation_of(why: &Why) -> Option<Violation> {
    match why {
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
        | Why::NoCredential
        | Why::Declined(_) => None,
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
        Why::NoCredential => "refused_no_credential",
        Why::Declined(_) => "refused_declined",
        Why::Blocked => "blocked",
    }
}
