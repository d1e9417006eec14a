//! The files that an agent must not touch: paths with their role, and the options that start hosts
//! without a guard.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::{names, parse, strs, yaml_files};

/// One host, or one part of Countersign, as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    /// Files and folders with hook entries, or settings that can switch hooks off.
    hooks: Vec<String>,
    /// Files that name MCP servers.
    servers: Vec<String>,
    /// Countersign's own configuration.
    config: Vec<String>,
    /// Countersign's own data.
    data: Vec<String>,
    /// Countersign's own program.
    program: Vec<String>,
    /// Programs and packages that start the host.
    names: Vec<String>,
    /// Options and subcommands that switch hooks off.
    off: Vec<String>,
    /// Options that let the host act without asking its own user.
    skips: Vec<String>,
    /// Options that name other settings.
    settings: Vec<String>,
    /// Variables that name another folder of settings, with the usual one.
    moves: BTreeMap<String, String>,
    /// Variables that switch hooks off.
    off_if: Vec<String>,
    /// Variables that let the host act without asking its own user.
    skips_if: Vec<String>,
    /// Variables that name other settings.
    settings_if: Vec<String>,
}

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let (mut paths, mut hosts, mut named) = (Vec::new(), String::new(), Vec::new());
    let mut count = 0;
    for (file, text) in yaml_files(folder)? {
        for (name, entry) in parse::<Entry>(&file, &text)? {
            paths.extend(paths_of(&entry).map_err(|error| format!("{name}: {error}"))?);
            if !entry.names.is_empty() {
                let _ = writeln!(hosts, "{},", host(&entry));
                named.extend(entry.names.into_iter().map(|name| (name, count)));
                count += 1;
            }
        }
    }
    // Sorted by their first parts, by which they are looked up.
    paths.sort();
    let paths: String = paths.into_iter().map(|(_, code)| code).collect();
    let mut code = format!("static GUARDED: &[Guarded] = &[\n{paths}];\n");
    let _ = write!(code, "static HOSTS: &[Host] = &[\n{hosts}];\n");
    let numbered: Vec<_> = named.iter().map(|(name, at)| (name.as_str(), *at)).collect();
    code.push_str(&names("HOST_NAMES", numbered.into_iter())?);
    Ok(code)
}

/// Each path's first part in lower case, and its code.
fn paths_of(entry: &Entry) -> Result<Vec<(String, String)>, String> {
    let roles = [
        ("Hook", &entry.hooks),
        ("Servers", &entry.servers),
        ("Config", &entry.config),
        ("Data", &entry.data),
        ("Program", &entry.program),
    ];
    let mut found = Vec::new();
    for (role, path) in roles.iter().flat_map(|(role, paths)| paths.iter().map(move |p| (role, p)))
    {
        let (below, rest) = match (path.strip_prefix("~/"), path.strip_prefix('/')) {
            (Some(rest), _) => ("Home", rest),
            (None, Some(rest)) => ("Root", rest),
            (None, None) => ("Anywhere", path.as_str()),
        };
        let parts: Vec<_> = rest.split('/').map(str::to_owned).collect();
        if parts.iter().any(|part| part.is_empty() || part.contains(['*', '?', '['])) {
            return Err(format!("`{path}` is not a plain path"));
        }
        let first = parts.first().map(|part| part.to_ascii_lowercase()).unwrap_or_default();
        let code = format!(
            "Guarded {{ role: Role::{role}, below: Below::{below}, parts: {} }},\n",
            strs(&parts)
        );
        found.push((first, code));
    }
    Ok(found)
}

fn host(entry: &Entry) -> String {
    let moves: Vec<_> =
        entry.moves.iter().map(|(name, usual)| format!("({name:?}, {usual:?})")).collect();
    format!(
        "Host {{ off: {}, skips: {}, settings: {}, moves: &[{}], off_if: {}, skips_if: {}, settings_if: {} }}",
        strs(&entry.off),
        strs(&entry.skips),
        strs(&entry.settings),
        moves.join(", "),
        strs(&entry.off_if),
        strs(&entry.skips_if),
        strs(&entry.settings_if),
    )
}
