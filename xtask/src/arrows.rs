//! Dependencies between our crates point one way: `core <- net <- gate <- server <- cli`,
//! `core <- wire <- gate` and `net <- worker <- cli`. Tools may use anything; nothing uses a tool.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Result;
use crate::process::cargo;

/// The crates that each crate may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("countersign-core", &[]),
    ("countersign-wire", &["countersign-core"]),
    ("countersign-net", &["countersign-core"]),
    ("countersign-gate", &["countersign-core", "countersign-wire", "countersign-net"]),
    ("countersign-server", &["countersign-core", "countersign-wire", "countersign-gate"]),
    ("countersign-worker", &["countersign-core", "countersign-net"]),
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
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// The kind of dependency: `dev`, `build`, or `None` for a normal one.
    kind: Option<String>,
}

/// Compares the manifests with the diagram in ARCHITECTURE.md.
///
/// # Errors
/// A dependency is not in the diagram.
pub(crate) fn check() -> Result {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let wrong = wrong_arrows(&metadata.packages);
    if wrong.is_empty() {
        println!("{} crates, every arrow points the right way", metadata.packages.len());
        return Ok(());
    }
    Err(wrong.join("; ").into())
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
        Package { name: name.to_owned(), dependencies: uses.iter().map(dependency).collect() }
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
    fn our_own_manifests_follow_the_picture() {
        check().unwrap();
    }
}
