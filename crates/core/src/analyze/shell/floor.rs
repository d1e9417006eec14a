//! Texts that would be catastrophic as commands of their own.
//!
//! Programs take commands in more ways than a catalogue can list: an option, a configuration value,
//! a key of a file, a list of words. So every word, value and text that a command is given is also
//! read as a command by itself, for any program. Where that would be a hard block, a person is
//! asked. Words that a program only prints or searches for are left alone.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Class, Code};
use super::own_command::OWN;
use super::value::{Arg, Stream};
use super::work::most_steps;
use crate::action::Language;
use crate::analyze::shell::state::SharedState;
use crate::analyze::{Analysis, code};
use crate::fact::{Fact, FactKind};
use crate::rule;
use crate::verdict::Span;

/// The number of texts that are read in one action; further texts are not read but need a
/// confirmation.
const MOST_READ: usize = 32;
/// The number of commands that are followed in one text.
const MOST_COMMANDS: u32 = 64;
/// The number of words of one command from which the rest is read as another command.
const MOST_TAILS: usize = 8;
/// The number of words shown of a command that has more such words than are read.
const MOST_SHOWN: usize = 8;
/// The length past which a text is not read as a whole, but still searched.
const MOST_TEXT: usize = 16 * 1024;

/// Programs that print their words or search for them, and programs whose source text has a reader
/// of its own.
const MENTIONS: &[&str] = &[
    "echo",
    "printf",
    "print",
    "say",
    "logger",
    "notify-send",
    "wall",
    "cowsay",
    "figlet",
    "tldr",
    "apropos",
    "which",
    "whereis",
    "type",
    "basename",
    "dirname",
    "test",
    "cat",
    "tee",
    "countersign",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
];

/// Options whose value is written for people, or is searched for.
const PROSE: &[&str] = &[
    "-m",
    "--message",
    "--body",
    "--title",
    "--description",
    "--notes",
    "--note",
    "--comment",
    "--text",
    "--subject",
    "--grep",
    "--summary",
    "--reason",
    "--label",
    "--regexp",
    "--search",
];

/// Programs in which `-m` is a message.
const RECORDS: &[&str] = &["git", "hg", "svn", "jj", "gh", "glab", "bzr", "fossil", "darcs"];

/// Endings of files that are written for people.
const DOCUMENTS: &[&str] = &[".md", ".txt", ".rst", ".adoc", ".html", ".log", ".tex", ".csv"];

/// Words that a hard block can begin with.
const TRIGGERS: &[&str] = &[
    "rm",
    "mkfs",
    "dd",
    "shred",
    "wipefs",
    "chmod",
    "chown",
    "find",
    "mv",
    "unlink",
    "rmdir",
    "srm",
    "blkdiscard",
    "fdisk",
    "sfdisk",
    "parted",
    "sgdisk",
    "cp",
    "tee",
    "truncate",
];

/// Further words that such a command can begin with where it is given word by word.
const CARRIERS: &[&str] = &["ln", "install", "sed", "sh", "bash", "sudo", "doas", "env"];

/// Our own commands that a person uses to answer, to change their rights or to remove a hook. The
/// rest are also words of sentences and names of folders.
const DECIDES: &[&str] = &[
    "approvals",
    "audit",
    "devices",
    "halt",
    "keys",
    "sessions",
    "settings",
    "uninstall",
    "users",
];

/// Reports whether the value of an option is written for people, or is searched for.
pub(super) fn is_prose(option: &str) -> bool {
    PROSE.contains(&option)
}

