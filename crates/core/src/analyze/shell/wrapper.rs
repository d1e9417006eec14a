//! Programs that start another command: finds the start of that command, by the catalogue.

use super::Walker;
use super::arguments::Arguments;
use super::builtin::join;
use super::catalogue::{Code, Program, Wrap};
use super::follow::whole_span;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};

mod input;

use input::{lines_of, unquoted_lines_of, words_of};

/// The result of unwrapping a wrapper.
pub(super) enum Inner {
    /// A command given by its words.
    Command { args: Vec<Arg>, tags: Tags, stdin: Stream },
    /// A command that has already been followed.
    Done(Stream),
    /// No command: the wrapper is examined as a program of its own.
    Nothing,
}

impl Walker<'_> {
    /// Unwraps a wrapper.
    pub(super) fn unwrap(
        &mut self,
        name: &str,
        wrap: &Wrap,
        program: Option<&Program>,
        args: &[Arg],
        stdin: &Stream,
    ) -> Inner {
        let values = program.map_or(&[][..], |program| program.values);
        let words = args.get(1..).unwrap_or_default();
        let mut tags = Tags::NONE;
        if wrap.elevates {
            tags = tags.with(Tag::Elevated);
        }
        if wrap.elsewhere {
            tags = tags.with(Tag::Elsewhere);
        }
        let mut rest = words;
        if !wrap.after.is_empty() {
            match after_subcommand(words, wrap.after, values) {
                Some(after) => rest = after,
                None => return Inner::Nothing,
            }
        }
        if name == "bwrap" {
            rest = after_pairs(rest, values);
        }
        if let Some(script) = Self::wrapped_script(rest, wrap, values) {
            return self.follow_script(&script, tags, args, stdin);
        }
        let command = self.command_words(name, rest, wrap, values);
        self.remember_wrapper(name, args, command);
        if name == "docker" || name == "podman" || name == "nerdctl" {
            self.mounts(rest, args);
            self.handed_secrets(rest, command, args);
        }
        if wrap.appends {
            return self.with_input(name, words, command, stdin, tags);
        }
        if command.is_empty() {
            return self.without_command(name, wrap, tags, args, stdin);
        }
        if wrap.joins {
            if matches!(name, "ssh" | "mosh" | "et") {
                self.sends_stream(stdin, whole_span(args));
            }
            let line = join(command);
            return self.follow_script(&line, tags, args, stdin);
        }
        Inner::Command { args: command.to_vec(), tags, stdin: stdin.clone() }
    }

    /// Records the wrapper as a command too, because rules may be about the wrapper itself.
    fn remember_wrapper(&mut self, name: &str, args: &[Arg], command: &[Arg]) {
        let own = args.len().saturating_sub(command.len());
        let words = args.get(1..own).unwrap_or_default();
        let span = if self.nested { self.shown_at } else { whole_span(args) };
        self.analysis.commands.push(Arguments::new(words, None).invocation(name, span));
    }

    fn follow_script(&mut self, script: &Arg, tags: Tags, args: &[Arg], stdin: &Stream) -> Inner {
        let content = Stream::known(script.text.clone(), script.taint);
        let span = whole_span(args);
        Inner::Done(
            self.with_tags(tags, |walker| walker.follow_text(Code::Shell, &content, span, stdin)),
        )
    }

    /// Returns the script given by an option such as `-c` before the command.
    fn wrapped_script(words: &[Arg], wrap: &Wrap, values: &[&str]) -> Option<Arg> {
        // A name or a file may precede it: `su root -c …`, `flock FILE -c …`.
        let mut names = wrap.skip.max(usize::from(wrap.elevates || wrap.elsewhere));
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if text == "--" {
                return None;
            }
            for option in wrap.script {
                if text == *option || is_cluster_ending(text, option) {
                    return rest.next().cloned();
                }
                if let Some(value) = text.strip_prefix(option).and_then(|r| r.strip_prefix('=')) {
                    return Some(word.saying(value));
                }
            }
            if values.contains(&text) {
                rest.next();
            } else if !text.starts_with('-') {
                names = names.checked_sub(1)?;
            }
        }
        None
    }

    /// Returns the words of the command itself.
    fn command_words<'w>(
        &mut self,
        name: &str,
        words: &'w [Arg],
        wrap: &Wrap,
        values: &[&str],
    ) -> &'w [Arg] {
        let mut rest = words;
        let mut skip = wrap.skip;
        let mut options_end = false;
        while let [first, tail @ ..] = rest {
            let text = first.text.as_str();
            if !options_end && text == "--" {
                options_end = true;
            } else if !options_end && text.starts_with('-') && (text.len() > 1 || name == "env") {
                if name == "env" {
                    if self.split_string(text, tail) {
                        return &[];
                    }
                    self.unset_for_command(text, tail);
                }
                if values.iter().any(|value| *value == text || is_cluster_ending(text, value)) {
                    rest = tail.get(1..).unwrap_or_default();
                    continue;
                }
            } else if wrap.assigns && is_assignment(text) {
                let (variable, value) = text.split_once('=').unwrap_or((text, ""));
                let value = first.saying(value);
                self.variable_that_runs(variable, Some(&value), first.span);
                self.environment.push((variable.to_owned(), Some(value)));
            } else if skip > 0 {
                skip -= 1;
            } else {
                return rest;
            }
            rest = tail;
        }
        &[]
    }

    /// Follows `env -S 'rm -rf /'`; reports whether it was one.
    fn split_string(&mut self, option: &str, rest: &[Arg]) -> bool {
        let line =
            if option == "-S" || option == "--split-string" || is_cluster_ending(option, "-S") {
                rest.first().cloned()
            } else {
                option
                    .strip_prefix("--split-string=")
                    .or_else(|| option.strip_prefix("-S"))
                    .map(Arg::literal)
            };
        let Some(line) = line else { return false };
        let content = Stream::known(line.text.clone(), line.taint);
        self.follow_text(Code::Shell, &content, line.span, &Stream::caller());
        true
    }

    /// Records variables that are removed for the command: `env -u NAME`, `env -i`.
    fn unset_for_command(&mut self, option: &str, rest: &[Arg]) {
        let name = match option {
            "-i" | "-" | "--ignore-environment" => Some("HOME"),
            "-u" | "--unset" => rest.first().map(|name| name.text.as_str()),
            _ => option.strip_prefix("--unset=").or_else(|| option.strip_prefix("-u")),
        };
        let Some(name) = name.map(str::to_owned) else { return };
        if name.starts_with("COUNTERSIGN") {
            let span = rest.first().and_then(|word| word.span);
            self.note(Fact::new(FactKind::GuardCommand, format!("env -u {name}")).at(span));
        }
        self.environment.push((name, None));
    }

    /// Follows `sudo -s`, `su` or `chroot /x` without a command: a shell that reads its input.
    fn without_command(
        &mut self,
        name: &str,
        wrap: &Wrap,
        tags: Tags,
        args: &[Arg],
        stdin: &Stream,
    ) -> Inner {
        const START_A_SHELL: &[&str] = &["su", "runuser"];
        const START_A_SHELL_AS_ROOT: &[&str] =
            &["capsh", "chroot", "machinectl", "nsenter", "setpriv", "systemd-nspawn", "unshare"];
        let is_told = |arg: &Arg| matches!(arg.text.as_str(), "-s" | "-i" | "--login" | "--shell");
        let opens_shell = wrap.elevates
            && (START_A_SHELL.contains(&name) || args.iter().skip(1).any(is_told))
            || matches!(name, "machinectl" | "nsenter")
            || self.tags.has(Tag::Elevated) && START_A_SHELL_AS_ROOT.contains(&name);
        if opens_shell || wrap.joins {
            let span = whole_span(args);
            if stdin.from_caller {
                if opens_shell {
                    self.note(Fact::new(FactKind::OpenShell, name).tagged(tags).at(span));
                }
                return Inner::Nothing;
            }
            return Inner::Done(self.with_tags(tags, |walker| {
                walker.follow_text(Code::Shell, stdin, span, &Stream::empty())
            }));
        }
        Inner::Nothing
    }

    /// Follows `xargs` and `parallel`, whose words come from standard input or after `:::`.
    fn with_input(
        &mut self,
        name: &str,
        options: &[Arg],
        command: &[Arg],
        stdin: &Stream,
        tags: Tags,
    ) -> Inner {
        let mut command = command.to_vec();
        let given = words_after_mark(&mut command);
        if name == "parallel" && command.is_empty() {
            for line in given.unwrap_or_else(|| lines_of(stdin, '\n')) {
                let content = Stream::known(line.text.clone(), line.taint);
                self.with_tags(tags, |walker| {
                    walker.follow_text(Code::Shell, &content, line.span, &Stream::empty())
                });
            }
            return Inner::Done(Stream::unknown(stdin.taint));
        }
        let ends = |arg: &Arg| matches!(arg.text.as_str(), "-0" | "--null");
        let end = if options.iter().any(ends) { '\0' } else { '\n' };
        let own = options.len().saturating_sub(command.len());
        let mark = placeholder(name, options.get(..own).unwrap_or(options));
        let placed =
            mark.as_deref().is_some_and(|mark| command.iter().any(|arg| arg.text.contains(mark)));
        if command.is_empty() {
            command.push(Arg::literal("echo"));
        }
        if let Some(mark) = mark.filter(|_| placed) {
            let read = || match (name, end) {
                ("xargs" | "gxargs", '\n') => unquoted_lines_of(stdin),
                _ => lines_of(stdin, end),
            };
            let lines = given.unwrap_or_else(read);
            let (first, rest) = lines.split_first().map_or((None, &[][..]), |(a, b)| (Some(a), b));
            for with in rest {
                let line = with_placed(&command, &mark, with);
                self.with_tags(tags, |walker| walker.follow_command(line, Stream::empty()));
            }
            command = with_placed(&command, &mark, &first.cloned().unwrap_or_default());
        } else {
            let apart = delimiter(options.get(..own).unwrap_or(options));
            let split = || match (end, apart) {
                ('\0', _) => lines_of(stdin, end),
                (_, Some(apart)) => lines_of(stdin, apart),
                _ => words_of(stdin),
            };
            let inputs = given.unwrap_or_else(split);
            if stdin.text.is_none() {
                // With empty input, the command runs as it is.
                let plain = command.clone();
                self.with_tags(tags, |walker| walker.follow_command(plain, Stream::empty()));
            }
            command.extend(inputs);
        }
        let is_line = name == "parallel" && command.len() == 1;
        if is_line
            || (name == "parallel" && command.iter().any(|arg| arg.text.contains(['|', ';', '&'])))
        {
            let line = join(&command);
            return self.follow_script(&line, tags, &command, &Stream::empty());
        }
        Inner::Command { args: command, tags, stdin: Stream::empty() }
    }

    /// Records a secret of this machine that is passed to a foreign image: `docker run -e TOKEN
    /// someone/image`.
    fn handed_secrets(&mut self, words: &[Arg], command: &[Arg], args: &[Arg]) {
        const PARTS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIALS"];
        let own = words.len().saturating_sub(command.len());
        let before = words.get(..own).unwrap_or_default();
        // The image is the last word before the command: `owner/name` on the public registry.
        let is_foreign = before.last().is_some_and(|image| {
            let mut parts = image.text.split('/');
            let owner = parts.next().unwrap_or_default();
            parts.next().is_some() && parts.next().is_none() && !owner.contains(['.', ':'])
        });
        let secret = before.windows(2).find_map(|pair| match pair {
            [option, value] if matches!(option.text.as_str(), "-e" | "--env") => {
                let name = value.text.as_str();
                let is_secret = name.split('_').any(|part| PARTS.contains(&part));
                (is_secret && !name.contains('=')).then(|| name.to_owned())
            }
            _ => None,
        });
        if let Some(name) = secret.filter(|_| is_foreign) {
            let tags = Tags::of(&[Tag::Secret, Tag::Local]);
            self.note(Fact::new(FactKind::Send, name).tagged(tags).at(whole_span(args)));
        }
    }

    /// Records host folders that a container can write to.
    fn mounts(&mut self, words: &[Arg], args: &[Arg]) {
        let span = whole_span(args);
        for (at, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            if matches!(
                text,
                "--privileged"
                    | "--pid=host"
                    | "--userns=host"
                    | "--cap-add=ALL"
                    | "--cap-add=SYS_ADMIN"
            ) {
                self.note(
                    Fact::new(FactKind::ShellEscape, text)
                        .tagged(Tags::of(&[Tag::Elevated]))
                        .at(span),
                );
            }
            let shares = matches!(text, "--pid" | "--userns" | "--ipc" | "--uts" | "--cgroupns")
                && words.get(at + 1).is_some_and(|next| next.text == "host");
            if shares {
                let fact = Fact::new(FactKind::ShellEscape, format!("{text} host"));
                self.note(fact.tagged(Tags::of(&[Tag::Elevated])).at(span));
            }
            let mount = match text {
                "-v" | "--volume" | "--mount" => words.get(at + 1).map(|next| next.text.as_str()),
                _ => text.strip_prefix("--volume=").or_else(|| text.strip_prefix("--mount=")),
            };
            let Some(host) = mount.and_then(host_side) else { continue };
            let found = crate::location::locate(host, &self.scene_now());
            let exposes = found.any(Tags::of(&[
                Tag::Root,
                Tag::Top,
                Tag::HomeRoot,
                Tag::Secret,
                Tag::Accounts,
            ])) || host.ends_with("docker.sock");
            if exposes
                && found.any(Tags::of(&[
                    Tag::Root,
                    Tag::Top,
                    Tag::HomeRoot,
                    Tag::Secret,
                    Tag::Accounts,
                    Tag::System,
                ]))
            {
                let subject = format!("mounts {host} into a container");
                self.note(Fact::new(FactKind::ShellEscape, subject).tagged(found).at(span));
            }
        }
    }
}

