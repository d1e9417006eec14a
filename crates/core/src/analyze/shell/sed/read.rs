//! Parses a sed script command by command: addresses, commands, their texts and files.

use crate::analyze::UNKNOWN;
use crate::analyze::shell::erase;

/// An effect of a sed script besides editing text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// Runs this line.
    Runs(String),
    /// Runs the line being edited, which may be this text.
    RunsInput(Option<String>),
    /// Reads a file.
    Reads(String),
    /// Writes a file.
    Writes(String),
    /// Leaves nothing of the input.
    Empties,
}

/// The effects of a sed script.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) events: Vec<Event>,
    /// True when sed would reject the script.
    pub(super) broken: bool,
}

/// Returns the effects of a script.
pub(super) fn read(script: &str) -> Reading {
    let mut reader = Reader { rest: script, found: Reading::default(), depth: 0 };
    while reader.command() {}
    reader.found
}

struct Reader<'s> {
    rest: &'s str,
    found: Reading,
    depth: usize,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.rest = self.rest.get(char.len_utf8()..).unwrap_or_default();
        Some(char)
    }

    fn skip(&mut self, holds: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(holds);
    }

    /// Takes the rest of this line.
    fn line(&mut self) -> &'s str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    /// Reads one command; reports whether there may be another.
    fn command(&mut self) -> bool {
        self.skip(|char| char.is_whitespace() || char == ';');
        let addressed = self.addresses();
        let Some(name) = self.next() else { return false };
        match name {
            '{' => self.depth += 1,
            '}' => self.depth = self.depth.saturating_sub(1),
            '#' => {
                self.line();
            }
            ':' | 'b' | 't' | 'T' | 'v' => self.label(),
            'a' | 'i' | 'c' => {
                if name == 'c' && !addressed && self.depth == 0 {
                    self.found.events.push(Event::Empties);
                }
                self.text();
            }
            'e' => {
                let line = self.line().trim();
                let event = if line.is_empty() {
                    Event::RunsInput(None)
                } else {
                    Event::Runs(line.to_owned())
                };
                self.found.events.push(event);
            }
            'r' | 'R' | 'w' | 'W' => {
                let path = self.line().trim().to_owned();
                self.file(name, path);
            }
            's' => self.substitute(addressed),
            'y' => {
                self.delimited(2);
            }
            'd' | 'z' | 'Q' if !addressed && self.depth == 0 => {
                self.found.events.push(Event::Empties);
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F'
            | UNKNOWN => {}
            'l' | 'L' | 'q' | 'Q' => self.skip(|char| char == ' ' || char.is_ascii_digit()),
            _ => {
                self.found.broken = true;
                self.line();
            }
        }
        true
    }

    /// Reads addresses; reports whether the command is for some lines only.
    fn addresses(&mut self) -> bool {
        let mut some = false;
        let mut numbers = String::new();
        loop {
            match self.rest.chars().next() {
                Some(char @ ('0'..='9' | '$' | ',' | '+' | '~')) => {
                    some = true;
                    numbers.push(char);
                    self.next();
                }
                Some(UNKNOWN) => {
                    some = true;
                    self.next();
                }
                Some(' ' | '\t' | '!') => {
                    self.next();
                }
                Some('/') => {
                    some = true;
                    self.next();
                    self.until('/');
                    self.skip(|char| char == 'I' || char == 'M');
                }
                Some('\\') => {
                    some = true;
                    self.next();
                    if let Some(mark) = self.next() {
                        self.until(mark);
                        self.skip(|char| char == 'I' || char == 'M');
                    }
                }
                // Every line, in numbers.
                _ => return some && numbers != "1,$",
            }
        }
    }

    /// Takes the text up to an unescaped delimiter, and the delimiter.
    fn until(&mut self, mark: char) -> String {
        let mut text = String::new();
        let mut class = None;
        while let Some(char) = self.next() {
            match char {
                '\\' => {
                    text.push(char);
                    text.extend(self.next());
                    continue;
                }
                '[' if class.is_none() && mark != '[' && closes(self.rest) => {
                    class = Some(text.len());
                }
                // `[]x]` and `[^]x]` contain the bracket itself.
                ']' if class.is_some_and(|at| !matches!(text.get(at + 1..), Some("" | "^"))) => {
                    class = None;
                }
                char if char == mark && class.is_none() => return text,
                _ => {}
            }
            text.push(char);
        }
        self.found.broken = true;
        text
    }

    /// Takes the parts between delimiters: `/a/b/`.
    fn delimited(&mut self, parts: usize) -> Vec<String> {
        let Some(mark) = self.next() else {
            self.found.broken = true;
            return Vec::new();
        };
        (0..parts).map(|_| self.until(mark)).collect()
    }

    fn substitute(&mut self, addressed: bool) {
        let parts = self.delimited(2);
        let replacement = parts.get(1).map(|text| literal(text));
        let mut flags = String::new();
        loop {
            match self.rest.chars().next() {
                Some(flag @ ('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' | UNKNOWN)) => {
                    flags.push(flag);
                    self.next();
                }
                Some('e') => {
                    self.next();
                    self.found.events.push(Event::RunsInput(replacement.clone()));
                }
                Some('w') => {
                    self.next();
                    let path = self.line().trim().to_owned();
                    return self.file('w', path);
                }
                _ => break,
            }
        }
        self.skip(|char| char == ' ');
        if !matches!(self.rest.chars().next(), None | Some('\n' | ';' | '}' | '#' | '\r')) {
            self.found.broken = true;
            self.line();
        }
        let wipes = match parts.as_slice() {
            [pattern, replacement] => erase::wipes(pattern, replacement, &flags),
            _ => false,
        };
        if wipes && !addressed && self.depth == 0 {
            self.found.events.push(Event::Empties);
        }
    }

    fn file(&mut self, command: char, path: String) {
        let stream = matches!(path.as_str(), "/dev/stdout" | "/dev/stderr" | "/dev/stdin");
        if path.is_empty() || stream {
            return;
        }
        let reads = matches!(command, 'r' | 'R');
        self.found.events.push(if reads { Event::Reads(path) } else { Event::Writes(path) });
    }

    fn label(&mut self) {
        self.skip(|char| !matches!(char, '\n' | ';' | '}'));
    }

    /// Skips the text of `a`, `i` and `c`: one line, or more where they end in a backslash.
    fn text(&mut self) {
        loop {
            let line = self.line();
            let slashes = line.chars().rev().take_while(|char| *char == '\\').count();
            if slashes % 2 == 0 || self.rest.is_empty() {
                return;
            }
        }
    }
}

