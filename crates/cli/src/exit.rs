//! The exit codes of all commands, chosen in this file only.

use std::io::{self, Write as _};
use std::process::ExitCode;

use countersign_core::Verdict;

use crate::client::ClientError;
use crate::judging::Panicked;

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

/// Reports an error to the user, on one line where the cause allows.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    // No message when the reader has closed our output; the exit code still refuses.
    if io_kind(error) != Some(io::ErrorKind::BrokenPipe) {
        let text = format!("{error:#}");
        let _ = writeln!(io::stderr(), "countersign: {}", crate::show::visible(&text));
    }
    if error.is::<Panicked>() {
        return Exit::Block;
    }
    match error.downcast_ref() {
        Some(
            ClientError::Refused(_)
            | ClientError::Untrusted(_)
            | ClientError::Broken(_)
            | ClientError::Unknown,
        ) => Exit::Failed,
        Some(ClientError::NoServer { .. }) | None => Exit::Bad,
    }
}

/// The kind of an I/O error, of our own or of a serializer.
fn io_kind(error: &anyhow::Error) -> Option<io::ErrorKind> {
    let plain = error.downcast_ref().map(io::Error::kind);
    plain.or_else(|| error.downcast_ref().and_then(serde_json::Error::io_error_kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_known_through_the_serializer_too() {
        let plain = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        let serializer = serde_json::to_writer(Closed, &1).expect_err("the pipe is closed").into();
        for error in [plain, serializer] {
            assert_eq!(io_kind(&error), Some(io::ErrorKind::BrokenPipe));
        }
    }

    #[test]
    fn a_panic_ends_as_a_block() {
        assert_eq!(report(&Panicked.into()), Exit::Block);
    }

    #[test]
    fn only_allow_and_warn_exit_with_zero() {
        let codes = [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block]
            .map(|verdict| ExitCode::from(Exit::from(verdict)));
        assert_eq!(codes.map(|code| code == ExitCode::SUCCESS), [true, true, false, false]);
    }
}
