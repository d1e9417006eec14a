//! Asks git about a path: tracked without changes, or ignored.
//!
//! The repository may be the agent's own work, and its configuration can name programs to run. So
//! only plumbing commands that read the index and hash files are called, with file-system monitors
//! off, without filters, and without the `GIT_` variables of the environment.

use std::collections::BTreeMap;
use std::env;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Git's knowledge of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Known {
    /// All of it is in the index, with the content that it has on disk.
    pub(crate) tracked_clean: bool,
    /// None of it is tracked, and an ignore pattern matches it.
    pub(crate) ignored: bool,
}

/// Further files are not compared.
/// INVARIANT: their hashes fit into a pipe, so writing names and reading hashes cannot deadlock.
const MOST_FILES: usize = 500;

/// Asks git about a file or folder of a workspace. Anything that cannot be established is false.
pub(crate) fn look(path: &Path, workspace: &Path) -> Known {
    let (Some(folder), Some(name)) =
        (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return Known::default();
    };
    let repository = Repository { folder, workspace };
    match repository.answer(&["--literal-pathspecs", "ls-files", "--stage", "-z", "--", name], &[])
    {
        None => Known::default(),
        Some(index) if index.is_empty() => {
            Known { ignored: repository.ignores(name), ..Known::default() }
        }
        Some(index) => Known {
            tracked_clean: repository.holds_all(&index, name).unwrap_or(false),
            ..Known::default()
        },
    }
}

/// Reports whether git's index contains nothing of a file or folder of a workspace: there is no
/// repository, or its index says so.
pub(crate) fn knows_nothing_of(path: &Path, workspace: &Path) -> bool {
    let (Some(folder), Some(name)) =
        (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return false;
    };
    let inside = folder.ancestors().take_while(|folder| folder.starts_with(workspace));
    if !inside.into_iter().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
        return true;
    }
    let index = ["--literal-pathspecs", "ls-files", "--stage", "-z", "--", name];
    Repository { folder, workspace }.answer(&index, &[]).is_some_and(|index| index.is_empty())
}

struct Repository<'a> {
    folder: &'a Path,
    workspace: &'a Path,
}

impl Repository<'_> {
    /// Reports whether everything below this name is in the index with the content it has on disk.
    fn holds_all(&self, index: &str, name: &str) -> Option<bool> {
        let others =
            self.answer(&["--literal-pathspecs", "ls-files", "--others", "-z", "--", name], &[])?;
        let tracked = tracked(index)?;
        if !others.is_empty() || tracked.len() > MOST_FILES {
            return Some(false);
        }
        // Absolute paths, because names on standard input are not relative to git's `-C` folder.
        let folder = self.folder.to_str().filter(|folder| !folder.contains('\n'))?;
        let mut names = String::new();
        for name in tracked.keys() {
            names.extend([folder, "/", *name, "\n"]);
        }
        let hash = ["hash-object", "--no-filters", "--stdin-paths"];
        let hashes = self.answer(&hash, names.as_bytes())?;
        Some(hashes.lines().eq(tracked.values().copied()))
    }

    fn ignores(&self, name: &str) -> bool {
        // This command does not support literal pathspecs; `./` keeps a `:` from being read as
        // magic.
        self.answer(&["check-ignore", "--quiet", "--", &format!("./{name}")], &[]).is_some()
    }

    /// Git's output, if it succeeds.
    fn answer(&self, args: &[&str], input: &[u8]) -> Option<String> {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.folder);
        git.args(["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"]);
        git.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for (name, _) in env::vars_os().filter(|(name, _)| is_gits(name.to_str())) {
            git.env_remove(name);
        }
        git.env("GIT_OPTIONAL_LOCKS", "0");
        // Ignore a repository that contains the workspace.
        git.env("GIT_CEILING_DIRECTORIES", self.workspace.parent().unwrap_or(self.workspace));
        let mut child = git.spawn().ok()?;
        if let Some(mut stdin) = child.stdin.take() {
            // Git may have ended already; then its exit code is an error.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().ok()?;
        if !output.status.success() {
            return None;
        }
        String::from_utf8(output.stdout).ok()
    }
}

