//! The real effects of a script, from its system calls.
//!
//! A call that was refused (the system's folders are read-only) counts as done: outside of the
//! sandbox it would have succeeded.

use std::collections::{BTreeMap, BTreeSet};

use super::named;
use super::plant::HOME;
use super::thing::{Class, SOMETHING, Things, is_uninteresting, normal};
use super::trace::{Call, End, calls};

/// The effects of a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Happened {
    /// Everything that should have been predicted.
    pub(crate) things: Things,
    /// Files that were read although neither secret nor named: a prediction may include them.
    pub(crate) read_besides: BTreeSet<String>,
}

/// Errors that only the sandbox causes.
const REFUSED: &[&str] = &[
    "EROFS",
    "EACCES",
    "EPERM",
    "EBUSY",
    "ENOSPC",
    "EXDEV",
    "EFBIG",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ECONNREFUSED",
    "EINPROGRESS",
    "EADDRNOTAVAIL",
];

/// Returns the effects in a trace. A read counts only if the file is a secret or the script names
/// it.
pub(crate) fn happened(trace: &str, script: &str, secrets: &[&str]) -> Happened {
    let mut watcher = Watcher { script, secrets, ..Watcher::default() };
    for call in calls(trace) {
        watcher.see(&call);
    }
    watcher.finish()
}

#[derive(Default)]
struct Watcher<'a> {
    script: &'a str,
    secrets: &'a [&'a str],
    done: Happened,
    /// The working folder of each process.
    folders: BTreeMap<u32, String>,
    /// Temporary names, and the existing file that was renamed to each, if any.
    temporary: BTreeMap<String, Option<String>>,
    /// Files under temporary names that were created on the way.
    own: BTreeSet<String>,
    /// The number of programs that were started.
    started: usize,
}

