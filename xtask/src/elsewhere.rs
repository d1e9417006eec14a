//! Runs the tests that use paths, homes, users and processes again, from another folder.
//!
//! Nothing is compiled again: the test programs that are already built are copied into a second
//! copy of the workspace and told where they are. There, everything that a test must not depend on
//! is different: the length of the path and spaces in it, the user, the home, the temporary folder,
//! time zone, language, umask, ignored signals and variables of our own. Files beside the workspace
//! are missing there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::process::{PROFILE, cargo, root, run, run_keeping};

/// A test program, and the names of its tests to run; all, if none is named.
struct Program {
    package: &'static str,
    target: &'static str,
    tests: &'static [&'static str],
}

const PROGRAMS: &[Program] = &[
    Program { package: "cli", target: "it", tests: &[] },
    Program { package: "cli", target: "countersign", tests: &[] },
    Program {
        package: "cli",
        target: "acceptance",
        tests: &[
            "server::serve::",
            "server::hosts::",
            "mcp::end::",
            "mcp::link::",
            "applescript::",
        ],
    },
    Program {
        package: "gate",
        target: "countersign_gate",
        tests: &["process::", "vault::", "keyring::", "transfer::", "clock::"],
    },
    Program { package: "server", target: "countersign_server", tests: &["socket::", "tls::"] },
    Program { package: "server", target: "it", tests: &["roles::the_local_socket"] },
];

/// Starts a program as a user and a group that own nothing.
const AS_NOBODY: &[&str; 6] =
    &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// The number of seconds after which a hanging test program is killed.
const PATIENCE: &str = "600";

/// A folder name that makes the path of a socket in it longer than the system allows.
const LONG: &str = "a folder that is named otherwise, and a good deal longer than most are";

/// Runs the tests from a folder whose path is long and has spaces, or from the given one.
///
/// # Errors
/// A test failed, or the second copy cannot be made.
pub(crate) fn run_all(args: &[&str]) -> Result<Vec<String>> {
    let (top, name) = match args {
        [] => (std::env::temp_dir().join(format!("countersign-{}", std::process::id())), LONG),
        [folder] => (std::path::absolute(folder)?, ""),
        other => return Err(format!("unknown option `{}`", other.join(" ")).into()),
    };
    if top.exists() {
        return Err(format!("`{}` is there already", top.display()).into());
    }
    let copy = SecondCopy::new(top, name)?;
    let mut kept = Vec::new();
    let mut failed = Vec::new();
    for program in PROGRAMS {
        match copy.run(program) {
            Ok(lines) => kept.extend(lines),
            Err(error) => {
                let Program { package, target, .. } = program;
                failed.push(format!("{target} of {package}: {error}"));
            }
        }
    }
    if failed.is_empty() { Ok(kept) } else { Err(failed.join("\n").into()) }
}

/// A second copy of the workspace, deleted on drop.
struct SecondCopy {
    /// The folder that was created for it.
    top: PathBuf,
    root: PathBuf,
    built: Vec<Value>,
}

impl Drop for SecondCopy {
    fn drop(&mut self) {
        // At worst it is left behind, in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.top);
    }
}

