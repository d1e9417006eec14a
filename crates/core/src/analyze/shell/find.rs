//! `find` and similar programs: the files found and the actions on them.

use super::Walker;
use super::arguments::Arguments;
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Tests that do not narrow down the result.
const NOT_FILTERS: &[&str] = &[
    "-delete",
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-print",
    "-print0",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-follow",
    "-P",
    "-L",
    "-H",
    "-maxdepth",
    "-mindepth",
    "-ignore_readdir_race",
    "-warn",
    "-nowarn",
    "-a",
    "-o",
    "-and",
    "-or",
    "-ls",
    "-type",
];

/// Tests whose next word is their value.
const TAKES_A_VALUE: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-newer",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-maxdepth",
    "-mindepth",
    "-links",
    "-inum",
    "-printf",
    "-fstype",
];

impl Walker<'_> {
    /// Follows `find`.
    pub(super) fn find(&mut self, args: &Arguments<'_>, span: Option<Span>) -> Stream {
        let words = args.words();
        let starts = |word: &Arg| {
            word.text.starts_with('-') || matches!(word.text.as_str(), "(" | "!" | ",")
        };
        let leading = words
            .iter()
            .take_while(|word| {
                matches!(word.text.as_str(), "-H" | "-L" | "-P" | "-d")
                    || word.text.starts_with("-O")
            })
            .count();
        let after = words.get(leading..).unwrap_or_default();
        let count = after.iter().take_while(|word| !starts(word)).count();
        let mut roots = after.get(..count).unwrap_or_default().to_vec();
        let tests = after.get(count..).unwrap_or_default();
        if roots.is_empty() {
            roots.push(Arg { span, ..Arg::literal(".") });
        }
        let filtered = narrows_down(tests);
        self.secret_names(&roots, tests, span);
        let found: Vec<Arg> = roots.iter().map(|root| found_below(root, filtered)).collect();
        self.find_actions(&roots, &found, tests);
        let mut listed = String::new();
        for arg in &found {
            listed.push_str(&arg.text);
            listed.push('\n');
        }
        Stream::known(listed, Tags::of(&[Tag::Unknown]))
    }

    fn find_actions(&mut self, roots: &[Arg], found: &[Arg], tests: &[Arg]) {
        let narrowed = narrowed(tests);
        let mut rest = tests;
        while let [test, tail @ ..] = rest {
            rest = tail;
            match test.text.as_str() {
                "-delete" => {
                    let tags = Tags::of(&[Tag::Recursive, Tag::Many, Tag::Forced]);
                    let at = tests.len() - rest.len() - 1;
                    let filtered = narrowed.get(at).copied().unwrap_or_default();
                    let targets = if filtered { found } else { roots };
                    for target in targets {
                        let target = Arg { span: test.span, ..target.clone() };
                        self.note_path(FactKind::Delete, &target, tags);
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = tail
                        .iter()
                        .position(|word| word.text == ";" || word.text == "+")
                        .unwrap_or(tail.len());
                    let command = tail.get(..end).unwrap_or_default();
                    rest = tail.get(end + 1..).unwrap_or_default();
                    for target in found {
                        let args = command.iter().map(|word| put(word, target)).collect();
                        self.wrapped += 1;
                        self.perhaps(|walker| walker.follow_command(args, Stream::caller()));
                        self.wrapped -= 1;
                    }
                }
                "-fprint" | "-fprintf" | "-fls" | "-fprint0" => {
                    if let Some(file) = tail.first() {
                        if location::is_source(location::base_name(&file.text)) {
                            self.lost(file, None);
                        }
                        self.note_path(FactKind::Write, file, Tags::of(&[Tag::Created]));
                    }
                }
                // `find` takes neither outside of a command, so a command was intended.
                "{}" | ";" => {
                    let subject = "find: a command that does not begin with -exec";
                    let before = tests.len().saturating_sub(rest.len() + 1);
                    let meant = tests.get(..before).unwrap_or_default();
                    let does = self.may_mean_a_command(meant, found);
                    let kind = if does { FactKind::Unparsed } else { FactKind::Unfinished };
                    self.note(Fact::new(kind, subject).at(test.span));
                }
                _ => {}
            }
        }
    }

    /// Follows the words before the end of an intended command, from each word that can be a
    /// program; reports whether any of them would do something.
    fn may_mean_a_command(&mut self, words: &[Arg], found: &[Arg]) -> bool {
        const FURTHEST: usize = 16;
        let first = words.len().saturating_sub(FURTHEST);
        let known = self.analysis.facts.len();
        for at in first..words.len() {
            let takes = at.checked_sub(1).and_then(|before| words.get(before));
            if takes.is_some_and(|test| TAKES_A_VALUE.contains(&test.text.as_str())) {
                continue;
            }
            let command = words.get(at..).unwrap_or_default();
            let is_program = command.first().is_some_and(|word| {
                word.text.starts_with(|char: char| char.is_alphabetic() || "./~$".contains(char))
                    || !word.is_known()
            });
            if is_program && let Some(target) = found.first() {
                let args = command.iter().map(|word| put(word, target)).collect();
                self.follow_command(args, Stream::caller());
            }
        }
        first > 0 || self.analysis.facts.len() > known
    }

    /// Records a search for keys and credentials all over the machine.
    fn secret_names(&mut self, roots: &[Arg], tests: &[Arg], span: Option<Span>) {
        let scene = self.scene_now();
        let outside =
            roots.iter().any(|root| !location::locate(&root.text, &scene).has(Tag::Workspace));
        let secret_root =
            roots.iter().any(|root| location::locate(&root.text, &scene).has(Tag::Secret));
        let named = tests.windows(2).find_map(|pair| match pair {
            [test, name]
                if matches!(test.text.as_str(), "-name" | "-iname" | "-path" | "-wholename") =>
            {
                let name = name.text.trim_matches('*').trim_matches('/');
                let is_key = [".pem", ".key", ".kdbx", ".p12"].contains(&name);
                (is_key || location::locate(&format!("/x/{name}"), &scene).has(Tag::Secret))
                    .then(|| name.to_owned())
            }
            _ => None,
        });
        let subject = match named {
            Some(name) if outside => name,
            _ if secret_root => "a folder of credentials".to_owned(),
            _ => return,
        };
        self.note(Fact::new(FactKind::SecretSearch, subject).at(span));
    }

    /// Follows `fd PATTERN -x cmd`.
    pub(super) fn fd(&mut self, args: &Arguments<'_>, _span: Option<Span>) -> Option<Stream> {
        let words = args.words();
        let at = words.iter().position(|word| {
            matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch")
        })?;
        let mut command: Vec<Arg> = words.get(at + 1..).unwrap_or_default().to_vec();
        let found = Arg { glob: true, ..Arg::unknown(Tags::NONE) };
        if command.iter().any(|word| word.text.contains("{}")) {
            command = command.iter().map(|word| put(word, &found)).collect();
        } else {
            command.push(found);
        }
        Some(self.follow_command(command, Stream::empty()))
    }
}

