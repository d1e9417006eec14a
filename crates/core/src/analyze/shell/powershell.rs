//! PowerShell and `cmd`: parsed to the level of command words, then followed as the programs of a
//! Unix shell that do the same. Text that is not parsed needs a confirmation.

use std::collections::BTreeMap;

use super::Walker;
use super::arguments::Arguments;
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

mod batch;
mod cmdlet;
mod read;

use self::read::Word;

/// Options of PowerShell that take a value.
#[rustfmt::skip]
const VALUED: &[&str] = &[
    "executionpolicy", "ep", "ex", "windowstyle", "w", "inputformat", "outputformat",
    "workingdirectory", "wd", "configurationname", "settingsfile", "custompipename", "psconsolefile",
];
/// The depth of nested scripts that is followed.
const MOST_NESTED: usize = 6;

/// The output of the previous command in a pipeline, and the paths it names.
struct Before {
    out: Stream,
    paths: Vec<String>,
}

impl Walker<'_> {
    /// Follows a call of PowerShell or `cmd`, or of a cmdlet by its name; `None` for other
    /// programs.
    pub(super) fn windows(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        let lower = name.to_ascii_lowercase();
        match lower.strip_suffix(".exe").unwrap_or(&lower) {
            "pwsh" | "powershell" | "pwsh-preview" => Some(self.powershell(args, stdin, span)),
            "cmd" => {
                let words = args.words();
                let at = words.iter().position(|word| {
                    matches!(word.text.to_ascii_lowercase().as_str(), "/c" | "/k" | "/r" | "//c")
                })?;
                let line: Vec<&str> =
                    words.iter().skip(at + 1).map(|word| word.text.as_str()).collect();
                Some(self.batch_line(&line.join(" "), span))
            }
            "iex" if !stdin.from_caller => Some(self.evaluate(None, stdin, span)),
            lower if cmdlet::is_known(lower) || cmdlet::acts_by_form(name) => {
                let mut words = vec![Word { text: lower.to_owned(), quoted: false }];
                words.extend(
                    args.words().iter().map(|arg| Word { text: arg.text.clone(), quoted: false }),
                );
                let before = Before { out: stdin.clone(), paths: Vec::new() };
                Some(self.cmdlet_or_program(&words, &before, span, 0))
            }
            _ => None,
        }
    }

    fn powershell(&mut self, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) -> Stream {
        let words = args.words();
        let mut rest = words.iter().enumerate();
        while let Some((at, word)) = rest.next() {
            let option = word.text.to_ascii_lowercase();
            let is_path = |option: &str| option.is_empty() || option.contains(['/', '.', '\\']);
            let Some(option) = option.strip_prefix(['-', '/']).filter(|option| !is_path(option))
            else {
                if super::source::ends_in(&word.text, "ps1") {
                    let content = self.content_of(word);
                    let source = self.file_of_code("powershell", word, content);
                    return source.map_or_else(
                        || Stream::unknown(Tags::NONE),
                        |source| self.powershell_script(&source.text, span, 0),
                    );
                }
                return self.powershell_words(words.get(at..).unwrap_or_default(), stdin, span);
            };
            let option = option.trim_start_matches('-');
            if "encodedcommand".starts_with(option) || option == "ec" || option == "enc" {
                let text = rest.next().and_then(|(_, value)| decoded(&value.text));
                return match text {
                    Some(text) => self.powershell_script(&text, span, 0),
                    None => self.unread(FactKind::DecodedCode, "powershell", span),
                };
            }
            if "command".starts_with(option) || option == "commandwithargs" || option == "cwa" {
                return self.powershell_words(words.get(at + 1..).unwrap_or_default(), stdin, span);
            }
            if "file".starts_with(option) {
                continue;
            }
            if matches!(option, "version" | "help" | "h" | "?" | "v") {
                return Stream::unknown(Tags::NONE);
            }
            if VALUED.iter().any(|known| known.starts_with(option))
                && !"noprofile".starts_with(option)
            {
                rest.next();
            }
        }
        match (&stdin.text, stdin.from_caller) {
            (_, true) => Stream::unknown(Tags::NONE),
            (Some(text), _) => self.powershell_script(&text.clone(), span, 0),
            (None, _) => self.evaluate(None, stdin, span),
        }
    }

    fn powershell_words(&mut self, words: &[Arg], stdin: &Stream, span: Option<Span>) -> Stream {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        match (text.as_slice(), &stdin.text) {
            (["-"], Some(script)) => self.powershell_script(&script.clone(), span, 0),
            (["-"], None) => self.evaluate(None, stdin, span),
            _ => self.powershell_script(&text.join(" "), span, 0),
        }
    }

    /// Records code that was not read.
    fn unread(&mut self, kind: FactKind, what: &str, span: Option<Span>) -> Stream {
        self.note(Fact::new(kind, location::shown(what)).at(span));
        Stream::unknown(Tags::NONE)
    }

    /// Follows `iex`, which runs a text or its input.
    fn evaluate(&mut self, text: Option<&str>, stdin: &Stream, span: Option<Span>) -> Stream {
        let text = text.map(str::to_owned).or_else(|| stdin.text.clone());
        match text.filter(|text| !text.contains(UNKNOWN)) {
            Some(text) => self.powershell_script(&text, span, 1),
            None if stdin.taint.has(Tag::Fetched) => {
                self.unread(FactKind::RemoteCode, "Invoke-Expression", span)
            }
            None => self.unread(FactKind::UnknownCode, "Invoke-Expression", span),
        }
    }

    /// Follows a script.
    fn powershell_script(&mut self, script: &str, span: Option<Span>, depth: usize) -> Stream {
        let mut variables = BTreeMap::new();
        self.powershell_part(script, span, depth, &mut variables)
    }

    fn powershell_part(
        &mut self,
        script: &str,
        span: Option<Span>,
        depth: usize,
        variables: &mut BTreeMap<String, String>,
    ) -> Stream {
        if depth > MOST_NESTED {
            return self.unread(FactKind::Bound, "scripts in scripts", span);
        }
        let found = read::read(script, variables);
        if found.broken {
            self.note(
                Fact::new(FactKind::Unparsed, "a quote or bracket that does not close").at(span),
            );
        }
        for method in &found.methods {
            if !cmdlet::is_plain_method(method) {
                self.note(Fact::new(FactKind::UnknownCode, location::shown(method)).at(span));
            }
        }
        for nested in &found.nested {
            self.powershell_part(nested, span, depth + 1, variables);
        }
        let mut out = Stream::empty();
        for pipeline in &found.pipelines {
            let mut before = Before { out: Stream::caller(), paths: Vec::new() };
            for words in pipeline {
                let out = self.cmdlet_or_program(words, &before, span, depth);
                let paths = words.iter().skip(1).filter(|word| !word.text.starts_with('-'));
                before = Before { out, paths: paths.map(|word| unix_path(&word.text)).collect() };
            }
            out = before.out;
        }
        out
    }

    fn cmdlet_or_program(
        &mut self,
        words: &[Word],
        before: &Before,
        span: Option<Span>,
        depth: usize,
    ) -> Stream {
        let Some((first, rest)) = words.split_first() else { return Stream::empty() };
        if matches!(first.text.as_str(), "&" | ".") && !rest.is_empty() {
            return self.called(rest, before, span, depth);
        }
        if first.quoted
            || first
                .text
                .starts_with(|char: char| char.is_ascii_digit() || "-+%*?!<>=@".contains(char))
                && first.text != "%"
                && first.text != "?"
        {
            // An expression: its calls are in brackets.
            return Stream::known(first.text.clone(), Tags::NONE);
        }
        if first.text.starts_with('[') || first.text.starts_with(UNKNOWN) {
            return Stream::unknown(Tags::NONE);
        }
        match cmdlet::meaning(&first.text, rest, &before.paths) {
            cmdlet::Meaning::Nothing => Stream::unknown(before.out.taint),
            cmdlet::Meaning::Unread => self.unread(FactKind::UnknownCode, &first.text, span),
            cmdlet::Meaning::Evaluate(text) => self.evaluate(text.as_deref(), &before.out, span),
            cmdlet::Meaning::Write(paths, kind) => {
                for path in paths {
                    self.note_path(kind, &Arg { span, ..Arg::literal(path) }, Tags::NONE);
                }
                Stream::empty()
            }
            cmdlet::Meaning::Line(line) => {
                let args =
                    line.into_iter().map(|word| Arg { span, ..Arg::literal(word) }).collect();
                self.follow_command(args, before.out.clone())
            }
        }
    }

    /// Follows `& 'name' words` and `. script`.
    fn called(
        &mut self,
        words: &[Word],
        before: &Before,
        span: Option<Span>,
        depth: usize,
    ) -> Stream {
        let Some((first, rest)) = words.split_first() else { return Stream::empty() };
        if first.text.contains(UNKNOWN) {
            return self.unread(FactKind::UnknownCommand, "&", span);
        }
        let mut plain = vec![Word { text: first.text.clone(), quoted: false }];
        plain.extend(rest.iter().cloned());
        self.cmdlet_or_program(&plain, before, span, depth + 1)
    }
}