impl Walker<'_> {
    /// Examines the words and the input of a program.
    pub(super) fn floor(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream) {
        if self.is_floor || only_mentions(name) {
            return;
        }
        self.floor_of_streams(args);
        if only_reads(name) {
            self.floor_of_options(args);
            return;
        }
        let mut is_prose = false;
        for word in args.words() {
            let option = word.text.split_once('=').map_or("", |(option, _)| option);
            if !is_prose && !PROSE.contains(&option) {
                self.floor_of(&word.text, word.span);
                self.floor_of_statement(name, word);
            }
            is_prose = (PROSE.contains(&word.text.as_str())
                && (word.text != "-m" || RECORDS.contains(&name)))
                || PROSE.iter().any(|option| {
                    option.len() == 2
                        && RECORDS.contains(&name)
                        && is_cluster(&word.text)
                        && option
                            .strip_prefix('-')
                            .is_some_and(|letter| word.text.ends_with(letter))
                });
        }
        self.floor_of_tails(args);
        if let Some(text) = &stdin.text
            && !stdin.from_caller
            && !matches!(name, "git" | "gh" | "glab" | "ed" | "ex")
        {
            self.floor_of(text, super::follow::whole_span(args.words()));
        }
    }

    /// Reads the words from each one that a catastrophic command can begin with: any program may
    /// run the words after its own. More such words than are read need a confirmation as well.
    fn floor_of_tails(&mut self, args: &Arguments<'_>) {
        let words = args.words();
        let mut read = 0;
        let mut length: usize = words.iter().map(|word| word.text.len() + 1).sum();
        for (at, word) in words.iter().enumerate() {
            let tail = words.get(at..).unwrap_or_default();
            let whole = length;
            length = length.saturating_sub(word.text.len() + 1);
            let name = crate::location::base_name(&word.text).split('.').next().unwrap_or_default();
            // A name alone is a topic or a filter: `man mkfs`.
            let verb = tail.get(1).map(|verb| verb.text.as_str());
            let decides = name == OWN && verb.is_some_and(|verb| DECIDES.contains(&verb));
            // A name alone is a topic or a filter: `man mkfs`.
            if tail.len() < 2 || !(can_block(name) || CARRIERS.contains(&name) || decides) {
                continue;
            }
            read += 1;
            let too_many = read > MOST_TAILS;
            if !too_many && whole >= MOST_TEXT {
                continue;
            }
            let tail = if too_many { tail.get(..MOST_SHOWN).unwrap_or(tail) } else { tail };
            let line: Vec<_> = tail.iter().map(|word| super::follow::quote(&word.text)).collect();
            let line = line.join(" ");
            if too_many || self.is_catastrophic(&line) {
                let subject = crate::location::shown(&line);
                let span = super::follow::whole_span(tail);
                self.note(Fact::new(FactKind::HiddenCommand, subject).at(span));
                return;
            }
        }
    }

    /// Examines the values of options whose names imply a command: `--pager`, `--filter`.
    fn floor_of_options(&mut self, args: &Arguments<'_>) {
        const RUNS: &[&str] = &[
            "pager",
            "editor",
            "browser",
            "shell",
            "command",
            "cmd",
            "exec",
            "execute",
            "run",
            "hook",
            "filter",
            "program",
            "pre",
            "opener",
            "rsh",
            "preprocessor",
        ];
        let runs = |option: &str| {
            option
                .strip_prefix("--")
                .is_some_and(|name| name.split('-').any(|part| RUNS.contains(&part)))
        };
        let mut before = "";
        for word in args.words() {
            let (option, value) = word.text.split_once('=').unwrap_or((before, &word.text));
            if runs(option) {
                self.floor_of(value, word.span);
            }
            before = &word.text;
        }
    }

    /// Examines the process substitutions that are passed to a program.
    fn floor_of_streams(&mut self, args: &Arguments<'_>) {
        for word in args.words() {
            if let Some(text) = word.stream.as_ref().and_then(|stream| stream.text.clone()) {
                self.floor_of(&text, word.span);
            }
        }
    }

    /// Examines the values of an assignment.
    pub(super) fn floor_of_values(&mut self, values: &[Arg]) {
        if !self.is_floor {
            for value in values {
                self.floor_of(&value.text, value.span);
                if let Some(text) = value.stream.as_ref().and_then(|stream| stream.text.clone()) {
                    self.floor_of(&text, value.span);
                }
            }
        }
    }

    /// Reads a word that is a destructive SQL statement, for any program.
    fn floor_of_statement(&mut self, name: &str, word: &Arg) {
        const STARTS: &[&str] = &["DROP ", "TRUNCATE ", "DELETE FROM "];
        let runs = catalogue::program(name).and_then(|program| program.runs.as_ref());
        let start: String = word.text.trim_start().chars().take(12).collect();
        let start = start.to_ascii_uppercase();
        if runs.is_none() && STARTS.iter().any(|verb| start.starts_with(verb)) {
            let scene = self.scene_now().deeper();
            let found = code::analyze(Language::Sql, &word.text, None, &scene);
            self.merge(found, word.span);
        }
    }

    /// Examines the files that the script has written.
    pub(super) fn floor_of_files(&mut self) {
        let written: Vec<_> = self
            .state
            .files
            .iter()
            .filter(|(path, _)| !DOCUMENTS.iter().any(|ending| path.ends_with(ending)))
            .filter_map(|(_, file)| file.content.text.clone())
            .collect();
        for text in written {
            self.floor_of(&text, None);
        }
    }

    /// Records a text that would be catastrophic as a command.
    pub(super) fn floor_of(&mut self, text: &str, span: Option<Span>) {
        if self.is_floor || !is_suspect(text) {
            return;
        }
        for candidate in candidates(text) {
            if self.floor_reads >= MOST_READ || self.is_catastrophic(&candidate) {
                let subject = crate::location::shown(candidate.trim());
                self.note(Fact::new(FactKind::HiddenCommand, subject).at(span));
                return;
            }
        }
    }

    /// Reports whether a command line would be a hard block.
    fn is_catastrophic(&mut self, line: &str) -> bool {
        self.floor_reads += 1;
        let Analysis { commands, facts, .. } = self.read_apart(line);
        rule::has_block(&commands, &facts)
    }

    /// Reports whether a command line that is understood would be asked about or blocked.
    pub(super) fn would_ask(&mut self, line: &str) -> bool {
        let Analysis { commands, facts, .. } = self.read_apart(line);
        rule::would_ask(&commands, &facts)
    }

    /// Follows a command line without keeping its findings.
    fn read_apart(&mut self, line: &str) -> Analysis {
        let mut reader = Walker::new(self.scene_now().deeper());
        reader.fuel = MOST_COMMANDS;
        reader.depth = self.depth;
        reader.is_floor = true;
        reader.state = SharedState::clone(&self.state);
        reader.most_steps = self.state.work().steps().saturating_add(most_steps(MOST_COMMANDS));
        reader.script(line, None, Stream::empty());
        reader.analysis
    }
}

