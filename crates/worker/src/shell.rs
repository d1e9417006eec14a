//! The executor of commands and of code.
//!
//! A command is given to bash exactly as it was judged; code is given to its interpreter as a
//! sealed file in memory. Programs are found and opened by us and started by descriptor, in an
//! opened folder beneath the workspace, with an environment that makes no program load anything.
//!
//! Files that a command runs were judged by their content. Where it keeps the meaning, the command
//! reads a sealed copy of what was judged ([`scripts`]). Otherwise the content is compared right
//! before the start and again at the end: a script that was changed in between has run changed, and
//! the result says so.

use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use countersign_core::Action;
use countersign_core::action::Language;
use countersign_wire::work::{Ended, ExecutorKind, WorkItem, WorkResult};
use serde_json::json;

use crate::environment;
use crate::executor::{Executor, Running};
use crate::order::Argument;
use crate::permit::Permit;
use crate::process::Ready;
use crate::program::{Places, Program, ProgramError};
use crate::sealed;
use crate::settings::Settings;
use crate::workspace::{Beneath, PathError, Workspace};

mod scripts;

use scripts::{Scripts, Stands};

/// The executor of commands and of code.
#[derive(Debug)]
pub(crate) struct Shell {
    workspace: Arc<Workspace>,
    settings: Settings,
}

/// The reason for which a command is not started.
#[derive(Debug, thiserror::Error)]
enum NotStarted {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("`{0}` is not what it was when it was judged")]
    ScriptChanged(String),
    #[error("cannot hold a script in memory: {0}")]
    Sealed(std::io::Error),
    #[error("{0}")]
    NotSupported(&'static str),
    #[error("a command cannot contain a NUL byte")]
    NulByte,
}

impl NotStarted {
    const fn name(&self) -> &'static str {
        match self {
            Self::Path(error) => error.name(),
            Self::Program(_) => "NotStarted",
            Self::ScriptChanged(_) => "ScriptChanged",
            Self::Sealed(_) => "NotSealed",
            Self::NotSupported(_) => "NotSupported",
            Self::NulByte => "NulByte",
        }
    }
}

impl Shell {
    pub(crate) const fn new(workspace: Arc<Workspace>, settings: Settings) -> Self {
        Self { workspace, settings }
    }

    fn ready(&self, item: &WorkItem) -> Result<(Ready, Scripts), NotStarted> {
        let cwd = match &item.action {
            Action::Shell { cwd, .. } => cwd.as_deref(),
            _ => None,
        };
        let place = self.workspace.folder_of(&item.context, cwd)?;
        let start = Start::new(self, &place)?;
        let scripts = Scripts::open(&item.scripts, &self.workspace.path().join(place.path()))?;
        let ready = match &item.action {
            Action::Shell { command, .. } => start.command(command, &scripts)?,
            Action::Code { language, source, .. } => start.code(*language, source)?,
            _ => return Err(NotStarted::NotSupported("this is neither a command nor code")),
        };
        Ok((ready, scripts))
    }
}

impl Executor for Shell {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Shell
    }

    fn execute(&self, permit: Permit, running: Running<'_>) -> WorkResult {
        let item = permit.into_item();
        let (ready, scripts) = match self.ready(&item) {
            Ok(ready) => ready,
            Err(refused) => {
                let message = refused.to_string();
                return WorkResult::because(Ended::Refused, refused.name(), message);
            }
        };
        let mut result = ready.run(&self.settings.supervisor, item.limits, running);
        let changed = scripts.changed();
        if !changed.is_empty() {
            add(&mut result, "scripts_changed_while_running", json!(changed));
        }
        result
    }
}

fn add(result: &mut WorkResult, name: &str, value: serde_json::Value) {
    match &mut result.value {
        serde_json::Value::Object(map) => {
            map.insert(name.to_owned(), value);
        }
        other => *other = json!({ name: value }),
    }
}

/// A start that is being made ready.
struct Start {
    search: String,
    environment: Vec<(String, String)>,
    folder: std::os::fd::OwnedFd,
    folder_path: String,
}

impl Start {
    fn new(shell: &Shell, place: &Beneath) -> Result<Self, NotStarted> {
        let (from, workspace) = (&shell.settings.environment, &shell.workspace);
        Ok(Self {
            search: environment::search_path(from, workspace.path()),
            environment: environment::for_work(from, workspace.path()),
            folder: workspace.folder(place.path())?,
            folder_path: workspace.path().join(place.path()).to_string_lossy().into_owned(),
        })
    }

    fn find(&self, name: &str) -> Result<Program, NotStarted> {
        let places = Places { search: OsStr::new(&self.search), folder: self.folder.as_fd() };
        Ok(places.find(OsStr::new(name))?)
    }

    fn command(self, command: &str, scripts: &Scripts) -> Result<Ready, NotStarted> {
        if command.contains('\0') {
            return Err(NotStarted::NulByte);
        }
        if let Some(Stands { shell, content, arguments }) = scripts.stand_in(command) {
            let program = self.find(&shell)?;
            let copy = sealed::file(content).map_err(NotStarted::Sealed)?;
            let mut words = vec![Argument::Script];
            words.extend(arguments.into_iter().map(Argument::Word));
            return Ok(self.ready(program, words, Some(copy)));
        }
        let program = self.find("bash")?;
        // -p: no functions or options from the environment, whatever it contains.
        let words = ["-p", "-c", command].map(|word| Argument::Word(word.to_owned()));
        Ok(self.ready(program, words.into(), None))
    }

    fn code(mut self, language: Language, source: &str) -> Result<Ready, NotStarted> {
        let (name, option) = match language {
            Language::Python => ("python3", None),
            // Otherwise it looks for the file's real name, which a file in memory does not have.
            Language::Javascript => ("node", Some("--preserve-symlinks-main")),
            Language::Perl => ("perl", None),
            Language::Ruby => ("ruby", None),
            Language::Sql => {
                return Err(NotStarted::NotSupported(
                    "a worker has no database: run SQL with a command that names one",
                ));
            }
        };
        if language == Language::Python {
            // What was judged is the source, not a module of the same folder.
            self.environment.push(("PYTHONSAFEPATH".to_owned(), "1".to_owned()));
        }
        let program = self.find(name)?;
        let copy = sealed::file(source.as_bytes()).map_err(NotStarted::Sealed)?;
        let mut words: Vec<_> =
            option.into_iter().map(|option| Argument::Word(option.to_owned())).collect();
        words.push(Argument::Script);
        Ok(self.ready(program, words, Some(copy)))
    }

    fn ready(
        self,
        program: Program,
        arguments: Vec<Argument>,
        script: Option<std::os::fd::OwnedFd>,
    ) -> Ready {
        Ready {
            program,
            arguments,
            environment: self.environment,
            folder: self.folder,
            folder_path: self.folder_path,
            input: None,
            script,
        }
    }
}
