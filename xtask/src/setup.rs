//! The tools that the tests need besides Rust: a browser, axe-core to check pages, faketime to set
//! the clock of a server, bubblewrap and strace to observe commands, and the SDKs of MCP.
//!
//! Programs come from Debian's packages, where they are missing and may be installed. axe-core is a
//! third-party file, so it is not part of the repository: it is downloaded into `target/`, and
//! accepted only if it is exactly the file whose digest was recorded here after a review.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha512};

use crate::Result;
use crate::process::{run, target};

mod sdk;

/// A program, under any of its names, and its packages.
struct Tool {
    names: &'static [&'static str],
    packages: &'static [&'static str],
}

const BROWSER: Tool = Tool {
    names: &["chromium", "chromium-browser", "google-chrome"],
    packages: &["chromium", "fonts-dejavu-core"],
};
/// Gives a program another time.
const FAKETIME: Tool = Tool { names: &["faketime"], packages: &["faketime"] };
/// Creates the throw-away root that `cargo xtask effects` runs commands in.
const BUBBLEWRAP: Tool = Tool { names: &["bwrap"], packages: &["bubblewrap"] };
/// Records the system calls of these commands.
const STRACE: Tool = Tool { names: &["strace"], packages: &["strace"] };
const NPM: Tool = Tool { names: &["npm"], packages: &["npm"] };

const AXE: &str = "4.14.0";
/// SHA-512 of the package, which the registry writes as base64 under `dist.integrity`.
const AXE_DIGEST: &str = "f564d9c448ec67b6f5dd31fc24f99b576cfc0876e5f34ff6866dd73c41b82603\
                          5d40b2bcd480515e64b11df3003a44aa41e4714ffd1dc0d0f3d863a6df3ce971";

/// Installs and downloads everything that is missing.
///
/// # Errors
/// Something is missing and cannot be installed; the message says what to do.
pub(crate) fn run_all() -> Result {
    if std::env::var_os("COUNTERSIGN_CHROMIUM").is_none() {
        BROWSER.provide()?;
    }
    FAKETIME.provide()?;
    BUBBLEWRAP.provide()?;
    STRACE.provide()?;
    axe_core()?;
    sdk::provide()
}

impl Tool {
    fn provide(&self) -> Result {
        if let Some(name) = self.names.iter().find(|name| is_there(name)) {
            println!("{name}: there");
            return Ok(());
        }
        self.install()
    }

    fn install(&self) -> Result {
        let packages = self.packages.join(" ");
        let missing = || format!("please install {packages}: nobody is allowed to here");
        let prefix = as_root().ok_or_else(missing)?;
        println!("installing {packages}");
        // A machine without package lists does not find any packages.
        apt_get(prefix, &["update"])?;
        // Installed packages are not ours to upgrade.
        let words = ["install", "--yes", "--no-install-recommends", "--no-upgrade"];
        apt_get(prefix, &[&words, self.packages].concat())
    }
}

fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Returns the words that run a command as root, if that is possible without a password.
fn as_root() -> Option<&'static [&'static str]> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    let mut sudo = Command::new("sudo");
    let allowed = sudo.args(["-n", "true"]).stderr(Stdio::null()).status().ok()?.success();
    allowed.then_some(&["sudo", "-n"])
}

fn apt_get(prefix: &[&str], words: &[&str]) -> Result {
    let start: &[&str] = &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"];
    let all = [prefix, start, words].concat();
    let (program, words) = all.split_first().ok_or("nothing to run")?;
    run(Command::new(program).args(words).stdin(Stdio::null()))
}

fn axe_core() -> Result {
    let folder = target().join("axe-core");
    let (package, script) = (format!("axe-core-{AXE}.tgz"), folder.join("package/axe.min.js"));
    if script.is_file() && folder.join(&package).is_file() {
        println!("axe-core {AXE}: there");
        return Ok(());
    }
    NPM.provide()?;
    fs::create_dir_all(&folder)?;
    run(Command::new("npm")
        .args(["pack", "--silent", &format!("axe-core@{AXE}"), "--pack-destination"])
        .arg(&folder))?;
    let bytes = fs::read(folder.join(&package))?;
    if digest(&bytes) != AXE_DIGEST {
        // Deleted, or the next run would accept it.
        fs::remove_file(folder.join(&package))?;
        return Err(format!("{package} is not the file whose digest is written down").into());
    }
    run(Command::new("tar").arg("-xzf").arg(&package).current_dir(&folder))
}

/// Returns the SHA-512 digest in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    Sha512::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_written_as_sha512sum_does() {
        assert!(digest(b"").starts_with("cf83e1357eefb8bdf1542850d66d8007"));
        assert_eq!(digest(b"").len(), AXE_DIGEST.len());
    }
}