/// Returns the host folder of `-v HOST:CONTAINER` or `--mount type=bind,source=HOST,…`.
fn host_side(mount: &str) -> Option<&str> {
    if mount.contains("source=") || mount.contains("src=") {
        return mount
            .split(',')
            .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
    }
    mount.split_once(':').map(|(host, _)| host).filter(|host| host.starts_with(['/', '~', '.']))
}

/// Returns the words after a subcommand such as `exec`.
fn after_subcommand<'w>(words: &'w [Arg], wanted: &[&str], values: &[&str]) -> Option<&'w [Arg]> {
    let mut rest = words;
    // A few nouns may precede the verb: `docker compose exec`, `docker container run`.
    let mut nouns = 0;
    while let [first, tail @ ..] = rest {
        let text = first.text.as_str();
        if wanted.contains(&text) {
            return Some(tail);
        }
        if text.starts_with('-') {
            let takes_value = values.contains(&text);
            rest = if takes_value { tail.get(1..).unwrap_or_default() } else { tail };
            continue;
        }
        nouns += 1;
        if nouns > 1 {
            return None;
        }
        rest = tail;
    }
    None
}

fn is_cluster_ending(word: &str, option: &str) -> bool {
    let (Some(cluster), Some(letter)) = (word.strip_prefix('-'), option.strip_prefix('-')) else {
        return false;
    };
    letter.len() == 1
        && !cluster.starts_with('-')
        && cluster.ends_with(letter)
        && cluster.chars().all(|char| char.is_ascii_alphabetic())
}

