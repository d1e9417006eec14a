//! The effects of a program on its words, by the catalogue.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{Effect, Program, Slot};
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Programs that are expected where a compressor is configured.
const COMPRESSORS: &[&str] = &[
    "gzip", "pigz", "bzip2", "pbzip2", "lbzip2", "xz", "pxz", "pixz", "zstd", "pzstd", "lz4",
    "lzop", "brotli", "lzma", "compress", "cat",
];

/// Programs that name, list, describe, measure or protect files, and do not show their content.
const UNREAD: &[&str] = &[
    "ls",
    "dir",
    "stat",
    "test",
    "[",
    "echo",
    "printf",
    "find",
    "du",
    "df",
    "file",
    "wc",
    "touch",
    "mkdir",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "lsattr",
    "getfacl",
    "setfacl",
    "restorecon",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "which",
    "type",
    "sha256sum",
    "sha1sum",
    "sha512sum",
    "md5sum",
    "b2sum",
    "cksum",
    "shasum",
    "md5",
    "ssh-add",
    "git",
    "tree",
    "eza",
    "exa",
    "lsd",
    "namei",
    "inotifywait",
    "fuser",
    "lsof",
    "age-keygen",
    "man",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "sed",
    "awk",
    "gawk",
    "mawk",
    "direnv",
    "dotenv",
    "visudo",
    "sudoedit",
    "docker",
    "podman",
    "docker-compose",
    "kubectl",
    "helm",
    "ssh",
    "cp",
    "mv",
    "ln",
    "rm",
    "cd",
];

/// Options that select the key or certificate to sign in with.
pub(super) const IDENTITIES: &[&str] = &[
    "-i",
    "--identity",
    "--identity-file",
    "--private-key",
    "--key",
    "--key-file",
    "--cert",
    "--cacert",
    "--ca",
    "--kubeconfig",
    "--env-file",
    "--password-file",
    "--vault-password-file",
    "--keyfile",
    "--ssh-key",
    "--service-account",
    "--credentials",
    "--cert-file",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
    "-E",
    "--recipients-file",
    "--netrc-file",
    "-key",
    "-inkey",
    "-signkey",
    "-CAkey",
    "-passin",
];

/// Locations where a result must not be written unnoticed.
const LANDS: Tags = Tags::of(&[
    Tag::System,
    Tag::Secret,
    Tag::Startup,
    Tag::SignIn,
    Tag::Accounts,
    Tag::Blocked,
    Tag::Guard,
    Tag::Top,
]);

/// Files that must not be read incidentally.
pub(super) const PROTECTED: Tags = Tags::of(&[Tag::Secret, Tag::Accounts, Tag::Blocked]);

/// Tags that are recorded even if only help seems to be asked for.
const GRAVE_EVEN_FOR_HELP: Tags = Tags::of(&[
    Tag::Root,
    Tag::Top,
    Tag::HomeRoot,
    Tag::System,
    Tag::Device,
    Tag::Kernel,
    Tag::Blocked,
    Tag::Accounts,
    Tag::Guard,
    Tag::AboveGuard,
]);

