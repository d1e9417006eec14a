//! awk: its program is parsed, and the commands in it are followed like those of `sh -c`.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tags};
use crate::location;
use crate::verdict::Span;

mod expression;
mod function;
mod lex;
mod print;
mod read;
mod text;

use self::read::{Event, Given};
use self::text::Text;

/// The classified words of a call of awk.
#[derive(Default)]
struct Call<'a> {
    /// Program texts given by options.
    sources: Vec<Arg>,
    /// Files that contain program text.
    programs: Vec<Arg>,
    loads: Vec<String>,
    variables: Vec<(String, Text)>,
    /// True with `-i inplace`.
    in_place: bool,
    /// All other words.
    rest: Vec<&'a Arg>,
}

impl Walker<'_> {
    /// Follows a call of awk; returns its output, when that is known.
    pub(super) fn awk(
        &mut self,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        let mut call = call(args.words());
        let mut files = std::mem::take(&mut call.rest).into_iter();
        if call.sources.is_empty() && call.programs.is_empty() {
            call.sources.extend(files.next().cloned());
        }
        let mut inputs: Vec<Arg> = Vec::new();
        for file in files {
            if let Some((name, value)) = assignment(&file.text) {
                let value = Text { text: lex::unescaped(value), taint: file.taint };
                call.variables.push((name.to_owned(), value));
            } else {
                self.awk_input(file, call.in_place);
                inputs.push(file.clone());
            }
        }
        if let Some(first) = inputs.first() {
            let name = Text { text: first.text.clone(), taint: first.taint };
            call.variables.push(("FILENAME".to_owned(), name));
        }
        let before = self.analysis.facts.len();
        for name in &call.loads {
            self.note(Fact::new(FactKind::UnknownCode, format!("awk library {name}")).at(span));
        }
        for file in &call.programs {
            let content = self.awk_file(file, stdin);
            call.sources.extend(content);
        }
        let mut printed = Some(Stream::empty());
        for source in &call.sources {
            let out = self.awk_program(source, &call.variables, span);
            printed = match (printed, out) {
                (Some(before), Some(out)) => Some(super::output::concat(before, out)),
                _ => None,
            };
        }
        self.awk_written_inputs(&inputs, before, span);
        printed.filter(|_| !call.sources.is_empty())
    }

    /// Records files that a program overwrites while it reads them, which loses most of their
    /// content.
    fn awk_written_inputs(&mut self, inputs: &[Arg], before: usize, span: Option<Span>) {
        let written: Vec<_> = inputs
            .iter()
            .filter(|file| {
                let shown = location::shown(&file.text);
                let facts = self.analysis.facts.get(before..).unwrap_or_default();
                facts.iter().any(|fact| fact.kind == FactKind::Write && fact.subject == shown)
            })
            .cloned()
            .collect();
        for file in written {
            let shown = location::shown(&file.text).into_owned();
            self.note(Fact::new(FactKind::Empty, shown).at(file.span.or(span)));
        }
    }

    fn awk_input(&mut self, file: &Arg, in_place: bool) {
        if file.text != "-" && !file.text.is_empty() {
            let kind = if in_place { FactKind::Append } else { FactKind::Read };
            self.note_path(kind, file, Tags::NONE);
        }
    }

    /// Returns the program in a file, when it is known.
    fn awk_file(&mut self, file: &Arg, stdin: &Stream) -> Option<Arg> {
        let content = match &file.stream {
            Some(stream) => (**stream).clone(),
            None if matches!(file.text.as_str(), "-" | "/dev/stdin") => stdin.clone(),
            None => {
                self.note_path(FactKind::Read, file, Tags::NONE);
                self.content_of(file)
            }
        };
        self.file_of_code("awk", file, content)
    }

    fn awk_program(
        &mut self,
        source: &Arg,
        variables: &[(String, Text)],
        span: Option<Span>,
    ) -> Option<Stream> {
        let at = source.span.or(span);
        let content = Stream::known(source.text.clone(), source.taint);
        if let Some(kind) = super::interpreter::unseen(&content) {
            self.note(Fact::new(kind, "awk").tagged(source.taint).at(at));
            return None;
        }
        let found = {
            let environment = |name: &str| self.awk_environment(name);
            read::read(&source.text, &Given { variables, environment: &environment })
        };
        if found.broken {
            self.note(
                Fact::new(FactKind::Unparsed, "a string or pattern that does not end").at(at),
            );
        }
        if found.bounded {
            self.note(Fact::new(FactKind::Bound, "too much in one awk program").at(at));
        }
        for event in found.events {
            self.awk_event(event, at);
        }
        found.printed.map(|text| Stream::known(text, source.taint))
    }

    /// Returns the value that a program would find in `ENVIRON`.
    fn awk_environment(&self, name: &str) -> Text {
        let given = self.environment.iter().rev().find(|(known, _)| known == name);
        let value = match given {
            Some((_, value)) => value.clone(),
            None => self.state.values(name).and_then(|values| match values {
                [words] => words.first().cloned(),
                _ => None,
            }),
        };
        match (value, name) {
            (Some(value), _) => Text { text: value.text, taint: value.taint },
            (None, "HOME") => Text::known(self.scene.home()),
            (None, "SHELL") => Text::known("sh"),
            (None, _) => Text::unknown(),
        }
    }

    fn awk_event(&mut self, event: Event, span: Option<Span>) {
        match event {
            Event::Command { line, input } => {
                let input = input.map_or_else(Stream::caller, |text| stream(&text));
                self.awk_command(&line, &input, span);
            }
            Event::Write { path, content } => {
                self.awk_write(FactKind::Write, &path, &content, span);
            }
            Event::Append { path, content } => {
                self.awk_write(FactKind::Append, &path, &content, span);
            }
            Event::Read { path } => {
                if let Some(path) = awk_path(&path, span) {
                    self.note_path(FactKind::Read, &path, Tags::NONE);
                }
            }
            Event::Loads { name } | Event::Computed { name } => {
                self.note(Fact::new(FactKind::UnknownCode, format!("awk @{name}")).at(span));
            }
        }
    }

    fn awk_command(&mut self, line: &Text, input: &Stream, span: Option<Span>) {
        if line.text.starts_with("/inet") {
            self.note(Fact::new(FactKind::ReverseShell, location::shown(&line.text)).at(span));
            return;
        }
        if !line.is_known() {
            // The unknown part may be a command of its own.
            self.note(Fact::new(FactKind::UnknownCode, "awk").tagged(line.taint).at(span));
        }
        self.follow_text(Code::Shell, &stream(line), span, input);
    }

    fn awk_write(&mut self, kind: FactKind, path: &Text, content: &Text, span: Option<Span>) {
        if let Some(path) = awk_path(path, span) {
            self.note_path(kind, &path, Tags::NONE);
            if content.is_known() && content.text.trim().is_empty() {
                self.empties(&path, kind, &Stream::empty());
            }
            let content =
                if content.is_known() { stream(content) } else { Stream::unknown(content.taint) };
            self.wrote(&path, content, kind);
        }
    }
}

