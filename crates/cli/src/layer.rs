//! Layers of configuration: the files that may contain some, and their owners.
//!
//! A file that exists but cannot be read or is invalid is an error: nothing is judged without the
//! rules that its author meant. A file that does not exist costs nothing.

use std::env;
#[cfg(test)]
use std::fs;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use countersign_core::policy::{ConfigError, Source, Sources, merged};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::beneath::Root;
use crate::home::home;

/// The organisation's file.
const ORGANISATION: &str = "/etc/countersign/config.yaml";
/// The project's file, at the root of the workspace.
pub(crate) const PROJECT: &str = ".countersign.yaml";
/// Larger than any configuration that a person wrote.
const MOST_BYTES: u64 = 1 << 20;

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The administrator of the machine.
    Organisation,
    /// The workspace at the server to which the caller belongs.
    Workspace,
    /// The user.
    User,
    /// The repository in which the agent works. It may only tighten.
    Project,
}

impl Owner {
    /// Returns the layer's name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::Workspace => "workspace",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// One file that may contain configuration.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) owner: Owner,
    pub(crate) path: PathBuf,
    /// Its content, if it exists.
    pub(crate) text: Option<String>,
}

/// Reads one section of the organisation's and the user's configuration. A project's file cannot
/// set it.
///
/// # Errors
/// One of them is invalid.
pub(crate) fn section_of<T: Serialize + DeserializeOwned>(
    layers: Vec<Layer>,
    name: &str,
) -> Result<Option<T>> {
    merged(&sources(layers), name).map_err(explained)
}

/// Sorts layers by their owners.
pub(crate) fn sources(layers: Vec<Layer>) -> Sources {
    let mut sources = Sources::default();
    for Layer { owner, path, text } in layers {
        let source = text.map(|text| Source { name: path.display().to_string(), text });
        match owner {
            Owner::Organisation => sources.organisation = source,
            Owner::Workspace => sources.workspace = source,
            Owner::User => sources.user = source,
            Owner::Project => sources.project = source,
        }
    }
    sources
}

/// Adds the hint of an error in a configuration to its message.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
pub(crate) fn explained(error: ConfigError) -> anyhow::Error {
    anyhow!("{error}\n  hint: {}", error.hint)
}

/// Reads the organisation's and the user's file on this machine.
pub(crate) fn local_layers() -> Result<Vec<Layer>> {
    let mut layers = vec![read(Owner::Organisation, PathBuf::from(ORGANISATION))?];
    // Unit tests share one environment, so the file of the person who runs them must not count.
    if let Some(path) = user_path().filter(|_| !cfg!(test)) {
        let layer = read(Owner::User, path)?;
        if layer.text.is_none() && named_by_environment().is_some() {
            bail!("`{}`, named by $COUNTERSIGN_CONFIG, is not there", layer.path.display());
        }
        layers.push(layer);
    }
    Ok(layers)
}

/// Reads one file by name.
///
/// # Errors
/// It does not exist or cannot be read.
pub(crate) fn layer_at(path: &Path) -> Result<Layer> {
    let layer = read(Owner::User, path.to_owned())?;
    if layer.text.is_none() {
        bail!("`{}` is not there", path.display());
    }
    Ok(layer)
}

/// The path of the user's file, whether or not it exists.
pub(crate) fn user_path() -> Option<PathBuf> {
    named_by_environment().or_else(|| {
        let folder = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        // The XDG specification says to ignore a relative one.
        let folder = folder.filter(|folder| folder.is_absolute());
        let folder = folder.or_else(|| home().map(|home| home.join(".config")))?;
        Some(folder.join("countersign/config.yaml"))
    })
}

fn named_by_environment() -> Option<PathBuf> {
    env::var_os("COUNTERSIGN_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}

pub(crate) fn read(owner: Owner, path: PathBuf) -> Result<Layer> {
    let text = text_of(open(&path)).with_context(|| format!("cannot read `{}`", path.display()))?;
    // A dangling link is a configuration gone missing, not one that was never written.
    if text.is_none() && path.is_symlink() {
        bail!("`{}` is a broken link", path.display());
    }
    Ok(Layer { owner, path, text })
}

/// Reads the project's file. The author of the repository controls it, so it is read only if it is
/// really in there: it cannot make us read another file, and quote it in an error.
pub(crate) fn project(workspace: &Path) -> Result<Layer> {
    let path = workspace.join(PROJECT);
    let file = Root::open(workspace).and_then(|root| root.read(Path::new(PROJECT)));
    let text = text_of(file)
        .with_context(|| format!("cannot read `{}` as a file of this workspace", path.display()))?;
    Ok(Layer { owner: Owner::Project, path, text })
}

fn text_of(file: io::Result<File>) -> Result<Option<String>> {
    let file = match file {
        Ok(file) => file,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        bail!("it is not a file");
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        bail!("it is larger than 1 MiB");
    }
    Ok(Some(text))
}

/// Opens without blocking: a pipe in place of a file must not hang every check.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            env::temp_dir().join(format!("countersign-settings-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_project_file_that_is_a_link_out_of_the_workspace_is_refused() {
        let folder = folder("link");
        symlink("/etc/hostname", folder.join(PROJECT)).unwrap();
        assert!(project(&folder).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_there_but_no_file_is_an_error_and_what_is_not_there_is_nothing() {
        let folder = folder("kinds");
        fs::create_dir(folder.join("folder.yaml")).unwrap();
        symlink("nowhere", folder.join("gone.yaml")).unwrap();
        assert!(read(Owner::User, folder.join("folder.yaml")).is_err());
        assert!(read(Owner::User, folder.join("gone.yaml")).is_err());
        assert!(read(Owner::User, folder.join("none.yaml")).unwrap().text.is_none());
        assert!(project(&folder.join("no/such/workspace")).unwrap().text.is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_endless_configuration_is_not_read_to_its_end() {
        let folder = folder("large");
        let path = folder.join("large.yaml");
        fs::write(&path, "#".repeat((1 << 20) + 1)).unwrap();
        assert!(read(Owner::User, path).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
