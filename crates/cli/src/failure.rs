//! A command that ended with an error: its message, and its exit code.

use std::io::{self, Write as _};

use crate::client::ClientError;
use crate::exit::Exit;
use crate::judging::Panicked;

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
}
