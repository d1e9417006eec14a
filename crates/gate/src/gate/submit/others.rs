//! Actions to which other people must agree, whatever the person for whom the agent works has
//! relaxed.
//!
//! Autonomous mode, `auto_confirm`, a program's key, a remembered approval, a choice about a skill
//! and the profile of a session are all decisions of one person. So the quorum rows are applied to
//! the judgement of the gate's own policy without any of them.

use countersign_core::{Action, Context, Judgement, Verdict};

use crate::approval::{self, Quorum, Requester};
use crate::clock::Timestamp;
use crate::gate::Gate;
use crate::judging::{Lane, NotJudged};

impl Gate {
    /// The people who must agree to an action that is asked about, and the time of its escalation.
    pub(in crate::gate) async fn quorum_for(
        &self,
        lane: &Lane,
        action: &Action,
        context: &Context,
        judgement: &Judgement,
        now: Timestamp,
    ) -> Result<(Quorum, Option<Timestamp>), NotJudged> {
        let rows = &self.config.quorum;
        if rows.is_empty() {
            return Ok((Quorum::default(), None));
        }
        let (needed, escalate_at) = approval::quorum(rows, judgement, now);
        let (strict, soonest) = self.strict_quorum(lane, action, context, now).await?;
        let escalate_at = [escalate_at, soonest].into_iter().flatten().min();
        Ok((needed.stricter(strict), escalate_at))
    }

    /// The people who must agree by the gate's own policy; only the agent's person, if that policy
    /// would not ask.
    pub(in crate::gate) async fn strict_quorum(
        &self,
        lane: &Lane,
        action: &Action,
        context: &Context,
        now: Timestamp,
    ) -> Result<(Quorum, Option<Timestamp>), NotJudged> {
        let rows = &self.config.quorum;
        if rows.is_empty() {
            return Ok((Quorum::default(), None));
        }
        let strict = self.judged_strictly(lane, action, context).await?;
        if strict.verdict < Verdict::Confirm && !action.is_question() {
            return Ok((Quorum::default(), None));
        }
        Ok(approval::quorum(rows, &strict, now))
    }

    /// The judgement by which others are asked about an action that would run without a question;
    /// `None` if nobody else must agree.
    pub(super) async fn for_others(
        &self,
        lane: &Lane,
        action: &Action,
        context: &Context,
        judgement: &Judgement,
    ) -> Result<Option<Judgement>, NotJudged> {
        let (quorum, _) = self.strict_quorum(lane, action, context, self.now()).await?;
        if quorum.requester == Requester::Counts {
            return Ok(None);
        }
        let strict = self.judged_strictly(lane, action, context).await?;
        let strict = self.plain.judgement(strict);
        let digest = judgement.digest.clone();
        // An action that this session does not block is asked about, not blocked.
        Ok(Some(Judgement { verdict: Verdict::Confirm, digest, ..strict }))
    }

    async fn judged_strictly(
        &self,
        lane: &Lane,
        action: &Action,
        context: &Context,
    ) -> Result<Judgement, NotJudged> {
        let context = Context { profile: None, mode: None, ..context.clone() };
        self.judge(lane, action, &self.policy(), &context).await
    }
}
