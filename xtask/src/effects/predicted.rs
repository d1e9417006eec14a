//! The core's prediction for a script.

use countersign_core::{Action, Certainty, Context, EffectKind, Policy, effects};

use super::plant;
use super::thing::{Class, SOMETHING, Things, is_uninteresting, normal};

/// The prediction for one script.
#[derive(Debug, Default)]
pub(crate) struct Prediction {
    /// Absolute paths, perhaps with `*` in them, and names of programs.
    pub(crate) things: Things,
    /// The things that are only possible.
    pub(crate) possible: Things,
    /// True when the core says that it does not know everything.
    pub(crate) opaque: bool,
    /// The first program, by which scripts are grouped.
    pub(crate) program: String,
}

impl Prediction {
    /// Reports whether a thing was only predicted as possible.
    pub(crate) fn is_possible(&self, class: Class, thing: &str) -> bool {
        self.possible.get(&class).is_some_and(|things| things.contains(thing))
    }

    fn add(&mut self, class: Class, thing: String, certainty: Certainty) {
        let is_new = self.things.entry(class).or_default().insert(thing.clone());
        let possible = self.possible.entry(class).or_default();
        match certainty {
            Certainty::Possible if is_new => drop(possible.insert(thing)),
            Certainty::Possible => {}
            Certainty::Certain => drop(possible.remove(&thing)),
        }
    }

    /// Returns the paths that must exist for the prediction to come true.
    pub(crate) fn touched(&self) -> Vec<String> {
        self.paths(&[Class::Read, Class::Delete, Class::Move])
    }

    /// Returns the paths that are written.
    pub(crate) fn written(&self) -> Vec<String> {
        self.paths(&[Class::Write])
    }

    fn paths(&self, classes: &[Class]) -> Vec<String> {
        let paths = classes.iter().filter_map(|class| self.things.get(class)).flatten();
        paths.filter(|path| !path.contains('*')).cloned().collect()
    }
}

/// Returns the core's prediction for a script in the environment of [`plant`].
pub(crate) fn predict(script: &str) -> Prediction {
    let context = Context {
        cwd: Some(plant::WORKSPACE.to_owned()),
        home: Some(plant::HOME.to_owned()),
        workspace: Some(plant::WORKSPACE.to_owned()),
        ..Context::default()
    };
    let action = Action::Shell { command: script.to_owned(), cwd: None };
    let said = effects(&action, &Policy::default(), &context);
    let mut prediction = Prediction { opaque: !said.opaque.is_empty(), ..Prediction::default() };
    for effect in &said.effects {
        for class in classes(effect.effect) {
            let thing = pattern(*class, &effect.target);
            if *class == Class::Execute || !is_uninteresting(&thing) {
                prediction.add(*class, thing, effect.certainty);
            }
        }
    }
    let first = said.effects.iter().find(|effect| effect.effect == EffectKind::Execute);
    prediction.program = first.map_or_else(String::new, |effect| effect.target.clone());
    prediction
}

/// Returns the classes in which an effect can be observed: a file that is sent is also read.
fn classes(effect: EffectKind) -> &'static [Class] {
    match effect {
        EffectKind::Delete => &[Class::Delete],
        EffectKind::Move => &[Class::Move],
        EffectKind::Write => &[Class::Write],
        EffectKind::Send => &[Class::Connect, Class::Read],
        EffectKind::Connect => &[Class::Connect],
        EffectKind::Execute => &[Class::Execute],
        EffectKind::Signal => &[Class::Signal],
        EffectKind::Read => &[Class::Read],
    }
}

/// Returns the thing as an absolute path, with `*` for parts that the core does not know.
fn pattern(class: Class, thing: &str) -> String {
    match class {
        Class::Connect | Class::Signal => return SOMETHING.to_owned(),
        Class::Execute => return thing.replace('…', "*"),
        Class::Read | Class::Write | Class::Delete | Class::Move => {}
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