impl Watcher<'_> {
    fn see(&mut self, call: &Call) {
        if call.raw(0).starts_with("AT_FDCWD<")
            && let Some(folder) = call.folder(0)
        {
            self.folders.insert(call.pid, folder.to_owned());
        }
        let done = match &call.end {
            End::Done => true,
            End::Failed(error) => REFUSED.contains(&error.as_str()),
        };
        if !done {
            return;
        }
        match call.name.as_str() {
            "open" => self.open(self.here(call, 0), call.raw(1)),
            "creat" => self.open(self.here(call, 0), "O_WRONLY|O_CREAT|O_TRUNC"),
            "openat" | "openat2" => self.open(at(call, 0, 1), call.raw(2)),
            "unlink" | "rmdir" => self.delete(self.here(call, 0)),
            "unlinkat" => self.delete(at(call, 0, 1)),
            "rename" => self.rename(self.here(call, 0), self.here(call, 1)),
            "renameat" | "renameat2" => self.rename(at(call, 0, 1), at(call, 2, 3)),
            "link" | "symlink" => self.link(self.here(call, 1)),
            "linkat" => self.link(at(call, 2, 3)),
            "symlinkat" => self.link(at(call, 1, 2)),
            "truncate" | "mknod" | "mkdir" => self.write(self.here(call, 0)),
            "mknodat" | "mkdirat" => self.write(at(call, 0, 1)),
            "chmod" | "chown" | "lchown" | "setxattr" | "lsetxattr" => {
                self.change(self.here(call, 0));
            }
            "fchmodat" | "fchownat" => self.change(at(call, 0, 1)),
            "execve" | "execveat" => self.execute(call),
            "connect" if call.raw(1).contains("AF_INET") => self.some(Class::Connect),
            "sendto" if call.raw(4).contains("AF_INET") => self.some(Class::Connect),
            // A process that may not even open a socket would have connected.
            "socket" if call.raw(0).contains("AF_INET") && call.end != End::Done => {
                self.some(Class::Connect);
            }
            "kill" => self.signal(call),
            "chdir" => {
                let folder = self.here(call, 0);
                self.folders.extend(folder.map(|folder| (call.pid, folder)));
            }
            "fchdir" => {
                let folder = call.folder(0).map(str::to_owned);
                self.folders.extend(folder.map(|folder| (call.pid, folder)));
            }
            _ => {}
        }
    }

    /// Returns the path that an argument names, relative to the process's working folder.
    fn here(&self, call: &Call, at: usize) -> Option<String> {
        let folder = self.folders.get(&call.pid).map_or("/", String::as_str);
        Some(normal(folder, &call.text(at)?))
    }

    fn open(&mut self, path: Option<String>, flags: &str) {
        let Some(path) = path else { return };
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
        if flags.contains("O_EXCL") && !self.names(&path) {
            self.temporary.insert(path, None);
        } else if writes.iter().any(|flag| flags.contains(flag)) {
            if flags.contains("O_CREAT") && !self.names(&path) {
                self.own.insert(path.clone());
            }
            self.write(Some(path));
        } else if !flags.contains("O_DIRECTORY") {
            self.read(path);
        }
    }

    fn read(&mut self, path: String) {
        let system = path.starts_with("/usr/") || path.starts_with("/lib");
        if self.secrets.contains(&path.as_str()) || (!system && self.speaks_of(&path)) {
            self.note(Class::Read, Some(path));
        } else {
            self.done.read_besides.insert(path);
        }
    }

    /// Reports whether the script contains the last part of the path, as a word.
    fn names(&self, path: &str) -> bool {
        named::occurrences(self.script, path).next().is_some()
    }

    /// Reports whether the script names exactly this file, and not another one with the same
    /// ending.
    fn speaks_of(&self, path: &str) -> bool {
        let own_state = path.contains("/.git/") && !self.script.contains(".git/");
        !own_state
            && named::occurrences(self.script, path)
                .any(|word| named::leads_to(word, path, self.script))
    }

    /// Reports whether a path is internal to a program: its state, or a file under a temporary
    /// name.
    fn is_internal(&self, path: &str) -> bool {
        const STATE: &[&str] =
            &["/.git/", "/.npm", "/.cache", "/.cpan", "/__pycache__", "/.gnupg", "/.viminfo"];
        let passing = path.starts_with("/tmp/") || path.starts_with("/var/tmp/");
        let state = STATE.iter().find(|state| path.contains(*state));
        state.is_some_and(|state| !self.names(state.trim_end_matches('/')))
            || (passing && !self.names(path) && !self.names_folder(path))
    }

    /// Reports whether a path is in a hidden folder of the home that the script does not name: a
    /// program's own settings. Locations of secrets are never internal.
    fn is_own_settings(&self, path: &str) -> bool {
        const WATCHED: &[&str] = &[".ssh", ".aws", ".gnupg", ".kube", ".docker", ".netrc"];
        let rest = path.strip_prefix(HOME).and_then(|rest| rest.strip_prefix('/'));
        let first = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        first.starts_with('.') && !WATCHED.contains(&first) && !self.names(first)
    }

    /// Reports whether the script contains the folder of the path.
    fn names_folder(&self, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.script.contains(folder)
            && (folder.matches('/').count() > 1 || self.script.contains("/tmp/*"))
    }

    fn write(&mut self, path: Option<String>) {
        self.note(Class::Write, path);
    }

    /// Records a change of permissions or owner, except for a file under a temporary name.
    fn change(&mut self, path: Option<String>) {
        self.write(path.filter(|path| !self.temporary.contains_key(path)));
    }

    fn link(&mut self, path: Option<String>) {
        match path {
            Some(path) if !self.names(&path) => drop(self.temporary.insert(path, None)),
            path => self.write(path),
        }
    }

    fn delete(&mut self, path: Option<String>) {
        let Some(path) = path.filter(|path| !self.is_taken_back(path)) else { return };
        match self.temporary.remove(&path) {
            Some(origin) => self.note(Class::Delete, origin),
            None => self.note(Class::Delete, Some(path)),
        }
    }

    /// Reports whether a deleted file was created by the same script under a temporary name: then
    /// nothing has changed.
    fn is_taken_back(&mut self, path: &str) -> bool {
        let is_own = self.own.remove(path);
        if is_own && let Some(written) = self.done.things.get_mut(&Class::Write) {
            written.remove(path);
        }
        is_own
    }

    fn rename(&mut self, from: Option<String>, to: Option<String>) {
        let (Some(from), Some(to)) = (from, to) else { return };
        if self.is_taken_back(&from) {
            return self.write(Some(to));
        }
        let origin = self.temporary.remove(&from).unwrap_or(Some(from));
        if !self.names(&to) && origin.is_some() {
            // Until it is deleted, or renamed to a permanent name.
            self.temporary.insert(to, origin);
            return;
        }
        // A program that writes beside the file and renames the result over it writes the file.
        self.note(Class::Move, origin);
        self.write(Some(to));
    }

    /// Records files that keep a temporary name as moved.
    fn finish(mut self) -> Happened {
        for (path, origin) in std::mem::take(&mut self.temporary) {
            self.note(Class::Move, origin);
            self.write(Some(path));
        }
        self.done
    }

    fn execute(&mut self, call: &Call) {
        self.started += 1;
        // The first two are ours: a shell that closes inherited descriptors, and the script's
        // shell.
        let Some(path) = call.text(0).filter(|_| self.started > 2) else { return };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let refused = call.end != End::Done;
        if !refused && self.names(&name) {
            self.done.things.entry(Class::Execute).or_default().insert(name);
        }
    }

    fn signal(&mut self, call: &Call) {
        let own = call.raw(0).split('<').next() == Some(call.pid.to_string().as_str());
        if !own && call.raw(1) != "0" {
            self.some(Class::Signal);
        }
    }

    fn some(&mut self, class: Class) {
        self.done.things.entry(class).or_default().insert(SOMETHING.to_owned());
    }

    fn note(&mut self, class: Class, path: Option<String>) {
        let Some(path) = path else { return };
        if !is_uninteresting(&path)
            && (class == Class::Read || !self.is_internal(&path))
            && (class != Class::Write || !self.is_own_settings(&path))
        {
            self.done.things.entry(class).or_default().insert(path);
        }
    }
}

