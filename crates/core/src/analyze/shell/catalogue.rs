//! Knowledge about programs, compiled from `catalogue/*.yaml`.

use crate::fact::{FactKind, Tag, Tags};
use crate::location;
use crate::lookup::{Name, Names};

/// One program.
#[derive(Debug)]
pub(super) struct Program {
    /// Options that take a value in the next word.
    pub(super) values: &'static [&'static str],
    /// The way it starts another command.
    pub(super) wraps: Option<Wrap>,
    /// Its effects on its words.
    pub(super) does: &'static [Effect],
    /// The source text that it runs.
    pub(super) runs: Option<Runs>,
    /// Options whose value is a command line.
    pub(super) executes: &'static [&'static str],
    /// Options that name the code, or the folder of code, that it runs.
    pub(super) loads: &'static [&'static str],
    /// The way it selects processes to end.
    pub(super) ends: Option<Ends>,
    /// True when its verbs are known, so that the general ones do not apply.
    pub(super) own_verbs: bool,
    /// True when each line of its standard input is more words for it.
    pub(super) prompts: bool,
    /// The words that name code which it downloads.
    pub(super) installs: Option<Installs>,
    /// The condition under which it lets others reach this machine.
    pub(super) opens: Option<Opens>,
    /// True when nothing that it produces is source text.
    pub(super) makes_data: bool,
    /// The kind of program whose words have a grammar of their own.
    pub(super) acts_as: Option<Class>,
    /// The words that make it run or install the files that it is given.
    pub(super) runs_given: Option<Given>,
}

/// A kind of program whose words have a grammar of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Awk,
    /// Copies files to and from other machines.
    CopiesOverNetwork,
    /// Edits the table of scheduled commands.
    Crontab,
    Fd,
    Find,
    Git,
    HttpClient,
    /// Changes the permissions or the owner of files.
    Permissions,
    /// Opens connections for raw bytes.
    RawNetwork,
    /// Searches in files.
    Search,
    Sed,
}

/// The words with which a program runs or installs the files that it is given.
#[derive(Debug)]
pub(super) struct Given {
    /// Applies after one of these operands.
    pub(super) after: &'static [&'static str],
    /// Applies with one of these options.
    pub(super) with: &'static [&'static str],
}

/// The words of a program that name code which it downloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installs {
    /// The words after a verb such as `install` or `run`.
    Verbs,
    /// All words.
    All,
    /// The first operand; the others are for that code.
    First,
    /// All words, also those that are only the name of a repository.
    Repositories,
}

/// The condition under which a program lets others reach this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    Always,
    /// Only if it listens on a public address, or does not authenticate anybody.
    Wide,
}

/// The way in which a program starts another command.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent word of the YAML")]
pub(super) struct Wrap {
    /// The number of words to skip before the command starts.
    pub(super) skip: usize,
    /// True when `NAME=value` words may precede the command.
    pub(super) assigns: bool,
    /// Options whose value is a script for the shell.
    pub(super) script: &'static [&'static str],
    /// True when the command runs as another user.
    pub(super) elevates: bool,
    /// True when the command runs in another container or pod.
    pub(super) elsewhere: bool,
    /// True when the command's words are joined and given to a shell.
    pub(super) joins: bool,
    /// True when more words are added from standard input.
    pub(super) appends: bool,
    /// Applies only after one of these operands.
    pub(super) after: &'static [&'static str],
}

/// An effect of a program on some of its words.
#[derive(Debug)]
pub(super) struct Effect {
    pub(super) fact: FactKind,
    /// The words that it happens to.
    pub(super) on: Slot,
    /// Applies only after these operands.
    pub(super) sub: &'static [&'static str],
    /// Applies only with one of these.
    pub(super) when: &'static [&'static str],
    /// Does not apply with any of these.
    pub(super) unless: &'static [&'static str],
    /// Covers whole folders with one of these.
    pub(super) recursive: &'static [&'static str],
    /// Does not ask with one of these.
    pub(super) forced: &'static [&'static str],
    /// Tags that always apply.
    pub(super) tags: Tags,
    /// The pattern for the thing's name, where that is derived from the word.
    pub(super) named: &'static str,
}

