//! Finds the configuration files, and merges them.
//!
//! A file that exists but cannot be read or is invalid is an error: nothing is judged without the
//! rules that its author meant. A file that does not exist costs nothing.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use countersign_core::policy::{ConfigError, Lock, Source, Sources, merged, section};
use countersign_core::{Context, Policy};
use countersign_gate::channel::Configured;
use countersign_gate::id::WorkspaceId;
use serde_json::{Map, Value};

use crate::beneath::Root;
use crate::context_options;
use crate::hook::served_policy::{self, Served};

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

/// Returns the policy in force in this context.
///
/// # Errors
/// A configuration exists but cannot be read or is invalid.
pub(crate) fn policy(context: &Context) -> Result<Policy> {
    policy_of(layers(context)?)
}

/// Merges these layers into a policy.
///
/// # Errors
/// One of them is invalid.
pub(crate) fn policy_of(layers: Vec<Layer>) -> Result<Policy> {
    // Almost every check takes this path, so it parses nothing.
    if layers.iter().all(|layer| layer.text.is_none()) {
        return Ok(Policy::default());
    }
    Policy::load(&sources(layers)).map_err(explained)
}

/// Returns the policy of a server: its layers, and a policy for each workspace that has one.
///
/// # Errors
/// One of them is invalid.
pub(crate) fn server_policy(policy: Option<&Path>) -> Result<Policy> {
    let layers = server_layers(policy)?;
    let workspaces = workspaces(&layers)?;
    Policy::load(&Sources { workspaces, ..sources(layers) }).map_err(explained)
}

/// Returns the configuration of a server besides its policy.
///
/// # Errors
/// One of the files is invalid, or an environment variable is.
pub(crate) fn server_sections(policy: Option<&Path>) -> Result<Sections> {
    sections_of(server_layers(policy)?)
}

/// The layers of a server, which serves the organisation's policy and does not fetch it.
fn server_layers(policy: Option<&Path>) -> Result<Vec<Layer>> {
    let mut layers = local_layers()?;
    let Some(path) = policy else { return Ok(layers) };
    let named = read(Owner::Organisation, path.to_owned())?;
    if named.text.is_none() {
        bail!("`{}` is not there", path.display());
    }
    for layer in layers.iter_mut().filter(|layer| layer.owner == Owner::Organisation) {
        if layer.text.is_some() {
            bail!(
                "`{}` is the organisation's policy here: leave out --policy",
                layer.path.display()
            );
        }
        *layer = named.clone();
    }
    Ok(layers)
}

/// The policies of workspaces: `workspaces/<id>.yaml` beside the organisation's file, or beside the
/// user's where the organisation has none.
fn workspaces(layers: &[Layer]) -> Result<BTreeMap<String, Source>> {
    let mut found = BTreeMap::new();
    let first = layers.iter().find(|layer| layer.text.is_some());
    let folder =
        first.and_then(|layer| layer.path.parent()).map(|folder| folder.join("workspaces"));
    let Some(folder) = folder else { return Ok(found) };
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", folder.display()));
        }
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if WorkspaceId::parse(&id).is_err() {
            bail!("`{}` is not named by the id of a workspace, such as `wsp_…`", path.display());
        }
        let layer = read(Owner::Workspace, path)?;
        let source = layer.text.map(|text| Source { name: layer.path.display().to_string(), text });
        found.extend(source.map(|source| (id, source)));
    }
    Ok(found)
}

/// The configuration besides the policy.
#[derive(Debug)]
pub(crate) struct Sections {
    /// The gate's section, overridden by environment variables.
    pub(crate) gate: countersign_gate::Config,
    /// The notification channels: the organisation's, then the user's.
    pub(crate) channels: Vec<Configured>,
    /// The server's section.
    pub(crate) server: countersign_server::Settings,
    /// The section of the agent hosts' hooks.
    pub(crate) hook: crate::hook::Options,
    /// The section of the MCP proxy.
    pub(crate) mcp: crate::mcp::Options,
}

/// Merges the sections of these layers besides the policy. A project's file cannot set them.
///
/// # Errors
/// One of them is invalid, or an environment variable is.
pub(crate) fn sections_of(layers: Vec<Layer>) -> Result<Sections> {
    let sources = sources(layers);
    let gate: Option<countersign_gate::Config> = merged(&sources, "gate").map_err(explained)?;
    let gate = gate.unwrap_or_default().with_environment(|name| env::var(name).ok())?;
    let gate = with_locked_retention(&sources, gate)?;
    let mut channels = Vec::new();
    for source in [&sources.organisation, &sources.user].into_iter().flatten() {
        let more: Option<Vec<Configured>> = section(source, "channels").map_err(explained)?;
        channels.extend(more.into_iter().flatten());
    }
    let server: Option<countersign_server::Settings> =
        merged(&sources, "server").map_err(explained)?;
    let hook = hook_in(&sources)?;
    let mcp: Option<crate::mcp::Options> = merged(&sources, "mcp").map_err(explained)?;
    let (server, hook) = (server.unwrap_or_default(), hook.unwrap_or_default());
    Ok(Sections { gate, channels, server, hook, mcp: mcp.unwrap_or_default() })
}

