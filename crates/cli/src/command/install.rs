//! `countersign install` and `uninstall`: add a hook to a host's own files, and remove it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use countersign_core::redact::redact;
use countersign_core::{Action, Context};

use super::hook::{Known, known};
use crate::ask::{self, Answer};
use crate::exit::Exit;
use crate::home::home;
use crate::host::install::{Change, Installed, Scope};
use crate::layer::{Layer, local_layers};
use crate::{diff, settings};

/// Added to the timeout of a question, so that silence is answered before the host gives up.
const MARGIN: u64 = 30;

/// Add the hook to an agent host's settings
///
/// Shows the change to each file and asks first. Comments and all other entries stay as they are;
/// installing again changes nothing.
#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    target: Target,
    /// How long the host waits for an answer, in seconds [default: as long as a question waits,
    /// plus half a minute]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=86_400))]
    timeout: Option<u64>,
}

/// Remove the hook from an agent host's settings
///
/// The file is restored to what it was before, byte for byte.
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    target: Target,
}

/// Which host, and for whom.
#[derive(Debug, Args)]
struct Target {
    /// The host: claude-code, codex, gemini, cursor, copilot, vscode, opencode, windsurf, cline
    /// or droid
    #[arg(value_parser = known, value_name = "HOST")]
    host: Known,
    #[command(flatten)]
    scope_options: ScopeOptions,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// The root folder for managed files, for packaging
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true)]
    root: PathBuf,
}

/// For whom.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ScopeOptions {
    /// For you, in every project (the default)
    #[arg(long)]
    user: bool,
    /// For everyone who works on this project
    #[arg(long)]
    project: bool,
    /// For everyone on this machine, in a file that only its administrator can write
    #[arg(long)]
    managed: bool,
}

impl Install {
    pub(super) fn run(self) -> Result<Exit> {
        let seconds = self.timeout.map_or_else(usual_seconds, Ok)?;
        let steps = self.target.steps(seconds, Change::after)?;
        let exit = carry_out(&steps, &self.target.how("already installed"))?;
        if exit == Exit::Done && !self.target.dry_run {
            let host = self.target.host.0;
            if let Some(what) = host.accepting(self.target.scope()) {
                writeln!(io::stdout(), "one more step: {what}")?;
            }
            writeln!(io::stdout(), "`countersign doctor {}` shows that it works", host.name())?;
        }
        Ok(exit)
    }
}

impl Uninstall {
    pub(super) fn run(self) -> Result<Exit> {
        let steps = self.target.steps(usual_seconds_here()?, Change::removed)?;
        carry_out(&steps, &self.target.how("not installed"))
    }
}

/// The seconds for which a host should wait: longer than a question does.
fn usual_seconds() -> Result<u64> {
    seconds_by(settings::layers(&Context::default())?)
}

/// The same for a look at hooks, and for their removal: by the files of this machine alone where
/// its server does not serve the organisation's policy. `doctor` reports that by itself.
pub(super) fn usual_seconds_here() -> Result<u64> {
    let layers = settings::layers(&Context::default()).or_else(|_| local_layers())?;
    seconds_by(layers)
}

fn seconds_by(layers: Vec<Layer>) -> Result<u64> {
    let set = settings::sections_of(layers.clone())?.gate.approval_timeout;
    let policy = settings::policy_of(layers)?;
    let action = Action::Shell { command: String::new(), cwd: None };
    let context = Context::default();
    let usual = policy.approval_timeout(&action, &context);
    let usual = usual.max(policy.approval_timeout_away(&action, &context));
    Ok(u64::from(set.unwrap_or(usual)) + MARGIN)
}

/// The change of one file.
pub(super) struct Step {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    executable: bool,
}

/// The options of a change.
pub(super) struct How {
    /// The title of the output, which names the host.
    pub(super) title: String,
    /// The message when there is nothing to change.
    pub(super) nothing: String,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
}

impl Target {
    fn scope(&self) -> Scope {
        match self.scope_options {
            ScopeOptions { project: true, .. } => Scope::Project,
            ScopeOptions { managed: true, .. } => Scope::Managed,
            ScopeOptions { user: _, .. } => Scope::User,
        }
    }

