//! Judging without delaying other callers.

use countersign_core::{
    Action, Context, Judgement, JudgementWithEffects, Policy, judge, judge_with_effects,
};

use crate::caller::{Caller, Person};
use crate::gate::Gate;
use crate::judging::{INLINE, Lane, NotJudged, size};

impl Gate {
    /// Judges an action without recording it. A large one waits for its lane's turn.
    ///
    /// # Errors
    /// It was not judged: too many wait, or the lane has used up its time.
    pub async fn judge(
        &self,
        lane: &Lane,
        action: &Action,
        policy: &Policy,
        context: &Context,
    ) -> Result<Judgement, NotJudged> {
        self.apart(lane, action, policy, context, judge).await
    }

    /// Judges an action and lists what it would touch.
    ///
    /// # Errors
    /// As [`Gate::judge`].
    pub async fn judge_with_effects(
        &self,
        lane: &Lane,
        action: &Action,
        policy: &Policy,
        context: &Context,
    ) -> Result<JudgementWithEffects, NotJudged> {
        self.apart(lane, action, policy, context, judge_with_effects).await
    }

    /// Runs work on an action: here if it is small, else on the executor for large ones.
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        lane: &Lane,
        action: &Action,
        policy: &Policy,
        context: &Context,
        work: impl FnOnce(&Action, &Policy, &Context) -> T + Send + 'static,
    ) -> Result<T, NotJudged> {
        let bytes = size(action).saturating_add(size(context));
        if bytes <= INLINE {
            return Ok(work(action, policy, context));
        }
        let (action, policy, context) = (action.clone(), policy.clone(), context.clone());
        let work = move || work(&action, &policy, &context);
        // Boxed, so that the futures of small actions do not reserve space for it.
        Box::pin(self.judging.run(lane, bytes, work)).await
    }
}

impl Lane {
    /// The lane of a caller.
    #[must_use]
    pub fn of_caller(caller: &Caller) -> Self {
        match caller.key_id() {
            Some(key) => Self::Key(key.clone()),
            None => Self::Person(caller.user().clone()),
        }
    }

    /// The lane of a person.
    #[must_use]
    pub fn of_person(person: &Person) -> Self {
        Self::Person(person.user().id.clone())
    }
}