impl Walker<'_> {
    /// Records the effects that the catalogue lists for this program. When only help is asked for,
    /// records only effects that could not be undone if the program did not know the option after
    /// all.
    pub(super) fn effects(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        asks_help: bool,
        span: Option<Span>,
    ) {
        let Some(program) = program else {
            if !asks_help {
                let before = self.analysis.facts.len();
                self.written_last(name, None, args, before);
                self.protected_among(name, args, before, span);
                self.start_up_among(args);
            }
            return;
        };
        let before = self.analysis.facts.len();
        if let ("ln" | "cp" | "mv" | "install", [.., source, link]) = (name, args.operands()) {
            self.links(&source.text, link);
            match name {
                "ln" => self.names(source, link),
                "install" => self.mode_of_result(args, link),
                _ => {}
            }
        }
        if !asks_help {
            self.puts_into_folder(name, args);
        }
        for effect in program.does {
            if !applies(effect, args) {
                continue;
            }
            let mut tags = effect.tags;
            if args.has_any(effect.recursive) {
                tags = tags.with(Tag::Recursive);
            }
            if args.has_any(effect.forced) {
                tags = tags.with(Tag::Forced);
            }
            let from_sample = effect.fact == FactKind::Write && self.copies_samples(name, args);
            for target in targets(effect, args) {
                let tags = if from_sample && self.is_in_workspace(&target) {
                    tags.with(Tag::Public)
                } else {
                    tags
                };
                self.effect_on(effect.fact, &target, tags, asks_help);
            }
        }
        if !asks_help {
            self.written_last(name, Some(program), args, before);
            self.protected_among(name, args, before, span);
        }
        if !asks_help {
            self.executes(name, program, args, span);
        }
    }

    /// Follows commands in options that the catalogue lists.
    fn executes(
        &mut self,
        name: &str,
        program: &Program,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        for command in args.values(program.executes) {
            if command.text.is_empty() {
                continue;
            }
            if is_shown_only(&command.text) {
                continue;
            }
            let line = command.text.strip_prefix("exec=").unwrap_or(&command.text).to_owned();
            let content = Stream::known(line, command.taint);
            if super::debugger::only_looks(name, &command.text) {
                continue;
            }
            let program = command.text.split_whitespace().next().map_or("", location::base_name);
            if !COMPRESSORS.contains(&program) {
                let subject = format!("{name}: {}", command.text);
                self.note(Fact::new(FactKind::ShellEscape, subject).at(span));
            }
            self.follow_text(super::catalogue::Code::Shell, &content, span, &Stream::caller());
        }
    }

    fn effect_on(&mut self, kind: FactKind, target: &Arg, tags: Tags, asks_help: bool) {
        if asks_help {
            let found = location::locate(&target.text, &self.scene_now());
            // `rm -rf ~/.claude help` does not ask for help.
            if !found.any(GRAVE_EVEN_FOR_HELP) {
                return;
            }
        }
        let is_stream = target.text == "-" || target.stream.is_some();
        if kind == FactKind::Read && is_stream {
            return;
        }
        let tags = if self.is_empty(target) { tags } else { tags.without(Tag::Hollow) };
        self.note_path(kind, target, tags);
        match kind {
            FactKind::Delete | FactKind::Move => self.moved_away(&target.text),
            FactKind::Write if tags.has(Tag::Created) => self.made(target, Tags::NONE),
            _ => {}
        }
    }

    /// Reports whether all copied files are samples from the workspace: `cp .env.example .env`.
    fn copies_samples(&self, name: &str, args: &Arguments<'_>) -> bool {
        let sources = match (args.operands(), args.has_any(&["-t", "--target-directory"])) {
            ([sources @ .., _], false) if !sources.is_empty() => sources,
            _ => return false,
        };
        matches!(name, "cp" | "gcp" | "install")
            && sources.iter().all(|source| {
                source.is_known()
                    && !source.glob
                    && location::is_sample(&source.text)
                    && self.is_in_workspace(source)
            })
    }

    /// Reports whether the context knows that this folder is empty.
    fn is_empty(&self, folder: &Arg) -> bool {
        let paths = &self.scene.context.paths;
        !paths.is_empty()
            && !folder.glob
            && paths
                .get(&location::absolute(&folder.text, &self.scene_now()))
                .is_some_and(|facts| facts.empty && facts.resolves_to.is_none())
    }

    fn is_in_workspace(&self, path: &Arg) -> bool {
        let tags = location::locate(&path.text, &self.scene_now());
        tags.has(Tag::Workspace) && !tags.any(Tags::of(&[Tag::Symlink, Tag::Unknown]))
    }

    /// Records a protected file that a program is given in any role: an effect that the catalogue
    /// does not list is still possible. Programs that only name, describe or measure a file are
    /// left out, and so are options that select the key to sign in with.
    ///
    /// `before` is the number of facts known before this command: the effects of an earlier command
    /// on the file say nothing about this one.
    pub(super) fn protected_among(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        before: usize,
        span: Option<Span>,
    ) {
        self.written_by_option(args, before);
        self.named_by_lists(name, args);
        if name == "git" {
            self.shown_by_git(args, span);
        }
        if UNREAD.contains(&name) && !copies(args) {
            return;
        }
        if super::catalogue::program(name).is_none() {
            self.protected_in_texts(args, before, span);
        }
        if super::catalogue::program(name).is_none_or(|program| program.runs.is_none()) {
            self.protected_within(args, before, span);
        }
        let is_named = |option: &str| IDENTITIES.contains(&option) || is_result(option);
        let mut identity = false;
        for word in args.words() {
            let named = std::mem::replace(&mut identity, is_named(&word.text));
            let (option, value) = word.text.split_once('=').unwrap_or(("", word.text.as_str()));
            if named || is_named(option) {
                continue;
            }
            let path = value.strip_prefix('@').unwrap_or(value);
            let path = path.strip_prefix("file://").unwrap_or(path);
            if path.starts_with('-') || !path.contains(['/', '.', '~']) || path.contains(' ') {
                continue;
            }
            let tags = location::locate(path, &self.scene_now());
            let is_device = tags.any(Tags::of(&[Tag::Device, Tag::Kernel, Tag::Peripheral]));
            if tags.any(PROTECTED) && !is_device && !self.is_noted(path, before) {
                let shows = !shows_fingerprint(name, args);
                let tags = if shows { tags } else { tags.with(Tag::Measured) };
                let fact = Fact::new(FactKind::Read, location::shown(path)).tagged(tags);
                self.note(fact.at(word.span.or(span)));
            }
        }
    }

    /// Records a protected file in a command that is a single word: `debugfs -R 'cat /etc/shadow'
    /// disk`.
    fn protected_in_texts(&mut self, args: &Arguments<'_>, before: usize, span: Option<Span>) {
        const MOST_PARTS: usize = 16;
        const READS: &[&str] = &[
            "cat", "cp", "copy", "download", "dump", "get", "head", "less", "more", "open",
            "print", "put", "rdump", "read", "send", "show", "tail", "type", "view",
        ];
        let reads = |word: &&Arg| {
            let first = word.text.split_whitespace().next();
            word.text.contains(' ') && first.is_some_and(|first| READS.contains(&first))
        };
        for word in args.words().iter().filter(reads) {
            for part in word.text.split_whitespace().take(MOST_PARTS) {
                let path = part.trim_matches(['\'', '"', ';', ')', '(', ',']);
                let tags = location::locate(path, &self.scene_now());
                if path.starts_with(['/', '~'])
                    && tags.any(PROTECTED)
                    && !self.is_noted(path, before)
                {
                    let fact = Fact::new(FactKind::Read, location::shown(path)).tagged(tags);
                    self.note(fact.at(word.span.or(span)));
                }
            }
        }
    }

    /// Records a start-up file that is given to an unknown program, which may change it.
    fn start_up_among(&mut self, args: &Arguments<'_>) {
        for word in args.operands().iter().filter(|word| word.text.contains('/')) {
            let tags = location::locate(&word.text, &self.scene_now());
            let outside = !tags.any(Tags::of(&[Tag::Workspace, Tag::Unknown]));
            if outside && tags.any(Tags::of(&[Tag::Startup, Tag::Guard])) {
                self.note_path(FactKind::Append, word, Tags::NONE);
            }
        }
    }

    /// Records a result file that an option names, for any program.
    pub(super) fn written_by_option(&mut self, args: &Arguments<'_>, before: usize) {
        for value in results(args.words()) {
            if !value.text.contains(['/', '~']) || value.text.contains("://") {
                continue;
            }
            let tags = location::locate(&value.text, &self.scene_now());
            if tags.any(LANDS) && !tags.has(Tag::Workspace) && !self.is_noted(&value.text, before) {
                self.note_path(FactKind::Write, &value, Tags::NONE);
            }
        }
    }

    /// Records the last of several words as written, where the catalogue does not say what the
    /// program does with it: a copy put there may let somebody in.
    fn written_last(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        before: usize,
    ) {
        let is_described = program.is_some_and(|program| !program.does.is_empty());
        let only_names = UNREAD.contains(&name) && !copies(args);
        let [_, .., last] = args.operands() else { return };
        if is_described || only_names || !last.text.contains(['/', '~']) {
            return;
        }
        let tags = location::locate(&last.text, &self.scene_now());
        let lets_in = tags.has(Tag::SignIn) && !tags.has(Tag::Blocked);
        if lets_in && !location::is_remote(&last.text) && !self.is_noted(&last.text, before) {
            self.note_path(FactKind::Write, last, Tags::NONE);
        }
    }

    /// Reports whether this command is known to do something with this path.
    pub(super) fn is_noted(&self, path: &str, before: usize) -> bool {
        let shown = location::shown(path);
        let facts = self.analysis.facts.get(before..).unwrap_or_default();
        facts.iter().any(|fact| fact.subject == shown)
    }

    /// Records the rights that `install -m 4755 FILE TARGET` gives.
    fn mode_of_result(&mut self, args: &Arguments<'_>, target: &Arg) {
        let tags = args.value(&["-m", "--mode"]).map_or(Tags::NONE, |mode| mode_tags(&mode.text));
        if tags.has(Tag::SetId) {
            self.note_path(FactKind::Chmod, target, tags);
        }
    }

    /// Follows `chmod MODE FILE…` and `chown OWNER FILE…`.
    pub(super) fn permissions(&mut self, name: &str, args: &Arguments<'_>) {
        let (kind, mut tags) = match name {
            "chmod" => (FactKind::Chmod, Tags::NONE),
            _ => (FactKind::Chown, Tags::NONE),
        };
        if args.has_any(&["-R", "--recursive"]) {
            tags = tags.with(Tag::Recursive);
        }
        // A mode that takes permissions away looks like an option.
        let takes_away = |word: &Arg| {
            let rights = word.text.strip_prefix('-').unwrap_or_default();
            !rights.is_empty() && rights.chars().all(|char| "rwxXst".contains(char))
        };
        let has_minus = args.words().iter().any(|word| name == "chmod" && takes_away(word));
        let by_reference = args.has("--reference");
        let (mode, files) = match (args.operands(), by_reference || has_minus) {
            (files, true) => (None, files),
            ([mode, files @ ..], false) => (Some(*mode), files),
            ([], false) => return,
        };
        if let (Some(mode), FactKind::Chmod) = (mode, kind) {
            tags = tags.and(mode_tags(&mode.text));
        }
        if let (Some(owner), FactKind::Chown) = (mode, kind)
            && matches!(owner.text.split([':', '.']).next(), Some("root" | "0"))
        {
            tags = tags.with(Tag::SetId);
        }
        for file in files {
            self.note_path(kind, file, tags);
        }
    }
}

