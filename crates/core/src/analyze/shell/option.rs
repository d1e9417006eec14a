//! Options whose value is a command in any program, and lines that a client reads as its own
//! commands.
//!
//! `--rsh`, `--on-exit`, `--pager` mean the same in every tool: the value is run. It is judged as a
//! command, so a harmless one needs no confirmation.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::follow::quote;
use super::value::{Arg, Stream};
use crate::action::Language;
use crate::analyze::code;
use crate::analyze::shell::state::SharedState;
use crate::fact::{Fact, FactKind};
use crate::verdict::Span;
use crate::words::{self, has};

/// The number of commands that are followed in one option.
const MOST_COMMANDS: u32 = 64;
/// The number of input lines that are followed; further lines need a confirmation.
const MOST_LINES: usize = 40;

impl Walker<'_> {
    /// Follows commands in the values of options.
    pub(super) fn commands_in_options(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        if self.is_floor {
            return;
        }
        let words = args.words();
        for (at, word) in words.iter().enumerate() {
            let Some(option) = word.text.strip_prefix("--") else { continue };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(word.saying(value))),
                None => (option, words.get(at + 1).cloned()),
            };
            let Some(value) = value.filter(|value| takes_command(name, value)) else { continue };
            self.given_command(&value, span);
        }
    }

    /// Follows a command in a single word of an unknown program.
    pub(super) fn commands_in_words(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        if self.is_floor {
            return;
        }
        for word in args.words() {
            let mut parts = word.text.split_whitespace();
            let starts = parts.next().is_some_and(super::floor::can_block);
            if starts && parts.next().is_some_and(|next| next.starts_with('-')) {
                self.given_command(word, span);
            }
        }
    }

    /// Judges a command that a program is given. A text that turns out not to be a command is
    /// ignored.
    pub(super) fn given_command(&mut self, value: &Arg, span: Option<Span>) {
        let span = value.span.or(span);
        if code::sql::is_statement(&value.text) {
            let found = code::analyze(Language::Sql, &value.text, None, &self.scene_now().deeper());
            return self.merge(found, span);
        }
        let mut reader = Walker::new(self.scene_now().deeper());
        reader.fuel = MOST_COMMANDS;
        reader.depth = self.depth;
        reader.state = SharedState::clone(&self.state);
        reader.script(&value.text, None, Stream::caller());
        let mut found = std::mem::take(&mut reader.analysis);
        found.facts.retain(|fact| {
            !matches!(
                fact.kind,
                FactKind::Unparsed | FactKind::UnknownCommand | FactKind::AssumedCommand
            )
        });
        self.merge(found, span);
    }

    /// Follows the lines that a client reads from its input as if each were on its command line.
    pub(super) fn commands_in_input(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let Some(text) = stdin.text.as_deref().filter(|_| !stdin.from_caller) else { return };
        let lines = text.lines().flat_map(|line| line.split(';')).map(str::trim);
        for (count, line) in lines.filter(|line| !line.is_empty()).enumerate() {
            if count >= MOST_LINES {
                self.note(Fact::new(FactKind::Bound, "too many lines of input").at(span));
                return;
            }
            let first = line.split_whitespace().next().unwrap_or_default();
            if super::verb::is_order(first) && line.contains(' ') {
                self.note(Fact::new(FactKind::DestructiveVerb, format!("{name}: {line}")).at(span));
            }
            if let Some(command) = line.strip_prefix('!') {
                let content = Stream::known(command.to_owned(), stdin.taint);
                self.follow_text(Code::Shell, &content, span, &Stream::caller());
                continue;
            }
            // Input for another machine is treated as commands of an unknown server.
            let mut given = match name {
                "nc" | "ncat" | "netcat" | "telnet" | "socat" => vec![Arg::literal("server")],
                _ => vec![Arg::literal(name)],
            };
            given.extend(
                args.options()
                    .filter(|_| name != "telnet" && !name.contains("nc") && !name.contains("cat"))
                    .cloned(),
            );
            given.extend(
                line.split_whitespace().map(|word| Arg { span, ..Arg::literal(unquoted(word)) }),
            );
            if given.len() > 1 {
                self.follow_command(given, Stream::caller());
            }
        }
    }
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['\'', '"', ','])
}

/// Reports whether an option of this name takes this value as a command.
fn takes_command(name: &str, value: &Arg) -> bool {
    let full = format!("--{name}");
    let text = value.text.trim();
    let several = text.contains(' ');
    if text.is_empty() || text.starts_with('-') || quote(text).len() > 8192 {
        return false;
    }
    if has(words::OPTIONS_NOT_COMMANDS, &full) {
        return several && has(words::OPTIONS_COMMANDS_WITH_WORDS, &full);
    }
    let last = name.rsplit('-').next().unwrap_or(name);
    let first = name.split('-').next().unwrap_or(name);
    let names_file = matches!(last, "bin" | "binary") && last.len() < name.len();
    (names_file && text.starts_with(['/', '~']))
        || has(words::OPTIONS_COMMAND_ENDINGS, last)
        || has(words::OPTIONS_COMMAND_ENDINGS, name)
        || ((several || text.contains('/'))
            && first.len() < name.len()
            && has(words::OPTIONS_COMMAND_STARTS, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_apart_by_their_names() {
        let takes = |name: &str, value: &str| takes_command(name, &Arg::literal(value));
        assert!(takes("on-exit", "rm -r x"));
        assert!(takes("rsh", "ssh"));
        assert!(takes("post-command", "./x"));
        assert!(takes("pager", "sh -c x"));
        assert!(!takes("pager", "less"));
        assert!(!takes("filter", "name=web"));
        assert!(!takes("on-error", "ignore it"));
        assert!(!takes("output", "rm -r x"));
    }
}
