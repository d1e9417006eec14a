//! A command's words, classified as options, their values and operands.

use super::catalogue::Program;
use super::value::Arg;
use crate::analyze::Invocation;
use crate::verdict::Span;

/// A command's words after its name.
pub(super) struct Arguments<'a> {
    words: &'a [Arg],
    /// Positions of the operands among the words.
    places: Vec<usize>,
    /// Positions of option values that are words of their own.
    value_places: Vec<usize>,
    operands: Vec<&'a Arg>,
    /// The bytes that occur in any of the words.
    bytes: ByteSet,
    /// True when any word begins with a dash.
    dashed: bool,
}

/// A set of bytes; all non-ASCII bytes count as one.
#[derive(Debug, Clone, Copy, Default)]
struct ByteSet(u128);

impl ByteSet {
    fn of(text: &str) -> Self {
        let bit = |byte: u8| 1_u128 << byte.min(0x7f);
        Self(text.bytes().fold(0, |bits, byte| bits | bit(byte)))
    }

    fn has(self, byte: u8) -> bool {
        self.0 & (1 << byte.min(0x7f)) != 0
    }
}

impl<'a> Arguments<'a> {
    /// Classifies the words with the catalogue's entry for the program.
    pub(super) fn new(words: &'a [Arg], program: Option<&Program>) -> Self {
        let values = program.map_or(&[][..], |program| program.values);
        let mut places = Vec::with_capacity(words.len());
        let mut value_places = Vec::new();
        let mut operands = Vec::with_capacity(words.len());
        let mut rest = words.iter().enumerate();
        let mut options_end = false;
        let (mut bytes, mut dashed) = (ByteSet::default(), false);
        for word in words {
            bytes = ByteSet(bytes.0 | ByteSet::of(&word.text).0);
            dashed |= word.text.starts_with('-');
        }
        while let Some((at, word)) = rest.next() {
            let text = word.text.as_str();
            if options_end || !text.starts_with('-') || text == "-" {
                places.push(at);
                operands.push(word);
            } else if text == "--" {
                options_end = true;
            } else if takes_next(text, values) {
                value_places.extend(rest.next().map(|(at, _)| at));
            }
        }
        Self { words, places, value_places, operands, bytes, dashed }
    }

    /// Reports whether any word begins with a dash.
    pub(super) fn has_options(&self) -> bool {
        self.dashed
    }

    /// Reports whether any word contains one of these characters. Most commands contain neither `:`
    /// nor `=`, so that whole families of checks can skip their words.
    pub(super) fn hold_any(&self, bytes: &[u8]) -> bool {
        bytes.iter().any(|byte| self.bytes.has(*byte))
    }

    /// Returns all words.
    pub(super) fn words(&self) -> &'a [Arg] {
        self.words
    }

    /// Returns the words that are neither options nor their values.
    pub(super) fn operands(&self) -> &[&'a Arg] {
        &self.operands
    }

    /// Returns the options before `--`, without their values.
    pub(super) fn options(&self) -> impl Iterator<Item = &'a Arg> {
        let ended = self.words.iter().position(|word| word.text == "--");
        let words = self.words.get(..ended.unwrap_or(self.words.len())).unwrap_or_default();
        let is_value = |at: usize| self.value_places.contains(&at);
        let all = words.iter().enumerate();
        let options: Vec<_> = all
            .filter(|(at, word)| word.text.starts_with('-') && !is_value(*at))
            .map(|(_, word)| word)
            .collect();
        options.into_iter()
    }

    /// Returns the words before the first operand.
    pub(super) fn leading_options(&self) -> &'a [Arg] {
        let end = self.places.first().copied().unwrap_or(self.words.len());
        self.words.get(..end).unwrap_or_default()
    }

    /// Returns the command in the form that rules match.
    pub(super) fn invocation(&self, program: &str, span: Option<Span>) -> Invocation {
        Invocation {
            program: program.to_owned(),
            words: self.words.iter().map(|arg| arg.text.clone()).collect(),
            operands: self.places.clone(),
            span,
            origin: None,
        }
    }

    /// Returns the positions of the operands among the words.
    pub(super) fn into_places(self) -> Vec<usize> {
        self.places
    }

    /// Returns the text of an operand.
    pub(super) fn operand(&self, at: usize) -> Option<&str> {
        self.operands.get(at).map(|arg| arg.text.as_str())
    }

    /// Reports whether this option is present: `-f` also in `-rf`, `--force` also as `--force=x`,
    /// or exactly this word.
    pub(super) fn has(&self, option: &str) -> bool {
        if !self.dashed && option.starts_with('-') {
            return false;
        }
        self.words.iter().any(|word| is_option(&word.text, option))
    }

    /// Reports whether any of these options is present.
    pub(super) fn has_any(&self, options: &[&str]) -> bool {
        options.iter().any(|option| self.has(option))
    }

    /// Returns the value of the first of these options that is present.
    pub(super) fn value(&self, options: &[&str]) -> Option<Arg> {
        self.values(options).into_iter().next()
    }

    /// Returns every value of any of these options: `-o x`, `-ox`, `--out x`, `--out=x`, `of=x`.
    pub(super) fn values(&self, options: &[&str]) -> Vec<Arg> {
        let mut found = Vec::new();
        if !self.dashed && options.iter().all(|option| option.starts_with('-')) {
            return found;
        }
        for (at, word) in self.words.iter().enumerate() {
            for option in options.iter().filter(|option| may_name(&word.text, option)) {
                if let Some(value) = attached(&word.text, option) {
                    found.push(Arg { text: value.to_owned(), ..word.clone() });
                } else if takes_next(&word.text, &[option]) {
                    found.extend(self.words.get(at + 1).cloned());
                }
            }
        }
        found
    }
}

