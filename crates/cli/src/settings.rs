//! The configuration in force: the layers merged into a policy, and into the other sections.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs, io};

use anyhow::{Context as _, Result, bail};
use countersign_core::policy::{Lock, Source, Sources, merged, section};
use countersign_core::{Context, Policy};
use countersign_gate::channel::Configured;
use countersign_gate::id::WorkspaceId;
use serde_json::{Map, Value};

use crate::layer::{self, Layer, Owner, explained, local_layers, read, sources};
use crate::served_policy::{self, Served};
use crate::{hook_options, mcp_options};

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
    pub(crate) hook: hook_options::Options,
    /// The section of the MCP proxy.
    pub(crate) mcp: mcp_options::Options,
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
    let hook = hook_options::Options::merged(&sources)?;
    let mcp: Option<mcp_options::Options> = merged(&sources, "mcp").map_err(explained)?;
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
        served.layers.push(layer::project(Path::new(workspace))?);
    }
    Ok(served)
}
