//! AppleScript as tokens: a comment or a string is never a command.
//!
//! Line comments (`--`, `#`), nested block comments, strings with their escapes, `|names|`, raw
//! `«events»` and lines continued by `¬`. Words are lower-cased, because the language ignores case.
//! One pass, without backtracking.

use std::borrow::Cow;

use crate::verdict::Span;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word of the language, of an app, or a plain name; in lower case.
    Word,
    /// A name between bars.
    Name,
    /// A string, without its quotes and escapes.
    Text,
    Number,
    /// The text between `«` and `»`.
    Raw,
    /// `'s`.
    Possessive,
    /// Any other sign.
    Sign,
    /// The end of a statement.
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: Cow<'a, str>,
    pub(crate) span: Span,
}

impl Token<'_> {
    /// Returns the word, or an empty string when it is not a plain word.
    pub(crate) fn word(&self) -> &str {
        if self.kind == Kind::Word { &self.text } else { "" }
    }

    /// Reports whether this is the sign.
    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }
}

/// An error in a script's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A string without its closing quote.
    OpenString,
    /// A block comment without its end.
    OpenComment,
    /// A name without its closing bar.
    OpenName,
    /// `«` without `»`.
    OpenRaw,
    /// `¬` that is not at the end of a line.
    Continuation,
    /// A character that is not valid outside strings and comments.
    Character(char),
}

/// The tokens of a script, and its errors.
#[derive(Debug, Default)]
pub(crate) struct Lexed<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    /// The first few errors.
    pub(crate) faults: Vec<(Fault, Span)>,
}

impl<'a> Lexed<'a> {
    /// Returns the statements, each without its end.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &[Token<'a>]> {
        self.tokens.split(|token| token.kind == Kind::End).filter(|statement| !statement.is_empty())
    }
}

/// The number of errors reported about one script.
const MOST_FAULTS: usize = 8;

