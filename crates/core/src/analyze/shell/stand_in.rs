//! Programs that do the work of another one: `cmake -E rm`, `ruby -run -e rm`, `python -m pip`.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Code, Program};
use super::value::{Arg, Stream};
use crate::fact::{FactKind, Tags};
use crate::verdict::Span;

/// Verbs of `cmake -E` and the equivalent commands.
const CMAKE: &[(&str, &[&str])] = &[
    ("rm", &["rm"]),
    ("remove", &["rm"]),
    ("remove_directory", &["rm", "-r"]),
    ("copy", &["cp"]),
    ("copy_directory", &["cp", "-r"]),
    ("copy_if_different", &["cp"]),
    ("rename", &["mv"]),
    ("create_symlink", &["ln", "-s"]),
    ("create_hardlink", &["ln"]),
    ("tar", &["tar"]),
    ("cat", &["cat"]),
    ("touch", &["touch"]),
    ("env", &["env"]),
    ("time", &["time"]),
    ("chdir", &["env", "-C"]),
];

/// Functions of Perl's `ExtUtils::Command` and the equivalent commands.
const EXT_UTILS: &[(&str, &[&str])] = &[
    ("rm_rf", &["rm", "-rf"]),
    ("rm_f", &["rm", "-f"]),
    ("mv", &["mv"]),
    ("cp", &["cp"]),
    ("cat", &["cat"]),
    ("touch", &["touch"]),
    ("chmod", &["chmod"]),
];

/// Functions of Ruby's `un`, which are named like their commands.
const UN: &[&str] = &["rm", "rmdir", "mv", "cp", "ln", "chmod", "install", "touch", "mkdir"];

