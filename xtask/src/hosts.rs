//! `docs/hosts-matrix.md`: the behaviour of real hosts with our hook.
//!
//! Hosts come from npm, in the versions named here, into `target/hosts/`; each is run by
//! `countersign doctor --live`. The findings of a run are stored there too, so that one host can be
//! run again without the others.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::generated::{How, settle};
use crate::process::{PROFILE, cargo, run, target};

mod page;

/// One host in one version.
struct Row {
    /// The name in our list of hosts.
    host: &'static str,
    /// The program that it installs.
    program: &'static str,
    package: &'static str,
    version: &'static str,
}

static ROWS: [Row; 8] = [
    row("claude-code", "claude", "@anthropic-ai/claude-code", "2.1.325"),
    row("claude-code", "claude", "@anthropic-ai/claude-code", "2.1.197"),
    row("codex", "codex", "@openai/codex", "0.166.0"),
    row("gemini", "gemini", "@google/gemini-cli", "0.61.0"),
    row("copilot", "copilot", "@github/copilot", "1.0.102"),
    row("opencode", "opencode", "opencode-ai", "1.18.33"),
    row("cline", "cline", "cline", "3.0.65"),
    row("droid", "droid", "droid", "0.215.0"),
];

/// Node.js, because some hosts need a newer one than a machine has.
const NODE: Row = row("node", "node", "node", "22.23.3");

const fn row(
    host: &'static str,
    program: &'static str,
    package: &'static str,
    version: &'static str,
) -> Row {
    Row { host, program, package, version }
}

impl Row {
    fn name(&self) -> String {
        format!("{}-{}", self.host, self.version)
    }

    fn folder(&self) -> PathBuf {
        folder().join(self.name())
    }

    fn programs(&self) -> PathBuf {
        self.folder().join("node_modules/.bin")
    }

    /// Returns the file with the findings of its last run.
    fn found(&self) -> PathBuf {
        folder().join(format!("{}.json", self.name()))
    }

    /// Downloads it, unless it is already installed.
    fn install(&self) -> Result {
        if self.programs().join(self.program).exists() {
            return Ok(());
        }
        println!("installing {}@{}", self.package, self.version);
        fs::create_dir_all(self.folder())?;
        fs::write(self.folder().join("package.json"), "{\"private\": true}\n")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
        npm.arg(format!("{}@{}", self.package, self.version));
        run(npm.current_dir(self.folder()).stdin(Stdio::null()))
    }

    /// Runs it live, and stores the findings.
    fn try_out(&self, countersign: &Path) -> Result {
        println!("running {} {}", self.host, self.version);
        let found = match self.install().and_then(|()| self.doctor(countersign)) {
            Ok(found) => found,
            Err(error) => serde_json::json!({"host": self.host, "cannot": error.to_string()}),
        };
        fs::create_dir_all(folder())?;
        Ok(fs::write(self.found(), format!("{found:#}\n"))?)
    }

    fn doctor(&self, countersign: &Path) -> Result<Value> {
        let mut doctor = Command::new(countersign);
        doctor.args(["doctor", self.host, "--live", "--json"]).env("PATH", self.path()?);
        let ended = doctor.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
        // It fails where a host lets something through: that is a finding, not an error.
        serde_json::from_slice(&ended.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            format!("doctor --live {}: {said}", self.host).into()
        })
    }

    fn path(&self) -> Result<OsString> {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let first = [self.programs(), NODE.programs()];
        Ok(std::env::join_paths(first.into_iter().chain(std::env::split_paths(&usual)))?)
    }
}

fn folder() -> PathBuf {
    target().join("hosts")
}

/// Runs every host, or the named ones, and writes the page.
///
/// # Errors
/// A host does not exist, nothing can be built or installed, or a host has not been run yet.
pub(crate) fn run_all(names: &[&str]) -> Result {
    let unknown = names.iter().find(|name| ROWS.iter().all(|row| !row.is_named(name)));
    if let Some(name) = unknown {
        return Err(format!("no host is called `{name}`").into());
    }
    run(&mut cargo(&["build", "--profile", PROFILE, "--workspace", "--bin", "countersign"]))?;
    let countersign = target().join(PROFILE).join("countersign");
    NODE.install()?;
    for row in &ROWS {
        if names.is_empty() || names.iter().any(|name| row.is_named(name)) {
            row.try_out(&countersign)?;
        }
    }
    settle("docs/hosts-matrix.md", &page::page(&found()?), How::Write, "hosts")
}

impl Row {
    /// Reports whether this is the name of the host, or of host and version.
    fn is_named(&self, name: &str) -> bool {
        name == self.host || name == self.name()
    }
}

/// Returns the findings of the last run of every host.
fn found() -> Result<Vec<(&'static Row, Value)>> {
    let read = |row: &'static Row| -> Result<(&'static Row, Value)> {
        let text = fs::read_to_string(row.found())
            .map_err(|_| format!("{} was not run yet: name it, or none", row.name()))?;
        Ok((row, serde_json::from_str(&text)?))
    };
    ROWS.iter().map(read).collect()
}