/// Reports whether a program whose operands are usually names copies a file, or is told which one
/// to write.
fn copies(args: &Arguments<'_>) -> bool {
    match (args.operand(0), args.operand(1)) {
        (Some("cp"), _) | (Some("bundle"), Some("create")) => true,
        (Some("config"), _) => args.has("--file") || args.has("-f"),
        _ => false,
    }
}

/// Returns the values of options that name a result file.
pub(super) fn results(words: &[Arg]) -> Vec<Arg> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        if !text.starts_with('-') {
            continue;
        }
        if let Some((option, value)) = text.split_once('=') {
            if is_result(option) {
                found.push(word.saying(value));
            }
        } else if let Some(value) = text
            .strip_prefix("-o")
            .or_else(|| text.strip_prefix("-O"))
            .filter(|value| value.starts_with(['/', '~']))
        {
            found.push(word.saying(value));
        } else if is_result(text) {
            found.extend(words.get(at + 1).cloned());
        }
    }
    found
}

/// Reports whether an option names a result file, by the words in its name.
pub(super) fn is_result(option: &str) -> bool {
    const WORDS: &[&str] = &["out", "output", "outfile", "outdir", "dest", "destination", "save"];
    const NAMES: &[&str] =
        &["keyout", "report", "report-file", "log-file", "logfile", "junitxml", "pidfile"];
    if !option.starts_with('-') {
        return false;
    }
    let name = option.trim_start_matches('-').to_ascii_lowercase();
    matches!(option, "-o" | "-O")
        || NAMES.contains(&name.as_str())
        || name.split(['-', '_', '.']).any(|part| WORDS.contains(&part))
}

