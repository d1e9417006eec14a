//! Source text on the command line of programs that are not primarily interpreters, and of programs
//! whose language lacks a reader here.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tags};
use crate::verdict::Span;

/// Programs that take source text after one of their verbs.
const VERBS: &[(&str, &str, Code)] = &[
    ("deno", "eval", Code::Javascript),
    ("bun", "eval", Code::Javascript),
    ("bun", "exec", Code::Shell),
    ("crystal", "eval", Code::Other),
    ("nim", "eval", Code::Other),
    ("zig", "eval", Code::Other),
    ("rails", "runner", Code::Ruby),
    ("rails", "r", Code::Ruby),
    ("mix", "eval", Code::Other),
    ("artisan", "tinker", Code::Other),
    ("wp", "eval", Code::Other),
    ("drush", "php:eval", Code::Other),
    ("drush", "ev", Code::Other),
    ("drush", "eval", Code::Other),
    ("drush", "php-eval", Code::Other),
];

/// Programs that take their own commands in words that start with a plus.
const PLUS: &[&str] =
    &["vim", "vi", "nvim", "ex", "view", "gvim", "vimdiff", "less", "more", "most", "emacs", "ed"];

/// Options that name a file whose commands are run.
const LOADS: &[(&str, &[&str])] = &[
    ("vim", &["-S", "-s", "-u"]),
    ("vi", &["-S", "-s", "-u"]),
    ("nvim", &["-S", "-s", "-u", "-l"]),
    ("ex", &["-S", "-u"]),
    ("emacs", &["-l", "--load", "--script", "-x"]),
    ("gdb", &["-x", "-ix", "--command"]),
    ("lldb", &["-s", "--source", "-S"]),
    ("lua", &["-l"]),
    ("php", &["-c"]),
];

impl Walker<'_> {
    /// Follows source text in the words of a program; `None` when there is none.
    pub(super) fn inline(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        if let Some(out) = self.windows(name, args, stdin, span) {
            return Some(out);
        }
        if PLUS.contains(&name) {
            self.plus_words(args, span);
        }
        self.loads(name, args, stdin, span);
        self.loaded_files(name, args, stdin);
        for word in args.words() {
            if let Some(source) = word.text.strip_prefix("--eval:") {
                self.without_reader(source, word.span.or(span));
            }
        }
        if matches!(name, "ed" | "red" | "ex") && !stdin.from_caller && stdin.text.is_some() {
            self.follow_text(Code::Other, stdin, span, &Stream::empty());
            if let Some(file) = args.operands().first() {
                // The input is written to the file.
                self.wrote(file, stdin.clone(), FactKind::Append);
            }
        }
        let verb = args.operand(0)?;
        // `deno run -`: the source comes from standard input.
        let reads_input = args
            .operands()
            .get(1)
            .is_some_and(|file| matches!(file.text.as_str(), "-" | "/dev/stdin"));
        if matches!(name, "deno" | "bun") && verb == "run" && reads_input && !stdin.from_caller {
            return Some(self.follow_text(Code::Javascript, stdin, span, &Stream::empty()));
        }
        if name == "go" && verb == "run" {
            self.follow_files(args);
        }
        let (.., language) =
            VERBS.iter().find(|(program, word, _)| *program == name && *word == verb)?;
        let source = args.operands().get(1)?;
        let content = Stream::known(source.text.clone(), source.taint);
        Some(self.follow_text(*language, &content, source.span.or(span), stdin))
    }

    /// Follows files that an option runs: nobody has seen files outside the workspace.
    fn loaded_files(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream) {
        let Some((_, options)) = LOADS.iter().find(|(program, _)| *program == name) else { return };
        for file in args.values(options) {
            if matches!(file.text.as_str(), "NONE" | "NORC" | "/dev/null" | "") {
                continue;
            }
            let content = match &file.stream {
                Some(stream) => (**stream).clone(),
                None if matches!(file.text.as_str(), "-" | "/dev/stdin") => stdin.clone(),
                None => self.content_of(&file),
            };
            if let Some(source) = self.file_of_code(name, &file, content) {
                let content = Stream::known(source.text, source.taint);
                self.follow_text(Code::Other, &content, file.span, &Stream::caller());
            }
        }
    }

    /// Follows `go run file.go`.
    fn follow_files(&mut self, args: &Arguments<'_>) {
        for file in
            args.operands().iter().skip(1).filter(|file| super::source::ends_in(&file.text, "go"))
        {
            let content = Stream { text: None, ..self.content_of(file) };
            self.file_of_code("go", file, content);
        }
    }

    /// Follows `vim +'!cmd'` and `less +!cmd`.
    fn plus_words(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        for word in args.words() {
            let Some(command) = word.text.strip_prefix('+') else { continue };
            let searches =
                command.starts_with('/') || command.starts_with(|char: char| char.is_ascii_digit());
            if !command.is_empty() && !searches && !matches!(command, "F" | "G" | "g") {
                let content = Stream::known(command.to_owned(), word.taint);
                self.follow_text(Code::Other, &content, word.span.or(span), &Stream::caller());
            }
        }
    }

    /// Records source text in a language without a reader, unless it only reads, computes and
    /// prints.
    pub(super) fn without_reader(&mut self, text: &str, span: Option<Span>) {
        let Some(files) = super::plain::only_reads(text) else {
            return self.note(Fact::new(FactKind::UnknownCode, "code without a reader").at(span));
        };
        for file in files {
            self.note_path(FactKind::Read, &Arg { span, ..Arg::literal(file) }, Tags::NONE);
        }
    }
}
