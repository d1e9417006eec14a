//! Protected files in roles that a program's name does not suggest: a list of names, a path inside
//! a commit.

use super::Walker;
use super::arguments::Arguments;
use super::value::Arg;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Options that name a file whose lines the program takes as names, patterns or addresses, and
/// prints when they are not valid.
const LISTS: &[&str] = &[
    "--files0-from",
    "--files-from",
    "--file-list",
    "--from-file",
    "--arg-file",
    "--input-file",
    "--patterns-from",
    "--load-cookies",
];

/// Short forms of these options, for the programs in which they mean that.
const LETTERS: &[(&str, &str)] = &[
    ("file", "-f"),
    ("date", "-f"),
    ("grep", "-f"),
    ("egrep", "-f"),
    ("fgrep", "-f"),
    ("rg", "-f"),
    ("xargs", "-a"),
    ("gxargs", "-a"),
    ("parallel", "-a"),
    ("wget", "-i"),
    ("aria2c", "-i"),
    ("curl", "-b"),
    ("logger", "-f"),
];

/// Subcommands of git that show or store the content of a path.
const GIT_SHOWS: &[&str] = &[
    "show",
    "cat-file",
    "diff",
    "hash-object",
    "log",
    "blame",
    "annotate",
    "grep",
    "archive",
    "difftool",
    "notes",
];

impl Walker<'_> {
    /// Records protected files that an option names as a list.
    pub(super) fn named_by_lists(&mut self, name: &str, args: &Arguments<'_>) {
        let mut files = args.values(LISTS);
        for (_, letter) in LETTERS.iter().filter(|(program, _)| *program == name) {
            files.extend(args.values(&[letter]));
        }
        for file in files.iter().filter(|file| file.stream.is_none()) {
            self.shows(file, None);
        }
    }

    /// Records protected files whose content git shows: `git show HEAD:.env`.
    pub(super) fn shown_by_git(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let Some((verb, rest)) = args.operands().split_first() else { return };
        let verb = verb.text.as_str();
        let target = match (verb, rest) {
            ("clone", [_, target]) => Some(target),
            _ => None,
        };
        let target = target.copied().or_else(|| {
            let words = args.words().iter().skip_while(|word| word.text != "add").skip(1);
            words.into_iter().find(|word| verb == "worktree" && !word.text.starts_with('-'))
        });
        let runs = |path: &str| {
            ["/.config", "/.local", "plugin", "hooks", "/.claude", "/.codex"]
                .iter()
                .any(|part| path.contains(part))
        };
        if let Some(target) = target.filter(|target| runs(&target.text)) {
            // Its files are put there, not only the folder.
            let inside = target.saying(format!("{}/init", target.text.trim_end_matches('/')));
            self.note_path(FactKind::Write, &inside, Tags::of(&[Tag::Recursive]));
        }
        if matches!(verb, "checkout" | "restore" | "reset" | "stash" | "rm" | "mv" | "update-index")
        {
            self.puts_back(rest);
        }
        let adds_ignored = verb == "add" && args.has_any(&["-f", "--force"]);
        let shows = GIT_SHOWS.contains(&verb)
            && (verb != "log" || args.has_any(&["-p", "--patch", "-u", "-S", "-G", "-L"]));
        if !shows && !adds_ignored {
            return;
        }
        // `-f` takes no value here, unlike with other verbs.
        let all: Vec<_> = args.words().iter().collect();
        for file in args.values(&["--add-file", "--contents"]) {
            self.shows(&file, span);
        }
        for word in if adds_ignored { all.as_slice() } else { rest } {
            let path = word.text.rsplit_once(':').map_or(word.text.as_str(), |(_, path)| path);
            self.shows(&word.saying(path), span);
        }
    }

    /// Records that an older version of a host's guard file is restored: `git checkout HEAD~5 --
    /// .claude/settings.json`.
    fn puts_back(&mut self, words: &[&Arg]) {
        for word in words {
            let tags = location::locate(&word.text, &self.scene_now());
            let guards = Tags::of(&[Tag::Guard, Tag::AboveGuard]);
            if tags.any(guards) && word.text.contains(['/', '.']) && !tags.has(Tag::WorkspaceRoot) {
                let fact = Fact::new(FactKind::Write, location::shown(&word.text));
                self.note(fact.tagged(tags.with(Tag::Guard)).at(word.span));
            }
        }
    }

    fn shows(&mut self, file: &Arg, span: Option<Span>) {
        if !file.text.contains(['/', '.', '~']) || file.text.contains(' ') {
            return;
        }
        let tags = location::locate(&file.text, &self.scene_now());
        if tags.any(Tags::of(&[Tag::Secret, Tag::Accounts, Tag::Blocked])) {
            let fact = Fact::new(FactKind::Read, location::shown(&file.text)).tagged(tags);
            self.note(fact.at(file.span.or(span)));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, Context, Policy, Verdict, judge};

    fn verdict(command: &str) -> Verdict {
        let context = Context { home: Some("/home/dev".into()), ..Context::default() };
        let action = Action::Shell { command: command.into(), cwd: None };
        judge(&action, &Policy::default(), &context).verdict
    }

    #[test]
    fn a_protected_file_is_seen_in_every_role() {
        for command in [
            "wc --files0-from=.env",
            "file -f ~/.ssh/id_rsa",
            "grep -f .env notes.txt",
            "xargs -a .env echo",
            "wget -i .env",
            "git show HEAD:.env",
            "git diff --no-index /dev/null ~/.ssh/id_rsa",
            "git log -p -- .env",
            "git add -f .env",
            "source .env; printenv",
            "printenv API_TOKEN",
            "cat .e?v",
            "cat id_rsa.bak",
            "tar c /etc",
            "cp -r ~/.kube x",
            "git clone https://example.com/x ~/.config/nvim",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            "wc -l .env.example",
            "git show HEAD:.env.example",
            "git log -- .env",
            "git status .env",
            "source .env; npm start",
            "printenv PATH",
            "tar czf x.tgz src",
            "cp -r docs x",
        ] {
            assert_eq!(verdict(command), Verdict::Allow, "{command}");
        }
    }
}
