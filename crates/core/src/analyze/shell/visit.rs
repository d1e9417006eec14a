//! Every command and process substitution of a syntax tree, at any position.
//!
//! Words are evaluated where a command uses them. There are many such code paths, and each new form
//! of word is one more that can be forgotten. So the tree itself is also traversed, by one visitor
//! that knows every part of it: code that only needs the commands in a word calls it, and after a
//! script has been followed it finds the substitutions that were missed.

mod command;
mod tree;

use std::collections::BTreeSet;

use shuck_ast::{CommandSubstitutionSyntax, Span as SyntaxSpan, StmtSeq, Word};

pub(super) use self::command::flow_parts;
pub(super) use self::tree::Node;
use self::tree::Tree;
use super::Walker;
use super::output::as_arg;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind};

/// A text inside the tree that runs commands.
pub(super) struct Found<'t> {
    runs: Runs<'t>,
    syntax_span: SyntaxSpan,
}

enum Runs<'t> {
    /// `$(…)` or backticks.
    Command(&'t StmtSeq, CommandSubstitutionSyntax),
    /// `<(…)` or `>(…)`.
    Process { body: &'t StmtSeq, is_input: bool },
    /// A text with substitutions that the grammar leaves unread.
    Text(String),
    /// Commands that the grammar parsed as an expression.
    Script(String),
}

/// Reports whether a script can contain a substitution.
///
/// Called for every part of a script: a long one is not searched each time, and counts as one that
/// can.
pub(super) fn may_hold(script: &str) -> bool {
    const SHORT: usize = 1024;
    script.len() > SHORT
        || script.contains('`')
        || ["$(", "<(", ">("].iter().any(|open| script.contains(open))
}

/// Returns the script in `$((a; b) | c)`: the second bracket closes before the end, so that it
/// opens a subshell and not an expression.
pub(super) fn script_in_brackets(raw: &str) -> Option<&str> {
    let inner = raw.strip_prefix("$(")?.strip_suffix(')')?;
    let mut open = 0_usize;
    for (at, char) in inner.char_indices() {
        match char {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return (at + 1 < inner.len() && inner.starts_with('(')).then_some(inner);
        }
    }
    None
}

impl Walker<'_> {
    /// Follows the outermost substitutions of a part of the tree.
    pub(super) fn follow_in(&mut self, src: &str, node: Node<'_>) {
        if may_hold(src) {
            for found in tree::outermost(src, node) {
                self.follow(src, &found);
            }
        }
    }

    /// Follows the commands in an expression: the substitutions in it, and those in the values of
    /// the variables that it names, which bash evaluates again.
    pub(super) fn calculate(&mut self, src: &str, node: Node<'_>, text: &str) {
        self.follow_in(src, node);
        self.evaluate_names(text);
    }

    /// Follows every substitution of a script that has not been followed yet.
    pub(super) fn follow_the_rest(&mut self, src: &str, body: &StmtSeq) {
        if !may_hold(src) {
            return;
        }
        let tree = tree::whole(src, Node::Seq(body));
        if let Some(at) = unread(src, &tree) {
            let subject = "a substitution that the grammar does not see";
            let end = at + 1;
            let span = [at, end].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
            let span = if self.nested { self.shown_at } else { Some(span) };
            self.note(Fact::new(FactKind::Unparsed, subject).at(span));
        }
        for found in tree.found {
            // Past the bound, which is a fact by then, nothing more is followed.
            if self.is_exhausted() {
                return;
            }
            if !self.followed.contains(&found.syntax_span.start.offset()) {
                self.missed += 1;
                self.follow(src, &found);
            }
        }
    }

    /// Records that the substitutions of a word were followed in another text.
    pub(super) fn followed_elsewhere(&mut self, src: &str, word: &Word) {
        if may_hold(src) {
            let starts = tree::whole(src, Node::Word(word)).found;
            self.followed.extend(starts.iter().map(|found| found.syntax_span.start.offset()));
        }
    }

    /// Returns the output of `$((a; b) | c)`.
    pub(super) fn subshell_of(&mut self, text: &str, syntax_span: SyntaxSpan) -> Arg {
        self.followed.insert(syntax_span.start.offset());
        as_arg(&self.child_script(text, self.span(syntax_span), Stream::caller()))
    }

    fn follow(&mut self, src: &str, found: &Found<'_>) -> Option<Arg> {
        let syntax_span = found.syntax_span;
        match &found.runs {
            Runs::Command(body, syntax) => Some(self.substitution(src, body, *syntax, syntax_span)),
            Runs::Process { body, is_input } => {
                Some(self.process_substitution(src, body, *is_input, syntax_span))
            }
            Runs::Text(text) => {
                self.followed.insert(syntax_span.start.offset());
                self.evaluated(text);
                None
            }
            Runs::Script(text) => Some(self.subshell_of(text, syntax_span)),
        }
    }

    /// Follows the substitutions in a text that bash expands without splitting it, as in the body
    /// of a here-document, where quotes are literal.
    pub(super) fn evaluated(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') {
            let mut end = "END".to_owned();
            while text.contains(&end) {
                end.push('D');
            }
            let script = format!(": <<{end}\n{text}\n{end}\n");
            self.nested_script(&script, self.shown_at, Stream::empty());
        }
    }
}

/// Returns the position of a substitution that is in the text but not in its tree: the grammar
/// misparses some nestings without an error.
fn unread(src: &str, tree: &Tree<'_>) -> Option<usize> {
    let known: BTreeSet<_> = tree.opened.iter().copied().collect();
    let mut quiet: Vec<_> = tree.quiet.clone();
    quiet.sort_unstable();
    let mut quiet = quiet.into_iter().peekable();
    let mut quiet_until = 0;
    for (at, _) in src.match_indices("$(") {
        while let Some((_, end)) = quiet.next_if(|(start, _)| *start <= at) {
            quiet_until = quiet_until.max(end);
        }
        let before = src.get(..at).unwrap_or_default();
        let escaped = (before.len() - before.trim_end_matches('\\').len()) % 2 == 1;
        let counted = before.ends_with('$') && !before.ends_with("$$$");
        if at >= quiet_until && !escaped && !counted && !known.contains(&at) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests;
