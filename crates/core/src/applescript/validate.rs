//! A check that a script is well-formed, from its text alone.
//!
//! It checks strings, comments, brackets, blocks and continued lines. It knows no app's dictionary:
//! a script that passes may still not compile, and the answer says so.

use serde::{Deserialize, Serialize};

use super::SafetyAnalysis;
use crate::analyze::applescript::fault_text;
use crate::analyze::applescript::lex::{Lexed, Token, lex};
use crate::analyze::applescript::shape::{Block, Shape, shape};
use crate::context::Context;

/// The most problems that are reported for one script.
const MOST_ERRORS: usize = 20;

/// The result of checking a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Validation {
    /// Nothing wrong was found.
    pub valid: bool,
    /// Only the structure was looked at; no compiler was asked.
    pub structural_only: bool,
    /// The problems, each with its line.
    pub errors: Vec<String>,
    /// The safety of running it.
    pub safety_analysis: SafetyAnalysis,
}

/// Checks the structure and the safety of a script.
#[must_use]
pub fn validate(script: &str, context: &Context) -> Validation {
    let lexed = lex(script);
    let mut check = Check { script, errors: Vec::new() };
    check.faults(&lexed);
    check.blocks(&lexed);
    check.errors.sort_unstable();
    let errors: Vec<String> = check
        .errors
        .into_iter()
        .take(MOST_ERRORS)
        .map(|(line, message)| format!("line {line}: {message}"))
        .collect();
    Validation {
        valid: errors.is_empty(),
        structural_only: true,
        errors,
        safety_analysis: SafetyAnalysis::of(script, context),
    }
}

struct Check<'a> {
    script: &'a str,
    errors: Vec<(usize, String)>,
}

impl Check<'_> {
    fn error(&mut self, at: u32, message: String) {
        if self.errors.len() >= MOST_ERRORS {
            return;
        }
        let before = self.script.get(..at as usize).unwrap_or_default();
        let line = before.matches('\n').count().max(before.matches('\r').count()) + 1;
        self.errors.push((line, message));
    }

    fn faults(&mut self, lexed: &Lexed<'_>) {
        for (fault, span) in &lexed.faults {
            self.error(span[0], fault_text(*fault));
        }
    }

    fn blocks(&mut self, lexed: &Lexed<'_>) {
        let mut open: Vec<(Block, u32)> = Vec::new();
        for statement in lexed.statements() {
            let at = statement.first().map_or(0, |token| token.span[0]);
            self.brackets(statement);
            match shape(statement, open.last().map(|(block, _)| *block)) {
                Shape::Opens(block) => open.push((block, at)),
                Shape::Divides(block) if open.last().is_none_or(|(last, _)| *last != block) => {
                    self.error(at, format!("a part of `{}` outside of one", block.name()));
                }
                Shape::Closes(block) => self.close(&mut open, block, at),
                Shape::Divides(_) | Shape::Plain => {}
            }
        }
        for (block, at) in open {
            self.error(at, format!("`{}` without its `end`", block.name()));
        }
    }

    fn close(&mut self, open: &mut Vec<(Block, u32)>, block: Option<Block>, at: u32) {
        match (open.last().map(|(block, _)| *block), block) {
            (None, _) => self.error(at, "`end` without anything to end".to_owned()),
            (Some(last), Some(block)) if last != block && last != Block::Handler => {
                let message = format!("`end` of `{}` inside `{}`", block.name(), last.name());
                self.error(at, message);
                // Close the block that was meant, so that one slip is one error.
                let meant = open.iter().rev().take(8).any(|(open, _)| *open == block);
                while open.pop().is_some_and(|(open, _)| meant && open != block) {}
            }
            (Some(_), _) => {
                open.pop();
            }
        }
    }

    fn brackets(&mut self, statement: &[Token<'_>]) {
        let mut open: Vec<(&str, u32)> = Vec::new();
        for token in statement {
            let at = token.span[0];
            let wanted = match () {
                () if token.is_sign("(") => {
                    open.push((")", at));
                    continue;
                }
                () if token.is_sign("{") => {
                    open.push(("}", at));
                    continue;
                }
                () if token.is_sign(")") => ")",
                () if token.is_sign("}") => "}",
                () => continue,
            };
            if open.pop().is_none_or(|(close, _)| close != wanted) {
                return self.error(at, format!("`{wanted}` that closes nothing"));
            }
        }
        if let Some((close, at)) = open.first() {
            self.error(*at, format!("a bracket without its `{close}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(script: &str) -> Vec<String> {
        let validation = validate(script, &Context::default());
        assert_eq!(validation.valid, validation.errors.is_empty());
        assert!(validation.structural_only);
        validation.errors
    }

    #[test]
    fn whole_scripts_of_every_block_are_valid() {
        for script in [
            "beep",
            "tell application \"Finder\"\n\ttry\n\t\tget selection\n\ton error\n\t\tbeep\n\tend try\nend tell",
            "on go(a)\n\tif a then\n\t\treturn 1\n\telse if b then\n\t\tbeep\n\telse\n\t\treturn 2\n\tend if\nend go",
            "repeat 3 times\nbeep\nend repeat",
            "with timeout of 5 seconds\nbeep\nend timeout",
            "considering case\nbeep\nend considering\nignoring case\nbeep\nend ignoring",
            "using terms from application \"Mail\"\nbeep\nend using terms from",
            "script x\nproperty a : {1, 2}\nend script",
            "display dialog \"a\" ¬\n\tbuttons {\"b\"}",
        ] {
            assert_eq!(errors(script), Vec::<String>::new(), "{script}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (script, error) in [
            ("beep\nsay \"a", "line 2: a string without its closing quote"),
            ("(* a", "line 1: a comment without its end `*)`"),
            ("tell app \"Finder\"\nbeep", "line 1: `tell` without its `end`"),
            ("beep\nend tell", "line 2: `end` without anything to end"),
            ("if a then\nbeep\nend tell", "line 3: `end` of `tell` inside `if`"),
            ("set x to (1 + 2", "line 1: a bracket without its `)`"),
            ("set x to 1)", "line 1: `)` that closes nothing"),
            ("set x to ¬ 1", "line 1: `¬` that does not end its line"),
            ("else", "line 1: a part of `if` outside of one"),
        ] {
            assert_eq!(errors(script).first().map(String::as_str), Some(error), "{script}");
        }
    }
}