/// Splits a script into tokens.
pub(crate) fn lex(script: &str) -> Lexed<'_> {
    let mut lexer = Lexer { text: script, at: 0, raw_ends: 0, lexed: Lexed::default() };
    while lexer.step() {}
    lexer.lexed
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The position before which there is no `»`: searching again for each `«` would be quadratic.
    raw_ends: usize,
    lexed: Lexed<'a>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return false };
        let second = rest.get(first.len_utf8()..).and_then(|rest| rest.chars().next());
        match (first, second) {
            ('\n' | '\r' | '\u{2028}' | '\u{2029}', _) => self.push(Kind::End, first.len_utf8(), 0),
            ('\u{FEFF}', _) => self.at += first.len_utf8(),
            (char, _) if char.is_whitespace() => self.at += char.len_utf8(),
            ('-', Some('-')) | ('#', _) => self.line_comment(),
            ('(', Some('*')) => self.block_comment(),
            ('"', _) => self.string(),
            ('|', _) => self.name(),
            ('«', _) => self.raw(),
            ('¬', _) => self.continuation(),
            ('\'' | '’', Some('s' | 'S')) if self.is_possessive(first) => {
                self.push(Kind::Possessive, first.len_utf8() + 1, 0);
            }
            (char, _) if char.is_ascii_digit() => self.number(),
            (char, _) if char.is_alphabetic() || char == '_' => self.word(),
            (char, _) => self.sign(char),
        }
        true
    }

    /// Adds a token of this many bytes; `trim` of them on both sides are not part of its text.
    fn push(&mut self, kind: Kind, bytes: usize, trim: usize) {
        let end = self.at.saturating_add(bytes);
        let inner = self.at.saturating_add(trim)..end.saturating_sub(trim);
        let text = self.text.get(inner).unwrap_or_default();
        self.push_text(kind, Cow::Borrowed(text), end);
    }

    fn push_text(&mut self, kind: Kind, text: Cow<'a, str>, end: usize) {
        let span = span(self.at, end);
        self.lexed.tokens.push(Token { kind, text, span });
        self.at = end;
    }

    fn fault(&mut self, fault: Fault, bytes: usize) {
        if self.lexed.faults.len() < MOST_FAULTS {
            self.lexed.faults.push((fault, span(self.at, self.at.saturating_add(bytes))));
        }
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
    }

    fn block_comment(&mut self) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let (mut depth, mut at) = (0_usize, 0);
        while let Some(byte) = bytes.get(at) {
            match (byte, bytes.get(at + 1)) {
                (b'(', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
                (b'*', Some(b')')) => (depth, at) = (depth - 1, at + 2),
                _ => at += 1,
            }
            if depth == 0 {
                self.at += at;
                return;
            }
        }
        self.fault(Fault::OpenComment, 2);
        self.at = self.text.len();
    }

    fn string(&mut self) {
        let rest = self.rest();
        let mut chars = rest.char_indices().skip(1);
        let mut escaped = false;
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => {
                    escaped = true;
                    chars.next();
                }
                '"' => {
                    let inner = rest.get(1..at).unwrap_or_default();
                    let text = if escaped { Cow::Owned(unescape(inner)) } else { inner.into() };
                    return self.push_text(Kind::Text, text, self.at + at + 1);
                }
                _ => {}
            }
        }
        self.fault(Fault::OpenString, 1);
        self.at = self.text.len();
    }

    fn name(&mut self) {
        let rest = self.rest();
        let close = rest.char_indices().skip(1).find(|(_, char)| matches!(char, '|' | '\n' | '\r'));
        if let Some((at, '|')) = close {
            self.push(Kind::Name, at + 1, 1);
        } else {
            self.fault(Fault::OpenName, 1);
            self.at += 1;
        }
    }

    fn raw(&mut self) {
        let rest = if self.at < self.raw_ends { "" } else { self.rest() };
        let end = rest.find(['»', '\n', '\r']).unwrap_or(rest.len());
        if !rest.get(end..).is_some_and(|rest| rest.starts_with('»')) {
            self.raw_ends = self.raw_ends.max(self.at + end);
            self.fault(Fault::OpenRaw, '«'.len_utf8());
            self.at += '«'.len_utf8();
            return;
        }
        let close = end;
        let inner = rest.get('«'.len_utf8()..close).unwrap_or_default().trim();
        let end = self.at + close + '»'.len_utf8();
        let words = inner.strip_prefix("event ").and_then(|code| spoken(code.trim()));
        match words {
            None => self.push_text(Kind::Raw, Cow::Borrowed(inner), end),
            Some(words) => {
                let start = self.at;
                for word in words {
                    let span = span(start, end);
                    let text = Cow::Borrowed(*word);
                    self.lexed.tokens.push(Token { kind: Kind::Word, text, span });
                }
                self.at = end;
            }
        }
    }

    fn continuation(&mut self) {
        let sign = '¬'.len_utf8();
        let after = self.rest().get(sign..).unwrap_or_default();
        let blank = after.find(|char: char| !matches!(char, ' ' | '\t')).unwrap_or(after.len());
        let tail = after.get(blank..).unwrap_or_default();
        if tail.starts_with("\r\n") {
            self.at += sign + blank + 2;
        } else if tail.starts_with(['\n', '\r']) {
            self.at += sign + blank + 1;
        } else {
            if !tail.starts_with("--") {
                self.fault(Fault::Continuation, sign);
            }
            self.at += sign + blank;
        }
    }

    /// Reports whether `'s` follows something that can own.
    fn is_possessive(&self, quote: char) -> bool {
        let after = self.rest().chars().nth(2);
        let ends = after.is_none_or(|char| !char.is_alphanumeric() && char != '_');
        // JavaScript quotes words that begin with `s`; there it follows a blank or a bracket.
        let before = self.lexed.tokens.last().is_some_and(|token| {
            token.span[1] as usize == self.at
                && (!matches!(token.kind, Kind::Sign | Kind::End) || token.is_sign(")"))
        });
        ends && (before || quote == '’')
    }

    fn number(&mut self) {
        let rest = self.rest();
        let bytes = rest
            .find(|char: char| !char.is_ascii_alphanumeric() && char != '.')
            .unwrap_or(rest.len());
        self.push(Kind::Number, bytes, 0);
    }

    fn word(&mut self) {
        let rest = self.rest();
        let bytes =
            rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
        let word = rest.get(..bytes).unwrap_or_default();
        let end = self.at + bytes;
        if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.push_text(Kind::Word, Cow::Owned(word.to_ascii_lowercase()), end);
        } else {
            self.push_text(Kind::Word, Cow::Borrowed(word), end);
        }
    }

    fn sign(&mut self, char: char) {
        let known = "(){},:&+-*/^=<>.≠≤≥÷'’".contains(char);
        if !known {
            self.fault(Fault::Character(char), char.len_utf8());
        }
        self.push(Kind::Sign, char.len_utf8(), 0);
    }
}

