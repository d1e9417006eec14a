//! Compares the real effects with the predicted ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::happened::Happened;
use super::plant;
use super::predicted::Prediction;
use super::thing::{Class, is_under};

/// One comparison, or the sum of many.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Score {
    /// Effects that were predicted and happened.
    pub(crate) hits: usize,
    /// Hits that were only predicted as possible.
    pub(crate) possible: usize,
    /// Effects that happened but were not predicted.
    pub(crate) missed: Vec<String>,
    /// Effects that happened but were not predicted, where the core said that it does not know
    /// everything.
    pub(crate) opaque: usize,
    /// Effects that were predicted as certain but did not happen, although the script succeeded.
    pub(crate) noise: Vec<String>,
    /// Effects that were predicted as possible but did not happen, although the script succeeded.
    pub(crate) unfulfilled: usize,
}

impl Score {
    /// Returns the share of real effects that were predicted.
    pub(crate) fn recall(&self) -> Option<f64> {
        share(self.hits, self.missed.len())
    }

    /// Returns the share of predicted effects that happened.
    pub(crate) fn precision(&self) -> Option<f64> {
        share(self.hits, self.noise.len())
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.possible += other.possible;
        self.unfulfilled += other.unfulfilled;
        self.opaque += other.opaque;
        self.missed.extend(other.missed.iter().cloned());
        self.noise.extend(other.noise.iter().cloned());
    }
}

fn share(good: usize, bad: usize) -> Option<f64> {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    (good + bad > 0).then(|| number(good) / number(good + bad))
}

pub(crate) type Scores = BTreeMap<Class, Score>;

/// The end of a script, as far as it matters for the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The script did everything.
    Success,
    /// The script stopped before its end.
    Failure,
}

/// Compares one script's effects.
pub(crate) fn compare(
    said: &Prediction,
    done: &Happened,
    ending: Ending,
    planted: &[String],
) -> Scores {
    Class::ALL
        .into_iter()
        .map(|class| (class, compare_class(class, said, done, ending, planted)))
        .collect()
}

fn compare_class(
    class: Class,
    said: &Prediction,
    done: &Happened,
    ending: Ending,
    planted: &[String],
) -> Score {
    let empty = BTreeSet::new();
    let patterns = said.things.get(&class).unwrap_or(&empty);
    let actual = done.things.get(&class).unwrap_or(&empty);
    let besides = match class {
        Class::Read => &done.read_besides,
        // A file that another one replaces is removed from its path.
        Class::Move => done.things.get(&Class::Delete).unwrap_or(&empty),
        _ => &empty,
    };
    let happens =
        |pattern: &String| actual.iter().chain(besides).any(|thing| covers(class, pattern, thing));
    let matched = |thing: &String| patterns.iter().any(|pattern| covers(class, pattern, thing));
    let missed = actual.iter().filter(|thing| !matched(thing) && !is_implied(class, thing, said));
    let missed = topmost(missed);
    let (happened, quiet): (Vec<_>, Vec<_>) = patterns.iter().partition(|thing| happens(thing));
    let expected = |pattern: &&&String| {
        ending == Ending::Success && !said.opaque && could_happen(class, pattern, planted)
    };
    let is_possible = |pattern: &String| said.is_possible(class, pattern);
    let (unfulfilled, noise): (Vec<&&String>, Vec<&&String>) =
        quiet.iter().filter(expected).partition(|pattern| is_possible(pattern));
    Score {
        hits: happened.len(),
        possible: happened.iter().filter(|pattern| is_possible(pattern)).count(),
        opaque: if said.opaque { missed.len() } else { 0 },
        missed: if said.opaque { Vec::new() } else { missed },
        noise: noise.into_iter().map(|pattern| (**pattern).clone()).collect(),
        unfulfilled: unfulfilled.len(),
    }
}

