//! Python, JavaScript, Perl and Ruby: parsed into one common form, then followed step by step.

use crate::action::Language;
use crate::analyze::{Analysis, Invocation};
use crate::fact::{Fact, FactKind};
use crate::location::Scene;

mod api;
mod lex;
mod magic;
mod parse;
mod run;
mod tree;
mod value;

/// Returns the facts of a source.
pub(super) fn analyze(language: Language, source: &str, scene: &Scene<'_>) -> Analysis {
    if language == Language::Python
        && let Some((python, commands)) = magic::split(source, scene)
    {
        let mut analysis = follow(language, &python, scene, None).0;
        for found in commands {
            analysis.facts.extend(found.facts.into_iter().map(|fact| fact.at(None)));
            let commands = found.commands.into_iter();
            analysis.commands.extend(commands.map(|command| Invocation { span: None, ..command }));
        }
        return analysis;
    }
    follow(language, source, scene, None).0
}

/// Returns the facts of a source and the number of steps spent, up to a limit.
fn follow(
    language: Language,
    source: &str,
    scene: &Scene<'_>,
    most: Option<u64>,
) -> (Analysis, u64) {
    let program = parse::program(language, source);
    let (mut analysis, spent) = run::analyze(language, &program, scene, most);
    if program.bounded {
        analysis.facts.push(Fact::new(FactKind::Bound, "nested deeper than is followed"));
    }
    if program.broken {
        analysis
            .facts
            .push(Fact::new(FactKind::Unparsed, "a quote or bracket without its partner"));
    }
    (analysis, spent)
}
