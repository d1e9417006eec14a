//! What is known about programs, compiled from `catalogue/*.yaml`.

use crate::fact::{FactKind, Tag, Tags};
use crate::lookup::{Name, Names};
use crate::place;

/// One program.
#[derive(Debug)]
pub(super) struct Program {
    /// Options that take a value in the next word.
    pub(super) values: &'static [&'static str],
    /// How it starts another command.
    pub(super) wraps: Option<Wrap>,
    /// What it does to which of its words.
    pub(super) does: &'static [Effect],
    /// Which source text it runs.
    pub(super) runs: Option<Runs>,
    /// Options whose value is a command line.
    pub(super) executes: &'static [&'static str],
    /// Options that name the code, or the folder of code, that it runs.
    pub(super) loads: &'static [&'static str],
    /// How it is told which processes to end.
    pub(super) ends: Option<Ends>,
    /// Its verbs are known, so the general ones do not apply.
    pub(super) own_verbs: bool,
    /// Each line of its standard input is more words for it.
    pub(super) prompts: bool,
    /// Which of its words name code that it gets.
    pub(super) installs: Option<Installs>,
    /// When it lets others reach this machine.
    pub(super) opens: Option<Opens>,
    /// Nothing that it makes is source text.
    pub(super) makes_data: bool,
}

/// Which words of a program name code that it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installs {
    /// Those after a verb such as `install` or `run`.
    Verbs,
    /// All of them.
    All,
    /// The first operand; the others are for that code.
    First,
    /// All of them, also by the name of a repository alone.
    Repositories,
}

/// When a program lets others reach this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// Whenever it is started.
    Always,
    /// When its address is one for everybody, or it asks nobody who they are.
    Wide,
}

/// How a program starts another command.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent word of the YAML")]
pub(super) struct Wrap {
    /// Words to skip before the command starts.
    pub(super) skip: usize,
    /// `NAME=value` words may stand before the command.
    pub(super) assigns: bool,
    /// Options whose value is a script for the shell.
    pub(super) script: &'static [&'static str],
    /// Runs as another user.
    pub(super) elevates: bool,
    /// Runs in another container or pod.
    pub(super) elsewhere: bool,
    /// The command's words are joined and given to a shell.
    pub(super) joins: bool,
    /// More words are added from standard input.
    pub(super) appends: bool,
    /// Only after one of these operands.
    pub(super) after: &'static [&'static str],
}

/// What a program does to some of its words.
#[derive(Debug)]
pub(super) struct Effect {
    /// What happens.
    pub(super) fact: FactKind,
    /// To which words.
    pub(super) on: Slot,
    /// Only after these operands.
    pub(super) sub: &'static [&'static str],
    /// Only with one of these.
    pub(super) when: &'static [&'static str],
    /// Not with any of these.
    pub(super) unless: &'static [&'static str],
    /// Whole folders with one of these.
    pub(super) recursive: &'static [&'static str],
    /// Without asking with one of these.
    pub(super) forced: &'static [&'static str],
    /// Always so.
    pub(super) tags: Tags,
    /// The thing's name, where it is made of the word.
    pub(super) named: &'static str,
}

impl Effect {
    /// Whether the thing is called by the word itself.
    pub(super) fn named_by_word(&self) -> bool {
        self.named.is_empty()
    }
}

/// Which words of a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    /// Every operand.
    Args,
    /// The first operand.
    First,
    /// The last operand.
    Last,
    /// Every operand but the last.
    Sources,
    /// Every operand but the first.
    Rest,
    /// The value of an option; `of=` for words like `of=file`.
    Option(&'static str),
}

/// How a program is told which processes to end.
#[derive(Debug)]
pub(super) struct Ends {
    /// What names them.
    pub(super) by: By,
    /// Only with one of these words.
    pub(super) after: &'static [&'static str],
    /// Not with any of these.
    pub(super) unless: &'static [&'static str],
}

/// What names the processes to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Their numbers.
    Number,
    /// Their program's name.
    Name,
    /// A regular expression over names, or over whole command lines.
    Pattern,
    /// A service or a container.
    Unit,
}

/// Which source text a program runs.
#[derive(Debug)]
pub(super) struct Runs {
    /// What it is written in.
    pub(super) language: Code,
    /// Options whose value is source text.
    pub(super) source: &'static [&'static str],
    /// The first operand is source text when no option gave it.
    pub(super) operand: bool,
    /// The first operand is a file to run.
    pub(super) file: bool,
    /// Source text may come from standard input.
    pub(super) stdin: bool,
}

/// What source text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// bash and its kin.
    Shell,
    /// Python.
    Python,
    /// JavaScript.
    Javascript,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// A database's SQL.
    Sql,
    /// AppleScript, or JavaScript for Automation.
    Applescript,
    /// A language we only look through for calls that start a shell.
    Other,
}

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// What is known about this program.
pub(super) fn program(name: &str) -> Option<&'static Program> {
    let known = |name: &str| PROGRAM_NAMES.find(name).and_then(|at| PROGRAMS.get(at));
    // `python3.11` and `gcc-12` are what they are without the number.
    known(name).or_else(|| {
        let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
        let bare = bare.strip_suffix('-').unwrap_or(bare);
        if bare.len() == name.len() || bare.is_empty() { None } else { known(bare) }
    })
}

/// The names that a pattern of the shell can stand for.
pub(super) fn matching(pattern: &str) -> impl Iterator<Item = &'static str> {
    PROGRAM_NAMES.spellings().filter(move |name| place::matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_program() {
        PROGRAM_NAMES.assert_sound();
        assert!(PROGRAM_NAMES.listed.iter().all(|name| usize::from(name.number) < PROGRAMS.len()));
    }

    #[test]
    fn a_version_in_the_name_does_not_hide_a_program() {
        assert!(program("python3.11").is_some());
        assert!(program("nosuchprogram").is_none());
    }
}