/// Reports whether a word is an assignment: `NAME=value`.
pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|char: char| char.is_ascii_digit())
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    })
}

/// Returns the placeholder that `xargs -I X` or `parallel` replaces.
fn placeholder(name: &str, options: &[Arg]) -> Option<String> {
    let mut found = (name == "parallel").then(|| "{}".to_owned());
    for (at, option) in options.iter().enumerate() {
        match option.text.as_str() {
            "-I" | "--replace" => {
                found = options.get(at + 1).map(|next| next.text.clone()).or(Some("{}".to_owned()));
            }
            "-i" => found = Some("{}".to_owned()),
            text => {
                if let Some(mark) = text
                    .strip_prefix("-I")
                    .or_else(|| text.strip_prefix("-i"))
                    .or_else(|| text.strip_prefix("--replace="))
                {
                    found = Some(mark.to_owned());
                }
            }
        }
    }
    found
}

/// Returns a command with its placeholder replaced by a line.
fn with_placed(command: &[Arg], mark: &str, with: &Arg) -> Vec<Arg> {
    let place = |arg: &Arg| Arg {
        text: arg.text.replace(mark, &with.text),
        taint: if arg.text.contains(mark) { arg.taint.and(with.taint) } else { arg.taint },
        ..arg.clone()
    };
    command.iter().map(place).collect()
}

