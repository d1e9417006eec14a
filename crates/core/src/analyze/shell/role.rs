//! The probable meaning of a command's words where no fact covers it: the program that runs, files
//! that it is given, processes that it ends. For callers that show effects; rules look at facts.

use super::catalogue::{self, By, Program};
use crate::analyze::{Invocation, UNKNOWN};
use crate::effect::from_fact::{from_folder, is_pattern};
use crate::effect::{Certainty, Effect, EffectKind};

/// Words of the shell itself, which neither run a program nor open a file.
const OF_THE_SHELL: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "builtin", "cd", "command", "compgen", "complete",
    "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export",
    "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local",
    "mapfile", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift",
    "shopt", "source", "test", "time", "times", "trap", "true", "type", "ulimit", "umask",
    "unalias", "unset", "wait",
];

/// Programs whose words name files that are not opened, or are not files.
const OPENS_NOTHING: &[&str] = &[
    "ls",
    "dir",
    "vdir",
    "stat",
    "find",
    "gfind",
    "fd",
    "fdfind",
    "du",
    "df",
    "mkdir",
    "rmdir",
    "rm",
    "touch",
    "chmod",
    "chown",
    "chgrp",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "which",
    "whereis",
    "mv",
    "ln",
    "sleep",
    "date",
    "seq",
    "expr",
    "yes",
    "id",
    "uname",
    "tree",
    "eza",
    "exa",
    "kill",
    "pkill",
    "killall",
    "pgrep",
    "ps",
    "man",
    "sed",
    "gsed",
    "awk",
    "gawk",
    "mawk",
    "tr",
    "logger",
    "locate",
    "plocate",
    "updatedb",
    "unlink",
    "shred",
    "truncate",
    "rsync",
    "mktemp",
    "xargs",
    "parallel",
    "lsof",
    "fuser",
    "mount",
    "umount",
    "systemctl",
    "journalctl",
];

/// Programs whose operands are mostly names: only an unmistakable path counts as one.
const GIVEN_NAMES: &[&str] = &[
    "git",
    "hg",
    "svn",
    "gh",
    "docker",
    "podman",
    "docker-compose",
    "kubectl",
    "helm",
    "oc",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "cargo",
    "rustup",
    "go",
    "gem",
    "bundle",
    "composer",
    "mvn",
    "gradle",
    "dotnet",
    "apt",
    "apt-get",
    "apk",
    "dnf",
    "yum",
    "brew",
    "snap",
    "conda",
    "aws",
    "gcloud",
    "az",
    "terraform",
    "tofu",
    "ssh",
    "curl",
    "wget",
    "http",
    "https",
    "ping",
    "dig",
    "host",
    "nslookup",
    "nc",
    "make",
    "cmake",
    "ninja",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "jq",
    "yq",
    "sudo",
    "env",
    "timeout",
    "su",
    "python",
    "python3",
    "node",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "mysql",
    "psql",
    "redis-cli",
    "screen",
    "tmux",
];

/// Programs that maintain the lists of users and groups.
const ACCOUNTS: &[&str] = &[
    "useradd", "adduser", "userdel", "deluser", "usermod", "groupadd", "addgroup", "groupdel",
    "delgroup", "groupmod", "passwd", "chpasswd", "chage", "chsh", "chfn", "gpasswd", "newusers",
    "vipw", "vigr", "pwconv", "grpconv",
];

/// Returns the effects of a command beyond its facts; `is_known` reports whether facts cover a
/// thing.
pub(crate) fn effects(command: &Invocation, is_known: impl Fn(&str) -> bool) -> Vec<Effect> {
    let origin = command.origin.as_deref();
    let is_conditional = origin.is_some_and(|origin| origin.is_conditional);
    let certainty = if is_conditional { Certainty::Possible } else { Certainty::Certain };
    let name = command.program.as_str();
    let mut effects = Vec::new();
    if !OF_THE_SHELL.contains(&name) {
        effects.push(sure(EffectKind::Execute, name.replace(UNKNOWN, "…"), certainty));
    }
    let program = catalogue::program(name);
    for target in ended(command, program) {
        effects.push(sure(EffectKind::Signal, target, certainty));
    }
    if let Some(script) = script(command, program) {
        effects.push(sure(EffectKind::Read, from_folder(origin, script), certainty));
    }
    for (kind, path) in given(command, program) {
        if kind == EffectKind::Write || !is_known(&path) {
            effects.push(Effect::possible(kind, from_folder(origin, &path)));
        }
    }
    if let Some(folder) = whole_folder(command) {
        effects.push(Effect::possible(EffectKind::Read, from_folder(origin, folder)));
    }
    effects
}

