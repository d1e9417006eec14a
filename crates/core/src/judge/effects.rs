//! The gathering of effects: from the facts, from the action itself and from the words of its
//! commands.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::action::Action;
use crate::analysis::{Analysis, UNKNOWN};
use crate::analyze::shell;
use crate::context::Context;
#[cfg(test)]
use crate::effect::Certainty;
use crate::effect::{Effect, EffectKind, Effects, direct, from_fact};
use crate::fact::Fact;
use crate::judge::analysis;
use crate::location::{Detail, Scene, UNKNOWN_HOME};
use crate::policy::Policy;
use crate::redact::redact;

/// The most targets of one kind. Nobody reads more, and the whole action is shown beside them.
const MOST_OF_A_KIND: usize = 50;
/// The most characters of one target.
const MOST_LETTERS: usize = 300;
/// The most texts about parts that could not be followed.
const MOST_OPAQUE: usize = 20;

/// Returns the effects of an action.
#[must_use]
pub fn effects(action: &Action, policy: &Policy, context: &Context) -> Effects {
    Effects::of(action, &analysis(action, policy, context, Detail::Circumstances), context)
}

impl Effects {
    /// Turns the analysis of an action into effects.
    pub(crate) fn of(action: &Action, analysis: &Analysis, context: &Context) -> Self {
        let mut gathered = Gathered::default();
        for effect in direct::effects(action) {
            gathered.add(effect);
        }
        for fact in &analysis.facts {
            for effect in from_fact::effects(fact) {
                gathered.add(effect);
            }
            gathered.opaque(from_fact::opaque(fact));
        }
        let written = |path: &str| is_written(&analysis.facts, path);
        let named: HashSet<&str> =
            analysis.facts.iter().map(|fact| fact.subject.as_str()).collect();
        for command in &analysis.commands {
            let is_known = |path: &str| named.contains(path);
            let reached = shell::reach::effects(command);
            for effect in shell::role::effects(command, is_known).into_iter().chain(reached) {
                gathered.add(effect);
            }
            gathered.opaque(shell::role::unread_script(command, written));
        }
        gathered.opaque(direct::opaque(action));
        gathered.finish(&Masked::of(action), context)
    }
}

/// Reports whether this script makes the file itself, so that its content has been analysed.
fn is_written(facts: &[Fact], path: &str) -> bool {
    let is_write = |fact: &Fact| {
        from_fact::effects(fact).iter().any(|effect| effect.effect == EffectKind::Write)
    };
    facts.iter().any(|fact| fact.subject == path && is_write(fact))
}

/// Effects that are being collected.
#[derive(Default)]
struct Gathered {
    effects: Vec<Effect>,
    places: HashMap<(EffectKind, String), usize>,
    opaque: Vec<String>,
}

impl Gathered {
    /// Adds an effect, or raises the certainty of the one that is known.
    fn add(&mut self, effect: Effect) {
        let is_nothing = matches!(effect.target.as_str(), "" | "-" | "/dev/null" | "/dev/stdout");
        if is_nothing {
            return;
        }
        let key = (effect.effect, effect.target.clone());
        if let Some(known) = self.places.get(&key).and_then(|at| self.effects.get_mut(*at)) {
            known.certainty = known.certainty.max(effect.certainty);
        } else {
            self.places.insert(key, self.effects.len());
            self.effects.push(effect);
        }
    }

    fn opaque(&mut self, text: Option<String>) {
        let Some(text) = text.filter(|_| self.opaque.len() < MOST_OPAQUE) else { return };
        if !self.opaque.contains(&text) {
            self.opaque.push(text);
        }
    }

    fn finish(mut self, masked: &Masked, context: &Context) -> Effects {
        self.effects.sort_by_key(|effect| effect.effect);
        let mut all = Effects::default();
        let mut counted: HashMap<EffectKind, usize> = HashMap::new();
        for effect in self.effects {
            let count = counted.entry(effect.effect).or_default();
            *count += 1;
            if *count > MOST_OF_A_KIND {
                all.more_effects += 1;
            } else {
                let target = masked.shown(&effect.target, context);
                all.effects.push(Effect { target, ..effect });
            }
        }
        all.opaque = self.opaque.iter().map(|text| masked.shown(text, context)).collect();
        all
    }
}

/// The text of an action with its secrets masked; `None` where it has none.
struct Masked(Option<String>);

impl Masked {
    fn of(action: &Action) -> Self {
        // Beside an action that cannot be serialised, nothing is shown.
        let Ok(value) = serde_json::to_value(action) else { return Self(Some(String::new())) };
        let mut texts = Vec::new();
        strings_of(&value, &mut texts);
        let redacted = redact(&texts.join("\n"));
        Self((!redacted.found.is_empty()).then_some(redacted.text))
    }

    /// Returns a target as it is shown to a person. A secret is recognised by the text around it,
    /// which a target alone lacks: in an action with a secret, only targets that are still in the
    /// masked text are shown.
    fn shown(&self, target: &str, context: &Context) -> String {
        match &self.0 {
            Some(text) if !text.contains(target) => "[redacted]".to_owned(),
            _ => shown(target, context),
        }
    }
}

