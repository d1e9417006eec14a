//! The context of an action: the context options, with the host's values as defaults.
//!
//! Reads the environment and looks for a `.git` on the way up; changes nothing.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use countersign_core::{Context, context, moved_settings};

use crate::data;
use crate::home::home;

/// Where an action would run and for whom.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Context")]
pub(crate) struct ContextOptions {
    /// The folder it would run in [default: this folder]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// The user's home folder [default: $HOME]
    #[arg(long, value_name = "FOLDER")]
    home: Option<PathBuf>,
    #[command(flatten)]
    bounds: Bounds,
}

/// What the agent was given, and how it is judged.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Context")]
pub(crate) struct Bounds {
    /// The agent's workspace [default: the enclosing git repository, or --cwd]
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// The profile to judge with [default: the configuration's]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The mode of the run [default: the profile's]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    /// Look only, change nothing
    Explore,
    /// Do the work
    Task,
}

impl ContextOptions {
    /// Returns the options for the current folder and user, within these bounds.
    pub(crate) fn here(bounds: &Bounds) -> Self {
        Self { bounds: bounds.clone(), ..Self::default() }
    }

    /// Returns the options for another folder, and for a workspace where one is named.
    pub(crate) fn at(cwd: Option<PathBuf>, workspace: Option<PathBuf>) -> Self {
        Self { cwd, bounds: Bounds { workspace, ..Bounds::default() }, ..Self::default() }
    }

    /// Returns the context that these options and the host describe.
    ///
    /// # Errors
    /// This folder is gone, or a path is not UTF-8.
    pub(crate) fn context(&self) -> Result<Context> {
        let cwd = match &self.cwd {
            Some(cwd) => std::path::absolute(cwd),
            None => env::current_dir(),
        }
        .context("cannot tell the working folder")?;
        let home = self.home.clone().or_else(home);
        let workspace = match &self.bounds.workspace {
            Some(workspace) => std::path::absolute(workspace).context("cannot find --workspace")?,
            None => repository(&cwd, home.as_deref()).unwrap_or(&cwd).to_owned(),
        };
        Ok(Context {
            cwd: Some(text(&cwd)?),
            home: home.as_deref().map(text).transpose()?,
            workspace: Some(text(&workspace)?),
            profile: self.bounds.profile.clone(),
            mode: self.bounds.mode.map(Mode::into),
            own_program: own_program(),
            own_data: data::usual_folder().as_deref().and_then(Path::to_str).map(str::to_owned),
            host_settings: host_settings(),
            ..Context::default()
        })
    }
}

impl From<Mode> for context::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Explore => Self::Explore,
            Mode::Task => Self::Task,
        }
    }
}

/// Fills the gaps of a given context from the host's context.
///
/// `cwd` and `workspace` describe one place, so a context that names either keeps its own.
pub(crate) fn fill(given: Context, host: &Context) -> Context {
    let elsewhere = given.cwd.is_some() || given.workspace.is_some();
    let place = |from_host: &Option<String>| if elsewhere { None } else { from_host.clone() };
    Context {
        cwd: given.cwd.or_else(|| place(&host.cwd)),
        workspace: given.workspace.or_else(|| place(&host.workspace)),
        home: given.home.or_else(|| host.home.clone()),
        profile: given.profile.or_else(|| host.profile.clone()),
        mode: given.mode.or(host.mode),
        own_program: given.own_program.or_else(|| host.own_program.clone()),
        own_data: given.own_data.or_else(|| host.own_data.clone()),
        host_settings: if given.host_settings.is_empty() {
            host.host_settings.clone()
        } else {
            given.host_settings
        },
        ..given
    }
}

/// The folders of hosts' settings that environment variables name: a host passes them to its hooks.
pub(crate) fn host_settings() -> BTreeMap<String, String> {
    moved_settings(|name| env::var(name).ok().filter(|folder| Path::new(folder).is_absolute()))
}

/// The path of this program, which hooks start.
fn own_program() -> Option<String> {
    env::current_exe().ok()?.to_str().map(str::to_owned)
}

/// The nearest folder with a `.git`, but never one that contains the whole home folder: a
/// repository of dotfiles must not turn everything the user owns into the workspace.
fn repository<'a>(cwd: &'a Path, home: Option<&Path>) -> Option<&'a Path> {
    cwd.ancestors()
        .take_while(|folder| home.is_none_or(|home| !home.starts_with(folder)))
        .find(|folder| folder.join(".git").exists())
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("`{}` is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(json: &str) -> Context {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn what_a_line_says_wins_over_the_host() {
        let host = context(r#"{"cwd":"/a","workspace":"/a","home":"/h","mode":"explore"}"#);
        let filled = fill(context(r#"{"home":"/other"}"#), &host);
        assert_eq!(
            filled,
            context(r#"{"cwd":"/a","workspace":"/a","home":"/other","mode":"explore"}"#)
        );
    }

    #[test]
    fn a_line_from_elsewhere_does_not_get_this_workspace() {
        let host = context(r#"{"cwd":"/a","workspace":"/a","home":"/h"}"#);
        let filled = fill(context(r#"{"cwd":"/b"}"#), &host);
        assert_eq!(filled, context(r#"{"cwd":"/b","home":"/h"}"#));
    }

    #[test]
    fn a_repository_around_the_home_folder_is_not_a_workspace() {
        let base = std::env::temp_dir().join(format!("countersign-around-{}", std::process::id()));
        let home = base.join("home");
        let project = home.join("project");
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::create_dir_all(home.join(".git")).unwrap();
        assert_eq!(repository(&project.join("src"), Some(&home)), None);
        std::fs::create_dir_all(project.join(".git")).unwrap();
        assert_eq!(repository(&project.join("src"), Some(&home)), Some(project.as_path()));
        std::fs::remove_dir_all(base).unwrap();
    }
}