fn span(start: usize, end: usize) -> Span {
    [start, end].map(|at| u32::try_from(at).unwrap_or(u32::MAX))
}

/// Decodes the escapes of a string.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            char => out.push(char),
        }
    }
    out
}

/// Returns the words for a raw event, which a script may use instead of them.
fn spoken(code: &str) -> Option<&'static [&'static str]> {
    Some(match code.get(..8).unwrap_or(code).to_ascii_lowercase().as_str() {
        "sysoexec" => &["do", "shell", "script"],
        "sysodsct" => &["run", "script"],
        "sysoload" => &["load", "script"],
        "coredosc" => &["do", "script"],
        "coredelo" => &["delete"],
        "coremove" => &["move"],
        "coreclon" => &["duplicate"],
        "corecrel" => &["make"],
        "fndrempt" => &["empty", "trash"],
        "fndrfera" => &["erase"],
        "fndrejct" => &["eject"],
        "aevtquit" => &["quit"],
        "aevtrrst" | "fndrrest" | "syserest" => &["restart"],
        "aevtrsdn" | "fndrshut" => &["shut", "down"],
        "fndrslep" => &["sleep"],
        "aevtrlgo" | "aevtlogo" => &["log", "out"],
        "prcskprs" => &["keystroke"],
        "prcskcod" => &["key", "code"],
        "prcsclic" => &["click"],
        "emsgsend" | "ichtsend" => &["send"],
        "rdwrwrit" => &["write"],
        "rdwropen" => &["open", "for", "access"],
        "rdwrseof" => &["set", "eof"],
        "sysodlog" => &["display", "dialog"],
        "sfridojs" => &["do", "javascript"],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(script: &str) -> Vec<(Kind, String)> {
        let lexed = lex(script);
        lexed.tokens.iter().map(|token| (token.kind, token.text.to_string())).collect()
    }

    fn words(script: &str) -> Vec<String> {
        let tokens = shown(script).into_iter();
        tokens.filter(|(kind, _)| *kind == Kind::Word).map(|(_, text)| text).collect()
    }

    #[test]
    fn comments_of_every_kind_hold_no_words() {
        for script in
            ["-- delete", "# delete", "(* delete *)", "(* a (* b *) delete *)", "(* -- *)", "#!/x"]
        {
            assert!(words(script).is_empty(), "{script}");
            assert!(lex(script).faults.is_empty(), "{script}");
        }
        assert_eq!(words("get -- delete\nbeep"), ["get", "beep"]);
        assert_eq!(words("(* a *) beep (* b *)"), ["beep"]);
    }

    #[test]
    fn strings_lose_their_quotes_and_escapes() {
        let tokens = shown(r#"say "a \"b\" \\ c -- (*""#);
        assert_eq!(tokens[1], (Kind::Text, r#"a "b" \ c -- (*"#.to_owned()));
        assert_eq!(shown("\"a\nb ¬\nc\"")[0], (Kind::Text, "a\nb ¬\nc".to_owned()));
        assert_eq!(shown(r#""\t\r\n""#)[0], (Kind::Text, "\t\r\n".to_owned()));
    }

    #[test]
    fn a_continued_line_is_one_statement() {
        assert_eq!(lex("tell app ¬ \n\t\"Finder\" ¬\r\nto beep").statements().count(), 1);
        assert_eq!(lex("beep\nbeep\rbeep").statements().count(), 3);
    }

    #[test]
    fn raw_events_are_read_as_what_they_do() {
        assert_eq!(words("«event sysoexec» \"ls\""), ["do", "shell", "script"]);
        assert_eq!(shown("«class utf8»")[0], (Kind::Raw, "class utf8".to_owned()));
    }

    #[test]
    fn owners_and_quoted_names_are_no_strings() {
        let kinds: Vec<_> = shown("x's |error|").into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [Kind::Word, Kind::Possessive, Kind::Name]);
    }

    #[test]
    fn what_is_not_closed_is_a_fault() {
        for (script, fault) in [
            ("say \"a", Fault::OpenString),
            ("(* a (* b *)", Fault::OpenComment),
            ("get |a\n", Fault::OpenName),
            ("«event", Fault::OpenRaw),
            ("a ¬ b", Fault::Continuation),
            ("rm ~", Fault::Character('~')),
        ] {
            assert_eq!(lex(script).faults[0].0, fault, "{script}");
        }
    }
}
