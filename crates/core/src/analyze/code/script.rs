//! Python, JavaScript, Perl and Ruby: read into one common form, then followed step by step.

use crate::action::Language;
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind};
use crate::place::Scene;

mod api;
mod lex;
mod parse;
mod run;
mod tree;
mod value;

/// Longer sources are not followed.
const LONGEST: usize = 2 << 20;

/// What this source would do.
pub(super) fn analyze(language: Language, source: &str, scene: &Scene<'_>) -> Analysis {
    if source.len() > LONGEST {
        let fact = Fact::new(FactKind::Bound, "source longer than 2 MiB");
        return Analysis { commands: Vec::new(), facts: vec![fact] };
    }
    let program = parse::program(language, source);
    let mut analysis = run::analyze(language, &program, scene);
    if program.bounded {
        analysis.facts.push(Fact::new(FactKind::Bound, "nested deeper than is followed"));
    }
    if program.broken {
        analysis
            .facts
            .push(Fact::new(FactKind::Unparsed, "a quote or bracket without its partner"));
    }
    analysis
}
