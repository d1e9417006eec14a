//! What other people must agree to, whatever the person for whom the agent works has relaxed.
//!
//! Autonomous mode, `auto_confirm`, a program's key, a remembered yes, a choice about a skill and
//! the profile of a session are all one person's word. So the rows of the quorum are applied to
//! what the gate's own policy says without any of them.

use countersign_core::{Action, Context, Judgement, Verdict};

use crate::approval::{self, Quorum, Requester};
use crate::clock::Timestamp;
use crate::gate::Gate;
use crate::judging::{Lane, NotJudged};

impl Gate {
    /// Who must agree to an action that is asked about, and when others are asked too.
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

    /// Who must agree by the gate's own policy; its person alone, where that would not ask.
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
    /// nothing, if nobody else must agree.
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
        // What this session does not block is asked about, not blocked.
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
