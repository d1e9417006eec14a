//! Starts programs for tests, the same from every folder, for every user and in every environment.
//!
//! Paths are determined when a test runs: it may run in another folder than the one it was built
//! in.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Returns the binary under test.
pub(crate) fn binary() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let named = std::env::var("CARGO_BIN_EXE_countersign");
        named.unwrap_or_else(|_| env!("CARGO_BIN_EXE_countersign").to_owned())
    });
    &PATH
}

/// Returns the folder of the package, `crates/cli` of the workspace.
pub(crate) fn package() -> PathBuf {
    let named = std::env::var_os("CARGO_MANIFEST_DIR");
    named.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

/// Returns a folder below the target folder, for files of tests.
pub(crate) fn scratch() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_TMPDIR");
    named.map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
}

/// Returns a program with an environment of its own: this home, the tests' `PATH` after our binary,
/// a fixed language and time zone, and nothing else. Its signals have their default handlers.
pub(crate) fn program(path: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = with_usual_signals(path.as_ref());
    command.env_clear().env("HOME", home).env("PATH", search_path());
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    command
}

/// Returns `PATH` with our binary first.
fn search_path() -> String {
    let folder = Path::new(binary()).parent().expect("a folder").display();
    format!("{folder}:{}", std::env::var("PATH").unwrap_or_default())
}

/// Returns a command that starts a program without the signals that the tests themselves ignore:
/// under `nohup`, or in the background of a script, every child would ignore them too.
fn with_usual_signals(program: &OsStr) -> Command {
    if !ignores_signals() {
        return Command::new(program);
    }
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM,PIPE").arg(program);
    command
}

/// Reports whether the tests ignore a signal and there is a way not to pass that on.
fn ignores_signals() -> bool {
    static IGNORES: LazyLock<bool> = LazyLock::new(|| {
        // SIGHUP, SIGINT, SIGQUIT and SIGTERM. Rust's own runtime ignores SIGPIPE, and resets it.
        const ASKED: u64 = 0b100_0000_0000_0111;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let mut env = Command::new("/usr/bin/env");
        env.args(["--default-signal=HUP", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
        mask.unwrap_or_default() & ASKED != 0 && env.status().is_ok_and(|ended| ended.success())
    });
    *IGNORES
}
