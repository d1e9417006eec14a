//! The start of a judged command: its program is found and opened by us, and exactly the opened
//! file is started.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::process::Command;

use crate::exit::Exit;
use crate::show;

/// A command that is ready to start.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) command: Command,
    name: OsString,
    /// Open until the command has started: the command names it by its descriptor.
    #[cfg(unix)]
    _program: countersign_worker::Program,
}

/// A command that could not be started.
#[derive(Debug)]
pub(super) struct NotStarted {
    pub(super) exit: Exit,
    pub(super) cause: io::Error,
}

impl Ready {
    /// Finds and opens the program of a command, or bash for a script.
    ///
    /// # Errors
    /// There is none, or it cannot be run; this was told on standard error.
    pub(super) fn new(script: Option<&str>, argv: &[OsString]) -> Result<Self, NotStarted> {
        let (name, arguments) = match (script, argv.split_first()) {
            // -p: no $BASH_ENV, no functions or options from the environment. Any of them could
            // make the words that were judged mean something else.
            (Some(script), _) => {
                (OsString::from("bash"), ["-p", "-c", script].map(OsString::from).to_vec())
            }
            (None, Some((name, arguments))) => (name.clone(), arguments.to_vec()),
            (None, None) => (OsString::new(), Vec::new()),
        };
        let mut ready = Self::of(&name).map_err(|cause| not_started(&name, cause))?;
        ready.command.args(arguments);
        Ok(ready)
    }

    #[cfg(unix)]
    fn of(name: &OsStr) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;

        use countersign_worker::{Places, ProgramError};

        let search = std::env::var_os("PATH").unwrap_or_default();
        let places = Places { search: &search, folder: rustix::fs::CWD };
        let program = places.find(name).map_err(|error| match error {
            ProgramError::NotFound(_) => io::Error::from_raw_os_error(2),
            ProgramError::NotRunnable { cause, .. } => cause,
        })?;
        let mut command = Command::new(program.by_descriptor());
        command.arg0(program.argv0()).args(program.before());
        without_what_changes_the_words(&mut command);
        Ok(Self { command, name: name.to_owned(), _program: program })
    }

    #[cfg(not(unix))]
    fn of(name: &OsStr) -> io::Result<Self> {
        Ok(Self { command: Command::new(name), name: name.to_owned() })
    }

    /// Replaces our process by the command; returns only where that fails.
    #[cfg(unix)]
    pub(super) fn execute(mut self) -> Exit {
        let cause = std::os::unix::process::CommandExt::exec(&mut self.command);
        self.failed(cause).exit
    }

    /// Runs the command to its end.
    #[cfg(not(unix))]
    pub(super) fn execute(mut self) -> Exit {
        match self.command.status() {
            Ok(status) => Exit::Passed(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
            Err(cause) => self.failed(cause).exit,
        }
    }

    /// Tells that the command did not start.
    pub(super) fn failed(&self, cause: io::Error) -> NotStarted {
        not_started(&self.name, cause)
    }
}

/// Leaves out variables by which something would run that was not judged.
#[cfg(unix)]
fn without_what_changes_the_words(command: &mut Command) {
    let changes = |(name, value): (OsString, OsString)| {
        countersign_worker::changes_the_words(&name, &value).then_some(name)
    };
    let names: Vec<OsString> = std::env::vars_os().filter_map(changes).collect();
    if names.is_empty() {
        return;
    }
    for name in &names {
        command.env_remove(name);
    }
    let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
    let names = names.join(", ");
    let _ = writeln!(
        io::stderr(),
        "countersign: not passed on, because it changes what the command means: {}",
        show::one_line(&names)
    );
}

fn not_started(name: &OsStr, cause: io::Error) -> NotStarted {
    let shown = name.to_string_lossy();
    let _ = writeln!(io::stderr(), "countersign: cannot run `{}`: {cause}", show::one_line(&shown));
    let missing = cause.kind() == io::ErrorKind::NotFound;
    NotStarted { exit: if missing { Exit::NotFound } else { Exit::NotRunnable }, cause }
}
