//! JavaScript for Automation: the same commands in another syntax.
//!
//! Not a JavaScript analyzer: only calls that reach apps, the shell or Cocoa, with literal texts
//! from the script itself.

use std::collections::HashMap;

use super::app::App;
use super::cocoa::{self, Method};
use super::lex::Token as Word;
use super::value::Value;
use super::{Walker, member, nested};
use crate::analyze::UNKNOWN;
use crate::fact::{FactKind, Tag, Tags};
use crate::verdict::Span;

/// The number of tokens of a call that are searched for options.
const MOST_AHEAD: usize = 64;

/// Reports whether a script is JavaScript, by syntax that AppleScript does not have.
pub(super) fn is_javascript(tokens: &[Word<'_>]) -> bool {
    tokens.windows(3).any(|three| {
        let [first, second, third] = three else { return false };
        let declares = matches!(first.word(), "var" | "let" | "const") && third.is_sign("=");
        let calls = first.word() == "application"
            && (second.is_sign(".") || (second.is_sign("(") && third.is_sign("'")));
        let bridge = (first.word() == "objc" || first.is_sign("$")) && second.is_sign(".");
        declares
            || calls
            || bridge
            || (first.is_sign(")") && second.is_sign(".") && !third.word().is_empty())
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Name(String),
    Text(String),
    Sign(char),
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: u32,
}

impl Token {
    pub(super) fn name(&self) -> &str {
        if let Kind::Name(name) = &self.kind { name } else { "" }
    }

    pub(super) fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }
}

/// Records the effects of a script in JavaScript.
pub(super) fn read(script: &str, walker: &mut Walker<'_>) {
    let tokens = member::plain(&lex(script));
    let terminal = tokens.windows(3).any(|three| {
        matches!(three, [app, open, Token { kind: Kind::Text(name), .. }]
            if app.name() == "Application" && open.is('(') && App::named(name) == App::Terminal)
    });
    let mut reader = Reader { tokens: &tokens, walker, known: HashMap::new(), terminal };
    for at in 0..tokens.len() {
        reader.step(at);
    }
}

struct Reader<'t, 'w, 'a> {
    tokens: &'t [Token],
    walker: &'w mut Walker<'a>,
    known: HashMap<String, Value>,
    /// Whether the script speaks to a terminal.
    terminal: bool,
}

impl Reader<'_, '_, '_> {
    fn get(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    fn is(&self, at: usize, sign: char) -> bool {
        self.get(at).is_some_and(|token| token.is(sign))
    }

    fn step(&mut self, at: usize) {
        let name = self.get(at).map_or("", Token::name).to_ascii_lowercase();
        if name.is_empty() {
            return;
        }
        if self.is(at + 1, '=') && !self.is(at + 2, '=') {
            let value = self.value(at + 2);
            let name = self.get(at).map_or("", Token::name).to_owned();
            self.known.insert(name, value);
            return;
        }
        let span = self.span(at);
        let member = at > 0 && self.is(at - 1, '.');
        if name == "hiddenanswer" && self.get(at + 2).is_some_and(|value| value.name() == "true") {
            self.walker.note(FactKind::ScriptPasswordDialog, "hiddenAnswer", span);
        }
        match cocoa::method(&name) {
            Some(Method::Is(kind)) => self.walker.note(kind, name, span),
            _ if !self.is(at + 1, '(') => {}
            Some(method) => self.method(method, &name, at, span),
            None => self.call(&name, member, at, span),
        }
    }

    fn method(&mut self, method: Method, name: &str, at: usize, span: Span) {
        let value = self.value(at + 2);
        let (kind, fact, tags) = match method {
            Method::Delete => {
                (FactKind::ScriptDelete, FactKind::Delete, Tags::of(&[Tag::Recursive]))
            }
            Method::Script => return self.script(&value, span),
            Method::Open => {
                let texts = self.texts_ahead(at);
                return self.walker.addressed_to(&texts, span);
            }
            Method::Read => {
                for path in self.texts_ahead(at).iter().filter(|path| path.starts_with('/')) {
                    self.walker.touch(FactKind::Read, path, Tags::NONE, span);
                }
                return;
            }
            Method::Write | Method::Transfer | Method::Is(_) => {
                (FactKind::ScriptWrite, FactKind::Write, Tags::NONE)
            }
        };
        self.walker.note(kind, name, span);
        for path in value.texts.iter().filter(|path| path.contains('/')) {
            self.walker.touch(fact, path, tags, span);
        }
    }

    fn call(&mut self, name: &str, member: bool, at: usize, span: Span) {
        let kind = match name {
            "doshellscript" => return self.shell(at, span),
            "system" if member => return self.shell(at, span),
            "doscript" => {
                let command = self.value(at + 2);
                return self.walker.hand(&command.texts, false, span);
            }
            "runscript" => {
                let source = self.value(at + 2);
                return self.script(&source, span);
            }
            "eval" if !member => FactKind::UnknownCode,
            member::HIDDEN => FactKind::UnknownCode,
            "read" if member => return self.method(Method::Read, name, at, span),
            "keystroke" if member => {
                self.keystroke(at, span);
                FactKind::ScriptKeystroke
            }
            "click" if member => {
                if let Some(label) = self.label(at) {
                    self.walker.pressed(label, span);
                }
                FactKind::ScriptClick
            }
            "delete" if member && self.is_many(at) => FactKind::ScriptBulkDelete,
            "delete" if member => FactKind::ScriptDelete,
            "emptytrash" | "empty" if member => FactKind::ScriptEmptyTrash,
            "restart" | "shutdown" | "sleep" | "logout" if member => FactKind::ScriptPower,
            "erase" if member => FactKind::ScriptErase,
            "keycode" if member => FactKind::ScriptKeyCode,
            "send" if member => FactKind::ScriptSend,
            "move" if member && self.is_many(at) => FactKind::ScriptBulkMove,
            "move" if member => FactKind::ScriptMove,
            "loginitem" => FactKind::ScriptLoginItem,
            "theclipboard" => FactKind::ScriptClipboard,
            "openforaccess" | "write" if member => FactKind::ScriptWrite,
            _ => return,
        };
        self.walker.note(kind, name, span);
    }

    /// The texts in what a call is given.
    fn texts_ahead(&mut self, at: usize) -> Vec<String> {
        let mut texts = self.value(at + 2).texts;
        let more = (at..at + MOST_AHEAD).map_while(|at| self.get(at));
        let more = more.take_while(|token| !token.is(';'));
        texts.extend(more.filter_map(|token| match &token.kind {
            Kind::Text(text) => Some(text.clone()),
            Kind::Name(_) | Kind::Sign(_) => None,
        }));
        texts
    }

    /// The label of what is clicked: `buttons.byName("x").click()`, `buttons["x"].click()`.
    fn label(&self, at: usize) -> Option<String> {
        let before = |back: usize| at.checked_sub(back).and_then(|at| self.get(at));
        match before(2).map(|token| &token.kind) {
            Some(Kind::Name(name)) => Some(name.clone()),
            Some(Kind::Sign(')')) => match before(3).map(|token| &token.kind) {
                Some(Kind::Text(text)) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Typed where a terminal was spoken to, text is a command.
    fn keystroke(&mut self, at: usize, span: Span) {
        let typed = self.value(at + 2);
        if self.terminal && typed.texts.iter().any(|text| text.trim().len() > 1) {
            self.walker.hand(&typed.texts, false, span);
        }
    }

    /// `app.doShellScript(x, {administratorPrivileges: true})`.
    fn shell(&mut self, at: usize, span: Span) {
        let command = self.value(at + 2);
        let elevated = (at..at + MOST_AHEAD).any(|at| {
            self.get(at).is_some_and(|token| token.name() == "administratorPrivileges")
                && self.get(at + 2).is_some_and(|token| token.name() != "false")
        });
        if elevated {
            self.walker.note(FactKind::ScriptElevated, command.texts.join("; "), span);
        }
        self.walker.hand(&command.texts, elevated, span);
    }

    fn script(&mut self, source: &Value, span: Span) {
        for text in &source.texts {
            if text.trim_matches(UNKNOWN).trim().is_empty() {
                self.walker.note(FactKind::UnknownCode, "run script", span);
            } else if self.walker.may_read(text, span) {
                let found = nested(text, &self.walker.scene, Some(span));
                self.walker.merge(found, span);
            }
        }
    }

    /// Reports whether there is a plural before or inside the call:
    /// `finder.trash.items().delete()`.
    fn is_many(&self, at: usize) -> bool {
        let around = at.saturating_sub(8)..at + 12;
        around.filter_map(|at| self.get(at)).any(|token| {
            let name = token.name();
            matches!(
                name,
                "whose"
                    | "items"
                    | "files"
                    | "folders"
                    | "documentFiles"
                    | "events"
                    | "notes"
                    | "people"
                    | "messages"
                    | "reminders"
                    | "entireContents"
            )
        })
    }

    /// Evaluates a text, joined by `+` from known parts.
    fn value(&mut self, start: usize) -> Value {
        let mut value: Option<Value> = None;
        let mut at = start;
        while self.walker.spend_work(1) {
            let part = match self.get(at).map(|token| &token.kind) {
                Some(Kind::Text(text)) => Value::text(text.clone()),
                Some(Kind::Name(name))
                    if matches!(&**name, "$" | "Path") && self.is(at + 1, '(') =>
                {
                    at += 1;
                    continue;
                }
                Some(Kind::Name(name)) => {
                    self.known.get(name).cloned().unwrap_or_else(Value::unknown)
                }
                Some(Kind::Sign('(')) => {
                    at += 1;
                    continue;
                }
                _ => Value::unknown(),
            };
            let plain =
                self.get(at + 1).is_none_or(|next| "+,);]}".chars().any(|end| next.is(end)));
            let part = if plain { part } else { Value::unknown() };
            let work = part.work() + value.as_ref().map_or(0, Value::work);
            self.walker.spend_work(work);
            value = Some(value.map_or_else(|| part.clone(), |value| value.join(&part)));
            // Skips everything else that belongs to this part.
            at += 1;
            let mut depth = 0_usize;
            while let Some(token) = self.get(at) {
                match token.kind {
                    Kind::Sign('(' | '[' | '{') => depth += 1,
                    Kind::Sign(')' | ']' | '}') if depth > 0 => depth -= 1,
                    Kind::Sign('+' | ',' | ';' | ')' | ']' | '}') if depth == 0 => break,
                    _ => {}
                }
                at += 1;
                if !self.walker.spend_work(1) {
                    break;
                }
            }
            if !self.is(at, '+') {
                break;
            }
            at += 1;
        }
        value.unwrap_or_else(Value::unknown)
    }

    fn span(&self, at: usize) -> Span {
        let start = self.get(at).map_or(0, |token| token.at);
        [start, start]
    }
}

fn lex(script: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = script.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let start = u32::try_from(at).unwrap_or(u32::MAX);
        let next = chars.peek().map(|(_, next)| *next);
        let kind = match (char, next) {
            ('/', Some('/')) => {
                while chars.next_if(|(_, char)| *char != '\n').is_some() {}
                continue;
            }
            ('/', Some('*')) => {
                let mut star = false;
                for (_, char) in chars.by_ref().skip(1) {
                    if star && char == '/' {
                        break;
                    }
                    star = char == '*';
                }
                continue;
            }
            ('"' | '\'' | '`', _) => {
                let mut text = String::new();
                while let Some((_, inner)) = chars.next() {
                    match inner {
                        '\\' => match chars.next() {
                            Some((_, 'n')) => text.push('\n'),
                            Some((_, other)) => text.push(other),
                            None => {}
                        },
                        '$' if char == '`'
                            && chars.peek().is_some_and(|(_, next)| *next == '{') =>
                        {
                            while chars.next_if(|(_, char)| *char != '}').is_some() {}
                            chars.next();
                            text.push(UNKNOWN);
                        }
                        inner if inner == char => break,
                        inner => text.push(inner),
                    }
                }
                Kind::Text(text)
            }
            (char, _) if char.is_alphabetic() || "_$".contains(char) => {
                let mut name = String::from(char);
                while let Some((_, more)) =
                    chars.next_if(|(_, char)| char.is_alphanumeric() || *char == '_')
                {
                    name.push(more);
                }
                Kind::Name(name)
            }
            (char, _) if char.is_whitespace() => continue,
            (char, _) => Kind::Sign(char),
        };
        tokens.push(Token { kind, at: start });
    }
    tokens
}
