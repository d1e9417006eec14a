//! sed: its script is parsed, and the commands in it are followed like those of `sh -c`.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tags};
use crate::location;
use crate::verdict::Span;

mod read;

use self::read::Event;

/// The length past which a script is not followed.
const MOST_SCRIPT: usize = 64 * 1024;
/// The number of events of one script that are followed.
const MOST_EVENTS: usize = 64;

/// The classified words of a call of sed.
#[derive(Default)]
struct Call<'a> {
    scripts: Vec<Arg>,
    /// Files that contain scripts.
    files: Vec<Arg>,
    in_place: bool,
    rest: Vec<&'a Arg>,
}

impl Walker<'_> {
    /// Follows a call of sed.
    pub(super) fn sed(&mut self, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        let mut call = call(args.words());
        let mut operands = std::mem::take(&mut call.rest).into_iter();
        if call.scripts.is_empty() && call.files.is_empty() {
            call.scripts.extend(operands.next().cloned());
        }
        for file in &call.files {
            let content = self.sed_file(file, stdin);
            call.scripts.extend(content);
        }
        let mut empties = false;
        let script = match call.scripts.as_slice() {
            [only] => Some(only.text.clone()),
            _ => None,
        };
        let from_nothing = args.operands().iter().any(|file| file.text == "/dev/null");
        // Each `-e` is a line of one script.
        if let Some(script) =
            super::interpreter::joined_lines(std::mem::take(&mut call.scripts)).first()
        {
            let before = self.analysis.facts.len();
            empties = self.sed_script(script, span);
            self.sed_results(before, from_nothing, span);
        }
        let kind = match (call.in_place, empties) {
            (true, true) => FactKind::Delete,
            (true, false) => FactKind::Append,
            (false, _) => FactKind::Read,
        };
        for file in operands.filter(|file| !file.text.is_empty() && file.text != "-") {
            self.note_path(kind, file, Tags::NONE);
            if call.in_place
                && let Some(replaces) = script.as_deref().and_then(plain_substitution)
            {
                self.substitute(file, replaces);
            }
        }
    }

    /// Follows `s/a/b/` on a file that this script has written.
    fn substitute(&mut self, file: &Arg, (from, to, all): (&str, &str, bool)) {
        let Some(text) = self.content_of(file).text else { return };
        let lines = text.lines().map(|line| {
            let line = if all { line.replace(from, to) } else { line.replacen(from, to, 1) };
            line + "\n"
        });
        let content = Stream::known(lines.collect(), Tags::NONE);
        self.wrote(file, content, FactKind::Write);
    }

    /// Files that `w` leaves with nothing, or with a part of something else, where source was.
    fn sed_results(&mut self, before: usize, from_nothing: bool, span: Option<Span>) {
        let facts = self.analysis.facts.get(before..).unwrap_or_default();
        let written: Vec<_> = facts
            .iter()
            .filter(|fact| fact.kind == FactKind::Write)
            .map(|fact| fact.subject.clone())
            .collect();
        for file in written {
            if from_nothing || location::is_source(location::base_name(&file)) {
                self.lost(&Arg { span, ..Arg::literal(file) }, span);
            }
        }
    }

    /// Returns the script in a file, when it is known.
    fn sed_file(&mut self, file: &Arg, stdin: &Stream) -> Option<Arg> {
        let content = match &file.stream {
            Some(stream) => (**stream).clone(),
            None if matches!(file.text.as_str(), "-" | "/dev/stdin") => stdin.clone(),
            None => {
                self.note_path(FactKind::Read, file, Tags::NONE);
                self.content_of(file)
            }
        };
        self.file_of_code("sed", file, content)
    }

    /// Follows a script; returns whether it leaves nothing of its input.
    fn sed_script(&mut self, script: &Arg, span: Option<Span>) -> bool {
        let at = script.span.or(span);
        let content = Stream::known(script.text.clone(), script.taint);
        if let Some(kind) = super::interpreter::unseen(&content) {
            self.note(Fact::new(kind, "sed").tagged(script.taint).at(at));
            return false;
        }
        if script.text.len() > MOST_SCRIPT {
            self.note(Fact::new(FactKind::Bound, "too long a sed script").at(at));
            return false;
        }
        let found = read::read(&script.text);
        if found.broken {
            self.note(Fact::new(FactKind::Unparsed, "not a script of sed").at(at));
        }
        let mut empties = false;
        if found.events.len() > MOST_EVENTS {
            self.note(Fact::new(FactKind::Bound, "too much in one sed script").at(at));
        }
        for event in found.events.into_iter().take(MOST_EVENTS) {
            empties |= event == Event::Empties;
            self.sed_event(event, at);
        }
        empties
    }

    fn sed_event(&mut self, event: Event, span: Option<Span>) {
        let path = |text: String| Arg { span, ..Arg::literal(text) };
        match event {
            Event::Runs(line) => {
                self.note(Fact::new(FactKind::ShellEscape, "sed e").at(span));
                self.follow_text(
                    Code::Shell,
                    &Stream::known(line, Tags::NONE),
                    span,
                    &Stream::caller(),
                );
            }
            Event::RunsInput(line) => {
                self.note(Fact::new(FactKind::ShellEscape, "sed s///e").at(span));
                if let Some(line) = line {
                    self.follow_text(
                        Code::Shell,
                        &Stream::known(line, Tags::NONE),
                        span,
                        &Stream::caller(),
                    );
                }
            }
            Event::Reads(file) => self.note_path(FactKind::Read, &path(file), Tags::NONE),
            Event::Writes(file) => self.note_path(FactKind::Write, &path(file), Tags::NONE),
            Event::Empties => {}
        }
    }
}