/// Reports whether another predicted effect implies this one: a file that is written is also read
/// and replaced, one that is moved is removed from its path, and a script that is run is read.
fn is_implied(class: Class, thing: &str, said: &Prediction) -> bool {
    let all = |class| said.things.get(&class).into_iter().flatten();
    match class {
        Class::Read => {
            let name = thing.rsplit('/').next().unwrap_or_default();
            all(Class::Write).any(|pattern| pattern == thing)
                || all(Class::Execute).any(|program| program == name)
        }
        Class::Delete => {
            let mut gone = all(Class::Write).chain(all(Class::Move));
            gone.any(|pattern| covers(class, pattern, thing))
        }
        Class::Execute => OF_THE_SHELL.contains(&thing),
        Class::Write | Class::Move | Class::Connect | Class::Signal => false,
    }
}

/// Reports whether a predicted thing includes one that was touched.
pub(crate) fn covers(class: Class, pattern: &str, thing: &str) -> bool {
    match class {
        Class::Connect | Class::Signal => true,
        Class::Execute => glob(pattern, thing),
        _ => {
            let inside = is_under(thing, pattern);
            // A parent folder that is created for the named one.
            let on_the_way = class == Class::Write && is_under(pattern, thing);
            inside || on_the_way || glob(pattern, thing) || glob(&format!("{pattern}/*"), thing)
        }
    }
}

/// Reports whether a glob of `*`, `?` and `[…]` matches a text.
fn glob(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?', '[']) {
        return pattern == text;
    }
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // The prefixes of the text that the glob so far can match.
    let mut reached = vec![false; text.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    let mut at = 0;
    while let Some(&letter) = pattern.get(at) {
        let mut next = vec![false; text.len() + 1];
        for (end, slot) in next.iter_mut().enumerate() {
            let before =
                |back: usize| end.checked_sub(back).and_then(|end| reached.get(end).copied());
            *slot = match letter {
                '*' => reached.iter().take(end + 1).any(|reached| *reached),
                '?' | '[' => before(1).unwrap_or_default(),
                _ => {
                    before(1).unwrap_or_default() && text.get(end.wrapping_sub(1)) == Some(&letter)
                }
            };
        }
        reached = next;
        at += if letter == '[' { closing(&pattern, at) } else { 1 };
    }
    reached.last().copied().unwrap_or_default()
}

/// Returns the length of a `[…]`.
fn closing(pattern: &[char], at: usize) -> usize {
    let rest = pattern.iter().skip(at);
    rest.clone().position(|letter| *letter == ']').map_or(rest.count(), |end| end + 1)
}

/// Returns the things without those inside another of them.
fn topmost<'a>(things: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut top: Vec<String> = Vec::new();
    for thing in things {
        let inside = top.iter().any(|above| above != "/" && is_under(thing, above));
        if !inside {
            top.push(thing.clone());
        }
    }
    top
}

/// Reports whether the preconditions of a prediction were met.
fn could_happen(class: Class, pattern: &str, planted: &[String]) -> bool {
    let known = !pattern.contains(['*', '?', '[']);
    match class {
        Class::Write | Class::Connect | Class::Signal => true,
        Class::Execute => known && is_installed(pattern),
        Class::Read | Class::Delete | Class::Move => {
            let there = plant::SECRETS.contains(&pattern)
                || planted.iter().any(|path| path.trim_end_matches('/') == pattern);
            known && there
        }
    }
}

/// Words of the shell itself, which are not reported even if a program of that name is run.
const OF_THE_SHELL: &[&str] = &[
    ".", "[", "alias", "bg", "break", "builtin", "cd", "command", "compgen", "complete",
    "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export",
    "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local",
    "mapfile", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift",
    "shopt", "source", "test", "time", "times", "trap", "true", "type", "ulimit", "umask",
    "unalias", "unset", "wait",
];

