//! Splits a PowerShell script into pipelines, commands and words.

use std::collections::BTreeMap;

use crate::analyze::UNKNOWN;

/// The length past which a script is not read.
const MOST_SCRIPT: usize = 32 * 1024;

/// A parsed script.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Lists of commands, where the output of each is the input of the next.
    pub(super) pipelines: Vec<Vec<Vec<Word>>>,
    /// Scripts in brackets.
    pub(super) nested: Vec<String>,
    /// Calls of methods and of static functions.
    pub(super) methods: Vec<String>,
    /// True when a bracket or quote does not close, or the script is too long.
    pub(super) broken: bool,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    /// The text; [`UNKNOWN`] marks parts that could not be worked out.
    pub(super) text: String,
    /// True when it is quoted, and so never an option.
    pub(super) quoted: bool,
}

/// Parses a script; variables it sets are added to the known ones.
pub(super) fn read(script: &str, variables: &mut BTreeMap<String, String>) -> Script {
    if script.len() > MOST_SCRIPT {
        return Script { broken: true, ..Script::default() };
    }
    let mut reader = Reader {
        rest: script,
        found: Script::default(),
        pipeline: Vec::new(),
        command: Vec::new(),
        word: None,
        variables,
    };
    while reader.step() {}
    reader.end_pipeline();
    reader.found
}

struct Reader<'s, 'v> {
    rest: &'s str,
    found: Script,
    pipeline: Vec<Vec<Word>>,
    command: Vec<Word>,
    word: Option<Word>,
    variables: &'v mut BTreeMap<String, String>,
}

