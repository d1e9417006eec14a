//! One action, judged with what the host knows about it.
//!
//! Facts first, then the judgement; git is asked only when the answer would be *confirm*. A panic
//! on the way is caught and refuses.

use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use countersign_core::{
    Action, Context, Effects, Judgement, JudgementWithEffects, Policy, Verdict, effects, judge,
    judge_with_effects,
};

use crate::facts::{self, Touched};
use crate::hook::Made;
use crate::show::one_line;

/// Judging went wrong inside; nothing may be allowed on the strength of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("judging failed inside countersign, so the action is blocked")
    }
}

impl std::error::Error for Panicked {}

/// Judges one action in the context given, which is all that is known about it.
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

/// The same, and what the action would touch.
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

/// Says what an action would touch, for those who are shown it.
///
/// # Errors
/// Looking at it panicked.
pub(crate) fn effects_of(
    action: &Action,
    policy: &Policy,
    context: &Context,
) -> Result<Effects, Panicked> {
    guarded(|| effects(action, policy, context))
}

/// Looks at the paths an action touches, adds what it finds to the context, and judges.
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

/// The same, with what the agent made in this session.
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
                && facts::ask_session(context, &touched, action, made)
        });
        if own { judge(action, policy, context) } else { judgement }
    })
}

/// Runs work whose panic means no.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    // What the work was changing is dropped or never looked at again after a panic.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

/// Tells where a panic happened, on one line.
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