/// Reports whether a program that is not a builtin of the shell can be run.
fn is_installed(name: &str) -> bool {
    let folders = ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/usr/local/sbin"];
    !OF_THE_SHELL.contains(&name)
        && folders.iter().any(|folder| Path::new(folder).join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::super::thing::Things;
    use super::*;

    fn things(all: &[(Class, &str)]) -> Things {
        let mut things = Things::new();
        for (class, thing) in all {
            things.entry(*class).or_default().insert((*thing).to_owned());
        }
        things
    }

    fn done(all: &[(Class, &str)]) -> Happened {
        Happened { things: things(all), ..Happened::default() }
    }

    fn said(all: &[(Class, &str)], opaque: bool) -> Prediction {
        Prediction { things: things(all), opaque, program: "x".into(), ..Prediction::default() }
    }

    #[test]
    fn a_folder_speaks_of_what_lies_in_it() {
        assert!(covers(Class::Delete, "/w/a", "/w/a/b/c"));
        assert!(!covers(Class::Delete, "/w/a", "/w/ab"));
        assert!(!covers(Class::Delete, "/w/a/b", "/w/a"));
        assert!(covers(Class::Write, "/w/a/b", "/w/a"));
        assert!(covers(Class::Delete, "/", "/etc"));
        assert!(covers(Class::Delete, "/w/*.txt", "/w/a.txt"));
        assert!(covers(Class::Delete, "/w/*", "/w/a/b"));
        assert!(covers(Class::Execute, "*", "rm"));
        assert!(!covers(Class::Execute, "r", "rm"));
    }

    #[test]
    fn globs_match_whole_texts() {
        for (pattern, text, wanted) in [
            ("a*c", "abbc", true),
            ("a?c", "abc", true),
            ("a[bx]c", "abc", true),
            ("a[", "ab", true),
            ("*.md", "x.mdx", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(glob(pattern, text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn what_was_not_said_is_missed_unless_the_core_said_so() {
        let done = done(&[(Class::Delete, "/w/a"), (Class::Delete, "/w/a/b")]);
        let scores = compare(&said(&[], false), &done, Ending::Success, &[]);
        assert_eq!(scores.get(&Class::Delete).unwrap().missed, ["/w/a"]);
        let scores = compare(&said(&[], true), &done, Ending::Success, &[]);
        let score = scores.get(&Class::Delete).unwrap();
        assert_eq!((score.opaque, score.missed.len()), (1, 0));
    }

    #[test]
    fn what_is_written_is_also_read_and_replaced() {
        let prediction = said(&[(Class::Write, "/w/a")], false);
        let all = [Class::Read, Class::Write, Class::Delete].map(|c| (c, "/w/a"));
        let scores = compare(&prediction, &done(&all), Ending::Success, &[]);
        assert!(scores.values().all(|score| score.missed.is_empty()), "{scores:?}");
        let moved = compare(&prediction, &done(&[(Class::Move, "/w/a")]), Ending::Success, &[]);
        assert_eq!(moved.get(&Class::Move).unwrap().missed, ["/w/a"]);
    }

    #[test]
    fn what_did_not_happen_is_noise_only_where_it_could() {
        let prediction = said(&[(Class::Delete, "/w/a"), (Class::Write, "/w/b")], false);
        let noise = |ending, planted: &[String]| {
            let scores = compare(&prediction, &done(&[]), ending, planted);
            scores.values().map(|score| score.noise.len()).sum::<usize>()
        };
        assert_eq!(noise(Ending::Failure, &["/w/a".to_owned()]), 0);
        assert_eq!(noise(Ending::Success, &[]), 1);
        assert_eq!(noise(Ending::Success, &["/w/a".to_owned()]), 2);
        let mut doubtful = said(&[(Class::Write, "/w/b")], false);
        doubtful.possible.entry(Class::Write).or_default().insert("/w/b".to_owned());
        let scores = compare(&doubtful, &done(&[]), Ending::Success, &[]);
        let score = scores.get(&Class::Write).unwrap();
        assert_eq!((score.noise.len(), score.unfulfilled), (0, 1));
    }

    #[test]
    fn what_is_moved_is_gone_and_what_is_run_is_read() {
        let prediction = said(&[(Class::Move, "/w/a"), (Class::Execute, "run.sh")], false);
        let all = [(Class::Delete, "/w/a"), (Class::Read, "/w/run.sh")];
        let scores = compare(&prediction, &done(&all), Ending::Success, &[]);
        assert!(scores.values().all(|score| score.missed.is_empty()), "{scores:?}");
    }
}
