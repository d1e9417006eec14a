//! Verbs that create credentials, export personal data or restore an older state, with their
//! objects.

use super::form;
use crate::analyze::shell::arguments::Arguments;
use crate::analyze::shell::value::Arg;
use crate::words::{self, has};

/// Words after which a name of the project's own follows.
const RUNS: &[&str] = &["run", "exec", "test", "x", "dlx", "build", "compile", "start"];

/// The word that puts something where others use it, if there is one: `app deploy`. What is paid or
/// sent to people cannot be called back either: `charges create`, `messages:send`.
pub(super) fn goes_out<'w>(args: &Arguments<'w>) -> Option<&'w str> {
    let operands = args.operands();
    let mut before: Vec<String> = Vec::new();
    for (at, operand) in operands.iter().take(3).enumerate() {
        let word = operand.text.as_str();
        if !form::is_command_word(word) || RUNS.contains(&word) || has(words::VERBS_LOOK, word) {
            return None;
        }
        let parts = form::parts(word);
        let is_verb = parts.first().is_some_and(|part| has(words::GRANTS_OUTWARD, part));
        if (is_verb || is_final(&before, &parts, operands.get(at + 1)))
            && !follows_an_option(args, operand)
        {
            return Some(word);
        }
        before = parts;
    }
    None
}

/// Reports whether a word, with the nouns around it, pays somebody or sends people something.
fn is_final(before: &[String], parts: &[String], next: Option<&&Arg>) -> bool {
    let next = next.filter(|next| form::is_command_word(&next.text));
    let next = next.map_or_else(Vec::new, |next| form::parts(&next.text));
    let things = [before, parts, next.as_slice()].concat();
    [(words::GRANTS_PAYS, words::GRANTS_PAYMENTS), (words::GRANTS_TELLS, words::GRANTS_MESSAGES)]
        .iter()
        .any(|(verbs, nouns)| {
            parts.iter().any(|part| has(verbs, part)) && things.iter().any(|part| has(nouns, part))
        })
}

/// Reports whether a word may be the value of the option before it.
fn follows_an_option(args: &Arguments<'_>, operand: &Arg) -> bool {
    let at = args.words().iter().position(|word| std::ptr::eq(word, operand)).unwrap_or_default();
    let before = at.checked_sub(1).and_then(|at| args.words().get(at));
    before.is_some_and(|word| word.text.starts_with('-') && !word.text.contains('='))
}

/// The word that gives somebody access, if there is one: `tokens create`, `auth:export`, `restore-backup`.
pub(super) fn grants(args: &Arguments<'_>) -> Option<String> {
    let operands: Vec<&str> =
        args.operands().iter().take(5).map(|word| word.text.as_str()).collect();
    if operands.first().is_some_and(|first| RUNS.contains(first)) {
        return None;
    }
    let mut before: Vec<String> = Vec::new();
    for (at, word) in operands.iter().enumerate() {
        if !form::is_command_word(word) || (at < 3 && has(words::VERBS_LOOK, word)) {
            break;
        }
        let parts = form::parts(word);
        let after = operands.get(at + 1).filter(|next| form::is_command_word(next));
        let after = after.map_or_else(Vec::new, |next| form::parts(next));
        let near = [before.as_slice(), parts.as_slice(), after.as_slice()].concat();
        for (verbs, things) in [
            (words::GRANTS_MAKES, words::GRANTS_CREDENTIALS),
            (words::GRANTS_TAKES, words::GRANTS_PEOPLE),
            (words::GRANTS_PUTS_BACK, words::GRANTS_STATES),
        ] {
            let is_verb = parts.iter().any(|part| has(verbs, part));
            if is_verb && near.iter().any(|part| has(things, part)) {
                return Some((*word).to_owned());
            }
        }
        let lets_in = parts.iter().any(|part| has(words::GRANTS_LETS_IN, part));
        let given = |part: &String| has(words::GRANTS_PEOPLE_LET_IN, part);
        let beside = parts.len() > 1 && parts.iter().any(given)
            || before.len() == 1 && before.iter().any(given)
            || after.len() == 1 && after.iter().any(given) && parts.len() == 1;
        if lets_in && beside {
            return Some((*word).to_owned());
        }
        let is_key = |part: &String| matches!(part.as_str(), "key" | "keys");
        let of_access = |part: &String| has(words::GRANTS_KEYS_OF, part);
        let makes = parts.iter().any(|part| has(words::GRANTS_MAKES, part));
        if makes && near.iter().any(is_key) && near.iter().any(of_access) {
            return Some((*word).to_owned());
        }
        before = parts;
    }
    None
}
