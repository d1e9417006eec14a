//! The environment that commands run in.
//!
//! A variable can make a program load code, or take another program for the one that was judged.
//! Work for an agent gets only variables that are known to be harmless. A person's own command
//! keeps its environment, without the variables that make other programs load code.

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

/// Beginnings of names of variables that make programs load code.
const LOADING: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "PYTHON",
    "PERL5",
    "RUBY",
    "NODE_",
    "GIT_CONFIG",
    "GIT_SSH",
    "OPENSSL_",
    "LUA_",
    "GCONV_",
];

/// Names of variables that make programs load or run code, besides those with such a beginning.
const RUNNING: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "IFS",
    "ZDOTDIR",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "GIT_PAGER",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "RSYNC_RSH",
    "CVS_RSH",
    "TAR_OPTIONS",
    "LESSOPEN",
    "LESSCLOSE",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "BUN_OPTIONS",
    "DENO_V8_FLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "MAKEFLAGS",
    "MAKEFILES",
    "GLIBC_TUNABLES",
    "MALLOC_CHECK_",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "TERMINFO",
    "TERMCAP",
    "INPUTRC",
];

/// Reports whether a variable makes programs load or run code.
#[must_use]
pub fn loads_code(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    RUNNING.iter().any(|known| bytes == known.as_bytes())
        || LOADING.iter().any(|start| bytes.starts_with(start.as_bytes()))
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
    fn variables_that_load_code_are_known() {
        for name in ["LD_PRELOAD", "BASH_FUNC_ls%%", "PYTHONPATH", "NODE_OPTIONS", "GIT_SSH"] {
            assert!(loads_code(OsStr::new(name)), "{name}");
        }
        for name in ["HOME", "EDITOR", "GIT_AUTHOR_NAME", "LANG"] {
            assert!(!loads_code(OsStr::new(name)), "{name}");
        }
    }
}