/// Classifies the words of a call.
fn call(words: &[Arg]) -> Call<'_> {
    let mut call = Call::default();
    let mut rest = words.iter();
    let mut options_end = false;
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if options_end || text == "-" || !text.starts_with('-') {
            call.rest.push(word);
        } else if text == "--" {
            options_end = true;
        } else if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(word.saying(value))),
                None => (long, None),
            };
            let value =
                |rest: &mut std::slice::Iter<'_, Arg>| value.or_else(|| rest.next().cloned());
            match name {
                "expression" | "express" | "expr" => call.scripts.extend(value(&mut rest)),
                "file" => call.files.extend(value(&mut rest)),
                "line-length" => {
                    value(&mut rest);
                }
                _ => call.in_place |= name.starts_with("in-p"),
            }
        } else {
            letters(&mut call, word, &mut rest);
        }
    }
    call
}

/// Parses clustered options: `-ne script`, `-i.bak`, `-Ei`.
fn letters<'a>(call: &mut Call<'a>, word: &'a Arg, rest: &mut std::slice::Iter<'a, Arg>) {
    let mut left = word.text.strip_prefix('-').unwrap_or_default();
    while let Some(letter) = left.chars().next() {
        left = left.get(letter.len_utf8()..).unwrap_or_default();
        match letter {
            'e' | 'f' | 'l' => {
                let value =
                    if left.is_empty() { rest.next().cloned() } else { Some(word.saying(left)) };
                match letter {
                    'e' => call.scripts.extend(value),
                    'f' => call.files.extend(value),
                    _ => {}
                }
                return;
            }
            // The rest of the word is the suffix of the backup; BSD takes the next word for it.
            'i' | 'I' => {
                call.in_place = true;
                return empty_ending(left, rest);
            }
            _ => {}
        }
    }
}

/// Skips the suffix in `sed -i '' script` and `sed -i .bak script`.
fn empty_ending(attached: &str, rest: &mut std::slice::Iter<'_, Arg>) {
    let next = rest.as_slice().first();
    let is_ending = |text: &str| {
        text.is_empty()
            || text.strip_prefix('.').is_some_and(|name| name.chars().all(char::is_alphanumeric))
    };
    if attached.is_empty() && next.is_some_and(|word| is_ending(&word.text)) {
        rest.next();
    }
}

/// The two texts of a substitution without special characters, and whether it is for every match.
fn plain_substitution(script: &str) -> Option<(&str, &str, bool)> {
    let rest = script.trim().strip_prefix('s')?;
    let mark = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let mut parts = rest.split(mark).skip(1);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let is_plain = |text: &str| !text.contains(['\\', '*', '[', ']', '^', '$', '.', '&']);
    let ends = parts.next().is_none() && matches!(flags, "" | "g");
    (ends && !from.is_empty() && is_plain(from) && is_plain(to)).then_some((from, to, flags == "g"))
}