fn stream(text: &Text) -> Stream {
    Stream::known(text.text.clone(), text.taint)
}

/// Returns a file name as awk writes it; `None` for streams and wholly unknown names.
fn awk_path(path: &Text, span: Option<Span>) -> Option<Arg> {
    let special = path.text.starts_with("/dev/std") || path.text.starts_with("/dev/fd/");
    if special || path.text.is_empty() || path.text == "-" || path.text.starts_with(UNKNOWN) {
        return None;
    }
    Some(Arg { text: path.text.clone(), taint: path.taint, span, ..Arg::default() })
}

/// Splits a `name=value` among the files.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_');
    (first && chars.all(|char| char.is_ascii_alphanumeric() || char == '_'))
        .then_some((name, value))
}

/// Classifies the words of a call.
fn call(words: &[Arg]) -> Call<'_> {
    let mut call = Call::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if text == "--" || text == "-" || !text.starts_with('-') {
            call.rest.extend((text != "--").then_some(word));
            call.rest.extend(rest);
            return call;
        }
        let (option, attached) = split_option(text);
        let takes_value = matches!(
            option,
            "-v" | "-f"
                | "-e"
                | "-i"
                | "-l"
                | "-E"
                | "-F"
                | "-W"
                | "--assign"
                | "--file"
                | "--source"
                | "--include"
                | "--load"
                | "--exec"
                | "--field-separator"
        );
        if !takes_value {
            continue;
        }
        let value = match attached {
            Some(attached) => Some(word.saying(attached)),
            None => rest.next().cloned(),
        };
        if let Some(value) = value {
            option_value(&mut call, option, value);
        }
        if matches!(option, "-E" | "--exec") {
            call.rest.extend(rest);
            return call;
        }
    }
    call
}

/// Splits `--source=x` and `-vx=1` into option and value.
fn split_option(text: &str) -> (&str, Option<&str>) {
    if text.starts_with("--") {
        return match text.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (text, None),
        };
    }
    match text.split_at_checked(2) {
        Some((option, "")) => (option, None),
        Some((option, value)) => (option, Some(value)),
        None => (text, None),
    }
}

fn option_value(call: &mut Call<'_>, option: &str, value: Arg) {
    match option {
        "-v" | "--assign" => {
            if let Some((name, text)) = value.text.split_once('=') {
                let text = Text { text: lex::unescaped(text), taint: value.taint };
                call.variables.push((name.to_owned(), text));
            }
        }
        "-e" | "--source" => call.sources.push(value),
        "-i" | "--include" if value.text == "inplace" => call.in_place = true,
        "-f" | "--file" | "-E" | "--exec" | "-i" | "--include" => call.programs.push(value),
        "-l" | "--load" => call.loads.push(value.text),
        _ => {}
    }
}
