//! Judges one action with the facts that the host knows about it.
//!
//! Facts are collected first, then the action is judged; git is asked only when the answer would be
//! *confirm*. A panic on the way is caught and counts as a refusal.

use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use countersign_core::{
    Action, Context, Effects, Judgement, JudgementWithEffects, Policy, Verdict, effects, judge,
    judge_with_effects,
};

use crate::facts::{self, Touched};
use crate::made::Made;
use crate::show::one_line;

/// Judging panicked; nothing may be allowed because of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("judging failed inside Countersign, so the action is blocked")
    }
}

impl std::error::Error for Panicked {}

/// Judges one action in the given context alone, without collecting facts.
///
/// # Errors
/// Judging panicked.
pub(crate) fn judge_plainly(
    action: &Action,
    policy: &Policy,
    context: &Context,
) -> Result<Judgement, Panicked> {
    guarded(|| judge(action, policy, context))
}

/// Judges one action as [`judge_plainly`] does, and returns its effects too.
///
/// # Errors
/// Judging panicked.
pub(crate) fn judge_and_tell(
    action: &Action,
    policy: &Policy,
    context: &Context,
) -> Result<JudgementWithEffects, Panicked> {
    guarded(|| judge_with_effects(action, policy, context))
}

/// Returns the effects of an action, for people who are shown it.
///
/// # Errors
/// The analysis panicked.
pub(crate) fn effects_of(
    action: &Action,
    policy: &Policy,
    context: &Context,
) -> Result<Effects, Panicked> {
    guarded(|| effects(action, policy, context))
}

/// Collects facts about the paths an action touches, adds them to the context, and judges.
///
/// # Errors
/// Judging panicked.
pub(crate) fn judge_with_facts(
    action: &Action,
    policy: &Policy,
    context: &mut Context,
) -> Result<Judgement, Panicked> {
    judge_in_session(action, policy, context, None)
}

/// Judges as [`judge_with_facts`] does, with the files that the agent made in this session.
///
/// # Errors
/// Judging panicked.
pub(crate) fn judge_in_session(
    action: &Action,
    policy: &Policy,
    context: &mut Context,
    made: Option<&Made>,
) -> Result<Judgement, Panicked> {
    guarded(|| {
        let touched: Vec<Touched> = facts::touched(action, context);
        facts::follow_links(context, &touched);
        let mut judgement = judge(action, policy, context);
        if judgement.verdict != Verdict::Confirm {
            return judgement;
        }
        let looked = facts::look_inside(context, &touched);
        if facts::ask_git(context, &touched) || looked {
            judgement = judge(action, policy, context);
        }
        let own = made.is_some_and(|made| {
            judgement.verdict == Verdict::Confirm
                && facts::ask_session(context, &touched, action, &|path| made.holds(path))
        });
        if own { judge(action, policy, context) } else { judgement }
    })
}

/// Runs work and turns a panic into an error.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    // After a panic, the state that the work was changing is dropped or never read.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

/// Reports the location of a panic on one line.
pub(crate) fn report_panic(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("panic");
    let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
    let _ = writeln!(
        io::stderr(),
        "countersign: internal error{}: {}",
        place.unwrap_or_default(),
        one_line(message)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_judging_is_an_error_and_not_a_verdict() {
        let answer = guarded(|| -> Verdict { panic!("on purpose") });
        assert_eq!(answer, Err(Panicked));
    }
}
