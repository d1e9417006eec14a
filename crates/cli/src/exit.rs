//! The exit codes of all commands, chosen in this file only.

use std::process::ExitCode;

use countersign_core::Verdict;

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Allowed, warned about, or done.
    Done,
    /// A test failed, or a server refused.
    Failed,
    /// Bad usage, input or configuration; nothing was judged or run.
    Bad,
    /// A person must approve, and none did.
    Confirm,
    /// The action is blocked.
    Block,
    /// The program was found but could not be started.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only exec tells the two apart"))]
    NotRunnable,
    /// There is no such program.
    NotFound,
    /// The exit code of the program that ran, or the code that a host expects.
    Passed(u8),
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow | Verdict::Warn => Self::Done,
            Verdict::Confirm => Self::Confirm,
            Verdict::Block => Self::Block,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Bad => 2,
            Exit::Confirm => 3,
            Exit::Block => 4,
            Exit::NotRunnable => 126,
            Exit::NotFound => 127,
            Exit::Passed(code) => code,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allow_and_warn_exit_with_zero() {
        let codes = [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block]
            .map(|verdict| ExitCode::from(Exit::from(verdict)));
        assert_eq!(codes.map(|code| code == ExitCode::SUCCESS), [true, true, false, false]);
    }
}
