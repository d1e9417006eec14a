//! Files that are replaced by something else: a result under the name of a source file, an output
//! that is also the input, entries removed from an archive, many files under one name.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Program;
use super::erase;
use super::overwrite::NOTHING;
use super::value::Arg;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

impl Walker<'_> {
    /// Records a result under the name of a source file that is not source text: `gcc -o main.c
    /// main.o`, `strace -o main.c`.
    pub(super) fn written_over_source(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
    ) {
        let makes_data = program.is_some_and(|program| program.makes_data);
        let only_text = args
            .words()
            .iter()
            .any(|word| name != "git" && matches!(word.text.as_str(), "-E" | "-S" | "-M" | "-MM"));
        let mut targets = records(args.words());
        if makes_data && !only_text {
            targets.extend(super::effect::results(args.words()));
            for effect in program.map_or(&[][..], |program| program.does) {
                let writes = matches!(effect.fact, FactKind::Write | FactKind::Append)
                    && super::effect::applies(effect, args);
                if writes && effect.named_by_word() {
                    targets.extend(super::effect::targets(effect, args));
                }
            }
        }
        for target in targets {
            if location::is_source(location::base_name(&target.text)) && !target.text.contains(' ')
            {
                self.lost(&target, None);
            }
        }
    }

    /// Records files whose content is lost or reordered: `shuf -o FILE FILE`, `ln -sf /dev/null
    /// FILE`.
    pub(super) fn written_over_input(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        let operands = args.operands();
        if name == "shuf" {
            let out = args.values(&["-o", "--output"]);
            for file in operands.iter().filter(|file| out.iter().any(|to| to.text == file.text)) {
                self.lost(file, span);
            }
        }
        if matches!(
            name,
            "ffmpeg"
                | "openssl"
                | "age"
                | "rage"
                | "gpg"
                | "gpg2"
                | "uniq"
                | "iconv"
                | "xxd"
                | "base64"
        ) {
            self.read_and_written(name, args, span);
        }
        if let ("cp" | "mv" | "install" | "gcp" | "gmv", [source, target]) = (name, operands) {
            let many = |word: &Arg| !word.glob && (word.text.contains('*') || !word.is_known());
            let named = target.is_known()
                && !target.text.contains('*')
                && location::base_name(&target.text).contains('.');
            // `for f in *; do mv "$f" same.txt; done`, `for f in *; do cp x "$f"; done`.
            if self.loops > 0
                && name.ends_with("mv")
                && many(source)
                && named
                && !source.text.contains('/')
            {
                self.note_path(FactKind::Delete, source, Tags::of(&[Tag::Many]));
            } else if self.loops > 0
                && target.text.contains('*')
                && !target.glob
                && source.is_known()
                && !source.text.contains('*')
            {
                self.lost(&Arg { glob: true, ..(*target).clone() }, span);
            }
        }
        if let ("ln", [source, link]) = (name, operands)
            && args.has_any(&["-f", "--force"])
        {
            self.linked_over(source, link, span);
        }
    }

    /// Records a file that a link to nothing, or to a file of anybody, takes the place of.
    fn linked_over(&mut self, source: &Arg, link: &Arg, span: Option<Span>) {
        let nothing = NOTHING.contains(&source.text.as_str());
        let from_anybody = location::locate(&source.text, &self.scene_now()).has(Tag::Temp)
            && location::is_work(location::base_name(&link.text));
        if (nothing || from_anybody) && !self.made_here(&source.text) {
            let tags = location::locate(&link.text, &self.scene_now());
            let fact = Fact::new(FactKind::Empty, location::shown(&link.text)).tagged(tags);
            self.note(fact.at(link.span.or(span)));
        }
    }

    /// Records files that are input and output at once: `openssl enc -in FILE -out FILE`, `ffmpeg
    /// -y -i FILE FILE`, `uniq FILE FILE`.
    fn read_and_written(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let mut inputs = args.values(&["-i", "-in"]);
        let mut outputs = args.values(&["-out", "--output"]);
        if name != "ffmpeg" {
            outputs.extend(args.values(&["-o"]));
        }
        let operands: Vec<Arg> = args.operands().iter().map(|word| (*word).clone()).collect();
        match (name, operands.split_last()) {
            ("ffmpeg", Some((last, _))) => outputs.push(last.clone()),
            ("uniq" | "xxd", Some((last, rest))) if !rest.is_empty() => {
                outputs.push(last.clone());
                inputs.extend(rest.iter().cloned());
            }
            _ => inputs.extend(operands.iter().cloned()),
        }
        // A name that occurs only once is not both.
        let times = |text: &str| args.words().iter().filter(|word| word.text == text).count();
        let is_both =
            |file: &&Arg| times(&file.text) > 1 && inputs.iter().any(|from| from.text == file.text);
        for file in outputs.iter().filter(is_both) {
            self.lost(file, span);
        }
    }

    /// Records entries that are removed from an archive: `tar --delete`, `zip -d`, `7z d`.
    pub(super) fn taken_out_of_archive(&mut self, name: &str, args: &Arguments<'_>) {
        let trifles = |word: &&&Arg| {
            ["META-INF", "__MACOSX", ".DS_Store", "Thumbs.db"]
                .iter()
                .any(|part| word.text.contains(part))
        };
        let operands = args.operands();
        let archive = match name {
            "tar" | "gtar" | "bsdtar" if args.has("--delete") => args.value(&["-f", "--file"]),
            "zip"
                if args
                    .words()
                    .iter()
                    .any(|word| matches!(word.text.as_str(), "-d" | "--delete")) =>
            {
                operands.first().map(|word| (*word).clone())
            }
            "7z" | "7za" | "7zr" | "7zz" | "rar" | "arj" | "lha" | "zoo"
                if args.operand(0) == Some("d") =>
            {
                operands.get(1).map(|word| (*word).clone())
            }
            _ => None,
        };
        let members = operands.iter().skip(1);
        let Some(archive) =
            archive.filter(|_| operands.len() < 2 || !members.clone().any(|word| trifles(&word)))
        else {
            return;
        };
        if !self.made_here(&archive.text) {
            self.note_path(FactKind::Delete, &archive, Tags::NONE);
        }
    }

    /// Records `rename 's/.*/x/' *`, after which all but one of the files are lost.
    pub(super) fn renamed_to_one(&mut self, name: &str, args: &Arguments<'_>) {
        if let ("mmv", [from, to]) = (name, args.operands())
            && from.text.contains('*')
            && !to.text.contains('#')
        {
            self.note_path(FactKind::Delete, from, Tags::of(&[Tag::Many]));
        }
        if !matches!(name, "rename" | "prename" | "file-rename" | "perl-rename") {
            return;
        }
        let Some((expression, files)) = args.operands().split_first() else { return };
        if args.has_any(&["-n", "--no-act", "--nono"]) || !erase::statement(&expression.text) {
            return;
        }
        for file in files {
            self.note_path(FactKind::Delete, file, Tags::of(&[Tag::Many]));
        }
    }
}

