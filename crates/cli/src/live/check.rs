//! The checks of a host, and the evaluation of what was observed.

use serde::Serialize;

use super::model::Heard;

/// The feedback of a rejection, by which it is recognised.
pub(super) const FEEDBACK: &str = "not-on-a-tuesday";
/// The output of the harmless command.
pub(super) const HELLO: &str = "countersign-live-hello";

/// One check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// A harmless command.
    Allow,
    /// A person approves.
    Yes,
    /// A person rejects.
    No,
    /// A command that is always blocked.
    Block,
    /// Nobody answers.
    Silence,
    /// The waiting hook gets SIGTERM.
    Term,
    /// The waiting hook gets SIGKILL.
    Kill,
    /// The hook takes longer than the host's timeout.
    Delay,
    /// The hook's output is not a valid answer.
    Garbage,
}

/// All checks in order: those that replace the hook come last.
pub(super) const CHECKS: [Check; 9] = [
    Check::Allow,
    Check::Yes,
    Check::No,
    Check::Block,
    Check::Term,
    Check::Kill,
    Check::Silence,
    Check::Delay,
    Check::Garbage,
];

impl Check {
    /// The check's description for people.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Allow => "what is harmless runs",
            Self::Yes => "the hook fires, waits, and resumes on a yes",
            Self::No => "a no reaches the model",
            Self::Block => "a block reaches the model",
            Self::Silence => "nobody answers",
            Self::Term => "SIGTERM to the waiting hook",
            Self::Kill => "SIGKILL to the waiting hook",
            Self::Delay => "a hook slower than the host's timeout",
            Self::Garbage => "a hook that prints nonsense",
        }
    }

    /// Reports whether another program runs instead of our hook.
    const fn has_stand_in(self) -> bool {
        matches!(self, Self::Delay | Self::Garbage)
    }

    /// The branch that is pushed, by which the question is recognised.
    pub(super) const fn branch(self) -> &'static str {
        match self {
            Self::Allow => "try-allow",
            Self::Yes => "try-yes",
            Self::No => "try-no",
            Self::Block => "try-block",
            Self::Silence => "try-silence",
            Self::Term => "try-term",
            Self::Kill => "try-kill",
            Self::Delay => "try-delay",
            Self::Garbage => "try-garbage",
        }
    }

    /// The command that the model proposes.
    pub(super) fn command(self) -> String {
        match self {
            Self::Allow => format!("echo {HELLO}"),
            Self::Block => "mkfs.ext4 /dev/countersign-none".to_owned(),
            Self::Yes
            | Self::No
            | Self::Silence
            | Self::Term
            | Self::Kill
            | Self::Delay
            | Self::Garbage => format!("git push --force origin main:{}", self.branch()),
        }
    }
}

/// The observations while a host did its task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The number of questions that reached the server.
    pub(super) questions: usize,
    /// True when the command had run while its question was pending.
    pub(super) ran_early: bool,
    /// True when the command has run at the end.
    pub(super) ran: bool,
    /// True when the question is still pending after its asker is gone.
    pub(super) still_waits: bool,
    pub(super) heard: Heard,
    /// The exit code of the host, if it ended by itself.
    pub(super) ended: Option<i32>,
    /// The end of the host's output.
    pub(super) printed: String,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// It ran, as it should.
    Resumed,
    /// It did not run.
    Denied,
    /// It did not run, but the model was not told why.
    DeniedUntold,
    /// It ran although it must not.
    Ran,
    /// It should have run and did not, or the host could not be run at all.
    Failed,
}

/// The assessment of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Grade {
    Good,
    /// The host does not stop the action, but our hook is not the cause: another program runs
    /// instead of it.
    Limit,
    Bad,
}

/// One check of one host.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Tried {
    pub(super) check: Check,
    pub(super) outcome: Outcome,
    pub(super) grade: Grade,
    /// Further remarks, in our own words.
    pub(super) detail: &'static str,
    /// The message that the model or the host's user got.
    pub(super) said: String,
}

