//! Files that would be written or deleted, by their location.

use super::lex::{Kind, Token};
use super::shape::after_word;
use super::verb::{ahead, shown};
use super::{Walker, span_of};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

impl Walker<'_> {
    /// Records an effect on a path, unless nothing of it is known.
    pub(super) fn touch(&mut self, kind: FactKind, path: &str, more: Tags, span: Span) {
        if path.is_empty() || path.starts_with(UNKNOWN) {
            return;
        }
        let tags = location::locate(path, &self.scene).and(more);
        self.add(Fact::new(kind, location::shown(path)).tagged(tags).at(Some(span)));
    }

    /// Records the files that `delete …` names, as far as the script determines them.
    pub(super) fn deleted_files(&mut self, rest: &[Token<'_>], many: bool) {
        let given = ahead(rest);
        let span = span_of(given);
        let mut tags = Tags::of(&[Tag::Recursive]);
        if many {
            tags = tags.with(Tag::Many);
        }
        if let Some(folder) = self.container(given.get(1..).unwrap_or_default()) {
            let path = if many { format!("{folder}/*") } else { folder };
            return self.touch(FactKind::Delete, &path, tags, span);
        }
        let (paths, _) = self.paths(rest.get(1..).unwrap_or_default());
        for path in paths.iter().filter(|path| path.contains('/')) {
            self.touch(FactKind::Delete, path, tags, span);
        }
    }

    /// Returns `file "a" of folder "b" of home` as a path.
    fn container(&self, given: &[Token<'_>]) -> Option<String> {
        const PASSED: &[&str] = &[
            "every", "all", "item", "items", "file", "files", "folder", "folders", "of", "in",
            "the", "document", "alias", "disk", "(", ")",
        ];
        let home = self.scene.home();
        let mut names: Vec<&str> = Vec::new();
        for token in given {
            let root = match (token.kind, &*token.text) {
                (Kind::Text, name) if !name.contains([':', '/']) => {
                    names.push(name);
                    continue;
                }
                (Kind::Word, "desktop") => format!("{home}/Desktop"),
                (Kind::Word, "home") => home.to_owned(),
                (Kind::Word, "startup") => String::new(),
                (Kind::Word, "trash") => format!("{home}/.Trash"),
                (Kind::Word | Kind::Sign, word) if PASSED.contains(&word) => continue,
                _ => return None,
            };
            let below = names.iter().rev().map(|name| format!("/{name}"));
            return Some(below.fold(root, |path, name| path + &name));
        }
        None
    }

    /// Follows `write x to y`, `set eof of y to 0`, `store script x in y`.
    pub(super) fn write(&mut self, rest: &[Token<'_>]) {
        let given = ahead(rest);
        let target = if rest.first().is_some_and(|token| token.word() == "set") {
            after_word(given, "of")
        } else {
            after_word(given, "to").or_else(|| after_word(given, "in"))
        };
        let Some(target) = target else { return };
        self.note(FactKind::ScriptWrite, shown(given), span_of(given));
        let (paths, _) = self.paths(target);
        for path in paths.iter().filter(|path| path.contains('/')) {
            self.touch(FactKind::Write, path, Tags::NONE, span_of(given));
        }
    }

    /// Follows `open for access x with write permission`.
    pub(super) fn open_for_access(&mut self, rest: &[Token<'_>]) {
        let given = ahead(rest);
        let for_writing = given.windows(2).any(|pair| {
            matches!(pair, [with, write] if with.word() == "with" && write.word() == "write")
                || matches!(pair, [write, yes] if write.word() == "permission" && yes.word() == "true")
        });
        if !for_writing {
            return self.read_at(rest.get(3..).unwrap_or_default(), span_of(given));
        }
        self.note(FactKind::ScriptWrite, shown(given), span_of(given));
        let (paths, _) = self.paths(rest.get(3..).unwrap_or_default());
        for path in paths {
            self.touch(FactKind::Write, &path, Tags::NONE, span_of(given));
        }
    }

    /// `read x`, `open x`: the file's content is handed to the script or to an app.
    pub(super) fn read_file(&mut self, rest: &[Token<'_>]) {
        self.read_at(rest.get(1..).unwrap_or_default(), span_of(ahead(rest)));
    }

    fn read_at(&mut self, given: &[Token<'_>], span: Span) {
        let (paths, _) = self.paths(given);
        for path in paths.iter().filter(|path| path.starts_with(['/', '~'])) {
            self.touch(FactKind::Read, path, Tags::NONE, span);
        }
    }

    /// `load script x`: code from where anybody may put a file is code that nobody has read.
    pub(super) fn load_script(&mut self, rest: &[Token<'_>]) {
        const OPEN: [&str; 4] = ["/tmp/", "/Users/Shared/", "/var/folders/", "/."];
        let (paths, _) = self.paths(rest.get(2..).unwrap_or_default());
        if paths.iter().any(|path| OPEN.iter().any(|open| path.contains(open))) {
            self.note(FactKind::UnknownCode, shown(ahead(rest)), span_of(ahead(rest)));
        }
    }

    /// `with password "secret"`, `user name "a" password "secret"`.
    pub(super) fn clear_password(&mut self, rest: &[Token<'_>]) {
        let Some(at) = rest.iter().take(4).position(|token| token.word() == "password") else {
            return;
        };
        if rest.get(at + 1).is_some_and(|next| next.kind == Kind::Text && !next.text.is_empty()) {
            let span = rest.get(at).map_or([0, 0], |token| token.span);
            self.note(FactKind::ScriptPassword, "a password in the script", span);
        }
    }
}