impl Walker<'_> {
    /// Follows the command that a call is equivalent to; `None` when there is none.
    pub(super) fn stands_in(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        let words = args.words();
        self.console(name, args, stdin, span);
        match name {
            "yarn" if after(words, "node").is_some() && args.operand(0) == Some("node") => {
                let mut line = vec![Arg::literal("node")];
                line.extend(after(words, "node")?.iter().cloned());
                Some(self.follow_command(line, stdin.clone()))
            }
            "yarn" | "pnpm" | "lerna" | "npm"
                if args.operands().iter().any(|word| word.text == "exec") =>
            {
                let command = after(words, "exec")?;
                let at = command.iter().position(|word| !word.text.starts_with('-'))?;
                Some(self.follow_command(command.get(at..)?.to_vec(), stdin.clone()))
            }
            "rake" | "mix" | "just" => self.given_source_text(name, args, stdin, span),
            "cmake" => self.follow_as(CMAKE, after(words, "-E")?, stdin),
            "perl" if words.iter().any(|word| word.text.contains("ExtUtils::Command")) => {
                self.follow_as(EXT_UTILS, after(words, "-e")?, stdin)
            }
            "ruby" if words.iter().any(|word| word.text == "-run" || word.text == "-rune") => {
                let script = after(words, "-e").or_else(|| after(words, "-rune"))?;
                self.un(script, stdin)
            }
            "python" | "python2" | "python3" | "pypy" | "pypy3" => {
                self.python_program(args, stdin, span)
            }
            "mvn" | "mvnw" => {
                let value = |option| args.value(&[option]).map(|value| value.text);
                let program = value("-Dexec.executable")?;
                let line = format!("{program} {}", value("-Dexec.args").unwrap_or_default());
                Some(self.child_script(&line, span, stdin.clone()))
            }
            "npm" | "pnpm" | "yarn" => self.set_scripts(args, span),
            "nix" => {
                let command = after(words, "-c").or_else(|| after(words, "--command"))?;
                Some(self.follow_command(command.to_vec(), stdin.clone()))
            }
            "podman" | "buildah" if args.operand(0) == Some("unshare") => {
                Some(self.follow_command(after(words, "unshare")?.to_vec(), stdin.clone()))
            }
            "ip" if args.operand(0) == Some("netns") => {
                let command = after(words, "exec")?.get(1..)?.to_vec();
                self.wrapped += 1;
                let out = self.follow_command(command, stdin.clone());
                self.wrapped -= 1;
                Some(out)
            }
            "gh" | "glab" if args.operand(0) == Some("alias") => self.kept_alias(args, span),
            "git" | "grep" | "rg" | "ag" | "find" | "ls" | "echo" | "printf" | "test" => None,
            _ if program.is_none_or(|program| program.runs.is_none()) => {
                self.after_dashes(words, stdin)
            }
            _ => None,
        }
    }

    /// Follows a command that is stored to be run later: `npm pkg set scripts.test='…'`.
    fn set_scripts(&mut self, args: &Arguments<'_>, span: Option<Span>) -> Option<Stream> {
        let scripts = args.operands().iter().filter(|word| word.text.starts_with("scripts."));
        let lines: Vec<_> =
            scripts.filter_map(|word| word.text.split_once('=')).map(|(_, line)| line).collect();
        if args.operand(0) == Some("pkg") {
            for line in lines {
                self.child_script(line, span, Stream::caller());
            }
        }
        None
    }

    /// Follows a command that is stored to be run later: `gh alias set --shell NAME '…'`.
    fn kept_alias(&mut self, args: &Arguments<'_>, span: Option<Span>) -> Option<Stream> {
        let line = args.operands().get(3).filter(|_| args.operand(1) == Some("set"))?;
        let command = line.text.strip_prefix('!');
        if args.has_any(&["-s", "--shell"]) || command.is_some() {
            self.child_script(command.unwrap_or(&line.text), line.span.or(span), Stream::caller());
        }
        None
    }

    /// Follows the command that the first of these words is equivalent to.
    fn follow_as(
        &mut self,
        verbs: &[(&str, &[&str])],
        words: &[Arg],
        stdin: &Stream,
    ) -> Option<Stream> {
        let (verb, rest) = words.split_first()?;
        let (_, command) = verbs.iter().find(|(known, _)| *known == verb.text)?;
        let mut line: Vec<_> = command.iter().map(|word| verb.saying((*word).to_owned())).collect();
        line.extend(rest.iter().cloned());
        Some(self.follow_command(line, stdin.clone()))
    }

    /// Follows `ruby -run -e rm -- -rf x` and `ruby -run -e httpd folder`.
    fn un(&mut self, words: &[Arg], stdin: &Stream) -> Option<Stream> {
        let (verb, rest) = words.split_first()?;
        let rest = match rest {
            [dashes, rest @ ..] if dashes.text == "--" => rest,
            rest => rest,
        };
        if verb.text == "httpd" {
            for folder in rest.iter().filter(|word| !word.text.starts_with('-')) {
                self.note_path(FactKind::Serve, folder, Tags::NONE);
            }
            return Some(Stream::empty());
        }
        UN.contains(&verb.text.as_str()).then(|| {
            let mut line = vec![verb.clone()];
            line.extend(rest.iter().cloned());
            self.follow_command(line, stdin.clone())
        })
    }

    /// Follows a module that this script has written.
    pub(super) fn own_module(
        &mut self,
        module: &str,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        let file = Arg { span, ..Arg::literal(format!("{}.py", module.replace('.', "/"))) };
        if !self.made_here(&file.text) {
            return None;
        }
        let content = self.content_of(&file);
        Some(self.follow_text(Code::Python, &content, span, stdin))
    }

    /// Follows the words after the dashes as a command when they begin with a program that does
    /// something: `sometool --option -- rm x`.
    fn after_dashes(&mut self, words: &[Arg], stdin: &Stream) -> Option<Stream> {
        let command = after(words, "--")?;
        let first = command.first()?;
        let program = catalogue::program(&first.text)?;
        let acts = program.wraps.is_some()
            || program.runs.is_some()
            || program.does.iter().any(|effect| effect.fact != FactKind::Read);
        acts.then(|| self.follow_command(command.to_vec(), stdin.clone()))
    }
}

/// Returns the words after this one.
pub(super) fn after<'w>(words: &'w [Arg], mark: &str) -> Option<&'w [Arg]> {
    let at = words.iter().position(|word| word.text == mark)?;
    words.get(at + 1..).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::{Action, Context, Policy, Verdict, judge};

    fn verdict(command: &str) -> Verdict {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            cwd: Some("/home/dev/project".into()),
            ..Context::default()
        };
        let action = Action::Shell { command: command.into(), cwd: None };
        judge(&action, &Policy::default(), &context).verdict
    }

    #[test]
    fn the_command_that_is_stood_for_is_judged() {
        for command in [
            "cmake -E rm -rf /",
            "cmake -E env rm -rf /",
            "ruby -run -e rm -- -rf /",
            "perl -MExtUtils::Command -e rm_rf /",
        ] {
            assert_eq!(verdict(command), Verdict::Block, "{command}");
        }
        for command in [
            "cmake -E remove_directory lib",
            "python3 -m pip install git+https://example.com/x.git",
            "python3 -m tarfile -e x.tar ~",
            "python3 -m zipfile -c x.zip ~/.ssh",
            "python3 -m sqlite3 app.db 'drop table users'",
            "ruby -run -e httpd ~",
            "sometool -j4 -- rm -rf lib",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            "cmake -E make_directory out",
            "cmake -E copy a b",
            "python3 -m json.tool a.json",
            "python3 -m venv .venv",
            "python3 -m pip install requests",
            "sometool -- ls",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
