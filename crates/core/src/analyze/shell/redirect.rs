//! Redirections: what is written where, and what a command reads.

use shuck_ast::{Heredoc, HeredocBodyPart, Redirect, RedirectKind, RedirectTarget};

use super::Walker;
use super::value::{Arg, Stream};
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
        let mut stdin = stdin;
        let mut targets = Vec::new();
        for redirect in redirects {
            match &redirect.target {
                RedirectTarget::Heredoc(heredoc) => {
                    let text = self.heredoc(src, heredoc);
                    self.reads(redirect, text, &mut stdin);
                }
                RedirectTarget::Word(word) => {
                    let arg = self.one(src, word);
                    if let Some(read) = self.redirect(redirect, arg, &stdin, &mut targets) {
                        self.reads(redirect, read, &mut stdin);
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
        let holds_work = path.glob
            || (crate::place::is_work(name)
                && tags.any(Tags::of(&[Tag::Workspace, Tag::Home]))
                && !tags.any(Tags::of(&[Tag::BuildOutput, Tag::Temp])));
        let is_empty = out.text.as_deref() == Some("") && kind == FactKind::Write;
        if is_empty && holds_work && !name.starts_with('.') && !self.made_here(text) {
            let shown = crate::place::shown(text);
            self.note(Fact::new(FactKind::Empty, shown).tagged(tags).at(path.span));
        }
    }

    /// Lets a descriptor be read from a stream: standard input, unless it has another number.
    fn reads(&mut self, redirect: &Redirect, from: Stream, stdin: &mut Stream) {
        match redirect.fd {
            None | Some(0) => *stdin = from,
            Some(number) => {
                self.state.descriptors.insert(number, from);
            }
        }
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
        redirect: &Redirect,
        arg: Arg,
        stdin: &Stream,
        targets: &mut Vec<Target>,
    ) -> Option<Stream> {
        if let Some(address) =
            arg.text.strip_prefix("/dev/tcp/").or(arg.text.strip_prefix("/dev/udp/"))
        {
            let kind = if redirect.kind == RedirectKind::Output && redirect.fd.is_none() {
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
        let takes_output = redirect.fd.is_none_or(|fd| fd == 1);
        match redirect.kind {
            RedirectKind::Output | RedirectKind::Clobber | RedirectKind::OutputBoth => {
                targets.push(Target { path: arg, kind: FactKind::Write, takes_output });
                None
            }
            RedirectKind::Append => {
                targets.push(Target { path: arg, kind: FactKind::Append, takes_output });
                None
            }
            RedirectKind::DupOutput | RedirectKind::DupInput => {
                if redirect.kind == RedirectKind::DupInput {
                    let name = format!("/dev/fd/{}", arg.text.trim_end_matches('-'));
                    return self.descriptor(&name, stdin);
                }
                if !is_descriptor(&arg.text) && redirect.kind == RedirectKind::DupOutput {
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
                HeredocBodyPart::ArithmeticExpansion { .. } => vec![Arg::unknown(Tags::NONE)],
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

/// `2`, `-`, `1-`: another stream, not a file.
fn is_descriptor(text: &str) -> bool {
    text == "-"
        || text.trim_end_matches('-').chars().all(|char| char.is_ascii_digit() || char == UNKNOWN)
}