/// Reports whether an action of `tar` at a checkpoint does not run a command: `dot`, `echo=…`.
fn is_shown_only(action: &str) -> bool {
    let kind = action.split(['=', ':']).next().unwrap_or(action);
    let alone = matches!(action, "dot" | "." | "bell" | "totals" | "echo" | "ttyout");
    alone || (action.contains('=') && matches!(kind, "echo" | "ttyout" | "sleep" | "wait"))
}

/// Reports whether a program for keys only shows a key's fingerprint.
fn shows_fingerprint(name: &str, args: &Arguments<'_>) -> bool {
    name == "ssh-keygen" && args.has("-l") && !args.has_any(&["-e", "-y", "-p", "-c", "-i"])
}

fn mode_tags(mode: &str) -> Tags {
    let mut tags = Tags::NONE;
    if !mode.is_empty() && mode.chars().all(|char| char.is_digit(8)) {
        let bits = u32::from_str_radix(mode, 8).unwrap_or(0);
        if bits & 0o002 != 0 {
            tags = tags.with(Tag::WorldWritable);
        }
        if bits & 0o6000 != 0 {
            tags = tags.with(Tag::SetId);
        }
        return tags;
    }
    for clause in mode.split(',') {
        let Some(at) = clause.find(['+', '=']) else { continue };
        let (who, what) = clause.split_at(at);
        if what.contains('w') && (who.contains('o') || who.contains('a')) {
            tags = tags.with(Tag::WorldWritable);
        }
        if what.contains('s') {
            tags = tags.with(Tag::SetId);
        }
    }
    tags
}

