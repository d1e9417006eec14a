//! Countersign as an agent's shell can reach it: its commands, its program, its data.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Program;
use super::value::Arg;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

/// The name of our own program.
pub(super) const OWN: &str = "countersign";

/// The text shown for our socket, at any path.
const SOCKET: &str = "countersign/server.sock";

/// Programs that inspect or print a name, and open nothing.
const MENTIONS: &[&str] = &[
    "echo", "printf", "ls", "stat", "file", "test", "[", "find", "grep", "rg", "git", "cat", "ss",
    "lsof", "fuser", "du", "df", "realpath", "readlink", "basename", "dirname", "which", "man",
    "tree", "mkdir", "touch", "cd",
];

/// Programs that archive or copy whole folders.
const ARCHIVERS: &[&str] = &[
    "tar", "gtar", "bsdtar", "zip", "7z", "7za", "rsync", "rclone", "restic", "borg", "scp",
    "cpio", "ditto",
];

/// Reports whether the installed package is replaced: by another version, or by force.
fn replaces(name: &str, args: &Arguments<'_>) -> bool {
    let installs = args.operands().iter().take(2).any(|word| {
        matches!(
            word.text.as_str(),
            "install"
                | "i"
                | "add"
                | "reinstall"
                | "downgrade"
                | "switch"
                | "pin"
                | "hold"
                | "link"
                | "unlink"
        )
    });
    let version = |word: &Arg| {
        let text = word.text.as_str();
        text.contains(OWN) && text.contains(['@', '=']) && !text.starts_with('-')
    };
    let other = args.has_any(&[
        "--version",
        "--vers",
        "--force",
        "-f",
        "--git",
        "--path",
        "--branch",
        "--rev",
        "--allow-downgrades",
    ]) || args.operands().iter().any(|word| version(word))
        || args.operands().iter().any(|word| {
            matches!(word.text.as_str(), "downgrade" | "switch" | "unlink" | "hold" | "pin")
        });
    name != "git" && installs && other
}

/// Returns the path that a shell reports for a program: for our own, a path that identifies it.
pub(super) fn where_it_is(name: &str) -> String {
    if name == OWN { format!("/usr/local/bin/{OWN}") } else { name.to_owned() }
}