impl Arguments<'_> {
    /// Returns every value of these options as a word of its own, or in `--out=x`: for programs
    /// whose long options have one dash, so that letters are never clustered.
    pub(super) fn whole_values(&self, options: &[&str]) -> Vec<Arg> {
        let pairs = self.words.windows(2).filter_map(|pair| match pair {
            [option, value] if options.contains(&option.text.as_str()) => Some(value.clone()),
            _ => None,
        });
        let attached = self.words.iter().filter_map(|word| {
            let (option, value) = word.text.split_once('=')?;
            let is_long = option.starts_with("--") && options.contains(&option);
            is_long.then(|| word.saying(value))
        });
        pairs.chain(attached).collect()
    }
}

/// Reports whether the word is this option.
fn is_option(word: &str, option: &str) -> bool {
    if word == option {
        return true;
    }
    if let Some(long) = option.strip_prefix("--") {
        return word.strip_prefix("--").is_some_and(|word| {
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            // GNU accepts any unambiguous prefix of a long option.
            name == long || (name.len() >= 3 && long.starts_with(name))
        });
    }
    let mut letters = option.strip_prefix('-').unwrap_or_default().chars();
    match (letters.next(), letters.next(), word.strip_prefix('-')) {
        (Some(letter), None, Some(cluster)) => {
            !cluster.starts_with('-')
                && cluster.chars().all(|char| char.is_ascii_alphanumeric())
                && cluster.contains(letter)
        }
        _ => false,
    }
}

/// Reports whether a word may be this option, alone, with its value or as the last of several
/// letters. A cheap pre-check: nearly every word is compared with many options and is none of them.
fn may_name(word: &str, option: &str) -> bool {
    match option.as_bytes() {
        [b'-', letter] => {
            word.starts_with('-')
                && (word.starts_with(option) || word.as_bytes().last() == Some(letter))
        }
        _ => word.starts_with(option),
    }
}

/// Returns the value that is in the same word as its option.
fn attached<'w>(word: &'w str, option: &str) -> Option<&'w str> {
    if option.starts_with("--") || (option.starts_with('-') && option.len() > 2) {
        return word.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
    }
    let rest = word.strip_prefix(option)?;
    (!rest.is_empty()).then_some(rest)
}

/// Reports whether the next word is this option's value.
fn takes_next(word: &str, values: &[&str]) -> bool {
    if word.starts_with("--") {
        return values.contains(&word);
    }
    let Some(cluster) = word.strip_prefix('-') else { return false };
    // The name of a signal is not a cluster: `killall -STOP x`.
    if matches!(cluster, "STOP" | "TSTP" | "HUP" | "SIGSTOP" | "SIGHUP") {
        return false;
    }
    values.iter().any(|value| {
        *value == word
            || (value.len() == 2
                && value.strip_prefix('-').is_some_and(|letter| {
                    // `-xu` takes the next word; in `-ux` the value is `x`.
                    cluster.ends_with(letter)
                        && cluster.find(letter) == Some(cluster.len().wrapping_sub(1))
                        && cluster.chars().all(|char| char.is_ascii_alphanumeric())
                        && !values.iter().any(|other| {
                            other.len() == 2
                                && other
                                    .strip_prefix('-')
                                    .and_then(|other| cluster.find(other))
                                    .is_some_and(|at| at + 1 < cluster.len())
                        })
                }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<Arg> {
        line.split(' ').map(Arg::literal).collect()
    }

    #[test]
    fn options_are_found_in_clusters_and_with_values() {
        let words = args("-rf --out=x -o y z");
        let arguments = Arguments::new(&words, None);
        assert!(arguments.has("-f") && arguments.has("-r") && arguments.has("--out"));
        assert_eq!(arguments.value(&["--out"]).unwrap().text, "x");
        assert_eq!(arguments.value(&["-o"]).unwrap().text, "y");
    }

    #[test]
    fn a_beginning_of_a_long_option_is_that_option() {
        let words = args("--recurs --forc /");
        let arguments = Arguments::new(&words, None);
        assert!(arguments.has("--recursive") && arguments.has("--force"));
    }

    #[test]
    fn values_are_not_operands() {
        assert!(takes_next("-xu", &["-u"]));
        assert!(!takes_next("-ux", &["-u"]));
        assert!(takes_next("--user", &["--user"]));
        assert!(!takes_next("--user=x", &["--user"]));
    }
}