/// Returns the words of `bwrap` after its options, some of which take two values: `--bind A B`.
fn after_pairs<'a>(words: &'a [Arg], values: &[&str]) -> &'a [Arg] {
    const PAIRS: &[&str] = &[
        "--bind",
        "--bind-try",
        "--bind-fd",
        "--bind-data",
        "--chmod",
        "--dev-bind",
        "--dev-bind-try",
        "--file",
        "--overlay",
        "--ro-bind",
        "--ro-bind-data",
        "--ro-bind-fd",
        "--ro-bind-try",
        "--setenv",
        "--symlink",
    ];
    let mut rest = words;
    while let Some(word) = rest.first().filter(|word| word.text.starts_with("--")) {
        let option = word.text.as_str();
        let taken = match option {
            "--" => return rest.get(1..).unwrap_or_default(),
            _ if PAIRS.contains(&option) => 3,
            _ if values.contains(&option) => 2,
            _ => 1,
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    rest
}
/// Takes the words after `:::` away from a command: what it is given instead of its input. After
/// `::::` they are files, whose lines are not known.
fn words_after_mark(command: &mut Vec<Arg>) -> Option<Vec<Arg>> {
    let at = command.iter().position(|arg| arg.text == ":::" || arg.text == "::::")?;
    let mut after = command.split_off(at).into_iter();
    let mark = after.next()?;
    Some(if mark.text == ":::" { after.collect() } else { vec![Arg::unknown(Tags::NONE)] })
}
/// Returns the character by which `xargs -d '\n'` is told to split its input.
fn delimiter(options: &[Arg]) -> Option<char> {
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let value = match text {
            "-d" | "--delimiter" => words.next().map(|next| next.text.as_str()),
            _ => text.strip_prefix("--delimiter=").or_else(|| text.strip_prefix("-d")),
        };
        match value {
            Some("\\n") => return Some('\n'),
            Some("\\0") => return Some('\0'),
            Some("\\t") => return Some('\t'),
            Some(value) => return value.chars().next(),
            None => {}
        }
    }
    None
}