/// Restores the organisation's retention where it has locked that setting.
fn with_locked_retention(
    sources: &Sources,
    gate: countersign_gate::Config,
) -> Result<countersign_gate::Config> {
    let Some(organisation) = &sources.organisation else { return Ok(gate) };
    let locks: Option<Vec<Lock>> = section(organisation, "lock").map_err(explained)?;
    if !locks.is_some_and(|locks| locks.contains(&Lock::Retention)) {
        return Ok(gate);
    }
    let own: Option<countersign_gate::Config> = section(organisation, "gate").map_err(explained)?;
    let retention_days = own.unwrap_or_default().retention_days;
    if retention_days != gate.retention_days {
        bail!(
            "records are kept for {retention_days} days: the organisation has locked `retention` \
             ({}), and the user's file or $AUTO_ACTION_LOG_RETENTION_DAYS says {}",
            organisation.name,
            gate.retention_days
        );
    }
    Ok(gate)
}

/// Merges the hook options of these layers. A project's file cannot set them.
///
/// # Errors
/// One of them is invalid.
pub(crate) fn hook_of(layers: Vec<Layer>) -> Result<Option<crate::hook::Options>> {
    hook_in(&sources(layers))
}

fn hook_in(sources: &Sources) -> Result<Option<crate::hook::Options>> {
    let Some(hook) = merged::<crate::hook::Options>(sources, "hook").map_err(explained)? else {
        return Ok(None);
    };
    let read = |source: &Option<Source>| match source {
        Some(source) => section(source, "hook").map_err(explained),
        None => Ok(None),
    };
    let (organisation, user) = (read(&sources.organisation)?, read(&sources.user)?);
    Ok(Some(hook.bounded_by(organisation.as_ref(), user.as_ref())))
}

/// Returns the quorum rules of the organisation's and the user's configuration: when people other
/// than the one for whom an agent works must agree.
///
/// # Errors
/// A file exists but cannot be read or is invalid.
pub(crate) fn quorum() -> Result<Vec<countersign_gate::approval::QuorumRow>> {
    // By an outdated policy too: what it asks of several people is not forgotten with its age.
    let sources = sources(served_layers(&Context::default())?.layers);
    let gate: Option<countersign_gate::Config> = merged(&sources, "gate").map_err(explained)?;
    Ok(gate.unwrap_or_default().quorum)
}

/// Merges the MCP options of these layers. A project's file cannot set them.
///
/// # Errors
/// One of them is invalid.
pub(crate) fn mcp_of(layers: Vec<Layer>) -> Result<Option<crate::mcp::Options>> {
    merged(&sources(layers), "mcp").map_err(explained)
}

/// Returns the layer from which one field of a section comes: the organisation's, the user's, the
/// environment or the default.
///
/// # Errors
/// A layer is invalid.
pub(crate) fn origin(layers: &[Layer], name: &str, field: &str) -> Result<&'static str> {
    const VARIABLES: [(&str, &str); 4] = [
        ("enabled", "AUTO_ACTION_ENABLED"),
        ("retention_days", "AUTO_ACTION_LOG_RETENTION_DAYS"),
        ("approval_timeout", "CRITICAL_POINT_TIMEOUT"),
        ("allowed_origins", "AUTO_ACTION_ALLOWED_ORIGINS"),
    ];
    let mut variables = VARIABLES.iter().filter(|_| name == "gate");
    if variables.any(|(of, variable)| *of == field && env::var_os(variable).is_some()) {
        return Ok("environment");
    }
    let sources = sources(layers.to_vec());
    let files = [("organisation", &sources.organisation), ("user", &sources.user)];
    for (layer, source) in files {
        let Some(source) = source else { continue };
        let written: Option<Map<String, Value>> = section(source, name).map_err(explained)?;
        if written.is_some_and(|written| written.contains_key(field)) {
            return Ok(layer);
        }
    }
    Ok("default")
}

fn sources(layers: Vec<Layer>) -> Sources {
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

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
fn explained(error: ConfigError) -> anyhow::Error {
    anyhow!("{error}\n  hint: {}", error.hint)
}

/// Reads every file that may contain configuration.
///
/// # Errors
/// A file exists but cannot be read, or `$COUNTERSIGN_CONFIG` names one that does not exist.
pub(crate) fn layers(context: &Context) -> Result<Vec<Layer>> {
    let Served { layers, outdated } = served_layers(context)?;
    outdated.map_or(Ok(layers), Err)
}

/// The same, with a policy of the organisation that may be too old to allow anything by.
///
/// # Errors
/// One is there but cannot be read, or there is no policy of the organisation at all.
pub(crate) fn served_layers(context: &Context) -> Result<Served> {
    let mut served = served_policy::with_served(local_layers()?)?;
    if let Some(workspace) = &context.workspace {
        served.layers.push(project(Path::new(workspace))?);
    }
    Ok(served)
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
        let folder = folder.or_else(|| context_options::home().map(|home| home.join(".config")))?;
        Some(folder.join("countersign/config.yaml"))
    })
}

fn named_by_environment() -> Option<PathBuf> {
    env::var_os("COUNTERSIGN_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn read(owner: Owner, path: PathBuf) -> Result<Layer> {
    let text = text_of(open(&path)).with_context(|| format!("cannot read `{}`", path.display()))?;
    // A dangling link is a configuration gone missing, not one that was never written.
    if text.is_none() && path.is_symlink() {
        bail!("`{}` is a broken link", path.display());
    }
    Ok(Layer { owner, path, text })
}

/// Reads the project's file. The author of the repository controls it, so it is read only if it is
/// really in there: it cannot make us read another file, and quote it in an error.
fn project(workspace: &Path) -> Result<Layer> {
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