/// Reports whether some test lets through less than everything.
fn narrows_down(tests: &[Arg]) -> bool {
    let mut in_command = false;
    tests.iter().any(|test| {
        let text = test.text.as_str();
        if in_command {
            in_command = text != ";" && text != "+";
            return false;
        }
        in_command = matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir");
        text == "!" || (text.starts_with('-') && text.len() > 1 && !NOT_FILTERS.contains(&text))
    })
}

/// Returns for every word whether something before it narrows down the result. An action after `-o`
/// applies to all files that the tests before it did not accept.
fn narrowed(tests: &[Arg]) -> Vec<bool> {
    let mut open = vec![false];
    let mut in_command = false;
    let mut all = Vec::with_capacity(tests.len());
    for test in tests {
        let within = open.last().copied().unwrap_or_default();
        all.push(within);
        match test.text.as_str() {
            text if in_command => in_command = text != ";" && text != "+",
            "-exec" | "-execdir" | "-ok" | "-okdir" => in_command = true,
            "(" => open.push(within),
            ")" if open.len() > 1 => {
                let group = open.pop().unwrap_or_default();
                open.last_mut().into_iter().for_each(|here| *here |= group);
            }
            "-o" | "-or" | "," => {
                let around = open.len().checked_sub(2).and_then(|at| open.get(at)).copied();
                open.last_mut().into_iter().for_each(|here| *here = around.unwrap_or_default());
            }
            _ if narrows_down(std::slice::from_ref(test)) => {
                open.last_mut().into_iter().for_each(|here| *here = true);
            }
            _ => {}
        }
    }
    all
}

/// Returns the files found below a folder: the folder itself first, unless something narrows the
/// result down.
fn found_below(root: &Arg, filtered: bool) -> Arg {
    if filtered {
        let text = format!("{}/{UNKNOWN}", root.text.trim_end_matches('/'));
        Arg { glob: true, taint: root.taint.with(Tag::Many), ..root.saying(text) }
    } else {
        Arg { glob: true, taint: root.taint.with(Tag::Many), ..root.clone() }
    }
}

fn put(word: &Arg, found: &Arg) -> Arg {
    if !word.text.contains("{}") {
        return word.clone();
    }
    Arg {
        text: word.text.replace("{}", &found.text),
        taint: word.taint.and(found.taint),
        glob: true,
        ..word.clone()
    }
}
