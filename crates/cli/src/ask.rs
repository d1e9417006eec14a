//! Asks a person on the terminal. No answer, an unclear answer and no terminal all mean no.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A person said yes.
    Yes,
    /// A person said anything else.
    No,
    /// Nobody could be asked, for lack of a terminal.
    Nobody,
}

/// Shows a text and asks `Proceed? [y/N]` on the controlling terminal.
///
/// Uses the terminal itself and not standard input, which may be a pipe full of `y`.
pub(crate) fn proceed(text: &str) -> Answer {
    let Ok(terminal) = File::options().read(true).write(true).open("/dev/tty") else {
        return Answer::Nobody;
    };
    // Discard what was typed before the question: it was not an answer to it.
    forget_typed(&terminal);
    let before = by_lines(&terminal);
    let answer = question(BufReader::new(&terminal), &terminal, text);
    as_before(&terminal, before);
    answer.unwrap_or(Answer::Nobody)
}

fn question(input: impl BufRead, mut output: impl Write, text: &str) -> io::Result<Answer> {
    // Longer than any yes: a terminal that never sends a newline must not be read for ever.
    const LONGEST: u64 = 64;
    write!(output, "{text}Proceed? [y/N] ")?;
    output.flush()?;
    let mut line = String::new();
    let read = input.take(LONGEST).read_line(&mut line);
    if read.is_err() || !line.ends_with('\n') {
        // The answer was cut off: put the cursor on a line of its own.
        let _ = writeln!(output);
        return Ok(Answer::No);
    }
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(Answer::Yes),
        _ => Ok(Answer::No),
    }
}

#[cfg(unix)]
fn forget_typed(terminal: &File) {
    let _ = rustix::termios::tcflush(terminal, rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn forget_typed(_terminal: &File) {}

/// The settings of a terminal.
#[cfg(unix)]
type Settings = rustix::termios::Termios;
#[cfg(not(unix))]
type Settings = ();

/// Makes a terminal return whole lines and echo them: a shell that edits its line has changed both
/// settings. Returns the settings as they were.
#[cfg(unix)]
fn by_lines(terminal: &File) -> Option<Settings> {
    use rustix::termios::{InputModes, LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let before = tcgetattr(terminal).ok()?;
    let mut lines = before.clone();
    lines.input_modes |= InputModes::ICRNL;
    lines.input_modes -= InputModes::INLCR | InputModes::IGNCR;
    lines.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    tcsetattr(terminal, OptionalActions::Now, &lines).ok()?;
    Some(before)
}

#[cfg(unix)]
fn as_before(terminal: &File, before: Option<Settings>) {
    use rustix::termios::{OptionalActions, tcsetattr};
    if let Some(before) = before {
        let _ = tcsetattr(terminal, OptionalActions::Now, &before);
    }
}

#[cfg(not(unix))]
fn by_lines(_terminal: &File) -> Option<Settings> {
    None
}

#[cfg(not(unix))]
fn as_before(_terminal: &File, _before: Option<Settings>) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(typed: &str) -> Answer {
        question(typed.as_bytes(), Vec::new(), "").unwrap()
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for typed in ["y\n", "Y\n", "yes\n", " YES \r\n"] {
            assert_eq!(answer(typed), Answer::Yes, "{typed:?}");
        }
        for typed in ["", "\n", "n\n", "yep\n", "y", "yes", "y y\n", "ｙ\n", "\u{4}\n"] {
            assert_eq!(answer(typed), Answer::No, "{typed:?}");
        }
        assert_eq!(answer(&format!("{}y\n", " ".repeat(100))), Answer::No);
    }

    #[test]
    fn the_question_comes_after_the_text() {
        let mut shown = Vec::new();
        question("n\n".as_bytes(), &mut shown, "confirm: why\n").unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), "confirm: why\nProceed? [y/N] ");
    }
}
