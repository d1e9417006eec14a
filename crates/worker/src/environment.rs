//! The environment that commands run in.
//!
//! A variable can make a program load code, or take another program for the one that was judged.
//! Work for an agent gets only variables that are known to be harmless. A person's own command
//! keeps its environment, without the variables that make its words mean something else before they
//! run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The variables that work is given.
const HARMLESS: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The folders that are searched for programs where `PATH` names none.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables by which the loader or a shell runs something, or reads the words in another way,
/// before the first word of a command runs.
const BEFORE_THE_WORDS: &[&str] =
    &["LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "SHELLOPTS", "BASHOPTS"];

/// The beginning of the names of functions that bash exports.
const FUNCTION: &[u8] = b"BASH_FUNC_";

/// Reports whether a variable makes the words of a command mean something else before they run.
///
/// Variables that only tell programs where their own parts are (`PYTHONPATH`, `LD_LIBRARY_PATH`,
/// `NODE_OPTIONS`) do not.
#[must_use]
pub fn changes_the_words(name: &OsStr, value: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.starts_with(FUNCTION)
        || BEFORE_THE_WORDS.iter().any(|known| bytes == known.as_bytes())
        || (bytes == b"ENV" && may_be_a_path(value))
}

/// Tells the start-up file of `sh` from the stage (`ENV=production`) that many deployments call by
/// the same name. POSIX knows only full paths here, after expansion.
fn may_be_a_path(value: &OsStr) -> bool {
    value.as_bytes().iter().any(|byte| matches!(byte, b'/' | b'$' | b'`' | b'~'))
}

/// The environment of work for an agent.
pub(crate) fn for_work(from: &[(OsString, OsString)], workspace: &Path) -> Vec<(String, String)> {
    let text = |(name, value): &(OsString, OsString)| {
        Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
    };
    let is_harmless = |name: &str| HARMLESS.contains(&name) || name.starts_with("LC_");
    let mut variables: Vec<_> =
        from.iter().filter_map(text).filter(|(name, _)| is_harmless(name)).collect();
    variables.push(("PATH".to_owned(), search_path(from, workspace)));
    // Nobody is there to answer, and nothing shows colours.
    variables.push(("TERM".to_owned(), "dumb".to_owned()));
    variables.push(("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()));
    variables
}

/// The folders of `PATH` that an agent cannot write by working in its workspace.
pub(crate) fn search_path(from: &[(OsString, OsString)], workspace: &Path) -> String {
    let path = from.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let outside = |folder: &Path| {
        let real = folder.canonicalize();
        folder.is_absolute()
            && real.is_ok_and(|real| !real.starts_with(workspace))
            && !folder.starts_with(workspace)
    };
    let folders = std::env::split_paths(path.unwrap_or(OsStr::new(USUAL_PATH)));
    let folders = std::env::join_paths(folders.filter(|folder| outside(folder)));
    let folders = folders.ok().and_then(|path| path.into_string().ok());
    folders.filter(|path| !path.is_empty()).unwrap_or_else(|| USUAL_PATH.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn work_gets_only_harmless_variables() {
        let from = variables(&[
            ("HOME", "/home/a"),
            ("LC_ALL", "C"),
            ("LD_PRELOAD", "/x.so"),
            ("BASH_ENV", "/x"),
            ("API_TOKEN", "told"),
            ("PATH", "/usr/bin"),
        ]);
        let names: Vec<_> =
            for_work(&from, Path::new("/w")).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "PATH", "TERM", "GIT_TERMINAL_PROMPT"]);
    }

    #[test]
    fn programs_are_not_looked_for_in_the_workspace() {
        let path = |path: &str| search_path(&variables(&[("PATH", path)]), Path::new("/tmp"));
        assert_eq!(path("/tmp:/usr/bin:bin:"), "/usr/bin");
        assert_eq!(path("bin"), USUAL_PATH);
        assert_eq!(search_path(&[], Path::new("/nowhere")).split(':').next_back(), Some("/bin"));
    }

    #[test]
    fn variables_that_change_the_words_are_told_from_those_that_programs_need() {
        let changes =
            |name: &str, value: &str| changes_the_words(OsStr::new(name), OsStr::new(value));
        for name in ["LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "SHELLOPTS", "BASH_FUNC_ls%%"] {
            assert!(changes(name, "x"), "{name}");
        }
        for name in ["HOME", "PYTHONPATH", "LD_LIBRARY_PATH", "NODE_OPTIONS", "GIT_SSH_COMMAND"] {
            assert!(!changes(name, "/x"), "{name}");
        }
        assert!(changes("ENV", "/tmp/x") && changes("ENV", "$HOME") && changes("ENV", "~/x"));
        assert!(!changes("ENV", "production"));
    }
}