pub(super) fn applies(effect: &Effect, args: &Arguments<'_>) -> bool {
    let operands = args.operands();
    effect.sub.len() <= operands.len()
        && effect
            .sub
            .iter()
            .zip(operands)
            .all(|(wanted, arg)| wanted.split('|').any(|wanted| wanted == arg.text))
        && (effect.when.is_empty() || args.has_any(effect.when))
        && !args.has_any(effect.unless)
}

pub(super) fn targets(effect: &Effect, args: &Arguments<'_>) -> Vec<Arg> {
    let operands = args.operands().get(effect.sub.len()..).unwrap_or_default();
    let chosen = match effect.on {
        Slot::Args => operands,
        Slot::First => operands.get(..1).unwrap_or_default(),
        Slot::Last if operands.len() < 2 => &[],
        Slot::Last => operands.get(operands.len() - 1..).unwrap_or_default(),
        Slot::Sources => operands.split_last().map_or(&[][..], |(_, rest)| rest),
        Slot::Rest => operands.get(1..).unwrap_or_default(),
        Slot::Option(option) => {
            let values = args.values(&[option]).into_iter();
            return values.map(|arg| named(effect.named, arg)).collect();
        }
    };
    chosen.iter().map(|arg| named(effect.named, (*arg).clone())).collect()
}

/// Returns the thing that a word names: itself, or the result whose name is derived from it.
fn named(pattern: &str, word: Arg) -> Arg {
    if pattern.is_empty() || word.text.is_empty() || word.text == "-" {
        return word;
    }
    let name = location::base_name(&word.text);
    let ending = name.rfind('.').filter(|at| *at > 0).map_or(0, |at| name.len() - at);
    let stem = word.text.len().checked_sub(ending).and_then(|end| word.text.get(..end));
    let text = pattern.replace("{stem}", stem.unwrap_or(&word.text)).replace("{}", &word.text);
    word.saying(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_called_after_its_source() {
        let of = |pattern, word| named(pattern, Arg::literal(word)).text;
        assert_eq!(of("{}.gz", "a/b.txt"), "a/b.txt.gz");
        assert_eq!(of("{stem}", "a.d/b.tar.gz"), "a.d/b.tar");
        assert_eq!(of("{stem}", "a.d/.env"), "a.d/.env");
        assert_eq!(of("", "a"), "a");
    }

    #[test]
    fn modes_are_read_in_both_notations() {
        assert!(mode_tags("777").has(Tag::WorldWritable));
        assert!(mode_tags("a+w").has(Tag::WorldWritable));
        assert!(mode_tags("4755").has(Tag::SetId));
        assert!(mode_tags("u+s").has(Tag::SetId));
        assert_eq!(mode_tags("755"), Tags::NONE);
        assert_eq!(mode_tags("u+w"), Tags::NONE);
    }
}
