//! Scheduled jobs, and the guard seen from an agent's shell.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::Stream;
use crate::fact::{Fact, FactKind, Tag};
use crate::place;
use crate::verdict::Span;

impl Walker<'_> {
    /// `crontab FILE`, `… | crontab -`, `crontab -r`.
    pub(super) fn crontab(&mut self, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        if args.has("-l") {
            return;
        }
        let subject = if args.has("-r") { "removes every job" } else { "crontab" };
        self.note(Fact::new(FactKind::Schedule, subject).at(span));
        if args.operand(0) == Some("-")
            && let Some(text) = &stdin.text
        {
            for line in text.lines() {
                let command = line.split_whitespace().skip(5).collect::<Vec<_>>().join(" ");
                if !command.is_empty() {
                    let content = Stream::known(command, stdin.taint);
                    self.run_text(Code::Shell, &content, span, &Stream::empty());
                }
            }
        }
    }

    /// Our own commands: looking is fine, deciding or changing is not.
    pub(super) fn guard(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let words: Vec<&str> = args.operands().iter().map(|arg| arg.text.as_str()).collect();
        let looks = matches!(
            words.as_slice(),
            [] | [
                "check"
                    | "explain"
                    | "schema"
                    | "completions"
                    | "man"
                    | "doctor"
                    | "redact"
                    | "help",
                ..
            ] | [
                "rules" | "config" | "approvals" | "sessions" | "audit" | "receipt",
                "list" | "show" | "check" | "test" | "verify" | "watch" | "key",
                ..
            ]
        );
        if !looks {
            let subject = format!("countersign {}", words.join(" "));
            self.note(Fact::new(FactKind::GuardCommand, subject).at(span));
        }
    }

    /// The server's socket: whoever talks to it as its user is its owner, and can answer.
    pub(super) fn guard_socket(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if MENTIONS.contains(&name) {
            return;
        }
        let scene = self.scene_now();
        // `UNIX-CONNECT:server.sock`, `--unix-socket=server.sock`
        let is_ours = |part: &str| {
            part.ends_with("server.sock") && place::locate(part, &scene).has(Tag::Guard)
        };
        let reaches = args.words().iter().any(|word| {
            word.text.contains(SOCKET) || word.text.split([':', '=', ',']).any(is_ours)
        });
        if reaches {
            self.note(Fact::new(FactKind::GuardCommand, SOCKET).at(span));
        }
    }
}

const SOCKET: &str = "countersign/server.sock";
/// Programs that look at a name, or write it down, and connect to nothing.
const MENTIONS: &[&str] = &[
    "echo", "printf", "ls", "stat", "file", "test", "[", "find", "grep", "rg", "git", "cat", "ss",
    "lsof", "fuser",
];
