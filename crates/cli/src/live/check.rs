//! What is tried with a host, and what is made of what was seen.

use serde::Serialize;

use super::model::Heard;

/// What a person writes with a no, so that it is known again.
pub(super) const FEEDBACK: &str = "not-on-a-tuesday";
/// What the harmless command prints.
pub(super) const HELLO: &str = "countersign-live-hello";

/// One thing that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// Something harmless.
    Allow,
    /// A person says yes.
    Yes,
    /// A person says no.
    No,
    /// Something that never runs.
    Block,
    /// Nobody answers.
    Silence,
    /// The waiting hook gets SIGTERM.
    Term,
    /// The waiting hook gets SIGKILL.
    Kill,
    /// The hook takes longer than the host waits.
    Delay,
    /// The hook says what is no answer.
    Garbage,
}

/// Everything, in the order in which it is tried: those that need another hook come last.
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
    /// What is tried, for a person.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Allow => "what is harmless runs",
            Self::Yes => "the hook fires, waits, and resumes on a yes",
            Self::No => "a no reaches the model",
            Self::Block => "a block reaches the model",
            Self::Silence => "nobody answers",
            Self::Term => "SIGTERM to the waiting hook",
            Self::Kill => "SIGKILL to the waiting hook",
            Self::Delay => "a hook slower than the host's patience",
            Self::Garbage => "a hook that prints nonsense",
        }
    }

    /// Whether something else runs in place of our hook.
    const fn has_stand_in(self) -> bool {
        matches!(self, Self::Delay | Self::Garbage)
    }

    /// The branch that is pushed, which also names the question.
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

    /// What the model proposes.
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

/// What was seen while a host did its task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// How many questions reached the server.
    pub(super) questions: usize,
    /// Whether the command had run while its question still waited.
    pub(super) ran_early: bool,
    /// Whether the command has run at the end.
    pub(super) ran: bool,
    /// Whether the question still waits after its asker is gone.
    pub(super) still_waits: bool,
    pub(super) heard: Heard,
    /// How the host ended: by itself, with this code.
    pub(super) ended: Option<i32>,
    /// The last of what it printed.
    pub(super) printed: String,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// It ran, as it should.
    Resumed,
    /// It did not run.
    Denied,
    /// It did not run, but the model was not told why.
    DeniedUntold,
    /// It ran, and must not have.
    Ran,
    /// It should have run and did not, or the host could not be driven at all.
    Failed,
}

/// Whether an outcome is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mark {
    Good,
    /// The host does not hold, in a case that our hook does not cause: something else stands in
    /// for it.
    Limit,
    Bad,
}

/// One check of one host.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Tried {
    pub(super) check: Check,
    pub(super) outcome: Outcome,
    pub(super) mark: Mark,
    /// What else is worth knowing, in our own words.
    pub(super) detail: &'static str,
    /// What the model or the person in front of the host was told.
    pub(super) said: String,
}

impl Tried {
    /// What could not be tried, and why.
    pub(super) fn failed(check: Check, said: String) -> Self {
        let detail = "it could not be tried";
        Self { check, outcome: Outcome::Failed, mark: Mark::Bad, detail, said }
    }

    /// One line for a person.
    pub(super) fn line(&self) -> String {
        let outcome = match self.outcome {
            Outcome::Resumed => "yes",
            Outcome::Denied => "denied",
            Outcome::DeniedUntold => "denied, but the model is not told why",
            Outcome::Ran => "RAN",
            Outcome::Failed => "FAILED",
        };
        let mark = match self.mark {
            Mark::Good => "ok   ",
            Mark::Limit => "limit",
            Mark::Bad => "BAD  ",
        };
        let mut line = format!("{mark} {}: {outcome}", self.check.title());
        let said = if self.mark == Mark::Good { "" } else { self.said.as_str() };
        for more in [self.detail, said].into_iter().filter(|more| !more.is_empty()) {
            line.extend(["; ", more]);
        }
        line
    }
}

const SILENT: &str = "the host never asked the model for anything to do";
const UNFIRED: &str = "the hook did not fire";
const TWICE: &str = "the same call was asked about more than once";

/// What is made of what was seen.
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
    // A person's no and a block are for the model to read; after an accident a stop is enough.
    let must_tell = matches!(check, Check::No | Check::Block);
    let mark = match outcome {
        _ if detail == TWICE => Mark::Bad,
        Outcome::Resumed | Outcome::Denied => Mark::Good,
        Outcome::DeniedUntold if !must_tell => Mark::Good,
        Outcome::Ran if check.has_stand_in() => Mark::Limit,
        Outcome::DeniedUntold | Outcome::Ran | Outcome::Failed => Mark::Bad,
    };
    Tried { check, outcome, mark, detail, said: said(seen) }
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

/// Whether a question is put before anything goes wrong.
const fn asks(check: Check) -> bool {
    match check {
        Check::Yes | Check::No | Check::Silence | Check::Term | Check::Kill => true,
        Check::Allow | Check::Block | Check::Delay | Check::Garbage => false,
    }
}

/// Whether the model can know that Countersign stopped it, and what the person wrote.
fn is_told(check: Check, seen: &Seen) -> bool {
    let mut results = seen.heard.results.iter();
    results.any(|result| match check {
        Check::No => result.contains(FEEDBACK),
        Check::Block | Check::Silence | Check::Term => result.contains("Countersign"),
        // Words of the host's own: that something came back is all there is.
        Check::Allow | Check::Yes | Check::Kill | Check::Delay | Check::Garbage => {
            !result.trim().is_empty()
        }
    })
}

/// What the model was told, or what the host printed where it was told nothing.
fn said(seen: &Seen) -> String {
    let (who, text) = match seen.heard.results.last() {
        Some(result) => ("the model was told", result.as_str()),
        None => ("the model was told nothing; the host printed", seen.printed.as_str()),
    };
    let text: String = crate::show::one_line(text.trim()).chars().take(200).collect();
    let ended = if seen.ended.is_none() { " (it had to be ended)" } else { "" };
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
                let mark = if check.has_stand_in() { Mark::Limit } else { Mark::Bad };
                assert_eq!((tried.outcome, tried.mark), (Outcome::Ran, mark), "{check:?}");
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
            assert_eq!((tried.outcome, tried.mark), (Outcome::Failed, Mark::Bad), "{check:?}");
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
                assert_eq!((tried.outcome, tried.mark), (Outcome::DeniedUntold, Mark::Bad));
            }
        }
        let killed = judge(Check::Kill, &seen(1, false, ""));
        assert_eq!((killed.outcome, killed.mark), (Outcome::DeniedUntold, Mark::Good));
    }

    #[test]
    fn a_question_that_is_asked_twice_or_never_is_not_good() {
        assert_eq!(judge(Check::Yes, &seen(1, true, "done")).mark, Mark::Good);
        assert_eq!(judge(Check::Yes, &seen(2, true, "done")).mark, Mark::Bad);
        assert_eq!(judge(Check::No, &seen(2, false, FEEDBACK)).mark, Mark::Bad);
        assert_eq!(judge(Check::Term, &seen(0, false, "x")).outcome, Outcome::Failed);
        assert_eq!(judge(Check::Allow, &seen(0, false, HELLO)).mark, Mark::Good);
    }
}
