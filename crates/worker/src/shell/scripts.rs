//! The files that a command runs, held to the content that was judged.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_wire::Script;
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::NotStarted;

/// The most bytes of a script.
const MOST_BYTES: u64 = 64 * 1_024 * 1_024;

/// Shells that read a script from any path in the same way.
const SHELLS: &[&str] = &["bash", "sh", "dash"];

/// What a script says when it asks for its own name or place. From a copy it would get another.
const OWN_NAME: &[&str] = &["$0", "${0", "BASH_SOURCE", "BASH_ARGV", "$_", "${_", "caller"];

/// The scripts of a command, with the content that was judged.
#[derive(Debug)]
pub(super) struct Scripts {
    folder: PathBuf,
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    path: PathBuf,
    given: String,
    sha256: String,
    content: Vec<u8>,
    is_executable: bool,
}

/// A shell and the content that stand for a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stands<'a> {
    pub(super) shell: String,
    pub(super) content: &'a [u8],
    pub(super) arguments: Vec<String>,
}

impl Scripts {
    /// Opens each script once, and compares its content with the judged one.
    pub(super) fn open(scripts: &[Script], folder: &Path) -> Result<Self, NotStarted> {
        let mut known = Vec::new();
        for script in scripts {
            let changed = || NotStarted::ScriptChanged(script.path.clone());
            if script.path.contains('\0') {
                return Err(NotStarted::NulByte);
            }
            let path = folder.join(&script.path);
            let (content, is_executable) = read(&path).map_err(|_| changed())?;
            if digest(&content) != script.sha256 {
                return Err(changed());
            }
            let (given, sha256) = (script.path.clone(), script.sha256.clone());
            known.push(Known { path, given, sha256, content, is_executable });
        }
        Ok(Self { folder: folder.to_owned(), known })
    }

    /// The scripts whose content is another one now.
    pub(super) fn changed(&self) -> Vec<&str> {
        let is_same = |known: &Known| {
            read(&known.path).is_ok_and(|(content, _)| digest(&content) == known.sha256)
        };
        self.known.iter().filter(|known| !is_same(known)).map(|known| &*known.given).collect()
    }

    /// A shell with a judged content, where that means the same as the command.
    ///
    /// The command must be `SHELL SCRIPT WORDS…` or `PATH/SCRIPT WORDS…` of plain words, and the
    /// script must not ask for its own name. Everything else stays a command for bash.
    pub(super) fn stand_in(&self, command: &str) -> Option<Stands<'_>> {
        let words = plain_words(command)?;
        let (first, rest) = words.split_first()?;
        if SHELLS.contains(first) {
            let (script, arguments) = rest.split_first()?;
            let known = self.of(script)?;
            return stands(first, known, arguments);
        }
        let known = self.of(first).filter(|known| known.is_executable && first.contains('/'))?;
        stands(shell_of(&known.content)?, known, rest)
    }

    fn of(&self, word: &str) -> Option<&Known> {
        let path = self.folder.join(word);
        let same = |known: &&Known| normal(&known.path) == normal(&path);
        self.known.iter().find(same)
    }
}

fn stands<'a>(shell: &str, known: &'a Known, arguments: &[&str]) -> Option<Stands<'a>> {
    let text = std::str::from_utf8(&known.content).ok()?;
    if OWN_NAME.iter().any(|name| text.contains(name)) {
        return None;
    }
    let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
    Some(Stands { shell: shell.to_owned(), content: &known.content, arguments })
}

/// The shell that a script names in its first line, without options.
fn shell_of(content: &[u8]) -> Option<&str> {
    let line = content.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim();
    let (folder, name) = line.rsplit_once('/')?;
    (matches!(folder, "/bin" | "/usr/bin") && SHELLS.contains(&name)).then_some(line)
}

/// The words of a command in which nothing has a meaning for bash.
fn plain_words(command: &str) -> Option<Vec<&str>> {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b' ' | b'.' | b'/' | b'_' | b'-' | b'+' | b':' | b',' | b'@')
    };
    if !command.bytes().all(plain) {
        return None;
    }
    Some(command.split(' ').filter(|word| !word.is_empty()).collect())
}

/// A path without `.`; one with `..` is equal to nothing but itself.
fn normal(path: &Path) -> PathBuf {
    path.components().collect()
}

fn read(path: &Path) -> io::Result<(Vec<u8>, bool)> {
    // A pipe that takes its place must not hold us.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() || facts.len() > MOST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut content = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut content)?;
    Ok((content, facts.permissions().mode() & 0o111 != 0))
}

fn digest(content: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(path: &str, content: &str) -> Scripts {
        let known = Known {
            path: Path::new("/w").join(path),
            given: path.to_owned(),
            sha256: digest(content.as_bytes()),
            content: content.as_bytes().to_vec(),
            is_executable: true,
        };
        Scripts { folder: PathBuf::from("/w"), known: vec![known] }
    }

    fn shell(scripts: &Scripts, command: &str) -> Option<(String, Vec<String>)> {
        scripts.stand_in(command).map(|stands| (stands.shell, stands.arguments))
    }

    #[test]
    fn a_plain_start_of_a_script_reads_what_was_judged() {
        let scripts = scripts("deploy.sh", "#!/bin/sh\necho \"$1\"\n");
        let with = |shell: &str, word: &str| Some((shell.to_owned(), vec![word.to_owned()]));
        assert_eq!(shell(&scripts, "bash deploy.sh now"), with("bash", "now"));
        assert_eq!(shell(&scripts, "./deploy.sh  now"), with("/bin/sh", "now"));
        assert_eq!(shell(&scripts, "/w/deploy.sh now"), with("/bin/sh", "now"));
    }

    #[test]
    fn where_a_copy_would_mean_something_else_it_is_not_used() {
        let plain = scripts("deploy.sh", "#!/bin/sh\necho \"$1\"\n");
        for command in [
            "bash -x deploy.sh",
            "./deploy.sh $HOME",
            "deploy.sh",
            "./a && ./deploy.sh",
            "python3 deploy.sh",
        ] {
            assert_eq!(shell(&plain, command), None, "{command}");
        }
        let asks = scripts("deploy.sh", "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n");
        assert_eq!(shell(&asks, "./deploy.sh"), None);
        let python = scripts("deploy.sh", "#!/usr/bin/python3\nprint(1)\n");
        assert_eq!(shell(&python, "./deploy.sh"), None);
    }
}
