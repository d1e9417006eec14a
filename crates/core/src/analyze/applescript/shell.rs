//! Commands passed to a shell or a terminal, and scripts passed to another script.

use super::app::App;
use super::lex::Token;
use super::verb::ahead;
use super::{Walker, nested, reader, span_of};
use crate::analyze::{Analysis, UNKNOWN, shell};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::verdict::Span;

/// The number of bytes of commands that are analyzed in one script, without repeats.
const MOST_HANDED: usize = 512 * 1024;

/// Programs that destroy, or act as root, by themselves.
const DESTRUCTIVE: &[&str] = &[
    "rm", "srm", "rmdir", "unlink", "shred", "sudo", "su", "doas", "chmod", "chown", "chgrp", "dd",
    "format", "mkfs", "newfs", "asr", "gpt", "fdisk",
];

impl Walker<'_> {
    /// Follows `do shell script x with administrator privileges`.
    pub(super) fn shell_script(&mut self, rest: &[Token<'_>]) {
        let (command, used) = self.value(rest.get(3..).unwrap_or_default());
        let span = span_of(rest.get(..3 + used).unwrap_or(rest));
        let more = ahead(rest.get(3 + used..).unwrap_or_default());
        let elevated = more.iter().enumerate().any(|(at, token)| {
            let next = more.get(at + 1).map_or("", |token| token.word());
            let value = more.get(at + 2).map_or("", |token| token.word());
            let before = at.checked_sub(1).and_then(|at| more.get(at));
            token.word() == "administrator"
                && next.starts_with("privilege")
                && value != "false"
                && before.is_none_or(|before| before.word() != "without")
        });
        if elevated {
            self.note(FactKind::ScriptElevated, shown(&command.texts), span);
            self.shell_password(more);
        }
        self.hand(&command.texts, elevated, span);
    }

    fn shell_password(&mut self, more: &[Token<'_>]) {
        let Some(at) = more.iter().position(|token| token.word() == "password") else { return };
        let (given, _) = self.value(more.get(at + 1..).unwrap_or_default());
        if given.texts.iter().any(|text| !text.is_empty() && !text.contains(UNKNOWN)) {
            let span = more.get(at).map_or([0, 0], |token| token.span);
            self.note(FactKind::ScriptPassword, "a password in the script", span);
        }
    }

    /// Follows `do script x` and `write text x`: text sent to a terminal.
    pub(super) fn terminal(&mut self, given: &[Token<'_>], rest: &[Token<'_>]) {
        match self.listener() {
            App::Terminal | App::Unknown | App::SystemEvents | App::Finder | App::Other => {}
            // An app's own language, such as that of a drawing program.
            _ => return self.tell_of(FactKind::UnknownCode, rest),
        }
        if given.is_empty() {
            return;
        }
        let (command, used) = self.value(given);
        let words = rest.len().saturating_sub(given.len()).saturating_add(used);
        self.hand(&command.texts, false, span_of(rest.get(..words).unwrap_or(rest)));
    }

    /// Follows a keystroke: text typed into a terminal is a command.
    pub(super) fn keystroke(&mut self, rest: &[Token<'_>]) {
        self.tell_of(FactKind::ScriptKeystroke, rest);
        let (typed, used) = self.value(rest.get(1..).unwrap_or_default());
        let span = span_of(ahead(rest));
        let key = typed.only().unwrap_or_default().to_owned();
        self.shortcut(rest, &key);
        let held = rest.get(used + 1..).unwrap_or_default().iter().take(6);
        let held = held.filter(|token| token.word() == "command").count() > 0;
        let sent = typed.texts.iter().any(|text| text.trim().len() > 1 && ends_in_return(text));
        match self.front {
            App::Protection => self.tell_of(FactKind::ScriptSecuritySetting, rest),
            App::Messages if sent => self.tell_of(FactKind::ScriptSend, rest),
            _ => {}
        }
        if let Some(field) = self.focused.clone().filter(|_| !held) {
            self.filled(field, &typed.texts, span);
        }
        if self.front == App::Terminal || self.listener() == App::Terminal {
            let lines = if held && key == "v" { self.copied.clone() } else { typed.texts.clone() };
            let lines: Vec<_> = lines.into_iter().filter(|text| text.trim().len() > 1).collect();
            self.hand(&lines, false, span);
        } else if !held && App::named(key.trim()) == App::Terminal {
            // Typed into the search of the system, its name brings it to the front.
            self.front = App::Terminal;
        }
    }

    /// Follows `run script x`.
    pub(super) fn run_script(&mut self, rest: &[Token<'_>]) {
        let given = rest.get(2..).unwrap_or_default();
        let from_file =
            given.iter().take(2).any(|token| matches!(token.word(), "file" | "alias" | "posix"));
        let (script, used) = self.value(given);
        let span = span_of(rest.get(..2 + used).unwrap_or(rest));
        for text in script.texts {
            if from_file || text.trim_matches(UNKNOWN).trim().is_empty() {
                self.note(FactKind::UnknownCode, "run script", span);
            } else if self.may_read(&text, span) {
                let found = nested(&text, &self.scene, Some(span));
                self.merge(found, span);
            }
        }
    }

    /// Reports whether another text may still be read, and records it when not.
    pub(super) fn may_read(&mut self, text: &str, span: Span) -> bool {
        if self.rehearsing || !self.handed.insert(text.to_owned()) {
            return false;
        }
        self.handed_bytes = self.handed_bytes.saturating_add(text.len());
        let fits = self.handed_bytes <= MOST_HANDED && !self.scene.too_deep();
        if !fits {
            self.note(FactKind::Bound, "more commands than can be followed", span);
        }
        fits
    }

    /// Passes commands to the shell analyzer: each text is one that could run.
    pub(super) fn hand(&mut self, texts: &[String], elevated: bool, span: Span) {
        for text in texts {
            if text.trim().is_empty() || self.rehearsing {
                continue;
            }
            if text.trim_matches(|char: char| char == UNKNOWN || char.is_whitespace()).is_empty() {
                self.note(FactKind::UnknownCode, "do shell script", span);
                continue;
            }
            if !self.may_read(text, span) {
                continue;
            }
            // AppleScript's lines end in a carriage return; a shell's do not.
            let command = text.replace('\r', "\n");
            let mut found = shell::analyze(&command, &self.scene.deeper());
            if elevated {
                let tags = Tags::of(&[Tag::Elevated]);
                found.facts = found.facts.into_iter().map(|fact| fact.tagged(tags)).collect();
            }
            self.add(Fact::new(weigh(&found), shown(std::slice::from_ref(text))).at(Some(span)));
            if text.contains(UNKNOWN) {
                let subject = shown(std::slice::from_ref(text));
                self.note(FactKind::ScriptShellUnknown, subject, span);
            }
            self.merge(found, span);
        }
    }
}

/// Returns the severity of a command's effects.
fn weigh(found: &Analysis) -> FactKind {
    let destroys = found.commands.iter().any(|command| {
        let program = command.program.split('.').next().unwrap_or_default();
        let program = program.split_once('_').map_or(program, |(program, _)| program);
        DESTRUCTIVE.contains(&program)
            || (program == "diskutil" && command.operands().any(|word| word.starts_with("erase")))
    }) || found.facts.iter().any(|fact| fact.tags.has(Tag::Elevated));
    if destroys {
        FactKind::ScriptShellDestructive
    } else if reader::only_reads(found) {
        FactKind::ScriptShellRead
    } else {
        FactKind::ScriptShell
    }
}

/// Whether what is typed ends with the key that sends it.
fn ends_in_return(text: &str) -> bool {
    text.ends_with(['\r', '\n', UNKNOWN])
}

fn shown(texts: &[String]) -> String {
    let text = texts.first().map_or("", String::as_str);
    text.chars().take(160).map(|char| if char == UNKNOWN { '…' } else { char }).collect()
}