/// Reports whether a class that opens here closes on the same line.
fn closes(rest: &str) -> bool {
    let line = rest.split('\n').next().unwrap_or_default();
    let inside = line.strip_prefix('^').unwrap_or(line);
    inside.char_indices().skip(1).any(|(_, char)| char == ']')
}

/// Returns a replacement's text, in which parts of the input are unknown.
fn literal(replacement: &str) -> String {
    let mut out = String::new();
    let mut chars = replacement.chars();
    while let Some(char) = chars.next() {
        match char {
            '&' => out.push(UNKNOWN),
            '\\' => match chars.next() {
                Some('0'..='9') => out.push(UNKNOWN),
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(script: &str) -> Vec<Event> {
        let found = read(script);
        assert!(!found.broken, "{script}");
        found.events
    }

    #[test]
    fn commands_are_found_behind_any_address() {
        for address in [
            "", "1", "1,3", "$", "/x/", "/x/,/y/I", "\\,x,", "2~3", "/a\\/b/!", "0,/x/", "1!",
            "/x/{", "s/a/b/;", "p;",
        ] {
            let script = format!("{address}e id");
            assert_eq!(events(&script), [Event::Runs("id".to_owned())], "{script}");
            let script = format!("{address}w out");
            assert_eq!(events(&script), [Event::Writes("out".to_owned())], "{script}");
            let script = format!("{address}s/x/id/ge");
            assert_eq!(events(&script), [Event::RunsInput(Some("id".to_owned()))], "{script}");
            let script = format!("{address}s|x|y|w out");
            assert_eq!(events(&script), [Event::Writes("out".to_owned())], "{script}");
        }
    }

    #[test]
    fn plain_editing_does_nothing_else() {
        for script in [
            "s/e rm/w x/g",
            "s,/etc/passwd,/etc/shadow,",
            "/etc/d",
            "1,10p",
            "$!N;P;D",
            "y/abc/xyz/",
            "a\\\ne rm -rf ~\\\nw x",
            "i e rm -rf ~",
            "/^#/!s/a\\/b/e/",
            ":a;N;$!ba;s/\\n/ /g",
            "/x/{n;s/[^/]*$//;}",
            "1!G;h;$!d",
            "s/.*\\/\\(.*\\)/\\1/;s/e$//",
            "# e rm -rf ~",
            "$=",
            "10q",
            "/.\\/d[12]\\/[^/]*$/d",
            "s/[]/]/x/",
            "s/[^]/]/x/",
            "s/a[/b/",
        ] {
            assert_eq!(events(script), [], "{script}");
        }
    }
}