/// Returns the script that an interpreter is given and that nobody has read; `is_written` reports
/// whether the action makes a file itself.
pub(crate) fn unread_script(
    command: &Invocation,
    is_written: impl Fn(&str) -> bool,
) -> Option<String> {
    let script = script(command, catalogue::program(&command.program))?;
    (!is_written(script)).then(|| format!("what {script} does"))
}

fn sure(kind: EffectKind, target: String, certainty: Certainty) -> Effect {
    let certainty = if is_pattern(&target) { Certainty::Possible } else { certainty };
    Effect::new(kind, target, certainty)
}

/// Returns the file that an interpreter runs.
fn script<'c>(command: &'c Invocation, program: Option<&Program>) -> Option<&'c str> {
    if matches!(command.program.as_str(), "source" | ".") {
        return command.operands().next();
    }
    let runs = program?.runs.as_ref().filter(|runs| runs.file)?;
    let is_source = |word: &String| {
        runs.source.iter().any(|option| {
            word == option || (option.len() > 2 && word.starts_with(option)) || {
                let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
                let letter = option.strip_prefix('-').unwrap_or_default();
                letters.is_some_and(|letters| letters.len() < 6 && letters.ends_with(letter))
            }
        })
    };
    if command.words.iter().any(|word| is_source(word) || word == "-m") {
        return None;
    }
    command.operands().next().filter(|first| *first != "-" && !first.contains("://"))
}

/// Returns the processes, services or jobs that a command ends.
fn ended(command: &Invocation, program: Option<&Program>) -> Vec<String> {
    let Some(ends) = program.and_then(|program| program.ends.as_ref()) else { return Vec::new() };
    let has = |words: &[&str]| command.words.iter().any(|word| words.contains(&word.as_str()));
    if has(ends.unless) || (ends.by == By::Unit && !has(ends.after)) {
        return Vec::new();
    }
    let operands = command.operands().filter(|word| !ends.after.contains(word));
    operands.map(|word| word.replace(UNKNOWN, "…")).collect()
}

/// Returns the files that the words name, by position.
fn given(command: &Invocation, program: Option<&Program>) -> Vec<(EffectKind, String)> {
    let name = command.program.as_str();
    if OF_THE_SHELL.contains(&name) {
        return Vec::new();
    }
    let is_plain = !GIVEN_NAMES.contains(&name) && !OPENS_NOTHING.contains(&name);
    // Where the catalogue lists effects on operands, they are facts already.
    let takes_files = is_plain && program.is_none_or(|program| program.does.is_empty());
    let mut found = Vec::new();
    let mut option = "";
    let mut operands = command.operands.iter().copied().peekable();
    for (at, word) in command.words.iter().enumerate() {
        let is_operand = operands.next_if_eq(&at).is_some();
        let before = std::mem::replace(&mut option, if is_operand { "" } else { word.as_str() });
        let with_value = word.split_once('=').filter(|(option, _)| option.starts_with('-'));
        if let Some((option, value)) = with_value {
            found.extend(path(value, true).map(|path| (role_of(option), path)));
        } else if word.starts_with('-') {
            found.extend(attached_result(word).map(|path| (EffectKind::Write, path)));
        } else if before.starts_with('-') {
            found.extend(path(word, true).map(|path| (role_of(before), path)));
        } else if is_operand {
            found.extend(
                path(word, takes_files)
                    .filter(|_| !OPENS_NOTHING.contains(&name))
                    .map(|path| (EffectKind::Read, path)),
            );
        }
    }
    if program.is_none() {
        found.extend(written_last(command));
    }
    found.extend(opened(command));
    found
}

/// Returns the last of several files that an unknown program is given.
fn written_last(command: &Invocation) -> Option<(EffectKind, String)> {
    let operands: Vec<&str> = command.operands().collect();
    let (last, before) = operands.split_last()?;
    let has_more = before.iter().any(|word| path(word, true).is_some());
    path(last, true).filter(|_| has_more).map(|path| (EffectKind::Write, path))
}

