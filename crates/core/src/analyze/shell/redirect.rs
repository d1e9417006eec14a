//! Redirections: what is written where, and what a command reads.

use shuck_ast::{Heredoc, HeredocBodyPart, Redirect, RedirectKind, RedirectTarget};

use super::Walker;
use super::value::{Arg, Stream};
use super::visit::{Node, script_in_brackets};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};

/// A file a command's output goes to.
struct Target {
    path: Arg,
    kind: FactKind,
    /// Standard output, as opposed to errors only.
    takes_output: bool,
}

impl Walker<'_> {
    /// Runs something with its redirections in place.
    pub(super) fn with_redirects(
        &mut self,
        src: &str,
        redirects: &[Redirect],
        stdin: Stream,
        run: impl FnOnce(&mut Self, Stream) -> Stream,
    ) -> Stream {
        if redirects.is_empty() {
            return run(self, stdin);
        }
        let before = self.analysis.facts.len();
        let mut stdin = stdin;
        let mut targets = Vec::new();
        for redirect in redirects {
            match &redirect.target {
                RedirectTarget::Heredoc(heredoc) => {
                    let text = self.heredoc(src, heredoc);
                    let number = self.number(src, redirect);
                    self.reads(number, text, &mut stdin);
                }
                RedirectTarget::Word(word) => {
                    let arg = self.one(src, word);
                    let number = self.number(src, redirect);
                    let kind = redirect.kind;
                    if let Some(read) = self.redirect(kind, number, arg, &stdin, &mut targets) {
                        self.reads(number, read, &mut stdin);
                    }
                }
            }
        }
        for target in targets.iter().filter(|target| target.kind != FactKind::Fetch) {
            self.note_path(target.kind, &target.path, Tags::NONE);
        }
        let out = run(self, stdin);
        let mut left = Some(out);
        for target in targets {
            if target.takes_output
                && let Some(out) = left.take()
            {
                if target.kind == FactKind::Fetch {
                    self.sends_stream(&out, target.path.span);
                    continue;
                }
                self.empties(&target.path, target.kind, &out);
                self.grows_without_end(&target.path, &out);
                if target.kind == FactKind::Write && self.was_read(&target.path, before) {
                    self.lost(&target.path, None);
                }
                self.wrote(&target.path, out, target.kind);
            }
        }
        left.unwrap_or_else(Stream::empty)
    }

    /// Notes a file that is overwritten with nothing, if it is of a kind that people work on and the
    /// script has not made it.
    pub(super) fn empties(&mut self, path: &Arg, kind: FactKind, out: &Stream) {
        let text = &path.text;
        let name = crate::place::base_name(text);
        let tags = crate::place::locate(text, &self.scene_now());
        // `for f in $(git ls-files)`, `find -exec sh -c '… "$1"'`: every file that is found.
        let unknown = !text.is_empty() && text.chars().all(|char| char == UNKNOWN);
        let found = (unknown && self.loops > 0 && !path.taint.has(Tag::Created))
            || path.taint.has(Tag::Many)
            || (text.contains('*') && self.loops > 0);
        // Outside of the workspace nothing is made by the project: every document counts.
        let personal = tags.has(Tag::Home)
            && !tags.any(Tags::of(&[Tag::Workspace, Tag::Temp, Tag::Log, Tag::BuildOutput]))
            && is_document(name);
        let holds_work = path.glob
            || found
            || personal
            || ((crate::place::is_work(name) || crate::place::is_source(name))
                && tags.any(Tags::of(&[Tag::Workspace, Tag::Home]))
                && !tags.any(Tags::of(&[Tag::BuildOutput, Tag::Temp])));
        let is_empty = kind == FactKind::Write
            && out.text.as_deref().is_some_and(|text| text.trim().is_empty());
        let is_hidden = name.starts_with('.') && !found;
        if is_empty && holds_work && !is_hidden && !self.made_here(text) {
            let shown = crate::place::shown(text);
            self.note(Fact::new(FactKind::Empty, shown).tagged(tags).at(path.span));
        }
    }

    /// Whether a command reads this file as well: `sort FILE > FILE` finds it empty.
    fn was_read(&self, path: &Arg, before: usize) -> bool {
        let shown = crate::place::shown(&path.text);
        let before = self.pipe_start.map_or(before, |start| start.min(before));
        let facts = self.analysis.facts.get(before..).unwrap_or_default();
        path.is_known()
            && !path.glob
            && facts.iter().any(|fact| fact.kind == FactKind::Read && fact.subject == shown)
    }

    /// Lets a descriptor be read from a stream: standard input, unless it has another number.
    fn reads(&mut self, number: Option<i32>, from: Stream, stdin: &mut Stream) {
        match number {
            None | Some(0) => *stdin = from,
            Some(number) => {
                self.state.descriptors.insert(number, from);
            }
        }
    }

    /// The number of the descriptor: as the grammar says, before a here-string as the text says, or one
    /// that a variable is given.
    fn number(&mut self, src: &str, redirect: &Redirect) -> Option<i32> {
        const FIRST_FREE: i32 = 10;
        if let Some(name) = &redirect.fd_var {
            let opened = self.state.descriptors.len() + self.state.outputs.len();
            let number = FIRST_FREE.saturating_add(i32::try_from(opened).unwrap_or_default());
            self.state.set(name.as_str(), vec![Arg::literal(number.to_string())]);
            return Some(number);
        }
        let before = src.get(..redirect.span.start.offset())?;
        let digits = before.trim_end_matches(|char: char| char.is_ascii_digit());
        let stands_alone = digits.ends_with(char::is_whitespace);
        let is_here = matches!(
            redirect.kind,
            RedirectKind::HereString | RedirectKind::HereDoc | RedirectKind::HereDocStrip
        );
        let said = before.get(digits.len()..).filter(|_| is_here && stands_alone);
        redirect.fd.or_else(|| said?.parse().ok())
    }

    /// Remembers a descriptor that writes to a file.
    fn opens(&mut self, number: Option<i32>, path: &Arg, kind: FactKind) {
        const FIRST_OWN: i32 = 3;
        if let Some(number) = number.filter(|number| *number >= FIRST_OWN) {
            if kind == FactKind::Write {
                self.wrote(path, Stream::empty(), kind);
            }
            self.state.outputs.insert(number, path.clone());
        }
    }

    /// The file that `>&5` or `> /dev/fd/5` writes to.
    fn opened(&self, name: &str) -> Option<Arg> {
        let number = name.strip_prefix("/dev/fd/").or_else(|| name.strip_prefix("/proc/self/fd/"));
        let number = number.unwrap_or(name).trim_end_matches('-').parse().ok()?;
        self.state.outputs.get(&number).cloned()
    }

    /// What is read from `/dev/stdin`, `/dev/fd/3` or `&3`.
    pub(super) fn descriptor(&self, name: &str, stdin: &Stream) -> Option<Stream> {
        let number = match name {
            "/dev/stdin" => "0",
            _ => name.strip_prefix("/dev/fd/").or_else(|| name.strip_prefix("/proc/self/fd/"))?,
        };
        match number.parse() {
            Ok(0) => Some(stdin.clone()),
            Ok(number) => self.state.descriptors.get(&number).cloned(),
            Err(_) => None,
        }
    }

    /// Notes one redirection; returns what it makes the command read, if it does.
    fn redirect(
        &mut self,
        kind: RedirectKind,
        number: Option<i32>,
        arg: Arg,
        stdin: &Stream,
        targets: &mut Vec<Target>,
    ) -> Option<Stream> {
        if let Some(address) =
            arg.text.strip_prefix("/dev/tcp/").or(arg.text.strip_prefix("/dev/udp/"))
        {
            let kind = if kind == RedirectKind::Output && number.is_none() {
                FactKind::Fetch
            } else {
                FactKind::ReverseShell
            };
            self.note(Fact::new(kind, address).at(arg.span));
            if kind == FactKind::Fetch {
                targets.push(Target { path: arg, kind, takes_output: true });
            }
            return None;
        }
        let takes_output = number.is_none_or(|fd| fd == 1);
        let writes = matches!(
            kind,
            RedirectKind::Output
                | RedirectKind::Clobber
                | RedirectKind::OutputBoth
                | RedirectKind::Append
                | RedirectKind::DupOutput
        );
        if let Some(path) = self.opened(&arg.text).filter(|_| writes) {
            targets.push(Target { path, kind: FactKind::Append, takes_output });
            return None;
        }
        match kind {
            RedirectKind::Output | RedirectKind::Clobber | RedirectKind::OutputBoth => {
                self.opens(number, &arg, FactKind::Write);
                targets.push(Target { path: arg, kind: FactKind::Write, takes_output });
                None
            }
            RedirectKind::Append => {
                self.opens(number, &arg, FactKind::Append);
                targets.push(Target { path: arg, kind: FactKind::Append, takes_output });
                None
            }
            RedirectKind::DupOutput | RedirectKind::DupInput => {
                if kind == RedirectKind::DupInput {
                    let name = format!("/dev/fd/{}", arg.text.trim_end_matches('-'));
                    return self.descriptor(&name, stdin);
                }
                if !is_descriptor(&arg.text) && kind == RedirectKind::DupOutput {
                    targets.push(Target { path: arg, kind: FactKind::Write, takes_output });
                }
                None
            }
            RedirectKind::ReadWrite => {
                targets.push(Target { path: arg, kind: FactKind::Append, takes_output: false });
                None
            }
            RedirectKind::Input => {
                Some(self.descriptor(&arg.text, stdin).unwrap_or_else(|| self.read_file(&arg)))
            }
            RedirectKind::HereString => Some(Stream::known(format!("{}\n", arg.text), arg.taint)),
            RedirectKind::HereDoc | RedirectKind::HereDocStrip => None,
        }
    }

    fn heredoc(&mut self, src: &str, heredoc: &Heredoc) -> Stream {
        let mut text = String::new();
        let mut taint = Tags::NONE;
        for (part, span) in heredoc.body.parts_with_spans() {
            let values = match part {
                HeredocBodyPart::Literal(literal) => {
                    text.push_str(literal.as_str(src, span));
                    continue;
                }
                HeredocBodyPart::Variable(name) => self.variable(name.as_str()),
                HeredocBodyPart::Parameter(parameter) => self.parameter(src, parameter),
                HeredocBodyPart::CommandSubstitution { body, syntax } => {
                    vec![self.substitution(src, body, *syntax, span)]
                }
                HeredocBodyPart::ArithmeticExpansion {
                    expression, expression_word_ast, ..
                } => {
                    if let Some(script) = script_in_brackets(span.slice(src)) {
                        vec![self.subshell_of(script, span)]
                    } else {
                        let text = expression.slice(src);
                        self.calculate(src, Node::Word(expression_word_ast), text);
                        vec![Arg::unknown(Tags::NONE)]
                    }
                }
            };
            for value in values {
                text.push_str(&value.text);
                taint = taint.and(value.taint);
            }
        }
        if text.contains(UNKNOWN) {
            taint = taint.with(Tag::Unknown);
        }
        // Kept even with unknown parts: what is known of a script is still worth reading.
        Stream::known(text, taint)
    }
}

/// Whether a file's name says that somebody keeps it.
fn is_document(name: &str) -> bool {
    const PASSING: &[&str] = &["log", "tmp", "out", "pid", "lock", "err", "cache", "bak", "swp"];
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && !PASSING.contains(&ending) && ending.chars().all(char::is_alphanumeric)
    })
}

/// `2`, `-`, `1-`: another stream, not a file.
fn is_descriptor(text: &str) -> bool {
    text == "-"
        || text.trim_end_matches('-').chars().all(|char| char.is_ascii_digit() || char == UNKNOWN)
}