/// Maps a path of Windows to its Unix equivalent.
fn unix_path(path: &str) -> String {
    let plain = path.replace('\\', "/");
    let mut chars = plain.chars();
    let drive =
        chars.next().is_some_and(|char| char.is_ascii_alphabetic()) && chars.next() == Some(':');
    if !drive {
        return plain;
    }
    let below = plain.get(2..).unwrap_or_default().trim_matches('/').to_ascii_lowercase();
    match below.as_str() {
        "" => "/".to_owned(),
        "*" | "*.*" => "/*".to_owned(),
        "users" | "users/*" => "/home".to_owned(),
        _ => match below.strip_prefix("users/").map(|name| name.split('/').collect::<Vec<_>>()) {
            Some(parts) if parts.len() == 1 || (parts.len() == 2 && parts.contains(&"*")) => {
                "~".to_owned()
            }
            Some(parts) => format!("~/{}", parts.get(1..).unwrap_or_default().join("/")),
            None if below.starts_with("windows") || below.starts_with("program files") => {
                format!("/usr/{below}")
            }
            None => path.to_owned(),
        },
    }
}

/// Decodes the text of `-EncodedCommand`: base64 of UTF-16.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for char in text.chars().filter(|char| !char.is_whitespace() && *char != '=') {
        let value = match char {
            'A'..='Z' => u32::from(char) - u32::from('A'),
            'a'..='z' => u32::from(char) - u32::from('a') + 26,
            '0'..='9' => u32::from(char) - u32::from('0') + 52,
            '+' => 62,
            '/' => 63,
            _ => return None,
        };
        buffer = (buffer << 6 | value) & 0xFF_FFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xFF).ok()?);
        }
    }
    let units = bytes.chunks_exact(2).map(|pair| match pair {
        [low, high] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    });
    String::from_utf16(&units.collect::<Vec<_>>()).ok()
}
