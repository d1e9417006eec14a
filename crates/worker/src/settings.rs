//! The settings of a worker's executors.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use countersign_core::Policy;

/// The settings of a worker's executors.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder in which the work is done. Nothing outside of it is read or written by name.
    pub workspace: PathBuf,
    /// The policy by which addresses are judged that are only known when they are connected to.
    pub policy: Arc<Policy>,
    /// The program that supervises one command: our own, started again.
    pub supervisor: Supervisor,
    /// A file with certificate authorities that are trusted besides the usual ones.
    pub authority: Option<PathBuf>,
    /// The environment that commands' own environment is made from. Only the variables that are
    /// known to be harmless are taken from it.
    pub environment: Vec<(OsString, OsString)>,
}

impl Settings {
    /// The settings for a folder, with our own program and environment.
    #[must_use]
    pub fn new(workspace: PathBuf, policy: Arc<Policy>) -> Self {
        Self {
            workspace,
            policy,
            supervisor: Supervisor::own_program(),
            authority: None,
            environment: std::env::vars_os().collect(),
        }
    }
}

/// The program that supervises a command: it must call
/// [`supervise_if_asked`](crate::supervise_if_asked) before anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor(pub(crate) PathBuf);

impl Supervisor {
    /// The program that runs now, even where its file was replaced meanwhile.
    #[must_use]
    pub fn own_program() -> Self {
        // The link leads to the file that runs, under any name that it has now.
        if cfg!(target_os = "linux") {
            return Self(PathBuf::from("/proc/self/exe"));
        }
        Self(std::env::current_exe().unwrap_or_default())
    }

    /// Another program that calls [`supervise_if_asked`](crate::supervise_if_asked).
    #[must_use]
    pub const fn program(path: PathBuf) -> Self {
        Self(path)
    }
}
