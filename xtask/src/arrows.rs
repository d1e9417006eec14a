//! Dependencies point one way, between our crates and between the modules of each.
//!
//! Between crates: `core <- net <- gate <- server <- cli`, `core <- wire <- gate` and
//! `wire, net <- worker <- cli`. Tools may use anything; nothing uses a tool. Inside a crate, top-level
//! modules form no cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use self::modules::Edge;
use crate::Result;
use crate::process::{cargo, root};

mod journeys;
mod modules;
mod source;

/// The crates that each crate may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("countersign-core", &[]),
    ("countersign-wire", &["countersign-core"]),
    ("countersign-net", &["countersign-core"]),
    ("countersign-gate", &["countersign-core", "countersign-wire", "countersign-net"]),
    ("countersign-server", &["countersign-core", "countersign-wire", "countersign-gate"]),
    ("countersign-worker", &["countersign-core", "countersign-wire", "countersign-net"]),
    (
        "countersign",
        &[
            "countersign-core",
            "countersign-wire",
            "countersign-net",
            "countersign-gate",
            "countersign-server",
            "countersign-worker",
        ],
    ),
    ("xtask", &["countersign-core"]),
    ("bench", &["countersign-core", "countersign-gate"]),
];

/// Crates that the core may never depend on: it does not use files, clocks, runtimes or networks.
const NOT_IN_CORE: &[&str] = &["tokio", "axum", "reqwest", "rusqlite", "redis", "rand", "rustix"];

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// The kind of dependency: `dev`, `build`, or `None` for a normal one.
    kind: Option<String>,
}

/// Compares the manifests with the diagram in ARCHITECTURE.md and its journeys with the code, and
/// looks for cycles between the modules of each crate.
///
/// # Errors
/// A dependency is not in the diagram, there is a cycle, or a journey names what is gone.
pub(crate) fn check() -> Result {
    let packages = packages()?;
    let mut wrong = wrong_arrows(&packages);
    for (name, found) in cycles_of(&packages)? {
        wrong.extend(wrong_cycles(&name, &found));
    }
    wrong.extend(journeys::wrong(&root())?);
    if wrong.is_empty() {
        println!("{} crates, every arrow points the right way", packages.len());
        return Ok(());
    }
    Err(wrong.join("\n  ").into())
}

fn packages() -> Result<Vec<Package>> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    Ok(metadata.packages)
}

/// Returns the uses between modules that are part of a cycle, for each of our crates.
fn cycles_of(packages: &[Package]) -> Result<Vec<(String, BTreeSet<Edge>)>> {
    let mut cycles = Vec::new();
    for package in packages {
        let source = package.manifest_path.with_file_name("src");
        if source.starts_with(root().join("crates")) {
            let folder = package.manifest_path.parent().and_then(Path::file_name);
            let name = folder.unwrap_or_default().to_string_lossy().into_owned();
            cycles.push((name, modules::on_cycles(&modules::uses(&modules::read(&source)?))));
        }
    }
    Ok(cycles)
}

/// Names the uses between modules of a crate that are part of a cycle.
fn wrong_cycles(name: &str, found: &BTreeSet<Edge>) -> Vec<String> {
    let line = |(from, to): &Edge| {
        format!("`{name}`: module `{from}` uses `{to}`, and `{to}` leads back to `{from}`")
    };
    found.iter().map(line).collect()
}

fn wrong_arrows(packages: &[Package]) -> Vec<String> {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let is_ours = |name: &str| packages.iter().any(|package| package.name == name);
    let mut wrong = Vec::new();
    for package in packages {
        let Some(may_use) = allowed.get(package.name.as_str()) else {
            wrong.push(format!("`{}` is not in ARCHITECTURE.md", package.name));
            continue;
        };
        let uses = package.dependencies.iter().filter(|used| used.kind.is_none());
        for used in uses.map(|used| used.name.as_str()) {
            if is_ours(used) && !may_use.contains(&used) {
                wrong.push(format!("`{}` may not use `{used}`", package.name));
            }
            if package.name == "countersign-core" && NOT_IN_CORE.contains(&used) {
                wrong.push(format!("the core is pure, and may not use `{used}`"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str]) -> Package {
        let dependency = |name: &&str| Dependency { name: (*name).to_owned(), kind: None };
        Package {
            name: name.to_owned(),
            manifest_path: PathBuf::new(),
            dependencies: uses.iter().map(dependency).collect(),
        }
    }

    #[test]
    fn arrows_that_point_up_or_across_are_found() {
        let packages = [
            package("countersign-core", &["serde", "countersign-gate"]),
            package("countersign-gate", &["countersign-core"]),
            package("countersign-worker", &["countersign-gate"]),
            package("countersign", &["countersign-core", "countersign-gate"]),
        ];
        assert_eq!(
            wrong_arrows(&packages),
            [
                "`countersign-core` may not use `countersign-gate`",
                "`countersign-worker` may not use `countersign-gate`"
            ]
        );
    }

    #[test]
    fn a_crate_nobody_wrote_down_is_found() {
        assert_eq!(wrong_arrows(&[package("extra", &[])]), ["`extra` is not in ARCHITECTURE.md"]);
    }

    #[test]
    fn the_core_stays_pure() {
        let packages = [package("countersign-core", &["tokio"])];
        assert_eq!(wrong_arrows(&packages), ["the core is pure, and may not use `tokio`"]);
    }

    #[test]
    fn a_cycle_between_modules_is_found() {
        let uses = |edges: &[(&str, &str)]| {
            let mut uses = modules::Uses::new();
            for (from, to) in edges {
                uses.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            }
            modules::on_cycles(&uses)
        };
        assert_eq!(
            wrong_cycles("x", &uses(&[("a", "b"), ("b", "a"), ("b", "c"), ("d", "a")])),
            [
                "`x`: module `a` uses `b`, and `b` leads back to `a`",
                "`x`: module `b` uses `a`, and `a` leads back to `b`",
            ]
        );
        assert!(wrong_cycles("x", &uses(&[("a", "b"), ("b", "c")])).is_empty());
    }

    #[test]
    fn our_own_manifests_follow_the_picture() {
        check().unwrap();
    }
}