impl Tried {
    /// Returns the result of a check that could not be run, with the reason.
    pub(super) fn failed(check: Check, said: String) -> Self {
        let detail = "it could not be tried";
        Self { check, outcome: Outcome::Failed, grade: Grade::Bad, detail, said }
    }

    /// Formats the result as one line for people.
    pub(super) fn line(&self) -> String {
        let outcome = match self.outcome {
            Outcome::Resumed => "yes",
            Outcome::Denied => "denied",
            Outcome::DeniedUntold => "denied, but the model is not told why",
            Outcome::Ran => "RAN",
            Outcome::Failed => "FAILED",
        };
        let grade = match self.grade {
            Grade::Good => "ok   ",
            Grade::Limit => "limit",
            Grade::Bad => "BAD  ",
        };
        let mut line = format!("{grade} {}: {outcome}", self.check.title());
        let said = if self.grade == Grade::Good { "" } else { self.said.as_str() };
        for more in [self.detail, said].into_iter().filter(|more| !more.is_empty()) {
            line.extend(["; ", more]);
        }
        line
    }
}

const SILENT: &str = "the host never asked the model for anything to do";
const UNFIRED: &str = "the hook did not fire";
const TWICE: &str = "the same call was asked about more than once";

/// Evaluates the observations.
pub(super) fn judge(check: Check, seen: &Seen) -> Tried {
    let (outcome, detail) = if seen.heard.proposed == 0 {
        (Outcome::Failed, SILENT)
    } else {
        match check {
            Check::Allow => allowed(seen),
            Check::Yes => agreed(seen),
            Check::No
            | Check::Block
            | Check::Silence
            | Check::Term
            | Check::Kill
            | Check::Delay
            | Check::Garbage => stopped(check, seen),
        }
    };
    // The model must learn of a rejection and of a block; after a failure it is enough to stop.
    let must_tell = matches!(check, Check::No | Check::Block);
    let grade = match outcome {
        _ if detail == TWICE => Grade::Bad,
        Outcome::Resumed | Outcome::Denied => Grade::Good,
        Outcome::DeniedUntold if !must_tell => Grade::Good,
        Outcome::Ran if check.has_stand_in() => Grade::Limit,
        Outcome::DeniedUntold | Outcome::Ran | Outcome::Failed => Grade::Bad,
    };
    Tried { check, outcome, grade, detail, said: said(seen) }
}

fn allowed(seen: &Seen) -> (Outcome, &'static str) {
    if seen.heard.results.iter().any(|result| result.contains(HELLO)) {
        return (Outcome::Resumed, "");
    }
    (Outcome::Failed, "its output did not reach the model")
}

fn agreed(seen: &Seen) -> (Outcome, &'static str) {
    match (seen.questions, seen.ran_early, seen.ran) {
        (0, _, true) => (Outcome::Ran, UNFIRED),
        (_, true, _) => (Outcome::Ran, "it ran while the question waited"),
        (1, false, true) => (Outcome::Resumed, ""),
        (0, false, false) => (Outcome::Failed, "nobody was asked"),
        (1, false, false) => (Outcome::Failed, "it did not run after the yes"),
        (_, false, true) => (Outcome::Resumed, TWICE),
        (_, false, false) => (Outcome::Failed, TWICE),
    }
}

fn stopped(check: Check, seen: &Seen) -> (Outcome, &'static str) {
    let unfired = asks(check) && seen.questions == 0;
    match (seen.ran, unfired) {
        (true, true) => return (Outcome::Ran, UNFIRED),
        (true, false) => return (Outcome::Ran, ""),
        (false, true) => return (Outcome::Failed, "nobody was asked"),
        (false, false) => {}
    }
    let detail = if seen.questions > 1 {
        TWICE
    } else if seen.still_waits {
        "its question still waits after it is gone"
    } else {
        ""
    };
    let told = if is_told(check, seen) { Outcome::Denied } else { Outcome::DeniedUntold };
    (told, detail)
}

