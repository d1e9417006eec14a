//! Commands of git that run a program on the remote end, or discard the changes of many files.

use super::Walker;
use super::arguments::Arguments;
use super::value::Arg;
use crate::fact::{Fact, FactKind};
use crate::location;
use crate::verdict::Span;

impl Walker<'_> {
    /// Records changes of many files at once: `git checkout -- src/`, `git restore '*.rs'`, `git rm
    /// '*'`.
    pub(super) fn discards(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let Some((verb, rest)) = args.operands().split_first() else { return };
        let keeps = match verb.text.as_str() {
            "restore" => args.has_any(&["--staged", "-S"]) && !args.has_any(&["--worktree", "-W"]),
            "checkout" => !args.words().iter().any(|word| word.text == "--"),
            "rm" => args.has_any(&["--cached", "-n", "--dry-run"]),
            _ => return,
        };
        let is_many = |word: &&&Arg| {
            word.text.ends_with('/')
                || word.text.contains('*')
                || matches!(word.text.as_str(), ":/" | ".")
        };
        if let Some(word) = rest.iter().find(is_many).filter(|_| !keeps) {
            let subject = format!("git {} {}", verb.text, location::shown(&word.text));
            self.note(Fact::new(FactKind::DestructiveVerb, subject).at(word.span.or(span)));
        }
    }

    /// Records a program given for the remote end: `git clone -u COMMAND`, `git ls-remote --exec
    /// COMMAND`.
    pub(super) fn git_transport(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let verb = args.operand(0).unwrap_or_default();
        if !matches!(verb, "clone" | "fetch-pack" | "ls-remote" | "archive") {
            return;
        }
        for command in args.values(&["-u", "--exec"]) {
            if !command.text.starts_with("git-upload") && !command.text.starts_with("git upload") {
                self.note(Fact::new(FactKind::ShellEscape, command.text.clone()).at(span));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, Context, Policy, Verdict, judge};

    #[test]
    fn changes_of_many_files_are_not_thrown_away_unasked() {
        let verdict = |command: &str| {
            let action = Action::Shell { command: command.into(), cwd: None };
            judge(&action, &Policy::default(), &Context::default()).verdict
        };
        for command in [
            "git restore 'lib/*.c'",
            "git checkout -- lib/",
            "git rm '*.c'",
            "git clone -u 'sh x' a b",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            "git restore README.md",
            "git checkout -- a.c",
            "git rm --cached '*.c'",
            "git push -u origin main",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
