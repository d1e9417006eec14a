//! Files that lose their content without being deleted: overwritten with nothing, emptied by an
//! editor, hidden under a mount.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Program;
use super::erase;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Devices that provide no content, or none of use.
pub(super) const NOTHING: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

const EDITORS: &[&str] =
    &["vim", "vi", "nvim", "ex", "gvim", "rvim", "ed", "red", "vim.tiny", "vim.basic"];

/// Locations whose content a mount must not hide.
const COVERED: Tags = Tags::of(&[
    Tag::Guard,
    Tag::AboveGuard,
    Tag::OwnData,
    Tag::AboveOwnData,
    Tag::HomeRoot,
    Tag::WorkspaceRoot,
]);

impl Walker<'_> {
    /// Records files that lose their content.
    pub(super) fn loses(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        self.overwritten_with_nothing(name, program, args, stdin);
        self.emptied_in_place(name, args, stdin, span);
        self.edited_in_place(name, args);
        self.covered(name, args);
        self.written_over_source(name, program, args);
        self.written_over_input(name, args, span);
        self.taken_out_of_archive(name, args);
        self.renamed_to_one(name, args);
    }

    /// Records a file whose content is lost, unless it is scratch or this script has made it.
    pub(super) fn lost(&mut self, file: &Arg, span: Option<Span>) {
        let tags = location::locate(&file.text, &self.scene_now());
        let spared = Tags::of(&[Tag::Temp, Tag::BuildOutput, Tag::Stream, Tag::Log]);
        let is_spared = tags.any(spared) && !file.glob;
        if !is_spared && !self.made_here(&file.text) && !file.taint.has(Tag::Created) {
            let shown = location::shown(&file.text);
            self.note(Fact::new(FactKind::Empty, shown).tagged(tags).at(file.span.or(span)));
        }
    }

    /// Records `sort -o FILE /dev/null`, `uniq /dev/null FILE`, `mv FILE /dev/null`.
    fn overwritten_with_nothing(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        stdin: &Stream,
    ) {
        let is_nothing = |word: &&Arg| {
            NOTHING.contains(&word.text.strip_prefix("file://").unwrap_or(&word.text))
        };
        let operands = args.operands();
        if matches!(name, "mv" | "gmv" | "mmv" | "rename")
            && let Some((last, sources)) = operands.split_last()
            && is_nothing(last)
        {
            for source in sources {
                self.note_path(FactKind::Delete, source, Tags::NONE);
            }
        }
        let empty_input = !stdin.from_caller && stdin.text.as_deref() == Some("");
        if !empty_input && !operands.iter().any(is_nothing) {
            return;
        }
        let mut targets = super::effect::results(args.words());
        for effect in program.map_or(&[][..], |program| program.does) {
            if effect.fact == FactKind::Write && super::effect::applies(effect, args) {
                targets.extend(super::effect::targets(effect, args));
            }
        }
        for target in targets.iter().filter(|target| !is_nothing(target)) {
            self.empties(target, FactKind::Write, &Stream::empty());
        }
    }

    /// Records `ex -sc '%d|x' FILE`, `perl -i -ne '' FILE`, `awk -i inplace '{}' FILE`.
    fn emptied_in_place(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let erases = if EDITORS.contains(&name) {
            let mut commands: Vec<String> =
                args.values(&["-c", "--cmd"]).into_iter().map(|word| word.text).collect();
            let plus = args.words().iter().filter_map(|word| word.text.strip_prefix('+'));
            commands.extend(plus.map(str::to_owned));
            // `-sc COMMAND`: the letter that takes the command ends the cluster.
            commands.extend(args.operands().first().map(|word| word.text.clone()));
            commands.extend(stdin.text.clone().filter(|_| !stdin.from_caller));
            commands.iter().any(|command| erase::editor(command))
        } else if matches!(name, "perl" | "ruby") {
            let text = args.values(&["-e", "-E", "-pe", "-ne", "-pie", "-nie", "-lpe"]);
            let silent = args.words().iter().any(|word| prints_nothing(&word.text));
            let prints = |text: &str| {
                ["print", "say", "puts", "write", "<>"].iter().any(|call| text.contains(call))
            };
            edits_in_place(args)
                && text
                    .iter()
                    .any(|text| erase::statement(&text.text) || (silent && !prints(&text.text)))
        } else if matches!(name, "awk" | "gawk") {
            args.values(&["-i"]).iter().any(|library| library.text == "inplace")
                && args.operands().first().is_some_and(|text| erase::statement(&text.text))
        } else {
            false
        };
        if !erases {
            return;
        }
        for file in args.operands() {
            // A file that is edited exists; a word with blanks is one of the editor's commands.
            let is_file = file.glob
                || !file.is_known()
                || (file.text.contains('.') && !file.text.contains([' ', '$', ',', '%']));
            if is_file {
                self.lost(file, span);
            }
        }
    }

    /// Records the file that `perl -i -pe TEXT FILE` rewrites.
    fn edited_in_place(&mut self, name: &str, args: &Arguments<'_>) {
        if !matches!(name, "perl" | "perl5" | "ruby") || !edits_in_place(args) {
            return;
        }
        let mut is_text = false;
        for word in args.words() {
            let before = std::mem::replace(&mut is_text, is_source(&word.text));
            if !before && !word.text.starts_with('-') {
                self.note_path(FactKind::Append, word, Tags::NONE);
            }
        }
    }

    /// Records a mount that hides the content of its mount point.
    fn covered(&mut self, name: &str, args: &Arguments<'_>) {
        let mounts = matches!(name, "mount" | "bindfs" | "fuse-overlayfs" | "unionfs" | "mergerfs")
            || name.starts_with("mount.");
        let targets = match args.operands() {
            [.., target] if mounts => vec![(*target).clone()],
            _ => Vec::new(),
        };
        let replaces = args.has_any(&["--bind", "--rbind", "-B", "--move", "-M"])
            || args.values(&["-t", "--types", "-o", "--options"]).iter().any(|value| {
                value.text.split(',').any(|part| {
                    matches!(part, "tmpfs" | "ramfs" | "overlay" | "bind" | "rbind" | "loop")
                })
            });
        for target in targets {
            let tags = location::locate(&target.text, &self.scene_now());
            if tags.any(COVERED) {
                self.note_path(FactKind::Move, &target, Tags::NONE);
            }
            if replaces && tags.any(Tags::of(&[Tag::Home, Tag::Workspace])) {
                let shown = location::shown(&target.text);
                self.note(Fact::new(FactKind::Empty, shown).tagged(tags).at(target.span));
            }
        }
    }

    /// Records words of a sandbox that mount something over the guard: `bwrap --tmpfs ~/.claude`.
    pub(super) fn covered_by_sandbox(&mut self, name: &str, words: &[Arg]) {
        if !matches!(name, "bwrap" | "firejail" | "unshare" | "systemd-nspawn" | "proot") {
            return;
        }
        for word in words {
            let path = word.text.rsplit(['=', ':', ',']).next().unwrap_or_default();
            let tags = location::locate(path, &self.scene_now());
            let guard = Tags::of(&[Tag::Guard, Tag::AboveGuard, Tag::OwnData]);
            if path.contains(['/', '~']) && tags.any(guard) && !tags.has(Tag::Root) {
                self.note_path(FactKind::Move, &word.saying(path), Tags::NONE);
            }
        }
    }
}

