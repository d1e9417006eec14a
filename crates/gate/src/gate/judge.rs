//! Judging without holding up others.

use countersign_core::{
    Action, Context, Judgement, JudgementWithEffects, Policy, judge, judge_with_effects,
};

use crate::caller::{Caller, Person};
use crate::gate::Gate;
use crate::judging::{INLINE, Lane, NotJudged, size};

impl Gate {
    /// Judges an action and keeps nothing of it. A large one waits for its lane's turn.
    ///
    /// # Errors
    /// It was not judged: there is too much waiting, or the lane has used up its time.
    pub async fn judge(
        &self,
        lane: &Lane,
        action: &Action,
        policy: &Policy,
        context: &Context,
    ) -> Result<Judgement, NotJudged> {
        self.apart(lane, action, policy, context, judge).await
    }

    /// The same, and what the action would touch.
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

    /// Works on an action: here if it is small, else where large ones are judged.
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
        // Large in itself, so that the small ones do not carry room for it.
        Box::pin(self.judging.run(lane, bytes, work)).await
    }
}

impl Lane {
    /// The lane of whoever proposes.
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
