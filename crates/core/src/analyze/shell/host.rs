//! Agent hosts started from an agent's shell: whether the hooks that guard them still run.

use serde_json::Value;

use super::Walker;
use super::arguments::Arguments;
use super::value::Arg;
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag};
use crate::guarded::{self, Host};
use crate::place;
use crate::verdict::Span;

/// Settings that decide which hooks run and what is asked.
const DECIDING: &[&str] = &[
    "hooks",
    "disableAllHooks",
    "allowManagedHooksOnly",
    "permissions",
    "env",
    "mcpServers",
    "enabledPlugins",
    "hooksConfig",
];

impl Walker<'_> {
    /// Notes that a host would be started without its guard.
    pub(super) fn host(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let Some(host) = guarded::host(name) else { return };
        let tell = |walker: &mut Self, kind, what: &str| {
            walker.note(Fact::new(kind, format!("{name} {what}")).at(span));
        };
        for (kind, options) in
            [(FactKind::HostUnguarded, host.off), (FactKind::HostUnasked, host.skips)]
        {
            for option in options.iter().filter(|option| is_given(option, args)) {
                tell(self, kind, option);
            }
        }
        for value in args.values(host.settings) {
            if let Some(kind) = self.settings(&value) {
                tell(self, kind, &place::shown(&value.text));
            }
        }
        for (kind, variable) in self.host_variables(host) {
            tell(self, kind, variable);
        }
        if self.tags.has(Tag::Elevated) {
            tell(self, FactKind::HostElsewhere, "as another user");
        }
    }

    /// What settings given on the command line do, where they do anything of concern.
    fn settings(&self, value: &Arg) -> Option<FactKind> {
        let inline = value.text.trim_start().starts_with('{');
        let text = if inline { Some(value.text.clone()) } else { self.content_of(value).text };
        let Some(text) = text.filter(|text| !text.contains(UNKNOWN)) else {
            return Some(FactKind::HostElsewhere);
        };
        let Ok(Value::Object(settings)) = serde_json::from_str(&text) else {
            return Some(FactKind::HostElsewhere);
        };
        let hooks = settings.get("hooksConfig").and_then(|hooks| hooks.get("enabled"));
        let off = settings.get("disableAllHooks").is_some_and(|off| *off != Value::Bool(false))
            || hooks == Some(&Value::Bool(false));
        let decides = settings.keys().any(|key| DECIDING.contains(&key.as_str()));
        match (off, decides) {
            (true, _) => Some(FactKind::HostUnguarded),
            (false, true) => Some(FactKind::HostElsewhere),
            (false, false) => None,
        }
    }

    /// Variables that take a host's settings elsewhere or switch something off.
    fn host_variables(&self, host: &'static Host) -> Vec<(FactKind, &'static str)> {
        let mut found = Vec::new();
        let home = [("HOME", ""), ("USERPROFILE", "")];
        for (variable, usual) in home.iter().chain(host.moves) {
            let elsewhere = match self.variable_now(variable) {
                Variable::Inherited => false,
                Variable::Unset => true,
                Variable::Set(value) => !self.is_usual(&value.text, usual),
            };
            if elsewhere {
                found.push((FactKind::HostElsewhere, *variable));
            }
        }
        for (kind, variables) in [
            (FactKind::HostUnguarded, host.off_if),
            (FactKind::HostUnasked, host.skips_if),
            (FactKind::HostElsewhere, host.settings_if),
        ] {
            let set = variables.iter().filter(|variable| {
                matches!(self.variable_now(variable), Variable::Set(value)
                    if !matches!(value.text.as_str(), "" | "0" | "false"))
            });
            found.extend(set.map(|variable| (kind, *variable)));
        }
        found
    }

    /// A variable at this point of the script.
    fn variable_now(&self, name: &str) -> Variable<'_> {
        let given = self.environment.iter().rev().find(|(variable, _)| variable == name);
        let value = match given {
            Some((_, value)) => value.as_ref(),
            None => match self.state.values(name) {
                Some(values) => values.iter().flatten().next(),
                None => return Variable::Inherited,
            },
        };
        value.map_or(Variable::Unset, Variable::Set)
    }

    /// Whether a folder is the one the host takes by itself.
    fn is_usual(&self, folder: &str, usual: &str) -> bool {
        let scene = self.scene_now();
        let usual = match usual {
            "" => scene.home().to_owned(),
            usual if usual.starts_with('/') => usual.to_owned(),
            usual => format!("{}/{usual}", scene.home()),
        };
        place::absolute(folder, &scene) == place::normalize(&usual)
    }
}

/// What a script has made of a variable.
enum Variable<'a> {
    /// Nothing: it is what the script was started with.
    Inherited,
    Unset,
    Set(&'a Arg),
}

/// Whether an option or subcommand of the catalogue is given: `--yolo`, `--auto high`,
/// `hooks disable`.
fn is_given(option: &str, args: &Arguments<'_>) -> bool {
    let wanted: Vec<&str> = option.split(' ').collect();
    match wanted.as_slice() {
        [name] => args.words().iter().any(|word| is_switch(&word.text, name)),
        [name, value] if name.starts_with('-') => {
            args.values(&[*name]).iter().any(|given| is_value(&given.text, value))
        }
        words => {
            let given = args.operands();
            given.len() >= words.len()
                && given.iter().zip(words).all(|(given, wanted)| is_value(&given.text, wanted))
        }
    }
}

/// `--yolo`, `--yolo=true`; `-y` also among other letters.
fn is_switch(word: &str, name: &str) -> bool {
    let (given, value) = word.split_once('=').map_or((word, "true"), |(name, value)| (name, value));
    let letter = name.strip_prefix('-').filter(|letter| letter.len() == 1);
    let clustered = letter.is_some_and(|letter| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        letters.contains(letter) && letters.chars().all(|char| char.is_ascii_alphabetic())
    });
    (given == name || clustered) && !matches!(value, "false" | "0")
}

fn is_value(given: &str, wanted: &str) -> bool {
    // `-c approval_policy="never"` says the same without quotes and blanks.
    let given: String = given.chars().filter(|char| !" \"'".contains(*char)).collect();
    match wanted.strip_suffix('*') {
        Some(start) => given.starts_with(start),
        None => given.eq_ignore_ascii_case(wanted),
    }
}