/// Returns files that are opened for writing although they are mostly read.
fn opened(command: &Invocation) -> Vec<(EffectKind, String)> {
    let operands: Vec<&str> = command.operands().collect();
    let write = |word: &&str| (EffectKind::Write, (*word).to_owned());
    match (command.program.as_str(), operands.as_slice()) {
        ("sqlite3" | "sqlite" | "duckdb" | "litecli", [database, ..]) => vec![write(database)],
        ("split", [_] | []) => vec![write(&"x*")],
        ("git", ["clone", _, folder, ..] | ["init", folder, ..]) => vec![write(folder)],
        ("git", ["clone", url]) => {
            let name = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            vec![write(&name.strip_suffix(".git").unwrap_or(name))]
        }
        ("git", ["bundle", "create", file, ..] | ["worktree", "add", file, ..]) => {
            vec![write(file)]
        }
        (
            "ffmpeg" | "convert" | "magick" | "sox" | "lame" | "cwebp" | "dwebp" | "ps2pdf"
            | "pdftotext" | "rsvg-convert" | "docker" | "podman",
            [first, .., last],
        ) if !GIVEN_NAMES.contains(&command.program.as_str()) || *first == "cp" => {
            vec![write(last)]
        }
        ("aws" | "gsutil" | "gcloud", [.., last]) if operands.contains(&"cp") => {
            if last.contains("://") { Vec::new() } else { vec![write(last)] }
        }
        ("perl" | "ruby", _)
            if command.words.iter().any(|word| super::overwrite::in_place(word)) =>
        {
            one_liner_files(command)
                .flat_map(|file| [write(&file), (EffectKind::Read, file.to_owned())])
                .collect()
        }
        ("perl" | "ruby", _)
            if command.words.iter().any(|word| super::overwrite::is_source(word)) =>
        {
            one_liner_files(command).map(|file| (EffectKind::Read, file.to_owned())).collect()
        }
        _ if unpacks(command) => vec![write(&".")],
        (name, _) if ACCOUNTS.contains(&name) => {
            ["/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow"].iter().map(write).collect()
        }
        _ => Vec::new(),
    }
}

/// Reports whether an archive's files are written to the working folder.
fn unpacks(command: &Invocation) -> bool {
    let has = |options: &[&str]| options.iter().any(|option| command.has(option));
    match command.program.as_str() {
        "tar" | "gtar" | "bsdtar" => {
            has(&["-x", "--extract", "--get"]) && !has(&["-C", "--directory", "-O", "--to-stdout"])
        }
        "unzip" => !has(&["-l", "-p", "-t", "-v", "-Z"]) && !has(&["-d"]),
        "7z" | "7za" | "7zr" | "unrar" | "unar" => has(&["x", "e"]) || command.program == "unar",
        "cpio" => has(&["-i", "--extract"]),
        _ => false,
    }
}

/// Returns the files that a program given by `-e` processes.
fn one_liner_files(command: &Invocation) -> impl Iterator<Item = &str> {
    let follows_source = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| command.words.get(at));
        before.is_some_and(|word| super::overwrite::is_source(word))
    };
    let places = command.operands.iter().filter(move |at| !follows_source(**at));
    places.filter_map(|at| command.words.get(*at)).map(String::as_str)
}

/// Returns the folder that a command searches as a whole.
fn whole_folder(command: &Invocation) -> Option<&'static str> {
    const LOOKS: &[&str] = &[
        "add",
        "commit",
        "stash",
        "diff",
        "status",
        "checkout",
        "switch",
        "merge",
        "rebase",
        "reset",
        "clean",
        "pull",
        "am",
        "apply",
        "restore",
        "cherry-pick",
        "revert",
        "grep",
    ];
    let first = command.operands().next();
    let operands = command.operands.len();
    let looks = match command.program.as_str() {
        "git" => first.is_some_and(|sub| LOOKS.contains(&sub)),
        "npm" | "pnpm" | "yarn" => matches!(first, Some("publish" | "pack")),
        "docker" | "podman" => first == Some("build"),
        "grep" | "egrep" | "fgrep" => {
            operands < 2 && (command.has("-r") || command.has("-R") || command.has("--recursive"))
        }
        "rg" | "ag" | "ack" => operands < 2,
        _ => false,
    };
    looks.then_some(".")
}