/// Returns the values of options that name a log or trace of a run: `--profile=FILE`, `--log-file
/// FILE`.
fn records(words: &[Arg]) -> Vec<Arg> {
    const NAMES: &[&str] = &[
        "log",
        "logfile",
        "trace",
        "profile",
        "pidfile",
        "dump",
        "history",
        "coverprofile",
        "cpuprofile",
        "memprofile",
        "blockprofile",
        "pretty-print",
        "dump-variables",
        "memory",
        "save-stats",
        "stats",
        "transcript",
        "tee",
        "dump-header",
        "cookie-jar",
        "stderr",
        "hsts",
        "etag-save",
        "log-file",
        "debug-file",
        "redirect-warnings",
        "report-filename",
        "cpu-prof-name",
        "heap-prof-name",
        "output-file",
        "rejected-log",
        "libcurl",
        "errlog",
    ];
    let is_record = |option: &str| {
        let name = option.trim_start_matches('-').to_ascii_lowercase();
        option.starts_with('-')
            && (NAMES.contains(&name.as_str())
                || name
                    .rsplit_once('-')
                    .is_some_and(|(first, last)| last == "file" && NAMES.contains(&first)))
    };
    let mut found = Vec::new();
    let mut before = "";
    for word in words {
        match word.text.split_once('=') {
            Some((option, value)) if is_record(option) => found.push(word.saying(value)),
            _ if is_record(before) && !before.contains('=') => found.push(word.clone()),
            _ => {}
        }
        before = &word.text;
    }
    found
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
    fn what_is_replaced_is_lost() {
        for command in [
            "clang -o lib/util.c util.o",
            "git diff --output=lib/util.rs",
            "strace -o lib/util.py true",
            "uniq ~/list.csv ~/list.csv",
            "zip -d ~/old.zip 'photos/*'",
            "ln -sf /dev/null lib/util.rs",
            "mmv '*' one",
            "grep -v x notes.md > notes.md",
            "cat notes.md | sort > notes.md",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            "clang -o util util.c",
            "clang -E -o util.c util.h",
            "git diff --output=change.patch",
            "zip -d app.jar 'META-INF/*.SF'",
            "ln -sf ../shared/config.yaml config.yaml",
            "sort -o list.csv list.csv",
            "grep -v x notes.md > other.md",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