impl Walker<'_> {
    /// Records that another program is run under our name.
    pub(super) fn replaces_ours(&mut self, name: &str, span: Option<Span>) {
        if name == OWN {
            self.note(
                Fact::new(FactKind::GuardCommand, format!("{name} is something else")).at(span),
            );
        }
    }

    /// Records that our program is run in a manipulated environment.
    pub(super) fn deceives_ours(&mut self, wrapper: &str, command: &[Arg]) {
        const DECEIVES: &[&str] = &[
            "faketime",
            "bwrap",
            "firejail",
            "unshare",
            "chroot",
            "fakeroot",
            "proot",
            "nsenter",
            "strace",
            "ltrace",
            "proxychains",
            "torsocks",
            "systemd-run",
            "prlimit",
            "cgexec",
        ];
        if let Some(first) = command.first()
            && location::base_name(&first.text) == OWN
            && DECEIVES.contains(&wrapper)
        {
            let subject = format!("{wrapper} {OWN}");
            self.note(Fact::new(FactKind::GuardCommand, subject).at(first.span));
        }
    }

    /// Records effects of a program on Countersign, on its processes or on a host that it guards.
    /// Also when only help seems to be asked for, because not every program knows the word.
    pub(super) fn about_own_command(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        let told = ["--help", "--version", "-V"];
        // `install x --version 1.0` does not ask for the version: for that, it is the last word or
        // the only one.
        let asks = |(at, word): (usize, &Arg)| {
            let last = at + 1 == args.words().len() || at == 0 || word.text == "--help";
            told.contains(&word.text.as_str()) && last
        };
        if args.words().iter().enumerate().any(asks) {
            return;
        }
        if name == OWN {
            self.own_command(args, span);
        }
        if let Some(ends) = program.and_then(|program| program.ends.as_ref()) {
            self.ends_processes(name, ends, args, span);
        }
        if name == "kill"
            && args.words().iter().any(|word| word.variable.as_deref() == Some("PPID"))
        {
            let guard = Tags::of(&[Tag::Guard]);
            self.note(Fact::new(FactKind::Kill, "the host of this shell").tagged(guard).at(span));
        }
        self.host(name, args, span);
        self.answers(name, args, span);
        self.own_data(name, args, span);
        self.own_package(name, args, span);
    }

    /// Records keys sent to another terminal that can only be an answer: `tmux send-keys -t x y
    /// Enter`.
    pub(super) fn answers(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        const ENDS: &[&str] = &["Enter", "C-m", "C-j", "Return", "KPEnter"];
        const YES: &[&str] =
            &["y", "Y", "yes", "Yes", "1", "2", "3", "a", "A", "ok", "allow", "approve"];
        let operands: Vec<&str> = args.operands().iter().map(|word| word.text.as_str()).collect();
        let typed = match (name, operands.as_slice()) {
            ("tmux", ["send-keys" | "send", ..]) => {
                let target = args.value(&["-t"]).map(|target| target.text).unwrap_or_default();
                let keys = operands.iter().skip(1).filter(|key| **key != target);
                keys.filter(|key| !ENDS.contains(*key)).copied().collect::<Vec<_>>().join(" ")
            }
            ("screen", _) => {
                let mut words = args.words().iter().skip_while(|word| word.text != "stuff").skip(1);
                let text = words.next().map_or("", |word| word.text.as_str());
                text.replace("\\n", "").replace("\\r", "").replace("^M", "")
            }
            ("zellij", ["action", "write-chars", keys, ..]) => (*keys).to_owned(),
            _ => return,
        };
        if YES.contains(&typed.trim()) {
            self.note(Fact::new(FactKind::Answer, format!("{name}: {}", typed.trim())).at(span));
        }
    }

    /// Records that our package is uninstalled, that our processes are passed to a program, or that
    /// a request to our server decides something.
    fn own_package(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        const REMOVES: &[&str] =
            &["uninstall", "remove", "erase", "purge", "deinstall", "rm", "delete"];
        const DECIDES: &[&str] = &[
            "/api/approvals",
            "/api/halt",
            "/api/settings",
            "/api/keys",
            "/api/devices",
            "/api/sessions",
            "/approvals/",
            "/approve",
        ];
        if MENTIONS.contains(&name) || name == OWN {
            return;
        }
        let words = || args.words().iter().map(|word| word.text.as_str());
        let ours = words().any(|word| {
            let package = word.split(['@', '=']).next().unwrap_or(word);
            package.rsplit('/').next() == Some(OWN)
                || word.rsplit(['.', '/', '@']).next() == Some(OWN)
        });
        let removes = words().any(|word| {
            word.trim_start_matches('-').split('-').any(|part| REMOVES.contains(&part))
        });
        let local = |word: &str| {
            ["://127.", "://localhost", "://[::1]", "://0.0.0.0"].iter().any(|at| word.contains(at))
                || ["localhost:", "127.0.0.1:", "[::1]:", ":"].iter().any(|at| word.starts_with(at))
        };
        let decides = words()
            .any(|word| local(word) && DECIDES.iter().any(|path| word.contains(path)))
            && (args
                .operand(0)
                .is_some_and(|verb| matches!(verb, "POST" | "PUT" | "PATCH" | "DELETE"))
                || words().any(|word| word.contains("/approve") || word.contains(".post("))
                || args.has_any(&[
                    "-X",
                    "--request",
                    "-d",
                    "--data",
                    "--json",
                    "--post-data",
                    "--method",
                ]));
        let traces = matches!(name, "strace" | "ltrace" | "gdb" | "renice" | "gcore" | "reptyr")
            && args.words().iter().any(|word| word.taint.has(Tag::Guard));
        let presses = has(words::SETTINGS_INJECTORS, name)
            && words().any(|word| {
                let lower = word.to_ascii_lowercase();
                lower.contains(OWN) || (name.ends_with("dotool") && lower == "approve")
            });
        if (ours && (removes || replaces(name, args))) || decides || traces || presses {
            let subject = format!("{name} {}", words().take(3).collect::<Vec<_>>().join(" "));
            self.note(Fact::new(FactKind::GuardCommand, subject).at(span));
        }
    }

    /// Records our own commands that decide or change something; those that only inspect are
    /// allowed.
    fn own_command(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let words: Vec<&str> = args.operands().iter().map(|arg| arg.text.as_str()).collect();
        let looks = matches!(
            words.as_slice(),
            [] | [
                "check"
                    | "explain"
                    | "schema"
                    | "completions"
                    | "man"
                    | "doctor"
                    | "redact"
                    | "help",
                ..
            ] | [
                "rules" | "config" | "approvals" | "sessions" | "audit" | "receipt",
                "list" | "show" | "check" | "test" | "verify" | "watch" | "key",
                ..
            ]
        );
        if !looks {
            let subject = format!("{OWN} {}", words.join(" "));
            self.note(Fact::new(FactKind::GuardCommand, subject).at(span));
        }
    }

    /// Records our data or socket in the words of a program: with the data's path it can read it,
    /// and over the socket it can answer, because a program of the server's user counts as the
    /// owner there.
    fn own_data(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let mentions = MENTIONS.contains(&name) && !(name == "fuser" && args.has("-k"));
        if mentions || name == OWN {
            return;
        }
        for word in args.words() {
            let in_code = word.text.contains(' ') || word.text.contains('(');
            if in_code && word.text.contains(OWN) && word.text.contains(".sock") {
                self.note(Fact::new(FactKind::GuardCommand, SOCKET).at(span));
            }
            // `UNIX-CONNECT:server.sock`, `--unix-socket=server.sock`, `@server.key`
            for part in word.text.split([':', '=', ',', '@']) {
                let tags = self.own_tags(word, part);
                let is_socket = matches!(part.rsplit('.').next(), Some("sock" | "socket"));
                let ours = part.split('/').any(|piece| piece.contains(OWN));
                if is_socket && ours && !tags.has(Tag::Workspace) {
                    self.note(Fact::new(FactKind::GuardCommand, SOCKET).at(span));
                } else if tags.has(Tag::OwnData) && part.rsplit('.').next() == Some("sock") {
                    let fact = Fact::new(FactKind::GuardCommand, SOCKET).at(span);
                    self.note(fact);
                } else if tags.has(Tag::OwnData) {
                    let fact = Fact::new(FactKind::Read, location::shown(part)).tagged(tags);
                    self.note(fact.at(word.span));
                } else if tags.has(Tag::AboveOwnData) && ARCHIVERS.contains(&name) {
                    let tags = tags.with(Tag::Recursive);
                    let fact = Fact::new(FactKind::Read, location::shown(part)).tagged(tags);
                    self.note(fact.at(word.span));
                }
            }
        }
    }

    /// Returns the tags of a word that may refer to our data.
    fn own_tags(&self, word: &Arg, part: &str) -> Tags {
        if part.len() < 2 {
            return Tags::NONE;
        }
        let scene = self.scene_now();
        let own = scene.context.own_data.as_deref();
        let inside = scene.cwd.is_some_and(|cwd| {
            cwd.contains(OWN) || own.is_some_and(|own| location::is_below(cwd, own))
        });
        let can = inside
            || part.contains(OWN)
            || part.contains(".local")
            || word.glob
            || own.is_some_and(|own| own.contains(part) || part.contains(location::base_name(own)));
        if can { location::locate(part, &scene) } else { Tags::NONE }
    }

    /// Records files that are put into a folder under their own names: `cp settings.json
    /// ~/.claude/`.
    pub(super) fn puts_into_folder(&mut self, name: &str, args: &Arguments<'_>) {
        if !matches!(name, "cp" | "gcp" | "mv" | "gmv" | "ln" | "install" | "rsync" | "scp") {
            return;
        }
        let named = args.value(&["-t", "--target-directory"]);
        let (folder, sources) = match (&named, args.operands()) {
            (Some(folder), sources) => (folder, sources),
            (None, [sources @ .., folder]) => (*folder, sources),
            (None, []) => return,
        };
        for source in sources {
            let scene = self.scene_now();
            if name != "mv" && location::locate(&source.text, &scene).has(Tag::OwnProgram) {
                self.note_path(FactKind::Link, source, Tags::NONE);
            }
            let contents = ["/", "/.", "*"].iter().any(|end| source.text.ends_with(end))
                || args.has_any(&["-T", "--no-target-directory"])
                || (name == "ln" && args.has_any(&["-n", "--no-dereference"]));
            let inside = if contents { "" } else { location::base_name(&source.text) };
            let target = folder.saying(format!("{}/{inside}", folder.text));
            let tags = location::locate(&target.text, &self.scene_now());
            let whole = contents || args.has_any(&["-r", "-R", "-a", "--recursive", "--archive"]);
            let whole = whole || name == "mv";
            if tags.has(Tag::Guard) || (tags.has(Tag::AboveGuard) && whole) {
                self.note_path(FactKind::Write, &target, Tags::of(&[Tag::Recursive]));
            }
        }
    }
}
