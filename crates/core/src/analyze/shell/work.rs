//! The cost of following a script, and its bound.
//!
//! A short text can cause a great deal of work: a value that is used ten thousand times, a file
//! that is run again and again, a thousand variables in a thousand subshells. Everything that is
//! copied or read again is counted, and past a bound that grows with the length of the action the
//! rest is not followed, which is a fact of its own.

use std::cell::Cell;
use std::rc::Rc;

use super::Walker;
use super::value::Arg;
use crate::fact::{Fact, FactKind};

/// The number of bytes copied or read in one step.
const BYTES: usize = 16;
/// The number of steps for each byte of a script that is followed.
const SCRIPT_STEPS: usize = 2;
/// The number of steps for each command that may be examined.
const STEPS: usize = 16;

/// The number of steps taken so far, shared by all copies.
#[derive(Debug, Clone, Default)]
pub(super) struct Work(Rc<Cell<usize>>);

impl Work {
    /// Counts entries that are copied or compared.
    pub(super) fn entries(&self, count: usize) {
        self.0.set(self.0.get().saturating_add(count));
    }

    /// Counts text that is copied or read.
    pub(super) fn text(&self, bytes: usize) {
        self.entries(1 + bytes / BYTES);
    }

    /// Counts a script that is read and followed.
    pub(super) fn script(&self, bytes: usize) {
        self.entries(1 + bytes.saturating_mul(SCRIPT_STEPS));
    }

    /// Counts the words of a command: each of many checks looks at each of them.
    pub(super) fn words(&self, words: &[Arg]) {
        self.entries(words.iter().map(|word| 1 + word.text.len()).sum());
    }

    /// Returns the number of steps counted so far.
    pub(super) fn steps(&self) -> usize {
        self.0.get()
    }
}

/// Returns the number of steps allowed for a number of commands.
pub(super) fn most_steps(commands: u32) -> usize {
    usize::try_from(commands).unwrap_or(usize::MAX).saturating_mul(STEPS)
}

impl Walker<'_> {
    /// Reports whether the bound on work is passed, and records that.
    pub(super) fn is_exhausted(&mut self) -> bool {
        let exhausted = self.fuel == 0 || self.state.work().steps() > self.most_steps;
        if exhausted {
            self.note(Fact::new(FactKind::Bound, "more work than the text is worth"));
        }
        exhausted
    }
}

#[cfg(test)]
mod tests {
    use crate::analyze::shell::walk;
    use crate::example::example_context;
    use crate::fact::FactKind;
    use crate::location::Scene;
    use crate::{Action, Policy, Verdict, judge};

    /// Writes a script with this number of parts.
    type Script = fn(usize) -> String;

    /// Scripts that a naive walk follows in more than linear time, by their number of parts.
    const GROWING: &[(&str, Script)] = &[
        ("aliases of aliases", |n| {
            let chain = (1..n).map(|at| format!("alias a{at}=a{}\n", at - 1));
            format!("alias a0=true\n{}a{}\n", chain.collect::<String>(), n - 1)
        }),
        ("functions that call functions", |n| {
            let chain = (1..n).map(|at| format!("f{at}() {{ f{}; f{}; }}\n", at - 1, at - 1));
            format!("f0() {{ true; }}\n{}f{}\n", chain.collect::<String>(), n - 1)
        }),
        ("one function, called again and again", |n| {
            format!("f() {{ : {}; }}\n{}", "a ".repeat(n), "f\n".repeat(n))
        }),
        ("variables in subshells", |n| {
            let set = (0..n).map(|at| format!("v{at}={at}\n"));
            format!("{}{}", set.collect::<String>(), "(x=1)\n".repeat(n))
        }),
        ("variables in branches", |n| {
            let set = (0..n).map(|at| format!("v{at}={at}\n"));
            format!("{}{}", set.collect::<String>(), "if a; then x=1; fi\n".repeat(n))
        }),
        ("variables of several values", |n| {
            let set = (0..n).map(|at| format!("for v{at} in a b; do :; done\n"));
            format!("{}{}", set.collect::<String>(), "echo $x\n".repeat(n))
        }),
        ("a value that doubles", |n| format!("a=x\n{}echo $a\n", "a=$a$a\n".repeat(n))),
        ("a list that doubles", |n| {
            format!("a=(x)\n{}echo \"${{a[@]}}\"\n", "a=(\"${a[@]}\" \"${a[@]}\")\n".repeat(n))
        }),
        ("a long value, used again and again", |n| {
            format!("x={}\n: {}\n", "y".repeat(4 * n), "$x ".repeat(n))
        }),
        ("a long value in many commands", |n| {
            format!("x={}\n{}", "y".repeat(4 * n), "echo $x\n".repeat(n))
        }),
        ("a file that is run again and again", |n| {
            format!("echo ': {}' > f\n{}", "a ".repeat(n), "sh f\n".repeat(n))
        }),
        ("a text through a pipe", |n| {
            format!("echo {} {}\n", "a".repeat(4 * n), "| cat ".repeat(n))
        }),
        ("a format that is used again", |n| {
            format!("printf '{}%s' {}\n", "a".repeat(4 * n), "b ".repeat(n))
        }),
        ("braces after braces", |n| format!("echo {}\n", "{a,b}".repeat(n.min(200)))),
        ("many braces", |n| format!("echo {}\n", "{a,b}{c,d}{e,f} ".repeat(n))),
        ("braces that stay open", |n| {
            format!("echo {}\n", format!("{}{{a,b}} ", "{".repeat(30)).repeat(n / 16))
        }),
        ("folders in folders", |n| format!("cd {}\nrm f\n", "d".repeat(80)).repeat(n)),
        ("here-documents", |n| "cat <<E\na $x b\nE\n".repeat(n)),
        ("substitutions", |n| "echo $(echo a)\n".repeat(n)),
        ("expressions over one value", |n| {
            format!("x='a[$(true)]'\n: $(({}1))\n", "x + ".repeat(n))
        }),
        ("patterns for programs", |n| "/bin/l? a\n".repeat(n)),
        ("inputs of a loop", |n| {
            format!("for i in {}; do for j in a b; do echo $i $j; done; done\n", "a ".repeat(n))
        }),
    ];

    /// Returns the number of steps, commands included, and whether a bound was reached.
    fn cost(script: &str) -> (usize, bool) {
        let context = example_context();
        let walker = walk(script, &Scene::new(&context, &[]));
        let bound = walker.analysis.facts.iter().any(|fact| fact.kind == FactKind::Bound);
        (walker.state.work().steps(), bound)
    }

    #[test]
    fn work_is_bounded_by_the_length_of_the_text_and_past_it_asks() {
        let (mut wrong, mut reached) = (Vec::new(), 0);
        for (name, script) in GROWING {
            for parts in [50, 300] {
                let command = script(parts);
                let (steps, bound) = cost(&command);
                // The step that passes the bound may be a long one.
                let allowed = super::STEPS * command.len().max(20_000) + command.len();
                reached += usize::from(bound);
                let action = Action::Shell { command, cwd: None };
                let judgement = judge(&action, &Policy::default(), &example_context());
                if steps > allowed || (bound && judgement.verdict < Verdict::Confirm) {
                    wrong.push((name, parts, steps, allowed, judgement.verdict));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(reached >= 3, "{reached}");
    }
}