/// Reports whether the catalogue knows that a program only reads and prints, or runs source text
/// that is read where it is run.
fn only_reads(name: &str) -> bool {
    let Some(program) = catalogue::program(name) else { return false };
    let reads = !program.does.is_empty()
        && program.does.iter().all(|effect| effect.fact == FactKind::Read)
        && program.executes.is_empty()
        && program.wraps.is_none()
        && program.runs.is_none();
    let read = program.runs.as_ref().is_some_and(|runs| {
        matches!(
            runs.language,
            Code::Shell | Code::Python | Code::Javascript | Code::Perl | Code::Ruby
        )
    });
    reads || read
}

/// Reports whether a hard block can begin with this word.
pub(super) fn can_block(word: &str) -> bool {
    TRIGGERS.contains(&word)
}

/// Reports whether a program only prints its words or searches for them.
pub(super) fn only_mentions(name: &str) -> bool {
    MENTIONS.contains(&name) || catalogue::class(name) == Some(Class::Search)
}

fn is_cluster(word: &str) -> bool {
    word.len() > 2
        && !word.starts_with("--")
        && word
            .strip_prefix('-')
            .is_some_and(|letters| letters.chars().all(|c| c.is_ascii_alphabetic()))
}

/// Reports whether a text can contain a command and a target of a hard block. Cheap, because it is
/// called for every word.
fn is_suspect(text: &str) -> bool {
    own_commands(text).next().is_some() || (text.len() >= 5 && has_command_and_target(text))
}

fn has_command_and_target(text: &str) -> bool {
    text.contains(['/', '~', '$', '*'])
        && text.contains([' ', ',', ';', '\t', '\n', '{'])
        && (TRIGGERS.iter().any(|word| text.contains(word))
            || text.contains("/dev/")
            || (text.contains('>')
                && ["/etc/", "/proc/", "/sys/"].iter().any(|p| text.contains(p)))
            || text.contains('&'))
}

/// Returns the parts of a text that may be commands: the whole, and from every word that a hard
/// block can begin with, up to the bound.
fn candidates(text: &str) -> Vec<String> {
    let text = text.replace("\\n", "\n");
    let mut found = Vec::new();
    if text.len() <= MOST_TEXT {
        found.push(text.clone());
    }
    for trigger in TRIGGERS {
        let starts = text.match_indices(trigger).map(|(at, _)| at).filter(|at| {
            let before = text.get(..*at).and_then(|before| before.chars().next_back());
            before.is_none_or(|char| !char.is_alphanumeric() && !"_-.".contains(char))
        });
        // One more than is read, so that an omission is noticed.
        for at in starts.take(MOST_READ + 1) {
            let rest = start_of(text.get(at..).unwrap_or_default());
            match rest.get(trigger.len()..).and_then(|after| after.chars().next()) {
                Some(char) if char.is_whitespace() || char == '.' => {
                    found.push(cut(rest).to_owned());
                }
                Some('"' | '\'' | ',' | ';' | ']') => found.push(listed(rest)),
                _ => {}
            }
        }
    }
    found.extend(own_commands(&text).take(MOST_READ + 1).map(|own| cut(start_of(own)).to_owned()));
    found.dedup();
    found
}

