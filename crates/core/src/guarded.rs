//! The files that an agent must not touch, compiled from `guarded/*.yaml`: the paths of Countersign
//! and of hosts' hooks, and the options that start hosts without a guard.

use std::collections::BTreeMap;

use crate::lookup::{Name, Names};

/// A file or folder that an agent must not change.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// The purpose of it.
    pub(crate) role: Role,
    /// The folder that its parts are relative to.
    pub(crate) below: Below,
    /// The names on the way to it.
    pub(crate) parts: &'static [&'static str],
}

/// The purpose of a guarded path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Holds a host's hook entries, or settings that can switch hooks off.
    Hook,
    /// Names a host's MCP servers.
    Servers,
    /// Countersign's configuration.
    Config,
    /// Countersign's data: keys, database, socket.
    Data,
    /// Countersign's program.
    Program,
}

/// The folder that the parts of a guarded path are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Below {
    /// The root.
    Root,
    /// Somebody's home folder.
    Home,
    /// Any folder.
    Anywhere,
}

/// The ways to start a host without its guard.
#[derive(Debug)]
pub(crate) struct Host {
    /// Options and subcommands that switch hooks off.
    pub(crate) off: &'static [&'static str],
    /// Options that let it act without asking its own user.
    pub(crate) skips: &'static [&'static str],
    /// Options that name other settings.
    pub(crate) settings: &'static [&'static str],
    /// Variables that name another folder of settings, with the usual one.
    pub(crate) moves: &'static [(&'static str, &'static str)],
    /// Variables that switch hooks off.
    pub(crate) off_if: &'static [&'static str],
    /// Variables that let it act without asking its own user.
    pub(crate) skips_if: &'static [&'static str],
    /// Variables that name other settings.
    pub(crate) settings_if: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/guarded.rs"));

/// Every guarded path, sorted by their first parts.
pub(crate) fn paths() -> &'static [Guarded] {
    GUARDED
}

/// The guarded paths with this first part, in any case.
pub(crate) fn paths_from(first: &str) -> &'static [Guarded] {
    let order = |guarded: &Guarded| {
        let part = guarded.parts.first().copied().unwrap_or_default();
        part.bytes()
            .map(|byte| byte.to_ascii_lowercase())
            .cmp(first.bytes().map(|byte| byte.to_ascii_lowercase()))
    };
    let start = GUARDED.partition_point(|guarded| order(guarded).is_lt());
    let rest = GUARDED.get(start..).unwrap_or_default();
    rest.get(..rest.partition_point(|guarded| order(guarded).is_eq())).unwrap_or_default()
}

/// The folders of hosts' settings that variables name, for [`crate::Context::host_settings`].
pub fn moved_settings(variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let moves = HOSTS.iter().flat_map(|host| host.moves);
    let folders = moves.filter(|(_, usual)| !usual.starts_with('/'));
    folders.filter_map(|(name, usual)| Some((variable(name)?, (*usual).to_owned()))).collect()
}

/// The host that a program or package of this name starts: `claude`, `claude-code@latest`.
pub(crate) fn host(name: &str) -> Option<&'static Host> {
    let bare = name.split_once('@').map_or(name, |(bare, _)| bare);
    HOST_NAMES.find(bare).and_then(|at| HOSTS.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_host() {
        let numbers = HOST_NAMES.listed.iter().map(|name| usize::from(name.number));
        assert!(numbers.max().is_some_and(|most| most + 1 == HOSTS.len()));
        for name in ["claude", "claude-code@latest", "codex", "grok", "windsurf"] {
            assert!(host(name).is_some(), "{name}");
        }
        assert!(host("ls").is_none());
    }

    #[test]
    fn every_path_has_parts() {
        assert!(paths().iter().all(|path| !path.parts.is_empty()));
    }
}