impl Effect {
    /// Reports whether the word itself is the thing's name.
    pub(super) fn named_by_word(&self) -> bool {
        self.named.is_empty()
    }
}

/// A selection of a command's words.
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

/// The way in which a program selects the processes to end.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) by: By,
    /// Applies only with one of these words.
    pub(super) after: &'static [&'static str],
    /// Does not apply with any of these.
    pub(super) unless: &'static [&'static str],
}

/// The kind of name by which processes to end are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Process ids.
    Number,
    /// The name of their program.
    Name,
    /// A regular expression over names, or over whole command lines.
    Pattern,
    /// A service or a container.
    Unit,
}

/// The source text that a program runs.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) language: Code,
    /// Options whose value is source text.
    pub(super) source: &'static [&'static str],
    /// True when the first operand is source text and no option gave any.
    pub(super) operand: bool,
    /// True when the first operand is a file to run.
    pub(super) file: bool,
    /// True when source text may come from standard input.
    pub(super) stdin: bool,
}

/// The language of a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// bash and similar shells.
    Shell,
    Python,
    Javascript,
    Perl,
    Ruby,
    /// A database's SQL.
    Sql,
    /// AppleScript, or JavaScript for Automation.
    Applescript,
    /// A language that is only searched for calls that start a shell.
    Other,
}

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// Returns the catalogue's entry for a program.
pub(super) fn program(name: &str) -> Option<&'static Program> {
    let known = |name: &str| PROGRAM_NAMES.find(name).and_then(|at| PROGRAMS.get(at));
    // `python3.11` and `gcc-12` are looked up without the version.
    known(name).or_else(|| {
        let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
        let bare = bare.strip_suffix('-').unwrap_or(bare);
        if bare.len() == name.len() || bare.is_empty() { None } else { known(bare) }
    })
}

/// Returns the kind of a program.
pub(super) fn class(name: &str) -> Option<Class> {
    program(name).and_then(|program| program.acts_as)
}

/// Returns the name under which the catalogue lists a program.
pub(super) fn own_name(name: &str) -> &str {
    let alias = ALIASES.binary_search_by_key(&name, |(alias, _)| alias).ok();
    alias.and_then(|at| ALIASES.get(at)).map_or(name, |(_, own)| own)
}

/// Returns the program names that a glob of the shell can match.
pub(super) fn matching(pattern: &str) -> impl Iterator<Item = &'static str> {
    PROGRAM_NAMES.spellings().filter(move |name| location::matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::example::{example_context, judge_example};
    use crate::rule::rules;

    #[test]
    fn every_name_leads_to_its_program() {
        PROGRAM_NAMES.assert_sound();
        assert!(PROGRAM_NAMES.listed.iter().all(|name| usize::from(name.number) < PROGRAMS.len()));
    }

    #[test]
    fn an_alias_is_judged_like_its_program() {
        let (policy, context) = (Policy::default(), example_context());
        let verdict = |command: &str| judge_example(command, &policy, &context).verdict;
        let (mut compared, mut differ) = (0, Vec::new());
        for (alias, name) in ALIASES.iter().filter(|(_, name)| class(name).is_some()) {
            for example in
                rules().iter().flat_map(|rule| rule.hits.iter().chain(rule.misses.iter()))
            {
                let rest = example.strip_prefix(*name).filter(|rest| rest.starts_with(' '));
                let Some(rest) = rest else { continue };
                let other = format!("{alias}{rest}");
                if verdict(example) != verdict(&other) {
                    differ.push(other);
                }
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared}");
        assert!(differ.is_empty(), "{differ:#?}");
    }

    #[test]
    fn a_version_in_the_name_does_not_hide_a_program() {
        assert!(program("python3.11").is_some());
        assert!(program("nosuchprogram").is_none());
    }
}
