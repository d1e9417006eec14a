//! Files: paths, and the effects on the files they name.

use std::rc::Rc;

use super::{Args, Runner};
use crate::action::Language;
use crate::analyze::UNKNOWN;
use crate::analyze::code::script::value::{Handle, Origin, Provenance, Shape, Source, Value};
use crate::fact::{FactKind, Tag, Tags};
use crate::location::{self, locate};
use crate::verdict::Span;

impl Runner<'_> {
    /// Returns the location tags of a path of this program.
    pub(super) fn located(&self, path: &str) -> Tags {
        let plain = path.strip_prefix("file://").unwrap_or(path);
        match &self.cwd {
            Some(cwd) if !plain.starts_with(['/', '~']) => {
                locate(&format!("{cwd}/{plain}"), &self.scene)
            }
            _ => locate(plain, &self.scene),
        }
    }

    /// Records an effect on the file or files that a value names.
    pub(super) fn touch(&mut self, kind: FactKind, path: &Value, extra: Tags, span: Option<Span>) {
        if let Shape::List(items) = &path.shape {
            for item in items.iter() {
                self.touch_one(kind, item, extra, span);
            }
            return;
        }
        for choice in path.choices() {
            self.touch_one(kind, choice, extra, span);
        }
    }

    fn touch_one(&mut self, kind: FactKind, path: &Value, extra: Tags, span: Option<Span>) {
        let text = match &path.shape {
            Shape::Text(text) | Shape::Handle(Handle::File(text) | Handle::Tree(text)) => {
                text.to_string()
            }
            _ => {
                if !self.supposed && !path.has(Provenance::CREATED) {
                    let tags = extra.with(Tag::Unknown);
                    self.fact(kind, "…", tags, span);
                }
                return;
            }
        };
        if self.supposed && text.starts_with(UNKNOWN) {
            return;
        }
        self.spend(8 + text.len() as u64 / 16);
        let (text, mut tags) = self.place_of(&text, path);
        if path.has(Provenance::WALKED) {
            tags = tags.with(Tag::Recursive).with(Tag::Many);
        }
        let marks = self.written.get(&text).copied();
        if path.has(Provenance::CREATED) || (kind == FactKind::Delete && marks.is_some()) {
            tags = tags.with(Tag::Created);
        }
        if marks.is_some_and(|marks| marks.has(Provenance::FETCHED)) {
            tags = tags.with(Tag::Fetched);
        }
        self.fact(kind, &location::shown(&text), tags.and(extra).derived(), span);
    }

    /// Returns the path and its location tags; a filtered part of the workspace's root folder does
    /// not count as the root itself.
    fn place_of(&self, text: &str, path: &Value) -> (String, Tags) {
        let tags = self.located(text);
        let all = text == "*" || text.ends_with("/*") || path.has(Provenance::WALKED);
        if all && self.is_picked() && tags.has(Tag::WorkspaceRoot) {
            return (text.to_owned(), tags.without(Tag::WorkspaceRoot).with(Tag::Many));
        }
        (text.to_owned(), tags)
    }

    /// Records that a path is read; returns its content.
    pub(super) fn read(&mut self, path: &Value, span: Option<Span>) -> Value {
        self.touch(FactKind::Read, path, Tags::NONE, span);
        self.content(path)
    }

    /// Returns the content of the files that a value names.
    pub(super) fn content(&self, path: &Value) -> Value {
        self.spend(8 * path.choices().len() as u64 + path.weight());
        let mut content = Value::from(Provenance::FILE);
        for choice in path.choices() {
            if let Shape::Text(text) | Shape::Handle(Handle::File(text)) = &choice.shape {
                let mut marks = Provenance::FILE;
                // Reading back a downloaded file counts as downloading it.
                let written = self.written.get(text.as_str()).copied().unwrap_or_default();
                for mark in [Provenance::FETCHED, Provenance::DECODED] {
                    if written.has(mark) {
                        marks = marks.and(mark);
                    }
                }
                let source = Source {
                    subject: location::shown(text).as_ref().into(),
                    tags: self.located(text),
                };
                content.origin.join(&Origin { marks, source: Some(Rc::new(source)) });
            }
        }
        content
    }

    /// Records a write, and the origin of the content.
    pub(super) fn write(
        &mut self,
        kind: FactKind,
        path: &Value,
        content: &Value,
        span: Option<Span>,
    ) {
        self.touch(kind, path, Tags::NONE, span);
        if kind == FactKind::Write && content.known_text().is_some_and(|text| text.is_empty()) {
            self.emptied(path, span);
        }
        self.remember(path, content);
    }

    pub(super) fn remember(&mut self, path: &Value, content: &Value) {
        const MOST_FILES: usize = 256;
        for choice in path.choices() {
            if let Shape::Text(text) | Shape::Handle(Handle::File(text)) = &choice.shape
                && self.written.len() < MOST_FILES
            {
                let known = self.written.entry(text.to_string()).or_default();
                *known = known.and(content.origin.marks);
            }
        }
    }

    /// Follows `open(path, mode)` in all its spellings; returns the open file.
    pub(super) fn open(&mut self, args: &Args, span: Option<Span>) -> Value {
        let (path, mode) = match self.language {
            Language::Perl => return self.open_perl(args, span),
            Language::Python => {
                (args.get(0, "file"), args.named("flags").unwrap_or_else(|| args.get(1, "mode")))
            }
            _ => (args.at(0), args.at(1)),
        };
        if matches!(path.shape, Shape::Handle(Handle::Socket)) || path.has(Provenance::SOCKET) {
            return path;
        }
        // Ruby: `open("|command")`.
        if self.language == Language::Ruby
            && let Some(text) = path.known_text()
            && let Some(command) = text.strip_prefix('|')
        {
            let process = self.shell(&Value::text(command), span);
            self.call_back(args, &process);
            return process;
        }
        let is_url = path.known_text().is_some_and(|text| text.contains("://"));
        if is_url && !path.known_text().is_some_and(|text| text.starts_with("file:")) {
            self.reaches_metadata(args, span);
            return Value::handle(Handle::Response).marked(Provenance::FETCHED);
        }
        let mode = match &mode.shape {
            Shape::Text(mode) => mode.to_string(),
            // `os.open(path, os.O_WRONLY | os.O_CREAT)`
            Shape::Number(flags) => super::flags::mode(*flags).to_owned(),
            Shape::Unknown if args.count() > 1 => "unknown".to_owned(),
            _ => "r".to_owned(),
        };
        let file = self.opened(&path, &mode, span);
        self.call_back(args, &file);
        file
    }

    pub(super) fn opened(&mut self, path: &Value, mode: &str, span: Option<Span>) -> Value {
        let writes = mode.starts_with(['w', 'x', 'a']) || mode.contains('+');
        if mode.starts_with('a') {
            self.write(FactKind::Append, path, &Value::unknown(), span);
        } else if mode.starts_with(['w', 'x']) || mode.starts_with("r+") || mode.starts_with("rb+")
        {
            let kind = if mode.starts_with('r') { FactKind::Append } else { FactKind::Write };
            self.write(kind, path, &Value::unknown(), span);
        } else if mode == "unknown" {
            // It may be written: what matters is where.
            if path.known_text().is_some() && !self.supposed {
                self.touch(FactKind::Append, path, Tags::NONE, span);
            }
        } else {
            self.touch(FactKind::Read, path, Tags::NONE, span);
        }
        self.handle(path, !writes)
    }

    /// Creates an open file; one opened for reading carries the origin of its content.
    fn handle(&self, path: &Value, reads: bool) -> Value {
        let files: Vec<_> = path
            .choices()
            .iter()
            .map(|choice| {
                let shape = match &choice.shape {
                    Shape::Text(text) | Shape::Handle(Handle::File(text)) => {
                        Shape::Handle(Handle::File(Rc::clone(text)))
                    }
                    _ => Shape::Unknown,
                };
                let file = Value::new(shape);
                if reads { file.with(&self.content(choice).origin) } else { file }
            })
            .collect();
        Value::any(files)
    }

    /// Follows Perl's `open(F, "<path")`, `open(my $f, ">", $path)`, `open(P, "-|", "command")`.
    fn open_perl(&mut self, args: &Args, span: Option<Span>) -> Value {
        let second = args.at(1);
        let Some(mode) = second.known_text().map(|text| text.trim().to_owned()) else {
            return if args.count() > 1 {
                self.opened(&second, "r", span)
            } else {
                Value::unknown()
            };
        };
        if mode.contains('&') {
            return self.duplicate(&args.at(0), &mode, &args.at(2), span);
        }
        if mode == "|-" || mode == "-|" {
            return self.program(&args.skip(2), span);
        }
        let piped = mode.strip_prefix('|').or_else(|| mode.strip_suffix('|'));
        if let Some(command) = piped {
            return self.shell(&Value::text(command.trim()).with(&second.origin), span);
        }
        let end = mode.find(|char: char| !"+<>".contains(char)).unwrap_or(mode.len());
        let (mark, rest) = mode.split_at_checked(end).unwrap_or(("", &mode));
        let rest = rest.trim();
        let path =
            if args.count() > 2 { args.at(2) } else { Value::text(rest).with(&second.origin) };
        let mode = match mark {
            ">" | "+>" => "w",
            ">>" | "+>>" => "a",
            "+<" => "r+",
            _ => "r",
        };
        self.opened(&path, mode, span)
    }

    /// Follows `open(STDIN, "<&SOCKET")`, which redirects the standard streams.
    fn duplicate(&mut self, stream: &Value, mode: &str, from: &Value, span: Option<Span>) -> Value {
        let standard = matches!(&stream.shape, Shape::Api(name)
            if matches!(&**name, "STDIN" | "STDOUT" | "STDERR"))
            || stream.has(Provenance::INPUT);
        let name: Rc<str> = mode.rsplit(['&', '=']).next().unwrap_or_default().trim().into();
        let source = if name.is_empty() { from.clone() } else { self.lookup(&name) };
        let connection = source.has(Provenance::SOCKET) || self.connected.is_some();
        if standard && connection {
            self.redirected = self.redirected.or(span);
        }
        source
    }

    // --- paths

    pub(super) fn join_paths(&mut self, left: &Value, right: &Value) -> Value {
        const MOST: usize = 64;
        let mut results = Vec::new();
        for a in left.choices() {
            for b in right.choices() {
                if results.len() < MOST {
                    let text = joined(&a.as_part(), &b.as_part(), self.language);
                    results.push(self.made(text).with(&a.origin).with(&b.origin));
                }
            }
        }
        Value::any(results)
    }

    /// Follows `os.path.join(a, b, …)`.
    pub(super) fn join_all(&mut self, args: &Args) -> Value {
        let mut parts = args.positional();
        let Some(first) = parts.next() else { return Value::text(".") };
        if args.count() == 1 {
            return match &first.shape {
                Shape::Text(_) | Shape::Any(_) => first.clone(),
                Shape::Handle(Handle::File(path)) => Value::new(Shape::Text(Rc::clone(path))),
                _ => first.derived(),
            };
        }
        let parts: Vec<_> = parts.cloned().collect();
        parts.iter().fold(first.clone(), |path, part| self.join_paths(&path, part))
    }

    /// Returns the folder of a path. For this source's own location it stops at the workspace,
    /// because the source may be anywhere in it.
    pub(super) fn folder_of(&self, path: &Value) -> Value {
        let folders: Vec<_> = path
            .choices()
            .iter()
            .map(|choice| match &choice.shape {
                Shape::Text(text) => {
                    let own = choice.has(Provenance::OWN);
                    let at_top = self.scene.workspace() == Some(text.as_str());
                    if own && at_top {
                        return choice.clone();
                    }
                    Value::text(folder(text)).with(&choice.origin)
                }
                _ => choice.derived(),
            })
            .collect();
        Value::any(folders)
    }

    pub(super) fn expand_home(&self, path: &Value) -> Value {
        let home = self.scene.home();
        let expanded: Vec<_> = path
            .choices()
            .iter()
            .map(|choice| match &choice.shape {
                Shape::Text(text) => {
                    let text = match text.strip_prefix('~') {
                        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                            format!("{home}{rest}")
                        }
                        _ => text.replace("$HOME", home).replace("${HOME}", home),
                    };
                    Value::text(text).with(&choice.origin)
                }
                _ => choice.clone(),
            })
            .collect();
        Value::any(expanded)
    }

    pub(super) fn change_folder(&mut self, path: &Value) {
        match path.known_text() {
            Some(text) => {
                let base = self.cwd.clone().or_else(|| self.scene.cwd.map(str::to_owned));
                let from = base.unwrap_or_else(|| UNKNOWN.to_string());
                let full = if text.starts_with(['/', '~']) {
                    location::absolute(text, &self.scene)
                } else {
                    location::normalize(&format!("{from}/{text}"))
                };
                self.cwd = Some(full);
            }
            None if !path.has(Provenance::OWN.and(Provenance::CREATED)) => {
                self.cwd = Some(UNKNOWN.to_string());
            }
            None => {}
        }
    }

    /// Follows a move of the first argument to the second.
    pub(super) fn move_file(&mut self, args: &Args, span: Option<Span>) {
        let (from, to) = (args.at(0), args.at(1));
        self.touch(FactKind::Move, &from, Tags::NONE, span);
        let content = self.content(&from);
        self.write(FactKind::Write, &to, &content, span);
    }

    /// Records the folder in which an archive is unpacked, and everything below it.
    pub(super) fn unpack(&mut self, archive: &Value, folder: &Value, span: Option<Span>) {
        let content = Value::unknown().with(&archive.origin);
        let below = self.join_paths(folder, &Value::text("*"));
        self.write(FactKind::Write, &below, &content, span);
    }

    /// Follows a copy of the first argument to the second.
    pub(super) fn copy_file(&mut self, args: &Args, span: Option<Span>) {
        let (from, to) = (args.at(0), args.at(1));
        let content = self.read(&from, span);
        self.write(FactKind::Write, &to, &content, span);
    }

    /// Returns the tags for the permissions that a mode gives to others.
    pub(super) fn mode_tags(mode: &Value) -> Tags {
        let number = match &mode.shape {
            Shape::Number(number) => Some(*number),
            Shape::Text(text) => {
                if text.contains("o+w") || text.contains("a+w") || text.contains("+rwx") {
                    return Tags::of(&[Tag::WorldWritable]);
                }
                if text.contains("u+s") || text.contains("+s") {
                    return Tags::of(&[Tag::SetId]);
                }
                i64::from_str_radix(text, 8).ok()
            }
            _ => None,
        };
        let mut tags = Tags::NONE;
        if let Some(number) = number {
            if number & 0o2 != 0 {
                tags = tags.with(Tag::WorldWritable);
            }
            if number & 0o6000 != 0 {
                tags = tags.with(Tag::SetId);
            }
        }
        tags
    }
}

/// Joins two paths.
fn joined(base: &str, part: &str, language: Language) -> String {
    // Python starts over at an absolute path; the other languages do not.
    if part.starts_with('/') && matches!(language, Language::Python) || base.is_empty() {
        return part.to_owned();
    }
    if base.starts_with("file:") && part.starts_with('/') {
        return part.to_owned();
    }
    format!("{}/{}", base.trim_end_matches('/'), part.trim_start_matches('/'))
}

/// Returns the folder of a path.
pub(super) fn folder(path: &str) -> String {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None if path.starts_with('/') => "/".to_owned(),
        None => ".".to_owned(),
    }
}