/// Returns the rest of a text from each of our own commands that decides something.
fn own_commands(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(OWN).filter_map(move |(at, _)| {
        let own = text.get(at..)?;
        let rest = own.strip_prefix(OWN)?;
        let verb = rest.split_whitespace().next()?;
        (rest.starts_with(char::is_whitespace) && DECIDES.contains(&verb)).then_some(own)
    })
}

/// Returns the start of a text, as long as a command can be.
fn start_of(text: &str) -> &str {
    const LONGEST: usize = 2_048;
    let end = (0..=LONGEST.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Returns the text up to the end of its enclosing construct: a quote, a line, or a bracket that it
/// did not open.
fn cut(text: &str) -> &str {
    let mut open = 0_u32;
    for (at, char) in text.char_indices() {
        match char {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' if open > 0 => open -= 1,
            ')' | ']' | '}' | '"' | '\'' | '`' | '\n' => {
                return text.get(..at).unwrap_or_default();
            }
            _ => {}
        }
    }
    text
}

/// Returns a list of words as one line: `rm", "-rf", "/"]`.
fn listed(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().map(|char| if "\"',;()[]{}:".contains(char) { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Context, Policy, Verdict, judge};

    fn verdict(command: &str) -> Verdict {
        let context = Context { home: Some("/home/dev".into()), ..Context::default() };
        let action = Action::Shell { command: command.into(), cwd: None };
        judge(&action, &Policy::default(), &context).verdict
    }

    #[test]
    fn decoys_and_other_words_hide_nothing() {
        let decoys = "arm ".repeat(100);
        for command in [
            format!("sometool --run '{decoys}rm -rf /'"),
            format!("sometool --run '{} rm -rf /'", "x".repeat(MOST_TEXT)),
            "sometool -m 'rm -rf /'".to_owned(),
            "git push --force origin help".to_owned(),
            "kubectl delete ns prod help".to_owned(),
            "git push --force -o --help".to_owned(),
            "chmod 600 ~/.ssh/id_rsa; sometool ~/.ssh/id_rsa".to_owned(),
            "cd /bin && ./r[m] -rf /".to_owned(),
            "echo 'rm -rf /' > z.sh; echo 'echo hi' | bash z.sh -s".to_owned(),
            "echo 'rm -rf /' > z.sh; bash z.sh -c".to_owned(),
            "bash --rcfile <(echo 'rm -rf /') -i".to_owned(),
        ] {
            assert!(verdict(&command) >= Verdict::Confirm, "{}", start_of(&command));
        }
        for command in ["git push --help", "docker rm --help", "git commit -m 'no rm -rf /'"] {
            assert_eq!(verdict(command), Verdict::Allow, "{command}");
        }
    }

    #[test]
    fn no_program_carries_an_answer_to_our_own_questions() {
        for command in [
            "sometool countersign approvals approve apr_1",
            "gnome-terminal -- countersign halt",
            "xterm -e /opt/bin/countersign settings set autonomous on",
            "dtach -n /tmp/s countersign keys create x --scope '*'",
            "screen -X stuff 'countersign approvals approve apr_1\\n'",
            "screen -X stuff \"echo hi; countersign   approvals approve apr_1^M\"",
            "sometool 'countersign halt'",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in [
            "brew install countersign jq",
            "git add countersign src",
            "cargo test -p countersign",
            "sometool 'the countersign of the sessions'",
            "sometool countersign approvals list",
            "git commit -m 'docs: countersign halt'",
            "rg 'countersign halt' docs",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }

    #[test]
    fn commands_are_found_inside_other_texts() {
        for (text, command) in [
            ("BEGIN{system(\"rm -rf ~\")}", "rm -rf ~"),
            ("$(shell rm -rf /)", "rm -rf /"),
            ("!rm -rf ~\\nq", "rm -rf ~"),
        ] {
            assert!(candidates(text).iter().any(|found| found == command), "{text}");
        }
        let list = candidates("[\"rm\",\"-rf\",\"/\"]");
        assert!(
            list.iter().any(|found| found.split_whitespace().eq(["rm", "-rf", "/"])),
            "{list:?}"
        );
        assert_eq!(candidates("ls form /").len(), 1);
    }
}