/// Reports whether a question is asked before anything goes wrong.
const fn asks(check: Check) -> bool {
    match check {
        Check::Yes | Check::No | Check::Silence | Check::Term | Check::Kill => true,
        Check::Allow | Check::Block | Check::Delay | Check::Garbage => false,
    }
}

/// Reports whether the model can know that Countersign stopped it, and what the person wrote.
fn is_told(check: Check, seen: &Seen) -> bool {
    let mut results = seen.heard.results.iter();
    results.any(|result| match check {
        Check::No => result.contains(FEEDBACK),
        Check::Block | Check::Silence | Check::Term => result.contains("Countersign"),
        // The text is the host's own: all that can be checked is that there is one.
        Check::Allow | Check::Yes | Check::Kill | Check::Delay | Check::Garbage => {
            !result.trim().is_empty()
        }
    })
}

/// The message that the model got, or the host's output if it got none.
fn said(seen: &Seen) -> String {
    let (who, text) = match seen.heard.results.last() {
        Some(result) => ("the model was told", result.as_str()),
        None => ("the model was told nothing; the host printed", seen.printed.as_str()),
    };
    let text: String = crate::show::one_line(text.trim()).chars().take(200).collect();
    let ended = if seen.ended.is_none() { " (it had to be stopped)" } else { "" };
    format!("{who}: {text}{ended}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(questions: usize, ran: bool, result: &str) -> Seen {
        let results = if result.is_empty() { Vec::new() } else { vec![result.to_owned()] };
        let heard = Heard { requests: 2, proposed: 1, results };
        Seen { questions, ran, heard, ended: Some(0), ..Seen::default() }
    }

    #[test]
    fn what_runs_against_a_no_is_never_good() {
        for check in CHECKS.into_iter().filter(|check| !matches!(check, Check::Allow | Check::Yes))
        {
            for questions in [0, 1, 2] {
                let tried = judge(check, &seen(questions, true, "Countersign not-on-a-tuesday"));
                let grade = if check.has_stand_in() { Grade::Limit } else { Grade::Bad };
                assert_eq!((tried.outcome, tried.grade), (Outcome::Ran, grade), "{check:?}");
            }
        }
        let early = Seen { ran_early: true, ..seen(1, true, "done") };
        assert_eq!(judge(Check::Yes, &early).outcome, Outcome::Ran);
        assert_eq!(judge(Check::Yes, &seen(0, true, "done")).outcome, Outcome::Ran);
    }

    #[test]
    fn a_host_that_cannot_be_driven_proves_nothing() {
        for check in CHECKS {
            let tried = judge(check, &Seen::default());
            assert_eq!((tried.outcome, tried.grade), (Outcome::Failed, Grade::Bad), "{check:?}");
        }
    }

    #[test]
    fn a_no_and_a_block_are_good_only_when_the_model_reads_them() {
        for (check, questions, words) in
            [(Check::No, 1, FEEDBACK), (Check::Block, 0, "Countersign never lets this run")]
        {
            assert_eq!(judge(check, &seen(questions, false, words)).outcome, Outcome::Denied);
            for other in ["", "the tool failed"] {
                let tried = judge(check, &seen(questions, false, other));
                assert_eq!((tried.outcome, tried.grade), (Outcome::DeniedUntold, Grade::Bad));
            }
        }
        let killed = judge(Check::Kill, &seen(1, false, ""));
        assert_eq!((killed.outcome, killed.grade), (Outcome::DeniedUntold, Grade::Good));
    }

    #[test]
    fn a_question_that_is_asked_twice_or_never_is_not_good() {
        assert_eq!(judge(Check::Yes, &seen(1, true, "done")).grade, Grade::Good);
        assert_eq!(judge(Check::Yes, &seen(2, true, "done")).grade, Grade::Bad);
        assert_eq!(judge(Check::No, &seen(2, false, FEEDBACK)).grade, Grade::Bad);
        assert_eq!(judge(Check::Term, &seen(0, false, "x")).outcome, Outcome::Failed);
        assert_eq!(judge(Check::Allow, &seen(0, false, HELLO)).grade, Grade::Good);
    }
}