fn is_gits(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.starts_with("GIT_"))
}

/// Parses the names and hashes of `ls-files --stage -z`, unless an entry is not a plain file.
fn tracked(index: &str) -> Option<BTreeMap<&str, &str>> {
    let mut tracked = BTreeMap::new();
    for entry in index.split_terminator('\0') {
        let (about, name) = entry.split_once('\t')?;
        let mut about = about.split(' ');
        let (mode, hash, stage) = (about.next()?, about.next()?, about.next()?);
        // hash-object would hash something else for links and submodules; a conflict is not clean;
        // a name with a newline cannot be passed on.
        if !mode.starts_with("100") || stage != "0" || name.contains('\n') {
            return None;
        }
        tracked.insert(name, hash);
    }
    Some(tracked)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// Creates a repository with `src/a` and `src/b` in the index, and `/out` ignored; `None` when
    /// git is not installed.
    fn repository(name: &str) -> Option<PathBuf> {
        let folder =
            std::env::temp_dir().join(format!("countersign-git-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::create_dir_all(folder.join("out")).unwrap();
        for (file, text) in
            [("src/a", "a\n"), ("src/b", "b\n"), (".gitignore", "/out\n"), ("out/x", "x")]
        {
            fs::write(folder.join(file), text).unwrap();
        }
        let done = git(&folder, &["init", "--quiet"]) && git(&folder, &["add", "."]);
        if !done {
            println!("skipped: no git here");
            return None;
        }
        Some(folder)
    }

    fn known(folder: &Path, name: &str) -> Known {
        look(&folder.join(name), folder)
    }

    fn git(folder: &Path, args: &[&str]) -> bool {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(args);
        git.status().is_ok_and(|status| status.success())
    }

    const CLEAN: Known = Known { tracked_clean: true, ignored: false };
    const IGNORED: Known = Known { tracked_clean: false, ignored: true };

    #[test]
    fn a_tracked_file_is_clean_until_it_changes() {
        let Some(folder) = repository("clean") else { return };
        assert_eq!(known(&folder, "src/a"), CLEAN);
        assert_eq!(known(&folder, "src"), CLEAN);
        fs::write(folder.join("src/a"), "changed").unwrap();
        assert_eq!(known(&folder, "src/a"), Known::default());
        assert_eq!(known(&folder, "src"), Known::default());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn one_new_file_makes_its_folder_worth_asking_about() {
        let Some(folder) = repository("new") else { return };
        fs::write(folder.join("src/new"), "only here").unwrap();
        assert_eq!(known(&folder, "src"), Known::default());
        assert_eq!(known(&folder, "src/new"), Known::default());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn ignored_is_only_what_is_not_tracked() {
        let Some(folder) = repository("ignored") else { return };
        assert_eq!(known(&folder, "out"), IGNORED);
        fs::write(folder.join(".gitignore"), "*\n").unwrap();
        assert_eq!(known(&folder, "src/a"), CLEAN);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_repository_itself_and_git_folders_are_never_safe() {
        let Some(folder) = repository("root") else { return };
        assert_eq!(look(&folder, &folder), Known::default());
        assert_eq!(known(&folder, ".git"), Known::default());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_repository_around_the_workspace_has_no_say() {
        let Some(folder) = repository("around") else { return };
        assert_eq!(look(&folder.join("src/a"), &folder.join("src")), Known::default());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn asking_runs_nothing_the_repository_names() {
        let Some(folder) = repository("trap") else { return };
        let mark = folder.join("ran");
        let trap = format!("touch {}; cat", mark.display());
        for name in ["core.fsmonitor", "filter.trap.clean", "core.sshCommand", "core.pager"] {
            assert!(git(&folder, &["config", name, &trap]));
        }
        fs::write(folder.join(".gitattributes"), "* filter=trap\n").unwrap();
        fs::write(folder.join("src/a"), "A\n").unwrap();
        for name in ["src", "src/a", "out"] {
            let _ = known(&folder, name);
        }
        assert!(!mark.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