/// Returns the effect on the file that an option names.
fn role_of(option: &str) -> EffectKind {
    if super::effect::is_result(option) { EffectKind::Write } else { EffectKind::Read }
}

/// Returns the path in `-o/some/where` or `-oout.txt`.
fn attached_result(word: &str) -> Option<String> {
    word.strip_prefix("-o").and_then(|value| path(value, value.contains('.')))
}

/// Returns the path in a word. For programs that take names, only an unmistakable path counts.
fn path(word: &str, takes_files: bool) -> Option<String> {
    let word = word.strip_prefix('@').unwrap_or(word);
    let word = word.strip_prefix("file://").unwrap_or(word);
    let is_explicit =
        word.starts_with(['/', '~']) || word.starts_with("./") || word.starts_with("../");
    let ending = word.rsplit('/').next().unwrap_or_default().rsplit_once('.');
    let has_ending = ending.is_some_and(|(stem, ending)| {
        let letters = ending.chars().all(|char| char.is_ascii_alphanumeric());
        let named = ending.chars().any(|char| char.is_ascii_alphabetic()) && ending.len() < 12;
        letters && named && (!stem.is_empty() || ending.len() > 1)
    });
    let plain = |char: char| {
        char.is_alphanumeric()
            || "_-./~+%#,".contains(char)
            || char == UNKNOWN
            || "*?".contains(char)
    };
    let is_substitution = word.starts_with("s/") && word.matches('/').count() > 2;
    let is_path = word.len() < 300
        && !is_substitution
        && word.chars().all(plain)
        && word.trim_matches(['.', '/', '~']).chars().any(char::is_alphanumeric)
        && (is_explicit || (takes_files && (has_ending || word.contains('/'))));
    is_path.then(|| word.replace(UNKNOWN, "…"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Context, Policy, effects as all};

    fn of(kind: EffectKind, command: &str) -> Vec<String> {
        let action = Action::Shell { command: command.into(), cwd: None };
        let found = all(&action, &Policy::default(), &Context::default()).effects;
        found.into_iter().filter(|effect| effect.effect == kind).map(|one| one.target).collect()
    }

    #[test]
    fn a_program_that_nobody_described_may_read_and_write_what_it_is_given() {
        assert_eq!(
            of(EffectKind::Read, "unheard-of a.txt --with b.cfg --in=c.cfg"),
            ["a.txt", "b.cfg", "c.cfg"]
        );
        assert_eq!(
            of(EffectKind::Write, "unheard-of -o out/x --report=r.json a.txt b.txt"),
            ["out/x", "r.json", "b.txt"]
        );
        assert_eq!(of(EffectKind::Read, "unheard-of 1.5 a@b.example s/a/b/ 'x y.txt'").len(), 0);
    }

    #[test]
    fn the_script_that_is_run_is_read() {
        assert_eq!(of(EffectKind::Read, "python3 tool.py --output x"), ["tool.py"]);
        assert_eq!(of(EffectKind::Read, "bash -x run.sh"), ["run.sh"]);
        assert_eq!(of(EffectKind::Read, "perl -ne print notes.txt"), ["notes.txt"]);
        assert_eq!(of(EffectKind::Write, "perl -pi.bak -e s/a/b/ notes.txt"), ["notes.txt"]);
        assert!(of(EffectKind::Write, "perl -Mstrict -e 1 notes.txt").is_empty());
    }

    #[test]
    fn processes_and_services_are_told() {
        assert_eq!(of(EffectKind::Signal, "kill -9 4711; pkill node"), ["4711", "node"]);
        assert_eq!(of(EffectKind::Signal, "systemctl stop nginx"), ["nginx"]);
        assert!(of(EffectKind::Signal, "systemctl status nginx; kill -0 1").is_empty());
    }

    #[test]
    fn names_are_not_files() {
        for command in ["git push origin feature/x.y", "npm run build.dev", "docker pull a/b.c"] {
            let read = of(EffectKind::Read, command);
            assert!(read.iter().all(|path| path == "."), "{command}: {read:?}");
        }
    }
}