impl<'s> Reader<'s, '_> {
    fn step(&mut self) -> bool {
        let Some(char) = self.rest.chars().next() else { return false };
        let rest = self.rest.get(char.len_utf8()..).unwrap_or_default();
        if self.word.is_none() && self.rest.starts_with("<#") {
            self.rest = self.rest.split_once("#>").map_or("", |(_, rest)| rest);
            return true;
        }
        self.rest = rest;
        match char {
            '#' if self.word.is_none() => {
                self.rest = rest.find('\n').and_then(|at| rest.get(at..)).unwrap_or_default();
            }
            '|' | '&' if rest.starts_with(char) => {
                self.rest = rest.get(1..).unwrap_or_default();
                self.end_pipeline();
            }
            '|' => self.end_command(),
            '&' if self.word.is_none() && self.command.is_empty() => self.push("&"),
            ',' | ' ' | '\t' | '\r' => self.end_word(),
            '\'' | '"' => self.quoted(char),
            '`' => {
                let next = self.rest.chars().next();
                self.rest = self.rest.get(next.map_or(0, char::len_utf8)..).unwrap_or_default();
                // A backtick at the end of a line continues it.
                if let Some(next) = next.filter(|char| *char != '\n') {
                    self.word().text.push(next);
                }
            }
            '$' => self.variable(),
            '{' => {
                let inside = self.bracket('{', '}');
                self.found.nested.push(inside.to_owned());
            }
            '(' => self.group(),
            '@' if rest.starts_with(['(', '{']) => {}
            '=' if self.assigns() => self.assign(),
            ')' | '}' | '&' | '\n' | ';' => self.end_pipeline(),
            char => self.word().text.push(char),
        }
        true
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, text: &str) {
        self.command.push(Word { text: text.to_owned(), quoted: false });
    }

    fn end_word(&mut self) {
        self.command.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.command.is_empty() {
            self.pipeline.push(std::mem::take(&mut self.command));
        }
    }

    fn end_pipeline(&mut self) {
        self.end_command();
        if !self.pipeline.is_empty() {
            self.found.pipelines.push(std::mem::take(&mut self.pipeline));
        }
    }

    fn quoted(&mut self, mark: char) {
        let fresh = self.word.is_none();
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = None;
        while let Some((at, char)) = chars.next() {
            match char {
                '`' if mark == '"' => text.extend(chars.next().map(|(_, char)| char)),
                char if char == mark => {
                    end = Some(at + char.len_utf8());
                    break;
                }
                char => text.push(char),
            }
        }
        self.found.broken |= end.is_none();
        self.rest = end.and_then(|end| self.rest.get(end..)).unwrap_or_default();
        if mark == '"' {
            text = self.expanded(&text);
        }
        let word = self.word();
        word.text.push_str(&text);
        word.quoted |= fresh;
    }

    /// Expands the variables of a string; `$(…)` is read as a script of its own.
    fn expanded(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if let Some(code) = after.strip_prefix('(') {
                let (inside, tail) = code.rsplit_once(')').unwrap_or((code, ""));
                self.found.nested.push(inside.to_owned());
                out.push(UNKNOWN);
                rest = tail;
            } else {
                let (name, tail) = name(after);
                out.push_str(&self.value(name));
                rest = tail;
            }
        }
        out.push_str(rest);
        out
    }

    fn value(&self, name: &str) -> String {
        match name.to_ascii_lowercase().as_str() {
            "home" | "env:home" | "env:userprofile" | "env:homepath" => "~".to_owned(),
            "env:systemdrive" | "env:homedrive" => "C:".to_owned(),
            "env:systemroot" | "env:windir" => "C:\\Windows".to_owned(),
            "pwd" | "psscriptroot" => ".".to_owned(),
            "null" => String::new(),
            name => self.variables.get(name).cloned().unwrap_or_else(|| UNKNOWN.to_string()),
        }
    }

    fn variable(&mut self) {
        if self.rest.starts_with('(') {
            return;
        }
        let (name, rest) = name(self.rest);
        let assigned =
            rest.trim_start().strip_prefix('=').is_some_and(|rest| !rest.starts_with('='));
        self.rest = rest;
        if assigned && self.command.is_empty() && self.word.is_none() {
            let name = format!("${}", name.to_ascii_lowercase());
            self.word = Some(Word { text: name, quoted: false });
        } else {
            let value = self.value(name);
            self.word().text.push_str(&value);
        }
    }

    /// Reports whether `=` here sets a variable.
    fn assigns(&self) -> bool {
        let first = self.command.first().or(self.word.as_ref());
        self.command.len() + usize::from(self.word.is_some()) == 1
            && first.is_some_and(|word| word.text.starts_with('$'))
    }

    /// Follows an assignment: `$x = 'text'` records the text; any other value is run and makes the
    /// variable unknown.
    fn assign(&mut self) {
        self.end_word();
        let name = self.command.drain(..).next().map(|word| word.text).unwrap_or_default();
        let name = name.trim_start_matches('$').to_owned();
        let line = self.rest.trim_start();
        let end = line.find(['\n', ';']).unwrap_or(line.len());
        let value = line.get(..end).and_then(joined_strings);
        if value.is_some() {
            self.rest = line.get(end..).unwrap_or_default();
        }
        self.variables.insert(name, value.unwrap_or_else(|| UNKNOWN.to_string()));
    }

    /// Returns the text between brackets.
    fn bracket(&mut self, open: char, close: char) -> &'s str {
        let mut depth = 1_usize;
        let mut quote = None;
        for (at, char) in self.rest.char_indices() {
            match (quote, char) {
                (Some(mark), char) if char == mark => quote = None,
                (None, '\'' | '"') => quote = Some(char),
                (None, char) if char == open => depth += 1,
                (None, char) if char == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inside = self.rest.get(..at).unwrap_or_default();
                self.rest = self.rest.get(at + close.len_utf8()..).unwrap_or_default();
                return inside;
            }
        }
        self.found.broken = true;
        std::mem::take(&mut self.rest)
    }

    /// Follows `(…)`: a computed text, the arguments of a method, or commands.
    fn group(&mut self) {
        let inside = self.bracket('(', ')');
        let method = self.word.as_ref().filter(|word| !word.quoted || word.text.contains('.'));
        if let Some(name) =
            method.map(|word| word.text.clone()).filter(|name| name.contains(['.', ':']))
        {
            self.found.methods.push(name);
        }
        if let Some(text) = joined_strings(inside) {
            let fresh = self.word.is_none();
            let word = self.word();
            word.text.push_str(&text);
            word.quoted |= fresh;
        } else {
            self.found.nested.push(inside.to_owned());
            self.word().text.push(UNKNOWN);
        }
    }
}

/// Splits off a variable's name.
fn name(text: &str) -> (&str, &str) {
    if let Some((name, rest)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) {
        return (name, rest);
    }
    let end = text
        .find(|char: char| !(char.is_alphanumeric() || "_:?".contains(char)))
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Joins `'a' + 'b'` into one text.
fn joined_strings(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text.trim();
    loop {
        let mark = rest.chars().next().filter(|char| matches!(char, '\'' | '"'))?;
        let (string, after) = rest.get(1..)?.split_once(mark)?;
        if mark == '"' && string.contains(['$', '`']) {
            return None;
        }
        out.push_str(string);
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(out);
        }
        rest = rest.strip_prefix('+')?.trim_start();
    }
}