/// Collects every text in a value.
fn strings_of(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(all) => all.iter().for_each(|one| strings_of(one, into)),
        Value::Object(fields) => {
            for (name, value) in fields {
                // The name may tell that its value is a secret.
                match value {
                    Value::String(text) => into.push(format!("{name}: {text}")),
                    other => {
                        into.push(name.clone());
                        strings_of(other, into);
                    }
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A target as it is shown to a person: short, without secrets, and without the placeholder for an
/// unknown home folder, which would be taken for theirs.
fn shown(target: &str, context: &Context) -> String {
    let mut text: String = target.chars().take(MOST_LETTERS).collect();
    if text.len() < target.len() {
        text.push('…');
    }
    if context.home.is_none() {
        let assumed = Scene::new(context, &[]).home();
        text = match text.strip_prefix(assumed) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
            _ => text.replace(UNKNOWN_HOME, "~"),
        };
    }
    redact(&text.replace(UNKNOWN, "…")).text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Effects {
        let action = serde_json::from_str(json).unwrap();
        effects(&action, &Policy::default(), &Context::default())
    }

    #[test]
    fn a_secret_that_only_its_surroundings_give_away_is_not_shown() {
        let secret = ["Tr0ub4dor", "xk9Q"].join("-");
        let command = format!("cat src/a.txt; cat --password {secret}");
        let action = serde_json::json!({"kind": "shell", "command": command});
        let all = serde_json::to_string(&of(&action.to_string())).unwrap();
        assert!(!all.contains(&secret) && all.contains("src/a.txt"), "{all}");
    }

    fn told(json: &str) -> Vec<String> {
        let all = of(json).effects.into_iter();
        let line = |Effect { effect, target, certainty }: Effect| match certainty {
            Certainty::Certain => format!("{} {target}", effect.name()),
            Certainty::Possible => format!("{} {target}?", effect.name()),
        };
        all.map(line).collect()
    }

    fn shell(command: &str) -> Vec<String> {
        told(&serde_json::json!({"kind": "shell", "command": command}).to_string())
    }

    #[test]
    fn a_command_says_what_it_touches_once_and_gravest_first() {
        assert_eq!(
            shell("cat notes.md; rm -rf build ./dist build; cp a.txt b.txt"),
            [
                "delete build",
                "delete ./dist",
                "write b.txt",
                "execute cat",
                "execute rm",
                "execute cp",
                "read notes.md",
                "read a.txt",
            ]
        );
        assert_eq!(shell("rm -rf ~/old"), ["delete ~/old", "execute rm"]);
    }

    #[test]
    fn what_depends_on_something_is_only_possible() {
        let found = shell("if test -e x; then rm a.txt; fi; rm b.txt");
        assert!(found.contains(&"delete a.txt?".to_owned()), "{found:?}");
        assert!(found.contains(&"delete b.txt".to_owned()), "{found:?}");
        let found = shell("make || rm a.txt; rm *.log");
        assert!(found.contains(&"delete a.txt?".to_owned()), "{found:?}");
        assert!(found.contains(&"delete *.log?".to_owned()), "{found:?}");
    }

    #[test]
    fn paths_lie_in_the_folder_that_the_script_is_in() {
        let action = r#"{"kind":"shell","command":"cd src && rm a.txt && cd - && rm b.txt"}"#;
        let context = Context { cwd: Some("/w".into()), ..Context::default() };
        let found = effects(&serde_json::from_str(action).unwrap(), &Policy::default(), &context);
        let found: Vec<_> = found.effects.into_iter().map(|effect| effect.target).collect();
        assert!(found.contains(&"/w/src/a.txt".to_owned()), "{found:?}");
    }

    #[test]
    fn other_kinds_of_actions_have_effects_too() {
        assert_eq!(told(r#"{"kind":"file_write","path":"/w/a"}"#), ["write /w/a"]);
        assert_eq!(
            told(r#"{"kind":"http_request","method":"POST","url":"https://api.example.com/x"}"#),
            ["send api.example.com", "connect api.example.com"]
        );
        let mail =
            r#"{"kind":"skill","skill":"email.send","params":{"to":["a@b.example"],"Cc":"c"}}"#;
        assert!(told(mail).contains(&"send c".to_owned()), "{:?}", told(mail));
        let tool =
            r#"{"kind":"tool","server":"s","tool":"run","arguments":{"command":"rm a.txt"}}"#;
        assert!(told(tool).contains(&"delete a.txt".to_owned()), "{:?}", told(tool));
        assert!(!of(tool).opaque.is_empty());
        let code =
            r#"{"kind":"code","language":"python","source":"import os\nos.remove('a.txt')"}"#;
        assert!(told(code).contains(&"delete a.txt".to_owned()), "{:?}", told(code));
    }

    #[test]
    fn what_cannot_be_followed_is_told() {
        let opaque = |command: &str| {
            of(&serde_json::json!({"kind": "shell", "command": command}).to_string()).opaque
        };
        assert!(opaque("ls -l").is_empty());
        assert!(!opaque("curl -s https://x.example | sh").is_empty());
        assert_eq!(opaque("python3 tool.py"), ["what tool.py does"]);
        assert!(opaque("echo 'rm a' > job.sh; sh job.sh").is_empty());
    }

    #[test]
    fn what_is_left_out_is_counted_and_secrets_are_masked() {
        let files: Vec<_> = (0..60).map(|n| format!("f{n}")).collect();
        let all = of(&serde_json::json!({"kind": "shell",
            "command": format!("rm -r {}", files.join(" "))})
        .to_string());
        assert_eq!(all.more_effects, 10);
        let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let found = shell(&format!("rm /tmp/{secret}"));
        assert!(!found.join(" ").contains(&secret), "{found:?}");
    }
}
