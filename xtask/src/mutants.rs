//! Mutation testing of the code that decides who may approve: cargo-mutants changes one small thing
//! at a time in a copy of the workspace, and a test must notice.
//!
//! Mutations that no test can notice are named in `.cargo/mutants.toml` and left out; the reason
//! for each is in `docs/mutants.md`.

use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::process::{PROFILE, cargo, has_subcommand, run as run_command, target};

/// Files that belong together.
struct Module {
    name: &'static str,
    package: &'static str,
    /// Paths relative to the folder `src` of the package.
    files: &'static [&'static str],
}

const MODULES: &[Module] = &[
    Module {
        name: "caller",
        package: "gate",
        files: &[
            "caller.rs",
            "gate/socket.rs",
            "gate/rights.rs",
            "process.rs",
            "process/agents.rs",
        ],
    },
    Module { name: "auth", package: "server", files: &["auth.rs", "admit.rs"] },
    Module {
        name: "quorum",
        package: "gate",
        files: &["approval/quorum.rs", "gate/submit/others.rs"],
    },
    Module {
        name: "approval",
        package: "gate",
        files: &[
            "approval.rs",
            "approval/describe.rs",
            "approval/receipt.rs",
            "approval/state.rs",
            "gate/answer.rs",
            "gate/answer/edit.rs",
            "gate/spend.rs",
            "permit.rs",
        ],
    },
    Module {
        name: "audit",
        package: "gate",
        files: &["audit.rs", "audit/*.rs", "record.rs", "record/*.rs"],
    },
];

/// Tests the named modules, or all of them.
///
/// # Errors
/// A module does not exist, cargo-mutants cannot be installed, or no test noticed a change.
pub(crate) fn run(args: &[&str]) -> Result {
    let modules = chosen(args)?;
    if !has_subcommand("mutants") {
        println!("installing cargo-mutants");
        run_command(&mut cargo(&["install", "cargo-mutants", "--locked"]))?;
    }
    for module in modules {
        println!("\n=== {} ===", module.name);
        run_command(&mut module.command())?;
    }
    Ok(())
}

fn chosen(args: &[&str]) -> Result<Vec<&'static Module>> {
    let known = |name: &&str| MODULES.iter().find(|module| module.name == *name);
    if args.is_empty() {
        return Ok(MODULES.iter().collect());
    }
    let names: Vec<_> = MODULES.iter().map(|module| module.name).collect();
    let unknown = |name| format!("no module `{name}`: there are {}", names.join(", "));
    args.iter().map(|name| known(name).ok_or_else(|| unknown(name).into())).collect()
}

impl Module {
    fn command(&self) -> Command {
        let package = format!("countersign-{}", self.package);
        let mut command = cargo(&["mutants", "--package", &package, "--profile", PROFILE]);
        for file in self.files {
            command.arg("--file").arg(format!("crates/{}/src/{file}", self.package));
        }
        if has_subcommand("nextest") {
            command.args(["--test-tool", "nextest"]);
        }
        command.arg("--output").arg(self.output());
        // Not the tests that kill processes again and again: they test the store.
        command.args(["--", "--lib", "--test", "it"]);
        // Kept between runs, so that dependencies are compiled once.
        command.env("CARGO_TARGET_DIR", target().join("mutants/target"));
        command
    }

    fn output(&self) -> PathBuf {
        target().join("mutants").join(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    #[test]
    fn a_module_is_chosen_by_name_and_all_without_one() {
        let names = |args: &[&str]| {
            chosen(args).map(|modules| modules.iter().map(|module| module.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["caller", "auth", "quorum", "approval", "audit"]);
        assert_eq!(names(&["quorum", "auth"]).unwrap(), ["quorum", "auth"]);
        let error = names(&["quorom"]).unwrap_err().to_string();
        assert_eq!(error, "no module `quorom`: there are caller, auth, quorum, approval, audit");
    }

    #[test]
    fn every_file_of_a_module_is_there() {
        for module in MODULES {
            for file in module.files {
                let file = file.strip_suffix("/*.rs").unwrap_or(file);
                let path = root().join("crates").join(module.package).join("src").join(file);
                assert!(path.exists(), "{}", path.display());
            }
        }
    }
}