impl SecondCopy {
    fn new(top: PathBuf, name: &str) -> Result<Self> {
        let copy = Self { root: top.join(name), top, built: built()? };
        copy_folder(&root(), &copy.root)?;
        fs::create_dir_all(copy.root.join("target").join(PROFILE).join("deps"))?;
        run(Command::new("chmod").args(["-R", "a+rX"]).arg(&copy.top))?;
        for folder in ["home", "temporary files", "target/tmp"] {
            let folder = copy.root.join(folder);
            fs::create_dir_all(&folder)?;
            // Writable by everybody, like the system's temporary folder.
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777))?;
        }
        let binary = copy.executable("cli", "countersign", Built::Program)?;
        copy_program(&binary, &copy.binary())?;
        Ok(copy)
    }

    fn binary(&self) -> PathBuf {
        self.root.join("target").join(PROFILE).join("countersign")
    }

    /// Runs the tests of a program, passes on their output, and returns their last line.
    fn run(&self, program: &Program) -> Result<Vec<String>> {
        let Program { package, target, tests } = program;
        println!("{target} of {package}");
        let built = self.executable(package, target, Built::Tests)?;
        let name = built.file_name().ok_or("a program has a name")?;
        let here = self.root.join("target").join(PROFILE).join("deps").join(name);
        copy_program(&built, &here)?;
        let mut command = self.surroundings(package);
        command.arg(&here).args(*tests).arg("--quiet");
        let kept = run_keeping(&mut command, |line| line.starts_with("test result:"))?;
        fs::remove_file(here)?;
        Ok(kept)
    }

    /// Returns the command that starts a test program: as another user where that is possible, in a
    /// different environment.
    fn surroundings(&self, package: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", PATIENCE]);
        if self.is_open_to_nobody() {
            command.args(AS_NOBODY);
        } else if is_root() {
            println!("as root: an ordinary user cannot be made here, or cannot read the copy");
        }
        command.args(["sh", "-c", "trap '' HUP INT QUIT; umask 077; exec \"$@\"", "sh"]);
        let folder = self.root.join("crates").join(package);
        command.current_dir(&folder).stdin(Stdio::null()).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("CARGO_MANIFEST_DIR", &folder);
        command.env("CARGO_BIN_EXE_countersign", self.binary());
        command.env("CARGO_TARGET_TMPDIR", self.root.join("target/tmp"));
        command.env("HOME", self.root.join("home"));
        command.env("TMPDIR", self.root.join("temporary files"));
        command.envs(OTHERWISE.iter().copied());
        command
    }

    /// Reports whether we can switch to an ordinary user, and that user can read the copy.
    fn is_open_to_nobody(&self) -> bool {
        let [program, words @ ..] = AS_NOBODY;
        let mut test = Command::new(program);
        test.args(words).args(["test", "-r"]).arg(self.root.join("Cargo.toml"));
        let ended = test.stdout(Stdio::null()).stderr(Stdio::null()).status();
        is_root() && ended.is_ok_and(|ended| ended.success())
    }

    /// Returns the file that was built from a target.
    fn executable(&self, package: &str, target: &str, what: Built) -> Result<PathBuf> {
        let manifest = root().join("crates").join(package).join("Cargo.toml");
        let found = self.built.iter().find(|artifact| {
            let is = |pointer: &str, value: Value| artifact.pointer(pointer) == Some(&value);
            artifact["manifest_path"].as_str().map(Path::new) == Some(manifest.as_path())
                && is("/target/name", target.into())
                && is("/profile/test", (what == Built::Tests).into())
                && artifact["executable"].is_string()
        });
        let path = found.and_then(|artifact| artifact["executable"].as_str());
        let path = path.ok_or_else(|| format!("cargo has built no `{target}` of {package}"))?;
        Ok(path.into())
    }
}

/// The kind of file that cargo builds from a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Built {
    Program,
    Tests,
}

/// Environment variables that a test must not depend on.
const OTHERWISE: &[(&str, &str)] = &[
    ("TZ", "Pacific/Kiritimati"),
    ("LC_ALL", "tr_TR.UTF-8"),
    ("LANG", "tr_TR.UTF-8"),
    ("LANGUAGE", "tr"),
    ("NO_COLOR", "1"),
    ("XDG_CONFIG_HOME", "/nonexistent/config"),
    ("XDG_DATA_HOME", "/nonexistent/data"),
    ("COUNTERSIGN_CONFIG", "/nonexistent/config.yaml"),
    ("COUNTERSIGN_DATA", "/nonexistent/data"),
    ("COUNTERSIGN_SERVER", "http://127.0.0.1:1"),
    ("COUNTERSIGN_DEVICE", "nobody's"),
    ("COUNTERSIGN_KEY", "nobody's"),
    ("AUTO_ACTION_ENABLED", "perhaps"),
    ("CLAUDE_CONFIG_DIR", "/nonexistent/claude"),
    ("CLAUDE_PROJECT_DIR", "/nonexistent/project"),
    ("CODEX_HOME", "/nonexistent/codex"),
    ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
];

/// Returns everything that cargo has built of the workspace and its tests; builds missing parts.
fn built() -> Result<Vec<Value>> {
    let words = ["test", "--workspace", "--profile", PROFILE, "--no-run", "--message-format=json"];
    let output = cargo(&words).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("the tests cannot be built".into());
    }
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Copies a program and makes it executable by everybody.
fn copy_program(from: &Path, to: &Path) -> Result {
    fs::copy(from, to)?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o755))?)
}

/// Copies all files of the workspace that are not build products.
fn copy_folder(from: &Path, to: &Path) -> Result {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let to = to.join(&name);
        if kind.is_dir() && name != "target" && name != ".git" {
            copy_folder(&entry.path(), &to)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
