//! The conditions of a decision's batch: the versions it relies on, and the limits it counts
//! against.

use countersign_core::action::Action;
use countersign_core::{Judgement, Policy, app};

use crate::gate::submit::Submission;
use crate::gate::{Gate, GateError};
use crate::key::ApiKey;
use crate::proposal::{Submitted, Why};
use crate::redacted;
use crate::store::{Batch, CommitError, Count, CountStep, Pace};

/// A batch with its conditions, and the refusal for each limit.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) batch: Batch,
    pub(super) whys: Vec<(String, Why)>,
}

impl Gate {
    /// The versions that a decision relies on, and the limits that the action counts against.
    pub(super) fn conditions(
        &self,
        submission: &Submission<'_>,
        policy: &Policy,
        judgement: &Judgement,
    ) -> Conditions {
        let mut conditions = Conditions::default();
        conditions.batch.epoch = Some(submission.epoch);
        conditions.batch.unchanged.push(submission.control.unchanged());
        conditions.batch.unchanged.extend(submission.rests_on.iter().cloned());
        if let Some(session) = &submission.session {
            conditions.batch.unchanged.push(session.unchanged());
            let used = session.value.uses(&submission.proposal.action, submission.now);
            for (count, violation) in used.counts {
                conditions.count(count.key, count.step, Why::Violation(violation));
            }
            for (pace, violation) in used.paces {
                conditions.pace(pace, Why::Violation(violation));
            }
        }
        if let Some(key) = &submission.caller.key {
            let uses = CountStep::Up { most: u64::MAX };
            conditions.count(ApiKey::counter(&key.id, "uses"), uses, Why::TooFast("key"));
            if changes_something(submission, policy, judgement) {
                let pace = Pace {
                    key: ApiKey::counter(&key.id, "writes"),
                    rate: key.writes,
                    now: submission.now,
                };
                conditions.pace(pace, Why::TooFast("changes with this key"));
            }
        }
        self.add_rates(submission, policy, &mut conditions);
        conditions
    }

    fn add_rates(&self, submission: &Submission<'_>, policy: &Policy, conditions: &mut Conditions) {
        let rates = self.config.rates;
        let user = &submission.caller.user;
        let mut add = |what: &'static str, name: &str, rate| {
            if let Some(rate) = rate {
                // Names are the agent's own words, and keys are stored.
                let key = format!("user:{user}:{what}:{}", redacted::text(name));
                conditions.pace(Pace { key, rate, now: submission.now }, Why::TooFast(what));
            }
        };
        if let Action::Skill { skill, .. } = &submission.proposal.action {
            add("skill", skill, rates.skill);
            add("provider", policy.provider(skill), rates.provider);
        }
        if let Some(model) = &submission.proposal.model {
            add("model", model, rates.model);
        }
    }

    /// Handles a failed condition: finds the one that failed, and refuses for it.
    pub(super) async fn stopped(
        &self,
        submission: &Submission<'_>,
        error: CommitError,
        whys: Vec<(String, Why)>,
        judgement: Option<Judgement>,
    ) -> Result<Option<Submitted>, GateError> {
        let (key, wait) = match error {
            CommitError::Conflict { .. } | CommitError::Outdated => return Ok(None),
            CommitError::Store(error) => return Err(error.into()),
            CommitError::Full { key, .. } => (key, None),
            CommitError::TooFast { key, wait } => (key, Some(wait)),
        };
        let Some((_, why)) = whys.into_iter().find(|(known, _)| *known == key) else {
            return Err(GateError::Busy);
        };
        self.refuse_for_now(submission, why, judgement, wait).await
    }
}

impl Conditions {
    pub(super) fn count(&mut self, key: String, step: CountStep, why: Why) {
        self.whys.push((key.clone(), why));
        self.batch.counts.push(Count { key, step });
    }

    pub(super) fn pace(&mut self, pace: Pace, why: Why) {
        self.whys.push((pace.key.clone(), why));
        self.batch.paces.push(pace);
    }
}

/// Reports whether an action changes something, for the limit on a key's writes.
fn changes_something(submission: &Submission<'_>, policy: &Policy, judgement: &Judgement) -> bool {
    match &submission.proposal.action {
        Action::Skill { skill, .. } => {
            policy.skill(skill).is_none_or(|skill| skill.access != app::Access::Read)
        }
        Action::FileWrite { .. } | Action::FileDelete { .. } => true,
        Action::HttpRequest { method, .. } => {
            !["GET", "HEAD", "OPTIONS"].iter().any(|safe| method.eq_ignore_ascii_case(safe))
        }
        Action::Shell { .. }
        | Action::Code { .. }
        | Action::FileRead { .. }
        | Action::FileList { .. }
        | Action::Navigate { .. }
        | Action::Ui { .. }
        | Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Download { .. }
        | Action::ExportPdf { .. }
        | Action::Login { .. }
        | Action::Notify { .. }
        | Action::Applescript { .. }
        | Action::Tool { .. }
        | Action::Named { .. } => !judgement.findings.is_empty(),
    }
}