/// Reports whether any option edits files in place.
fn edits_in_place(args: &Arguments<'_>) -> bool {
    args.words().iter().any(|word| in_place(&word.text))
}

/// Reports whether an option of Perl or Ruby edits files in place: `-i`, `-pi.bak`.
pub(super) fn in_place(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    // The text after these letters is their value.
    let own = letters.split(['M', 'm', 'I', 'e', 'E', 'r', 'F', '-']).next();
    own.unwrap_or_default().contains('i')
}

/// Reports whether an option keeps only printed text in the file: `-n`, `-ni`, `-i -ne`.
fn prints_nothing(option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let own = letters.unwrap_or_default().split(['M', 'm', 'I', 'e', 'E', 'r', 'F']).next();
    own.unwrap_or_default().contains('n')
}

/// Reports whether the next word is source text: `-e`, `-ne`, `-pe`.
pub(super) fn is_source(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|rest| rest.len() < 6 && rest.ends_with(['e', 'E']))
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
    fn content_is_lost_in_many_ways() {
        for command in [
            "sort -o lib/util.rs /dev/null",
            "sort -o lib/util.rs < /dev/null",
            "uniq /dev/null lib/util.rs",
            "mv lib /dev/null",
            "ex -s -c '%d' -c x lib/util.rs",
            "ex -sc '1,$d|wq' lib/util.rs",
            "nvim --headless +%d +wq lib/util.rs",
            "perl -i -ne '' lib/util.rs",
            "perl -0777 -pi -e 's/.*//s' lib/*.rs",
            "awk -i inplace '{}' lib/util.rs",
            "mount --bind /var/empty lib",
            "mount -t tmpfs none ~/.claude",
            "bwrap --bind / / --tmpfs ~/.claude claude",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            "sort -o out.txt in.txt",
            "grep -n x lib/util.rs /dev/null",
            "diff /dev/null lib/util.rs",
            "vim -c 'set nu' lib/util.rs",
            "awk -i inplace 'NR>1' data.csv",
        ] {
            assert_eq!(verdict(command), Verdict::Allow, "{command}");
        }
    }
}
