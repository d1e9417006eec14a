//! `countersign mcp wrap` and `unwrap`: add the proxy to a host's own list of servers, and remove
//! it.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::install::{self, Step, program, project, read};
use crate::exit::Exit;
use crate::home::home;
use crate::host::install::{Installed, Scope};
use crate::host::servers::Servers;
use crate::host::{self, Host};
use crate::mcp::wrap::{self, Became, Outcome};
use crate::show::one_line;

/// Put the proxy in front of the MCP servers an agent host already has
///
/// Shows the change to each file and asks first. Variables, working folders, comments and unknown
/// fields stay as they are; servers that are already wrapped are left alone. Headers become
/// variables of the entry, so that no secret is on a command line.
#[derive(Debug, Args)]
pub(crate) struct Wrap {
    #[command(flatten)]
    target: Target,
}

/// Remove the proxy from the MCP servers of an agent host
///
/// The file is restored to what it was before, byte for byte.
#[derive(Debug, Args)]
pub(crate) struct Unwrap {
    #[command(flatten)]
    target: Target,
}

/// Which file, and which of its servers.
#[derive(Debug, Args)]
struct Target {
    /// The host (claude-code, codex, gemini, cursor, copilot, vscode, opencode, windsurf, cline
    /// or droid), or a file that lists servers
    #[arg(value_name = "HOST|FILE")]
    of: String,
    #[command(flatten)]
    scope_options: ScopeOptions,
    /// Only this server
    #[arg(long, value_name = "SERVER")]
    only: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Whose servers.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ScopeOptions {
    /// Yours, in every project (the default)
    #[arg(long)]
    user: bool,
    /// Those of everybody who works in this project
    #[arg(long)]
    project: bool,
}

impl Wrap {
    pub(super) fn run(self) -> Result<Exit> {
        self.target.change(wrap::wrap, "every server is wrapped already")
    }
}

impl Unwrap {
    pub(super) fn run(self) -> Result<Exit> {
        self.target.change(wrap::unwrap, "no server is wrapped")
    }
}

type Change = fn(&str, &crate::host::servers::Layout, &wrap::How<'_>) -> Result<Outcome>;

impl Target {
    const fn scope(&self) -> Scope {
        if self.scope_options.project && !self.scope_options.user {
            Scope::Project
        } else {
            Scope::User
        }
    }

    fn change(&self, change: Change, nothing: &str) -> Result<Exit> {
        let program = program(self.scope())?;
        let how = wrap::How { program: &program, only: &self.only };
        let (mut steps, mut seen) = (Vec::new(), Vec::new());
        for file in self.files()? {
            let Some(before) = read(&file.path)? else { continue };
            let wrong = |error: anyhow::Error| {
                error.context(format!(
                    "`{}` cannot be read, so it is left alone",
                    file.path.display()
                ))
            };
            let Outcome { text, servers } = change(&before, file.layout, &how).map_err(wrong)?;
            seen.extend(servers);
            steps.push(Step::new(&file.path, Some(before), Some(text)));
        }
        if let Some(missing) =
            self.only.iter().find(|name| !seen.iter().any(|(known, _)| known == *name))
        {
            bail!("there is no server `{missing}`");
        }
        let nothing = if seen.is_empty() { "there are no servers" } else { nothing };
        tell(&seen)?;
        let left = seen.iter().any(|(_, became)| matches!(became, Became::Left(_)));
        let nothing = if left { "nothing to change" } else { nothing };
        let how = install::How {
            title: self.title(),
            nothing: nothing.to_owned(),
            dry_run: self.dry_run,
            yes: self.yes,
        };
        install::carry_out(&steps, &how)
    }

    fn title(&self) -> String {
        host::find(&self.of).map_or_else(|| self.of.clone(), |host| host.title().to_owned())
    }

    fn files(&self) -> Result<Vec<Servers>> {
        if let Some(host) = host::find(&self.of) {
            let files = files(host, self.scope())?;
            if files.is_empty() {
                bail!("{} has no such file for --{}", host.title(), self.scope().as_str());
            }
            return Ok(files);
        }
        let path = PathBuf::from(&self.of);
        match read(&path)? {
            Some(text) => Ok(vec![Servers::guessed(&path, &text)]),
            None => bail!("`{}` is neither a host nor a file", self.of),
        }
    }
}

/// The files in which a host names servers.
pub(super) fn files(host: &dyn Host, scope: Scope) -> Result<Vec<Servers>> {
    let (home, project) = (home(), project()?);
    host.servers(&Installed {
        scope,
        home: home.as_deref(),
        project: &project,
        root: std::path::Path::new("/"),
        program: "",
        seconds: 0,
    })
}

fn tell(seen: &[(String, Became)]) -> Result<()> {
    let mut out = io::stdout().lock();
    for (name, became) in seen {
        if let Became::Left(why) = became {
            writeln!(out, "left alone: {}: {why}", one_line(name))?;
        }
    }
    Ok(())
}