/// Returns the path that an argument names, relative to the folder in another argument.
fn at(call: &Call, folder: usize, at: usize) -> Option<String> {
    Some(normal(call.folder(folder).unwrap_or("/"), &call.text(at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str, lines: &[&str]) -> Vec<(Class, String)> {
        let trace = lines.iter().fold(String::new(), |trace, line| trace + "9 " + line + "\n");
        let done = happened(&trace, script, &["/home/dev/.netrc"]);
        let all = done.things.into_iter();
        all.flat_map(|(class, paths)| paths.into_iter().map(move |path| (class, path))).collect()
    }

    #[test]
    fn relative_paths_start_where_the_descriptor_leads() {
        let found = of(
            "x",
            &[
                r#"unlinkat(AT_FDCWD</w/p>, "../a", 0) = 0"#,
                r#"unlinkat(4</w/q>, "b", AT_REMOVEDIR) = 0"#,
                r#"unlink("c") = 0"#,
            ],
        );
        let deleted = ["/w/a", "/w/p/c", "/w/q/b"].map(|path| (Class::Delete, path.to_owned()));
        assert_eq!(found, deleted);
    }

    #[test]
    fn a_file_written_beside_and_renamed_is_a_write() {
        let found = of(
            "sed -i s/a/b/ f",
            &[
                r#"openat(AT_FDCWD</w>, "./sedX1", O_RDWR|O_CREAT|O_EXCL, 0600) = 4</w/sedX1>"#,
                r#"rename("./sedX1", "ff") = 0"#,
            ],
        );
        assert_eq!(found, [(Class::Write, "/w/ff".to_owned())]);
        let moved = of("mv a bb", &[r#"renameat2(AT_FDCWD</w>, "a", AT_FDCWD</w>, "bb", 0) = 0"#]);
        assert_eq!(moved, [(Class::Write, "/w/bb".into()), (Class::Move, "/w/a".into())]);
    }

    #[test]
    fn a_file_renamed_before_it_is_deleted_is_deleted() {
        let renamed =
            r#"renameat2(AT_FDCWD</w>, "a.txt", AT_FDCWD</w>, "00", RENAME_NOREPLACE) = 0"#;
        let found = of("shred -u a.txt", &[renamed, r#"unlink("00") = 0"#]);
        assert_eq!(found, [(Class::Delete, "/w/a.txt".to_owned())]);
        let kept = of("shred -u a.txt", &[renamed]);
        assert_eq!(kept, [(Class::Write, "/w/00".into()), (Class::Move, "/w/a.txt".into())]);
    }

    #[test]
    fn reading_counts_for_secrets_and_for_what_is_named() {
        let found = of(
            "cat notes.md",
            &[
                r#"openat(AT_FDCWD</home/dev/project>, "/usr/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = 3</usr/lib/libc.so.6>"#,
                r#"openat(AT_FDCWD</home/dev/project>, "notes.md", O_RDONLY) = 3</home/dev/project/notes.md>"#,
                r#"openat(AT_FDCWD</home/dev/project>, "other.md", O_RDONLY) = 3</home/dev/project/other.md>"#,
                r#"openat(AT_FDCWD</home/dev/project>, "/home/dev/.netrc", O_RDONLY) = 3</home/dev/.netrc>"#,
            ],
        );
        let read = ["/home/dev/.netrc", "/home/dev/project/notes.md"];
        let read = read.map(|path| (Class::Read, path.to_owned()));
        assert_eq!(found, read);
    }

    #[test]
    fn a_file_that_only_ends_like_a_word_is_not_named() {
        let open = |path| format!("openat(AT_FDCWD</home/dev/project>, \"{path}\", O_RDONLY) = 3");
        assert_eq!(of("cat /etc/pam.d/passwd", &[&open("/etc/passwd")]), []);
        assert_eq!(of("getent hosts x", &[&open("/etc/hosts")]), []);
        assert_eq!(of("git config a.b c", &[&open(".git/config")]), []);
        assert_eq!(of("cd /etc && cat hosts", &[&open("/etc/hosts")]).len(), 1);
        assert_eq!(of("cat ~/a/b.txt", &[&open("/home/dev/a/b.txt")]).len(), 1);
        assert_eq!(of("cat ../b.txt", &[&open("/home/dev/b.txt")]).len(), 1);
        assert_eq!(of("node ./x/b.js", &[&open("/home/dev/project/x/b.js")]).len(), 1);
    }

    #[test]
    fn a_programs_own_files_are_its_own_affair() {
        let write = |path| format!("openat(AT_FDCWD</w>, \"{path}\", O_WRONLY|O_CREAT) = 3");
        let of_git = write("/w/.git/index");
        assert_eq!(of("git add x", &[&of_git]), []);
        assert_eq!(of("cp x .git/index", &[&of_git]).len(), 1);
        assert_eq!(of("sort x", &[&write("/tmp/sortX1")]), []);
        assert_eq!(of("cp x /tmp/out", &[&write("/tmp/out")]).len(), 1);
        assert_eq!(of("cp -r x /tmp/a", &[&write("/tmp/a/b")]).len(), 1);
    }

    #[test]
    fn a_name_is_a_whole_word() {
        let exec = r#"execve("/usr/bin/grep", ["grep"], 0x1) = 0"#;
        assert_eq!(of("egrep x y", &[exec, exec, exec]), []);
        assert_eq!(of("a|grep x y", &[exec, exec, exec]).len(), 1);
    }

    #[test]
    fn only_the_sandbox_refuses() {
        let refused = r#"unlinkat(AT_FDCWD</w>, "/usr/bin/rm", 0) = -1 EROFS (Read-only)"#;
        assert_eq!(of("x", &[refused]), [(Class::Delete, "/usr/bin/rm".to_owned())]);
        assert_eq!(of("x", &[r#"unlink("/a") = -1 ENOENT (No such file or directory)"#]), []);
    }

    #[test]
    fn signals_and_connections_are_seen_but_not_to_whom() {
        let found = of(
            "kill 5",
            &[
                "kill(5, SIGTERM) = 0",
                "kill(9, SIGABRT) = 0",
                r#"connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/x"}, 110) = 0"#,
            ],
        );
        assert_eq!(found, [(Class::Signal, SOMETHING.to_owned())]);
        let net = r#"connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("1.2.3.4")}, 16) = -1 EACCES (x)"#;
        assert_eq!(of("x", &[net]), [(Class::Connect, SOMETHING.to_owned())]);
    }

    #[test]
    fn our_own_shells_are_not_executed_by_the_script() {
        let lines = [
            r#"execve("/bin/sh", ["sh"], 0x1) = 0"#,
            r#"execve("/bin/bash", ["bash"], 0x1) = 0"#,
            r#"execve("/usr/bin/ls", ["ls"], 0x1) = 0"#,
        ];
        assert_eq!(of("bash; ls; sh", &lines), [(Class::Execute, "ls".to_owned())]);
    }
}
