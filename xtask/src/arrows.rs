//! Dependencies point one way, between our crates and between the modules of each.
//!
//! Between crates: `core <- net <- gate <- server <- cli`, `core <- wire <- gate` and
//! `wire, net <- worker <- cli`. Tools may use anything; nothing uses a tool. Inside a crate, top-level
//! modules form no cycles, except those that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use self::modules::Edge;
use crate::Result;
use crate::process::{cargo, root};

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

/// A module that is in a cycle, and the modules of that cycle that it uses.
type Known = (&'static str, &'static [&'static str]);

/// The uses between modules that are part of a cycle today. The list may only shrink: a use that is
/// gone, or that is in a cycle no more, must be removed here.
const KNOWN_CYCLES: &[(&str, &[Known])] = &[
    (
        "server",
        &[
            ("api", &["app", "auth", "body", "idempotent", "route", "sign_in"]),
            ("app", &["live"]),
            ("auth", &["app", "behind", "body", "console", "idempotent", "route"]),
            ("behind", &["app", "route"]),
            ("body", &["app"]),
            ("console", &["api", "app", "auth", "body", "route", "sign_in"]),
            ("idempotent", &["app", "auth", "behind", "body", "route"]),
            ("live", &["api", "app", "auth", "body", "route"]),
            ("openapi", &["table"]),
            ("reference", &["openapi"]),
            ("route", &["app"]),
            ("sign_in", &["api", "app", "auth", "body", "console", "idempotent", "route"]),
            ("table", &["reference"]),
        ],
    ),
    (
        "cli",
        &[
            ("context_options", &["data"]),
            ("batch", &["exit"]),
            ("judging", &["facts", "hook"]),
            ("change", &["judging", "facts"]),
            ("client", &["serving"]),
            (
                "command",
                &[
                    "batch",
                    "judging",
                    "change",
                    "client",
                    "approval_client",
                    "exit",
                    "hook",
                    "host",
                    "listing",
                    "live",
                    "mcp",
                    "serving",
                    "settings",
                ],
            ),
            ("data", &["context_options"]),
            ("approval_client", &["client", "hook", "listing", "serving", "settings"]),
            ("exit", &["judging", "client"]),
            ("facts", &["hook"]),
            (
                "hook",
                &["judging", "client", "approval_client", "facts", "host", "serving", "settings"],
            ),
            ("host", &["mcp"]),
            ("listing", &["client", "exit"]),
            ("live", &["client", "command", "exit", "host", "listing", "serving"]),
            (
                "mcp",
                &[
                    "judging",
                    "change",
                    "client",
                    "command",
                    "approval_client",
                    "exit",
                    "hook",
                    "host",
                    "settings",
                ],
            ),
            ("serving", &["settings"]),
            ("settings", &["hook", "mcp"]),
        ],
    ),
];

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

/// Compares the manifests with the diagram in ARCHITECTURE.md, and the modules of each crate with
/// the known cycles.
///
/// # Errors
/// A dependency is not in the diagram, a cycle is not known, or a known one is gone.
pub(crate) fn check() -> Result {
    let packages = packages()?;
    let mut wrong = wrong_arrows(&packages);
    let mut cycles = 0;
    for (name, found) in cycles_of(&packages)? {
        cycles += found.len();
        wrong.extend(wrong_cycles(&name, &found, &known_in(&name)));
    }
    if wrong.is_empty() {
        println!("{} crates, every arrow points the right way", packages.len());
        println!("{cycles} uses between modules are part of a known cycle");
        return Ok(());
    }
    Err(wrong.join("\n  ").into())
}

/// Prints the uses that are part of a cycle, as rows for `KNOWN_CYCLES`: for a module that got
/// another name.
///
/// # Errors
/// A source cannot be read.
pub(crate) fn print_cycles() -> Result {
    for (name, found) in cycles_of(&packages()?)? {
        let mut modules: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (from, to) in found {
            modules.entry(from).or_default().push(to);
        }
        println!("({name:?}, &[");
        for (from, to) in modules {
            println!("    ({from:?}, &{to:?}),");
        }
        println!("]),");
    }
    Ok(())
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

/// Returns the known uses in cycles of a crate.
fn known_in(name: &str) -> BTreeSet<Edge> {
    let known = KNOWN_CYCLES.iter().filter(|(of, _)| *of == name);
    known
        .flat_map(|(_, modules)| modules.iter())
        .flat_map(|(from, to)| to.iter().map(|to| ((*from).to_owned(), (*to).to_owned())))
        .collect()
}

/// Compares the uses in cycles of a crate with those that are known.
fn wrong_cycles(name: &str, found: &BTreeSet<Edge>, known: &BTreeSet<Edge>) -> Vec<String> {
    let new = found.difference(known).map(|(from, to)| {
        format!("`{name}`: module `{from}` uses `{to}`, which makes a cycle that is not known")
    });
    let gone = known.difference(found).map(|(from, to)| {
        format!("`{name}`: `{from}` uses `{to}` in no cycle any more: remove it from KNOWN_CYCLES")
    });
    new.chain(gone).collect()
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
    fn a_new_cycle_and_a_known_one_that_is_gone_are_found() {
        let edges = |edges: &[(&str, &str)]| -> BTreeSet<Edge> {
            edges.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
        };
        let known = edges(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]);
        assert!(wrong_cycles("x", &known, &known).is_empty());
        let found = edges(&[("a", "b"), ("b", "a"), ("a", "d"), ("d", "a")]);
        assert_eq!(
            wrong_cycles("x", &found, &known),
            [
                "`x`: module `a` uses `d`, which makes a cycle that is not known",
                "`x`: module `d` uses `a`, which makes a cycle that is not known",
                "`x`: `b` uses `c` in no cycle any more: remove it from KNOWN_CYCLES",
                "`x`: `c` uses `b` in no cycle any more: remove it from KNOWN_CYCLES",
            ]
        );
    }

    #[test]
    fn our_own_manifests_follow_the_picture() {
        check().unwrap();
    }
}
