//! `safety.custom_patterns`: the user's regular expressions over shell commands, compiled together.
//!
//! Only compiled when a configuration has some. They are matched against the command as written,
//! and each program's words as they would run, so that quoting inside a word hides nothing.

use std::fmt;

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, PatternSet};

use crate::analysis::Invocation;
use crate::verdict::Span;

/// The most memory that the automaton of all patterns of one file may take: enough for several
/// thousand.
const MOST_MEMORY: usize = 64 << 20;

/// The size of the cache for lazily built states. Each state holds a number for every pattern that
/// may still match, so with the default size thousands of patterns would evict each other.
const MOST_STATES: usize = 16 << 20;

/// Patterns of one file, compiled together.
#[derive(Clone)]
pub(crate) struct Patterns {
    regex: Regex,
    texts: Vec<String>,
}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Patterns").field(&self.texts).finish()
    }
}

/// The index of a wrong pattern, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPattern {
    pub(crate) at: usize,
    pub(crate) problem: String,
}

impl Patterns {
    /// Compiles them all.
    pub(crate) fn compile(texts: Vec<String>) -> Result<Self, BadPattern> {
        if let Some(at) = texts.iter().position(|text| text.trim().is_empty()) {
            return Err(BadPattern {
                at,
                problem: "an empty pattern matches everything".to_owned(),
            });
        }
        let config = Config::new()
            .match_kind(MatchKind::All)
            .nfa_size_limit(Some(MOST_MEMORY))
            .hybrid_cache_capacity(MOST_STATES)
            .auto_prefilter(false);
        let regex = Regex::builder()
            .configure(config)
            // A line break in the middle of a command must not get it past `heroku.*--force`.
            .syntax(syntax::Config::new().dot_matches_new_line(true))
            .build_many(&texts)
            .map_err(|error| bad(&error))?;
        Ok(Self { regex, texts })
    }

    /// The patterns as written.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Each pattern that matches, and its position if it matches the text itself.
    pub(crate) fn find<'a>(
        &'a self,
        text: &str,
        commands: &[Invocation],
    ) -> Vec<(&'a str, Option<Span>)> {
        // The individual patterns are identified only when one of them matched.
        let shown: Vec<String> = commands.iter().map(Invocation::shown).collect();
        if !self.regex.is_match(text) && !shown.iter().any(|shown| self.regex.is_match(shown)) {
            return Vec::new();
        }
        let mut found = PatternSet::new(self.texts.len());
        self.look(text, &mut found);
        let span = if found.is_empty() { None } else { self.place(text) };
        for shown in &shown {
            self.look(shown, &mut found);
        }
        let found = found.iter().map(|id| id.as_usize());
        found
            .filter_map(|at| {
                let here = span.filter(|(first, _)| *first == at).map(|(_, span)| span);
                self.texts.get(at).map(|text| (text.as_str(), here))
            })
            .collect()
    }

    fn look(&self, text: &str, found: &mut PatternSet) {
        self.regex.which_overlapping_matches(&Input::new(text), found);
    }

    /// The position of the first match of any pattern.
    fn place(&self, text: &str) -> Option<(usize, Span)> {
        let found = self.regex.find(text)?;
        let number = |at: usize| u32::try_from(at).ok();
        Some((found.pattern().as_usize(), [number(found.start())?, number(found.end())?]))
    }
}

fn bad(error: &BuildError) -> BadPattern {
    let at = error.pattern().map_or(0, |id| id.as_usize());
    let problem = match error.syntax_error() {
        // The full message prints the pattern over several lines; its last line has the reason.
        Some(syntax) => {
            let text = syntax.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
        None => "the patterns together are too large".to_owned(),
    };
    BadPattern { at, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Patterns {
        Patterns::compile(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap()
    }

    #[test]
    fn all_patterns_that_match_are_found() {
        let patterns = patterns(&["heroku.*--force", "nomatch", "(?i)APPS", r"\bforce\b"]);
        let found = patterns.find("x; heroku apps:destroy --force", &[]);
        let texts: Vec<_> = found.iter().map(|(text, _)| *text).collect();
        assert_eq!(texts, ["heroku.*--force", "(?i)APPS", r"\bforce\b"]);
        assert_eq!(found.first().and_then(|(_, span)| *span), Some([3, 30]));
        assert!(patterns.find("ls", &[]).is_empty());
    }

    #[test]
    fn a_line_break_or_a_quote_does_not_hide_it() {
        let patterns = patterns(&["heroku.*--force"]);
        assert_eq!(patterns.find("heroku x \\\n --force", &[]).len(), 1);
        let command = Invocation {
            program: "heroku".into(),
            words: vec!["--force".into()],
            operands: Vec::new(),
            span: None,
            origin: None,
        };
        assert_eq!(patterns.find("her''oku --force", &[command]), [("heroku.*--force", None)]);
    }

    #[test]
    fn a_bad_pattern_says_which_and_why() {
        let compile = |texts: &[&str]| {
            Patterns::compile(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap_err()
        };
        let error = compile(&["ok", "a(b"]);
        assert_eq!((error.at, error.problem.as_str()), (1, "unclosed group"));
        assert_eq!(compile(&["ok", "ok", " "]).at, 2);
        assert_eq!(
            compile(&["(?:a{1000}){1000}{9}"]).problem,
            "the patterns together are too large"
        );
    }

    #[test]
    fn long_commands_take_linear_time() {
        let patterns = patterns(&["(a*)*b", "(x+x+)+y", "^(.*?,){20}P"]);
        assert!(patterns.find(&"a".repeat(1 << 20), &[]).is_empty());
    }
}