    fn steps(
        &self,
        seconds: u64,
        becomes: impl Fn(&Change, Option<&str>) -> Result<Option<String>>,
    ) -> Result<Vec<Step>> {
        let (host, scope) = (self.host.0, self.scope());
        if !host.scopes().contains(&scope) {
            bail!("{} has no place for --{}", host.title(), scope.as_str());
        }
        let home = home();
        let project = project()?;
        let program = program(scope)?;
        let installed = Installed {
            scope,
            home: home.as_deref(),
            project: &project,
            root: &self.root,
            program: &program,
            seconds,
        };
        let mut steps = Vec::new();
        for change in host.plan(&installed)? {
            let before = read(&change.path)?;
            let after = becomes(&change, before.as_deref())?;
            let executable = change.is_executable();
            steps.push(Step { executable, ..Step::new(&change.path, before, after) });
        }
        Ok(steps)
    }

    fn how(&self, nothing: &str) -> How {
        How {
            title: self.host.0.title().to_owned(),
            nothing: format!("{nothing} ({})", self.scope().as_str()),
            dry_run: self.dry_run,
            yes: self.yes,
        }
    }
}

/// Shows the changes, asks, and makes them.
pub(super) fn carry_out(steps: &[Step], how: &How) -> Result<Exit> {
    let mut out = io::stdout().lock();
    let steps: Vec<_> = steps.iter().filter(|step| step.before != step.after).collect();
    if steps.is_empty() {
        writeln!(out, "{}: {}", how.title, how.nothing)?;
        return Ok(Exit::Done);
    }
    for step in &steps {
        writeln!(out, "{}", step.path.display())?;
        let (before, after) = (step.before.as_deref(), step.after.as_deref());
        for line in diff::lines(before.unwrap_or_default(), after.unwrap_or_default()) {
            // Files of hosts contain tokens, and other people may see the screen.
            writeln!(out, "{}", crate::show::one_line(&redact(&line).text))?;
        }
    }
    if how.dry_run {
        writeln!(out, "nothing was changed")?;
        return Ok(Exit::Done);
    }
    out.flush()?;
    if !how.yes {
        match ask::proceed("") {
            Answer::Yes => {}
            Answer::No => {
                writeln!(out, "nothing was changed")?;
                return Ok(Exit::Failed);
            }
            Answer::Nobody => bail!("there is no terminal to ask on: say --yes, or --dry-run"),
        }
    }
    for step in steps {
        step.write().with_context(|| format!("cannot change `{}`", step.path.display()))?;
    }
    writeln!(out, "{}: done", how.title)?;
    Ok(Exit::Done)
}

/// The program that the hook runs. In a project it is searched for in everybody's `PATH`, because
/// its path differs from machine to machine.
pub(super) fn program(scope: Scope) -> Result<String> {
    if scope == Scope::Project {
        return Ok("countersign".to_owned());
    }
    let binary = std::env::current_exe().context("cannot find our own binary")?;
    let text = binary.to_str().context("the path of our own binary is not UTF-8")?;
    Ok(text.to_owned())
}

/// The current project.
pub(super) fn project() -> Result<PathBuf> {
    let context = crate::context_options::ContextOptions::default().context()?;
    Ok(PathBuf::from(context.workspace.unwrap_or_default()))
}

/// The text of a file, if it exists.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

impl Step {
    /// A file to create or change. A symbolic link is resolved, so that its target is changed.
    pub(super) fn new(path: &Path, before: Option<String>, after: Option<String>) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { path, before, after, executable: false }
    }

    /// Replaces the file atomically, so that nobody ever reads half of it.
    fn write(&self) -> Result<()> {
        let Some(after) = &self.after else {
            fs::remove_file(&self.path)?;
            return Ok(());
        };
        let folder = self.path.parent().context("it is not a file")?;
        fs::create_dir_all(folder)?;
        let mode = self.mode();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let new = folder.join(format!(".{name}.countersign-{}", std::process::id()));
        fs::write(&new, after)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&new, fs::Permissions::from_mode(mode))?;
        }
        #[cfg(not(unix))]
        let _ = mode;
        fs::rename(&new, &self.path).inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })?;
        Ok(())
    }

    /// The file's own mode; a new file is readable by everybody, like those that the hosts create.
    fn mode(&self) -> u32 {
        #[cfg(unix)]
        if let Ok(metadata) = fs::metadata(&self.path) {
            use std::os::unix::fs::PermissionsExt as _;
            return metadata.permissions().mode();
        }
        if self.executable { 0o755 } else { 0o644 }
    }
}
