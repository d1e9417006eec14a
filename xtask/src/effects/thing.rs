//! Ways of touching something, and the things: mostly paths.

use std::collections::{BTreeMap, BTreeSet};

/// A way of touching something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Read,
    Write,
    Delete,
    Move,
    Execute,
    Connect,
    Signal,
}

impl Class {
    pub(crate) const ALL: [Self; 7] = [
        Self::Read,
        Self::Write,
        Self::Delete,
        Self::Move,
        Self::Execute,
        Self::Connect,
        Self::Signal,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Execute => "execute",
            Self::Connect => "connect",
            Self::Signal => "signal",
        }
    }
}

/// Things by the way they were touched: absolute paths, or names of programs.
pub(crate) type Things = BTreeMap<Class, BTreeSet<String>>;

/// The placeholder for anything on the network, or any process: these are not compared further.
pub(crate) const SOMETHING: &str = "something";

/// Locations that are irrelevant to the purpose of a script.
const UNINTERESTING: &[&str] = &[
    "/proc",
    "/.trace",
    "/dev/null",
    "/dev/tty",
    "/dev/fd",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];

/// Reports whether a path is not an ordinary file.
pub(crate) fn is_uninteresting(path: &str) -> bool {
    UNINTERESTING.iter().any(|place| is_under(path, place))
}

/// Reports whether a path is this folder or inside it.
pub(crate) fn is_under(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the absolute path, without `.`, `..` and empty parts.
pub(crate) fn normal(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        assert_eq!(normal("/w", "../a//./b"), "/a/b");
        assert_eq!(normal("/w", "/../.."), "/");
        assert!(is_under("/a/b", "/a/") && is_under("/a", "/a") && is_under("/a", "/"));
        assert!(!is_under("/ab", "/a"));
    }
}
